"""Offers Python functions as RoPE kernels, which Ropewalk's command judges and times.

    import numpy as np
    import ropewalk

    @ropewalk.kernel(pairing="half_split")
    def my_rope(x, cos, sin):
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)

`python -m ropewalk verify my_rope.py` judges it. `ropewalk.assert_rope` does so inside a test;
`ropewalk.assert_same` compares two functions.
"""

from .assertion import assert_rope, assert_same
from .command import get_include
from .decorator import KernelError, kernel
from .providers import provider


def capture(*args, **words):
    """Wraps a rope function and keeps its first calls in a file for `ropewalk identify`: see
    ropewalk.dump.capture, which is imported when it is needed, as it needs NumPy."""
    from . import dump

    return dump.capture(*args, **words)


__all__ = ["KernelError", "assert_rope", "assert_same", "capture", "get_include", "kernel",
           "provider"]
