"""rotary-embedding-torch: RotaryEmbedding, as rotate_queries_or_keys uses it."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

import ropewalk
from ropewalk.libraries import CONFIG, DTYPES, by_unit_vectors

PACKAGE = "rotary-embedding-torch"
TRIED = ("0.9.1",)
NOT_COVERED = "CUDA, xpos, pixel and learned frequencies, positions that are not consecutive in a call"


@ropewalk.kernel(pairing="interleaved", arrays="torch", angles="f32", inverse="none", layout="BHTD",
                 dtypes=("f32", "bf16"))
def apply(x, positions, inv_freq):
    angles = positions[:, None, :, None].float() * inv_freq.float()
    return apply_rotary_emb(angles.repeat_interleave(2, -1), x)


@ropewalk.provider(CONFIG, pairing="interleaved", dtypes=("f32", "bf16"))
class rotary_embedding:
    def __init__(self, config):
        self.module = RotaryEmbedding(config["head_dim"], theta=config["rope_theta"])
        self.inv_freq = self.module.freqs

    def turn(self, first, x, dtype):
        return self.module.rotate_queries_or_keys(x.to(DTYPES[dtype]), offset=first)

    def __call__(self, positions, dtype):
        return by_unit_vectors(lambda first, x: self.turn(first, x, dtype), positions, 32)

    def cast(self, dtype):
        self.module.to(DTYPES[dtype])
        self.inv_freq = self.module.freqs

    def rotate(self, q, k, positions, dtype):
        q, k = (torch.from_numpy(a) for a in (q, k))
        return [torch.stack([self.turn(int(p), x[None, :].transpose(0, 1), dtype)[:, 0]
                             for p, x in zip(positions, a)]) for a in (q, k)]
