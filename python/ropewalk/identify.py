"""What rotation leads from x to y? Fits of a dump (dump.py), each with its evidence.

y of a pair (i, j) is r (x_i + i x_j), with one r for all heads of a token. The partner j of i is the
one whose r fits best over the heads; r then gives scale and angle, and the angles of tokens give
frequencies and positions. With u of y's type, r of h heads of a right rotation is off by about 2 u.
"""

import json
import math
from dataclasses import dataclass, field

import numpy as np

from . import dump as dumps
from .angles import rounded
from .decorator import _require
from .providers import answer

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
FEW = 32  # tokens from which partners are found
POSITIONS = 1 << 13  # that are searched


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
    notes: list = field(default_factory=list)

    def __post_init__(self):
        self.given = self.x, self.y  # x and y change when a norm or an order is found


def parts_of(dump):
    layout = dump.metadata.get("layout", "bshd")
    _require(layout in dumps.LAYOUTS, f"layout {layout!r} is not one of {', '.join(dumps.LAYOUTS)}")
    out = []
    for name, result in (*dumps.PAIRS, *dumps.OTHERS):
        if name not in dump.tensors or result not in dump.tensors:
            continue
        x, y = (laid_out(dump.tensors[n], n, layout, dump.metadata) for n in (name, result))
        _require(x.shape == y.shape, f"{result} has the shape {y.shape}, and {name} {x.shape}")
        _require(dump.dtypes[result], f"{result} has no floating-point type")
        out.append(Part(name, x, y, dump.dtypes[result]))
        out[-1].other = result if result.endswith("_other") else ""
    _require(out, f"it needs x and y, or q and q_out: it has {', '.join(dump.tensors) or 'nothing'}")
    return out


def laid_out(array, name, layout, metadata):
    axes = dumps.LAYOUTS[layout]
    if axes:
        _require(array.ndim == 4, f"{name} of layout {layout} needs 4 axes, not {array.ndim}")
        return array.transpose(axes)
    if layout == "td":
        size = int(metadata.get("head_dim", "0"))
        _require(array.ndim == 2 and size > 0 and array.shape[1] % size == 0,
                 f"{name} of layout td needs [tokens, heads * head_dim] and head_dim")
        array = array.reshape(len(array), -1, size)
    _require(array.ndim == 3, f"{name} of layout {layout} needs 3 axes, not {array.ndim}")
    return array[None]


