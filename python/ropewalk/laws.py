"""The laws of providers of angles. Each returns a Finding or raises Skipped."""

from dataclasses import replace  # noqa: I001
from itertools import product

import numpy as np

from .angles import (MOST, UNIT, Finding, Skipped, angle_error, at_edge, bound_of, cause, compared, edges,
                     equal, expected, frequencies_hold, in_pairs, numpy_of, skip, turns_hold, worse, worst_of)
from .decorator import PAIRINGS, KernelError

laws = {}  # name -> (claim, function)
REFUSALS = IndexError, ValueError, RuntimeError, AssertionError, KeyError


def law(claim):
    def add(function):
        laws[function.__name__] = claim, function
        return function

    return add


def or_refused(call):
    """What a provider does where it need not go: it may refuse."""
    try:
        return call()
    except REFUSALS as error:
        raise Skipped(f"refuses them: {type(error).__name__}: {str(error)[:80]}") from None


@law("each inv_freq is that of the config's rule, within the roundings of f32")
def inv_freq(s):
    return frequencies_hold(s, s.fresh(), s.answer, s.context)


@law("the pairs that the rule turns turn, and no others")
def pairs(s):
    rotary, freq, end = s.fresh(), np.array(s.answer["inv_freq"]), s.original - 1
    still, margins = 4 * UNIT["f32"] * s.answer["attention_scale"], np.zeros(s.pairs)
    positions = [min(end, int(np.ceil(1 / f))) if f else end for f in freq]
    at_zero, *found = s.turn(rotary, [0, *positions])[0]
    for i, (f, p) in enumerate(zip(freq, positions)):
        moved = abs(found[i][i] - at_zero[i])  # how far it should, the other laws say
        if f == 0:
            margins[i] = moved / still
        elif abs(np.exp(1j * f * p) - 1) > 1e-4:
            margins[i] = 0.0 if moved > still else np.inf
    i = worst_of(margins)
    does = "turns, and the rule leaves it" if freq[i] == 0 else "does not turn"
    return Finding(float(margins[i]), reason=f"pair {i} {does}", where=f"pair {i}, position "
                   f"{positions[i]}", compared=s.pairs, position=positions[i])


@law("cos and sin of the declared context are those of position times its own inv_freq")
def tables(s):
    first, *others = s.provider.dtypes
    run = s.asked(sorted({*s.inside(), *range(min(s.context, 3200))}))  # rows may repeat anywhere
    return worse([turns_hold(s, s.fresh(), run, s.answer, first)] +
                 [turns_hold(s, s.fresh(), s.inside(), s.answer, d) for d in others])


