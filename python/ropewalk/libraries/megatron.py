"""Megatron-Core: the rotation that it falls back to without Transformer Engine, and RotaryEmbedding."""

import torch
from megatron.core.models.common.embeddings import rope_utils
from megatron.core.models.common.embeddings.rotary_pos_embedding import RotaryEmbedding

import ropewalk
from ropewalk.libraries import LLAMA3, Module, by_length, scaled

PACKAGE = "megatron-core"
TRIED = ("0.16.1",)
NOT_COVERED = "CUDA, fused and packed rotation, context parallelism, YaRN (it needs a GPU), bf16"
WORDS = {"arrays": "torch", "layout": "TBHD"}


@ropewalk.kernel(pairing="both", angles="f32", inverse="none", **WORDS)
def unfused(x, positions, inv_freq, half_split):
    angles = positions.T[:, :, None, None].float() * inv_freq.float()
    both = torch.cat((angles, angles), -1) if half_split else angles.repeat_interleave(2, -1)
    return rope_utils._apply_rotary_pos_emb_bshd(x, both, rotary_interleaved=not half_split)


@ropewalk.kernel(pairing="both", arrays="torch", layout="1THD", heads_axis=False)
def cos_sin(x, cos, sin, half_split):  # as its attention rotates a token that it decodes
    return rope_utils.apply_rotary_pos_emb_with_cos_sin(
        x.transpose(0, 1), cos, sin, rotary_interleaved=not half_split).transpose(0, 1)


def rotary(config):
    rule = config.get("rope_scaling") or {}
    module = RotaryEmbedding(
        64, 1.0, rotary_base=config["rope_theta"], use_cpu_initialization=True,
        rope_scaling=bool(rule), rope_scaling_factor=rule.get("factor", 8.0))
    return Module(module, by_length(lambda module, tokens, x: module.get_cos_sin(tokens)))


for name, rule in (("plain", None), ("llama3", LLAMA3)):
    ropewalk.provider(scaled(rule), name=name, pairing="half_split", dtypes=("f32",))(rotary)
