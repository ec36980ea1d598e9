"""A right rotary embedding, and wrong ones with a step replaced, most after properties/mutants."""

import functools
import itertools
from types import SimpleNamespace

import ml_dtypes
import numpy as np

F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
# The largest error of a pair in parts of its length: one rounding to the type, or f32 arithmetic.
BOUND = {F32: 4.3 * 2.0**-24, F16: 1.05 * 2.0**-11, BF16: 1.05 * 2.0**-8}
LEAST = {F32: 2.0**-126, F16: 2.0**-24, BF16: 2.0**-126}  # and this much more, absolutely
STATE = {}  # the numbers of the calls to come
MUTANTS = []


def pick(count, most):
    """At most so many indices of an axis, the first and the last among them."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(int)


def frequencies(rotary_dim, theta=1e4):
    return theta ** -(np.arange(0, rotary_dim, 2) / rotary_dim)


@functools.cache
def make_table(rows, rotary_dim, dtype=F32):
    angle = np.arange(rows, dtype=F32)[:, None] * frequencies(rotary_dim).astype(F32)
    return [f(angle.astype(float)).astype(dtype).astype(F32) for f in (np.cos, np.sin)]


def changed(c, **values):
    return SimpleNamespace(**{**vars(c), **values})


def call(rng, rows, tokens, heads, head_dim, *, dtype=F32, rotary_dim=None, pos=None, theta=1e4,
         draw=None, **more):
    """A call of that shape. Only 4 rows, 24 tokens and 6 heads of it, at most, are computed."""
    rotary_dim, draw = rotary_dim or head_dim, draw or rng.standard_normal
    full = np.broadcast_to(np.arange(tokens) if pos is None else pos, (rows, tokens))
    row, token, head = pick(rows, 4), pick(tokens, 24), [pick(h, 6) for h in heads]
    c = SimpleNamespace(
        B=rows, T=tokens, H=heads, D=head_dim, rd=rotary_dim, dtype=dtype, full=full, token=token,
        pos=full[np.ix_(row, token)], head=head, freq=frequencies(rotary_dim, theta), table=None,
        x=[draw((len(row), len(token), len(h), head_dim)).astype(dtype) for h in head],
        off=0, scale=1.0, inter=False, back=False, in_place=False, gap=False)
    return changed(c, **more)


def pairs(c):
    """The elements of a head that form the pairs."""
    n, half = np.arange(c.rd // 2), c.rd // 2
    return (c.off + 2 * n, c.off + 2 * n + 1) if c.inter else (c.off + n, c.off + n + half)


def rope(c, real=F32, **hook):
    """The outputs of a call, computed in the type `real` and rounded once to that of x."""
    def do(step, value, *more):
        return hook[step](c, value, *more) if step in hook else value

    c, outputs = do("see", c), []
    pos, (one, two) = do("pos", c.pos).astype(int), pairs(c)
    if c.table is None:  # the angle is a product of f32, as in the models' own code
        angle = (pos[..., None].astype(F32) * do("freq", c.freq).astype(F32)).astype(float)
        entries = np.cos(angle), np.sin(angle)
    else:
        entries = [t[np.clip(pos, 0, len(t) - 1)] for t in c.table]
    cs, sn = (e.astype(real)[:, :, None] for e in do("entry", entries))
    sn = -sn if c.back else sn
    for i, x in enumerate(c.x):
        y, u, v = x.copy(), x[..., one].astype(real), x[..., two].astype(real)
        turned = do("turn", (u * cs - v * sn, v * cs + u * sn), u, v, cs, sn, i)
        y[..., one], y[..., two] = (do("store", t * real(c.scale)) for t in turned)
        outputs.append(y)
    return outputs


def mutant(name, note, planted, needs, requires="", demo=None, **hook):
    """Adds a wrong function that `needs` such calls; `requires` is what an interface must offer."""
    MUTANTS.append(SimpleNamespace(
        name=name, note=note, planted=planted, needs=needs, demo=demo or {},
        requires=set(filter(None, requires.split(", "))), run=lambda c: rope(c, **hook)))


def wrong_if(condition):
    return {"see": lambda c, _: changed(c, back=c.back != bool(condition(c)))}


def left_where(mask):
    """Leaves the heads, tokens or pairs of a mask as they are."""
    return {"turn": lambda c, ab, u, v, cs, sn, i: [
        np.where(mask(c, i), old, new) for old, new in zip((u, v), ab)]}


def to(dtype):
    return lambda v: np.asarray(v).astype(dtype).astype(F32)


def widened(c, rotary_dim):
    if c.off + rotary_dim > c.D:
        return c
    n = np.arange(rotary_dim // 2) % (c.rd // 2)
    return changed(c, rd=rotary_dim, freq=c.freq[n], table=c.table and [t[:, n] for t in c.table])


# Which elements form a pair; positions; angles and entries of the table.
mutant("pairing swapped", "always the other pairing", "pairing_swapped_exact", "any",
       see=lambda c, _: changed(c, inter=not c.inter))
mutant("room for 128 pairs", "copies the pairs behind", "room_for_128_pairs_table", "shapes",
       "any dims", {"head_dim": 272, "rotary_dim": 272},
       **left_where(lambda c, i: np.arange(c.rd // 2) >= 128))
mutant("no tail", "only whole blocks of 8 pairs", "no_tail_table", "shapes", "any dims",
       {"rotary_dim": 20}, **left_where(lambda c, i: np.arange(c.rd // 2) >= c.rd // 16 * 8))
mutant("wrong way", "turns back", "wrong_way_table", "any", **wrong_if(lambda c: True))
mutant("backward is forward", "one direction for both", "backward_is_forward_table", "any",
       "backward", {"back": True}, see=lambda c, _: changed(c, back=False))
mutant("not scaled", "ignores the scale", "not_scaled_table", "any", "scale", {"scale": 1.5},
       see=lambda c, _: changed(c, scale=1.0))
mutant("position in bf16", "rounded", "position_in_bf16_exact", "far", demo={"pos": 259},
       pos=lambda c, p: p.astype(BF16))
mutant("position in f16", "for f16 data", "half_position_rounded_f16_table", "far", "f16",
       {"pos": 2051, "dtype": F16}, pos=lambda c, p: p.astype(F16 if c.dtype == F16 else int))
mutant("clamped at 4,095", "a cache of 4,096 rows", "position_clamped_table", "far",
       demo={"pos": 5000}, pos=lambda c, p: np.minimum(p, 4095))
mutant("16 bits", "positions as i16", "i64_in_16_bits_*", "far", demo={"pos": 40_000},
       pos=lambda c, p: p.astype(np.int16))
mutant("decode at zero", "a single token takes position 0", "decode_at_zero_exact", "order",
       "positions", {"tokens": 1, "pos": 9}, pos=lambda c, p: 0 * p if c.T == 1 else p)
mutant("row 0 for all", "all rows take row 0's positions", "row_zero_for_all_table", "order",
       "rows", {"pos": [[3], [9]]}, pos=lambda c, p: np.broadcast_to(p[:1], p.shape))
mutant("run by its ends", "takes a full range for ordered", "run_by_its_ends_exact", "order",
       "positions", {"rows": 1, "pos": [[2, 4, 3, 6, 5]]},
       pos=lambda c, p: p[:, :1] + c.token if (
           c.B == 1 and p[0, 0] == c.full.min() and np.ptp(c.full) + 1 == c.T) else p)
mutant("long prompt", "row 0's from token 1,025 on", "long_prompt_of_first_row_table", "order",
       "rows", {"tokens": 1100, "pos": np.arange(1100) + [[3], [9]]},
       pos=lambda c, p: np.where(c.token > 1024, p[:1], p))
mutant("frequency in bf16", "rounded", "frequency_in_bf16_exact", "any", "own angles",
       freq=lambda c, f: to(BF16)(f))
mutant("base fixed", "always 10,000", None, "bases", "own angles", {"theta": 5e5},
       freq=lambda c, f: f[0] * frequencies(2 * len(f)))
mutant("table in bf16", "cos and sin rounded, for all data", "table_in_bf16_table", "types", "f32",
       entry=lambda c, e: [to(BF16)(v) for v in e])
mutant("table of the data's type", "an f32 table rounded to it", "half_table_rounded_bf16_table",
       "types", "wide table", {"dtype": BF16}, entry=lambda c, e: [to(c.dtype)(v) for v in e])
mutant("cos without sign", "a quarter of the circle", None, "values", demo={"pos": 2},
       entry=lambda c, e: (np.abs(e[0]), e[1]))

# Which part of a head, which tensor, which head, which token; memory, half types, range, history.
mutant("whole head", "turns unrotated dims too", "whole_head_table", "shapes", "partial",
       see=lambda c, _: widened(changed(c, off=0), c.D // 2 * 2))
mutant("power of two", "rotary_dim rounded up", "power_of_two_table", "shapes", "partial, any dims",
       {"rotary_dim": 12}, see=lambda c, _: widened(c, 1 << (c.rd - 1).bit_length()))
mutant("window at 0", "ignores the offset", "window_at_zero_table", "shapes", "window", {"off": 4},
       see=lambda c, _: changed(c, off=0))
mutant("second tensor", "left", None, "shapes", "keys", **left_where(lambda c, i: i > 0))
mutant("heads of first tensor", "later heads left", "heads_of_first_tensor_table", "shapes",
       "grouped", {"heads": (2, 5)}, **left_where(lambda c, i: (c.head[i] >= c.H[0])[:, None]))
mutant("from 17 heads", "the 17th and later are left", None, "shapes", demo={"heads": (20,)},
       **left_where(lambda c, i: (c.head[i] >= 16)[:, None]))
mutant("token after a block", "wrong for 129 tokens", "token_after_a_block_table", "shapes",
       demo={"tokens": 129}, **wrong_if(lambda c: c.T == 129))
mutant("more than 16 rows", "wrong", "more_than_16_rows_exact", "shapes", "batch", {"rows": 17},
       **wrong_if(lambda c: c.B > 16))
mutant("2^22 pairs", "wrong beyond", "flat_index_of_22_bits_table", "shapes",
       demo={"tokens": 90_000}, **wrong_if(lambda c: c.B * c.T * c.H[0] * c.rd // 2 > 2**22))
mutant("stored too early", "b from the new a, in place", "stored_too_early_table", "shapes",
       "in place", {"in_place": True},
       turn=lambda c, ab, u, v, cs, sn, i: (ab[0], v * cs + ab[0] * sn) if c.in_place else ab)
mutant("heads dense", "left behind a gap", "heads_taken_as_dense_table", "shapes",
       "gaps", {"gap": True}, **left_where(lambda c, i: c.gap & (c.head[i] > 0)[:, None]))
mutant("truncated to bf16", "not rounded", "half_truncated_bf16_table", "types", "bf16",
       {"dtype": BF16}, store=lambda c, v: (
           v.astype(F32).view(np.int32) & (-65536 if c.dtype == BF16 else -1)).view(F32))
mutant("subnormals flushed", "in f16", "half_flushes_bf16_table", "values", "f16",
       {"dtype": F16, "draw": lambda shape: np.full(shape, 2.0**-16)},
       store=lambda c, v: np.where((c.dtype == F16) & (np.abs(v) < 2.0**-14), 0 * v, v))
mutant("twice in f32", "overflows between", "range_twice_f32_table", "values", "f32",
       {"draw": lambda shape: np.full(shape, 1.5e38), "pos": 1},
       turn=lambda c, ab, u, v, cs, sn, i: ((2 * u * cs - 2 * v * sn) / 2,
                                            (2 * v * cs + 2 * u * sn) / 2))
mutant("call 65,536", "turns back", "on_call_65536_table", "calls",
       demo={"calls": 65_536}, **wrong_if(lambda c: next(STATE["calls"]) == 65_536))


def is_right(c, outputs):
    """Whether every pair is within the bound of its type, and the rest has the input's bits."""
    one, two = pairs(c)
    rest = np.setdiff1d(np.arange(c.D), [*one, *two])
    exact = rope(changed(c, x=[x.astype(float) for x in c.x]), float)
    for x, y, truth in zip(c.x, outputs, exact):
        off = y.astype(float) - truth
        error, length = (np.hypot(a[..., one], a[..., two]) for a in (off, truth))
        if (not (error <= BOUND[c.dtype] * length + LEAST[c.dtype]).all()
                or y[..., rest].tobytes() != x[..., rest].tobytes()):
            return False
    return True


def is_shown(m, rng):
    """Whether the right function is right, and the mutant wrong, in the mutant's own call."""
    demo = {"rows": 2, "tokens": 5, "heads": (3, 2, 2), "head_dim": 24, "rotary_dim": 16, **m.demo}
    STATE["calls"] = itertools.count(demo.pop("calls", 1))
    c = call(rng, **demo)
    return is_right(c, rope(c)) and not is_right(c, m.run(c))
