"""capture beside engines that fork, share threads and fill disks: prints a line for each check that fails."""
import contextlib
import functools
import io
import operator
import os
import resource
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import ropewalk
from ropewalk import dump

folder = Path(sys.argv[1])
x = np.ones((1, 4, 2, 8), "f4")


def check(holds, what):
    if not holds:
        print("wrong:", what)


def files(name):
    return sorted(os.listdir(folder / name))


def rope(x):
    time.sleep(0.05)
    return x + 1


def other(x):
    return x + 2


def forks(name, **words):
    """What a parent and four forks leave there."""
    (folder / name).mkdir()
    os.environ["ROPEWALK_CAPTURE"] = str(folder / name)
    kept = ropewalk.capture(rope, **{k: folder / name / v for k, v in words.items()})
    children = []
    for _ in range(4):
        children.append(os.fork())
        if not children[-1]:
            kept(x)
            os._exit(0)
    kept(x)
    check(not any(os.waitpid(child, 0)[1] for child in children), f"{name}: a child ended badly")
    return files(name), children


found, children = forks("folder")
check(found == sorted(f"rope-{pid}.safetensors" for pid in (os.getpid(), *children)), f"folder: {found}")
found, _ = forks("path", path="a.safetensors")
check(found == ["a.1.safetensors", "a.2.safetensors", "a.3.safetensors", "a.4.safetensors", "a.safetensors"],
      f"path: {found}")

# Two functions of one name, and one whose name is no name of a file.
(folder / "names").mkdir()
os.environ["ROPEWALK_CAPTURE"] = str(folder / "names")
other.__name__ = "rope"
ropewalk.capture(rope)(x), ropewalk.capture(other)(x)
made = [dump.read(folder / "names" / f"rope-{os.getpid()}{n}.safetensors").tensors["y"].max() for n in ("", ".1")]
check(made == [2, 3], f"two of one name: {made}")
other.__name__ = "../a b" * 40
ropewalk.capture(other)(x)
check(f"{('.._a_b' * 40)[:60]}-{os.getpid()}.safetensors" in files("names"), f"name: {files('names')}")
for odd in (functools.partial(rope), functools.partial(operator.add, x), operator.neg, np.negative):
    check((ropewalk.capture(odd, folder / "names" / "odd.safetensors")(x) == odd(x)).all(), f"{odd}")
check(len([n for n in files("names") if n.startswith("odd")]) == 4, f"odd: {files('names')}")

# Eight threads, one file; what the function raises passes, and does not count.
(folder / "threads").mkdir()
kept = ropewalk.capture(rope, folder / "threads" / "a.safetensors")
try:
    kept(np.array(["a"]))
    check(False, "an exception is lost")
except TypeError:
    pass
threads = [threading.Thread(target=kept, args=(x,)) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
check(files("threads") == ["a.safetensors"], f"threads: {files('threads')}")


def warned(path, function=other, given=x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        kept = ropewalk.capture(function, path, calls=3)
        check(np.array_equal(kept(given), function(given)) and kept(given) is not None, f"{path}: other values")
    return [str(w.message) for w in seen]


# A link is not followed, and no file is overwritten.
(folder / "links").mkdir()
(folder / "links" / "a.safetensors").symlink_to(folder / "target")
said = warned(folder / "links" / "a.safetensors")
check(len(said) == 1 and "is there already, and stays" in said[0], f"a path that is there: {said}")
check(not (folder / "target").exists(), "a link is followed")
# A folder that cannot be written, a full disk, no x: one warning.
said = warned(folder / "target" / "none" / "a.safetensors")
check(len(said) == 1 and "No such file" in said[0], f"no folder: {said}")
said = warned(sys.argv[0] + "/a.safetensors")
check(len(said) == 1 and "Not a directory" in said[0], f"a file as the folder: {said}")
said = warned(folder / "links" / "b.safetensors", len, "text")
check(len(said) == 1 and "array x, q or k" in said[0], f"no x: {said}")
(folder / "full").mkdir()
resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
said = warned(folder / "full" / "a.safetensors")
check(len(said) == 1 and "File too large" in said[0] and not files("full"), f"full: {said} {files('full')}")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()) as text:
    warnings.simplefilter("error")
    kept = ropewalk.capture(other, folder / "none" / "a.safetensors", calls=2)
    check((kept(x) == kept(x)).all() and text.getvalue().count("\n") == 1, f"as errors: {text.getvalue()}")
