"""curated-transformers 2.0.1: a bf16 RotaryEmbeddings that grows makes its new angles in bf16.

severity  wrong at an edge
from      .to(torch.bfloat16), at the first sequence that is longer than 512 tokens
size      at position 257 of a call of 602 tokens cos is off by 0.86
matters   the table of 512 rows is made in f32, but the longer one replaces all of its rows
replay    ropewalk replay 'provider=curated_transformers::rotary_embeddings property=cast position=8191'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from curated_transformers.layers.embeddings import RotaryEmbeddings

module = RotaryEmbeddings(64).to(torch.bfloat16)
x = torch.tensor([1.0] * 32 + [0.0] * 32, dtype=torch.bfloat16).repeat(1, 1, 602, 1)
for tokens, position in ((512, 257), (602, 257), (602, 601)):
    cos = float(module(x[:, :, :tokens])[0, 0, position, 0])
    right = float(mp.cos(position))
    print(f"{tokens} tokens, position {position}: library cos {cos:.4f}, right {right:.4f}, "
          f"off by {abs(cos - right):.2f}")
