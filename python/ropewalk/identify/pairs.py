"""Tensors of a dump, and which elements of a head turn as pairs.

y of a pair (i, j) is r (x_i + i x_j), with one r for all heads of a token. A form says which elements are
pairs, where outputs lie, and whether a norm comes before or after. It holds of a pair of a token if one r
explains all heads within room(). With one or two heads any r would, so there r has the size of the others.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import dump as dumps
from ..angles import UNIT
from ..decorator import _require

LEAST = {"f64": 0.0, "f32": 2.0**-140, "f16": 2.0**-23, "bf16": 2.0**-130}  # roundings of denormals
FEW, MOST_ROWS = 48, 512  # tokens, and heads of them, from which a form is found
MOST = 1024  # elements of a head
MOST_FORMS = 20  # that are tried with a norm: five windows


@dataclass
class Form:
    """What a kernel does beside turning: the first and the second elements of its pairs, and more."""

    i: np.ndarray
    j: np.ndarray
    pairing: str
    written: str = ""  # the pairing in whose order the outputs lie, if not that of the inputs
    norm: str = ""  # before, after, or either: it has no weights
    over: str = ""  # of what it is: head or window
    weights: np.ndarray = None

    window = property(lambda self: np.sort(np.concatenate((self.i, self.j))))


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
        self.offset = "k_offset" if self.name.startswith("k") else "q_offset"  # its name for a config
        self.given = self.x, self.y  # x and y change when a norm or an order is found
        squares = (self.x**2).mean(-1)
        self.epsilon = min(5e-6 / float(np.median(squares[squares > 0])), 1e-2) if squares.any() else 0.0


def room(part, form=None):
    """By how much a turn may be off: docs/identify.md derives it."""
    form = form or part.form
    table = 2 if part.dtype in ("bf16", "f16") else 3
    roundings = table * 2**0.5 + 1 + (abs(part.scale - 1) > 1e-3) + 3 * bool(form and form.norm)
    epsilon = part.epsilon if form and form.norm else 0.0
    roundings *= 2 if part.other else 1  # of two engines
    return roundings * UNIT[part.dtype] * 1.02 + epsilon + 2.0**-44


def parts_of(dump, layout):
    _require(layout in dumps.LAYOUTS, f"layout {layout!r} is not one of {', '.join(dumps.LAYOUTS)}")
    out = []
    for name, result in (*dumps.PAIRS.items(), *dumps.OTHERS):
        if name not in dump.tensors or result not in dump.tensors:
            continue
        x, y = (laid_out(dump.tensors[n], n, layout, dump.metadata) for n in (name, result))
        _require(x.shape == y.shape, f"{result} has the shape {y.shape}, and {name} {x.shape}")
        _require(x.shape[-1] <= MOST, f"{name} has heads of {x.shape[-1]}; up to {MOST} are explained")
        _require(dump.dtypes[result], f"{result} has no floating-point type")
        out.append(Part(name, x, y, dump.dtypes[result], other=result * result.endswith("_other")))
    _require(out or "0.position_ids" not in dump.tensors, "it is a file of questions (ropewalk "
             "vectors), which ropewalk verify judges once each N has its N.q_out")
    _require(out, "it needs x and y, or q and q_out: it has "
             f"{', '.join([*dump.tensors][:8]) or 'nothing'}")
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


def planes_of(dump, part):
    """(positions [axes, batch, tokens], with one axis where all are equal; whether 0, 1, 2, ... are taken for
    want of some)."""
    batch, tokens = part.x.shape[:2]
    given = np.asarray(dump.tensors.get("position_ids", np.arange(tokens)))
    _require(given.size and (given == np.floor(given)).all(), "position_ids are not all whole numbers")
    given, taken = given.astype("i8"), "position_ids" not in dump.tensors
    if given.ndim == 3:
        _require(given.shape[1:] == (batch, tokens), f"position_ids has the shape {given.shape}")
        _require(len(given) <= 4, f"position_ids has {len(given)} axes, not up to 4")
        return (given if (given != given[:1]).any() else given[:1]), taken
    _require(given.shape in ((tokens,), (batch, tokens), (1, tokens)),
             f"position_ids has the shape {given.shape}, not [tokens] or [batch, tokens]")
    return np.broadcast_to(given, (1, batch, tokens)), taken


def elements_of(pairing, pairs, at=0):
    """(the first elements of all pairs, the second ones) of a window that begins at `at`."""
    if pairing == "half_split":
        return at + np.arange(pairs), at + np.arange(pairs) + pairs
    return at + 2 * np.arange(pairs), at + 2 * np.arange(pairs) + 1


def forms(part, model, told):
    """What to try, the likeliest first. `told` [pairs]: those of the model that these tokens show to turn."""
    size, (x, y), windows, pairings = part.x.shape[-1], part.given, [], ["half_split", "interleaved"]
    moved = np.append(np.flatnonzero((x != y).any((0, 1, 2))), size - 1)
    first, end = int(moved[0]), int(moved[max(len(moved) - 2, 0)]) + 1
    if model:
        at, n = model[part.offset], model["rotary_dim"]
        if model["pairing"] == "interleaved":
            pairings.reverse()
            if (np.flatnonzero(told) * 2 + at > end).any() and at <= first:
                windows = [(at, end - at)]  # neighbours at its end stay
        windows.append((at, n))
    if (x[..., end - 1] != y[..., end - 1]).mean() > 0.5 and (end - first) % 16 == 0:  # else its last pair is slow
        windows.append((first, end - first))
    windows += [(0, size), (0, size // 2), (size // 2, size - size // 2), (0, size // 4), (0, 3 * size // 4),
                (size - 64, 64), (first, size - first), (first, end - first)]
    for at, n in dict.fromkeys(w for w in windows if w[0] >= 0 and w[1] > 1 and w[1] % 2 == 0 and sum(w) <= size):
        for pairing, written in (*((p, "") for p in pairings), pairings, pairings[::-1]):
            yield Form(*elements_of(pairing, n // 2, at), pairing, written)


def undone(x, y, form):
    """x after a norm before the rotation, and y before what comes after it: a norm, another order."""
    window = form.window
    if form.written:
        halves, y = np.arange(len(window)).reshape(2, -1).T.ravel(), y.copy()  # where interleaved lies among halves
        y[..., window] = y[..., window[halves if form.written == "half_split" else np.argsort(halves)]]
    x = normed(x, form) if form.norm else x
    x = x * form.weights if form.norm == "before" else x
    return x, y / np.where(form.weights == 0, 1, form.weights) if form.norm == "after" else y


def normed(x, form):
    over = slice(None) if form.over == "head" else form.window
    scaled = x.copy()
    scaled[..., over] /= np.maximum(np.sqrt((x[..., over] ** 2).mean(-1, keepdims=True)), 1e-300)
    return scaled


def pairs_of(x, y, form):
    """(z, v) [..., heads, pairs], and which of the other elements [..., heads, others] are not copied."""
    rest = np.setdiff1d(np.arange(x.shape[-1]), form.window)
    z, v = (a[..., form.i] + 1j * a[..., form.j] for a in (x, y))
    return z, v, x[..., rest], y[..., rest]


def not_copied(part, x, y, form):
    """Elements beside the window that differ by more than the roundings of a norm, if there is one."""
    near = (room(part, form) * np.abs(x) + 4 * LEAST[part.dtype]) * bool(form.norm)
    return ~(np.abs(y - x) <= near) & ~(np.isnan(x) & np.isnan(y))


def turns_of(z, v, most):
    """r [tokens, pairs] by all heads, or by most of them where some do not turn alike."""
    size = (np.abs(z) ** 2).sum(-2)
    r = (v * z.conj()).sum(-2) / size
    off = np.abs(v - r[..., None, :] * z) > 2 * most * np.abs(z) * np.maximum(np.abs(r), 1e-300)[..., None, :]
    if z.shape[-2] > 2 and off.any():
        bad = np.nonzero(off.any(-2))
        of_heads = np.nan_to_num(np.moveaxis(v, -2, -1)[bad] / np.moveaxis(z, -2, -1)[bad])
        r[bad] = np.median(of_heads.real, -1) + 1j * np.median(of_heads.imag, -1)
    r[(size == 0) & (np.abs(v).sum(-2) == 0)] = np.nan  # nothing to tell
    r[np.isinf(r)] = 0  # and no rotation
    return r


def share_held(part, x, y, form):
    """(the share that the form explains of what changes, of the pairs that turn)."""
    z, v, *beside = pairs_of(*undone(x, y, form), form)
    most = room(part, form)
    r = turns_of(z, v, most)
    if z.shape[-2] < 3 and np.isfinite(r).any():
        r = r / np.maximum(np.abs(r), 1e-300) * np.nanmedian(np.abs(r))
    bound = 2 * most * np.abs(z) * np.abs(r)[..., None, :] + LEAST[part.dtype]
    tells, good = np.abs((v * z.conj()).imag) > bound * np.abs(z), np.abs(v - r[..., None, :] * z) <= bound
    held, count, off = float((good & tells).sum()), int(tells.sum()), int(not_copied(part, *beside, form).sum())
    return held / (count + off) if count + off else float(good.all()), held / count if count else float(good.all())


@np.errstate(all="ignore")
def find_form(part, model=None, told=None):
    """Finds the simplest form that explains nearly as much as the best one, by few tokens that change."""
    (x, y), tried = (a.reshape(-1, *a.shape[2:]) for a in part.given), [(0.0, 0.0, None)]
    turns = np.flatnonzero(np.isfinite(y).all((1, 2)) & ((x != y).any((1, 2))))
    few = min(max(MOST_ROWS // x.shape[1], 8), FEW, len(turns))
    x, y = (a[turns[np.linspace(0, len(turns) - 1, few).astype(int)]] for a in (x, y))

    def attempt(form):
        shares = share_held(part, x[::8], y[::8], form)
        tried.append((*(share_held(part, x, y, form) if shares[1] > 0.3 else shares), form))
        return tried[-1][0] > 0.995

    plain = list(forms(part, model, told)) if len(x) else []
    if not any(map(attempt, plain)) and max(t[0] for t in tried) < 0.9 and plain and not part.other:
        any(map(attempt, with_norms(x, y, plain)))
    likely = [t for t in tried if t[1] >= 0.5] or tried[:1]
    part.held, _, part.form = next(t for t in likely if t[0] >= max(likely, key=lambda t: t[0])[0] - 0.02)
    if part.form:
        find_turns(part)


def with_norms(x, y, plain):
    """The forms with a norm, the simplest first. Without weights, before and after are one; those of weights
    need three heads."""
    plain = [f for f in plain[:MOST_FORMS] if not f.written]
    for norm in ("either", "before", "after")[: 3 if x.shape[1] > 2 else 1]:
        for form in plain:
            for over in ("head", "window")[: 1 + (len(form.window) < x.shape[-1])]:
                made = replace(form, norm=norm, over=over)
                made.weights = weights_of(x, y, made) if norm != "either" else None
                yield made


def weights_of(x, y, form):
    """Of each element, by the fits y_i = a x_i + b x_j and y_j = c x_i + d x_j over the heads of each token.
    Before: a, b, c, d = w_i cos, -w_j sin, w_i sin, w_j cos. After: w_i cos, -w_i sin, w_j sin, w_j cos.
    The first of a pair is taken to be positive; fits.turns turns a pair around whose weight is not."""
    x, fits = normed(x, form), []
    one, two = x[..., form.i], x[..., form.j]
    aa, bb, ab = ((s * t).sum(1) for s, t in ((one, one), (two, two), (one, two)))
    for v in (y[..., form.i], y[..., form.j]):
        av, bv = (one * v).sum(1), (two * v).sum(1)
        fits += [(bb * av - ab * bv) / (aa * bb - ab**2), (aa * bv - ab * av) / (aa * bb - ab**2)]
    a, b, c, d = map(np.nan_to_num, fits)
    sizes = (np.hypot(a, c), np.hypot(b, d)) if form.norm == "before" else (np.hypot(a, b), np.hypot(c, d))
    out = np.median(np.nan_to_num(y / x), (0, 1))
    out[form.i] = np.median(sizes[0], 0)
    out[form.j] = np.copysign(np.median(sizes[1], 0), np.median(a * d - b * c, 0))
    return out


def find_turns(part):
    """Undoes what stands before and behind the rotation, and finds r of each token and pair."""
    part.x, part.y = undone(*part.given, part.form)
    z, v, *_ = pairs_of(part.x, part.y, part.form)
    part.r = turns_of(z, v, room(part))
    off = np.abs(v - part.r[:, :, None] * z) > 2 * room(part) * np.abs(z) + LEAST[part.dtype]
    alike = off.mean((0, 1, 3)) <= np.median(off.mean((0, 1, 3))) + 0.05
    if not alike.all():  # heads that do not turn as most do have no say
        part.r = turns_of(z[:, :, alike], v[:, :, alike], room(part))
    part.r[part.out] = np.nan
