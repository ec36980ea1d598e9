"""x-transformers: RotaryEmbedding and apply_rotary_pos_emb."""

import torch
from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

import ropewalk
from ropewalk.libraries import CONFIG, DTYPES

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
class rotary_embedding:
    def __init__(self, config):
        self.module = RotaryEmbedding(config["head_dim"], base=config["rope_theta"])

    inv_freq = property(lambda self: self.module.inv_freq)

    def turn(self, positions, x, dtype):
        """x [tokens, heads, head_dim]"""
        angles = self.module(torch.from_numpy(positions))[0]
        return apply_rotary_pos_emb(x.to(DTYPES[dtype]).transpose(0, 1)[None], angles)[0].transpose(0, 1)

    def __call__(self, positions, dtype):
        unit = torch.tensor([1.0, 0.0]).repeat(positions.shape[1], 1, 32)
        turned = torch.stack([self.turn(row, unit, dtype)[:, 0] for row in positions])
        return turned[..., ::2], turned[..., 1::2]

    def cast(self, dtype):
        self.module.to(DTYPES[dtype])

    def rotate(self, q, k, positions, dtype):
        return [self.turn(positions, torch.from_numpy(a), dtype) for a in (q, k)]
