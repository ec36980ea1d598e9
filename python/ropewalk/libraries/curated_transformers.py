"""curated-transformers: RotaryEmbeddings, which its Llama, Falcon, GPT-NeoX and MPT layers share."""

import torch
from curated_transformers.layers.embeddings import RotaryEmbeddings

import ropewalk
from ropewalk.libraries import CONFIG, DTYPES

PACKAGE = "curated-transformers"
TRIED = ("2.0.1",)
NOT_COVERED = "CUDA, which part of a head is rotated"


@ropewalk.provider(CONFIG, pairing="half_split", dtypes=("f32", "bf16"))
class rotary_embeddings:
    def __init__(self, config):
        self.module = RotaryEmbeddings(config["head_dim"], base=config["rope_theta"])

    inv_freq = property(lambda self: self.module.theta)

    def turn(self, x, positions, dtype):
        """x [batch, heads, tokens, 64]"""
        return self.module(x.to(DTYPES[dtype]), positions=torch.from_numpy(positions))

    def __call__(self, positions, dtype):
        unit = torch.tensor([1.0, 0.0]).repeat_interleave(32).expand(*positions.shape, 64)
        return self.turn(unit[:, None], positions, dtype)[:, 0].chunk(2, -1)

    def cast(self, dtype):
        self.module.to(DTYPES[dtype])

    def rotate(self, q, k, positions, dtype):
        both = (torch.from_numpy(a).transpose(0, 1)[None] for a in (q, k))
        return [self.turn(a, positions[None], dtype)[0].transpose(0, 1) for a in both]
