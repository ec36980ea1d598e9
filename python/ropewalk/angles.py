"""What a provider's angles are held to, and the bounds.

Truth is two-staged, so that no tolerance is guessed. inv_freq is held to the rule of the config, as
`ropewalk config` computes it, within the roundings of f32 (its `f32_rounding`). cos and sin are then
held to the provider's own inv_freq. With u = 2^-24: an f32 cos and sin of one angle are together off
by at most 2 u (the functions of CUDA, of 2 ulp each: 3 u), a factor on them adds 2 u (its own rounding, and
that of the product), and a narrower type the half-ulps of both values. f64 gives the truth, off by |angle| 2^-51.
"""

import copy
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .decorator import KernelError, _require
from .providers import answer

_lines = (line.partition(" = ") for line in Path(__file__).with_name("causes.toml").read_text("utf-8").splitlines())
SENTENCES = {name: sentence[1:-1] for name, equals, sentence in _lines if equals}  # of what is done instead
DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
UNIT = {dtype: 2.0**-digits for dtype, digits in DIGITS.items()}
LEAST = {"f32": -125, "f16": -13, "bf16": -125}  # exponents of the smallest normal numbers
MOST = 1 << 20  # positions that are judged


class Skipped(Exception):
    """A law that says nothing of this provider, and why."""


def skip(when, why):
    if when:
        raise Skipped(why)


@dataclass
class Finding:
    """`margin` is error over bound; above 1 the law fails. severity: wrong, edge, precision or
    contract."""

    margin: float = 0.0
    bound: float = 0.0
    where: str = ""
    reason: str = ""
    severity: str = "wrong"
    compared: int = 0
    position: int = None
    cause: str = ""
    first: int = None  # the position from which it matters

    holds = property(lambda self: self.margin <= 1)


class Subject:
    """A provider, what is true of it, and the position that a replay asks for."""

    def __init__(self, provider, position=None):
        self.provider, self.position = provider, position
        self.answer = provider.truth()
        self.pairs, self.context = self.answer["rotary_dim"] // 2, provider.context
        self.original = min(self.answer["original_positions"] or self.context, self.context)

    def fresh(self, config=None):
        return self.provider.function(copy.deepcopy(config or self.provider.config))

    def turn(self, rotary, positions, dtype="f32"):
        """cos + i sin, [batch, tokens, pairs]."""
        positions = np.atleast_2d(np.asarray(positions, "i8"))
        return rotations(rotary(positions, dtype), *positions.shape, self.pairs)

    def inside(self):
        """Positions of the context: 0, 1, and both sides of each power of two; and its end."""
        return self.asked(edges(min(self.context, MOST)))

    def asked(self, positions):
        return [self.position] if self.position is not None else positions

    def own(self, rotary):
        """Its inv_freq [pairs]; None: it shows none, or keeps it in another order than its pairs, as it may
        with several axes: then it rises somewhere."""
        given = getattr(rotary, "inv_freq", None)
        if "axes" in self.answer and given is not None and not all(
                (np.diff(numpy_of(f).ravel()) <= 0).all() for f in (given, self.answer["inv_freq"])):
            return None
        if self.provider.angles == "division" and hasattr(rotary, "timescale"):
            return 1 / numpy_of(rotary.timescale).ravel()
        return None if given is None else numpy_of(given).ravel()


def cause(name, *parameters):
    return SENTENCES[name].format(*parameters)


def edges(end):
    powers = [1 << k for k in range(21)]
    around = {0, 1, end - 1, *powers, *(p - 1 for p in powers)}
    return sorted(p for p in around if 0 <= p < end)


def frequencies_hold(subject, rotary, truth, tokens):
    """Stage (a): inv_freq against the rule."""
    given, true = subject.own(rotary), np.array(truth["inv_freq"])
    skip(given is None, "it has no attribute inv_freq; cos and sin are held to the rule's")
    if given.shape != true.shape:
        whole = cause("whole_head") if 2 * given.size == truth["head_dim"] else ""
        return Finding(np.inf, reason=f"it has {given.size} frequencies, not {true.size}", cause=whole)
    allowed = true * np.array(truth["f32_rounding"])
    if subject.provider.angles == "exact":
        allowed = allowed * 2.0**-29  # computed in f64
    error = np.abs(given - true)
    margins = np.where(error == 0, 0.0, error / np.maximum(allowed, 1e-300))
    i = worst_of(margins)
    found = Finding(float(margins[i]), float(allowed[i]), f"pair {i}: {given[i]:.9g}, not "
                    f"{true[i]:.9g}", "inv_freq is not that of the rule", compared=given.size)
    if found.holds:
        return found
    off = angle_error(given, true, tokens)
    with np.errstate(all="ignore"):  # two turns differ by less than the difference of their angles
        first = np.ceil(UNIT[truth["dtype"]] / np.max(error))
    found.first = int(first) if np.isfinite(first) else 0
    found.reason += f"; at position {tokens - 1} cos and sin are off by {off:.1e}"
    # Each is the true one, rounded to fewer bits.
    if np.all(error <= true * UNIT["bf16"]):
        found.severity = "wrong" if off > UNIT[truth["dtype"]] else "precision"
        found.reason = found.reason.replace("is not that of the rule", "has lost bits")
    found.cause = account_of(subject, given.tolist())
    return found


