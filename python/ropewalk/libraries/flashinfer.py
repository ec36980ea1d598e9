"""FlashInfer: the operator that serving engines call, with q and k as [tokens, heads * head_dim]."""

from flashinfer.rope import apply_rope_with_cos_sin_cache_inplace

import ropewalk
from ropewalk.libraries import ON_GPU

PACKAGE = "flashinfer-python"
TRIED = ()
NOT_COVERED = "its other operators of rope, ragged batches, fp8"


@ropewalk.kernel(pairing="both", layout="TD", tables="cache", dtypes=("f16", "bf16"),
                 returns="in_place", rotary_offset=0, **ON_GPU)
def cos_sin_cache(q, k, position_ids, table, head_dim, half_split):
    apply_rope_with_cos_sin_cache_inplace(position_ids, q, k, head_dim, table, half_split)
