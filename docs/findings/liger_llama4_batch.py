"""liger-kernel 0.8.5: the Llama 4 rotation turns each batch row by the angles of the first row.

severity  wrong
from      the second batch row on, where its positions are not those of the first (left padding)
size      in the second row position 3 gets cos 1.0000 and not -0.9900
matters   batched generation with padding turns the other rows of q and k by wrong positions
replay    ropewalk verify liger_kernel::llama4
upstream  none found on 2026-11-29
"""
import os

os.environ["TRITON_INTERPRET"] = "1"
import mpmath as mp
import numpy as np
import torch
from liger_kernel.transformers.llama4_rope import liger_llama4_text_rotary_pos_emb

positions = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
freq = 10000.0 ** (-np.arange(16) / 16)
table = torch.from_numpy(np.exp(1j * positions[..., None] * freq).astype("c8"))  # [2, 4, 16]
x = torch.tensor([1.0, 0.0]).repeat(2, 4, 1, 16)
q, _ = liger_llama4_text_rotary_pos_emb(x.clone(), x.clone(), table)
for row in (0, 1):
    print(f"row {row}, position {positions[row, 0]}: library cos {q[row, 0, 0, 0]:.4f}, right "
          f"{float(mp.cos(int(positions[row, 0]))):.4f}")
