"""Liger Kernel: its Triton kernels, run by Triton's interpreter."""

import os

os.environ["TRITON_INTERPRET"] = "1"

from liger_kernel.transformers.llama4_rope import liger_llama4_text_rotary_pos_emb
from liger_kernel.transformers.rope import liger_rotary_pos_emb, liger_rotary_pos_emb_gpt_oss

import ropewalk

PACKAGE = "liger-kernel"
TRIED = ("0.8.5",)
NOT_COVERED = "GPUs, Triton's compiler, bf16, gradients, more than 16 tokens, images, inputs that it changes"


def small(problem):
    """Triton's interpreter takes a millisecond a token."""
    return None if problem.batch * problem.tokens <= 16 else "more than 16 tokens take too long"


# It writes into contiguous inputs and returns them, so it gets copies.
WORDS = {"arrays": "torch", "heads_axis": False, "interpreter": True, "thread_safe": False,
         "supports": small}


@ropewalk.kernel(pairing="half_split", layout="BHTD", tables="twice", **WORDS)
def rope(q, k, cos, sin):
    return liger_rotary_pos_emb(q.clone(), k.clone(), cos, sin)


@ropewalk.kernel(pairing="half_split", layout="BHTD", **WORDS)
def gpt_oss(q, k, cos, sin):
    return liger_rotary_pos_emb_gpt_oss(q.clone(), k.clone(), cos, sin)


@ropewalk.kernel(pairing="interleaved", tables="complex", **WORDS)
def llama4(q, k, table):
    return liger_llama4_text_rotary_pos_emb(q.clone(), k.clone(), table)
