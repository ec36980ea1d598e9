"""vLLM: its operator, with q and k as [tokens, heads * head_dim] and a cache in the type of the data."""

from vllm import _custom_ops

import ropewalk
from ropewalk.libraries import ON_GPU, ROUNDED

PACKAGE = "vllm"
TRIED = ()
NOT_COVERED = "its layers, which choose among operators, and its fused operators"


@ropewalk.kernel(pairing="both", layout="TD", tables="cache", returns="in_place", rotary_offset=0,
                 dtypes=("f16", "bf16"), **ON_GPU, **ROUNDED)
def rotary_embedding(q, k, position_ids, table, head_dim, half_split):
    _custom_ops.rotary_embedding(position_ids, q, k, head_dim, table, half_split)
