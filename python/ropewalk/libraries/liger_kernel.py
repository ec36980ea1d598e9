"""Liger Kernel: its Triton kernels, on a GPU or, where there is none, run by Triton's interpreter."""

import os
from functools import partial

from ropewalk.libraries import HAS_GPU, ON_GPU

if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"

import torch
from liger_kernel.transformers.llama4_rope import liger_llama4_text_rotary_pos_emb
from liger_kernel.transformers.rope import liger_rotary_pos_emb, liger_rotary_pos_emb_gpt_oss

import ropewalk

PACKAGE = "liger-kernel"
TRIED = ("0.8.5",)
NOT_COVERED = "gradients, images, inputs that it changes" + (
    "" if HAS_GPU else ", GPUs, Triton's compiler, bf16, more than 16 tokens")


def small(problem):
    """Triton's interpreter takes a millisecond a token."""
    few = HAS_GPU or problem.batch * problem.tokens <= 16
    return None if few else "more than 16 tokens take too long"


def copies(*tensors):
    """It writes into its inputs and returns them, and reads the stride of an axis of size 1."""
    return [t.clone(memory_format=torch.contiguous_format) for t in tensors]


def as_models_do(rotate, q, k, cos, sin):
    """q and k [batch, tokens, heads, head_dim], handed over as a view [batch, heads, tokens, ...]."""
    q, k, cos, sin = copies(q, k, cos, sin)
    return [x.transpose(1, 2) for x in rotate(q.transpose(1, 2), k.transpose(1, 2), cos, sin)]


if HAS_GPU:  # q and k as models have them, [batch, heads, tokens, head_dim]; it turns them in place
    @ropewalk.kernel(name="rope_on_gpu", pairing="half_split", tables="twice", heads_axis=False,
                     layout="BHTD", dtypes=("f32", "f16", "bf16"), returns="in_place", **ON_GPU)
    def on_gpu(q, k, cos, sin):
        for x, y in zip((q, k), liger_rotary_pos_emb(q, k, cos, sin)):
            if y.data_ptr() != x.data_ptr():  # it has made them contiguous
                x.copy_(y)
else:  # its first call looks for other backends, and prints what it does not find
    liger_rotary_pos_emb(*torch.zeros(4, 1, 1, 1, 8)[:2], *torch.zeros(2, 1, 1, 8))
WORDS = {"arrays": "torch", "heads_axis": False, "thread_safe": False, "supports": small,
         **({"device": "cuda"} if HAS_GPU else {"interpreter": True})}
ropewalk.kernel(name="rope", pairing="half_split", tables="twice", **WORDS)(
    partial(as_models_do, liger_rotary_pos_emb))
ropewalk.kernel(name="gpt_oss", pairing="half_split", **WORDS)(partial(as_models_do, liger_rotary_pos_emb_gpt_oss))


@ropewalk.kernel(pairing="interleaved", tables="complex", **WORDS)
def llama4(q, k, table):
    return liger_llama4_text_rotary_pos_emb(*copies(q, k, table))
