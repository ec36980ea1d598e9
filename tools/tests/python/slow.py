"""A right kernel, and the same with about 5 % more work: some of its products made twice."""
import numpy as np
import ropewalk
from right import rotate


@ropewalk.kernel(pairing="half_split", in_place=True)
def numpy_out(x, cos, sin, out):
    rotate(x, cos, sin, out, "half_split")


@ropewalk.kernel(pairing="half_split", in_place=True)
def numpy_out_slower(x, cos, sin, out):
    np.multiply(x[:, ::3, :, : x.shape[3] // 2], cos[:, ::3])
    rotate(x, cos, sin, out, "half_split")
