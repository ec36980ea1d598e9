"""Accounts: frequencies, positions and axes that predict every turn of every token."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from ..angles import rounded
from . import words
from .frequencies import Frequencies
from .pairs import UNIT, room

FAR = 1 << 31  # positions that int32 holds
MOST_BITS = 1 << 17  # elements whose bits are compared


@dataclass
class Account:
    """planes: [axes, batch, tokens]; axes: the axis of each pair."""

    freq: Frequencies
    planes: np.ndarray
    axes: np.ndarray
    positions: str = words.AS_GIVEN
    sign: int = 1
    holds: np.ndarray = None
    found: tuple = None  # positions that the turns tell, and whether they explain a token
    rendered: tuple = None

    def angles(self, few=slice(None)):
        return self.sign * np.moveaxis(np.asarray(self.planes, "f8")[self.axes][:, :, few], 0, -1) * self.freq.values

    def room(self, part, few=slice(None)):
        return room(part) + np.abs(self.angles(few)) * self.freq.slack

    def judged(self, part):
        """Itself, with `holds` [batch, tokens, pairs]: which turns it predicts."""
        self.holds = np.abs(turns(part, self.angles()) - np.exp(1j * self.angles())) <= self.room(part)
        self.holds |= np.isnan(part.r)
        return self

    @property
    def whole(self):
        return bool(self.holds.all())

    def blind(self, part):
        """How many pairs none of these tokens turns by more than the bound."""
        told = np.abs(np.exp(1j * self.angles()) - 1) > self.room(part)
        return int((~told | np.isnan(part.r)).all((0, 1)).sum())


def turns(part, angles):
    """r; where a norm has weights, the sign of a pair's weights is that with which the pair fits."""
    if part.form.weights is None:
        return part.r
    with np.errstate(invalid="ignore"):
        flips = np.nansum((part.r * np.exp(-1j * angles)).real, (0, 1)) < 0
    return np.where(flips, -part.r, part.r)


def effective(r, freq, most, start):
    """For each token the position that its pairs tell, nearest to `start`: coarse from slow pairs, exact from
    fast ones; and whether it explains all of them."""
    values, slack = freq.values, freq.slack
    angle, known = np.angle(r), np.isfinite(r) & (np.abs(r) > 0.5)
    angle = np.where(known, angle, 0.0)
    p = np.broadcast_to(start, r.shape[:-1]).astype("f8")
    total = np.full(p.shape, 1e-300)
    for k in np.argsort(values):
        if values[k] <= 0:
            continue
        weight = known[..., k] * (values[k] / (most + np.abs(p) * values[k] * slack[k])) ** 2
        total = total + weight
        p = p + weight / total * np.angle(np.exp(1j * (angle[..., k] - p * values[k]))) / values[k]
    best, held = np.round(p), np.full(p.shape, -1.0)
    for step in (0, 1, -1):
        at = (np.round(p) + step)[..., None] * values
        share = (np.abs(r - np.exp(1j * at)) <= most + np.abs(at) * slack) | ~np.isfinite(r)
        share = share.mean(-1)
        best, held = np.where(share > held, np.round(p) + step, best), np.maximum(held, share)
    return best.astype("i8"), held == 1


