"""torchtune 0.6.1: a negative input_pos reads the table of angles from its end.

severity  wrong at an edge
from      position -1
size      at position -1 cos of the second pair is off by 0.82
matters   hardly: torchtune's own recipes make no negative positions, but nothing refuses them
replay    ropewalk replay 'provider=torchtune::llama2 property=negative_positions position=-1'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from torchtune.modules import RotaryPositionalEmbeddings

x = torch.tensor([1.0, 0.0]).repeat(1, 1, 1, 32)
out = RotaryPositionalEmbeddings(64, max_seq_len=4096)(x, input_pos=torch.tensor([[-1]]))[0, 0, 0]
for pair in (0, 1):
    right = float(mp.cos(mp.mpf(10000) ** (-mp.mpf(pair) / 32)))
    print(f"position -1, pair {pair}: library cos {out[2 * pair]:.4f}, right {right:.4f}, "
          f"off by {abs(float(out[2 * pair]) - right):.2f}")
