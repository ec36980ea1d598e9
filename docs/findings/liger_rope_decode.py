"""liger-kernel 0.8.5: a batch of single tokens is turned wrongly if q and k are contiguous in memory.

severity  wrong at an edge
from      the second batch row of contiguous [batch, heads, 1, head_dim], with two heads or more
size      the second row's second head is turned by no angle or by another's
matters   hardly: models hand over a view of [batch, tokens, heads, head_dim], which is turned rightly
replay    python docs/findings/liger_rope_decode.py
upstream  none found on 2026-11-29
"""

import os

os.environ["TRITON_INTERPRET"] = "1"
import mpmath
import torch
from liger_kernel.transformers.rope import liger_rotary_pos_emb

angle = torch.tensor([0.0, 1.0])[:, None, None].expand(2, 1, 2)  # of row 0 and of row 1
for name in ("contiguous", "as models do"):
    q = torch.tensor([1.0, 0.0]).expand(2, 2, 1, 2).clone()
    if name != "contiguous":
        q = torch.tensor([1.0, 0.0]).repeat(2, 1, 2).view(2, 1, 2, 2).transpose(1, 2)
    out, _ = liger_rotary_pos_emb(q, q.clone(), angle.cos(), angle.sin())
    for head in (0, 1):
        print(f"{name}, row 1, head {head}: library {float(out[1, head, 0, 0]):.4f}, "
              f"right {float(mpmath.cos(1)):.4f}")
