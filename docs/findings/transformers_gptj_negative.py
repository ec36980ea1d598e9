"""transformers 5.24.0: GPT-J reads the table of angles from its end at negative positions (so CodeGen).

severity  wrong at an edge
from      position -1
size      at position -1 sin of the first pair is off by 0.13
matters   hardly: generation with padding gives 0 or 1, but nothing refuses what a caller passes
replay    ropewalk replay 'provider=transformers::gptj property=negative_positions position=-1'
upstream  none found on 2026-11-29
"""
import mpmath as mp
from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions

table = create_sinusoidal_positions(2048, 64)  # sines, then cosines; the attention gathers rows of it
sin, right = float(table[-1, 0]), float(mp.sin(-1))
print(f"position -1: library sin {sin:.4f}, right {right:.4f}, off by {abs(sin - right):.2f}")
