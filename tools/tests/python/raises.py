"""A kernel that raises in every call. Each import adds a letter to the file IMPORTS."""
import os

import ropewalk

open(os.environ["IMPORTS"], "a").write("x")


@ropewalk.kernel(pairing="both", dtypes=("f32", "f16"))
def raises_slowly(x, cos, sin, pairing):
    raise ValueError(f"no rotation of {x.shape}")
