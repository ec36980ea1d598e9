"""Libraries whose rope is judged by name: `ropewalk verify transformers`. Each has a file here, which
offers kernels and providers as any file of a user does, and says

PACKAGE      its name on PyPI                TRIED        the versions that were tried
NOT_COVERED  what a verdict leaves out       offer(names) offers providers by name
TYPES        names that are offered anyway   everything() all names that offer takes
"""

import importlib.metadata
import os
import re
import sys
from pathlib import Path

import numpy as np

from ropewalk.angles import numpy_of
from ropewalk.channel import say

# Of a library that reads no config: one of the usual sizes.
CONFIG = {"head_dim": 64, "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
          "rope_theta": 10000.0, "max_position_embeddings": 8192}


# The words of a kernel that runs on a GPU where there is one. Nothing is asked of a driver here, as
# the worker opens it after the files.
HAS_GPU = os.path.exists("/dev/nvidiactl") or "ROPEWALK_CUDA_DRIVER" in os.environ
ON_GPU = {"arrays": "torch", "device": "cuda"}
# Tables in the type of the data: a row is rounded (1 u), and so are the products (sqrt(5) u).
ROUNDED = {"tables_dtype": "data", "error_bound": 3.3}


class _Dtypes:
    """torch's types by their words."""

    def __getitem__(self, word):
        torch = sys.modules["torch"]
        return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[word]


DTYPES = _Dtypes()


def known():
    """{name: (package, tried, installed)}, without importing a library; installed may be None."""
    out = {}
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        text = file.read_text(encoding="utf-8")
        package = re.search(r'^PACKAGE = "(.*)"$', text, re.M)[1]
        tried = re.findall(r'"(.*?)"', re.search(r"^TRIED = \((.*)\)$", text, re.M)[1])
        try:
            installed = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            installed = None
        out[file.stem] = package, tried, installed
    return out


def main():
    """Lines for `ropewalk list --libraries`."""
    for name, (package, tried, installed) in known().items():
        has = f"installed: {installed}" if installed else f"not installed (pip install {package})"
        say("line", f"{name:<24} {has:<44} tried: {', '.join(tried) or 'none, it needs a GPU'}")


def from_zero(positions):
    """Positions as a tensor, for a library that counts from 0 and so never sees a negative one."""
    if positions.min() < 0:
        raise ValueError("it counts from 0")
    return sys.modules["torch"].from_numpy(positions)


def by_unit_vectors(rotate, positions, pairs, pairing="interleaved", array=None):
    """cos and sin of a library that only rotates: what unit vectors turn into. rotate(first, x)
    turns x [tokens, 2 * pairs], whose positions begin with `first`; `array` makes x of NumPy's
    (otherwise it is torch's)."""
    make, cos, sin = array or sys.modules["torch"].from_numpy, [], []
    half = pairing == "half_split"
    unit = np.repeat(np.float32([1, 0]), pairs) if half else np.tile(np.float32([1, 0]), pairs)
    for row in positions:
        whole = len(row) > 1 and bool((row[1:] - row[:-1] == 1).all())
        parts = [(int(row[0]), len(row))] if whole else [(int(p), 1) for p in row]
        turned = [numpy_of(rotate(p, make(np.tile(unit, (n, 1))))) for p, n in parts]
        turned = np.concatenate(turned)
        cos.append(turned[:, :pairs] if half else turned[:, ::2])
        sin.append(turned[:, pairs:] if half else turned[:, 1::2])
    return np.stack(cos), np.stack(sin)
