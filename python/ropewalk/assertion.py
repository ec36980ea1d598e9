"""assert_rope and assert_same: judgements of functions inside a project's own tests."""

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path

from . import command
from .decorator import Kernel, kernel, offered

PLUGIN = """\
# Made by ropewalk.assert_rope. It stays, so that a replay line can be run again.
import sys

sys.path[:0] = {path!r}

import ropewalk
from ropewalk.assertion import decorations, named

function = {function}
for words in {words}:
    ropewalk.kernel(**words)(function)
"""


def assert_rope(fn: Callable, *, profile: str = "smoke", properties: Iterable[str] = (), **words: object) -> None:
    """Judges a function as `ropewalk verify` does. Raises AssertionError with what failed and the
    lines that replay it.

    The words are those of `ropewalk.kernel`. A decorated function has its own. `properties` are the
    names of those to judge; without them all are."""
    __tracebackhide__ = True  # pytest then shows the line that asserts, not this function
    plugin, names = plugin_of(fn, words)
    chosen = [word for name in names for word in ("--kernel", name)]
    chosen += [word for name in properties for word in ("--property", name)]
    output = run("verify", "--plugin", plugin, *chosen, "--profile", profile)
    if output is not None:
        raise AssertionError(failing(output))


def assert_same(f: Callable, g: Callable, *, config: str | os.PathLike | None = None, shape: str | None = None,
                max_ulp: float = 0, **words: object) -> None:
    """Compares two functions as `ropewalk diff` does. Raises AssertionError with where they part.

    The words are those of `ropewalk.kernel`, for both; a decorated function has its own."""
    __tracebackhide__ = True
    targets = []
    for function in (f, g):
        plugin, names = plugin_of(function, {} if decorations(function) else words)
        targets.append(f"{plugin}::{names[0]}")
    more = ["--config", str(config)] if config else []
    more += ["--shape", shape] if shape else []
    output = run("diff", *targets, "--max-ulp", str(max_ulp), *more)
    if output is not None:
        raise AssertionError(output)


def run(verb, *words):
    """What the command printed, if its exit code is 1; None if it is 0. Raises RuntimeError else."""
    done = command.run(verb, *words, "--python", sys.executable)
    if done.returncode not in (0, 1):
        said = done.stderr.strip() or done.stdout.strip()
        raise RuntimeError(said or f"ropewalk exited with {done.returncode}")
    return done.stdout if done.returncode else None


def plugin_of(fn, words):
    """(a file that offers the function, the names of its kernels)."""
    __tracebackhide__ = True
    function = reference(fn)
    if words or not decorations(fn):
        bound = inspect.signature(kernel).bind(**words)
        bound.apply_defaults()
        names = [Kernel(fn, bound.arguments).name]
        said = {w: reference(v) if callable(v) else repr(v) for w, v in words.items()}
        text = "[{" + ", ".join(f"{w!r}: {v}" for w, v in said.items()) + "}]"
    else:
        names = [k.name for k in offered if k.function is fn]
        text = "decorations(function)"
    path = [os.path.abspath(p) for p in sys.path]
    return keep(names[0], PLUGIN.format(path=path, function=function, words=text)), names


def decorations(fn):
    """The words of each decorator that offers this function."""
    return [k.words for k in offered if k.function is fn]


def reference(fn):
    """An expression that finds the same function in another process."""
    __tracebackhide__ = True
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "")
    try:
        is_there = attrgetter(name)(sys.modules[module]) is fn
    except (AttributeError, KeyError):
        is_there = False
    module, name = (module, name) if is_there else name_of(fn)
    file = getattr(sys.modules[module], "__file__", None)
    if module == "__main__" and not file:
        raise ValueError(f"{fn!r} is in no file")
    return f"named({module!r}, {file and os.path.abspath(file)!r}, {name!r})"


def name_of(fn):
    """(module, name) of a closure, a lambda or a method: that of the variable of a module that holds
    it, or its object."""
    __tracebackhide__ = True
    for module, loaded in list(sys.modules.items()):
        for name, value in list(getattr(loaded, "__dict__", {}).items()):
            if value is fn:
                return module, name
            if getattr(fn, "__self__", None) is value is not None and hasattr(fn, "__func__"):
                return module, f"{name}.{fn.__name__}"
    raise ValueError(f"no variable of a module holds {fn!r}: give it a name there, as another process "
                     "must find it")


def named(module, file, name):
    """The function of this name, from a module or from a file that is no module here."""
    try:
        if module == "__main__":
            raise ModuleNotFoundError(name=module)
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not file or not f"{module}.".startswith(f"{error.name}."):
            raise
        key = f"ropewalk_asserted {file}"
        if key not in sys.modules:
            spec = importlib.util.spec_from_file_location(key, file)
            sys.modules[key] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[key])
        found = sys.modules[key]
    return attrgetter(name)(found)


def keep(name, text):
    """Writes a file of this name and content into a folder of this user and returns its path."""
    folder = Path(tempfile.gettempdir()) / f"ropewalk-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise RuntimeError(f"{folder} belongs to another user")
    # Two functions may have one name, and tests may run side by side.
    file = folder / f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.py"
    made = file.with_suffix(f".{os.getpid()}")
    made.write_text(text)
    made.replace(file)
    return str(file)


def failing(output):
    """Of the blocks of failures: the name, why, and the line that replays it."""
    kept = []
    for block in re.split(r"\n(?! )", output):
        head, claim, rest = block.partition("\n      claim ")
        if claim:  # a line that begins farther right goes on with the line before
            kept += [head, *re.findall(r"^ {6}(?:because|cause|replay) .*(?:\n {17}.*)*", rest, re.M)]
        elif block.startswith("start here"):
            kept.append(block)
    return "\n".join(kept) or output
