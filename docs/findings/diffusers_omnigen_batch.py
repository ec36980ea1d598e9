"""diffusers 0.42.1: OmniGen's rotary layer gives all batch rows the angles of the first row.

severity  wrong
from      the second batch row on, where its positions are not those of the first (left padding)
size      at position 5 of a row whose neighbour is padded to 0 there, cos is off by 0.72
matters   in a batch a prompt longer than the first one has its first tokens at one position
replay    ropewalk replay 'provider=diffusers::omnigen property=batch_rows'
upstream  none found on 2026-11-29
"""
import mpmath as mp
import torch
from diffusers.models.transformers.transformer_omnigen import OmniGenSuScaledRotaryEmbedding

module = OmniGenSuScaledRotaryEmbedding(96, max_position_embeddings=4096, rope_scaling={
    "short_factor": [1.0] * 48, "long_factor": [1.0] * 48})
positions = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 2], [0, 1, 2, 3, 4, 5, 6, 7]])  # as its processor pads
cos, sin = module(torch.zeros(1), positions)
print(f"two rows of positions come back as one table {tuple(cos.shape)}")
for token in (3, 5):
    print(f"row 1, position {token}: library cos {cos[token, 0]:.4f}, right {float(mp.cos(token)):.4f}")