def far_shift(r, freq, most, start):
    """By how much one token [pairs] is shifted, within all that int32 holds: the slowest pair leaves one
    place in each of its periods, and the others rule out all but a few of them. 0 if it is unknown."""
    use = [k for k in np.argsort(freq.values) if freq.values[k] > 0 and abs(r[k]) > 0.5]
    if len(use) < 3:
        return 0
    period = 2 * math.pi / freq.values[use[0]]
    last = min(FAR, 0.25 / np.median(freq.values * freq.slack))  # beyond, roundings leave nothing to tell
    count = int(min(last // period + 1, 1 << 18))
    p, total = start + np.arange(-count, count + 1) * period, 0.0
    for k in use:
        value = freq.values[k]
        bound = most + np.abs(p) * value * freq.slack[k]
        off = np.angle(np.exp(1j * (np.angle(r[k]) - p * value)))
        keep = np.abs(off) <= bound + value / math.sqrt(total) * 3 if np.any(total) else p == p
        p, off, bound = p[keep], off[keep], bound[keep]
        if not p.size:
            return 0
        total = np.min(total) + np.min((value / bound) ** 2)
        p = p + np.minimum(value**2 / bound**2 / total, 1) * off / value
    at = np.round(p)
    turned = at[:, None] * freq.values
    bound = most + np.abs(turned) * freq.slack
    good = (np.abs(r - np.exp(1j * turned)) <= bound).all(-1) & (np.median(bound, -1) < 0.25)
    return int(min(at[good] - start, key=abs)) if good.any() else 0


def position_words(p, found, sure, alone):
    """(words, positions) [batch, tokens] of what may have been taken in place of p, the simplest first."""
    yield words.AS_GIVEN, p
    for dtype in ("bf16", "f16"):
        yield words.ROUNDED.format("", dtype).removeprefix(", "), rounded(p.astype("f8"), dtype)
    index = np.arange(p.shape[1])
    if sure.any():
        off, last = (found - p)[sure], found[sure]
        values, counts = np.unique(off, return_counts=True)
        shift = int(values[counts.argmax()])
        if np.ptp(last) == 0 and last.size > 1 and np.ptp(p[sure]):
            yield words.ONE_FOR_ALL.format(last[0]), np.full_like(p, last[0])
        yield words.SHIFTED.format(shift), p + shift
        most = int(last.max())
        yield words.CLAMPED.format(most), np.minimum(p, most)
        size = int(np.gcd.reduce(np.abs(off[off != 0]))) if off.any() else 0
        if size > 1:
            yield words.MODULO.format(size), p % size
    yield words.ROW_0, np.broadcast_to(p[:1], p.shape)
    where = words.jumps(index - p[0]) if len(p) == 1 and alone else None
    yield words.INDEX + (f": {where}" if where else ""), np.broadcast_to(index, p.shape)
    if len(p) > 1:
        yield words.FLAT, np.arange(p.size).reshape(p.shape)
    if not sure.any() or not alone:
        return
    at = np.flatnonzero(sure.all(0))
    if len(at) > 2 and (step := (found[0, at[-1]] - found[0, at[0]]) / (at[-1] - at[0])) == round(step) and step:
        first = int(found[0, at[0]] - step * at[0])
        text = words.STEP.format(int(step), first, *(first + int(step) * k for k in range(3)))
        yield text, np.broadcast_to(first + int(step) * index, p.shape)
    filled = np.where(sure, found - p, 0)
    for b, t in np.argwhere(~sure):  # of which nothing is known
        filled[b, t] = filled[b, t - 1] if t else 0
    texts = [words.jumps(row) or words.offset(int(row[0]), True) * (not np.ptp(row)) for row in filled[:5]]
    if len(filled) <= 4 and all(texts):
        each = dict.fromkeys(texts)
        text = texts[0] if len(each) == 1 else "; ".join(f"batch row {b}: {t}" for b, t in enumerate(texts))
        yield text, p + filled
    if sure.all():
        yield words.OTHERS.format(words.listed(found.ravel()[:4]), words.listed(p.ravel()[:4])), found


def of_positions(part, account, far):
    """Accounts with the same frequencies and axes, and positions that the turns tell. `far`: any shift."""
    most = room(part)
    r = np.conj(part.r) if account.sign < 0 else part.r
    few, by_axis = np.unique(np.linspace(0, r.shape[1] - 1, 12).astype(int)), []
    for axis in range(len(account.planes)):
        mine = account.axes == axis
        freq = Frequencies("", account.freq.values[mine], account.freq.slack[mine] - 2.0**-23)
        plane = account.planes[axis]
        if not mine.any():
            by_axis.append([(words.AS_GIVEN, plane)])
            continue
        near = effective(r[:, few][..., mine], freq, most, plane[:, few])[1]
        shift = 0 if near.mean() > 0.3 else None
        if shift is None and far:
            b, t = np.argwhere(np.isfinite(part.r).all(-1))[0] if np.isfinite(part.r).all(-1).any() else (0, 0)
            shift = far_shift(r[b, t][mine], freq, most, int(plane[b, t])) or None
        if shift is None:
            return
        found, sure = effective(r[..., mine], freq, most, plane + shift)
        by_axis.append([*position_words(plane, found, sure & ~part.out, len(account.planes) == 1)])
        account.found = found, sure
    if len(by_axis) == 1:
        for text, plane in by_axis[0][1:]:
            yield replace(account, planes=np.asarray(plane)[None], positions=text)
        return
    used = [a for a in range(len(by_axis)) if (account.axes == a).any()]
    shared = set.intersection(*({text for text, _ in by_axis[a]} for a in used))
    for text in [t for t, _ in by_axis[used[0]] if t in shared]:
        planes = [next((p for w, p in one if w == text), plane) for one, plane in zip(by_axis, account.planes)]
        what = {words.INDEX: words.AXES_INDEX, words.AS_GIVEN: text}.get(text, f"each axis {text}")
        yield replace(account, planes=np.array(planes), positions=what)
    best = []
    for axis, one in enumerate(by_axis):  # each axis by itself
        for text, plane in one:
            planes = np.array([plane if a == axis else p for a, p in enumerate(account.planes)])
            holds = replace(account, planes=planes).judged(part).holds[..., account.axes == axis]
            if holds.all():
                best.append((text, plane))
                break
    if len(best) == len(by_axis):
        yield replace(account, planes=np.array([p for _, p in best]), positions="; ".join(
            f"axis {a} {t}" for a, (t, _) in enumerate(best)))


def axis_maps(part, planes, model, n):
    """(axis of each pair) that may be: the model's, sections, turns, one for all, exchanged ones."""
    count = len(planes)
    if count == 1:
        return [np.zeros(n, int)]
    own = np.array(model["axes"]) if model and "axes" in model else None
    sizes = np.bincount(own, minlength=count) if own is not None else np.full(count, n // count)
    sizes[0] += n - sizes.sum()
    sections, mixed = np.repeat(np.arange(count), sizes), np.zeros(n, int)
    for axis in range(1, count):
        mixed[axis : count * sizes[axis] : count] = axis
    out = [own] if own is not None else []
    out += [sections, mixed, np.arange(n) % count] + [np.full(n, a) for a in range(count)]
    for base in (out[0], sections, mixed):
        out += [np.array(order)[base] for order in itertools.permutations(range(count))]
    return [np.array(m) for m in dict.fromkeys(tuple(m.tolist()) for m in out if m.max() < count)]


def observed_map(part, planes, freq, wanted):
    """The axis with which each pair fits, that of `wanted` where it does."""
    n = len(wanted)
    fits = np.stack([Account(freq, planes, np.full(n, a)).judged(part).holds.all((0, 1)) for a in range(len(planes))])
    if not fits.any(0).all():
        return None
    return np.where(fits[wanted, np.arange(n)], wanted, fits.argmax(0))


def beats(part, one, other):
    """Whether the outputs are nearer to one account than to another beyond doubt: of the turns that the two,
    with the roundings that fit each best, predict apart, it wins so many more that chance would give them
    once in 10^9."""
    (_, _, v, a), (_, _, _, b) = (rendition(part, account) for account in (one, other))
    apart = (a != b).any(2) & np.isfinite(v).all(2)
    off = [(np.abs(made - v) ** 2).sum(2) for made in (a, b)]
    wins, losses = int((apart & (off[0] < off[1])).sum()), int((apart & (off[1] < off[0])).sum())
    return wins - losses > 6 * math.sqrt(max(wins + losses, 1))


def rendition(part, account):
    """(words, share, tokens, v, prediction of v): the roundings that give most of y's very bits."""
    if account.rendered:
        return account.rendered
    few = slice(None, None, max(part.x.size // MOST_BITS, 1))
    i, j = part.form.i, part.form.j
    z, v = (a[:, few][..., i] + 1j * a[:, few][..., j] for a in (part.x, part.y))
    angle = account.angles(few)
    positions = np.asarray(account.planes, "f4")[account.axes][:, :, few]
    single = account.sign * (np.moveaxis(positions, 0, -1) * account.freq.values.astype("f4")).astype("f8")
    narrow = part.dtype if part.dtype in ("bf16", "f16") else ""
    best = ("", -1.0)
    good = np.isfinite(v)
    for name, angle in (("angles exact", angle), ("an f32 angle", single)):
        row = part.scale * np.exp(1j * angle)
        for table in ("", "bf16", "f16") if narrow else ("",):
            own = narrowed(row.real, table) + 1j * narrowed(row.imag, table) if table else row
            for products in ("", narrow) if narrow else ("",):
                made = rendered(part.dtype, z, own[:, :, None], products)
                same = (made == v) if narrow else np.abs(made - v) <= 4 * UNIT[part.dtype] * np.abs(z)
                share = float(same[good].mean()) if good.any() else 0.0
                if share > best[1] + 0.01:
                    text = name + (f", cos and sin in {table}" if table else "") + (
                        f", products rounded to {products}" if products else "")
                    best = (text, share, v, made)
    account.rendered = best
    return best


def rendered(dtype, z, row, products):
    if dtype not in ("bf16", "f16"):
        return z * row
    terms = [z.real * row.real, z.imag * row.imag, z.imag * row.real, z.real * row.imag]
    if products:
        terms = [narrowed(t, products) for t in terms]
    return narrowed(terms[0] - terms[1], dtype) + 1j * narrowed(terms[2] + terms[3], dtype)


def narrowed(values, dtype):
    """As rounded(), of what f32 holds, and many times as fast."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = values.astype("f4")
        if dtype == "f16":
            return values.astype("f2").astype("f8")
        bits = values.view("u4")
        bits = (bits + (0x7FFF + ((bits >> 16) & 1))) & np.uint32(0xFFFF0000)
        return bits.view("f4").astype("f8")
