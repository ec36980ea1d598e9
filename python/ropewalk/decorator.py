"""The decorator: what a function offers, checked before anything runs, and the problems that it takes."""

import inspect
import math
import re
import sys
from collections.abc import Callable
from types import UnionType
from typing import Literal, TypeVar, Union, get_args, get_origin

F = TypeVar("F", bound=Callable)
Dtype = Literal["f64", "f32", "f16", "bf16"]  # by their numbers in rope_kernel.h, as are the next three
Angles = Literal["table", "exact", "f32"]
DTYPES, ANGLES, PAIRINGS = get_args(Dtype), get_args(Angles), ("interleaved", "half_split")
FLAGS = """in_place out_of_place thread_safe bitwise_invariant mixes_pairs flushes_subnormals - -
interpreted own_threads rounds_norm rounds_weighted""".split()
KINDS = {bool: "True or False", int: "a size", float: "a number from 0 on", str: "a text", dict: "a dictionary",
         tuple: "a tuple of such", Callable: "a function"}

offered = []  # every kernel of this process, in order


class KernelError(Exception):
    """A kernel breaks a rule of this package. The text says which one."""


def kernel(*, pairing: Literal["interleaved", "half_split", "both"] | None = None, name: str | None = None,
           arrays: Literal["numpy", "torch", "jax", "cupy", "raw"] = "numpy", device: Literal["cuda"] | None = None,
           dtypes: Dtype | tuple[Dtype, ...] = ("f32",),
           layout: Literal["BTHD", "BHTD", "TBHD", "1THD", "THD", "TD", "BT3HD"] = "BTHD",
           tables: Literal["half", "full", "twice", "packed", "complex", "cache"] = "half",
           tables_dtype: Literal["data"] | None = None, angles: Angles = "table",
           inverse: Literal["argument", "autograd", "none"] | None = None,
           returns: Literal["new", "out", "in_place"] | None = None, in_place: bool | None = None,
           names: dict[str, str] | None = None, whole: bool = False, heads_axis: bool = True,
           head_dims: int | tuple[int, ...] | None = None, rotary_dim: int | Literal["head_dim"] | None = None,
           rotary_offset: int | tuple[int, ...] | None = None, max_position: int | None = None,
           theta: float | None = None, raw: bool = False, compiles: bool = False, interpreter: bool = False,
           own_threads: bool = False, thread_safe: bool = True, bitwise_invariant: bool = False,
           mixes_pairs: bool = False, flushes_subnormals: bool = False, error_bound: float = 0.0,
           supports: Callable | None = None, prepare: Callable | None = None, summary: str | None = None,
           source: str | None = None, axes: int | tuple[int, ...] | None = None,
           axis_of_pair: tuple[int, ...] | None = None, weight_plus_one: bool = False,
           rounds_norm: bool = False, rounds_weighted: bool = False) -> Callable[[F], F]:
    """Offers a function as a kernel and returns it unchanged. docs/python-kernels.md says what each word
    means, and what the function is given by the names of its parameters. `supports` is called with the problem
    (contract.py), and returns None or why it is refused; `prepare` with the state (calls.py)."""
    return offering(Kernel, offered, dict(locals()))


def offering(kind, kept, words):
    frame = sys._getframe(2)
    module, line = frame.f_globals.get("__name__"), frame.f_lineno

    def offer(function):
        kept.append(kind(function, words, module, line))
        return function

    return offer


class Offer:
    """A function, and the words of its decorator, held to the types that the decorator's signature has."""

    def __init__(self, function, words, module=None, line=0):
        self.function, self.words, self.module, self.line = function, words, module, line
        self.__dict__.update(words)
        self.name = self.name or getattr(function, "__name__", "")
        self.dtypes = (self.dtypes,) if isinstance(self.dtypes, str) else tuple(self.dtypes)
        _require(callable(function), f"{function!r} is not a function")
        for word, kind in self.decorator.__annotations__.items():
            value = getattr(self, word, None)
            _require(word == "return" or _fits(value, kind), f"{word}={value!r} is not {_described(kind)}")


