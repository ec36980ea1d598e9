"""torchtune: its rotary modules, which rotate by the positions of each token."""

from functools import partial

from torchtune.models.llama3_1 import Llama3ScaledRoPE
from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings
from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
from torchtune.modules import RotaryPositionalEmbeddings

import ropewalk
from ropewalk.libraries import LLAMA3, TurningModule, scaled

PACKAGE = "torchtune"
TRIED = ("0.6.1",)
NOT_COVERED = "CUDA, the two axes of images"


def rotary(config, kind, pairing):
    module = kind(64, config["max_position_embeddings"], config["rope_theta"])
    return TurningModule(module, lambda module, x, at: module(x, input_pos=at), "theta", pairing)


for name, kind, rule in (("llama2", RotaryPositionalEmbeddings, None), ("llama3", Llama3ScaledRoPE, LLAMA3),
                         ("phi3", Phi3RotaryPositionalEmbeddings, None),
                         ("qwen2", Qwen2RotaryPositionalEmbeddings, None)):
    pairing = "interleaved" if name.startswith("llama") else "half_split"
    ropewalk.provider(scaled(rule), name=name, pairing=pairing, dtypes=("f32", "bf16"))(
        partial(rotary, kind=kind, pairing=pairing))
