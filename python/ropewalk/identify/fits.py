"""Accounts: frequencies, positions and axes that predict every turn of every token. The config's come first,
then what known errors make of them, then estimates."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from ..angles import rounded
from ..views import narrow, wide
from . import words
from .frequencies import Frequencies, estimate, named, usual
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
    holds: np.ndarray = None  # [batch, tokens, pairs]: the turns that it predicts
    whole: bool = False
    found: tuple = None  # positions that the turns tell, and whether they explain a token
    rendered: tuple = None

    def angles(self, few=slice(None)):
        planes = np.asarray(self.planes, "f8")[self.axes][:, :, few]
        return self.sign * np.moveaxis(planes, 0, -1) * self.freq.values

    def judged(self, part):
        angles = self.angles()
        self.holds = np.abs(turns(part, angles) - np.exp(1j * angles)) <= self.room(part, angles)
        self.holds |= np.isnan(part.r)
        self.whole, self.rendered = bool(self.holds.all()), None
        return self

    def room(self, part, angles):
        return room(part) + np.abs(angles) * self.freq.slack

    def tells(self, part):
        """[batch, tokens, pairs]: what turns by more than the bound."""
        angles = self.angles()
        return (np.abs(np.exp(1j * angles) - 1) > self.room(part, angles)) & ~np.isnan(part.r)


def turns(part, angles):
    """r; where a norm has weights, the sign of a pair's weights is that with which the pair fits."""
    if part.form.weights is None:
        return part.r
    return np.where(np.nansum((part.r * np.exp(-1j * angles)).real, (0, 1)) < 0, -part.r, part.r)


def effective(r, freq, most, start):
    """For each token the position that its pairs tell, nearest to `start`: coarse from slow pairs, exact from
    fast ones; and whether it explains all of them."""
    known = np.abs(np.nan_to_num(r)) > 0.5
    angle, p, total = np.angle(np.where(known, r, 1)), np.broadcast_to(start, r.shape[:-1]).astype("f8"), 1e-300
    for k in np.argsort(freq.values)[np.sum(freq.values <= 0) :]:
        value = freq.values[k]
        weight = known[..., k] * (value / (most + np.abs(p) * value * freq.slack[k])) ** 2
        total = total + weight
        p = p + weight / total * np.angle(np.exp(1j * (angle[..., k] - p * value))) / value
    best, held = np.round(p), np.zeros(p.shape)
    for step in (0, 1, -1):
        at = (np.round(p) + step)[..., None] * freq.values
        share = ((np.abs(r - np.exp(1j * at)) <= most + np.abs(at) * freq.slack) | ~np.isfinite(r)).mean(-1)
        best, held = np.where(share > held, np.round(p) + step, best), np.maximum(held, share)
    return best.astype("i8"), held == 1


def far_shift(r, freq, most, start):
    """By how much one token [pairs] is shifted, within all that int32 holds: the slowest pair leaves a place in
    each of its periods, and the others rule out all but a few. None: unknown."""
    slow = freq.values[freq.values > 0].min()
    last = min(FAR, 0.25 / np.median(freq.values * freq.slack))  # beyond, roundings leave nothing to tell
    count = int(min(last * slow / (2 * math.pi) + 1, 1 << 14))
    starts = start + np.arange(-count, count + 1) * 2 * math.pi / slow
    found, held = effective(np.broadcast_to(r, (len(starts), len(r))), freq, most, starts)
    return int(min(found[held] - start, key=abs)) if held.any() else None


def position_words(p, found, sure, alone):
    """(words, positions) of what may have been taken in place of p, the simplest first. `alone`: on one axis."""
    yield words.AS_GIVEN, p
    for dtype in ("bf16", "f16"):
        yield words.ROUNDED_TO.format(dtype), rounded(p.astype("f8"), dtype)
    index, off = np.arange(p.shape[1]), (found - p)[sure]
    if off.size:
        values, counts = np.unique(off, return_counts=True)
        shift, most, size = int(values[counts.argmax()]), int(found[sure].max()), int(np.gcd.reduce(np.abs(off)))
        if off.size > 1 and not np.ptp(found[sure]) and np.ptp(p[sure]):
            yield f"{most} for every token", np.full_like(p, most)
        yield words.SHIFTED.format(shift), p + shift
        yield f"clamped at {most}", np.minimum(p, most)
        if size > 1:
            yield f"modulo {size}", p % size
    yield "those of batch row 0 for all", np.broadcast_to(p[:1], p.shape)
    where = words.jumps(index - p[0]) if len(p) == 1 and alone else None
    yield "the index of the token" + (f": {where}" if where else ""), np.broadcast_to(index, p.shape)
    at = np.flatnonzero(sure.all(0)) if alone else ()
    if len(at) > 2 and (found[0, at[-1]] - found[0, at[0]]) % (at[-1] - at[0]) == 0:
        step = int(found[0, at[-1]] - found[0, at[0]]) // int(at[-1] - at[0])
        first = int(found[0, at[0]] - step * at[0])
        text = "a step of {} from {}: {}, {}, {}, ...".format(step, *(first + step * k for k in (0, 0, 1, 2)))
        yield text, np.broadcast_to(first + step * index, p.shape)
    if not alone or not sure.any():
        return
    filled = np.where(sure, found - p, 0)
    for b, t in np.argwhere(~sure):  # of which nothing is known
        filled[b, t] = filled[b, t - 1] if t else 0
    texts = [words.jumps(row) or words.offset(int(row[0]), True) * (not np.ptp(row)) for row in filled[:5]]
    if len(filled) <= 4 and all(texts):
        rows = "; ".join(f"batch row {b}: {t}" for b, t in enumerate(texts))
        yield texts[0] if len(set(texts)) == 1 else rows, p + filled
    if sure.all():
        yield f"{words.listed(found.ravel()[:4])}, ... in place of {words.listed(p.ravel()[:4])}, ...", found