def account_of(subject, frequencies):
    """What `ropewalk config` says of numbers that are not those of its rule, or nothing."""
    provider = subject.provider
    said = answer(provider.config, provider.layer, provider.pairing, numbers=frequencies)
    return said.get("account", "")


def observed(subject, rotary):
    """The frequencies that cos and sin show, printed as a tensor of five digits; None: they show none."""
    from .identify.frequencies import estimate  # which imports this module

    at, unit = np.arange(min(subject.context, 1 << 15)), UNIT[subject.provider.dtypes[0]]
    made = estimate(subject.turn(rotary, at)[0], at, 4 * unit, len(at) * UNIT["f32"])
    return made and f"tensor([{', '.join(f'{f:.4e}' for f in made[0])}])"


def angle_error(given, true, tokens):
    """The largest |e^(i a) - e^(i b)| at the last of so many positions."""
    return float(np.max(np.abs(2 * np.sin((given - true) * (tokens - 1) / 2))))


def worst_of(margins):
    """The place of the largest; NaN is the largest of all."""
    return int(np.argmax(np.where(np.isnan(margins), np.inf, margins)))


def half_ulp(value, dtype):
    exponent = np.maximum(np.frexp(np.abs(value))[1], LEAST[dtype])
    return 2.0 ** (exponent - DIGITS[dtype] - 1.0)


def expected(subject, rotary, positions, truth):
    """(scale e^(i angle), what f32 may add to it) by the provider's own inv_freq; positions [batch,
    tokens], or of each pair, [batch, tokens, pairs]."""
    positions = np.atleast_2d(np.asarray(positions, "i8")).astype("f8")
    positions = positions if positions.ndim == 3 else positions[..., None]
    freq, slack = subject.own(rotary), 0.0
    rounds = subject.provider.angles != "exact"
    if freq is None or freq.size != subject.pairs:
        freq = np.array(truth["inv_freq"])
        slack = np.abs(positions * freq) * np.array(truth["f32_rounding"])
        slack = slack + np.abs(positions * freq) * UNIT["f32"] if rounds else slack * 2.0**-29
    angle = positions * freq
    if rounds:
        angle = (positions.astype("f4") * freq.astype("f4")).astype("f8")
        if subject.provider.angles == "division":
            angle = (positions.astype("f4") / (1 / freq).astype("f4")).astype("f8")
    scale = truth["attention_scale"]
    unit = UNIT["f32"] * (subject.provider.units + (0 if scale == 1 else 2))
    turn = np.cos(angle) + 1j * np.sin(angle)  # in a third of the time of np.exp
    return scale * turn, scale * (unit + slack + np.abs(angle) * 2.0**-51)


def bound_of(exact, room, dtype):
    if dtype == "f32":
        return room
    return room + np.hypot(half_ulp(np.abs(exact.real) + room, dtype),
                           half_ulp(np.abs(exact.imag) + room, dtype))


def turns_hold(subject, rotary, positions, truth, dtype="f32"):
    """Stage (b): cos and sin against the provider's own inv_freq."""
    found = subject.turn(rotary, positions, dtype)
    exact, room = expected(subject, rotary, positions, truth)
    bound = bound_of(exact, room, dtype)
    rules = "" if subject.own(rotary) is not None else "the rule's "
    out = compared(found, exact, bound, positions,
                   f"cos and sin in {dtype} are not those of position times {rules}inv_freq")
    if not out.holds:
        out.cause = cause_of(subject, rotary, found, exact, np.array(positions), truth, dtype, out.first)
    return out


