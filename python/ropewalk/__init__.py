"""Offers Python functions as RoPE kernels, which Ropewalk's command judges and times: docs/python-kernels.md.

`python -m ropewalk verify FILE.py` judges the functions of a file that have the decorator `ropewalk.kernel`.
"""

import os
from collections.abc import Callable

from .assertion import assert_rope, assert_same
from .command import get_include
from .decorator import KernelError, kernel
from .providers import provider


def capture(function: Callable, path: str | os.PathLike | None = None, *, names: dict[str, str] | None = None,
            calls: int = 1, **metadata: str) -> Callable:
    """Wraps a rope function and keeps its first calls in a file for `ropewalk identify`: see
    ropewalk.dump.capture, which is imported when it is needed, as it needs NumPy."""
    from . import dump

    return dump.capture(function, path, names=names, calls=calls, **metadata)


def check(model: "torch.nn.Module", config: object = None, *, pairing: str | None = None,  # noqa: F821
          strict: bool = False) -> "ropewalk.checking.Report":  # noqa: F821
    """Does a loaded torch module turn q and k as its config says (docs/check.md)? Returns a report: `ok`, `rows`
    (a dictionary for each check of each kind of module), `raise_for_failures()`, and all of it as text.
    `config`: fields, a config.json, its folder, or an object with to_dict(); otherwise that of the model, which
    stays as it is. Raises KernelError in one line: no config, an unreadable one, or one of another model."""
    from . import checking  # imports torch

    return checking.check(model, config, pairing=pairing, strict=strict)


__all__ = ["KernelError", "assert_rope", "assert_same", "capture", "check", "get_include", "kernel",
           "provider"]
