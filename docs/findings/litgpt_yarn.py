"""litgpt 0.5.13: build_rope_cache blends the two frequencies of YaRN the wrong way round.

severity  wrong
from      position 1, with rope_adjustments that have beta_fast and beta_slow
size      at position 1 the first pair is off by 0.73
matters   a checkpoint with YaRN computes other angles; none of litgpt's built-in configs uses it
replay    ropewalk verify litgpt::yarn
upstream  none found on 2026-11-29
"""
import mpmath as mp
import numpy as np
from litgpt.model import build_rope_cache

dim, base, factor, length = 64, 10000, 4.0, 8192
cos, sin = build_rope_cache(8192, dim, base=base, extra_config={
    "factor": factor, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_seq_len": length})
edge = [dim * mp.log(length / (beta * 2 * mp.pi)) / (2 * mp.log(base)) for beta in (32, 1)]
low, high = mp.floor(edge[0]), mp.ceil(edge[1])
for position, pair in ((1, 0), (100, 0), (8191, 31)):
    plain = mp.mpf(base) ** (-mp.mpf(2 * pair) / dim)
    slow = min(max((pair - low) / (high - low), 0), 1)  # 0: fast pairs stay as trained
    angle = position * (plain * (1 - slow) + plain / factor * slow)
    has = complex(cos[position, pair], sin[position, pair])
    print(f"position {position}, pair {pair}: library cos {has.real:.4f}, right "
          f"{float(mp.cos(angle)):.4f}, off by {np.abs(has - complex(mp.expj(angle))):.2f}")
