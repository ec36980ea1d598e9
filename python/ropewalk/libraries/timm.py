"""timm: apply_rot_embed, and the angles of one axis of its rotary layers."""

from timm.layers.pos_embed_sincos import RotaryEmbeddingCat, apply_rot_embed

import ropewalk
from ropewalk.libraries import CONFIG, Module, by_length

PACKAGE = "timm"
TRIED = ("1.0.31",)
NOT_COVERED = "CUDA, the order of two axes, pixel frequencies, DINOv3's and learned ones, augmentation"
WORDS = {"arrays": "torch", "layout": "BHTD", "dtypes": ("f32", "f16", "bf16")}
AXIS = {**CONFIG, "head_dim": 32, "hidden_size": 128, "max_position_embeddings": 1024}
ropewalk.kernel(name="apply", pairing="interleaved", tables="full", **WORDS)(
    lambda x, cos, sin: apply_rot_embed(x, sin, cos))
ropewalk.kernel(name="apply_half", pairing="half_split", tables="twice", **WORDS)(
    lambda x, cos, sin: apply_rot_embed(x, sin, cos, half=True))


@ropewalk.provider(AXIS, pairing="interleaved", dtypes=("f32", "bf16"))
def axial(config):
    """EVA's, of a grid [1, tokens]: the second half of a head turns by the place in the row."""
    def tables(module, tokens, x):
        sin, cos = module.get_embed([1, tokens], dtype=x.dtype).chunk(2, -1)
        return cos[:, 32:], sin[:, 32:]

    module = RotaryEmbeddingCat(64, in_pixels=False, temperature=config["rope_theta"])
    return Module(module, by_length(tables), "bands")
