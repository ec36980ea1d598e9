"""mlx-lm: the modules that initialize_rope makes of a model's rope_scaling, on a CPU."""

import mlx.core as mx
import numpy as np
from mlx_lm.models.rope_utils import initialize_rope

import ropewalk
from ropewalk.libraries import LLAMA3, LONGROPE, OWN, Turning, scaled

PACKAGE = "mlx-lm"
TRIED = ("0.32.2",)
NOT_COVERED = "Metal and CUDA, positions that are not consecutive in a call, rules of single models"
DTYPES = {"f32": mx.float32, "bf16": mx.bfloat16}
RULES = {
    "default": (8192, {"rope_type": "default"}),
    "linear": (8192, {"rope_type": "linear", "factor": 4.0}),
    "llama3": (131072, {**LLAMA3, **OWN}),
    "yarn": (32768, {**OWN, "rope_type": "yarn"}),
    "dynamic": (2048, {"rope_type": "dynamic", "factor": 4.0}),
    "longrope": (131072, {**LONGROPE, "original_max_position_embeddings": 4096}),
}


class Rotary(Turning):
    def __init__(self, config):
        self.module = initialize_rope(config["head_dim"], config["rope_theta"], False,
                                      config["rope_scaling"], config["max_position_embeddings"])

    def turn_from(self, first, x, dtype):  # the module takes [batch, heads, tokens, head_dim]
        x = mx.array(np.swapaxes(x, 0, 1)[None]).astype(DTYPES[dtype])
        return np.swapaxes(np.array(self.module(x, offset=first).astype(mx.float32))[0], 0, 1)


class Whole(Rotary):
    """As one call of a whole prompt, on whose length the frequencies depend."""

    def __call__(self, positions, dtype):
        if positions.min() < 0:
            raise ValueError("a prompt has no negative positions")
        if positions.max() > 1 << 14:
            raise NotImplementedError("a prompt of so many tokens is not made here")
        return np.stack([super(Whole, self).__call__(np.arange(row.max() + 1)[None], dtype)[0, row]
                         for row in positions])


for name, (context, rule) in RULES.items():
    config = scaled(rule, context)
    if name == "longrope":
        context = config["original_max_position_embeddings"] = 4096
    # Of yarn and longrope the factor on x is rounded in the type of the data.
    ropewalk.provider(config, name=name, pairing="half_split", context=context,
                      dtypes=("f32",) if name in ("yarn", "longrope") else ("f32", "bf16"))(
        Whole if name == "dynamic" else Rotary)
