"""diffusers 0.42.1: a Stable Audio 3 model in bf16 or f16 counts positions and angles in that type.

severity  wrong at an edge
from      model.to(torch.bfloat16): position 257 in the first pair, and sooner in the others
size      at position 1001 cos is off by 0.95 in bf16, 0.05 in f16
matters   the layer keeps inv_freq in the type of the model, and so does the autoencoder SAME
replay    ropewalk replay 'provider=diffusers::stable_audio3 property=cast position=1001'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from diffusers.models.transformers.transformer_stable_audio3 import StableAudio3RotaryEmbedding

for dtype in (torch.bfloat16, torch.float16):
    angles = StableAudio3RotaryEmbedding(32).to(dtype)(2048, torch.device("cpu"))
    for position in (257, 1001):
        cos = angles[position, :16].double().cos().tolist()
        right = [mp.cos(position * mp.mpf(10000) ** (-mp.mpf(i) / 16)) for i in range(16)]
        off, pair = max((abs(float(c - r)), i) for i, (c, r) in enumerate(zip(cos, right)))
        print(f"{dtype}, position {position}, pair {pair}: library cos {cos[pair]:.4f}, right "
              f"{float(right[pair]):.4f}, off by {off:.2f}")
