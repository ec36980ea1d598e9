"""rotary-embedding-torch 0.9.1: rotate_queries_or_keys counts positions in the type of q.

severity  wrong
from      position 257 in bf16, 2049 in f16
size      at position 4095 in bf16 cos is off by 0.87
matters   neighbouring tokens of a long bf16 sequence get one position
replay    ropewalk replay 'provider=rotary_embedding_torch::rotary_embedding property=tables position=4095'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from rotary_embedding_torch import RotaryEmbedding

module = RotaryEmbedding(64)
for dtype, last in ((torch.bfloat16, 257), (torch.bfloat16, 4095), (torch.float16, 4095)):
    x = torch.tensor([1.0, 0.0], dtype=dtype).repeat(1, 1, last + 1, 32)
    cos = float(module.rotate_queries_or_keys(x)[0, 0, last, 0])
    print(f"{dtype}, position {last}: library cos {cos:.4f}, right {float(mp.cos(last)):.4f}")
