"""Judges the providers of a file or a library, for the command: judge.main(words). Prints a JSON object
a line: what was found in the file, a verdict row for each law, remarks, and the end."""

import fnmatch
import importlib.util
import json
import math
import os
import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

from . import libraries, providers
from .angles import Subject, Skipped
from .decorator import KernelError
from .decorator import offered as kernels
from .laws import laws

# The fields of a verdict row (docs/results-schema.md).
TEXTS = """kernel summary plugin angle_contract pairing dtype property claim verdict reason bound_unit
where diagnosis shrunk_case replay known cause worst_replay judged_on declared coverage not_offered
severity""".split()
NUMBERS = "margin bound planned executed compared_cases compared seconds worst_margin".split()


class Refused(Exception):
    """The file or the library cannot be judged; one line."""


def load(target):
    """(module, its library or None). What it prints or changes is remarked."""
    path, own = target, {}
    if "/" not in target and not target.endswith(".py"):
        path = str(Path(libraries.__file__).parent / f"{target}.py")
        own = libraries.known()
        if target not in own:
            raise Refused(f"{target} is not a library known here: {', '.join(own)}")
        if own[target][2] is None:
            raise Refused(f"{sys.executable} has no {target}: pip install {own[target][0]}")
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(f"ropewalk_judged_{Path(path).stem}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise Refused(f"{target} cannot be imported: {told(error)}") from None
    return module, own.get(target)


def told(error):
    """An exception in a line, with the place where it was raised."""
    text = " ".join(str(error).split())[:200]
    places = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(places[-1].filename)} line {places[-1].lineno})" if places else ""
    return text if isinstance(error, KernelError) else f"{type(error).__name__}: {text}{place}"


def chosen(module, glob):
    """The kernels and providers that a glob names. A library offers more by name than at once."""
    def found():
        return ([k.name for k in kernels if k.module == module.__name__ and fits(k.name)],
                [p for p in providers.offered if p.module == module.__name__ and fits(p.name)])

    def fits(name):
        return not glob or fnmatch.fnmatchcase(name, glob) or fits_layer(name)

    def fits_layer(name):
        return fnmatch.fnmatchcase(name.split("/")[0], glob)

    names = getattr(module, "TYPES", []) if not glob else []
    if glob and hasattr(module, "everything"):
        names = [n for n in module.everything() if fits(n) or glob.startswith(n + "/")]
    if names:
        module.offer(names)
    out = found()
    if not any(out):
        has = [k.name for k in kernels if k.module == module.__name__]
        has += getattr(module, "everything", lambda: [])() or [p.name for p in providers.offered]
        raise Refused(f"nothing of it is called {glob}: it has {', '.join(has)}"[:900])
    return out


def state():
    """What no library may change: the seeds and default types of NumPy and torch."""
    import numpy as np

    torch = sys.modules.get("torch")
    out = {"NumPy's random state": str(np.random.get_state()[1:3])}
    if torch:
        out["torch's default dtype"] = str(torch.get_default_dtype())
        out["torch's random state"] = torch.random.get_rng_state().sum().item()
    return out


def row_of(provider, target, name, claim, position):
    row = {"schema": 1, "row": "verdict", **{t: "" for t in TEXTS}, **{n: 0 for n in NUMBERS}}
    contract = "f32_angle" if provider.angles == "f32" else "exact"
    words = f"provider={target}::{provider.name} property={name}"
    words += "" if position is None else f" position={position}"
    python = f"--python '{sys.executable}' "
    row.update(kernel=provider.name, plugin=target, angle_contract=contract, property=name,
               claim=claim, dtype=provider.dtypes[-1], pairing=provider.pairing or "",
               not_met=[], verdict="PASS", bound_unit="of |x|", planned=1, judged_on=environment(),
               replay=f"ropewalk replay {python}'{words}'")
    return row


def environment():
    """Of the frameworks that are loaded, by their versions."""
    found = [f"python {platform.python_version()}"]
    for name in ("numpy", "torch", "jax", "transformers"):
        if name in sys.modules:
            found.append(f"{name} {sys.modules[name].__version__}")
    return "framework: " + ", ".join(found)


def judged(provider, target, wanted, position):
    """The rows of one provider."""
    def broken(name, claim, verdict, error):
        row = row_of(provider, target, name, claim, position)
        row.update(verdict=verdict, reason=told(error))
        row.update({"severity": "wrong"} if verdict == "FAIL" else {"replay": ""})
        return row

    try:
        subject = Subject(provider, position)
        subject.fresh()
    except (KernelError, NotImplementedError) as error:
        yield broken("everything", "", "UNSUPPORTED", error)
        return
    except BaseException as error:
        yield broken("everything", "a rotary can be built of the config", "FAIL", error)
        return
    for name, (claim, law) in laws.items():
        if wanted and not any(fnmatch.fnmatchcase(name, w) for w in wanted):
            continue
        begun = time.perf_counter()
        try:
            found = law(subject)
        except Skipped as error:
            row = broken(name, claim, "UNSUPPORTED", error)
            row["reason"] = str(error)
        except BaseException as error:
            row = broken(name, claim, "FAIL", error)
        else:
            row = row_of(provider, target, name, claim, None if found.holds else found.position)
            row.update(margin=number(found.margin), bound=number(found.bound), executed=1,
                       compared=found.compared, compared_cases=1, pairing=subject.answer["pairing"])
            if found.holds:
                row["replay"] = ""
            else:
                row.update(verdict="FAIL", reason=found.reason, where=found.where,
                           cause=found.cause, severity=found.severity)
        row["seconds"] = time.perf_counter() - begun
        yield row


def number(value):
    return value if math.isfinite(value) else {math.inf: "inf"}.get(value, "nan")


def main(words):
    """words: TARGET GLOB (may be empty) POSITION (may be empty) PROPERTY..."""
    # A library may print; what this prints is the command's.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)

        def say(key, text=""):
            out.write(f"{key}\t{text}\n" if isinstance(text, str) else json.dumps(text) + "\n")
            out.flush()

        try:
            target, glob, position, *wanted = words
            before = state()
            module, library = load(target)
            named, found = chosen(module, glob)
            say("found", f"{library[0]} {library[2]}" if library else target)
            say("not_covered", getattr(module, "NOT_COVERED", ""))
            for name in named:
                say("kernel", name)
            if library and library[2] not in library[1]:
                say("note", f"this version was not tried; those were: {', '.join(library[1])}")
            if printed.seek(0, os.SEEK_END):
                printed.seek(0)
                first = printed.readline(200).decode("utf-8", "replace").strip()
                say("note", f"importing it prints {json.dumps(first)}")
            say("judging")
            for provider in found:
                for row in judged(provider, target, wanted, int(position) if position else None):
                    say("row", row)
                after = state()
                for what, value in before.items():
                    if after[what] != value:
                        say("note", f"{provider.name} changes {what}")
                before = after
            say("end")
        except Refused as error:
            say("error", str(error))
