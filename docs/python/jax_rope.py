import jax
import jax.numpy as jnp
import ropewalk


@ropewalk.kernel(pairing="half_split", arrays="jax", dtypes=("f32", "f16", "bf16"),
                 compiles=True, flushes_subnormals=True, own_threads=True)
@jax.jit
def jax_rope(x, cos, sin):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1).astype(x.dtype)
