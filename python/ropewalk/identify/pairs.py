"""Tensors of a dump, and which elements of a head turn as pairs.

y of a pair (i, j) is r (x_i + i x_j), with one r for all heads of a token. The partner j of i is the
one whose r fits best over the heads. With u of y's type, r of h heads of a right rotation is off by
about 2 u.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from .. import dump as dumps
from ..decorator import _require

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
FEW = 32  # tokens from which partners are found
MOST = 1024  # elements of a head


@dataclass
class Part:
    """One rotated tensor: x and y [batch, tokens, heads, head_dim] in f64, and what was found."""

    name: str
    x: np.ndarray
    y: np.ndarray
    dtype: str
    window: np.ndarray = None  # the elements that change
    pairs: list = field(default_factory=list)  # (i, j): y_i = c x_i - s x_j
    pairing: str = ""
    written: str = ""  # where outputs lie, if not where the inputs do
    r: np.ndarray = None  # [batch, tokens, pairs]
    other: str = ""  # y is that of another engine, and x is no input
    sign: int = 1  # -1: it turns backwards
    left: float = 0.0  # of the worst pair, after the fit, in u
    scale: float = 1.0  # which r is divided by
    freq: np.ndarray = None  # [pairs]
    out: np.ndarray = None  # [batch, tokens]: left out, as x is not finite or all zero
    notes: list = field(default_factory=list)

    def __post_init__(self):
        self.out = ~np.isfinite(self.x).all((2, 3)) | (self.x == 0).all((2, 3)) & (self.y == 0).all((2, 3))
        self.x, self.y = (np.where(self.out[:, :, None, None], 0.0, a) for a in (self.x, self.y))
        self.given = self.x, self.y  # x and y change when a norm or an order is found


def parts_of(dump, layout):
    _require(layout in dumps.LAYOUTS, f"layout {layout!r} is not one of {', '.join(dumps.LAYOUTS)}")
    out = []
    for name, result in (*dumps.PAIRS, *dumps.OTHERS):
        if name not in dump.tensors or result not in dump.tensors:
            continue
        x, y = (laid_out(dump.tensors[n], n, layout, dump.metadata) for n in (name, result))
        _require(x.shape == y.shape, f"{result} has the shape {y.shape}, and {name} {x.shape}")
        _require(x.shape[-1] <= MOST, f"{name} has heads of {x.shape[-1]}; up to {MOST} are explained")
        _require(dump.dtypes[result], f"{result} has no floating-point type")
        out.append(Part(name, x, y, dump.dtypes[result]))
        out[-1].other = result if result.endswith("_other") else ""
    _require(out, f"it needs x and y, or q and q_out: it has {', '.join(dump.tensors) or 'nothing'}")
    return out


def laid_out(array, name, layout, metadata):
    axes, array = dumps.LAYOUTS[layout], np.asarray(array, "f8")
    _require(array.size, f"{name} is empty")
    if axes:
        _require(array.ndim == 4, f"{name} of layout {layout} needs 4 axes, not {array.ndim}")
        return array.transpose(axes)
    if layout == "td":
        word = metadata.get("head_dim", "0")
        size = int(word) if word.isdecimal() else 0
        _require(array.ndim == 2 and size > 0 and array.shape[1] % size == 0,
                 f"{name} of layout td needs [tokens, heads * head_dim] and head_dim")
        array = array.reshape(len(array), -1, size)
    _require(array.ndim == 3, f"{name} of layout {layout} needs 3 axes, not {array.ndim}")
    return array[None]


def positions_of(dump, part):
    """[batch, tokens]; [axes, batch, tokens] if axes differ; None if none are given."""
    batch, tokens = part.x.shape[:2]
    given = dump.tensors.get("position_ids")
    if given is None:
        return None
    _require(given.size and (given == np.floor(given)).all(), "position_ids are not all whole numbers")
    given = np.asarray(given, "i8")
    if given.ndim == 3:
        _require(given.shape[1:] == (batch, tokens), f"position_ids has the shape {given.shape}")
        if (given != given[:1]).any():
            _require(len(given) <= 4, f"position_ids has {len(given)} axes, not up to 4")
            return given
        given = given[0]
    _require(given.shape in ((tokens,), (batch, tokens), (1, tokens)),
             f"position_ids has the shape {given.shape}, not [tokens] or [batch, tokens]")
    return np.broadcast_to(given, (batch, tokens))


def tokens_to_fit(part, norm):
    """x and y of few tokens that change, [tokens, heads, dims], without what is not finite."""
    x, y = (a.reshape(-1, *a.shape[2:]) for a in part.given)
    good = np.isfinite(x).all((1, 2)) & np.isfinite(y).all((1, 2))
    turns = np.flatnonzero(good & (np.abs(x - y).max((1, 2)) > 0))
    if norm:
        x = normed(x)
    chosen = turns[:: max(len(turns) // FEW, 1)][:FEW]
    return x[chosen], y[chosen]


def find_pairs(part, helpers, model_window=None):
    """The partner of each element. Heads of `helpers`, parts that should turn alike, are asked too if
    its own cannot tell. Outputs may lie in the order of the other pairing, and a norm over each head may
    come before the rotation."""
    changed = np.flatnonzero((part.x != part.y).any((0, 1, 2)))
    part.window = changed
    for window in windows(changed, part.x.shape[-1], model_window) if changed.size else ():
        for more in ((), helpers) if part.x.shape[2] > 2 else (helpers,):
            if not part.pairs:
                part.window = window
                fit_partners(part, more, np.isin(window, changed))
    if not part.pairs:
        part.window = changed


def windows(changed, size, model_window):
    """What may be the window: slow pairs of few tokens do not change in a narrow type."""
    if model_window is not None and np.isin(changed, model_window).all():
        yield model_window
        return
    first, end = int(changed[0]), int(changed[-1]) + 1
    for last in (end, *(size * k // 4 for k in (1, 2, 3, 4))) if first == 0 else (end,):
        if last >= end and last % 2 == first % 2 and len(changed) > (last - first) // 4:
            yield np.arange(first, last)
            if len(changed) == last - first:
                return
    yield changed


def fit_partners(part, helpers, changes):
    ways = []
    for norm in (False, True):
        for written, order in orders(len(part.window)):
            fits = []  # norms of Q and K have weights of their own
            for p in (part, *(() if norm and part.x.shape[2] >= 3 else helpers)):
                x, y = tokens_to_fit(p, norm)
                fits.append((x[..., part.window], y[..., part.window[order]]))
            count = min(len(x) for x, _ in fits)
            if not count:
                return
            x, y = (np.concatenate([f[k][:count] for f in fits], 1) for k in (0, 1))
            left = sum(residuals_of_token(*token) for token in zip(x, y))
            share = left / np.maximum((y**2).sum((0, 1)), 1e-300)[:, None]
            np.fill_diagonal(share, np.inf)
            best = float(np.median(np.sqrt(share[changes].min(1))))
            ways.append((best, norm, order, written, x, y, share))
    least = min(way[0] for way in ways)
    way = next(way for way in ways if way[0] <= 3 * least)  # the simplest of those that fit alike
    if least < max(6 * UNIT[part.dtype], 1e-6):  # the sums of squares lose half of the digits
        name_pairs(part, way[-1], changes)
        if part.pairs:
            take(part, *way[1:])


def pair_alike(part, like):
    """The pairs of another part, which one or two heads cannot tell; their angles then have to fit."""
    part.window = np.flatnonzero((part.x != part.y).any((0, 1, 2)))
    if part.window.size and len(part.window) != len(like.window):  # slow pairs may not change
        if part.x.shape[-1] <= like.window.max() or not np.isin(part.window, like.window).all():
            return
        part.window = like.window
    if not part.window.size:
        return
    part.pairing, part.written = like.pairing, like.written
    order = dict(orders(len(part.window)))[like.written]
    part.y = part.y.copy()
    part.y[..., part.window] = part.y[..., part.window[order]]
    place = {int(e): k for k, e in enumerate(like.window)}
    part.pairs = [(int(part.window[place[i]]), int(part.window[place[j]])) for i, j in like.pairs]
    part.notes.append(f"as {like.name} has it, as fewer than three heads cannot tell")


def orders(n):
    """(what the outputs' order is, the place of each output in it)."""
    yield "", np.arange(n)
    if n % 2 == 0:
        halves = np.arange(n).reshape(2, -1).T.ravel()  # where interleaved lies among halves
        yield "half_split", halves
        yield "interleaved", np.argsort(halves)


def take(part, norm, order, written, x, y, share):
    """Undoes what stands before and behind the rotation, so that x and y are of it alone."""
    runner = np.sqrt(np.partition(share, 1, axis=1)[:, 1] / np.maximum(share.min(1), 1e-300))
    part.notes.append(f"partners leave {math.sqrt(np.median(share.min(1))):.1e} of an element, the next best "
                      f"{np.median(runner):.3g} times as much")
    if written:
        part.written = written
        part.y = part.y.copy()
        part.y[..., part.window] = part.y[..., part.window[order]]
    if not norm:
        return
    part.x = normed(part.x)
    place = {int(e): k for k, e in enumerate(part.window)}
    weights = np.ones(part.x.shape[-1])
    for i, j in part.pairs:
        a, b = place[i], place[j]
        columns = np.stack((x[..., a], x[..., b]), -1)
        (c, s), (t, d) = (np.stack([np.linalg.lstsq(m, v, rcond=None)[0]
                                    for m, v in zip(columns, y[..., k])]).T for k in (a, b))
        weights[i] = math.copysign(np.median(np.hypot(c, t)), c[0])  # the first token turns little
        weights[j] = math.copysign(np.median(np.hypot(s, d)), weights[i] * np.median(c * d - s * t))
    part.x = part.x * weights
    part.notes.append("a norm over each head comes before it" + (
        "" if np.allclose(weights, 1, atol=1e-3) else ", with a weight for each element"))


def normed(x):
    return x / np.maximum(np.sqrt((x**2).mean(-1, keepdims=True)), 1e-300)


def residuals_of_token(x, y):
    """[i, j]: what is left of y_i after the best c x_i - s x_j."""
    gram, cross = x.T @ x, y.T @ x
    own, other, mixed = np.diag(gram)[:, None], np.diag(gram)[None], gram
    b, d = np.diag(cross)[:, None], cross
    det = own * other - mixed**2
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = (b**2 * other - 2 * b * d * mixed + d**2 * own) / det
    whole = (y**2).sum(0)[:, None]
    left = np.where(det > 1e-12 * own * other, whole - explained, whole)
    return np.maximum(left, 0)


def elements_of(pairing, pairs, at=0):
    """(the first elements of all pairs, the second ones) of a window that begins at `at`."""
    if pairing == "half_split":
        return at + np.arange(pairs), at + np.arange(pairs) + pairs
    return at + 2 * np.arange(pairs), at + 2 * np.arange(pairs) + 1


def name_pairs(part, share, changes):
    """`changes`: the elements of the window that do. Any partner fits an element that hardly turns, so an
    order of pairs is taken if it fits nearly as well as the best partners do."""
    n, w = len(share), part.window
    index, half, partner = np.arange(n), n // 2, share.argmin(1)
    fits = {}
    for name, other in (("half_split", (index + half) % n), ("interleaved", index ^ 1)) if n % 2 == 0 else ():
        left = share[index, other][changes]
        if (left <= 9 * share.min(1)[changes] + (4 * UNIT[part.dtype]) ** 2 + 1e-12).mean() > 0.95:
            fits[name] = left.sum()
    if fits:
        part.pairing = min(fits, key=fits.get)
        pairs = zip(*elements_of(part.pairing, half))
    elif (partner[partner] == index).all():
        part.pairing = "a permutation"
        pairs = sorted((i, int(partner[i])) for i in index if i < partner[i])
    else:
        part.pairing, pairs = "", []
    part.pairs = [(int(w[i]), int(w[j])) for i, j in pairs]


def find_turns(part):
    """r of each token and pair, and what it leaves."""
    if not part.pairs:
        return
    i, j = np.array(part.pairs).T
    z, v = (a[..., i] + 1j * a[..., j] for a in (part.x, part.y))
    size = (np.abs(z) ** 2).sum(2)
    with np.errstate(invalid="ignore"):
        r = (v * z.conj()).sum(2) / np.maximum(size, 1e-300)
    part.r = np.where(np.isfinite(r), r, 0) / part.scale  # 0 is no rotation
    part.r[(size == 0) & (v == 0).all(2)] = np.nan  # nothing to tell
    off = np.abs(v - part.scale * part.r[:, :, None] * z) / np.maximum(np.abs(z), 1e-300) / UNIT[part.dtype]
    typical = np.abs(z) > 0.1 * np.sqrt(size / z.shape[2])[:, :, None]
    part.left = float(np.nanmax(np.where(typical & np.isfinite(off), off, 0)))
