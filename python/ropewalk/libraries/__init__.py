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

from ropewalk.angles import in_pairs, numpy_of
from ropewalk.channel import say_rows, table

# Of a library that reads no config: one of the usual sizes.
CONFIG = {"head_dim": 64, "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
          "rope_theta": 10000.0, "max_position_embeddings": 8192}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}
LONGROPE = {"rope_type": "longrope", "short_factor": [1.5] * 32, "long_factor": [2.5 + i for i in range(32)]}
OWN = {"original_max_position_embeddings": 4096, "factor": 8.0}  # rules that no default config has

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
    """Rows for `ropewalk list --libraries`."""
    rows = [(name, f"installed: {installed}" if installed else f"not installed (pip install {package})",
             f"tried: {', '.join(tried) or 'none, needs a GPU'}")
            for name, (package, tried, installed) in known().items()]
    say_rows([table(rows)], 0)


def from_zero(positions):
    """Positions as a tensor, for a library that counts from 0 and so never sees a negative one."""
    if positions.min() < 0:
        raise ValueError("it counts from 0")
    return sys.modules["torch"].from_numpy(positions)


def scaled(rule, context=65536):
    return {**CONFIG, "rope_scaling": rule, "max_position_embeddings": context} if rule else CONFIG


def tensor(x, dtype):
    return sys.modules["torch"].from_numpy(x).to(DTYPES[dtype])


class Module:
    """A rotary around a module of torch; of its tables, if it gives such: (module, positions, a tensor of the
    type) -> cos, sin."""

    def __init__(self, module, tables=None, inv_freq="inv_freq"):
        self.module, self.tables, self.named = module, tables, inv_freq

    inv_freq = property(lambda self: getattr(self.module, self.named, None))

    def __call__(self, positions, dtype):
        return self.tables(self.module, positions, tensor(np.zeros((1, 1, 1)), dtype))

    def cast(self, dtype):
        self.module.to(DTYPES[dtype])


def by_length(call):
    """Of what makes the tables of 0, 1, ... and so sees no other positions."""
    def tables(module, positions, x):
        at = from_zero(positions)
        made = call(module, int(at.max()) + 1, x)
        made = made if isinstance(made, tuple) else (made.float().cos(), made.float().sin())
        return [t[at] for t in made]

    return tables


class Turning:
    """A rotary that only turns: turn(x, positions, dtype), x [batch, tokens, heads, size] of NumPy. Its
    cos + i sin is what unit vectors turn into."""

    pairing, size = "half_split", 64

    def __call__(self, positions, dtype):
        half, one = self.size // 2, np.float32([1, 0])
        unit = np.repeat(one, half) if self.pairing == "half_split" else np.tile(one, half)
        turned = self.turn(np.tile(unit, (*positions.shape, 1, 1)), positions, dtype)
        return in_pairs(numpy_of(turned), self.pairing)[:, :, 0]

    def rotate(self, q, k, positions, dtype):
        return [self.turn(a[None], positions[None], dtype)[0] for a in (q, k)]

    def turn(self, x, positions, dtype):
        """By turn_from(first, x, dtype), x [tokens, heads, size], for each run of consecutive positions."""
        out = []
        for row, at in zip(x, positions):
            ends = [0, *(np.flatnonzero(np.diff(at) != 1) + 1), len(at)]
            out.append(np.concatenate([numpy_of(self.turn_from(int(at[a]), row[a:b], dtype))
                                       for a, b in zip(ends, ends[1:])]))
        return np.stack(out)


class TurningModule(Turning, Module):
    """By call(module, x, positions), both of torch."""

    def __init__(self, module, call, inv_freq="inv_freq", pairing="half_split"):
        super().__init__(module, None, inv_freq)
        self.call, self.pairing = call, pairing

    def turn(self, x, positions, dtype):
        return self.call(self.module, tensor(x, dtype), sys.modules["torch"].from_numpy(positions))
