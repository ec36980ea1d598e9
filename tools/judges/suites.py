"""The acceptance checks of RoPE of six projects, rebuilt from their published rules.

Facts only: shapes, types, tolerances, how inputs are drawn. `offers` is what a project's interface
has, so that no mutant counts that it could not show ("rows": rows may have other positions).
"""

from itertools import product
from types import SimpleNamespace

import numpy as np
from mutants import BF16, F16, F32, call, frequencies, make_table

SUITES = []


def rule(holds):
    """A check of all outputs against the expected ones. A NaN fails."""
    return lambda outputs, expected: all(
        np.all(holds(y.astype(float), e.astype(float))) for y, e in zip(outputs, expected))


def near(atol, rtol):
    return rule(lambda y, e: abs(y - e) <= atol + rtol * abs(e))


def suite(name, source, text, offers):
    return lambda cases: SUITES.append(SimpleNamespace(
        name=name, source=source, rule=text, cases=cases, offers=set(offers.split(", "))))


@suite("ONNX", "onnx/onnx be00bbc91 `onnx/backend/test/case/node/{rotaryembedding,__init__}.py`",
       "8 cases, f32, [2, 4, 3, 8], positions below 50; all in [0, 1); atol 1e-7, rtol 1e-3",
       "partial, positions, rows, batch, any dims, f32, f16, bf16")
