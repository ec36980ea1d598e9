"""keras-hub 0.32.0: SmolLM3's inv_freq is a weight, which mixed_bfloat16 rounds to bf16 in a call.

severity  wrong
from      the first tens of positions on, and it grows with the position
size      cos off by 0.03 at position 100, 0.34 at 1,000 and 1.0 at 4,095 (pair 1)
matters   SmolLM3 under keras.config.set_dtype_policy("mixed_bfloat16"), more with each token
replay    ropewalk verify 'keras_hub::smollm3' --property tables
upstream  none found on 2026-11-29
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import mpmath
import numpy as np
from keras_hub.src.models.smollm3.smollm3_layers import SmolLM3Attention

keras.config.set_dtype_policy("mixed_bfloat16")
attention = SmolLM3Attention(256, 4, 4, False, 0.0, [True], "full", 0, 65536, 5e6)
layer = attention.rotary_embedding
for p, i in ((100, 1), (1000, 1), (4095, 1)):
    cos = np.asarray(layer(keras.ops.zeros((1, 1, 4, 64), "bfloat16"), start_index=p)[0], "f8")
    right = mpmath.cos(p * mpmath.mpf(5e6) ** (-mpmath.mpf(i) / 32))
    print(f"position {p}, pair {i}: library cos {cos[0, 0, i]:.4f}, right {float(right):.4f}")
