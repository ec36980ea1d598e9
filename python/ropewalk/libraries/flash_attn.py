"""flash-attn: the Triton kernel of its rotary layer, which counts positions by rows of cos and sin."""

from flash_attn.layers.rotary import apply_rotary_emb

import ropewalk
from ropewalk.libraries import ON_GPU, ROUNDED

PACKAGE = "flash-attn"
TRIED = ()
NOT_COVERED = "packed qkv, sequences of other lengths in one call, gradients"


@ropewalk.kernel(pairing="both", layout="1THD", heads_axis=False, returns="in_place",
                 dtypes=("f32", "f16", "bf16"), **ON_GPU, **ROUNDED)
def rotary(x, cos, sin, half_split):
    apply_rotary_emb(x, cos, sin, interleaved=not half_split, inplace=True)
