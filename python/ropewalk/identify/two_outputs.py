"""The outputs of two engines for the same inputs, which are not known."""

import itertools

import numpy as np

from ..decorator import PAIRINGS
from .frequencies import BASES, base_of, estimate
from .pairs import UNIT, Part, elements_of, find_form, find_turns, order_of, positions_of


def relative(report, dump, part, model):
    """What turns the output of one engine into that of another."""
    tolerance = 16 * UNIT[part.dtype] + 1e-6
    unit = part.r / np.maximum(np.abs(part.r), 1e-300)
    mean, n = np.nanmean(unit, (0, 1)), len(part.pairs)
    given = np.array(model["inv_freq"]) if model else dump.tensors.get("inv_freq")
    if np.nanmax(np.abs(unit - mean)) > tolerance:
        report.say("turned", parted(part, unit, *assumed(dump, part), given, tolerance), False)
        return
    own = [given] if given is not None and len(given) == n else [b ** (-np.arange(n) / n) for b in BASES]
    for shift, freq in itertools.product(sorted(range(-64, 65), key=abs), own):
        if np.abs(np.exp(1j * shift * freq) - mean).max() <= tolerance:
            how = f"{abs(shift)} positions {'more' if shift > 0 else 'less'}"
            report.say("turned", f"{part.other} is {part.name} turned by {how}", shift == 0)
            return
    report.say("turned", "by the same angles at all positions, which no shift explains", False)


def assumed(dump, part):
    """The positions of the file, or 0, 1, 2, ...; and what to say of the latter."""
    p = positions_of(dump, part)
    if p is not None and len(p) == 1:
        return p[0], ""
    return np.broadcast_to(np.arange(part.x.shape[1]), part.x.shape[:2]), ", at positions 0, 1, 2, ..."


def parted(part, unit, p, taken, given, tolerance):
    """Why the angles between two outputs differ from token to token."""
    half = part.pairing == "half_split"
    n = part.pairs[0][1] - part.pairs[0][0] if half else part.x.shape[-1] // 2
    here = np.array([i if half else i // 2 for i, _ in part.pairs])  # a pair that is equal is not here
    apart, lag = estimate(unit[0], p[0], tolerance, 2.0**-20 * np.abs(p).max()) or (None, 1)
    noise = 2 * tolerance / lag
    own = [(f"theta {b:g}", b ** (-np.arange(n) / n)) for b in BASES]
    if given is not None and len(given) == n:
        own.insert(0, ("the given ones", given))
    for words, freq in own if apart is not None and here.max() < n else ():
        other = freq.copy()
        other[here] += apart
        if base := base_of(other, noise):
            other = base[0] ** (-np.arange(n) / n) - freq
            if matches(unit, other[here], p, tolerance).all():
                return f"as frequencies of theta {base[0]:.6g} beside {words}{taken}"
    same = (np.abs(unit - 1) <= tolerance).all(-1)
    if same.any():
        b, t = np.argwhere(~same)[0]
        return (f"from batch row {b}, token {t} (position {p[b, t]}) on; "
                f"{100 * same.mean():.1f} % of the tokens are equal")
    return "by other angles at other positions: frequencies or positions differ"


def in_other_pairing(dump, part, model):
    """What is said of two outputs, if each turns the same unknown x by the same angles, in two pairings."""
    d = part.x.shape[-1]
    for written in PAIRINGS:
        order = order_of(written, d)
        if (np.abs(part.y[..., order] - part.x) <= 4 * UNIT[part.dtype] * np.abs(part.x)).all():
            return f"{part.other} is {part.name}, written as {written}"
    given = np.array(model["inv_freq"]) if model else dump.tensors.get("inv_freq")
    own = [("the given frequencies", given)] if given is not None else [
        (f"theta {b:g}", b ** (-2 * np.arange(d // 2) / d)) for b in BASES]
    (p, taken), tolerance = assumed(dump, part), 16 * UNIT[part.dtype] + 1e-6
    for words, freq in own:
        n = len(freq)
        for one in PAIRINGS if 2 * n <= d else ():
            i, j = elements_of(one, n)
            z = (part.x[..., i] + 1j * part.x[..., j]) * np.exp(-1j * p[..., None] * freq)[:, :, None]
            x = part.x.copy()
            x[..., i], x[..., j] = z.real, z.imag
            other = Part(part.name, x, part.y, part.dtype, other=part.other)
            find_form(other, None, None, ())
            if not other.form or other.pairing == one or len(other.form.i) != n:
                continue
            find_turns(other)
            if matches(other.r, freq, p, tolerance).all():
                return (f"{part.name} is turned as {one} and {part.other} as {other.pairing}, both by "
                        f"{words}{taken}")
    return ""


def matches(r, freq, positions, tolerance):
    """Whether r is e^(i f p), for all tokens and pairs of which something can be told."""
    angle = positions[..., None] * freq
    room = np.minimum(tolerance + np.abs(angle) * 2.0**-22, 0.25)
    return (np.abs(r - np.exp(1j * angle)) <= room) | np.isnan(r)
