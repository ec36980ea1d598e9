"""local-attention 1.11.2: SinusoidalEmbeddings counts positions in the type of the module.

severity  wrong at an edge
from      .to(torch.bfloat16) of a model: position 257 in the first pair, and sooner in the others
size      at position 257 cos is off by 0.86
matters   windows that are wider than 256 tokens get equal positions in bf16
replay    ropewalk replay 'provider=local_attention::rotary_embedding property=cast position=257'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from local_attention.rotary import SinusoidalEmbeddings

angles = SinusoidalEmbeddings(64).to(torch.bfloat16)(torch.zeros(1, 1, 512, 64))[0]
for position in (257, 511):
    cos = float(angles[position, 0].double().cos())
    right = float(mp.cos(position))
    print(f"position {position}: library cos {cos:.4f}, right {right:.4f}, off by {abs(cos - right):.2f}")
