"""The angles of a model's module, as a provider gives them (ropewalk.provider): a copy of it answers."""

import copy
from functools import cached_property

import torch

from ..angles import Skipped
from ..decorator import _require
from ..libraries import DTYPES
from .find import ROTARY, TOKENS, flat

POSITIONS = "position_ids", "positions", "input_pos"


class Rotary:
    """Called with positions [batch, tokens], or [axes, batch, tokens]. The module answers if it is called
    so, or else its tables."""

    def __init__(self, source, axes=None, calls=()):
        self.source, self.axes, self.form, module = source, axes, source.form, source.module
        self.calls = calls or next((c for c, _ in source.ways.values() if c), [])
        self.device = source.tensors()[0].device
        is_small = ROTARY.search(type(module).__name__) is not None
        self.module = copy.deepcopy(module) if is_small else module
        if is_small:
            self.module._forward_hooks.clear()
            self.module._forward_pre_hooks.clear()
            self.cast = lambda dtype: self.module.to(DTYPES[dtype])
        if self.calls and (self.calls[0].function or is_small):
            self.rotate = self.turn

    @property
    def inv_freq(self):
        """None: tables turn, however they came to be."""
        by_table = self.form == "seq_len" or (not self.form and self.source.tables)
        return None if by_table or not self.source.frequencies else getattr(
            self.module, self.source.frequencies)

    timescale = inv_freq

    def __call__(self, positions, dtype):
        out = self.native(torch.from_numpy(positions), dtype)
        if not isinstance(out, tuple):
            return out
        # Those of several axes, of which the attention takes what it needs, are equal here.
        cos, sin = (t[0] if self.axes and t.ndim == 4 else t for t in out[::-1 if self.sin_first else 1])
        return cos, sin

    def native(self, positions, dtype):
        """Two tensors, or a complex one, in the order of the module."""
        positions = positions.to(self.device)
        if self.axes and positions.ndim == 2:
            positions = positions.expand(self.axes, *positions.shape)
        if not self.form:
            return tuple(t[positions] for t in self.columns())
        x = torch.zeros(1, 1, dtype=DTYPES[dtype], device=self.device)
        if self.form == "seq_len":
            tables = self.module(x, seq_len=int(positions.max()) + 1)
            return tuple(t.reshape(-1, t.shape[-1])[positions] for t in tables)
        return self.module(x, positions, *([self.source.layer] if self.source.layer else []))

    def columns(self):
        """cos and sin [positions, n] of its tables."""
        tables = [getattr(self.module, n) for n in self.source.tables]
        if not tables:
            raise Skipped("it has no table, and is not called with position_ids")
        tables = [t.reshape(-1, *t.shape[-2:]) if t.shape[-1] == 2 else t.reshape(-1, t.shape[-1])
                  for t in tables]
        if len(tables) == 1 and tables[0].is_complex():
            tables = [tables[0].real, tables[0].imag]
        elif len(tables) == 1:
            tables = tables[0].unbind(-1) if tables[0].ndim == 3 else tables[0].chunk(2, -1)
        return tables[::-1] if self.source.tables == ("embed_positions",) else tables

    @cached_property
    def sin_first(self):
        """Whether the module gives sin before cos, as the function that takes them says, or position 0 of
        a copy, as a call may change the module."""
        if self.form != "position_ids":
            return False
        if names := [n for c in self.calls[:1] for n in c.words if n in ("cos", "sin")]:
            return names[0] == "sin"
        out = Rotary(self.source, self.axes).native(torch.zeros(1, 1, dtype=torch.long), "f32")
        return isinstance(out, tuple) and not out[0].any() and bool(out[1].all())

    def turn(self, q, k, positions, dtype):
        """q and k [tokens, heads, rotary_dim] as the attention turns them; positions [tokens] or [axes,
        tokens]."""
        call, at = self.calls[0], torch.from_numpy(positions)[..., None, :].to(self.device)
        names, words, out = call.rotated, dict(call.words), []
        _require(len(names) > 1 or len(self.calls) > 1, "the layer turns one tensor, not q and k")
        if {"cos", "sin", "freqs_cis"} & {*words}:
            by_row = words.get("position_ids") is not None and "cos" in words and words["cos"].ndim == 2
            tables = self.native(torch.arange(int(at.max()) + 1)[None] if by_row else at, dtype)
            if "freqs_cis" in words:
                tables = tables if torch.is_tensor(tables) else torch.complex(*tables)
                words["freqs_cis"] = fitted(tables, words["freqs_cis"])
            else:
                names_of = ("sin", "cos") if self.sin_first else ("cos", "sin")
                words.update({n: fitted(t, words[n]) for n, t in zip(names_of, tables)})
        words.update({n: at for n in POSITIONS if n in words})
        if other := [n for n, v in words.items() if torch.is_tensor(v) and v.is_meta and n not in names]:
            raise Skipped(f"what its parameter {other[0]} is is not known")
        by_head = call.words[names[0]].shape[1] != TOKENS
        q, k = (torch.from_numpy(a).to(self.device, DTYPES[dtype])[None] for a in (q, k))
        q, k = (a.transpose(1, 2) if by_head else a for a in (q, k))
        function = call.function or self.module.forward
        for part in ([(q, k)] if len(names) > 1 else [(q,), (k,)]):
            out += flat(function(**{**words, **dict(zip(names, part))}))[:len(part)]
        return [(a.transpose(1, 2) if by_head else a)[0] for a in out]


def fitted(table, like):
    """A table [1, tokens, n] with the axes of one that a function was given."""
    if table.ndim == 3 and like.ndim == 4:
        return table.unsqueeze(2 if like.shape[1] == TOKENS else 1)
    return table[0] if table.ndim == 3 and like.ndim == 2 else table
