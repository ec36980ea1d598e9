"""Planted errors in NumPy, one kernel each; its name is the error."""
import ctypes
import os
import sys
import time

import numpy as np
import ropewalk
from right import right_new, rotate

numpy_kernel = ropewalk.kernel(pairing="half_split")


@numpy_kernel
def wrong_sign(x, cos, sin, out, pairing):
    rotate(x, cos, -sin, out, pairing)


@ropewalk.kernel(pairing="half_split")
def other_pairing(x, cos, sin, out):
    rotate(x, cos, sin, out, "interleaved")


@numpy_kernel
def angles_of_batch_row_0(x, cos, sin, out, pairing):
    rotate(x, cos[:1], sin[:1], out, pairing)


@numpy_kernel
def writes_its_input(x, cos, sin, out, pairing):
    x *= 1
    rotate(x, cos, sin, out, pairing)


first_rows = {}


@numpy_kernel
def keeps_the_first_rows(x, cos, sin, out, pairing):
    key = x.shape, x.ctypes.data
    rotate(x, *first_rows.setdefault(key, (cos.copy(), sin.copy())), out, pairing)


@numpy_kernel
def one_row_past_the_end(x, cos, sin, out, pairing):
    rotate(x, cos, sin, out, pairing)
    last = out[-1, -1, -1]
    ctypes.memset(last.ctypes.data + last.nbytes, 0, last.nbytes)


angles = {}


@ropewalk.kernel(pairing="half_split", angles="exact")
def cache_without_theta(x, positions, inv_freq, out, pairing, inverse, scale):
    key = positions.tobytes(), inv_freq.size
    if key not in angles:
        angle = positions[..., None, None].astype(np.longdouble) * inv_freq
        angles[key] = np.cos(angle), np.sin(angle)
    cos, sin = (scale * table for table in angles[key])
    rotate(x, cos, -sin if inverse else sin, out, pairing)


@ropewalk.kernel(pairing="half_split", returns="out")
def returns_without_writing(x, cos, sin, out, pairing):
    return out


def is_odd(x):
    return any(n > 1 and stride % 8 for n, stride in zip(x.shape[:-1], x.strides))


@numpy_kernel
def odd_strides_raise(x, cos, sin, pairing):  # and no number is wrong
    assert not is_odd(x), "odd"
    return right_new(x, cos, sin, pairing)


@numpy_kernel
def odd_strides_and_four_tokens_raise(x, cos, sin, pairing):
    assert x.shape[1] < 4, "odd"
    return odd_strides_raise(x, cos, sin, pairing)


@numpy_kernel
def calls_sys_exit(x, cos, sin, out, pairing):
    sys.exit(3)


@numpy_kernel
def segfaults_in_native_code(x, cos, sin, out, pairing):
    ctypes.string_at(8)


@numpy_kernel
def raises(x, cos, sin, out, pairing):
    raise ValueError("no rotation today\nand no second line")


@numpy_kernel
def forks(x, cos, sin, out, pairing):
    os.fork()
    rotate(x, cos, sin, out, pairing)


@numpy_kernel
def sleeps(x, cos, sin, out, pairing):
    time.sleep(3600)
