"""keras-hub 0.32.0: Moonshine's rotary layer makes positions and angles in the compute type.

severity  wrong
from      position 257 on in bf16; the rounded frequencies show earlier (0.03 at position 100)
size      cos off by 0.86 at position 257 and by 0.95 at position 1,001 (pair 0)
matters   speech of more than 256 tokens, a few seconds, in a bf16 model
replay    ropewalk verify 'keras_hub::moonshine' --property tables
upstream  none found on 2026-11-29
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import mpmath
import numpy as np
from keras_hub.src.models.moonshine.moonshine_layers import MoonshineRotaryEmbedding
from keras_hub.src.models.moonshine.moonshine_multi_head_attention import _apply_rotary_pos_emb

layer = MoonshineRotaryEmbedding(36, dtype="mixed_bfloat16")  # 22 elements of 36 turn
angles = layer(keras.ops.arange(1024, dtype="int32"))
q = keras.ops.cast(np.tile(np.float32([1, 0]), (1, 1024, 1, 18)), "bfloat16")
out = np.asarray(_apply_rotary_pos_emb(q, angles), "f8")[0, :, 0]
for p, i in ((100, 1), (257, 0), (1001, 0)):
    right = mpmath.cos(p * mpmath.mpf(10000) ** (-mpmath.mpf(i) / 11))
    print(f"position {p}, pair {i} (bf16 q): library cos {out[p, 2 * i]:.4f}, "
          f"right {float(right):.4f}")
