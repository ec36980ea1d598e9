"""torchtune: its rotary modules, which rotate by the positions of each token."""

import torch
from torchtune.models.llama3_1 import Llama3ScaledRoPE
from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings
from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
from torchtune.modules import RotaryPositionalEmbeddings

import ropewalk
from ropewalk.libraries import CONFIG, DTYPES

PACKAGE = "torchtune"
TRIED = ("0.6.1",)
NOT_COVERED = "CUDA, the two axes of images"
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}


class Rotary:
    def __init__(self, config, kind, interleaved):
        self.module = kind(64, config["max_position_embeddings"], config["rope_theta"])
        self.interleaved = interleaved

    inv_freq = property(lambda self: self.module.theta)

    def turn(self, x, positions, dtype):
        """x [batch, tokens, heads, 64]"""
        return self.module(x.to(DTYPES[dtype]), input_pos=torch.from_numpy(positions))

    def __call__(self, positions, dtype):
        unit = torch.tensor([1.0, 0.0])
        unit = unit.repeat(32) if self.interleaved else unit.repeat_interleave(32)
        out = self.turn(unit.expand(*positions.shape, 1, 64), positions, dtype)[:, :, 0]
        return (out[..., ::2], out[..., 1::2]) if self.interleaved else out.chunk(2, -1)

    def cast(self, dtype):
        self.module.to(DTYPES[dtype])

    def rotate(self, q, k, positions, dtype):
        return [self.turn(torch.from_numpy(a)[None], positions[None], dtype)[0] for a in (q, k)]


for name, kind, rule in (("llama2", RotaryPositionalEmbeddings, None), ("llama3", Llama3ScaledRoPE, LLAMA3),
                         ("phi3", Phi3RotaryPositionalEmbeddings, None),
                         ("qwen2", Qwen2RotaryPositionalEmbeddings, None)):
    own = {**CONFIG, **({"rope_scaling": rule, "max_position_embeddings": 65536} if rule else {})}
    interleaved = name.startswith("llama")
    ropewalk.provider(own, name=name, pairing="interleaved" if interleaved else "half_split",
                      dtypes=("f32", "bf16"))(
        lambda config, kind=kind, interleaved=interleaved: Rotary(config, kind, interleaved))
