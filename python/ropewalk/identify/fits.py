"""Frequencies, positions and roundings that lead to the turns of pairs."""

import math

import numpy as np

from ..angles import rounded
from .pairs import UNIT


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


def base_of(freq, noise, pairs=None):
    """(theta, factor) if all frequencies are factor theta^(-k / n) within `noise`, else None; of the
    first ones of n `pairs`, if there are more. The roundest theta that fits is taken; the error of a
    frequency is absolute, so large ones weigh."""
    n = pairs or len(freq)
    k, sure = np.arange(len(freq)), freq > 8 * noise
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


def rule_of(freq, noise):
    """(words, frequencies) of a rule that keeps the first powers of theta, divides the last by a factor,
    and mixes between: by the wavelength, as llama3 does, or by the index, as yarn does. Else None."""
    n = len(freq)
    k = np.arange(n)
    bases = (base_of(freq[:m], noise, n) for m in range(n - 1, 3, -1))
    base = next((b for b in bases if b and b[1] == 1), None)
    if not base:
        return None
    plain = base[0] ** (-k / n)
    sure, share = plain > 32 * noise, freq / plain
    low = share[sure].min()
    least = np.median(share[sure][share[sure] <= low + 2 * noise / plain[sure]])
    factor = float(f"{1 / least:.3g}")
    if factor < 1.01:
        return None
    kept = (share - 1 / factor) / (1 - 1 / factor)
    ramp = sure & (kept > 0.02) & (kept < 0.98)
    for name, by in (("llama3", plain), ("yarn", k)) if ramp.sum() > 1 else ():
        slope, level = np.polyfit(by[ramp], kept[ramp], 1, w=plain[ramp])
        ends = [(1 - level) / slope, -level / slope]  # where all is kept, and nothing
        if name == "llama3":
            ends = [2 * math.pi / float(f"{2 * math.pi / e:.3g}") for e in ends]
        else:
            ends = [round(e) if abs(e - round(e)) < 0.1 else e for e in ends]
        mixed = np.clip((by - ends[1]) / (ends[0] - ends[1]), 0, 1)
        own = plain * (mixed + (1 - mixed) / factor)
        if (np.abs(own - freq) <= 4 * noise + 1e-3 * own).all():
            first, last = ((f"{2 * math.pi / e:.4g}" if name == "llama3" else f"{e:.4g}") for e in ends)
            what = "a wavelength of" if name == "llama3" else "pair"
            return (f"powers of theta {base[0]:.6g} with the rule {name}: up to {what} {first} as they "
                    f"are, from {last} on divided by {factor:g}"), own
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
