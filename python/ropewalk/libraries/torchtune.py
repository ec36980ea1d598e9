"""torchtune: its rotary modules, which rotate by the positions of each token."""

import torch
from torchtune.models.llama3_1 import Llama3ScaledRoPE
from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings
from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
from torchtune.modules import RotaryPositionalEmbeddings

import ropewalk
from ropewalk.libraries import LLAMA3, Module, Turning, scaled, tensor

PACKAGE = "torchtune"
TRIED = ("0.6.1",)
NOT_COVERED = "CUDA, the two axes of images"


class Rotary(Turning, Module):
    def __init__(self, config, kind, pairing):
        self.module = kind(64, config["max_position_embeddings"], config["rope_theta"])
        self.pairing = pairing

    inv_freq = property(lambda self: self.module.theta)

    def turn(self, x, positions, dtype):
        return self.module(tensor(x, dtype), input_pos=torch.from_numpy(positions))


for name, kind, rule in (("llama2", RotaryPositionalEmbeddings, None), ("llama3", Llama3ScaledRoPE, LLAMA3),
                         ("phi3", Phi3RotaryPositionalEmbeddings, None),
                         ("qwen2", Qwen2RotaryPositionalEmbeddings, None)):
    pairing = "interleaved" if name.startswith("llama") else "half_split"
    ropewalk.provider(scaled(rule), name=name, pairing=pairing, dtypes=("f32", "bf16"))(
        lambda config, kind=kind, pairing=pairing: Rotary(config, kind, pairing))
