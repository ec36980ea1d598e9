"""esm 3.2.1.post1: a model in bf16, as from_pretrained makes it on a GPU, rotates by a rounded inv_freq.

severity  wrong at an edge
from      model.to(torch.bfloat16), the line that ESMC and ESM3 run when the device is not the CPU
size      at position 1023 cos is off by 0.44
matters   the angles on a GPU are not those on a CPU, where the same weights stay in f32
replay    ropewalk replay 'provider=esm::rotary_embedding property=cast position=1023'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from esm.layers.rotary import RotaryEmbedding

module = RotaryEmbedding(64).to(torch.bfloat16)
x = torch.tensor([1.0] * 32 + [0.0] * 32, dtype=torch.bfloat16).repeat(1, 1, 1, 1)
for position in (63, 1023):
    cos = module(x, x, position)[0][0, 0, 0, :32].double()
    right = [mp.cos(position * mp.mpf(10000) ** (-mp.mpf(i) / 32)) for i in range(32)]
    off, pair = max((abs(float(c - r)), i) for i, (c, r) in enumerate(zip(cos.tolist(), right)))
    print(f"position {position}, pair {pair}: library cos {cos[pair]:.4f}, right "
          f"{float(right[pair]):.4f}, off by {off:.2f}")
