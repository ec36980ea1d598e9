"""equinox: RotaryPositionalEmbedding, which turns a sequence that begins at position 0."""

import equinox
import jax
import jax.numpy as jnp
import numpy as np

import ropewalk
from ropewalk.libraries import CONFIG

PACKAGE = "equinox"
TRIED = ("0.13.8",)
NOT_COVERED = "GPU and TPU, tables of another type than f32, gradients"
SIZE = 16  # positions are places in a sequence, so a head is small
WORDS = {"pairing": "half_split", "dtypes": ("f32", "bf16")}
DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


def tokens_of(positions):
    if min(positions) < 0:
        raise ValueError("a sequence has no negative positions")
    return max(positions) + 1


@ropewalk.provider({**CONFIG, "head_dim": SIZE, "hidden_size": 4 * SIZE}, **WORDS)
class rotary:
    def __init__(self, config):
        self.module = equinox.nn.RotaryPositionalEmbedding(SIZE, config["rope_theta"])

    def __call__(self, positions, dtype):
        unit = np.repeat(np.float32([1, 0]), SIZE // 2)
        x = jnp.asarray(np.tile(unit, (tokens_of(positions.ravel()), 1)), DTYPES[dtype])
        turned = self.module(x)[positions]
        return turned[..., : SIZE // 2], turned[..., SIZE // 2 :]

    def rotate(self, q, k, positions, dtype):
        out = []
        for a in (q, k):
            x = jnp.zeros((tokens_of(positions), *a.shape[1:]), DTYPES[dtype]).at[positions].set(a)
            out.append(jax.vmap(self.module, in_axes=1, out_axes=1)(x)[positions])
        return out


