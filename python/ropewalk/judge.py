"""Judges the providers of a file or a library, for the command. The keys of its lines: import, found,
not_covered, kernel (a name), note, judging (how many), provider (its number), law (the row if this
process ends in it), row."""

import fnmatch
import json
import math
import os
import platform
import shlex
import sys
import time
from pathlib import Path

import numpy as np

from . import host, libraries, providers
from .angles import Skipped, Subject
from .channel import forks, returned, say, settle, told, watch_forks
from .decorator import KernelError
from .decorator import offered as kernels
from .laws import laws

# The fields of a verdict row (docs/results-schema.md).
TEXTS = """kernel summary plugin angle_contract pairing dtype property claim verdict reason bound_unit
where diagnosis shrunk_case replay known cause worst_replay judged_on declared coverage not_offered
severity same_cause error unwatched""".split()
NUMBERS = "margin bound planned executed compared_cases compared seconds worst_margin".split()
MOST = 4000  # characters of a text in a row
NOT_JUDGED = KernelError, NotImplementedError, Skipped


def load(target):
    """(module, what it is: package, versions that were tried, version; None for a file)."""
    library, path = None, target
    if "/" not in target and not target.endswith(".py"):
        known = libraries.known()
        library, path = known[target], str(Path(libraries.__file__).parent / f"{target}.py")
        if library[2] is None:
            raise KernelError(f"{sys.executable} has no {target}: pip install {library[0]}")
    sys.dont_write_bytecode = True  # beside the file of a user
    say("import")
    try:
        module = host.import_file(path)
        settle()
        say("working")
        return module, library
    except BaseException as error:
        raise KernelError(f"it cannot be imported: {told(error)}") from None


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
        raise KernelError(f"nothing of it is called {glob}: it has {', '.join(has)}"[:900])
    return [k.name for k in found(kernels)], found(providers.offered)


def state():
    """What no provider may change: the random states, and torch's default type."""
    out = {"NumPy's random state": str(np.random.get_state()[1:3])}
    torch = sys.modules.get("torch")  # a file may have put None there
    if torch is not None:
        out["torch's default dtype"] = str(torch.get_default_dtype())
        out["torch's random state"] = torch.random.get_rng_state().sum().item()
    return out


def row_of(provider, target, name, claim, **more):
    row = {"schema": 1, "row": "verdict", **{t: "" for t in TEXTS}, **{n: 0 for n in NUMBERS}}
    versions = [f"python {platform.python_version()}"]
    for n in ("numpy", "torch", "jax", "transformers"):
        version = getattr(sys.modules.get(n), "__version__", None)
        versions += [f"{n} {version}"] if isinstance(version, str) else []
    row.update(kernel=provider.name, plugin=target, dtype=provider.dtypes[-1], property=name,
               angle_contract="exact" if provider.angles == "exact" else "f32_angle", claim=claim,
               not_met=[], cause_ids=[], bound_unit="of |x|", planned=1, verdict="PASS",
               judged_on="framework: " + ", ".join(versions))
    position = more.pop("position", None)
    row.update({n: v[:MOST] if isinstance(v, str) else v for n, v in more.items()})
    if row["verdict"] in ("FAIL", "CRASH"):
        words = f"provider={target}::{provider.name} property={name}"
        words += "" if position is None else f" position={position}"
        row["replay"] = f"ropewalk replay --python {shlex.quote(sys.executable)} {shlex.quote(words)}"
    return row


def row_without(provider, target, name, claim, error):
    """Of a law that an exception ended."""
    judged = not isinstance(error, NOT_JUDGED) or (isinstance(error, KernelError) and claim)
    words = {"verdict": "FAIL", "severity": "wrong"} if judged else {"verdict": "UNSUPPORTED"}
    text = str(error) if isinstance(error, NOT_JUDGED) else told(error)
    return row_of(provider, target, name, claim, reason=text, **words)


def rows_of(provider, target, wanted, position):
    """The verdicts on one provider. Before each the row is said that holds if this process ends."""
    def begin(name, claim, **more):
        say("law", json.dumps(row_of(provider, target, name, claim, verdict="CRASH", severity="wrong", **more)))

    begin("everything", "")
    try:
        subject = Subject(provider, position)
        subject.fresh()
    except BaseException as error:
        yield row_without(provider, target, "everything", "", error)
        return
    for name, (claim, law) in laws.items():
        if wanted and not any(fnmatch.fnmatchcase(name, w) for w in wanted):
            continue
        pairing, begun = subject.answer["pairing"], time.perf_counter()
        begin(name, claim, pairing=pairing)
        try:
            found = law(subject)
            if settle():
                say("note", f"{provider.name} starts a process in {name}")
            words = {"verdict": "PASS"}
            if not found.holds:
                words = {"verdict": "FAIL", "reason": found.reason, "where": found.where,
                         "cause": found.cause, "severity": found.severity}
            row = row_of(provider, target, name, claim, **words, margin=number(found.margin),
                         bound=number(found.bound), executed=1, compared_cases=1,
                         compared=found.compared, position=found.position)
        except BaseException as error:
            forks.clear()
            returned[0] = 0
            row = row_without(provider, target, name, claim, error)
        row.update(pairing=pairing, seconds=time.perf_counter() - begun)
        yield row


def number(value):
    return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf"


def main(target, glob, position, first, *wanted):
    """The first provider that is judged is that of number `first`: a provider before it has ended
    another process. glob and position may be empty."""
    before = state()
    watch_forks()
    module, library = load(target)
    try:
        named, found = chosen(module, glob)
    except KernelError:
        raise
    except BaseException as error:
        raise KernelError(f"its offer() fails: {told(error)}") from None
    say("found", f"{library[0]} {library[2]}" if library else target)
    say("not_covered", getattr(module, "NOT_COVERED", ""))
    for name in named:
        say("kernel", name)
    if library and library[2] not in library[1]:
        tried = ", ".join(library[1]) or "none, as it needs a GPU"
        say("note", f"this version was not tried; those were: {tried}")
    if size := os.lseek(1, 0, os.SEEK_CUR):
        lines = os.pread(1, min(size, 200), 0).decode("utf-8", "replace").strip().splitlines()
        say("note", f"importing it prints {json.dumps((lines or [''])[0])}")
    before = tell_changes("importing it", before)
    say("judging", str(len(found)))
    for number, provider in list(enumerate(found))[int(first):]:
        say("provider", str(number))
        for row in rows_of(provider, target, wanted, int(position) if position else None):
            say("row", json.dumps(row))
        before = tell_changes(provider.name, before)


def tell_changes(name, before):
    after = state()
    for what in before:
        if after[what] != before[what]:
            say("note", f"{name} changes {what}")
    return after