@law("so are those beyond the context, up to position 2^20, by the rule for that length")
def beyond_context(s):
    skip(s.context >= MOST, "the context goes farther")
    beside = {s.context + 37, s.context + s.context // 2 + 5, 2 * s.context + 1500}
    positions = s.asked(sorted(p for p in {*edges(MOST + 1), *beside} if s.context <= p <= MOST))
    return at_edge(or_refused(lambda: with_length(s, positions, positions[-1] + 1)))


def with_length(s, positions, tokens):
    """Both stages for a sequence of so many tokens."""
    rotary, truth = s.fresh(), s.provider.truth(tokens=tokens)
    found = turns_hold(s, rotary, positions, truth)
    if s.own(rotary) is None:
        return found
    return worse((frequencies_hold(s, rotary, truth, tokens), found))


@law("at negative positions the sine turns its sign")
def negative_positions(s):
    positions = s.asked([-1, -2, -100, -1023])
    return at_edge(or_refused(lambda: turns_hold(s, s.fresh(), positions, s.answer)))


@law("one token below, at and above the original context the rule for that length holds")
def context_edges(s):
    original, out = s.original, []
    for tokens in (original - 1, original, original + 1):
        whole = tokens <= 4097  # some take the length from the shape
        positions = np.arange(tokens) if whole else [p for p in edges(tokens) if p]
        found = with_length(s, positions, tokens) if tokens <= s.context else at_edge(
            or_refused(lambda: with_length(s, positions, tokens)))
        found.where += f", of {tokens} tokens; the original context has {original}"
        out.append(found)
    return worse(out)


@law("a batch row gets the angles of its own positions")
def batch_rows(s):
    rows = [[0, 1, 2, 3, 7], [5, 11, 3, 0, 1], [0, 0, 0, 1, 2], [0, 1, 2, 9, 4], [6, 8, 2, 3, 7]]

    def in_dtype(dtype):
        rotary = s.fresh()
        both = s.turn(rotary, rows, dtype)
        alone = np.concatenate([s.turn(rotary, row, dtype) for row in rows])
        return equal(s, both, alone, rows, rotary, "a row beside others differs from it alone")

    return worse(map(in_dtype, s.provider.dtypes))


@law("decoding token by token gives the angles of a whole prompt")
def decode(s):
    def in_dtype(dtype):
        positions, rotary = list(range(17)), s.fresh()
        whole = s.turn(rotary, positions, dtype)
        single = np.concatenate([s.turn(rotary, [p], dtype) for p in positions], axis=1)
        return equal(s, single, whole, positions, rotary, "a token alone differs from it in a prompt")

    return worse(map(in_dtype, s.provider.dtypes))


@law("a short call after a long one gives the same angles as without it")
def shorter_after_longer(s):
    original = min(s.original, MOST // 2)
    short, rotary, new = [0, 1, 5, min(original, 64) - 1], s.fresh(), s.fresh()
    for last in (2 * original - 1, s.context - 1):
        try:
            s.turn(rotary, [0, 1, last])
            break
        except REFUSALS:
            continue
    differs = f"a call after one of {last + 1} tokens differs from the first call"
    found = equal(s, s.turn(rotary, short), s.turn(new, short), short, new, differs)
    if not found.holds and s.own(rotary) is not None:
        found.cause = frequencies_hold(s, rotary, s.answer, original).cause
    if last <= original + 1 or not found.holds:
        return found
    rotary, new, short = s.fresh(), s.fresh(), [0, 1, 5, (original + last) // 2]  # both are beyond
    s.turn(rotary, [0, 1, last])
    beyond = equal(s, s.turn(rotary, short), s.turn(new, short), short, new, differs)
    return worse([found, beyond if short[-1] < s.context else at_edge(beyond)])


@law("another config has its own angles, and the first keeps its")
def second_config(s):
    other, truth = another_config(s.provider)
    positions = [0, 1, 5, 63]
    first = s.fresh()
    before, second = s.turn(first, positions), s.fresh(other)
    found = turns_hold(s, second, positions, truth)
    if s.own(second) is not None:
        found = worse((frequencies_hold(s, second, truth, s.context), found))
    if not found.holds:
        return replace(found, reason=f"of a second config, {found.reason}", cause="")
    return worse([found] + [equal(s, s.turn(r, positions), before, positions, first, "the first "
                                  "config has other angles after a second one was built")
                            for r in (first, s.fresh())])


def another_config(provider):
    """A config with other frequencies, and what it comes to. A base may be one that releases read
    differently; then the factor of the rule is another."""
    refused = "its config names neither a base of the frequencies nor a factor"
    bases = "rope_theta", "rotary_emb_base", "rope_local_base_freq", "layer_rope_theta"
    for keys, by in ((bases, 7.0), (("factor",), 2.0)):
        other = multiplied(provider.config, keys, by)
        try:
            if other != provider.config:
                return other, provider.truth(other)
        except KernelError as error:
            refused = f"a second config cannot be read: {error}"
    raise Skipped(refused)


def multiplied(config, keys, by):
    def other(key, value):
        if isinstance(value, dict):
            return multiplied(value, keys, by)
        if key in keys and isinstance(value, list):
            return [v * by for v in value]
        return value * by if key in keys and isinstance(value, (int, float)) else value

    return {key: other(key, value) for key, value in config.items()}


@law("a call in another data type changes nothing of the next")
def second_dtype(s):
    others = [d for d in s.provider.dtypes if d != "f32"]
    skip(not others or "f32" not in s.provider.dtypes, "it is offered in one data type")
    positions, rotary = [0, 1, 5, 63, min(s.context, MOST) - 1], s.fresh()
    before, found = s.turn(rotary, positions), []
    for dtype in others:
        found.append(turns_hold(s, rotary, positions, s.answer, dtype))
        grown = s.fresh()  # its first call makes the rows, in this type
        s.turn(grown, positions, dtype)
        for after in rotary, grown:
            found.append(equal(s, s.turn(after, positions), before, positions, after,
                               f"f32 after {dtype} differs from f32 before it"))
    return worse(found)


@law("a cast of the module to bf16 loses nothing of the angles")
def cast(s, dtype="bf16"):
    rotary, new = s.fresh(), s.fresh()
    skip(not hasattr(rotary, "cast") or s.own(new) is None, "it has no cast, or no inv_freq")
    rotary.cast(dtype)
    after, before = s.own(rotary), s.own(new)
    if np.array_equal(after, before):
        return Finding(compared=after.size)
    positions = edges(s.original)
    exact, room = expected(s, new, positions, s.answer)
    bound = bound_of(exact, room, dtype)
    found = at_edge(compared(s.turn(rotary, positions, dtype), exact, bound, positions, ""))
    i = worst_of(np.abs(after - before) / np.maximum(before, 1e-300))
    if found.holds:
        return found
    lost = angle_error(after, before, s.original)
    reason = f"inv_freq of pair {i} is {after[i]:.9g}, and was {before[i]:.9g}; at position "
    return replace(found, reason=reason + f"{s.original - 1} cos and sin are off by {lost:.1e}")


@law("a rotary that is built again gives the same bits")
def rebuilt(s):
    positions = s.inside()
    one, other = s.fresh(), s.fresh()
    a, b = s.turn(one, positions), s.turn(other, positions)
    found = equal(s, a, b, positions, one, "built again, it gives other bits")
    if found.holds and not np.array_equal(a, b):
        return replace(found, margin=2.0, severity="precision")
    return found


@law("cos and sin are those of the real product, without the rounding of an f32 angle")
def exact_angles(s):
    skip(s.provider.angles == "exact", "tables judges that")
    positions, rotary = s.inside(), s.fresh()
    truth = s.provider.truth(tokens=positions[-1] + 1)
    skip(not turns_hold(s, rotary, positions, truth).holds,
         "its angles are not f32 products of position and inv_freq: tables judges them")
    freq, scale, of_rule = s.own(rotary), truth["attention_scale"], ""
    if freq is None or freq.size != s.pairs:
        freq, of_rule = truth["inv_freq"], " of the rule's inv_freq"
    exact = scale * np.exp(1j * np.atleast_2d(positions)[..., None] * freq)
    bound = np.full(exact.shape, 4 * UNIT["f32"] * scale)
    found = compared(s.turn(rotary, positions), exact, bound, positions, "")
    off = found.margin * found.bound
    reason = f"an f32 angle{of_rule}, as trained: at position {found.position} off by {off:.1e}"
    return replace(found, severity="contract", reason=reason)


@law("q and k are turned by these angles, in the pairs of the model's weights")
def rotation(s):
    skip(not hasattr(s.fresh(), "rotate"), "it offers no rotate")
    positions = np.array(s.asked(sorted({0, 1, 2, 17, min(s.context, MOST) - 1})))
    if "axes" in s.answer and hasattr(s.fresh(), "axes"):
        positions = np.stack([np.roll(positions, a) for a in range(max(s.answer["axes"]) + 1)])
    return worse(rotation_in(s, positions, dtype) for dtype in s.provider.dtypes)


def rotation_in(s, positions, dtype):
    """A product of a pair in a type of u is off by sqrt(5) u, and by what its cos and sin are."""
    draw, rotary = np.random.default_rng(20210420), s.fresh()
    shape, axes = (positions.shape[-1], 3, 2 * s.pairs), s.answer.get("axes")
    q, k = (draw.integers(-127, 128, shape) / 64.0 for _ in "qk")  # exact in bf16
    out = [numpy_of(a) for a in rotary.rotate(q, k, positions.astype("i8"), dtype)]
    first_axis, *_ = np.atleast_2d(positions)

    def exact_by(axes):
        at = positions[axes].T[None] if positions.ndim == 2 else positions
        exact, room = expected(s, rotary, at, s.answer)
        if positions.ndim == 1:  # its own, which other laws judge
            exact = s.turn(rotary, positions, dtype)
        return exact[0][:, None], bound_of(exact, room, dtype)[0][:, None]

    exact, room = exact_by(axes)
    skip(not np.isfinite(exact).all(), "its cos and sin are not finite")

    def turned(exact, room, taken, written, sign):
        found, turn = [], exact if sign > 0 else exact.conj()
        size = (1 + 5**0.5 * UNIT[dtype]) * (np.abs(exact) + room) - np.abs(exact)
        for name, x, y in (("q", q, out[0]), ("k", k, out[1])):
            z, w = in_pairs(x, taken), in_pairs(y, written)
            found.append(compared(w, z * turn, np.maximum(np.abs(z) * size, 1e-30),
                                  np.broadcast_to(first_axis[:, None], z.shape[:2]),
                                  f"{name} in {dtype} is not turned by its angle"))
        return worse(found)

    for name, x, y in (("q", q, out[0]), ("k", k, out[1])):
        if y.shape != x.shape:
            return Finding(np.inf, reason=f"{name} of {x.shape} comes back as {y.shape}")
    first = turned(exact, room, s.answer["pairing"], s.answer["pairing"], 1)
    if first.holds:
        return first
    for name, x, y in (("q", q, out[0]), ("k", k, out[1])):
        if np.array_equal(x, y):
            return replace(first, cause=cause("still", name))
    for taken, written, sign in product(PAIRINGS[::-1], PAIRINGS[::-1], (1, -1)):
        if turned(exact, room, taken, written, sign).holds:
            # Q and K in one other order of elements have the same products.
            kind = "contract" if taken == s.answer["pairing"] and sign > 0 else "wrong"
            names = ("turns_pairs", "turns_pairs_back"), ("turns_pairs_as", "turns_pairs_as_back")
            return replace(first, cause=cause(names[taken != written][sign < 0], taken, written), severity=kind)
    others, n = {}, len(positions) if positions.ndim == 2 else 0
    for a, b in np.ndindex(n, n):
        others[cause("axes_exchanged", *sorted((a, b))) if a != b else cause("axis_for_all", a)] = [
            a if a == b or axis == b else b if axis == a else axis for axis in axes]
    for what, axes in others.items():
        if turned(*exact_by(axes), s.answer["pairing"], s.answer["pairing"], 1).holds:
            return replace(first, cause=what)
    return first