class Kernel(Offer):
    """`parameters` are the names that the function is given."""

    decorator = staticmethod(kernel)

    def __init__(self, *given):
        super().__init__(*given)
        self.own_angles = self.angles != "table"
        self.names = {} if self.names is None else self.names
        self.pairings = PAIRINGS if self.pairing == "both" else (self.pairing,)
        self._check_words()
        # `keywords` are the parameters that must be given by keyword.
        self.parameters, self.keywords = ((), ()) if self.raw else self._read_parameters()
        told = self.raw or self.pairing != "both" or {"pairing", "half_split"} & {*self.parameters}
        _require(told, 'pairing="both" needs a parameter pairing')
        self.takes = ("q", "k") if "q" in self.parameters else ("x",)
        self.is_flat = self.layout == "TD" or "qkv" in self.parameters
        if "qkv" in self.parameters:
            self.takes, self.returns = ("qkv",), self.returns or "in_place"
        _require(self.layout != "BT3HD" or self.takes == ("qkv",), 'layout="BT3HD" needs qkv')
        self._choose_norm_and_append()
        self.is_fused = bool(self.normalizes or self.appends)
        self.whole = self.whole or self.is_flat or self.is_fused
        if self.whole and self.rotary_offset is None:
            self.rotary_offset = 0
        self._choose_returns()
        self.interpreted, self.out_of_place = True, self.returns != "in_place" or self.is_flat
        odd = self.appends or self.is_flat or (self.whole and isinstance(self.rotary_offset, tuple))
        _require(not (self.own_angles and self.axis_of_pair) or (self.returns == "new" and not odd),
                 'axis_of_pair with own angles needs returns="new", and neither slots nor a flat layout')
        self._choose_inverse()

    def _check_words(self):
        _require(self.pairing is not None,
                 "pairing= is missing: rotate_half is half_split; x[..., ::2] is interleaved")
        arrays, there = self.arrays, self.device is not None
        # Triton's interpreter replaces functions of triton.language while a kernel runs.
        for holds, text in (
            (not (self.interpreter and self.thread_safe),
             "interpreter=True needs thread_safe=False: Triton's interpreter is not"),
            (re.fullmatch("[a-z0-9_]{1,63}", self.name),
             f"name={self.name!r} needs 1 to 63 of a-z, 0-9 and _"),
            (self.error_bound <= 16, f"error_bound={self.error_bound!r} must lie between 0 and 16"),
            (self.theta != 0, "theta=0 is not a positive number"),
            (self.raw or not self.prepare, "prepare needs raw=True, which gets call.state.user"),
            (there or arrays not in ("cupy", "raw"), f'arrays="{arrays}" needs device="cuda"'),
            (not there or arrays != "numpy", 'device="cuda" needs arrays="torch", "cupy" or "raw"'),
            (not there or arrays != "jax", 'arrays="jax" cannot have device="cuda": it takes no '
             "stream and writes nothing in place"),
            (self.raw or arrays != "raw", 'arrays="raw" needs raw=True'),
            (not there or not self.interpreter, "interpreter=True runs on the host, not on a device"),
        ):
            _require(holds, text)
        self._check_axes()

    def _check_axes(self):
        """Makes `axes` a tuple, which is empty without the word."""
        given, fixed = self.axes, self.axis_of_pair
        self.axes = () if given is None else given if isinstance(given, tuple) else (given,)
        _require(given != () and {*self.axes} <= {2, 3, 4}, f"axes={given!r} is not 2, 3 or 4, nor a tuple of these")
        _require(not self.axes or self.tables != "cache", 'axes: tables="cache" has none')
        if fixed is None:
            return
        _require(len(self.axes) == 1 and fixed and max(fixed) < self.axes[0],
                 "axis_of_pair needs one number of axes, and a tuple with one of these for each pair")
        _require(not self.raw, "axis_of_pair is not for raw=True, which reads it from the problem")
        size, self.rotary_dim = self.rotary_dim, 2 * len(fixed)
        _require(size in (None, self.rotary_dim), f"axis_of_pair: rotary_dim={size!r} is another")

    def _read_parameters(self):
        known = """x q k qkv out q_out k_out positions position_ids pairing half_split inverse scale head_dim
        rotary_dim q_heads k_heads q_weight k_weight eps slots k_cache v v_cache""".split()
        rows = ["cos", "sin"] if self.tables in ("half", "full", "twice") else ["table"]
        known += ["inv_freq"] if self.own_angles else rows
        known += ["axis_of_pair"] if self.axes else []
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # some functions of C have none
            return ("x", "cos", "sin"), ()
        for own, name in self.names.items():
            _require(own in signature.parameters, f"names: the function has no parameter {own}")
            _require(name in known, f"names: {name} is not one of {', '.join(known)}")
        given, keywords, skipped = [], [], False
        for p in signature.parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            name = self.names.get(p.name, p.name)
            if name in known:
                given.append(name)
                if skipped or p.kind == p.KEYWORD_ONLY:
                    keywords.append((name, p.name))
                continue
            _require(p.default is not p.empty,
                     f"unknown parameter {p.name}; known here: {', '.join(known)}")
            skipped = True
        inputs = {"x", "q", "k", "qkv"} & set(given)
        _require(inputs in ({"x"}, {"q", "k"}, {"qkv"}),
                 "the function must name either x, or q and k, or qkv")
        _require(not self.axes or self.axis_of_pair or "axis_of_pair" in given,
                 "axes needs axis_of_pair: a parameter, or the word with the function's own map")
        return tuple(given), tuple(keywords)

    def _choose_norm_and_append(self):
        """The tensors that each marks, by number; `gives` has those that the function returns."""
        names, keys = {*self.parameters}, {"slots", "k_cache"}
        self.normalizes = [i for i, n in enumerate("qk") if f"{n}_weight" in names]
        self.appends = [i for i, n in enumerate("qkv") if f"{n}_cache" in names]
        norm = self.weight_plus_one or self.rounds_norm or self.rounds_weighted
        norm = norm or names & {"eps", "q_weight", "k_weight"}
        _require(not norm or (self.normalizes and self.takes != ("x",)),
                 "a norm needs q and k, or qkv, and q_weight, k_weight or both")
        cached = names & (keys | {"v", "v_cache"})
        fits = self.takes == ("q", "k") and cached in (keys, keys | {"v", "v_cache"})
        _require(not cached or (fits and self.arrays != "jax"),
                 'an append needs q, k, slots and k_cache, and v with v_cache; not arrays="jax"')
        self.gives = ("q",) if cached else self.takes
        self.takes += ("v",) if "v" in cached else ()

    def _choose_returns(self):
        _require(not (self.raw and self.returns), "returns is not for raw=True, which writes into the tensors")
        if not self.raw:
            named = {"out", "q_out", "k_out"} & set(self.parameters)
            self.returns = self.returns or ("out" if named else "new")
            outs = {f"{n}_out" for n in self.gives} if self.takes[0] == "q" else {"out"}
            needed = outs if self.returns == "out" else set()
            _require(named == needed,
                     f'returns="{self.returns}" needs {" and ".join(sorted(needed)) or "no out"}')
            _require(self.returns == "new" or self.arrays != "jax",
                     'arrays="jax" needs returns="new": its arrays never change')
        self.in_place = self.returns != "out" if self.in_place is None else self.in_place

    def _choose_inverse(self):
        askable = self.raw or not self.own_angles or "inverse" in self.parameters
        self.inverse = self.inverse or ("argument" if askable and not self.is_fused else "none")
        _require(self.inverse != "argument" or askable,
                 'inverse="argument" with own angles needs a parameter inverse')
        _require(self.inverse != "autograd" or (self.arrays, self.returns) == ("torch", "new"),
                 'inverse="autograd" needs arrays="torch" and a returned result')

    def arguments(self, values):
        """What the function is called with, out of values by name."""
        keywords = dict(self.keywords)
        positional = [values[n] for n in self.parameters if n not in keywords]
        return positional, {own: values[n] for n, own in keywords.items()}

    def described(self):
        """The summary. A returned array costs a copy, and the summary says so."""
        doc = self.function.__doc__
        inherited = type(self.function).__doc__  # such as that of functools.partial
        text = self.summary or (doc.strip().split("\n")[0] if doc and doc != inherited else "")
        copied = "returns a new array, which is copied" if self.returns == "new" else ""
        flat = "through contiguous copies, unless they are contiguous" if self.is_flat else ""
        gathered = self.device and not (self.raw or self.own_angles)
        rows = "rows of its table are gathered before the timed calls" if gathered else ""
        return "; ".join(t for t in (text, copied, flat, rows) if t)

    flags = property(lambda self: sum(1 << bit for bit, word in enumerate(FLAGS) if getattr(self, word, False)))

    def refusal(self, p):
        """Why it does not take a problem, or None."""
        return next((text for refused, text in self._refusals(p) if refused), None)

    def _refusals(self, p):
        own, dtype, axes = self.own_angles, p.dtype, " or ".join(map(str, self.axes))
        yield p.has_table and own, "makes its own angles and takes no table"
        yield not (p.has_table or own), "needs a table of cos and sin"
        yield p.axes and p.axes.axes not in self.axes, f"takes {axes} axes of positions alone"
        yield PAIRINGS[p.pairing] not in self.pairings, "takes the other pairing"
        yield p.operation and self.inverse == "none", "forward only"
        yield dtype not in self.dtypes, "takes another data type"
        yield len({d for t in p.tensors for d in (t.in_dtype, t.out_dtype)}) > 1, "all tensors must have one data type"
        wanted = dtype if dtype == "f64" or self.tables_dtype else "f32"
        yield not own and p.table_type != wanted, f"the table must be {wanted}"
        yield from self._sizes_refused(p, p.rotated)
        scales = self.raw or not own or "scale" in self.parameters
        yield not scales and p.attention_scale not in (0, 1), "names no parameter scale, so attention_scale must be 1"
        reads = {"positions", "position_ids"} & {*self.parameters} or self.tables == "cache"
        yield reads and p.table_rows_by and not own, "needs positions, which a table by token may lack"
        lacks = self.library.refusal(dtype)
        yield lacks, lacks
        for does, asked in (("normalizes", p.norm), ("appends", p.append)):
            tensors = getattr(self, does)
            yield ((asked.tensors if asked else 0) != sum(1 << i for i in tensors),
                   f"{does} {' and '.join('qkv'[i] for i in tensors)} in every call, and nothing else")
        if p.norm:
            adds = "1" if self.weight_plus_one else "nothing"
            yield bool(p.norm.weight_plus_one) != self.weight_plus_one, f"adds {adds} to the weights in every call"
            lacks = self.library.refusal(p.weight_type)
            yield lacks, lacks
        lacks = self.supports(p) if self.supports else None
        yield lacks is not None, lacks

    def _sizes_refused(self, p, rotated):
        q, k, v = p.tensor[:3]
        yield self.takes[0] == "q" and len(rotated) != 2, "takes q and k: two rotated tensors"
        yield self.is_fused and not (q.rotate and k.rotate), "takes q and k as the first two tensors"
        if self.takes == ("qkv",):
            yield (p.tensor_count != 3 or len(rotated) != 2 or v.rotate or v.heads != k.heads,
                   "takes q and k, which are rotated, and a v with the heads of k")
            yield self.layout == "BT3HD" and q.heads != v.heads, "takes as many heads of k as of q"
            yield (len({t.head_dim for t in p.tensors}) != 1 or q.rotary_offset != k.rotary_offset,
                   "q, k and v must have heads of one size, and one window")
        sizes = [t.head_dim for t in rotated]
        yield "head_dim" in self.parameters and len({*sizes}) > 1, "takes one head_dim for all tensors"
        for word, given in (("head_dims", sizes), ("rotary_offset", [t.rotary_offset for t in rotated])):
            only = getattr(self, word)
            wanted = only if isinstance(only, tuple) else (only,) * len(given)
            yield only is not None and tuple(given) != wanted, f"takes {word}={only} alone"
        whole = self.rotary_dim == "head_dim"
        yield whole and {*sizes} - {p.rotary_dim}, "rotates whole heads alone"
        yield not whole and self.rotary_dim not in (None, p.rotary_dim), f"takes rotary_dim={self.rotary_dim} alone"
        yield (self.max_position is not None and p.max_position > self.max_position,
               f"takes positions up to {self.max_position}")
        if self.theta:
            near = 1e-6 if self.angles == "f32" else 1e-12  # f32 frequencies are given as f32
            powers = (self.theta ** (-2.0 * i / p.rotary_dim) for i in range(p.rotary_dim // 2))
            yield (not all(math.isclose(a, b, rel_tol=near) for a, b in zip(p.inv_freq, powers)),
                   f"takes the frequencies of theta={self.theta:g} alone")


def _fits(value, kind):
    if (origin := get_origin(kind)) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if origin is Literal:
        return value in get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and value and all(_fits(one, get_args(kind)[0]) for one in value)
    if kind in (int, float):
        return isinstance(value, (int, kind)) and value >= 0
    return isinstance(value, origin or kind)


def _described(kind):
    if (origin := get_origin(kind)) in (Union, UnionType):
        return " or ".join(_described(one) for one in get_args(kind) if one is not type(None))
    return f"one of {', '.join(get_args(kind))}" if origin is Literal else KINDS[origin or kind]


def _require(holds, text):
    if not holds:
        raise KernelError(text)
