"""equinox 0.13.8: RotaryPositionalEmbedding keeps its tables by size and type, and not by theta.

severity  wrong
from      position 1 of the second module of one embedding_size and type
size      cos off by 2.0 at position 36 (pair 6), for theta 500,000 after theta 10,000
matters   in one process the second model, or the layers with another theta, get the first's angles
replay    ropewalk verify 'equinox::rotary' --property second_config
upstream  none found on 2026-11-29
"""

import equinox
import jax.numpy as jnp
import mpmath

SIZE, TOKENS = 64, 64
x = jnp.concatenate([jnp.ones((TOKENS, SIZE // 2)), jnp.zeros((TOKENS, SIZE // 2))], axis=1)
first = equinox.nn.RotaryPositionalEmbedding(SIZE, theta=10_000.0)(x)
second = equinox.nn.RotaryPositionalEmbedding(SIZE, theta=500_000.0)(x)
print("the two modules give the same bits:", bool((first == second).all()))
worst = (0, 0, 0)
for p in range(TOKENS):
    for i in range(SIZE // 2):
        right = mpmath.cos(p * mpmath.mpf(500_000) ** (-mpmath.mpf(i) / (SIZE // 2)))
        worst = max(worst, (float(abs(float(second[p, i]) - right)), p, i))
_, p, i = worst
right = mpmath.cos(p * mpmath.mpf(500_000) ** (-mpmath.mpf(i) / (SIZE // 2)))
print(f"position {p}, pair {i}: library cos {float(second[p, i]):.4f}, right {float(right):.4f}")
