"""Frequencies that a kernel may use: the config's, what becomes of them by a known error, and estimates."""

import itertools
import json
import math
from dataclasses import dataclass

import numpy as np

from ..angles import rounded
from ..decorator import KernelError
from ..providers import answer
from . import words

BASES = 1e4, 5e5, 1e6, 1e5, 2e6, 5e6, 1e7, 1.5e5, 1.6e5  # of released models


@dataclass
class Frequencies:
    """`slack`: by how much of itself an angle may be off, by the roundings of f32."""

    words: str
    values: np.ndarray
    slack: np.ndarray = 0.0
    right: bool = False
    named: bool = True

    def __post_init__(self):
        n = len(self.values)
        if np.ndim(self.slack) == 0:  # as f32_rounding of a rule without a ramp, for bases up to 1e8
            self.slack = (4 + 18.5 * np.arange(n) / n) * 2.0**-24
        self.slack = np.asarray(self.slack) + 2.0**-23  # the product, or the quotient and its timescale


def scaled_dicts(config):
    """Every dictionary of a config in which parameters of a rule may stand."""
    found = [config]
    for value in config.values():
        found += scaled_dicts(value) if isinstance(value, dict) else []
    return found


def edited(config, model):
    """(words, config) of errors with a rule's parameters."""
    def with_changes(change):
        copy = json.loads(json.dumps(config))
        changed = [change(d) for d in scaled_dicts(copy)]
        return copy if any(changed) else None

    def exchange(one, other):
        def change(d):
            if one in d and other in d:
                d[one], d[other] = d[other], d[one]
                return True
        return change

    def whole(d):
        cut = {k: int(v) for k, v in d.items() if isinstance(v, float) and v != int(v) and "factor" in k and v > 1}
        d.update(cut)
        return cut

    def other_truncation(d):
        if d.get("rope_type", d.get("type")) == "yarn":
            d["truncate"] = not d.get("truncate", True)
            return True

    def usual_base(d):
        changed = {k: 10000.0 for k in ("rope_theta", "rotary_emb_base") if d.get(k, 10000) != 10000}
        d.update(changed)
        return changed

    def longest(d):
        key = "original_max_position_embeddings"
        most = next((c["max_position_embeddings"] for c in scaled_dicts(config) if "max_position_embeddings" in c), 0)
        if d.get(key, most) != most:
            d[key] = most
            return True

    if model["scaling"] != "none":
        yield words.USUAL_BASE + words.WITH_RULE.format(model["scaling"]), with_changes(usual_base)
        yield words.EXCHANGED.format("short_factor", "long_factor"), with_changes(exchange("short_factor", "long_factor"))
        yield words.TRUNCATED, with_changes(whole)
        yield words.OTHER_TRUNCATION, with_changes(other_truncation)
        yield words.LONGEST, with_changes(longest)


def with_ends_exchanged(model, plain):
    """(words, frequencies) of what transformers makes of a ramp whose ends are exchanged, which `ropewalk
    config` refuses: llama3 then switches at one wavelength, and yarn's ramp falls."""
    n, theta, values = len(plain), model["rope_theta"], model["scaling_values"]
    if model["scaling"] == "llama3":
        factor, _, high, original = values[:4]
        divided = 2 * math.pi / plain > original / high
        return words.EXCHANGED.format("low_freq_factor", "high_freq_factor"), np.where(divided, plain / factor, plain)
    if model["scaling"] == "yarn":
        factor, original, fast, slow = values[:4]
        low, high = (n * math.log(original / (turns * 2 * math.pi)) / math.log(theta) for turns in (slow, fast))
        low, high = max(math.floor(low), 0), min(math.ceil(high), 2 * n - 1)
        ramp = np.clip((np.arange(n) - low) / (high - low if high != low else 1e-3), 0, 1)
        return words.EXCHANGED.format("beta_fast", "beta_slow"), plain / factor * ramp + plain * (1 - ramp)
    return None


def variants(config, model, size):
    """The config's frequencies, and what known errors make of them, the likeliest first."""
    own, n, theta = np.array(model["inv_freq"]), len(model["inv_freq"]), model["rope_theta"]
    yield Frequencies(words.CONFIGS, own, model["f32_rounding"], True)
    rule = model["scaling"] if model["scaling"] != "none" else ""
    without = words.WITHOUT.format(rule) if rule else ""
    if rule:
        yield Frequencies(words.THETA.format(theta) + without, theta ** (-np.arange(n) / n))
    for dtype in ("bf16", "f16"):
        yield Frequencies(words.ROUNDED.format(words.CONFIGS, dtype), rounded(own.astype("f4").astype("f8"), dtype))
    if theta != 1e4:
        yield Frequencies(words.USUAL_BASE + without, 1e4 ** (-np.arange(n) / n))
    if size != 2 * n:
        yield Frequencies(words.WIDTH.format(theta, size) + without, theta ** (-2 * np.arange(n) / size))
    if exchanged := with_ends_exchanged(model, theta ** (-np.arange(n) / n)):
        yield Frequencies(*exchanged)
    for what, changed in edited(config, model):
        try:
            other = answer(changed) if changed else None
        except KernelError:
            continue
        if other and len(other["inv_freq"]) == n:
            yield Frequencies(what, np.array(other["inv_freq"]), other["f32_rounding"])
    if rule == "longrope":
        original = model["original_positions"] or 1
        for what, tokens in ((words.SHORT, 1), (words.LONG, 2 * original)):
            yield Frequencies(what, np.array(answer(config, tokens=tokens)["inv_freq"]), model["f32_rounding"])


