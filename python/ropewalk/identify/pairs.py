"""Tensors of a dump, and which elements of a head turn as pairs.

y of a pair (i, j) is r (x_i + i x_j), with one r for all heads of a token. A form says which elements are
pairs, where outputs lie, and whether a norm comes before or after. It holds of a pair of a token if one r
explains all heads within room(). With one or two heads any r would, so there r has the size of the
others.

room(): in eager code the table, each product and their sum are rounded, by half an ulp, at most u of its
size. With P = |a c| + |b s| and Q = |b c| + |a s| the two elements are off by u (2 P + |y_i|) and
u (2 Q + |y_j|). As P^2 + Q^2 <= 2 |z|^2, the pair is off by at most (2 sqrt(2) + 1) u |z|. In f32 the
table is off by an ulp: (3 sqrt(2) + 1) u. A factor on the table is one more rounding; a norm has three
roundings before it, and an epsilon of up to 1e-5.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np

from .. import dump as dumps
from ..decorator import _require

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
LEAST = {"f64": 0.0, "f32": 2.0**-140, "f16": 2.0**-23, "bf16": 2.0**-130}  # roundings of denormals
FEW, MOST_ROWS = 48, 512  # tokens, and heads of them, from which a form is found
MOST = 1024  # elements of a head


@dataclass
class Form:
    """What a kernel does beside turning: the first and the second elements of its pairs, and more."""

    i: np.ndarray
    j: np.ndarray
    pairing: str
    written: str = ""  # the pairing in whose order the outputs lie, if not that of the inputs
    norm: str = ""  # before, after, or either: it has no weights
    over: str = ""  # of what it is: head or window
    like: str = ""  # the part that has told it
    weights: np.ndarray = None

    @property
    def window(self):
        return np.sort(np.concatenate((self.i, self.j)))


@dataclass
class Part:
    """One rotated tensor: x and y [batch, tokens, heads, head_dim] in f64, and what was found."""

    name: str
    x: np.ndarray
    y: np.ndarray
    dtype: str
    form: Form = None
    held: float = 0.0  # the share of what changes that the form explains
    r: np.ndarray = None  # [batch, tokens, pairs], divided by scale
    other: str = ""  # y is that of another engine, and x is no input
    sign: int = 1  # -1: it turns backwards
    scale: float = 1.0
    freq: np.ndarray = None  # [pairs]
    out: np.ndarray = None  # [batch, tokens]: left out, as x is not finite or all zero

    def __post_init__(self):
        self.out = ~np.isfinite(self.x).all((2, 3)) | (self.x == 0).all((2, 3)) & (self.y == 0).all((2, 3))
        self.x, self.y = (np.where(self.out[:, :, None, None], 0.0, a) for a in (self.x, self.y))
        self.given = self.x, self.y  # x and y change when a norm or an order is found
        squares = (self.x**2).mean(-1)
        self.epsilon = min(5e-6 / float(np.median(squares[squares > 0])), 1e-2) if squares.any() else 0.0

    @property
    def pairs(self):
        return list(zip(self.form.i.tolist(), self.form.j.tolist())) if self.form else []

    @property
    def window(self):
        return self.form.window

    @property
    def pairing(self):
        return self.form.pairing

    @property
    def written(self):
        return self.form.written


def room(part, form=None):
    form = form or part.form
    table = 2 if part.dtype in ("bf16", "f16") else 3
    roundings = table * 2**0.5 + 1 + (abs(part.scale - 1) > 1e-3) + 3 * bool(form and form.norm)
    epsilon = part.epsilon if form and form.norm else 0.0
    return roundings * UNIT[part.dtype] * 1.02 + epsilon + 2.0**-44


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
    """[axes, batch, tokens], with one axis where all are equal; None if none are given."""
    batch, tokens = part.x.shape[:2]
    given = dump.tensors.get("position_ids")
    if given is None:
        return None
    _require(given.size and (given == np.floor(given)).all(), "position_ids are not all whole numbers")
    given = np.asarray(given, "i8")
    _require(given.ndim < 4, f"position_ids has the shape {given.shape}")
    if given.ndim == 3:
        _require(given.shape[1:] == (batch, tokens), f"position_ids has the shape {given.shape}")
        if (given != given[:1]).any():
            _require(len(given) <= 4, f"position_ids has {len(given)} axes, not up to 4")
            return given
        given = given[0]
    _require(given.shape in ((tokens,), (batch, tokens), (1, tokens)),
             f"position_ids has the shape {given.shape}, not [tokens] or [batch, tokens]")
    return np.broadcast_to(given, (1, batch, tokens))


def elements_of(pairing, pairs, at=0):
    """(the first elements of all pairs, the second ones) of a window that begins at `at`."""
    if pairing == "half_split":
        return at + np.arange(pairs), at + np.arange(pairs) + pairs
    return at + 2 * np.arange(pairs), at + 2 * np.arange(pairs) + 1


def order_of(written, n):
    """Where the outputs of a window of n elements lie that are written in the order of a pairing."""
    halves = np.arange(n).reshape(2, -1).T.ravel()  # where interleaved lies among halves
    return {"": np.arange(n), "half_split": halves, "interleaved": np.argsort(halves)}[written]


def few_tokens(part):
    """x and y [tokens, heads, head_dim] of few tokens that change."""
    x, y = (a.reshape(-1, *a.shape[2:]) for a in part.given)
    turns = np.flatnonzero(np.isfinite(y).all((1, 2)) & ((x != y).any((1, 2))))
    few = min(max(MOST_ROWS // x.shape[1], 8), FEW, len(turns))
    turns = turns[np.linspace(0, len(turns) - 1, few).astype(int)]
    return x[turns], y[turns]


def forms(part, model, told, likes):
    """What to try, the likeliest first. `told` [pairs]: those of the model that these tokens show to turn."""
    size = part.x.shape[-1]
    with np.errstate(invalid="ignore"):
        moved = np.flatnonzero((part.given[0] != part.given[1]).any((0, 1, 2)))
    first, end = (int(moved[0]), int(moved[-1]) + 1) if moved.size else (0, size)
    windows = []
    if model:
        at, n = model["k_offset" if part.name == "k" else "q_offset"], model["rotary_dim"]
        still = np.arange(n // 2)[told] * 2 + at
        if model["pairing"] == "interleaved" and still.size and still[-1] >= end + 1 and at <= first:
            windows = [(at, end - at)] if (end - at) % 2 == 0 else []  # neighbours at its end stay
        windows.append((at, n))
    run = first, end - first
    last = (part.given[0][..., end - 1] != part.given[1][..., end - 1]).mean()  # seldom: its pair is slow
    whole = [run] if run[1] % 16 == 0 and run[0] % 2 == 0 and last > 0.5 else []
    windows += whole + [(0, size), (0, size // 2), (size // 2, size - size // 2), (0, size // 4),
                        (0, 3 * size // 4), (size - 64, 64), (first, size - first), run]
    for at, n in dict.fromkeys(w for w in windows if w[0] >= 0 and w[1] > 1 and w[1] % 2 == 0 and sum(w) <= size):
        pairings = ["half_split", "interleaved"]
        if model and model["pairing"] == "interleaved":
            pairings.reverse()
        for pairing in pairings:
            yield Form(*elements_of(pairing, n // 2, at), pairing)
        for pairing, written in (("interleaved", "half_split"), ("half_split", "interleaved")):
            yield Form(*elements_of(pairing, n // 2, at), pairing, written)
    for like in likes:
        if like.form and like.form.window[-1] < size:
            yield Form(like.form.i, like.form.j, like.pairing, like.written, like=like.name)


def pair_values(x, y, form):
    """(z, v) [tokens, heads, pairs] of few or all tokens, after the norm and the order are undone."""
    window = form.window
    if form.written:
        y = y.copy()
        y[..., window] = y[..., window[order_of(form.written, len(window))]]
    if form.norm:
        x = normed(x, form)
        if form.norm == "before":
            x = x * form.weights
        if form.norm == "after":
            y = y / np.where(form.weights == 0, 1, form.weights)
    return x, y


def normed(x, form):
    part = x if form.over == "head" else x[..., form.window]
    scaled = x / np.maximum(np.sqrt((part**2).mean(-1, keepdims=True)), 1e-300)
    if form.over == "window":
        rest = np.setdiff1d(np.arange(x.shape[-1]), form.window)
        scaled[..., rest] = x[..., rest]
    return scaled


def turns_of(z, v, most):
    """r [tokens, pairs] by all heads, or by most of them where some do not turn alike."""
    size = (np.abs(z) ** 2).sum(-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (v * z.conj()).sum(-2) / size
        off = np.abs(v - r[..., None, :] * z) > 2 * most * np.abs(z) * np.maximum(np.abs(r), 1e-300)[..., None, :]
        if z.shape[-2] > 2 and off.any():
            bad = np.nonzero(off.any(-2))
            of_heads = np.nan_to_num(np.moveaxis(v, -2, -1)[bad] / np.moveaxis(z, -2, -1)[bad])
            r[bad] = np.median(of_heads.real, -1) + 1j * np.median(of_heads.imag, -1)
    r[(size == 0) & (np.abs(v).sum(-2) == 0)] = np.nan  # nothing to tell
    return r


def share_held(part, x, y, form):
    """Of what a rotation changes, the share that the form explains."""
    a, b = pair_values(x, y, form)
    z, v = (t[..., form.i] + 1j * t[..., form.j] for t in (a, b))
    most = room(part, form)
    r = turns_of(z, v, most)
    if z.shape[-2] < 3 and np.isfinite(np.abs(r)).any():
        size = np.abs(r)
        r = r / np.where(size > 0, size, 1) * np.nanmedian(size)
    bound = 2 * most * np.abs(z) * np.abs(r)[..., None, :] + LEAST[part.dtype]
    tells = np.abs(v - z) > bound
    good = np.abs(v - r[..., None, :] * z) <= bound
    rest = np.setdiff1d(np.arange(x.shape[-1]), form.window)
    off = np.abs(b[..., rest] - a[..., rest]) > (most * np.abs(a[..., rest]) + 4 * LEAST[part.dtype]) * bool(form.norm)
    count = tells.sum() + off.sum()
    return float((good & tells).sum() / count) if count else float(good.all())


def find_form(part, model, told, likes):
    """Finds the simplest form that explains nearly as much as the best one."""
    x, y = few_tokens(part)
    if not len(x):
        return
    tried = []

    def attempt(form):
        held = share_held(part, x[::8], y[::8], form)
        held = share_held(part, x, y, form) if held > 0.3 else held
        tried.append((held, form))
        return held > 0.995

    plain = list(forms(part, model, told, likes))
    if not any(attempt(f) for f in plain) and max(t[0] for t in tried) < 0.9 and not part.other:
        from .norms import with_norms

        any(attempt(f) for f in with_norms(x, y, plain))
        if max(t[0] for t in tried) < 0.5 and (found := permuted(part, x, y)):
            attempt(found)
    best = max(t[0] for t in tried)
    part.held, part.form = next(t for t in tried if t[0] >= best - 0.02)
    if best < 0.5:
        part.form = None


def permuted(part, x, y):
    """Partners of any order: of each element the one that leaves least over the heads of each token."""
    if x.shape[1] < 3:
        return None
    moved = np.flatnonzero((x != y).any((0, 1)))
    a, b = x[..., moved], y[..., moved]
    left = sum(residuals_of_token(*token) for token in zip(a, b))
    np.fill_diagonal(left, np.inf)
    partner, index = left.argmin(1), np.arange(len(moved))
    if len(moved) < 2 or (partner[partner] != index).any():
        return None
    i = index[index < partner]
    return Form(moved[i], moved[partner[i]], "a permutation")


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


def find_turns(part):
    """Undoes what stands before and behind the rotation, and finds r of each token and pair."""
    part.x, part.y = pair_values(*part.given, part.form)
    z, v = (t[..., part.form.i] + 1j * t[..., part.form.j] for t in (part.x, part.y))
    part.r = turns_of(z, v, room(part))
    with np.errstate(invalid="ignore"):
        off = np.abs(v - part.r[:, :, None] * z) > 2 * room(part) * np.abs(z) + LEAST[part.dtype]
    alike = off.mean((0, 1, 3)) <= np.median(off.mean((0, 1, 3))) + 0.05
    if not alike.all():  # heads that do not turn as most do have no say
        part.r = turns_of(z[:, :, alike], v[:, :, alike], room(part))
    part.r[part.out] = np.nan
