"""equinox: RotaryPositionalEmbedding, which turns a sequence that begins at position 0."""

import equinox
import jax
import jax.numpy as jnp

import ropewalk
from ropewalk.libraries import CONFIG, Turning

PACKAGE = "equinox"
TRIED = ("0.13.8",)
NOT_COVERED = "GPU and TPU, tables of another type than f32, gradients"
SIZE = 16  # positions are places in a sequence, so a head is small
WORDS = {"pairing": "half_split", "dtypes": ("f32", "bf16")}
DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


@ropewalk.provider({**CONFIG, "head_dim": SIZE, "hidden_size": 4 * SIZE}, **WORDS)
class rotary(Turning):
    size = SIZE

    def __init__(self, config):
        self.module = equinox.nn.RotaryPositionalEmbedding(SIZE, config["rope_theta"])

    def turn(self, x, positions, dtype):
        if positions.min() < 0:
            raise ValueError("a sequence has no negative positions")
        out, turned = [], jax.vmap(self.module, in_axes=1, out_axes=1)
        for row, at in zip(x, positions):
            whole = jnp.zeros((max(at) + 1, *row.shape[1:]), DTYPES[dtype]).at[at].set(row)
            out.append(turned(whole)[at])
        return jnp.stack(out)