def usual(n, blocks=1):
    """Powers of the bases of released models; in blocks of an axis each."""
    for base in BASES:
        yield Frequencies(words.THETA.format(base) + words.blocks(blocks, n),
                          np.tile(base ** (-np.arange(n // blocks) * blocks / n), blocks))


def estimate(r, positions, room, slack):
    """(inv_freq of each pair, the longest step that it rests on), by medians over tokens that are a step
    apart; ever longer steps refine it while they agree. None: no two tokens are near each other. `slack`: of
    an angle, by its frequency."""
    good = np.flatnonzero(np.isfinite(r).all(-1) & (np.abs(r) > 0).all(-1))
    unique, first = np.unique(positions[good], return_index=True)
    z = r[good][first] / np.abs(r[good][first])
    place = {int(v): k for k, v in enumerate(unique)}
    freq, used = None, 0
    for step in (1, 2, 3, *(4 << k for k in range(28))):
        if not len(unique) or step > unique[-1] - unique[0]:
            break
        both = [(place[v], place[v + step]) for v in unique.tolist() if v + step in place]
        if not both:
            continue
        a, b = np.array(both[:: max(len(both) // 256, 1)]).T
        turns = z[b] * z[a].conj()
        middle = np.angle(turns.sum(0)) if not used else freq * step
        off = np.angle(turns * np.exp(-1j * middle))
        angle = middle + np.median(off, 0)
        if used and (np.abs(angle - middle) > 2 * (room + np.abs(freq) * slack) * (step / used + 1)).any():
            break
        if not used and step > 3:
            return None
        freq, used = angle / step, step
    return (freq, used) if used else None


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


def round_bases(freq, noise):
    """Every theta of up to three digits whose powers all frequencies are within `noise`, the roundest first."""
    k, n = np.arange(len(freq)), len(freq)
    sure = (freq > 2 * noise) & (k > 0)
    if not sure.any():
        return
    low, high = (float(edge(np.log(freq[sure] + s * noise[sure]) * -n / k[sure])) for edge, s in ((np.max, 1), (np.min, -1)))
    for digits in range(3) if 0 < low <= high < 60 else ():
        unit = 10.0 ** (math.floor(low / math.log(10)) - digits)
        first, last = math.ceil(math.exp(low) / unit), math.floor(math.exp(high) / unit)
        yield from (m * unit for m in range(first, min(last, first + 50) + 1))


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
    if not sure.any():
        return None
    low = share[sure].min()
    least = np.median(share[sure][share[sure] <= low + 2 * (noise / plain)[sure]])
    factor = float(f"{1 / least:.3g}") if least > 0 else 0
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
                return words.RULE.format(base[0], name, "a wavelength of" if name == "llama3" else "pair",
                                         first, last, factor), own
    return None


def named(found, noise, given):
    """What an estimate may be: a base, a rule, the given ones in all pairs but a few, or numbers."""
    n, whose = len(found), given.words if given else ""
    begin = words.BEGIN.format(whose, words.numbers(given.values[:4])) if given else ""
    noise = noise + 2.0**-22 * np.abs(found)
    if base := base_of(found, noise):
        factor = "" if base[1] == 1 else words.TWICE if base[1] == 2 else words.DIVIDED.format(1 / base[1])
        yield Frequencies(words.THETA.format(base[0]) + factor + words.WITHIN.format(noise.max()) + begin,
                          base[1] * base[0] ** (-np.arange(n) / n))
        for theta in round_bases(found, np.broadcast_to(noise, n)) if base[1] == 1 else ():
            yield Frequencies(words.THETA.format(theta) + begin, theta ** (-np.arange(n) / n))
    elif rule := rule_of(found, noise):
        yield Frequencies(rule[0] + begin, rule[1])
    if given:
        off = np.abs(found - given.values) > noise
        if 0 < off.sum() <= 4:
            at = np.flatnonzero(off)
            pairs = words.PAIRS.format(whose, words.listed(at), words.numbers(found[at]), words.numbers(given.values[at]))
            yield Frequencies(pairs, np.where(off, found, given.values), given.slack - 2.0**-23)
    yield Frequencies(words.NO_BASE.format(words.numbers(found[:4])) + begin, found, named=False)
