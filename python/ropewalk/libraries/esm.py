"""esm: the rotary layer of ESM3 and ESM C, and its function, alike flash-attn's."""

from functools import partial

import torch
from esm.layers.rotary import RotaryEmbedding, apply_rotary_emb_torch

import ropewalk
from ropewalk.libraries import CONFIG, DTYPES, Module, from_zero, tensor

PACKAGE = "esm"
TRIED = ("3.2.1.post1",)
NOT_COVERED = "CUDA, xpos, packed sequences, which flash-attn's kernel rotates"
WORDS = {"arrays": "torch", "layout": "1THD", "heads_axis": False, "inverse": "autograd"}
ropewalk.kernel(name="apply", pairing="half_split", **WORDS)(apply_rotary_emb_torch)
ropewalk.kernel(name="apply_interleaved", pairing="interleaved", **WORDS)(  # an option that its own models do not set
    partial(apply_rotary_emb_torch, interleaved=True))


@ropewalk.provider(CONFIG, pairing="half_split", dtypes=("f32", "bf16"))
class rotary_embedding(Module):
    def __init__(self, config):
        super().__init__(RotaryEmbedding(config["head_dim"], base=config["rope_theta"]))

    def __call__(self, positions, dtype):
        at = from_zero(positions)
        self.module._update_cos_sin_cache(int(at.max()) + 1, at.device, DTYPES[dtype])
        return self.module._cos_cached[at], self.module._sin_cached[at]

    def rotate(self, q, k, positions, dtype):
        q, k = (tensor(a, dtype)[:, None, None] for a in (q, k))
        turned = [self.module(a, b, int(p)) for a, b, p in zip(q, k, positions)]
        return [torch.stack([t[i][0, 0] for t in turned]) for i in (0, 1)]
