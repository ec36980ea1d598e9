"""curated-transformers: RotaryEmbeddings, which its Llama, Falcon, GPT-NeoX and MPT layers share."""

from curated_transformers.layers.embeddings import RotaryEmbeddings

import ropewalk
from ropewalk.libraries import CONFIG, TurningModule

PACKAGE = "curated-transformers"
TRIED = ("2.0.1",)
NOT_COVERED = "CUDA, which part of a head is rotated"


@ropewalk.provider(CONFIG, pairing="half_split", dtypes=("f32", "bf16"))
def rotary_embeddings(config):
    return TurningModule(RotaryEmbeddings(config["head_dim"], base=config["rope_theta"]), lambda module, x, at: module(
        x.transpose(1, 2), positions=at).transpose(1, 2), "theta")
