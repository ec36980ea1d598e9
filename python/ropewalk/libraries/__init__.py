"""Libraries whose rope is judged by name: `ropewalk verify transformers`. Each has a file here, which
offers kernels and providers as any file of a user does, and says

PACKAGE      its name on PyPI                TRIED        the versions that were tried
NOT_COVERED  what a verdict leaves out       offer(names) offers providers by name
TYPES        names that are offered anyway   everything() all names that offer takes
"""

import importlib.metadata
import re
from pathlib import Path


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


def listed():
    """Lines of `ropewalk list --libraries`."""
    for name, (package, tried, installed) in known().items():
        has = f"installed: {installed}" if installed else f"not installed (pip install {package})"
        yield f"{name:<24} {has:<44} tried: {', '.join(tried)}"
