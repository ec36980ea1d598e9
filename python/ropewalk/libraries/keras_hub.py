"""keras-hub: RotaryEmbedding and the rotary layers of its models, with the JAX backend."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras_hub.layers import RotaryEmbedding
from keras_hub.src.models.esm.esm_attention import ESMRotaryEmbedding
from keras_hub.src.models.llama.llama_rotary_embedding import LlamaRotaryEmbedding
from keras_hub.src.models.moonshine.moonshine_layers import MoonshineRotaryEmbedding
from keras_hub.src.models.phi3.phi3_rotary_embedding import Phi3SuScaledRotaryEmbedding
from keras_hub.src.models.smollm3 import smollm3_utils
from keras_hub.src.models.smollm3.smollm3_layers import SmolLM3RotaryEmbedding

import ropewalk
from ropewalk.libraries import CONFIG, LLAMA3, LONGROPE, OWN, Turning

PACKAGE = "keras-hub"
TRIED = ("0.32.0",)
NOT_COVERED = "GPU and TPU, the other backends, images, three-axis positions, rope_type dynamic"
POLICIES = {"f32": "float32", "bf16": "mixed_bfloat16"}
DTYPES = {"f32": "float32", "bf16": "bfloat16"}


class Layer(Turning):
    """A layer for each policy: `make` takes the base and dtype=."""

    def __init__(self, make, config):
        self.layers = {d: make(config["rope_theta"], dtype=p) for d, p in POLICIES.items()}

    def turn_from(self, first, x, dtype):
        x = keras.ops.cast(x, DTYPES[dtype])[None]
        return np.asarray(self.layers[dtype](x, start_index=first)[0], "f8")


class Prompt(Layer):  # ESM's turns whole sequences from position 0 on
    def turn_from(self, first, x, dtype):
        if first < 0 or first + len(x) > 2049:
            raise NotImplementedError("a sequence of so many tokens is not made here")
        whole = np.zeros((2049, *x.shape[1:]), "f4")
        whole[first : first + len(x)] = x
        whole = keras.ops.cast(whole, DTYPES[dtype])[None]
        return np.asarray(self.layers[dtype](whole, whole)[0][0], "f8")[first : first + len(x)]


class Tables(Layer):  # SmolLM3's gives cos and sin
    def __call__(self, positions, dtype):
        x = keras.ops.zeros((1, 1, 64), DTYPES[dtype])
        rows = [[self.layers[dtype](x, start_index=int(p)) for p in row] for row in positions]
        return tuple(np.moveaxis(np.asarray(rows, "f8")[..., 0, 0, :], 2, 0))

    def rotate(self, q, k, positions, dtype):
        cos, sin = self(positions[None], dtype)
        q, k, cos, sin = (keras.ops.cast(a, DTYPES[dtype]) for a in (q[None], k[None], cos, sin))
        return [a[0] for a in smollm3_utils.apply_rotary_pos_emb(q, k, cos, sin, 2)]


class Angles(Layer):  # Moonshine's gives angles, each twice, and its attention takes their cos
    def __call__(self, positions, dtype):
        rows = [self.layers[dtype](keras.ops.convert_to_tensor(row, "int32")) for row in positions]
        rows = keras.ops.stack(rows)
        return [np.asarray(f(rows), "f8") for f in (keras.ops.cos, keras.ops.sin)]

    rotate = property()  # its function begins at position 0


def add(name, make, kind=Layer, rule=None, dtypes=("f32", "bf16"), context=None, **more):
    ropewalk.provider({**CONFIG, "rope_scaling": rule, **more}, name=name, dtypes=dtypes,
                      pairing="interleaved" if kind is Angles else "half_split", context=context)(
        lambda config: kind(make, config))


add("rotary", RotaryEmbedding)
add("linear", lambda base, dtype: RotaryEmbedding(base, 4.0, dtype=dtype),
    rule={"rope_type": "linear", "factor": 4.0})
# The factor of YaRN is computed and multiplied in the type of the data.
add("yarn", lambda base, dtype: RotaryEmbedding(base, 8.0, "yarn", dtype=dtype), dtypes=("f32",),
    rule={"rope_type": "yarn", **OWN}, max_position_embeddings=32768)
add("llama3", lambda base, dtype: LlamaRotaryEmbedding(
    base, frequency_adjustment_factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
    pretraining_sequence_length=4096, dtype=dtype), max_position_embeddings=32768,
    rule={**LLAMA3, **OWN})
add("phi3", lambda base, dtype: Phi3SuScaledRotaryEmbedding(
    LONGROPE["short_factor"], LONGROPE["long_factor"], 131072, 4096, base, dtype=dtype),
    max_position_embeddings=131072, context=4096, original_max_position_embeddings=4096,
    rule={**LONGROPE, "original_max_position_embeddings": 4096})
add("smollm3", lambda base, dtype: SmolLM3RotaryEmbedding(256, 4, 8192, base, 1.0, dtype=dtype),
    Tables)
add("esm", lambda base, dtype: ESMRotaryEmbedding(base, dtype=dtype), Prompt,
    max_position_embeddings=1024)
add("moonshine", lambda base, dtype: MoonshineRotaryEmbedding(64, 512, base, 1.0, dtype=dtype),
    Angles, max_position_embeddings=512)
