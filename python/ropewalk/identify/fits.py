"""Frequencies, positions and roundings that lead to the turns of pairs."""

import itertools
import math

import numpy as np

from ..angles import rounded
from .pairs import UNIT


def estimate(r, positions, tolerance):
    """(inv_freq of each pair, the longest step that it rests on), from differences of tokens, shortest
    first: a sum over tokens that are a step apart gives its angle, and ever longer steps refine it.
    None: no two tokens are one apart. Those of later tokens count while they agree, as they may be
    clamped or wrapped."""
    good = np.flatnonzero(~np.isnan(r).any(-1) & (np.abs(r) > 0).all(-1))
    unique, first = np.unique(positions[good], return_index=True)
    z = r[good][first] / np.abs(r[good][first])
    place = {int(v): k for k, v in enumerate(unique)}
    freq, step, used = None, 1, 0
    while len(unique) and step <= unique[-1] - unique[0]:
        known = unique[:64].tolist() if step < 64 else unique.tolist()
        last = known[-1]
        both = [(place[v], place[v + step]) for v in known if v + step <= last and v + step in place]
        both = both[:: max(len(both) // 64, 1)]
        if both:
            a, b = np.array(both).T
            turns = (z[b] * z[a].conj()).mean(0)
            angle = np.angle(turns)
            if step >= 64:
                off = np.abs(np.angle(np.exp(1j * (freq * step - angle))))
                if np.abs(turns).min() < 0.99 or (off > 2 * tolerance * (step / used + 1)).any():
                    break
            if freq is None and step > 1:
                return None
            whole = 0 if freq is None else np.round((freq * step - angle) / (2 * math.pi))
            freq, used = (angle + 2 * math.pi * whole) / step, step
        elif freq is None:
            return None
        step *= 2
    return None if freq is None else (freq, used)


def matches(r, freq, positions, tolerance):
    """Whether r is e^(i f p), for all tokens and pairs of which something can be told."""
    angle = positions[..., None] * freq
    room = np.minimum(tolerance + np.abs(angle) * 2.0**-22, 0.25)
    return (np.abs(r - np.exp(1j * angle)) <= room) | np.isnan(r)


def effective(r, freq, tolerance, low, high):
    """For each token the position whose angles are nearest to r, and whether one of low..high is near."""
    candidates = np.exp(-1j * np.arange(low, high + 1)[:, None] * freq)
    flat = np.nan_to_num(r)
    flat = (flat / np.maximum(np.abs(flat), 1e-300)).reshape(-1, r.shape[-1])
    score = (flat @ candidates.T).real / len(freq)
    best = score.argmax(1)
    good = score[np.arange(len(best)), best] > 1 - 100 * tolerance**2 - 1e-4
    return (best + low).reshape(r.shape[:-1]), good.reshape(r.shape[:-1])


def position_accounts(p, found, near):
    """(words, positions) of what may have been taken in place of p."""
    yield "as given", p
    if near.any():
        for shift in sorted({int(s) for s in (found - p)[near]}, key=abs)[:4]:
            yield f"shifted by {shift:+d}", p + shift
        most = int(found[near].max())
        yield f"clamped at {most}", np.minimum(p, most)
        off = np.abs(p - found)[near & (found != p)]
        size = int(np.gcd.reduce(off)) if off.size else 0
        if size > 1:
            yield f"modulo {size}", p % size
    yield "those of batch row 0 for all", np.broadcast_to(p[:1], p.shape)
    yield "the index of the token", np.broadcast_to(np.arange(p.shape[1]), p.shape)
    for dtype in ("bf16", "f16"):
        yield f"rounded to {dtype}", rounded(p.astype("f8"), dtype)


def base_of(freq, noise, pairs=None):
    """(theta, factor) if all frequencies are factor theta^(-k / n) within `noise`, else None; of the
    first ones of n `pairs`, if there are more. The roundest theta that fits is taken; the error of a
    frequency is absolute, so large ones weigh."""
    n, noise = pairs or len(freq), np.broadcast_to(noise, len(freq))
    k, sure = np.arange(len(freq)), freq > 8 * noise
    if sure.sum() < 2:
        return None
    logs, weights = np.log(freq[sure]), freq[sure] ** 2
    alone = -(weights * k[sure] * logs).sum() / max((weights * k[sure] ** 2).sum(), 1e-300), 1.0
    slope, level = np.polyfit(k[sure], logs, 1, w=freq[sure])
    for slope, factor in (alone, (-slope, float(f"{math.exp(level):.4g}"))):
        exact = math.exp(min(slope * n, 700))
        for theta in (*(float(f"{exact:.{digits}g}") for digits in range(1, 7)), exact):
            if (np.abs(factor * theta ** (-k / n) - freq) <= noise).all():
                return theta, factor
    return None


def rule_of(freq, noise):
    """(words, frequencies) of a rule that keeps the first powers of theta, divides the last by a factor,
    and mixes between: by the wavelength, as llama3 does, or by the index, as yarn does. Else None."""
    n = len(freq)
    k = np.arange(n)
    noise = np.broadcast_to(noise, n)
    bases = (base_of(freq[:m], noise[:m], n) for m in range(n - 1, 3, -1))
    base = next((b for b in bases if b and b[1] == 1), None)
    if not base:
        return None
    plain = base[0] ** (-k / n)
    sure, share = plain > 32 * noise, freq / plain
    low = share[sure].min()
    least = np.median(share[sure][share[sure] <= low + 2 * (noise / plain)[sure]])
    factor = float(f"{1 / least:.3g}")
    if factor < 1.01:
        return None
    kept = (share - 1 / factor) / (1 - 1 / factor)
    ramp = sure & (kept > 0.02) & (kept < 0.98)
    for name, by in (("llama3", plain), ("yarn", k)) if ramp.sum() > 1 else ():
        slope, level = np.polyfit(by[ramp], kept[ramp], 1, w=plain[ramp])
        ends = [(1 - level) / slope, -level / slope]  # where all is kept, and nothing
        if name == "llama3" and min(ends) <= 0:
            continue
        if name == "llama3":  # in wavelengths
            ends = [2 * math.pi / e for e in ends]
        ways = [[(1 - round(math.log2(e)) / math.log2(e) if e > 1 else 1, 2.0 ** round(math.log2(e))),
                 (0, float(f"{e:.3g}")), (0, e)] if name == "llama3" else [(e - round(e), round(e)), (0, e)]
                for e in ends]
        for first, last in itertools.product(*([e for off, e in w if abs(off) < 0.1] for w in ways)):
            begin, end = (2 * math.pi / first, 2 * math.pi / last) if name == "llama3" else (first, last)
            mixed = np.clip((by - end) / (begin - end), 0, 1) if begin != end else kept
            own = plain * (mixed + (1 - mixed) / factor)
            if (np.abs(own - freq) <= 4 * noise + 1e-4 * own).all():
                what = "a wavelength of" if name == "llama3" else "pair"
                return (f"powers of theta {base[0]:.6g} with the rule {name}: up to {what} {first:.4g} as "
                        f"they are, from {last:.4g} on divided by {factor:g}"), own
    return None


def precision(part, freq, positions, scale):
    """What was rounded: the account that gives most of y's very bits, and its share."""
    few = slice(None, None, max(part.x.shape[1] // 128, 1))
    i, j = np.array(part.pairs).T
    z, v = (a[:, few][..., i] + 1j * a[:, few][..., j] for a in (part.x, part.y))
    p = positions[:, few].astype("f8")
    p = p[..., None] if p.ndim == 2 else p  # else each pair has its own
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