def onnx_cases(rng):
    for has_positions, inter, dims in ((1, 0, 8), (1, 0, 8), (1, 1, 8), (1, 0, 4), (1, 1, 4),
                                       (0, 0, 8), (0, 1, 8), (0, 0, 4)):
        pos = rng.integers(0, 50, (2, 3)) if has_positions else np.arange(3) + [[0], [3]]
        table = [rng.random((50 if has_positions else 6, dims // 2)).astype(F32) for _ in (0, 1)]
        yield call(rng, 2, 3, (4,), 8, rotary_dim=dims, pos=pos, table=table, draw=rng.random,
                   inter=bool(inter)), near(1e-7, 1e-3)


@suite("ggml", "ggml-org/ggml d99724f2 `tests/test-backend-ops.cpp`",
       "normal and NeoX cases, also after a norm and before set_rows, f32 and f16, up to 128 "
       "heads, 8,192 dims and tokens, positions below 512; x in [-1, 1]; NMSE at most 1e-7",
       "partial, positions, any dims, backward, scale, in place, window, gaps, own angles, f32, "
       "f16, wide table")
def ggml_cases(rng):
    def one(dim, heads, tokens, rotary_dim, inter, dtype=F32, scale=1.4245, factor=1.4245, ff=0,
            rows=1, pos=None, draw=lambda shape: rng.uniform(-1, 1, shape), **more):
        freq = factor * frequencies(rotary_dim) / (rng.uniform(0.9, 1.1, rotary_dim // 2)**ff)
        pos = rng.integers(0, 512, (1, tokens)) if pos is None else pos
        return call(rng, rows, tokens, (heads,), dim, dtype=dtype, rotary_dim=rotary_dim, freq=freq,
                    pos=pos, inter=inter, scale=scale, draw=draw, **more), nmse

    def normed(shape):  # as a norm and its weights leave it
        return 3**0.5 * rng.uniform(-1, 1, shape) * rng.uniform(-1, 1, shape)

    nmse = rule(lambda y, e: ((y - e)**2).sum() <= 1e-7 * (e**2).sum())
    both, types = (True, False), (F32, F16)
    for inter, tokens, _ in product(both, (1, 8, 512), range(4)):
        yield one(128, 32, tokens, 128, inter, scale=1.0, factor=1.0)
    for _, inter, (dim, heads, tokens) in product(range(8), both, (
            (768, 1, 1), (768, 3, 1), (768, 3, 5), (128, 32, 2), (128, 4, 2), (128, 32, 50),
            (128, 4, 50), (8192, 2, 2), (8192, 2, 2))):
        yield one(dim, heads, tokens, dim, inter, scale=1.0, factor=1.0, draw=normed,
                  pos=rng.permutation(tokens))
    always = [(128, 32, 2, 128, True), (64, 128, 2, 64, False)]
    first = [(128, heads, 2, 128, True) for heads in (40, 52, 64)]
    first += [(64, heads, 2, 64, False) for heads in (1, 71, 8)]
    first += [(16, 16, 8192, 16, inter) for inter in both]
    first += [(80, 32, t, d, inter) for inter in both for t, d in ((2, 20), (2, 32), (4, 32))]
    for back, factor, scale, dtype, ff in product(both, *[(1.0, 1.4245)] * 2, types, (0, 1)):
        options = dict(dtype=dtype, factor=factor, scale=scale, ff=ff, back=back)
        shapes = always + first * (factor == scale == 1.0 and dtype == F32)
        for gap, shape in product(both, shapes):
            yield one(*shape, gap=gap, **options)
        yield from (one(36, 16, 2457, 36, inter, gap=True, **options) for inter in both)
    for dtype, inter, ff, (gap, rows) in product(types, both, (0, 1), ((0, 1), (1, 1), (1, 3))):
        yield one(128, 32, 2, 128, inter, dtype, ff=ff, gap=bool(gap), rows=rows, in_place=True)
    for dtype, back, ff, inter in product(types, both, (0, 1), both):
        yield one(128, 32, 2, 32, inter, dtype, ff=ff, back=back, off=32)
    yield from (one(128, 32, 2, 32, False, dtype, off=32, in_place=True) for dtype in types)


@suite("flashinfer-bench", "flashinfer-ai/flashinfer-bench 40e6ca78 `flashinfer_bench/bench/utils"
       ".py`, `config.py`; shapes: b3bc7e0f `test_rope_with_cos_sin_cache_neox_style_d128_rd64.py`",
       "5 shapes, bf16, 6 and 1 heads of 128 dims, 64 turned, f32 table, positions in order below "
       "256; 3 trials; an element fails beyond both atol 1e-2 and rtol 1e-2",
       "partial, positions, keys, grouped, bf16, wide table")
def flashinfer_bench_cases(rng):
    either = rule(lambda y, e: (abs(y - e) <= 1e-2) | (abs(y - e) <= 1e-2 * (abs(e) + 1e-8)))
    for (rows, tokens), _ in product(((1, 16), (4, 32), (8, 64), (16, 128), (32, 256)), range(3)):
        yield call(rng, 1, rows * tokens, (6, 1), 128, dtype=BF16, rotary_dim=64,
                   pos=np.tile(np.arange(tokens), rows), table=make_table(tokens + 128, 64)), either


@suite("KernelBench", "ScalingIntelligence/KernelBench 423217d9 `src/kernelbench/eval.py`, "
       "`scripts/eval_from_generations.py`; 8bf1e5a2 (a branch) `level9/rotary_reference.py`",
       "[4, 2048, 32, 128], f32, own angles, positions in order; 5 inputs; atol and rtol 1e-4",
       "own angles, keys, batch, any dims, f32")
def kernelbench_cases(rng):
    for _ in range(5):
        yield call(rng, 4, 2048, (32, 32), 128), near(1e-4, 1e-4)


@suite("Liger-Kernel", "linkedin/Liger-Kernel ead96b61 `test/transformers/test_rope.py`",
       "10 shapes, f32, bf16 and f16, up to 213 heads and 8,192 tokens, positions in order; table "
       "in the type of the data; atol 1e-5, 1e-1 and 1e-2, rtol 1e-5",
       "keys, grouped, rows, batch, any dims, backward, f32, f16, bf16")
def liger_cases(rng):
    shapes = [(1, 128, 32, 32, 64), (2, 128, 32, 32, 64), (1, 128, 32, 8, 64), (2, 128, 32, 8, 64),
              (3, 423, 73, 213, 92), (3, 423, 73, 155, 92), (1, 8192, 32, 8, 128),
              (1, 128, 32, 32, 64), (1, 256, 16, 16, 128), (1, 423, 73, 73, 92)]
    for (rows, tokens, q, k, dim), (dtype, atol), back in product(
            shapes, ((F32, 1e-5), (BF16, 1e-1), (F16, 1e-2)), (False, True)):
        yield call(rng, rows, tokens, (q, k), dim, dtype=dtype, back=back,
                   table=make_table(tokens, dim, dtype)), near(atol, 1e-5)


@suite("vLLM", "vllm-project/vllm 0cf5d8e8 `tests/kernels/core/test_pos_encoding.py`; limits: "
       "0acfe755 `tests/kernels/allclose_default.py`",
       "f32 and bf16, 5 rows of 11 and 8,192 tokens, 17 heads, positions below 8,192; table in "
       "the type of the data; atol and rtol: f32 1e-5 and 1.3e-6, bf16 1e-3 and 1.6e-2",
       "partial, positions, rows, batch, any dims, keys, grouped, in place, gaps, f32, f16, bf16")
def vllm_cases(rng):
    for inter, gap, tokens, dim, part, (dtype, atol, rtol), has_key in product(
            (False, True), (False, False, True), (11, 8192), (64, 80, 120, 256), (0, 32),
            ((BF16, 1e-3, 1.6e-2), (F32, 1e-5, 1.3e-6)), (True, False)):
        yield call(rng, 5, tokens, (17, 17) if has_key else (17,), dim, dtype=dtype, inter=inter,
                   rotary_dim=part or dim, pos=rng.integers(0, 8192, (5, tokens)), gap=gap,
                   table=make_table(8192, part or dim, dtype), in_place=True), near(atol, rtol)
