"""rotary-embedding-torch: RotaryEmbedding, as rotate_queries_or_keys uses it."""

from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

import ropewalk
from ropewalk.libraries import CONFIG, Module, Turning, tensor

PACKAGE = "rotary-embedding-torch"
TRIED = ("0.9.1",)
NOT_COVERED = "CUDA, xpos, pixel and learned frequencies, positions that are not consecutive in a call"


@ropewalk.kernel(pairing="interleaved", arrays="torch", angles="f32", inverse="none", layout="BHTD",
                 dtypes=("f32", "bf16"))
def apply(x, positions, inv_freq):
    angles = positions[:, None, :, None].float() * inv_freq.float()
    return apply_rotary_emb(angles.repeat_interleave(2, -1), x)


@ropewalk.provider(CONFIG, pairing="interleaved", dtypes=("f32", "bf16"))
class rotary_embedding(Turning, Module):
    pairing = "interleaved"

    def __init__(self, config):
        super().__init__(RotaryEmbedding(config["head_dim"], theta=config["rope_theta"]), inv_freq="freqs")

    def turn_from(self, first, x, dtype):
        x = tensor(x, dtype).transpose(0, 1)
        return self.module.rotate_queries_or_keys(x, offset=first).transpose(0, 1)
