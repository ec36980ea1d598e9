"""Judges the providers of a file or a library, for the command. Each line that it prints is a key and
a text: found, not_covered, kernel (a name), note, judging, error, end; or a verdict row."""

import fnmatch
import json
import math
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from . import host, libraries, providers
from .angles import Skipped, Subject
from .decorator import KernelError
from .decorator import offered as kernels
from .laws import laws

# The fields of a verdict row (docs/results-schema.md).
TEXTS = """kernel summary plugin angle_contract pairing dtype property claim verdict reason bound_unit
where diagnosis shrunk_case replay known cause worst_replay judged_on declared coverage not_offered
severity""".split()
NUMBERS = "margin bound planned executed compared_cases compared seconds worst_margin".split()
NOT_JUDGED = KernelError, NotImplementedError, Skipped


class Refused(Exception):
    """The file or the library cannot be judged; one line."""


def load(target):
    """(module, what it is: package, versions that were tried, version; None for a file)."""
    library, path = None, target
    if "/" not in target and not target.endswith(".py"):
        known = libraries.known()
        library, path = known[target], str(Path(libraries.__file__).parent / f"{target}.py")
        if library[2] is None:
            raise Refused(f"{sys.executable} has no {target}: pip install {library[0]}")
    sys.dont_write_bytecode = True  # beside the file of a user
    try:
        return host.import_file(path), library
    except BaseException as error:
        raise Refused(f"{target} cannot be imported: {host.told(error)}") from None


def chosen(module, glob):
    """The kernels and providers that a glob names. A library offers more by name than at once."""
    def fits(name):
        return not glob or any(fnmatch.fnmatchcase(n, glob) for n in (name, name.split("/")[0]))

    def found(all_):
        return [o for o in all_ if o.module == module.__name__ and fits(o.name)]

    names = module.TYPES if hasattr(module, "offer") else []
    if glob and names:
        names = [n for n in module.everything() if fits(n) or glob.startswith(n + "/")]
    if names:
        module.offer(names)
    if not found(kernels) and not found(providers.offered):
        has = [o.name for o in (*kernels, *providers.offered) if o.module == module.__name__]
        has += module.everything() if hasattr(module, "offer") else []
        raise Refused(f"nothing of it is called {glob}: it has {', '.join(has)}"[:900])
    return [k.name for k in found(kernels)], found(providers.offered)


def state():
    """What no provider may change: the random states, and torch's default type."""
    out = {"NumPy's random state": str(np.random.get_state()[1:3])}
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        out["torch's default dtype"] = str(torch.get_default_dtype())
        out["torch's random state"] = torch.random.get_rng_state().sum().item()
    return out


def row_of(provider, target, name, claim, **more):
    row = {"schema": 1, "row": "verdict", **{t: "" for t in TEXTS}, **{n: 0 for n in NUMBERS}}
    loaded = [n for n in ("numpy", "torch", "jax", "transformers") if n in sys.modules]
    versions = [f"python {platform.python_version()}"]
    versions += [f"{n} {sys.modules[n].__version__}" for n in loaded]
    row.update(kernel=provider.name, plugin=target, dtype=provider.dtypes[-1], property=name,
               angle_contract="exact" if provider.angles == "exact" else "f32_angle", claim=claim,
               not_met=[], bound_unit="of |x|", planned=1, verdict="PASS",
               judged_on="framework: " + ", ".join(versions))
    position = more.pop("position", None)
    row.update(more)
    if row["verdict"] == "FAIL":
        words = f"provider={target}::{provider.name} property={name}"
        words += "" if position is None else f" position={position}"
        row["replay"] = f"ropewalk replay --python '{sys.executable}' '{words}'"
    return row


def row_without(provider, target, name, claim, error):
    """Of a law that an exception ended."""
    judged = not isinstance(error, NOT_JUDGED) or (isinstance(error, KernelError) and claim)
    words = {"verdict": "FAIL", "severity": "wrong"} if judged else {"verdict": "UNSUPPORTED"}
    text = str(error) if isinstance(error, NOT_JUDGED) else host.told(error)
    return row_of(provider, target, name, claim, reason=text, **words)


def rows_of(provider, target, wanted, position):
    """The verdicts on one provider."""
    try:
        subject = Subject(provider, position)
        subject.fresh()
    except BaseException as error:
        yield row_without(provider, target, "everything", "", error)
        return
    for name, (claim, law) in laws.items():
        if wanted and not any(fnmatch.fnmatchcase(name, w) for w in wanted):
            continue
        begun = time.perf_counter()
        try:
            found = law(subject)
            words = {"verdict": "PASS"}
            if not found.holds:
                words = {"verdict": "FAIL", "reason": found.reason, "where": found.where,
                         "cause": found.cause, "severity": found.severity}
            row = row_of(provider, target, name, claim, **words, margin=number(found.margin),
                         bound=number(found.bound), executed=1, compared_cases=1,
                         compared=found.compared, position=found.position)
        except BaseException as error:
            row = row_without(provider, target, name, claim, error)
        row.update(pairing=subject.answer["pairing"], seconds=time.perf_counter() - begun)
        yield row


def number(value):
    return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf"


def judge(say, printed, target, glob, position, *wanted):
    before = state()
    module, library = load(target)
    named, found = chosen(module, glob)
    say("found", f"{library[0]} {library[2]}" if library else target)
    say("not_covered", getattr(module, "NOT_COVERED", ""))
    for name in named:
        say("kernel", name)
    if library and library[2] not in library[1]:
        tried = ", ".join(library[1]) or "none, as it needs a GPU"
        say("note", f"this version was not tried; those were: {tried}")
    if printed.seek(0, os.SEEK_END):
        printed.seek(0)
        first = printed.readline(200).decode("utf-8", "replace").strip()
        say("note", f"importing it prints {json.dumps(first)}")
    before = tell_changes(say, "importing it", before)
    say("judging")
    for provider in found:
        for row in rows_of(provider, target, wanted, int(position) if position else None):
            say("row", json.dumps(row))
        before = tell_changes(say, provider.name, before)
    say("end")


def tell_changes(say, who, before):
    after = state()
    for what in before:
        if after[what] != before[what]:
            say("note", f"{who} changes {what}")
    return after


def main(words):
    """words: TARGET GLOB (may be empty) POSITION (may be empty) PROPERTY..."""
    # A library may print; the command reads what this prints.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)

        def say(key, text=""):
            out.write(f"{key}\t{text}\n")
            out.flush()

        try:
            judge(say, printed, *words)
        except Refused as error:
            say("error", str(error))
