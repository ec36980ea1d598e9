"""esm 3.2.1.post1: apply_rotary_emb_torch(interleaved=True) lays its tables out for the other pairing.

severity  wrong
from      position 1, with interleaved=True
size      at position 1 the second pair is 0.8460, 0.4093 and not 0.7318, 0.6816
matters   hardly: it is an option of the layer, and ESM's own models do not set it
replay    ropewalk verify esm::apply_interleaved
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from esm.layers.rotary import RotaryEmbedding

x = torch.zeros(1, 2, 1, 64)
x[..., ::2] = 1.0
out = RotaryEmbedding(64, interleaved=True)(x, x)[0][0, 1, 0]  # position 1
for pair in (0, 1, 2):
    angle = mp.mpf(10000) ** (-mp.mpf(pair) / 32)
    print(f"position 1, pair {pair}: library {out[2 * pair]:.4f}, {out[2 * pair + 1]:.4f}, right "
          f"{float(mp.cos(angle)):.4f}, {float(mp.sin(angle)):.4f}")
