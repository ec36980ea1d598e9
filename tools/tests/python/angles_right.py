"""Right providers of seven styles, each with its own code."""
import math

import numpy as np
import ropewalk

LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
         "num_key_value_heads": 4, "max_position_embeddings": 4096, "rope_theta": 10000.0}
YARN = {**LLAMA, "max_position_embeddings": 8192, "rope_scaling": {
    "rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}}
NEOX = {**LLAMA, "model_type": "gpt_neox", "rotary_pct": 0.25, "rotary_emb_base": 10000.0}
FACTOR = {**LLAMA, "original_max_position_embeddings": 2048, "rope_scaling": {
    "rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [1.0] * 32}}
OLMO = {**YARN, "model_type": "olmo3", "rope_theta": 500000.0, "num_hidden_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"]}  # releases read another base otherwise
DYNAMIC = {**LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}


@ropewalk.provider(FACTOR, name="factor_elsewhere", angles="exact", scale_elsewhere=True)
@ropewalk.provider(LLAMA, angles="exact")
def real_product(config):
    """f64 throughout, and one complex array."""
    freq = np.array([config["rope_theta"] ** (-i / 32) for i in range(32)])

    def rotary(positions, dtype):
        return np.exp(1j * np.multiply.outer(positions, freq)).astype("c8")

    rotary.inv_freq = freq
    return rotary


@ropewalk.provider(NEOX, dtypes=("f32", "f16"))
class Cache:
    """A table of f32 angles that grows, read by position; each value twice, and no inv_freq."""

    def __init__(self, config):
        self.freq = (1 / np.float32(config["rotary_emb_base"]) ** (np.arange(0, 16, 2, "f4") / 16)).astype("f4")
        self.grow(64)

    def grow(self, rows):
        angles = np.arange(rows, dtype="f4")[:, None] * self.freq
        self.cos, self.sin = (np.repeat(f(angles.astype("f8")), 2, 1) for f in (np.cos, np.sin))

    def __call__(self, positions, dtype):
        if positions.min() < 0:
            raise IndexError("a position below 0")
        if positions.max() >= len(self.cos):
            self.grow(2 * int(positions.max()) + 1)
        return tuple(t[positions].astype({"f32": "f4", "f16": "f2"}[dtype]) for t in (self.cos, self.sin))


@ropewalk.provider(OLMO, name="other_factor", layer="full_attention")
@ropewalk.provider(YARN)
def yarn(config):
    """Half a row of cos and sin, times the factor of the rule."""
    theta, dim, factor, original = config["rope_theta"], 64, config["rope_scaling"]["factor"], 4096

    def pair_of(turns):
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = math.floor(pair_of(32)), math.ceil(pair_of(1))
    kept = 1 - np.clip((np.arange(32, dtype="f4") - low) / np.float32(high - low), 0, 1)
    plain = 1 / np.float32(theta) ** (np.arange(0, dim, 2, dtype="f4") / dim)
    freq = (plain / np.float32(factor) * (1 - kept) + plain * kept).astype("f4")
    scale = np.float32(0.1 * math.log(factor) + 1)

    def rotary(positions, dtype):
        angles = (positions[..., None].astype("f4") * freq).astype("f8")
        return np.cos(angles).astype("f4") * scale, np.sin(angles).astype("f4") * scale

    rotary.inv_freq = freq
    return rotary


@ropewalk.provider(DYNAMIC)
class Stretched:
    """Frequencies of the longest position of the call, which are set back after it."""

    def __init__(self, config):
        self.theta = config["rope_theta"]

    def __call__(self, positions, dtype):
        tokens = max(int(positions.max()) + 1, 4096)
        theta = self.theta * (2.0 * tokens / 4096 - 1) ** (64 / 62)
        self.inv_freq = (theta ** (-np.arange(0, 64, 2) / 64)).astype("f4")
        angles = (positions[..., None].astype("f4") * self.inv_freq).astype("f8")
        return np.tile(np.cos(angles), 2).astype("f4"), np.tile(np.sin(angles), 2).astype("f4")

    inv_freq = None


@ropewalk.provider(LLAMA, angles="division")
class Timescale:
    """As Flax models: position / timescale."""

    def __init__(self, config):
        fraction = np.arange(0, 64, 2, dtype="f4") / np.float32(64)
        self.timescale = np.power(np.float32(config["rope_theta"]), fraction)

    def __call__(self, positions, dtype):
        angles = (positions[..., None].astype("f4") / self.timescale).astype("f8")
        return np.cos(angles).astype("f4"), np.sin(angles).astype("f4")


@ropewalk.provider({**LLAMA, "model_type": "cohere"}, angles="exact")
class Interleaved:
    """Turns q and k itself, by complex numbers."""

    def __init__(self, config):
        self.inv_freq = np.power(float(config["rope_theta"]), -np.arange(32) / 32)

    def __call__(self, positions, dtype):
        angles = positions[..., None] * self.inv_freq
        return np.cos(angles).astype("f4"), np.sin(angles).astype("f4")

    def rotate(self, q, k, positions, dtype):
        cos, sin = (t[:, None].astype("f8") for t in self(positions, dtype))
        for x in (q, k):
            yield ((x[..., ::2] + 1j * x[..., 1::2]) * (cos + 1j * sin)).view("f8").astype("f4")
