"""Frequencies that a kernel may use: the config's, what becomes of them by a known error, and estimates."""

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
    """`slack`: by how much of itself an angle may be off, by the roundings of f32: those of inv_freq, as
    f32_rounding of a rule without a ramp for bases up to 1e8, and those of the product, or of the quotient and
    its timescale. `right`: those that are wanted. `named`: more than numbers."""

    words: str
    values: np.ndarray
    slack: np.ndarray = None
    right: bool = False
    named: bool = True

    def __post_init__(self):
        own = (4 + 18.5 * np.arange(len(self.values)) / len(self.values)) * 2.0**-24
        self.slack = np.asarray(own if self.slack is None else self.slack) + 2.0**-23


def powers(theta, n, width=None):
    return theta ** (-np.arange(n) / (width or n))


def edits(config, model):
    """(words, what each dictionary of the config is updated with) of errors with a rule's parameters."""
    most = next((d["max_position_embeddings"] for d in dictionaries(config) if "max_position_embeddings" in d), None)
    yield words.USUAL_BASE + ", with the rule {}".format(model["scaling"]), lambda d: {
        k: 10000.0 for k in ("rope_theta", "rotary_emb_base") if d.get(k, 10000) != 10000}
    yield words.CUT, lambda d: {k: int(v) for k, v in d.items() if isinstance(v, float) and "factor" in k and v > 1}
    yield words.TRUNCATE, lambda d: {"truncate": not d.get("truncate", True)} if "factor" in d else {}
    yield words.LONGEST, lambda d: {k: most for k in d if k == "original_max_position_embeddings" and most}


def dictionaries(config):
    return [config, *(d for v in config.values() if isinstance(v, dict) for d in dictionaries(v))]


def exchanged(model, plain):
    """What transformers and Meta's code make of a ramp whose ends are exchanged, which `ropewalk config`
    refuses: llama3 switches at one wavelength, and yarn's ramp falls."""
    n, values = len(plain), model["scaling_values"]
    if model["scaling"] == "llama3":
        factor, low, high, original = values[:4]
        for turns in (high, low):
            divided = plain * original / (2 * math.pi) < turns
            yield words.EXCHANGED.format("low_freq_factor", "high_freq_factor"), plain / np.where(divided, factor, 1)
    if model["scaling"] == "yarn":
        factor, original, fast, slow = values[:4]
        at = [n * math.log(original / (turns * 2 * math.pi)) / math.log(model["rope_theta"]) for turns in (slow, fast)]
        low, high = max(math.floor(at[0]), 0), min(math.ceil(at[1]), 2 * n - 1)
        ramp = np.clip((np.arange(n) - low) / (high - low or 1e-3), 0, 1)
        yield words.EXCHANGED.format("beta_fast", "beta_slow"), plain / factor * ramp + plain * (1 - ramp)


def variants(config, model, size):
    """The config's frequencies, and what known errors make of them, the likeliest first."""
    own, theta = np.array(model["inv_freq"]), model["rope_theta"]
    n, rule = len(own), model["scaling"] if model["scaling"] != "none" else ""
    without = f", without the rule {rule}" if rule else ""
    yield Frequencies(words.CONFIGS, own, model["f32_rounding"], True)
    if rule:
        yield Frequencies(words.THETA.format(theta) + without, powers(theta, n))
    for dtype in ("bf16", "f16"):
        yield Frequencies(words.ROUNDED.format(words.CONFIGS, dtype), rounded(own.astype("f4").astype("f8"), dtype))
    if theta != 1e4:
        yield Frequencies(words.USUAL_BASE + without, powers(1e4, n))
    if size != 2 * n:
        yield Frequencies(words.WIDTH.format(theta, size) + without, powers(theta, n, size / 2))
    yield from (Frequencies(*each) for each in exchanged(model, powers(theta, n)))
    if rule == "longrope":
        for what, tokens in (("the short factors of the config", 1), ("the long factors of the config", 1 << 30)):
            yield Frequencies(what, np.array(answer(config, tokens=tokens)["inv_freq"]), model["f32_rounding"])
    for what, edit in edits(config, model) if rule else ():
        changed = json.loads(json.dumps(config))
        for each in dictionaries(changed):
            each.update(edit(each))
        try:
            other = answer(changed)
        except KernelError:
            continue
        if len(other["inv_freq"]) == n and other["inv_freq"] != model["inv_freq"]:
            yield Frequencies(what, np.array(other["inv_freq"]), other["f32_rounding"])


