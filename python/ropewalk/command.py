"""Finds the command `ropewalk`, and the headers for kernels in C and C++."""

import os
import subprocess
from pathlib import Path


def find():
    """The command's path. Raises FileNotFoundError, in one line."""
    asked = os.environ.get("ROPEWALK_COMMAND")
    if asked:
        return asked
    package = Path(os.path.abspath(__file__)).parent  # a build tree has a link to python/
    beside = [package / "ropewalk"]  # a wheel has it there
    if package.parent.name == "python":
        folder = package.parent.parent
        beside.append(folder / "ropewalk")
        # An installed one: PREFIX/lib/.../ropewalk/python/ropewalk and PREFIX/bin/ropewalk.
        libs = [p for p in folder.parents if p.name.startswith("lib")]
        beside += [p.parent / "bin" / "ropewalk" for p in libs]
    beside += [Path(p, "ropewalk") for p in os.get_exec_path()]
    for path in beside:
        if path.is_file() and os.access(path, os.X_OK) and is_program(path):
            return str(path)
    raise FileNotFoundError("the command ropewalk is neither beside the package nor in PATH: "
                            "install it or set ROPEWALK_COMMAND")


def run(*words, **more):
    """The command's output and exit code."""
    return subprocess.run([find(), *words], capture_output=True, text=True, **more)


def is_program(path):
    """Whether it is no script: the one that pip puts into PATH would call itself for ever."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def get_include() -> str:
    """The folder for -I of a compiler, with kernels/api/rope_kernel.h in it."""
    return run("include-dir", check=True).stdout.rstrip("\n")
