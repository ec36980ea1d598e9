"""mlx-lm: the modules that initialize_rope makes of a model's rope_scaling, on a CPU."""

import mlx.core as mx
import numpy as np
from mlx_lm.models.rope_utils import initialize_rope

import ropewalk
from ropewalk.libraries import CONFIG, by_unit_vectors

PACKAGE = "mlx-lm"
TRIED = ("0.32.2",)
NOT_COVERED = "Metal and CUDA, positions that are not consecutive in a call, rules of single models"
DTYPES = {"f32": mx.float32, "bf16": mx.bfloat16}
OWN = {"original_max_position_embeddings": 4096, "factor": 8.0}
RULES = {
    "default": (8192, {"rope_type": "default"}),
    "linear": (8192, {"rope_type": "linear", "factor": 4.0}),
    "llama3": (131072, {**OWN, "rope_type": "llama3", "low_freq_factor": 1.0,
                        "high_freq_factor": 4.0}),
    "yarn": (32768, {**OWN, "rope_type": "yarn"}),
    "dynamic": (2048, {"rope_type": "dynamic", "factor": 4.0}),
    "longrope": (131072, {"original_max_position_embeddings": 4096, "rope_type": "longrope",
                          "short_factor": [1.5] * 32,
                          "long_factor": [2.5 + i for i in range(32)]}),
}


class Rotary:
    def __init__(self, config):
        self.module = initialize_rope(config["head_dim"], config["rope_theta"], False,
                                      config["rope_scaling"], config["max_position_embeddings"])

    def turn(self, first, x, dtype):
        out = self.module(mx.array(x).astype(DTYPES[dtype]), offset=first)
        return np.array(out.astype(mx.float32))

    def __call__(self, positions, dtype):
        return by_unit_vectors(lambda first, x: self.turn(first, x[None, None], dtype)[0, 0],
                               positions, 32, "half_split", np.asarray)

    def rotate(self, q, k, positions, dtype):  # x is [batch, heads, tokens, head_dim]
        return [np.stack([self.turn(int(p), x[None, :, None], dtype)[0, :, 0]
                          for p, x in zip(positions, a)]) for a in (q, k)]


class Whole(Rotary):
    """As one call of a whole prompt, on whose length the frequencies depend."""

    def __call__(self, positions, dtype):
        if positions.min() < 0:
            raise ValueError("a prompt has no negative positions")
        if positions.max() > 1 << 14:
            raise NotImplementedError("a prompt of so many tokens is not made here")
        unit = np.repeat(np.float32([1, 0]), 32)
        turned = np.stack([self.turn(0, np.tile(unit, (1, 1, row.max() + 1, 1)), dtype)[0, 0, row]
                           for row in positions])
        return turned[..., :32], turned[..., 32:]


for name, (context, rule) in RULES.items():
    config = {**CONFIG, "rope_scaling": rule, "max_position_embeddings": context}
    if name == "longrope":
        context = config["original_max_position_embeddings"] = 4096
    # Of yarn and longrope the factor on x is rounded in the type of the data.
    ropewalk.provider(config, name=name, pairing="half_split", context=context,
                      dtypes=("f32",) if name in ("yarn", "longrope") else ("f32", "bf16"))(
        Whole if name == "dynamic" else Rotary)