def cause_of(subject, rotary, found, exact, positions, truth, dtype, first):
    """What the angles are instead, if all of them fit; else nothing."""
    def fits(other, room=8 * UNIT["f32"]):
        return np.all(np.abs(found - other) <= bound_of(other, room, dtype))

    others = {cause("angles_of_rounded", t): rounded(positions, t) for t in ("bf16", "f16")}
    others |= {cause("angles_of_position", d): positions + d for d in (1, -1)}
    others[cause("clamps", max(first - 1, 0))] = np.minimum(positions, max(first - 1, 0))
    for what, at in others.items():
        if not np.array_equal(at, positions):
            if fits(expected(subject, rotary, at, truth)[0]):
                return what
    scale = truth["attention_scale"]
    if scale != 1 and fits(*expected(subject, rotary, positions, {**truth, "attention_scale": 1.0})):
        return cause("angles_without_factor", scale)
    if scale != 1 and fits(scale * exact):
        return cause("factor_twice", scale)
    for name, other in (("angles_back", exact.conj()), ("cos_for_sin", 1j * exact.conj())):
        if fits(other):
            return cause(name)
    if (freq := subject.own(rotary)) is not None and freq.size == subject.pairs:
        angle = rounded(rounded(positions[..., None] * 1.0, "bf16") * rounded(freq, "bf16"), "bf16")
        if fits(scale * np.exp(1j * angle)):
            return cause("angles_product_bf16")
    elif (shown := observed(subject, rotary)) and (account := account_of(subject, shown)):
        return account.removesuffix(", as far as they were printed")
    narrow, parts = bound_of(exact, 8 * UNIT["f32"], "bf16"), (found.real, found.imag)
    if np.all(np.abs(found - exact) <= narrow) and all(
            np.array_equal(rounded(part, "bf16"), part) for part in parts):
        return cause("angles_bf16")
    return ""


def rounded(values, dtype):
    """The nearest numbers of so many bits; ties to even."""
    unit = 2 * half_ulp(np.where(values == 0, 1.0, values), dtype)
    return np.round(values / unit) * unit


def compared(found, exact, bound, positions, reason):
    margins = np.abs(found - exact) / bound
    place = np.unravel_index(worst_of(margins), margins.shape)
    at = np.broadcast_to(np.atleast_2d(positions)[..., None], margins.shape)
    position, margin = int(at[place]), float(margins[place])
    gain, phase = np.abs(found[place]) / max(np.abs(exact[place]), 1e-300), 0.0
    if np.isfinite(gain) and gain > 0:
        phase = float(np.angle(found[place] / exact[place]))
    where = f"position {position}, pair {place[-1]}: cos {found[place].real:.9g}, sin "
    where += f"{found[place].imag:.9g}, not {exact[place].real:.9g}, {exact[place].imag:.9g}"
    reason += f" (gain {gain:.6g}, phase {phase:+.3g} rad)"
    first = int(at[~(margins <= 1)].min()) if not margin <= 1 else None
    return Finding(np.inf if np.isnan(margin) else margin, float(bound[place]), where, reason,
                   compared=int(margins.size), position=position, first=first)


def equal(subject, found, wanted, positions, rotary, reason):
    """Two results of one provider for the same positions: equal, or as near as two right ones."""
    exact, room = expected(subject, rotary, positions, subject.answer)
    return compared(found, wanted, 2 * np.broadcast_to(room, found.shape), positions, reason)


def worse(findings):
    return max(findings, key=lambda f: np.inf if np.isnan(f.margin) else f.margin)


def at_edge(found):
    return found if found.holds else replace(found, severity="edge")


def numpy_of(array):
    """An array of any library as NumPy's, in f64 or complex."""
    if hasattr(array, "detach"):  # torch; NumPy has no bf16
        torch = sys.modules["torch"]
        wide = torch.complex128 if array.is_complex() else torch.float64
        array = array.detach().cpu().to(dtype=wide).numpy()
    array = np.asarray(array)
    return array.astype("c16" if np.iscomplexobj(array) else "f8")


def rotations(returned, batch, tokens, pairs):
    """cos + i sin, [batch, tokens, pairs], of what a rotary returned. Raises KernelError."""
    if isinstance(returned, (tuple, list)) and len(returned) == 2:
        cos, sin = (numpy_of(a) for a in returned)
    else:
        both = numpy_of(returned)
        _require(np.iscomplexobj(both), f"returned {type(returned).__name__}, not cos and sin")
        cos, sin = both.real, both.imag
    made = [_half(a, pairs, what) for a, what in ((cos, "cos"), (sin, "sin"))]
    for a, what in zip(made, ("cos", "sin")):
        wanted = batch, tokens, pairs
        fits = a.ndim <= 3 and wanted[3 - a.ndim :] == a.shape and (batch == 1 or a.ndim == 3)
        _require(fits, f"{what} has the shape {a.shape}, not {wanted}")
    return np.array(made[0] + 1j * made[1]).reshape(batch, tokens, pairs)


def in_pairs(x, pairing):
    half = x.shape[-1] // 2
    a, b = (x[..., :half], x[..., half:]) if pairing == "half_split" else (x[..., ::2], x[..., 1::2])
    return a + 1j * b


def _half(array, pairs, what):
    """One value a pair; a rotary may give each twice."""
    width = array.shape[-1] if array.ndim else 0
    if width == pairs:
        return array
    _require(width == 2 * pairs, f"{what} has {width} columns; {pairs} pairs turn")
    for one, other in ((array[..., :pairs], array[..., pairs:]), (array[..., ::2], array[..., 1::2])):
        if np.array_equal(one, other, equal_nan=True):
            return one
    raise KernelError(f"{what} has two values for one pair")
