"""keras-hub 0.32.0: ESM's rotary layer counts positions in the type of q, so bf16 rounds them.

severity  wrong
from      position 257 on in bf16; the rounded frequencies show a little earlier
size      cos off by 0.86 at position 257 and by 0.95 at position 1,001 (pair 0)
matters   proteins of more than 256 residues in mixed_bfloat16 and bfloat16
replay    ropewalk verify 'keras_hub::esm' --property tables
upstream  none found on 2026-11-29
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import mpmath
import numpy as np
from keras_hub.src.models.esm.esm_attention import ESMRotaryEmbedding

unit = np.repeat(np.float32([1, 0]), 32)
q = keras.ops.cast(np.tile(unit, (1, 1024, 1, 1)), "bfloat16")  # [batch, tokens, heads, 64]
layer = ESMRotaryEmbedding(max_wavelength=10000, dtype="mixed_bfloat16")  # as EsmSelfAttention
out = np.asarray(layer(q, q)[0], "f8")
for p, i in ((100, 1), (257, 0), (1001, 0)):
    right = mpmath.cos(p * mpmath.mpf(10000) ** (-mpmath.mpf(i) / 32))
    print(f"position {p}, pair {i} (bf16 q): library cos {out[0, p, 0, i]:.4f}, "
          f"right {float(right):.4f}")
