"""What of a torch module holds the angles of rotary embeddings, its attention layers, and which of these
uses what: seen in a run of a copy without weights, by hooks and by the functions that it calls."""

import copy
import gc
import inspect
import os
import re
import sys
import traceback
import types
from dataclasses import dataclass, field
from functools import partial

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

FREQUENCIES = re.compile(r"(?:(\w+?)_)?(?:inv_freqs?|timescale)$")
TABLES = (("cos_cached", "sin_cached"), ("cos_cache", "sin_cache"), ("cos", "sin"), ("cos_sin_cache",),
          ("freqs_cis",), ("rope_cache",), ("cache",), ("embed_positions",))
ROTARY = re.compile("rotary|rope|rotation", re.I)
ATTENTION = re.compile("attention|attn", re.I)
OTHER = re.compile("vision|visual|audio|image|speech|cross|encoder_attn", re.I)  # no text, or no rotation
BATCH, TOKENS = 2, 11  # of the run without weights; few models have 11 heads


@dataclass
class Source:
    """A module that holds angles, those of one kind of layers if it has several."""
    path: str
    module: torch.nn.Module
    layer: str = None          # full_attention of full_attention_inv_freq
    frequencies: str = None    # the names of its tensors
    tables: tuple = ()
    users: list = field(default_factory=list)  # paths of attention layers
    ways: dict = field(default_factory=dict)   # what rotates there -> (calls of one layer, paths of all)

    def tensors(self):
        return [getattr(self.module, n) for n in (self.frequencies, *self.tables) if n]

    @property
    def form(self):
        """What it is called with beside a tensor, "position_ids" or "seq_len"; "": not so."""
        takes = [p for p in inspect.signature(self.module.forward).parameters.values()
                 if not p.kind.name.startswith("VAR")]
        names, needed = [p.name for p in takes], sum(p.default is p.empty for p in takes)
        second = names[1] if len(names) > 1 and ROTARY.search(type(self.module).__name__) else ""
        fits = {"position_ids": 2 + bool(self.layer), "seq_len": 2}.get(second, 0)
        return second if needed <= fits <= len(names) else ""


@dataclass
class Call:
    """A call of a function that rotates: its parameters by name, tensors on meta."""
    function: object  # None: the forward of the module that holds the angles
    words: dict

    @property
    def rotated(self):
        """The names of what it rotates: [batch, tokens, heads, dim], or heads before tokens."""
        return [n for n, v in self.words.items() if torch.is_tensor(v) and v.ndim == 4
                and TOKENS in v.shape[1:3] and v.is_floating_point() and n not in ("cos", "sin")]


def members(module):
    own = {n: v for n, v in vars(module).items() if torch.is_tensor(v)}
    return {n: v for n, v in {**own, **module._parameters, **module._buffers}.items() if v is not None}


def sources(model):
    out = []
    for path, module in model.named_modules(remove_duplicate=False):
        has, is_rotary = members(module), ROTARY.search(type(module).__name__)
        by_table = is_rotary or hasattr(module, "rotary_dim")
        rest = {m[1]: n for n in has if (m := FREQUENCIES.match(n)) and has[n].ndim <= 1
                and not re.search("original|long|short", n)}
        if is_rotary and "theta" in has and has["theta"].ndim == 1:
            rest[None] = "theta"
        found = [t for t in TABLES if all(n in has for n in t) and has[t[0]].ndim > 1
                 and (by_table or t[0] not in ("cache", "embed_positions"))]
        for layer, name in rest.items() or ([(None, None)] if found else []):
            out.append(Source(path, module, layer, name, found[0] if found else ()))
    return out


def attentions(model):
    """{path: module}: the innermost modules that are called attention and have parts."""
    named = {p: m for p, m in model.named_modules() if ATTENTION.search(type(m).__name__) and m._modules}
    return {p: m for p, m in named.items() if not any(q != p and q.startswith(p + ".") for q in named)}


def without_weights(model):
    """A copy whose tensors are on meta."""
    memo = {}
    for tensor in (t for module in model.modules() for t in members(module).values()):
        ghost = torch.empty_like(tensor, device="meta")
        memo[id(tensor)] = torch.nn.Parameter(ghost, False) if isinstance(
            tensor, torch.nn.Parameter) else ghost
    return copy.deepcopy(model, memo)


def flat(value):
    return [v for v in tree_leaves(value) if torch.is_tensor(v)]


