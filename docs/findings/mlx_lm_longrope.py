"""mlx-lm 0.32.2: SuScaledRoPE takes short_factor and uses long_factor at every length.

severity  wrong
from      position 1 of every prompt within the original context
size      cos off by 2.1 at position 10 (pair 4), with factors from 1 to 32
matters   Phi-3 of 128k contexts: short prompts get the angles for long ones, unlike in transformers
replay    ropewalk verify 'mlx_lm::longrope' --property context_edges
upstream  https://github.com/ml-explore/mlx-lm/pull/660 speaks of it
"""

import mlx.core as mx
import mpmath
import numpy as np
from mlx_lm.models.rope_utils import initialize_rope

short, long = [1.0 + i / 32 for i in range(32)], [1.0 + i for i in range(32)]
rule = {"rope_type": "longrope", "original_max_position_embeddings": 4096, "short_factor": short,
        "long_factor": long}
rope = initialize_rope(64, 10000.0, False, rule, 131072)
x = mx.array(np.tile(np.repeat(np.float32([1, 0]), 32), (1, 1, 1024, 1)))  # 1,024 tokens
out = np.array(rope(x))[0, 0].astype("f8")
factor = mpmath.sqrt(1 + mpmath.log(32) / mpmath.log(4096))
for p, i in ((1, 1), (10, 4), (1000, 8)):
    angle = [p * mpmath.mpf(10000) ** (-mpmath.mpf(i) / 32) / f[i] for f in (short, long)]
    right, other = (float(factor * mpmath.cos(a)) for a in angle)
    print(f"position {p}, pair {i}: library cos {out[p, i]:.4f}, right {right:.4f} "
          f"(by long_factor {other:.4f})")
