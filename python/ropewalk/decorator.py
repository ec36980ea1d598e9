"""The decorator: what a function offers, checked before anything runs."""

import inspect
import re
import sys

PAIRINGS = ("interleaved", "half_split")
DTYPES = ("f64", "f32", "f16", "bf16")
CHOICES = {
    "pairing": (*PAIRINGS, "both"),
    "arrays": ("numpy", "torch", "jax", "cupy", "raw"),
    "device": (None, "cuda"),
    "layout": ("BTHD", "BHTD", "TBHD", "1THD", "THD", "TD", "BT3HD"),
    "tables": ("half", "full", "twice", "packed", "complex", "cache"),
    "tables_dtype": (None, "data"),
    "angles": ("table", "exact", "f32"),
    "inverse": (None, "argument", "autograd", "none"),
    "returns": (None, "new", "out", "in_place"),
}
SWITCHES = ("raw whole heads_axis compiles interpreter own_threads thread_safe bitwise_invariant "
            "mixes_pairs flushes_subnormals weight_plus_one rounds_norm rounds_weighted").split()

offered = []  # every kernel of this process, in order


class KernelError(Exception):
    """A kernel breaks a rule of this package. The text says which one."""


# fmt: off
def kernel(*, pairing=None, name=None, arrays="numpy", device=None, dtypes=("f32",), layout="BTHD",
           tables="half", tables_dtype=None, angles="table", inverse=None, returns=None, in_place=None, names=None,
           whole=False, heads_axis=True, head_dims=None, rotary_dim=None, rotary_offset=None, max_position=None,
           theta=None, raw=False, compiles=False, interpreter=False, own_threads=False,
           thread_safe=True, bitwise_invariant=False, mixes_pairs=False, flushes_subnormals=False,
           error_bound=0.0, supports=None, prepare=None, summary=None, source=None, axes=None,
           axis_of_pair=None, weight_plus_one=False, rounds_norm=False, rounds_weighted=False):
    # fmt: on
    """Offers a function as a kernel and returns it unchanged.

    The arguments of the function are bound by their names:
    x                     the rotated window of one tensor; the function runs once a tensor
    q, k                  those of two tensors, in one call; the function returns two arrays
    qkv                   [tokens, (q_heads + 2 k_heads) * head_dim], rotated where it lies
    cos, sin              the rows of the tokens: [.., rotary_dim / 2], or rotary_dim if "full" (both
                          elements of a pair have its value) or "twice" (the half row, and again)
    table                 the same as one array, "packed" (cos, then sin) or "complex";
                          "cache": all rows, [max_position, rotary_dim], to be read by position
    positions, inv_freq   [batch, tokens]; [rotary_dim / 2] for angles="exact" or "f32"
    position_ids          the positions as int64
    axis_of_pair          with axes: the axis that each pair turns by, int64 [rotary_dim / 2]
    out, q_out, k_out     where the result goes
    q_weight, k_weight, eps   of the RMS norm of whole heads of q, or k, before the rotation;
                          [head_dim], and ones where a case has no weight
    slots, k_cache, v, v_cache   k and v go to the slots [batch, tokens] (-1: none) of caches
                          [pages, page_size, heads, head_dim], and q alone is returned
    pairing, inverse, scale   "half_split" or "interleaved"; whether to turn back; the factor
    half_split, head_dim, rotary_dim, q_heads, k_heads   a bool, and sizes

    device      "cuda": the arrays lie on the device and are of "torch" or "cupy"; those of "raw" have
                DLPack and __cuda_array_interface__, for raw=True. Work goes to the library's current
                stream, or for "raw" to the one at call.stream
    layout      x is [batch, tokens, heads, rotary_dim] for BTHD; TBHD: Megatron's SBHD; 1THD, THD
                and TD, [tokens, heads * head_dim] and contiguous: one call a batch row. Of qkv BT3HD,
                [1, tokens, 3, heads, head_dim], in one call a batch row, with as many heads of k as of q
    names       parameters of other names: names={"xq": "q", "freqs_cis": "table"}
    whole       x is whole heads, of which the function rotates the window; so for TD, qkv, q_weight, slots
    tables_dtype   "data": tables have the type of the data, and are judged as such
    heads_axis  False: cos and sin are [batch, tokens, n], as in transformers; for 1THD [tokens, n]
    head_dims, rotary_dim, rotary_offset   the only sizes that the function takes, or a tuple with one
                for each tensor; rotary_dim="head_dim": it rotates whole heads
    max_position, theta   the largest position, and the only base of inv_freq, that it takes
    axes        3, or (2, 3): how many axes of positions it takes. positions, cos and sin begin with
                them, [axes, batch, tokens, ..]. A case without axes gives it the fewest, all alike
    axis_of_pair   the one map that the function knows: (0,) * 16 + (1,) * 24 + (2,) * 24. Where a case
                has another, the rows of each pair are dealt to the planes so that this map finds them;
                with own angles the function runs once for each way to deal the positions' planes
    inverse     how the backward pass is asked: "argument" by a negated sin (or by inverse=True, if
                the function names it), "autograd" by the gradient, "none": forward only
    returns     "new": an array, which is copied into place; "out": writes there; "in_place"
    in_place    whether x and out may be one memory; by default unless returns="out"
    weight_plus_one   heads are multiplied by 1 + weight. rounds_norm, rounds_weighted: x / rms(x),
                or what is weighted, is rounded to the type of the data
    raw         the function gets one argument, the call as it lies in memory (calls.py)
    compiles    prepare runs the function once for each shape
    supports    called with the problem (contract.py); returns None or why it is refused
    prepare     called with the state; the result is call.state.user of a raw function
    """
    words = dict(locals())
    frame = sys._getframe(1)
    module, line = frame.f_globals.get("__name__"), frame.f_lineno

    def offer(function):
        offered.append(Kernel(function, words, module, line))
        return function

    return offer