def tokens_to_fit(part, norm):
    """x and y of few tokens that change, [tokens, heads, dims], without what is not finite."""
    x, y = (a.reshape(-1, *a.shape[2:]) for a in part.given)
    good = np.isfinite(x).all((1, 2)) & np.isfinite(y).all((1, 2))
    if norm:
        x = normed(x)
    turns = np.flatnonzero(good & (np.abs(x - y).max((1, 2)) > 0))
    chosen = turns[:: max(len(turns) // FEW, 1)][:FEW]
    return x[chosen], y[chosen]


def find_pairs(part, helpers):
    """The partner of each element; `helpers`: parts whose heads turn alike. Outputs may lie in the order
    of the other pairing, and a norm over each head may come before the rotation."""
    changed = (part.x != part.y) & np.isfinite(part.x)
    part.window = np.flatnonzero(changed.any((0, 1, 2)))
    if not part.window.size:
        return
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
            share = fit_residuals(x, y) / np.maximum((y**2).sum((0, 1)), 1e-300)[:, None]
            np.fill_diagonal(share, np.inf)
            ways.append((float(np.median(np.sqrt(share.min(1)))), norm, order, written, x, y, share))
    least = min(way[0] for way in ways)
    way = next(way for way in ways if way[0] <= 3 * least)  # the simplest of those that fit alike
    if least < 64 * UNIT[part.dtype]:
        name_pairs(part, way[-1].argmin(1))
        if part.pairs:
            take(part, *way[1:])


def pair_alike(part, like):
    """The pairs of another part, which one or two heads cannot tell; their angles then have to fit."""
    changed = (part.x != part.y) & np.isfinite(part.x)
    part.window = np.flatnonzero(changed.any((0, 1, 2)))
    if len(part.window) != len(like.window):
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
    part.notes.append(f"partners leave {math.sqrt(share.min(1).max()):.1e} of an element, the next best "
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
        weights[i], weights[j] = np.median(np.hypot(c, t)), np.median(np.hypot(s, d))
    part.x = part.x * weights
    part.notes.append("a norm over each head comes before it" + (
        "" if np.allclose(weights, 1, atol=1e-3) else ", with a weight for each element"))


def normed(x):
    return x / np.maximum(np.sqrt((x**2).mean(-1, keepdims=True)), 1e-300)


def fit_residuals(x, y):
    """[i, j]: what is left of y_i after the best c x_i - s x_j of each token, summed."""
    gram, cross = np.einsum("thi,thj->tij", x, x), np.einsum("thi,thj->tij", y, x)
    own, mixed = np.einsum("tii->ti", gram)[:, :, None], gram
    other, b = own.transpose(0, 2, 1), np.einsum("tii->ti", cross)[:, :, None]
    d = cross
    det = own * other - mixed**2
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = (b**2 * other - 2 * b * d * mixed + d**2 * own) / det
    whole = (y**2).sum(1)[:, :, None]
    left = np.where(det > 1e-12 * own * other, whole - explained, whole)
    return np.maximum(left, 0).sum(0)


def name_pairs(part, partner):
    n, w = len(partner), part.window
    half, mutual = n // 2, partner[partner] == np.arange(n)
    index = np.arange(n)
    if n % 2 == 0 and (partner == (index + half) % n).mean() > 0.9:
        part.pairing, pairs = "half_split", [(i, i + half) for i in range(half)]
    elif n % 2 == 0 and (partner == index ^ 1).mean() > 0.9:
        part.pairing, pairs = "interleaved", [(2 * i, 2 * i + 1) for i in range(half)]
    elif mutual.all():
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
    part.r = (v * z.conj()).sum(2) / np.maximum(size, 1e-300)
    off = np.abs(v - part.r[:, :, None] * z) / np.maximum(np.abs(z), 1e-300) / UNIT[part.dtype]
    typical = np.abs(z) > 0.1 * np.sqrt(size / z.shape[2])[:, :, None]
    part.left = float(np.nanmax(np.where(typical & np.isfinite(off), off, 0)))


def positions_of(dump, part):
    """[batch, tokens], or None with a note."""
    batch, tokens = part.x.shape[:2]
    given = dump.tensors.get("position_ids")
    if given is None:
        return None
    given = np.asarray(given, "i8")
    if given.ndim == 3:
        _require(given.shape[1:] == (batch, tokens), f"position_ids has the shape {given.shape}")
        same = (given == given[:1]).all()
        _require(same, "position_ids has several axes that differ, which identify does not explain")
        given = given[0]
    _require(given.shape in ((tokens,), (batch, tokens), (1, tokens)),
             f"position_ids has the shape {given.shape}, not [tokens] or [batch, tokens]")
    return np.broadcast_to(given, (batch, tokens))


def estimate(r, positions):
    """inv_freq of each pair from differences of tokens, shortest first: a sum over tokens that are a
    step apart gives its angle, and ever longer steps refine it. None: no two tokens are one apart."""
    order = np.argsort(positions, kind="stable")[:64]  # later ones may be clamped or wrapped
    p, z = positions[order], r[order] / np.maximum(np.abs(r[order]), 1e-300)
    place = {int(v): k for k, v in enumerate(p)}
    freq, step = None, 1
    while step <= p[-1] - p[0]:
        both = [(place[v], place[v + step]) for v in place if v + step in place]
        if len(both) >= 1:
            a, b = np.array(both).T
            angle = np.angle((z[b] * z[a].conj()).sum(0))
            if freq is None:
                if step > 1:
                    return None
                freq = angle
            else:
                turns = np.round((freq * step - angle) / (2 * math.pi))
                freq = (angle + 2 * math.pi * turns) / step
        elif freq is None:
            return None
        step *= 2
    return freq


def matches(r, freq, positions, tolerance):
    """Whether r is e^(i f p) for all tokens and pairs that turn, up to a factor on all."""
    unit = r / np.maximum(np.abs(r), 1e-300)
    angle = positions[..., None] * freq
    near = np.abs(unit - np.exp(1j * angle)) <= tolerance + np.abs(angle) * 2.0**-22
    return near | (r == 0)  # a token that was left out


def effective(r, freq, tolerance, most):
    """For each token the position whose angles are nearest to r; -1: none of 0..most is near."""
    candidates = np.exp(-1j * np.arange(most + 1)[:, None] * freq)
    flat = (r / np.maximum(np.abs(r), 1e-300)).reshape(-1, r.shape[-1])
    score = (flat @ candidates.T).real / len(freq)
    best = score.argmax(1)
    good = score[np.arange(len(best)), best] > 1 - 100 * tolerance**2 - 1e-4
    return np.where(good, best, -1).reshape(r.shape[:-1])


def position_accounts(p, found):
    """(words, positions) of what may have been taken in place of p."""
    yield "as given", p
    known = found[found >= 0]
    if known.size:
        for shift in sorted({int(s) for s in (found - p)[found >= 0].ravel()}, key=abs)[:4]:
            yield f"shifted by {shift:+d}", p + shift
        most = int(known.max())
        yield f"clamped at {most}", np.minimum(p, most)
        off = np.abs(p - found)[(found >= 0) & (found != p)]
        size = int(np.gcd.reduce(off)) if off.size else 0
        if size > 1:
            yield f"modulo {size}", p % size
    yield "those of batch row 0 for all", np.broadcast_to(p[:1], p.shape)
    yield "the index of the token", np.broadcast_to(np.arange(p.shape[1]), p.shape)
    for dtype in ("bf16", "f16"):
        yield f"rounded to {dtype}", rounded(p.astype("f8"), dtype)


def base_of(freq, noise):
    """(theta, factor) if all frequencies are factor theta^(-k / n) within `noise`, else None. The
    roundest theta that fits is taken; the error of a frequency is absolute, so large ones weigh."""
    n = len(freq)
    k, sure = np.arange(n), freq > 8 * noise
    if sure.sum() < 2:
        return None
    slope, level = np.polyfit(k[sure], np.log(freq[sure]), 1, w=freq[sure])
    exact, factor = math.exp(-slope * n), math.exp(level)
    factor = 1.0 if abs(factor - 1) < 1e-3 else float(f"{factor:.4g}")
    for digits in (1, 2, 3, 4, 5, 6):
        theta = float(f"{exact:.{digits}g}")
        if (np.abs(factor * theta ** (-k / n) - freq) <= noise).all():
            return theta, factor
    return None


def precision(part, freq, positions, scale):
    """What was rounded: the account that gives most of y's very bits, and its share."""
    few = slice(None, None, max(part.x.shape[1] // 128, 1))
    i, j = np.array(part.pairs).T
    z, v = (a[:, few][..., i] + 1j * a[:, few][..., j] for a in (part.x, part.y))
    p = positions[:, few, None].astype("f8")
    rounded_angle = (p.astype("f4") * freq.astype("f4")).astype("f8")
    ways = {"angles exact": p * freq, "an f32 angle": rounded_angle}
    best = ("", -1.0)
    for words, angle in ways.items():
        for table in ("", "bf16", "f16"):
            row = scale * np.exp(1j * part.sign * angle)
            if table:
                row = rounded(row.real, table) + 1j * rounded(row.imag, table)
            narrow = part.dtype if part.dtype in ("bf16", "f16") else ""
            for products in ("", narrow) if narrow else ("",):
                same = is_same(part.dtype, z, row[:, :, None], v, products)
                share = float(same[np.isfinite(v)].mean())
                if share > best[1] + 0.01:
                    best = ((words + (f", cos and sin in {table}" if table else "") + (
                        f", products rounded to {products}" if products else "")), share)
    return best


def is_same(dtype, z, row, v, products):
    """Whether v is the rotation of z: to the last bit of a 16-bit type, else within 4 u."""
    if dtype not in ("bf16", "f16"):
        return np.abs(z * row - v) <= 4 * UNIT[dtype] * np.abs(z)
    terms = [z.real * row.real, z.imag * row.imag, z.imag * row.real, z.real * row.imag]
    if products:
        terms = [rounded(t, products) for t in terms]
    re, im = rounded(terms[0] - terms[1], dtype), rounded(terms[2] + terms[3], dtype)
    return (re == v.real) & (im == v.imag)


class Report:
    """`lines`: what was found. `explained`: one rotation explains all."""

    def __init__(self):
        self.lines, self.explained, self.facts = [], True, {}

    def say(self, what, text, holds=True):
        self.lines.append(f"{what:<10} {text}")
        self.explained = self.explained and holds


def identify(dump, config=None):
    report, parts = Report(), parts_of(dump)
    model = answer(config) if config else None
    for part in sorted(parts, key=lambda p: -p.x.shape[2]):
        if not (np.abs(part.x) > 0).any():
            report.say(part.name, "is zero: nothing can be told", False)
            continue
        others = [p for p in parts if p is not part and bool(p.other) == bool(part.other)]
        helpers = [p for p in others if p.x.shape[-1] == part.x.shape[-1]]
        like = next((p for p in others if p.pairs), None)
        explain(report, dump, part, helpers, model, like)
    return report


def explain(report, dump, part, helpers, model, like):
    heads = sum(p.x.shape[2] for p in (part, *helpers))
    report.say(part.name, f"{part.x.shape[2]} heads of {part.x.shape[3]}, {part.dtype}, "
               f"{part.x.shape[0]} x {part.x.shape[1]} tokens")
    if heads < 3 and like is None:
        report.say("pairing", f"cannot be told from {heads} heads: give three", False)
        return
    bad = ~(np.isfinite(part.x) & np.isfinite(part.y)).all((2, 3))
    if bad.any():
        report.say("left out", f"{int(bad.sum())} tokens with NaN or Inf")
        part.x, part.y = (np.where(bad[:, :, None, None], 0.0, a) for a in (part.x, part.y))
    if heads < 3:
        pair_alike(part, like)
    else:
        find_pairs(part, helpers)
    if not part.window.size:
        same = f"nothing: {part.other} is {part.name}" if part.other else "nothing: y is x"
        report.say("rotated", same, bool(part.other))
        return
    if not part.pairs:
        report.say("pairing", "unknown: no partner explains the elements", False)
        return
    find_turns(part)
    n, first = len(part.pairs), int(part.window[0])
    wanted = model["pairing"] if model else dump.metadata.get("pairing")
    wrong = f", where the model has {wanted}" if wanted and wanted != part.pairing else ""
    report.say("rotated", f"{2 * n} elements from {first}; the others are copied")
    written = f", written as {part.written}" if part.written else ""
    report.say("pairing", part.pairing + written + wrong, not wrong and not written)
    for note in part.notes:
        report.say("", note)
    if part.left > 64:
        report.say("fit", f"one rotation of a token's heads leaves {part.left:.3g} u", False)
    scale = float(np.median(np.abs(part.r)))
    if abs(scale - 1) > 4 * UNIT[part.dtype] + 1e-6:
        digits = 6 if part.dtype in ("f32", "f64") else 3
        wanted = model["attention_scale"] if model else scale
        report.say("scale", f"{scale:.{digits}g}", abs(scale / wanted - 1) < 1e-2)
    if part.other:
        relative(report, dump, part, model)
        return
    p = positions_of(dump, part)
    if p is None:
        report.say("", "no positions in the file: 0, 1, 2, ... are taken")
        p = np.broadcast_to(np.arange(part.x.shape[1]), part.x.shape[:2])
    angles(report, dump, part, p, model, scale)


def relative(report, dump, part, model):
    """What turns the output of one engine into that of another."""
    tolerance = 16 * UNIT[part.dtype] + 1e-6
    unit = part.r / np.maximum(np.abs(part.r), 1e-300)
    mean, n = unit.mean((0, 1)), len(part.pairs)
    if np.abs(unit - mean).max() > tolerance:
        report.say("turned", "by other angles at other positions: frequencies or positions differ", False)
        return
    given = np.array(model["inv_freq"]) if model else dump.tensors.get("inv_freq")
    base = base_of(np.abs(np.angle(mean)), tolerance) if given is None else None
    if base and abs(base[1] - round(base[1])) < 1e-3:
        given = base[0] ** (-np.arange(n) / n)
    for shift in sorted(range(-64, 65), key=abs) if given is not None and len(given) == n else ():
        if np.abs(np.exp(1j * shift * given) - mean).max() <= tolerance:
            how = f"{abs(shift)} positions {'more' if shift > 0 else 'less'}"
            report.say("turned", f"{part.other} is {part.name} turned by {how}", shift == 0)
            return
    report.say("turned", "by the same angles at all positions, which no shift explains", False)


def angles(report, dump, part, p, model, scale):
    n, tolerance = len(part.pairs), 8 * UNIT[part.dtype] + 1e-6
    if part.dtype in ("bf16", "f16"):
        tolerance *= 2
    lag = min(63, max(int(p[0].max() - p[0].min()), 1))
    wanted = np.array(model["inv_freq"]) if model else dump.tensors.get("inv_freq")
    whose = "the config's" if model else "the file's"
    found = estimate(part.r[0], p[0])
    if found is None:
        if wanted is None or len(wanted) != n:
            report.say("inv_freq", "cannot be told: no two tokens are one position apart", False)
            return
        found = np.array(wanted)
    if part.pairing == "a permutation":  # which element of a pair is first is not known
        order = np.argsort(-np.abs(found))
        part.pairs = [part.pairs[k] if found[k] > 0 else part.pairs[k][::-1] for k in order]
        found = np.abs(found[order])
        find_turns(part)
    if np.median(found) < 0:
        found, part.r, part.sign = -found, part.r.conj(), -1
        report.say("direction", "backwards", False)
    noise = 2 * tolerance / lag
    if wanted is not None and len(wanted) == n and (np.abs(found - wanted) <= noise).all():
        report.say("inv_freq", whose)
        where(report, part, p, np.array(wanted), tolerance, scale)
        return
    base = base_of(found, noise)
    if base:
        powers = base[1] * base[0] ** (-np.arange(n) / n)
        fit = [matches(part.r, f, p, tolerance).mean() for f in (powers, found)]
        found, base = (powers, base) if fit[0] > fit[1] - 0.01 else (found, None)
    report.say("inv_freq", base_words(base, found, n, noise) + (
        f"; {whose} begin {', '.join(f'{f:.4g}' for f in wanted[:4])}" if wanted is not None else ""),
        wanted is None and not (base and base[1] == 2))
    where(report, part, p, found, tolerance, scale)


def base_words(base, found, n, noise):
    if not base:
        return f"of no single base: {', '.join(f'{f:.4g}' for f in found[:4])}, ..."
    factor = "" if base[1] == 1 else f", each divided by {1 / base[1]:.4g}"
    if base[1] == 2:
        factor = ", each twice: it is turned twice"
    blind = int((found < noise).sum())
    blind = f"; {blind} pairs turn too little to tell" if blind else ""
    return f"powers of theta {base[0]:.6g}{factor}, each within {noise:.1e}{blind}"


def where(report, part, p, freq, tolerance, scale):
    most = min(int(p.max()) + 8, POSITIONS)
    few = (slice(8), slice(None, None, max(part.r.shape[1] // 64, 1)))
    found = np.full(p.shape, -1)
    found[few] = effective(part.r[few], freq, tolerance, most)
    for words, taken in position_accounts(p, found):
        good = matches(part.r, freq, taken, tolerance)
        if good.mean() > 0.999:
            report.say("positions", words, words == "as given")
            words, share = precision(part, freq, np.asarray(taken, "f8"), scale)
            how = "to the last bit" if part.dtype in ("bf16", "f16") else "within 4 u"
            report.say("precision", f"{words} ({100 * share:.1f} % of the elements {how})"
                       if share > 0.5 else "unknown: no account gives the bits")
            return
    good = matches(part.r, freq, p, tolerance)
    b, t, pair = np.argwhere(~good)[0]
    turned, wanted = np.angle(part.r[b, t, pair]), float(p[b, t] * freq[pair])
    report.say("positions", f"unknown: wrong from batch row {b}, token {t} (position {p[b, t]}), pair "
               f"{pair} on: turned by {turned:.6g} rad, should be {math.remainder(wanted, 2 * math.pi):.6g}"
               f"; {100 * good.mean():.1f} % of the pairs fit", False)


def main(file, config="", form=""):
    """Prints lines for the command: what was found, and whether one rotation explains it."""
    try:
        found = identify(dumps.read(file), dumps.config_of(config))
        text = [json.dumps({"explained": found.explained, "found": found.lines})] if form else found.lines
        print(*(f"line\t{line}" for line in text), f"end\t{0 if found.explained else 1}", sep="\n")
    except Exception as error:  # of a file from anywhere
        print(f"error\t{' '.join(str(error).split())}")
