"""x-transformers: RotaryEmbedding and apply_rotary_pos_emb."""

import torch
from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

import ropewalk
from ropewalk.libraries import CONFIG, TurningModule

PACKAGE = "x-transformers"
TRIED = ("2.31.10",)
NOT_COVERED = "CUDA, xpos, polar embeddings, windows of a head"


@ropewalk.kernel(pairing="interleaved", arrays="torch", angles="f32", inverse="none", layout="BHTD",
                 dtypes=("f32", "bf16"))
def apply(x, positions, inv_freq):
    rotary = RotaryEmbedding(64)  # whatever the size: it divides by dim - 2
    rotary.inv_freq = inv_freq.float()
    return apply_rotary_pos_emb(x, torch.cat([rotary(row)[0] for row in positions]))


@ropewalk.provider(CONFIG, pairing="interleaved", dtypes=("f32", "bf16"))
def rotary_embedding(config):
    def turn(module, x, positions):
        rows = zip(x.transpose(1, 2), positions)
        return torch.stack([apply_rotary_pos_emb(a, module(at)[0]) for a, at in rows]).transpose(1, 2)

    module = RotaryEmbedding(config["head_dim"], base=config["rope_theta"])
    return TurningModule(module, turn, pairing="interleaved")