def of_positions(part, account, far):
    """The account with the same frequencies and axes, and positions that the turns tell; or None. `far`: any shift."""
    most, alone, held = room(part), len(account.planes) == 1, []
    r = np.conj(part.r) if account.sign < 0 else part.r
    few = np.unique(np.linspace(0, r.shape[1] - 1, 12).astype(int))
    for axis, plane in enumerate(account.planes):
        mine = account.axes == axis
        if not mine.any():
            continue
        freq, shift = Frequencies("", account.freq.values[mine], account.freq.slack[mine] - 2.0**-23), 0
        if effective(r[:, few][..., mine], freq, most, plane[:, few])[1].mean() < 0.3:
            whole = np.argwhere(np.isfinite(r).all(-1))
            b, t = whole[0] if len(whole) else (0, 0)
            shift = far_shift(r[b, t][mine], freq, most, int(plane[b, t])) if far else None
        if shift is None:
            return None
        account.found = found, sure = effective(r[..., mine], freq, most, plane + shift)
        held.append({})
        for text, other in position_words(plane, found, sure & ~part.out, alone):
            planes = np.where(np.arange(len(account.planes))[:, None, None] == axis, other, account.planes)
            if replace(account, planes=planes).judged(part).holds[..., mine].all():
                held[-1][text] = axis, other
                if alone:
                    break
        if not held[-1]:
            return None
    shared = next((t for t in held[0] if all(t in each for each in held)), None)
    taken, planes = [shared or next(iter(each)) for each in held], np.array(account.planes, "f8")
    for text, each in zip(taken, held):
        planes[each[text][0]] = each[text][1]
    text = "; ".join(f"axis {each[t][0]} {t}" for t, each in zip(taken, held))
    if shared:
        text = shared if alone or shared == words.AS_GIVEN else f"each axis {shared}"
    return replace(account, planes=planes, positions=text).judged(part)


def axis_maps(planes, model, n):
    """The axis of each pair as it may be: the model's, sections, turns, one for all, exchanged ones."""
    count = len(planes)
    own = np.array(model["axes"]) if len((model or {}).get("axes", ())) == n else np.arange(n) * count // n
    if count == 1:
        return [np.zeros(n, int)]
    sizes, mixed = np.bincount(own, minlength=count), np.zeros(n, int)
    sections = np.repeat(np.arange(len(sizes)), sizes)
    for axis in range(1, count):
        mixed[axis : count * sizes[axis] : count] = axis
    out = [own, sections, mixed, np.arange(n) % count] + [np.full(n, a) for a in range(count)]
    out += [np.array(order)[m] for m in out[:3] if m.max() < count for order in itertools.permutations(range(count))]
    return [np.array(m) for m in dict.fromkeys(tuple(m.tolist()) for m in out if m.max() < count)]


def observed_axes(part, account):
    """The axis with which each pair fits, that of the account where it does."""
    n, axes = len(account.axes), range(len(account.planes))
    fits = np.stack([replace(account, axes=np.full(n, a)).judged(part).holds.all((0, 1)) for a in axes])
    return np.where(fits[account.axes, np.arange(n)], account.axes, fits.argmax(0))


def beats(part, one, other):
    """Whether the outputs are nearer to one account than to another beyond doubt: of the turns that the two,
    with the roundings that fit each best, predict apart, it wins so many more that chance would give them
    once in 10^9."""
    (*_, v, a), (*_, b) = (rendition(part, account) for account in (one, other))
    apart = (a != b).any(2) & np.isfinite(v).all(2)
    nearer = np.sign((np.abs(b - v) ** 2).sum(2) - (np.abs(a - v) ** 2).sum(2))[apart]
    return nearer.sum() > 6 * math.sqrt(max(np.abs(nearer).sum(), 1))