class Kernel:
    """A function and the words of its decorator. `parameters` are the names that it is given."""

    def __init__(self, function, words, module=None, line=0):
        self.function, self.words, self.module, self.line = function, words, module, line
        self.__dict__.update(words)
        self.name = self.name or getattr(function, "__name__", "")
        self.dtypes = (self.dtypes,) if isinstance(self.dtypes, str) else tuple(self.dtypes)
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
        self._choose_returns()
        odd = self.appends or self.is_flat or (self.whole and isinstance(self.rotary_offset, tuple))
        _require(not (self.own_angles and self.axis_of_pair) or (self.returns == "new" and not odd),
                 'axis_of_pair with own angles needs returns="new", and neither slots nor a flat layout')
        self._choose_inverse()

    def _check_words(self):
        _require(callable(self.function), f"{self.function!r} is not a function")
        _require(self.pairing is not None,
                 "pairing= is missing: rotate_half is half_split; x[..., ::2] is interleaved")
        for word, known in CHOICES.items():
            names = ", ".join(k for k in known if k)
            value = getattr(self, word)
            _require(value in known, f"{word}={value!r} is not one of {names}")
        for word in SWITCHES:
            value = getattr(self, word)
            _require(isinstance(value, bool), f"{word} must be True or False, not {value!r}")
        for word in ("name", "summary", "source"):
            value = getattr(self, word)
            _require(value is None or isinstance(value, str), f"{word}={value!r} is not a text")
        self._check_device()
        name, bound, dtypes, theta = self.name, self.error_bound, self.dtypes, self.theta
        is_number = isinstance(theta, (int, float)) and theta > 0
        # Triton's interpreter replaces functions of triton.language while a kernel runs.
        for holds, text in (
            (not (self.interpreter and self.thread_safe),
             "interpreter=True needs thread_safe=False: Triton's interpreter is not"),
            (re.fullmatch("[a-z0-9_]{1,63}", name),
             f"name={name!r} needs 1 to 63 of a-z, 0-9 and _"),
            (dtypes and set(dtypes) <= set(DTYPES), f"dtypes={dtypes!r}: known are {DTYPES!r}"),
            (isinstance(bound, (int, float)) and 0 <= bound <= 16,
             f"error_bound={bound!r} must lie between 0 and 16"),
            (isinstance(self.names, dict), f"names={self.names!r} is not a dictionary"),
            (theta is None or is_number, f"theta={theta!r} is not a positive number"),
            (self.raw or not self.prepare, "prepare needs raw=True, which gets call.state.user"),
        ):  # fmt: skip
            _require(holds, text)
        for word in ("head_dims", "rotary_offset", "rotary_dim", "max_position"):
            value = getattr(self, word)
            may_differ = word in ("head_dims", "rotary_offset") and isinstance(value, tuple)
            sizes = value if may_differ else (value,)
            fits = all(isinstance(n, int) and n >= 0 for n in sizes)
            fits = fits or (word, value) == ("rotary_dim", "head_dim")
            _require(value is None or fits, f"{word}={value!r} is not a size")
        self._check_axes()

    def _check_axes(self):
        """Makes `axes` a tuple, which is empty without the word."""
        given, fixed = self.axes, self.axis_of_pair
        self.axes = () if given is None else given if isinstance(given, tuple) else (given,)
        few = all(isinstance(n, int) and 2 <= n <= 4 for n in self.axes)
        _require(few and given != (), f"axes={given!r} is not 2, 3 or 4, nor a tuple of these")
        _require(not self.axes or self.tables != "cache", 'axes: tables="cache" has none')
        if fixed is None:
            return
        is_map = len(self.axes) == 1 and isinstance(fixed, tuple) and fixed
        _require(is_map and all(isinstance(a, int) and 0 <= a < self.axes[0] for a in fixed),
                 "axis_of_pair needs one number of axes, and a tuple with one of these for each pair")
        _require(not self.raw, "axis_of_pair is not for raw=True, which reads it from the problem")
        size, self.rotary_dim = self.rotary_dim, 2 * len(fixed)
        _require(size in (None, self.rotary_dim), f"axis_of_pair: rotary_dim={size!r} is another")

    def _check_device(self):
        arrays, there = self.arrays, self.device is not None
        for holds, text in (
            (there or arrays not in ("cupy", "raw"), f'arrays="{arrays}" needs device="cuda"'),
            (not there or arrays != "numpy", 'device="cuda" needs arrays="torch", "cupy" or "raw"'),
            (not there or arrays != "jax", 'arrays="jax" cannot have device="cuda": it takes no '
             "stream and writes nothing in place"),
            (self.raw or arrays != "raw", 'arrays="raw" needs raw=True'),
            (not there or not self.interpreter, "interpreter=True runs on the host, not on a device"),
        ):  # fmt: skip
            _require(holds, text)

    def _read_parameters(self):
        known = "x q k qkv out q_out k_out positions position_ids pairing half_split inverse "
        known += "scale head_dim rotary_dim q_heads k_heads q_weight k_weight eps slots "
        known = (known + "k_cache v v_cache").split()
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
        if not self.raw:
            named = {"out", "q_out", "k_out"} & set(self.parameters)
            self.returns = self.returns or ("out" if named else "new")
            outs = {f"{n}_out" for n in self.gives} if self.takes[0] == "q" else {"out"}
            needed = outs if self.returns == "out" else set()
            _require(named == needed,
                     f'returns="{self.returns}" needs {" and ".join(sorted(needed)) or "no out"}')
            _require(self.returns == "new" or self.arrays != "jax",
                     'arrays="jax" needs returns="new": its arrays never change')
        elif self.returns:
            raise KernelError("returns is not for raw=True, which writes into the tensors")
        if self.in_place is None:
            self.in_place = self.returns != "out"

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


def _require(holds, text):
    if not holds:
        raise KernelError(text)
