"""Finds the command `ropewalk`."""

import os
import shutil
from pathlib import Path


def find():
    """The command's path. Raises FileNotFoundError, in one line."""
    asked = os.environ.get("ROPEWALK_COMMAND")
    if asked:
        return asked
    package = Path(os.path.abspath(__file__)).parent  # a build tree has a link to python/
    beside = []
    if package.parent.name == "python":
        folder = package.parent.parent
        beside.append(folder / "ropewalk")
        # An installed one: PREFIX/lib/.../ropewalk/python/ropewalk and PREFIX/bin/ropewalk.
        libs = [p for p in folder.parents if p.name.startswith("lib")]
        beside += [p.parent / "bin" / "ropewalk" for p in libs]
    for path in beside:
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("ropewalk")
    if not found:
        raise FileNotFoundError(
            "the command ropewalk is neither beside the package nor in PATH: "
            "install it or set ROPEWALK_COMMAND"
        )
    return found
