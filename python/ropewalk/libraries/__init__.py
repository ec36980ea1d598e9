"""Libraries whose rope is judged by name: `ropewalk verify transformers`. Each has a file here, which
offers kernels and providers as any file of a user does, and says

PACKAGE      its name on PyPI                TRIED        the versions that were tried
NOT_COVERED  what a verdict leaves out       offer(names) offers providers by name
TYPES        names that are offered anyway   everything() all names that offer takes
"""

import importlib.metadata
import re
import sys
from pathlib import Path

# Of a library that reads no config: one of the usual sizes.
CONFIG = {"head_dim": 64, "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
          "rope_theta": 10000.0, "max_position_embeddings": 8192}


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
        print(f"line\t{name:<24} {has:<44} tried: {', '.join(tried)}")
    print("end\t")


def by_unit_vectors(rotate, positions, pairs):
    """cos and sin of a library that only rotates: what interleaved unit vectors turn into.
    rotate(first, x) turns x [tokens, 2 * pairs], whose positions begin with `first`."""
    torch, cos, sin = sys.modules["torch"], [], []
    for row in positions:
        whole = len(row) > 1 and bool((row[1:] - row[:-1] == 1).all())
        parts = [(int(row[0]), len(row))] if whole else [(int(p), 1) for p in row]
        turned = torch.cat([rotate(p, torch.tensor([1.0, 0.0]).repeat(n, pairs)) for p, n in parts])
        cos.append(turned[:, ::2]), sin.append(turned[:, 1::2])
    return torch.stack(cos), torch.stack(sin)
