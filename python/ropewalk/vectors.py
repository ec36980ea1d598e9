"""Questions that kernels are asked, as a file that other hardware answers: `ropewalk vectors`, and
`ropewalk verify answers.safetensors`."""

import hashlib
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np

from . import command, dump
from .channel import say_rows
from .decorator import _require

# transpose and composition ask about what a kernel has answered, which a file cannot. agreement has
# their cases: backward, and at any position.
PROPERTIES = "agreement", "norm", "relative_position", "position_sweep", "untouched_dims"
UNSEEN = "memory, history, threads, alignment, strides, device, and whether a call leaves anything behind"


def verify(model, environment, *words):
    """`ropewalk verify` of the kernel in questions.py, for the shape of a model, if one is given."""
    if "shape" in model:
        words += (f"--shape={model['shape']}",)
    with tempfile.TemporaryDirectory(prefix="ropewalk") as folder:
        if "config" in model:
            (Path(folder) / "config.json").write_text(model["config"], encoding="utf-8")
            words += "--config", f"{folder}/config.json"
        plugin = str(Path(__file__).parent / "questions.py")
        chosen = [word for name in PROPERTIES for word in ("--property", name)]
        return command.run("verify", "--no-cuda", "--jobs", "1", "--cases", "1", "--profile", "smoke", "--python",
                           sys.executable, "--plugin", plugin, *chosen, *words, env={**os.environ, **environment})


def room_for(model):
    """Questions of a model are larger (questions.py); a replay line needs the same word."""
    return {"ROPEWALK_MODEL": "1"} if "shape" in model or "config" in model else {}


def write(path, dtype="f32", pairing="half_split", config="", shape=""):
    """Asks everything once, and writes what was asked."""
    _require(path.endswith(".safetensors"), "questions are written as .safetensors")
    model = {"config": Path(config).read_text(encoding="utf-8")} if config else {}
    model.update({"shape": shape} if shape else {})
    with tempfile.TemporaryDirectory(prefix="ropewalk") as folder:
        told = {"ROPEWALK_QUESTIONS": folder, "ROPEWALK_PAIRING": pairing, **room_for(model)}
        done = verify(model, told, "--kernel", "question", f"--dtype={dtype}")
        _require(done.returncode == 0, f"no questions could be made: {(done.stderr or done.stdout)[-300:]}")
        tensors, asked = {}, []
        for number, file in enumerate(sorted(Path(folder).glob("*.npz"))):
            with np.load(file) as one:
                words = json.loads(str(one["asked"]))
                asked.append({**words, "key": file.stem})
                for name in one.files:
                    if name != "asked":
                        tensors[f"{number}.{name}"] = one[name]
    print_of = fingerprint(asked)
    if dtype == "bf16":
        tensors = {n: dump.Bits(a) if a.dtype == "u2" else a for n, a in tensors.items()}
    dump.write(path, tensors, {"questions": json.dumps(asked), "fingerprint": print_of, "dtype": dtype,
                               "pairing": pairing, **model})
    size = os.path.getsize(path) / 1e6
    return [f"{path}: {len(asked)} questions in {dtype}, {pairing}; {size:.1f} MB, fingerprint {print_of}",
            "for each N add N.q_out (N.k_out, ...), then: ropewalk verify FILE"]


def fingerprint(asked):
    return hashlib.sha256("".join(a["key"] for a in asked).encode()).hexdigest()[:12]


def judge(path):
    """Verdicts on a file of answers. Returns (rows, exit code)."""
    made = dump.read(path, raw=True)
    _require("questions" in made.metadata, "it holds no questions of `ropewalk vectors`")
    try:
        asked = json.loads(made.metadata["questions"])
    except (ValueError, RecursionError):
        asked = None
    good = isinstance(asked, list) and all(isinstance(a, dict) and isinstance(a.get("key"), str)
                                           and isinstance(a.get("tensors"), dict) for a in asked)
    _require(good, "its questions are no list of objects with key and tensors")
    lacks = [w for w in ("fingerprint", "pairing", "dtype") if w not in made.metadata]
    _require(not lacks, f"its metadata has no {', '.join(lacks)}")
    told = made.metadata["fingerprint"]
    _require(fingerprint(asked) == told, f"its questions are not those of fingerprint {told}")
    for number, words in enumerate(asked):
        for name in words["tensors"]:
            x, y = made.tensors.get(f"{number}.{name}"), made.tensors.get(f"{number}.{name}_out")
            _require(y is not None, f"question {number} has no {number}.{name}_out")
            _require(x is not None and (y.shape, y.dtype) == (x.shape, x.dtype),
                     f"{number}.{name}_out is {y.dtype} {list(y.shape)}, not as {number}.{name}")
    taken = {"ROPEWALK_ANSWERS": os.path.abspath(path), "ROPEWALK_PAIRING": made.metadata["pairing"],
             **room_for(made.metadata)}
    with tempfile.NamedTemporaryFile("r", prefix="ropewalk") as compared:
        done = verify(made.metadata, {**taken, "ROPEWALK_COMPARED": compared.name}, "--kernel", "answers",
                      f"--dtype={made.metadata['dtype']}")
        keys = {*compared.read().split()}
    unseen = [str(number) for number, words in enumerate(asked) if words["key"] not in keys]
    count = f"compared: {len(asked) - len(unseen)} of {len(asked)} questions"
    count += bool(unseen) * f"; not {', '.join(unseen[:20])}{', ...' * (len(unseen) > 20)}, as a property failed before"
    _require(done.returncode in (0, 1), (done.stderr or done.stdout).strip()[-300:])
    replay = " ".join(f"{key}={shlex.quote(word)}" for key, word in taken.items())
    text = done.stdout.replace("ropewalk replay", f"{replay} ropewalk replay")
    text = re.sub(r"(,| \() ?framework: [^)]*(\))", lambda m: m[2] if m[1] == "," else "", text)
    screen = [("printed", line) for line in text.splitlines()]
    return [*screen, count, f"not seen in such a file: {UNSEEN}"], done.returncode


def main(what, path, *words):
    """Rows for the command."""
    rows, code = judge(path) if what == "judge" else (write(path, *words), 0)
    say_rows(rows, code)