class Trace:
    """`uses`: {attention: {(id of a source's module, layer)}}; `calls`: {attention: [Call]}; `others`:
    attentions that turn by what no source made."""

    def __init__(self, model, found, layers):
        self.uses, self.calls = {p: set() for p in layers}, {p: [] for p in layers}
        self.made, self.kept, self.stack = {}, [], []
        ghost = without_weights(model).eval()
        named = dict(ghost.named_modules(remove_duplicate=False))
        self.makes = any(s.form for s in found)
        self.ghosts = {id(named[s.path]) for s in found}
        for source in found:
            if source.form and not any(t.is_meta or not t.numel() for t in source.tensors()):
                named[source.path].forward = for_real(source)
        for module, source in {named[s.path]: s for s in found}.items():
            module.register_forward_hook(partial(self.after_source, id(source.module)), with_kwargs=True)
        for path in layers:
            named[path].register_forward_pre_hook(partial(self.before_layer, path), with_kwargs=True)
            named[path].register_forward_hook(lambda *_: self.stack.pop() and None)
        self.functions, self.entered, self.others, before = {}, set(), [], sys.getprofile()
        with torch.no_grad(), torch.device("meta"):
            sys.setprofile(self.called)
            try:
                run(ghost)
            except Exception:
                if not layers or self.entered != {*layers}:  # what comes behind them does not matter
                    raise
            finally:
                sys.setprofile(before)

    def after_source(self, which, _, args, words, out):
        layer = next((a for a in (*args, *words.values()) if isinstance(a, str)), None)
        for tensor in flat(out):
            self.made[id(tensor)] = which, layer
            self.kept.append(tensor)
        if self.stack:
            self.uses[self.stack[-1]].add((which, layer))

    def before_layer(self, path, _, args, words):
        self.stack.append(path)
        self.entered.add(path)
        self.uses[path] |= {self.made[id(t)] for t in flat((args, words)) if id(t) in self.made}

    def called(self, frame, event, _):
        code = frame.f_code
        if event != "call" or not self.stack or not code.co_argcount:
            return
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        function = None
        if names[0] != "self" and ({"cos", "sin"} <= {*names} or "freqs_cis" in names):
            if code not in self.functions:
                self.functions[code] = next((f for f in gc.get_referrers(code)
                                             if isinstance(f, types.FunctionType)), None)
            function = self.functions[code]
            if function is None:
                return
        elif code.co_name != "forward" or "input_pos" not in names or id(
                frame.f_locals["self"]) not in self.ghosts:
            return
        call = Call(function, {n: frame.f_locals[n] for n in names if n != "self"})
        if call.rotated and not any(
                f.f_code in self.functions for f, _ in traceback.walk_stack(frame.f_back)):
            self.calls[self.stack[-1]].append(call)
            if self.makes and function and not any(id(v) in self.made for v in call.words.values()):
                self.others.append(self.stack[-1])


def for_real(source):
    """A forward that runs on a copy with values, on zeros: it may look at positions."""
    module, device = copy.deepcopy(source.module), source.tensors()[0].device

    def forward(*args, **words):
        zeros = partial(torch.zeros_like, device=device)
        args, words = tree_map_only(torch.Tensor, zeros, (args, words))
        with torch.device(device):
            return tree_map_only(torch.Tensor, lambda t: t.to("meta"), module(*args, **words))

    return forward


def run(ghost):
    """A few tokens through a model of any library that takes token ids."""
    ids = torch.zeros(BATCH, TOKENS, dtype=torch.long)
    mask = torch.ones(BATCH, 1, TOKENS, TOKENS, dtype=torch.bool)  # of four axes: nobody looks into it
    if not hasattr(ghost, "config") or not hasattr(ghost.config, "to_dict"):
        return ghost(ids)
    words = {"use_cache": False} if getattr(ghost.config, "use_cache", None) else {}
    try:
        return ghost(input_ids=ids, attention_mask=mask, **words)
    except RuntimeError:  # in older releases it has two
        return ghost(input_ids=ids, **words)


def alike(one, other):
    """Whether two sources are equal: their tensors, their numbers, and what they call."""
    def words(source):
        numbers = {n: v for n, v in vars(source.module).items() if isinstance(v, (int, float, str))}
        return (type(source.module), getattr(source.module.forward, "__func__", None), [*source.ways],
                source.layer, source.frequencies, source.tables, {**numbers, "layer_idx": None})

    return words(one) == words(other) and all(
        a is b or (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device) and (
            a.is_meta or torch.equal(a, b)) for a, b in zip(one.tensors(), other.tensors()))


def who_uses_what(model, found, layers):
    """Fills in users and calls. Returns why that was not seen but taken from names, or "", the layers that
    rotate as far as that was seen, and those that do so by what no source made."""
    try:
        trace, why = Trace(model, found, layers), ""
    except Exception as error:
        trace, why = None, f"{type(error).__name__}: {str(error).splitlines()[0][:90] if str(error) else ''}"
    rotating = {p for p in layers if trace and trace.calls[p]}
    for path, module in layers.items():
        used = trace.uses[path] if trace else set()
        mine = [s for s in found if (id(s.module), s.layer) in used] or [
            s for s in found if (id(s.module), None) in used]
        if not mine and (why or path in rotating):
            kind = getattr(module, "layer_type", getattr(module, "attention_type", None))
            near = [s for s in found if s.layer in (None, kind)]
            shared = [len(os.path.commonprefix([path.split("."), s.path.split(".")])) for s in near]
            mine = [s for s, n in zip(near, shared) if n == max(shared)]
        for source in mine:
            if why or path in rotating or not rotating:
                source.users.append(path)
                calls = trace.calls[path] if trace else []
                source.ways.setdefault(tuple(c.function for c in calls), (calls, []))[1].append(path)
    return why, rotating, trace.others if trace else []
