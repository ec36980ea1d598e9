import numpy as np
import ropewalk


@ropewalk.kernel(pairing="half_split", dtypes=("f64", "f32", "f16", "bf16"))
def numpy_rope(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1).astype(x.dtype)