def rendition(part, account):
    """(words, share, v, prediction of v): the roundings that give most of y's very bits, in few tokens."""
    if account.rendered:
        return account.rendered
    few, narrow = slice(None, None, max(part.x.size // MOST_BITS, 1)), part.dtype in ("bf16", "f16")
    z, v = (a[:, few][..., part.form.i] + 1j * a[:, few][..., part.form.j] for a in (part.x, part.y))
    planes = np.asarray(account.planes, "f4")[account.axes][:, :, few]
    single = account.sign * (np.moveaxis(planes, 0, -1) * account.freq.values.astype("f4")).astype("f8")
    best, good, tables = ("", -1.0), np.isfinite(v), ("", "bf16", "f16") if narrow else ("",)
    for (name, angle), table, rounds in itertools.product(
            (("angles exact", account.angles(few)), ("an f32 angle", single)), tables, (False, narrow)[: 1 + narrow]):
        row = narrowed(part.scale * np.exp(1j * angle), table)[:, :, None]
        terms = [narrowed(z * t, rounds and part.dtype) for t in (row.real, 1j * row.imag)]
        made = narrowed(terms[0] + terms[1], narrow and part.dtype)
        same = (made == v) if narrow else np.abs(made - v) <= 4 * UNIT[part.dtype] * np.abs(z)
        share = float(same[good].mean()) if good.any() else 0.0
        if share > best[1] + 0.01:
            text = [name] + [f"cos and sin in {table}"] * bool(table) + [f"products rounded to {part.dtype}"] * rounds
            best = (", ".join(text), share, v, made)
    account.rendered = best
    return best


def narrowed(values, dtype):
    """As rounded(), of complex numbers that f32 holds, and many times as fast."""
    if not dtype:
        return values
    single = np.ascontiguousarray(values).view("f8").astype("f4")
    return (single.astype("f2") if dtype == "f16" else wide(narrow(single))).astype("f8").view("c16")


def search(part, planes, freqs, model):
    """(the account that predicts most, others that predict all as well, which these tokens cannot tell from
    it). `freqs`: what is given, and what errors make of it; may be empty."""
    n, more = len(part.form.i), []
    freqs = [f for f in freqs if len(f.values) == n]
    maps = axis_maps(planes, model, n)
    guesses = freqs or [f for b in {1, len(planes)} if n % b == 0 for f in usual(n, b)]
    plain = [Account(f, planes, m, sign=s).judged(part) for s in (1, -1) for f in guesses for m in maps]
    whole = [a for a in plain if a.whole]
    for account in plain if not whole else ():
        if not whole or account.sign == whole[0].sign and account.axes is whole[0].axes:
            found = of_positions(part, account, account is plain[0])
            whole += [found] if found and found.whole else []
    if not whole or not freqs or whole[0].positions != words.AS_GIVEN:
        more = [a.judged(part) for a in estimated(part, planes, maps, freqs)]
        whole += [a for a in more if a.whole]
    if not whole:
        made = [of_positions(part, a, False) for a in more]
        mapped = [a for a in plain if a.sign > 0 and a.axes is maps[0]] if len(planes) > 1 else []
        made += [replace(a, axes=observed_axes(part, a)).judged(part) for a in mapped]
        whole = [a for a in made if a and a.whole]
    if not whole:
        return max(plain + more, key=lambda a: round(fit_share(part, a), 1)), []  # the first of those alike
    whole = [a for a in whole if a.freq.named] or whole[:1]
    pick = whole[0]
    others = [a for a in whole[1:] if differs(a, pick) or a.positions != pick.positions][:24]
    for other in others:
        pick = other if beats(part, other, pick) else pick
    return pick, [a for a in (whole[0], *others) if a is not pick and not beats(part, pick, a)]


def differs(one, other):
    """Whether two accounts differ by more than the roundings of f32."""
    a, b = one.angles(), other.angles()
    same = np.abs(a) * np.maximum(one.freq.slack, other.freq.slack) + 2.0**-40
    return bool((np.abs(a - b) > same).any())


def fit_share(part, account):
    """The share that an account predicts of the turns that are any."""
    tells = account.tells(part) | (np.abs(part.r - 1) > room(part))
    return account.holds[tells].mean() if tells.any() else 1.0


def estimated(part, planes, maps, freqs):
    """Accounts of frequencies that the turns of tokens a step apart tell."""
    n, alike = len(part.form.i), (planes == planes[:1]).all(0)  # tokens of text, say
    if alike.sum() < 2:
        return
    most = np.abs(planes[0][alike]).max() * Frequencies("", np.ones(n)).slack  # angles in f32
    row = (alike & ~part.out).sum(1).argmax()
    made = next(filter(None, (estimate(part.r[at], planes[0][at], room(part), most)
                              for at in (alike & (np.arange(len(alike)) == row)[:, None], alike))), None)
    if not made:
        return
    found, lag = made
    noise = 2 * (room(part) + np.abs(found) * most) / lag
    sign = -1 if np.median(found) < 0 else 1
    for freq in named(sign * found, noise, freqs[0] if freqs else None):
        yield from (Account(freq, planes, axes, sign=sign) for axes in maps)
