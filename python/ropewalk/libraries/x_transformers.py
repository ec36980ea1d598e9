"""x-transformers: RotaryEmbedding and apply_rotary_pos_emb."""

import torch
from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

import ropewalk
from ropewalk.libraries import CONFIG, Module, Turning, tensor

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
class rotary_embedding(Turning, Module):
    pairing = "interleaved"

    def __init__(self, config):
        self.module = RotaryEmbedding(config["head_dim"], base=config["rope_theta"])

    def turn(self, x, positions, dtype):
        rows = zip(tensor(x, dtype).transpose(1, 2), torch.from_numpy(positions))
        return torch.stack([apply_rotary_pos_emb(a, self.module(at)[0]) for a, at in rows]).transpose(1, 2)