def usual(n, blocks=1):
    """Powers of the bases of released models; in blocks of an axis each."""
    for base in BASES:
        text = words.THETA.format(base) + (blocks > 1) * f" in {blocks} blocks of {n // blocks} pairs"
        yield Frequencies(text, np.tile(powers(base, n // blocks), blocks))


def estimate(r, positions, room, slack):
    """(inv_freq of each pair, the longest step that it rests on), by medians over tokens a step apart; ever longer
    steps refine it while they agree. None: no two tokens are near. `slack`: of an angle, by its frequency."""
    good = np.flatnonzero(np.isfinite(r).all(-1) & (np.abs(r) > 0).all(-1))
    unique, first = np.unique(positions[good], return_index=True)
    z = r[good][first] / np.abs(r[good][first])
    place = {int(v): k for k, v in enumerate(unique)}
    freq, used = None, 0
    for step in (1, 2, 3, *(4 << k for k in range(28))):
        if not len(unique) or step > unique[-1] - unique[0] or not used and step > 3:
            break
        both = [(place[v], place[v + step]) for v in place if v + step in place]
        if not both:
            continue
        a, b = np.array(both[:: max(len(both) // 256, 1)]).T
        turns = z[b] * z[a].conj()
        middle = freq * step if used else np.angle(turns.sum(0))
        off = np.median(np.angle(turns * np.exp(-1j * middle)), 0)
        if used and (np.abs(off) > 2 * (room + np.abs(freq) * slack) * (step / used + 1)).any():
            break
        freq, used = (middle + off) / step, step
    return (freq, used) if used else None


def round_numbers(low, high):
    """Numbers within the two, of one to six digits, the roundest first; at last the middle."""
    for digits in range(6):
        unit = 10.0 ** (math.floor(math.log10(high)) - digits)
        first, last = math.ceil(low / unit), math.floor(high / unit)
        yield from (float(f"{m * unit:.6g}") for m in range(first, min(last, first + 20) + 1))
    yield math.sqrt(low * high)


def bases_of(freq, noise, pairs=None):
    """(factor, [theta, ...]): all frequencies are factor theta^(-k / n) within `noise`, the roundest first; of
    the first ones of n `pairs`, if there are more. None: there are none."""
    n, k = pairs or len(freq), np.arange(len(freq))
    if freq[0] <= noise[0]:
        return None
    divisor = next(round_numbers(1 / (freq[0] + noise[0]), 1 / (freq[0] - noise[0])))
    sure = (freq > 8 * noise) & (k > 0)
    low, high = (np.exp(np.log(divisor * (freq + s * noise)[sure]) * -n / k[sure]) for s in (1, -1))
    if not sure.any() or not 1 < low.max() <= high.min() < 1e30:
        return None
    thetas = [t for t in round_numbers(low.max(), high.min())
              if (np.abs(t ** (-k / n) / divisor - freq) <= noise).all()][:60]
    return (1 / divisor, thetas) if thetas else None


def ramp_of(freq, noise):
    """(words, theta) if the first frequencies are powers of theta and the others are smaller, the last ones by one
    factor, as with the ramps of llama3 and yarn; else None."""
    n = len(freq)
    for kept in range(n - 1, 3, -1):
        base = bases_of(freq[:kept], noise[:kept], n)
        if base and base[0] == 1:
            break
    else:
        return None
    plain = powers(base[1][0], n)
    sure = np.flatnonzero((plain > 32 * noise) & (freq > noise))
    share = plain[sure] / freq[sure]
    if not share.size or share[-1] < 1.01:
        return None
    same = np.abs(share / float(f"{share[-1]:.3g}") - 1) <= 2 * noise[sure] / freq[sure]
    first = len(sure) - int(np.argmin(same[::-1])) if not same.all() else 0
    if not 0 < first < len(sure):
        return None
    factor, divided = float(f"{share[-1]:.3g}"), sure[first]
    return words.RAMP.format(base[1][0], kept - 1, factor, divided)


def named(found, noise, given):
    """What an estimate may be: a base, a ramp, the given ones in all pairs but a few, or numbers."""
    n, whose = len(found), given.words if given else ""
    begin = f"; {whose} begin {words.numbers(given.values[:4])}" if given else ""
    noise = noise + 2.0**-22 * np.abs(found)
    if base := bases_of(found, noise):
        factor, thetas = base
        how = "" if factor == 1 else words.TWICE if factor == 2 else words.DIVIDED.format(1 / factor)
        for theta in thetas:
            yield Frequencies(words.THETA.format(theta) + how + begin, factor * powers(theta, n))
    elif ramp := ramp_of(found, noise):
        yield Frequencies(ramp + begin, found)
    off = np.abs(found - given.values) > noise if given else np.zeros(n, bool)
    if 0 < off.sum() <= 4:
        at = np.flatnonzero(off)
        text = words.PAIRS.format(whose, words.listed(at), words.numbers(found[at]), words.numbers(given.values[at]))
        yield Frequencies(text, np.where(off, found, given.values))
    yield Frequencies(f"of no single base: {words.numbers(found[:4])}, ..." + begin, found, named=False)
