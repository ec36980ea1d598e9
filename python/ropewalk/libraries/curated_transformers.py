"""curated-transformers: RotaryEmbeddings, which its Llama, Falcon, GPT-NeoX and MPT layers share."""

import torch
from curated_transformers.layers.embeddings import RotaryEmbeddings

import ropewalk
from ropewalk.libraries import CONFIG, Module, Turning, tensor

PACKAGE = "curated-transformers"
TRIED = ("2.0.1",)
NOT_COVERED = "CUDA, which part of a head is rotated"


@ropewalk.provider(CONFIG, pairing="half_split", dtypes=("f32", "bf16"))
class rotary_embeddings(Turning, Module):
    def __init__(self, config):
        self.module = RotaryEmbeddings(config["head_dim"], base=config["rope_theta"])

    inv_freq = property(lambda self: self.module.theta)

    def turn(self, x, positions, dtype):
        x = tensor(x, dtype).transpose(1, 2)
        return self.module(x, positions=torch.from_numpy(positions)).transpose(1, 2)
