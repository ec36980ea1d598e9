"""diffusers: the functions that its models share, and the angles of models with one axis, or of one."""

from functools import partial

import numpy as np
import torch
from diffusers.models.autoencoders import autoencoder_same
from diffusers.models.condition_embedders import condition_embedder_anima as anima
from diffusers.models.embeddings import apply_rotary_emb, get_1d_rotary_pos_embed
from diffusers.models.transformers import transformer_cosmos3 as cosmos3
from diffusers.models.transformers import transformer_ernie_image as ernie
from diffusers.models.transformers import transformer_flux as flux
from diffusers.models.transformers import transformer_hidream_image as hidream
from diffusers.models.transformers import transformer_longcat_audio_dit as longcat
from diffusers.models.transformers import transformer_minimax_music3 as minimax
from diffusers.models.transformers import transformer_omnigen as omnigen
from diffusers.models.transformers import transformer_stable_audio3 as stable_audio

import ropewalk
from ropewalk.libraries import CONFIG, LONGROPE, Module, by_length

PACKAGE = "diffusers"
TRIED = ("0.42.1",)
NOT_COVERED = "CUDA, how axes share a head, interpolated grids, most models that have a copy of their own"
WORDS = {"arrays": "torch", "layout": "1THD", "heads_axis": False, "dtypes": ("f32", "f16", "bf16")}
CPU = torch.device("cpu")
ropewalk.kernel(name="apply", pairing="interleaved", tables="full", **WORDS)(
    lambda x, cos, sin: apply_rotary_emb(x, (cos, sin), sequence_dim=1))
ropewalk.kernel(name="apply_half", pairing="half_split", tables="twice", **WORDS)(
    lambda x, cos, sin: apply_rotary_emb(x, (cos, sin), sequence_dim=1, use_real_unbind_dim=-2))
# It views pairs as complex numbers, so they must be contiguous.
ropewalk.kernel(name="apply_complex", pairing="interleaved", tables="complex", **{**WORDS, "layout": "BTHD"})(
    lambda x, table: apply_rotary_emb(x.contiguous(), table, use_real=False))


def by_ids(module, positions, x):
    return module(x, torch.from_numpy(positions))


def by_row(module, positions, x):
    return [torch.stack(t) for t in zip(*(module(torch.from_numpy(row)) for row in positions))]


def offered(name, make, tables, pairing="half_split", angles="f32", config=CONFIG):
    ropewalk.provider(config, name=name, pairing=pairing, angles=angles, dtypes=("f32", "bf16"))(
        lambda c: Module(make(c["rope_theta"]), tables))


for name, wide in (("one_axis", torch.float32), ("one_axis_f64", torch.float64)):
    offered(name, lambda theta, wide=wide: partial(get_1d_rotary_pos_embed, 64, theta=theta, use_real=True,
                                                   freqs_dtype=wide),
            by_row, "interleaved", "exact" if wide is torch.float64 else "f32")
offered("flux", lambda theta: flux.FluxPosEmbed(theta, [64]), lambda module, positions, x: by_row(
    lambda row: module(row[:, None]), positions, x), "interleaved", "exact")
offered("hidream", lambda theta: hidream.HiDreamImageEmbedND(theta, [64]), lambda module, positions, x:
        module(torch.from_numpy(positions)[..., None].float())[:, :, 0, ..., 0].unbind(-1), "interleaved", "exact")
offered("ernie_image", lambda theta: ernie.ErnieImageEmbedND3(64, theta, (64, 0, 0)),
        lambda module, positions, x: [f(module(torch.from_numpy(
            np.stack([positions] * 3, -1)).float())[:, :, 0]) for f in (torch.cos, torch.sin)],
        "interleaved")
for name, kind in (("stable_audio3", stable_audio.StableAudio3RotaryEmbedding),
                   ("same", autoencoder_same.RotaryEmbedding),
                   ("minimax_music3", minimax.MiniMaxMusic3RotaryEmbedding)):
    offered(name, partial(kind, 64), by_length(lambda module, n, x: module(n, CPU)))
offered("longcat_audio", lambda theta: longcat.AudioDiTRotaryEmbedding(64, base=theta),
        by_length(lambda module, n, x: module(x, n)))
offered("anima", lambda theta: anima.AnimaRotaryEmbedding(64, theta), by_ids)
offered("cosmos3", lambda theta: cosmos3.Cosmos3VLTextRotaryEmbedding(64, theta, (12, 10, 10)),
        lambda module, positions, x: module(torch.from_numpy(positions), CPU, x.dtype))


def of_omnigen(theta):
    module = omnigen.OmniGenSuScaledRotaryEmbedding(64, base=theta, rope_scaling=LONGROPE)
    module(torch.zeros(1), torch.zeros(1, 1))  # its inv_freq is that of the last call
    return module


offered("omnigen", of_omnigen, by_ids, config={**CONFIG, "max_position_embeddings": 131072, "rope_scaling": LONGROPE,
        "original_max_position_embeddings": 4096})
