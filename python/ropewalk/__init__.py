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


def check(model, config=None, *, pairing=None, strict=False):
    """Does a loaded torch module turn q and k as its config says? Returns a report: `ok`, `rows` (a
    dictionary for each check of each kind of module), `raise_for_failures()`, and all of it as text. The
    model stays as it is.

    config    fields, a config.json, its folder, or an object with to_dict(); otherwise model.config, as
              its file says if that is at hand
    pairing   if the config's model_type is not known
    strict    what fails only after a cast (edge), or by the bits of the model's type (precision), counts

    Raises KernelError with one line: no config, one that cannot be read, or one of another model."""
    from . import checking  # imports torch

    return checking.check(model, config, pairing=pairing, strict=strict)


__all__ = ["KernelError", "assert_rope", "assert_same", "capture", "check", "get_include", "kernel",
           "provider"]
