"""local-attention: SinusoidalEmbeddings and apply_rotary_pos_emb, as LocalAttention uses them."""

import torch
from local_attention.rotary import SinusoidalEmbeddings, apply_rotary_pos_emb

import ropewalk
from ropewalk.libraries import CONFIG, DTYPES, Module, from_zero, tensor

PACKAGE = "local-attention"
TRIED = ("1.11.2",)
NOT_COVERED = "CUDA, xpos, windows of keys that are longer than those of queries"


@ropewalk.kernel(pairing="half_split", arrays="torch", angles="f32", inverse="none", layout="BHTD")
def apply(q, k, positions, inv_freq):
    angles = positions[:, None, :, None].float() * inv_freq.float()
    return apply_rotary_pos_emb(q, k, torch.cat((angles, angles), -1), torch.ones(1))


@ropewalk.provider(CONFIG, pairing="half_split", dtypes=("f32", "bf16"))
class rotary_embedding(Module):
    def __init__(self, config):
        super().__init__(SinusoidalEmbeddings(config["head_dim"], theta=config["rope_theta"]))

    def angles(self, positions, dtype):
        at = from_zero(positions)
        x = torch.empty(int(at.max()) + 1, 1, dtype=DTYPES[dtype])
        return self.module(x)[0][at]

    def __call__(self, positions, dtype):
        angles = self.angles(positions, dtype)
        return angles.cos(), angles.sin()

    def rotate(self, q, k, positions, dtype):
        q, k = (tensor(a, dtype).transpose(0, 1) for a in (q, k))
        out = apply_rotary_pos_emb(q, k, self.angles(positions, dtype), torch.ones(1))
        return [a.transpose(0, 1) for a in out]
