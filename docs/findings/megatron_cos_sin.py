"""megatron-core 0.16.1: apply_rotary_pos_emb_with_cos_sin takes cosines for angles without flash-attn.

severity  wrong
from      position 0, where flash-attn is not installed
size      at position 0 the first element is 0.5403 and not 1
matters   hardly: its only caller, flash decoding, needs flash-attn as well
replay    ropewalk verify megatron::cos_sin
upstream  https://github.com/NVIDIA/Megatron-LM/pull/7465 mends it, and is open
"""
import mpmath as mp
import torch
from megatron.core.models.common.embeddings.rope_utils import apply_rotary_pos_emb_with_cos_sin

angles = torch.arange(3.0)[:, None] * 10000.0 ** (-torch.arange(32.0) / 32)
x = torch.tensor([1.0] * 32 + [0.0] * 32).repeat(3, 1, 1, 1)  # [tokens, batch, heads, 64]
out = apply_rotary_pos_emb_with_cos_sin(x, angles.cos(), angles.sin())
for position in (0, 1, 2):
    print(f"position {position}: library {out[position, 0, 0, 0]:.4f}, {out[position, 0, 0, 32]:.4f}, "
          f"right {float(mp.cos(position)):.4f}, {float(mp.sin(position)):.4f}")
