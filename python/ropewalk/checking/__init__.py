"""Does a loaded model turn q and k as its config says? Each kind of module that holds angles is judged as
a provider is (angles.py, laws.py), and the layers that use it are counted."""

import inspect
import json
import os
import sys
import warnings
from pathlib import Path

import torch

from ..channel import say, say_rows, table, told
from ..decorator import KernelError, _require
from ..host import import_file
from ..providers import answer
from .find import sources
from .judging import WORDS, Checked, part_of

SIZES = "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"


class Report:
    """`rows`: a dictionary for each check of each kind of module. `ok`: something was judged, and no row
    fails."""

    def __init__(self, head, rows, notes, strict):
        self.head, self.rows, self.notes, self.strict = head, rows, notes, strict

    @property
    def ok(self):
        verdicts = [r["verdict"] for r in self.rows]
        return "ok" in verdicts and "FAIL" not in verdicts

    def raise_for_failures(self):
        """Raises AssertionError with all that was found."""
        if not self.ok:
            raise AssertionError(str(self))

    def __str__(self):
        head, rows, *notes = self.said()
        return "\n".join((head, *(f"{verdict:<10} {text}" for verdict, text in rows), *notes))

    def said(self):
        """The head; [(verdict, text)], failures first, each with rows of more; notes."""
        order = "FAIL", "edge", "precision", "contract", "not judged"
        rows = sorted((r for r in self.rows if r["verdict"] != "ok"),
                      key=lambda r: order.index(r["verdict"]))
        out, right = [], {}
        for r in rows:
            out.append((r["verdict"], f"{named(r)}: {r['text']}"))
            more = [r["cause"], r["where"] and f"at {r['where']}"] if r["verdict"] == "FAIL" else []
            if more and r["position"] is not None:
                more.append(f"matters from position {r['position']:,} on")
            out += [("", f"  {m}") for m in more if m]
        for r in self.rows:
            if r["verdict"] == "ok":
                right.setdefault(named(r), []).append(r["text"])
        out += [("ok", f"{name}: {'; '.join(texts)}") for name, texts in right.items()]
        wrong = sum(r["verdict"] == "FAIL" for r in self.rows)
        others = sum(r["verdict"] in order[1:3] for r in self.rows)
        end = f"{wrong} wrong" if wrong or right else "nothing was judged"
        end += f", {others} that strict counts" if others else ""
        return self.head, out, *self.notes, end


def named(row):
    layers = f"{row['layers']} layer{'s' * (row['layers'] != 1)}, " if row["layers"] else ""
    return layers + (row["module"] or "the model")


def check(model, config=None, *, pairing=None, strict=False):
    """See ropewalk.check."""
    _require(isinstance(model, torch.nn.Module), f"{type(model).__name__} is not a torch module")
    while inner := model._modules.get("_orig_mod", model._modules.get("module")):
        model = inner  # of torch.compile, and of parallel training
    config, whose = config_of(model, config)
    rule = answer(config, pairing=pairing)
    with torch.random.fork_rng(devices=[]), torch.no_grad(), torch.device("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Checked(model, config, rule, pairing, strict)
    library = type(model).__module__.split(".")[0]
    version = getattr(sys.modules.get(library), "__version__", "")
    devices = sorted({str(p.device).replace("meta", "without weights") for p in model.parameters()})
    head = (f"{rule['model_type'] or 'a model'} ({type(model).__name__}, {len(found.layers)} attention layers) against "
            f"{whose}; torch {torch.__version__}, {f'{library} {version}'.strip()}, {', '.join(devices)}")
    return Report(head, found.rows, found.notes, strict)


def config_of(model, config):
    """(the fields of a config, whose it is). Raises KernelError."""
    own, whose = getattr(model, "config", None), "its config"
    own = own.to_dict() if hasattr(own, "to_dict") else None
    if config is None:
        _require(own is not None, "the model has no config that can be read: give one (config=)")
        file = Path(str(getattr(model.config, "_name_or_path", "")), "config.json")
        config = str(file) if file.is_absolute() and file.is_file() else own
    if isinstance(config, (str, os.PathLike)):
        file = Path(config, "config.json") if os.path.isdir(config) else Path(config)
        whose = str(file)
        try:
            _require(file.is_file() and file.stat().st_size < 1 << 24, f"{file} is no file below 16 MiB")
            config = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise KernelError(f"{file} cannot be read: {error}") from None
    config = config.to_dict() if hasattr(config, "to_dict") else config
    _require(isinstance(config, dict), "config is neither fields, nor a file or a folder of them")
    for name in SIZES:
        one, other = (part_of(c or {}).get(name) for c in (config, own))
        _require(not one or not other or one == other, f"the config is of another model: {name} "
                 f"is {one}, and {other} of this one")
    types = [p.dtype for p in model.parameters() if p.dtype in WORDS]
    if types and not config.get("dtype") and not config.get("torch_dtype"):
        config = {**config, "dtype": str(types[0])}
    return config, whose


def main(target, config="", strict="", form="", pairing=""):
    """Rows for the command. TARGET is a folder with a config.json, or FILE.py::FUNCTION."""
    say("import")
    try:
        model = built(target)
    except Exception as error:
        raise KernelError(f"gives no model: {told(error)}") from None
    say("working")
    found = check(model, config or (target if os.path.isdir(target) else None), pairing=pairing or None,
                  strict=bool(strict))
    head, rows, *notes = found.said()
    say_rows([{"ok": found.ok, **vars(found)}] if form else [head, table(rows), *notes], not found.ok)


def built(target):
    """The model of a function, or of transformers for a config, without weights: only what holds angles is
    made for real."""
    file, _, name = target.partition("::")
    if name:
        module = import_file(file)
        _require(hasattr(module, name), f"no function is called {name}")
        return getattr(module, name)()
    from transformers import AutoConfig, AutoModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = AutoConfig.from_pretrained(target, local_files_only=True, trust_remote_code=False)
        with torch.device("meta"):
            model = AutoModel.from_config(config, trust_remote_code=False)
    for source in sources(model):
        place, _, name = source.path.rpartition(".")
        if "config" in inspect.signature(type(source.module)).parameters:
            own = getattr(source.module, "config", config.get_text_config())
            setattr(model.get_submodule(place), name, type(source.module)(own))
    return model
