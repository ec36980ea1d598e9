"""Dumps of a rotation: tensors x and y (or q, k, q_out, k_out) of one layer as safetensors."""

import contextlib
import functools
import inspect
import io
import itertools
import json
import math
import os
import re
import stat
import sys
import threading
import types
import warnings
import zipfile
from collections import namedtuple

import numpy as np

from .decorator import KernelError, _require

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
WORDS = {"<f8": "f64", "<f4": "f32", "<f2": "f16"}
MOST = 1 << 30  # bytes of a file, of what it unpacks, and of its tensors
KEY = "ropewalk_dump"
LAYOUTS = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3), "sbhd": (1, 0, 2, 3)} | {"thd": None, "td": None}
PAIRS = (("x", "y"), ("q", "q_out"), ("k", "k_out"))
OTHERS = (("y", "y_other"), ("q_out", "q_other"), ("k_out", "k_other"))  # outputs of two engines
NAMES = {"positions": "position_ids", "xq": "q", "xk": "k", "query": "q", "key": "k"}
Bits = namedtuple("Bits", "array")  # bf16 as its bits, of u2
Dump = namedtuple("Dump", "tensors dtypes metadata")  # {name: array}, {name: word}, {word: text}
KNOWN = "x", "q", "k", "position_ids", "cos", "sin", "inv_freq"
LINES = "layout", "head_dim", "pairing", "dtype", "shape", "fingerprint"  # metadata that is shown
parts_made = itertools.count()
NO_DICT = "is no dict of tensors alone, written by torch.save"


def read(path, raw=False):
    """A file of safetensors, .npz or .pt from anywhere. Floats narrower than f32 are widened to it, and
    tables to f64. `raw`: all keep their types, bf16 as its bits. Raises KernelError with one line of what
    is wrong with the file."""
    tensors, dtypes, metadata = {}, {}, {}
    path = os.fsdecode(path)
    reader = of_numpy if path.endswith(".npz") else of_torch if path.endswith(".pt") else of_safetensors
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        _require(8 < size <= MOST, f"has {size} bytes; 9 to {MOST} are read")
        try:
            for name, array in reader(file, size, metadata):
                _require(plain(name), f"{shown(name)} is no name of a tensor")
                word = "bf16" if isinstance(array, Bits) else WORDS.get(array.dtype.str)
                array = array.array if word == "bf16" else array
                _require(word or array.dtype.kind in "iu", f"{name} is of type {array.dtype.str}")
                tensors[name], dtypes[name] = array if raw else widened(array, word, name), word
        except KernelError:
            raise
        except MemoryError:
            raise KernelError("needs more memory than is free") from None
        except Exception:  # of any library, about any damage
            raise KernelError("is damaged, or of another format than its name says") from None
    for word in LINES:
        _require(plain(metadata.get(word, "-")), f"its metadata's {word} is not one line of text")
    return Dump(tensors, dtypes, metadata)


def opened(path):
    """A regular file: a pipe would wait, and a device may have no end."""
    try:
        _require(stat.S_ISREG(os.stat(path).st_mode), "is not a regular file")
        return open(path, "rb")
    except (OSError, ValueError) as error:
        raise KernelError(f"cannot open: {getattr(error, 'strerror', 'such a name is not possible')}") from None


def plain(text):
    return isinstance(text, str) and 0 < len(text) <= 256 and text.isprintable()


def shown(text):
    return "".join(c if c.isprintable() else "?" for c in str(text)[:120])


def filled(file, shape, dtype, order="C"):
    """An array of what comes next in the file, whose bytes were counted before."""
    data, at = np.empty(math.prod(shape) * dtype.itemsize, "u1"), 0
    while at < len(data):
        piece = file.read(min(len(data) - at, 1 << 20))
        _require(piece, "ends within a tensor")
        data[at : at + len(piece)] = np.frombuffer(piece, "u1")
        at += len(piece)
    return data.view(dtype).reshape(shape, order=order)


def fits(name, shape, dtype, left):
    good = all(type(n) is int and 0 <= n < MOST for n in (*shape, left)) and len(shape) < 8
    _require(good and math.prod(shape) * dtype.itemsize == left,
             f"{shown(name)} of shape {shown(shape)} does not fill its {shown(left)} bytes")


def widened(array, word, name):
    if word == "bf16":
        array = array.astype("u4")
        array <<= 16
        array = array.view("f4")
    array = array.astype("f4") if word == "f16" else array
    return array.astype("f8") if word and name in ("cos", "sin", "inv_freq") else array


def once(pairs):
    _require(len(dict(pairs)) == len(pairs), "its header has a name twice")
    return dict(pairs)


def of_safetensors(file, size, metadata):
    length = int.from_bytes(file.read(8), "little")
    _require(length <= min(size - 8, 1 << 24), "its header does not fit into it")
    header = json.loads(file.read(length), object_pairs_hook=once)
    words = header.pop("__metadata__", {})
    metadata.update((k, v) for k, v in words.items() if isinstance(v, str))
    entries = []
    for name, entry in header.items():
        kind, shape, (begin, end) = (entry[k] for k in ("dtype", "shape", "data_offsets"))
        _require(kind in TYPES, f"{shown(name)} is of type {shown(kind)}: known are {', '.join(TYPES)}")
        dtype = np.dtype(TYPES[kind])
        fits(name, shape, dtype, end - begin)
        _require(type(begin) is int and 0 <= begin <= end <= size - 8 - length, f"{shown(name)} ends behind the file")
        entries.append((begin, end, name, kind, dtype, shape))
    entries.sort(key=lambda entry: entry[:2])
    for one, other in zip(entries, entries[1:]):
        _require(other[0] >= one[1], f"{shown(one[2])} and {shown(other[2])} overlap")
    for begin, _, name, kind, dtype, shape in entries:
        file.seek(8 + length + begin)
        array = filled(file, shape, dtype)
        yield name, Bits(array) if kind == "BF16" else array


def unpacked(file):
    """A zip, and its members, whose sizes are bounded."""
    packed = zipfile.ZipFile(file)
    members = packed.infolist()
    size = sum(one.file_size for one in members)
    _require(size <= MOST, f"unpacks to {size} bytes; up to {MOST} are read")
    usual = all(one.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for one in members)
    _require(usual and len(set(packed.namelist())) == len(members), "is a zip of an unknown kind")
    return packed, members


def of_numpy(file, _, metadata):
    packed, members = unpacked(file)
    for one in members:
        name, suffix = os.path.splitext(one.filename)
        if suffix != ".npy":
            continue
        with packed.open(one) as member:
            # Version 1 bounds the header; arrays of numbers need no other.
            _require(np.lib.format.read_magic(member) == (1, 0), f"{shown(name)} is no array of numbers")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
            fits(name, shape, dtype, one.file_size - member.tell())
            array = filled(member, shape, dtype, "F" if fortran else "C")
        if dtype.kind == "U" and not shape:
            metadata[name] = str(array)
        else:
            yield name, array


def of_torch(file, _, metadata):
    start = file.read(4)
    file.seek(0)
    _require(start[:1] == b"\x80" or start == b"PK\3\4", NO_DICT)
    if start == b"PK\3\4":  # torch is given a copy of the members that are checked here, and no others
        (packed, members), file = unpacked(file), io.BytesIO()
        with zipfile.ZipFile(file, "w") as copy:
            for one in members:
                below = one.filename.lower().split("/")
                _require("constants.pkl" not in below and "code" not in below[:-1],
                         "is TorchScript, which is code: a dict of tensors is wanted, written by torch.save")
                copy.writestr(one.filename, packed.read(one))
        file.seek(0)
    try:
        import torch
    except ImportError:
        raise KernelError("torch is needed for .pt files, and this Python has none") from None
    try:
        made = torch.load(file, map_location="cpu", weights_only=True)
    except Exception:  # whose text names ways to load code
        raise KernelError(NO_DICT) from None
    _require(isinstance(made, dict), NO_DICT)
    del file
    metadata.update((k, v) for k, v in made.items() if isinstance(v, str))
    made = {k: v.detach() for k, v in made.items() if isinstance(v, torch.Tensor)}
    size = sum(v.numel() * v.element_size() for v in made.values())
    _require(size <= MOST, f"unpacks to {size} bytes; up to {MOST} are read")
    for name in list(made):
        array = made.pop(name).contiguous()
        bits = array.dtype == torch.bfloat16
        yield name, Bits(array.view(torch.int16).numpy().view("u2")) if bits else array.numpy()


def capture(function, path=None, *, names=None, calls=1, **metadata):
    """Wraps a rope function, and writes what its first calls in each process are given and return.

    Tensors are found by the names of the parameters (x, or q and k; position_ids, cos, sin, inv_freq;
    names={"own": "q"} for others), results by their order; a function that returns nothing has written
    in place. Where Python knows no parameters, one array by position is x, and the first two are q and k.
    `metadata`: layout="bhsd", head_dim, pairing. No file is overwritten: if PATH is there, the next free
    of PATH with .1, .2, ... before its suffix is taken, by a second call, function or process too. Without
    a path the function comes back as it is, unless ROPEWALK_CAPTURE names a folder: then PATH is
    FUNCTION-PID.safetensors there. What goes wrong in here is a warning, one for each process, and the
    function's caller gets what it returns or raises."""
    folder = os.environ.get("ROPEWALK_CAPTURE")
    if path is None and not folder:
        return function
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", str(getattr(function, "__name__", "rope")))[:60]
    path = os.fsdecode(path) if path is not None else None
    _require(path is None or path.endswith(".safetensors"), f"{path}: captures are written as .safetensors")
    parameters, known, states = [], {**NAMES, **(names or {})}, {}
    with contextlib.suppress(ValueError, TypeError):  # of a callable without a signature
        parameters = [n for n, p in inspect.signature(function).parameters.items()
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def wrapped(*args, **words):
        # A state for each process: a child of fork has a lock and a count of its own.
        state = states.setdefault(os.getpid(), types.SimpleNamespace(lock=threading.Lock(), taken=0, told=False))
        if state.taken >= calls:
            return function(*args, **words)
        with state.lock:
            state.taken += (mine := state.taken < calls)
        given = mine and attempt(state, name, arguments, args, words)
        try:
            returned = function(*args, **words)
        except BaseException:
            with state.lock:
                state.taken -= mine
            raise
        if given:
            attempt(state, name, keep, given, returned)
        return returned

    def arguments(args, words):
        places = parameters or (["x"] if sum(hasattr(a, "shape") for a in args) == 1 else ["q", "k"])
        given = {known.get(n, n): v for n, v in (*zip(places, args), *words.items())}
        kept = {n: copied(v) for n, v in given.items() if n in KNOWN and hasattr(v, "shape")}
        _require({"x", "q", "k"} & set(kept), f"none of its arguments {', '.join(given)} is x, q or k")
        return given, kept

    def keep(both, returned):
        given, kept = both
        inputs = [n for n in ("x", "q", "k") if n in kept]
        results = returned if isinstance(returned, (tuple, list)) else [returned]
        if returned is None:
            results = [given[n] for n in inputs]
        outputs = {"x": "y", "q": "q_out", "k": "k_out"}
        kept.update({outputs[n]: copied(r) for n, r in zip(inputs, results)})
        place = claimed(path or os.path.join(folder, f"{name}-{os.getpid()}.safetensors"))
        try:
            write(place, kept, {k: str(v) for k, v in metadata.items()})
        except BaseException:
            os.unlink(place)
            raise

    with contextlib.suppress(Exception):  # of a callable whose attributes cannot be taken
        functools.update_wrapper(wrapped, function)
    return wrapped


def attempt(state, name, step, *values):
    """What the step returns; or one warning for all that goes wrong."""
    try:
        return step(*values)
    except Exception as error:
        with contextlib.suppress(Exception):
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            text = f"ropewalk.capture writes no file of {name}: {shown(reason)}"
            told, state.told = state.told, True
            try:
                None if told else warnings.warn(text, RuntimeWarning, stacklevel=3)
            except Warning:  # where warnings are errors
                sys.stderr.write(f"{text}\n")


def claimed(place):
    """The first of PATH, PATH.1, ... that is not there, as an empty file of this process."""
    root, suffix = os.path.splitext(place)
    for number in itertools.count():
        with contextlib.suppress(FileExistsError):
            place = f"{root}.{number}{suffix}" if number else place
            open(place, "xb").close()
            return place


def copied(array):
    return array.detach().clone() if hasattr(array, "detach") else np.array(array)


def write(path, tensors, metadata):
    """tensors: {name: NumPy array, torch tensor or JAX array}."""
    header, parts, at = {"__metadata__": {KEY: "1", **metadata}}, [], 0
    for name, array in tensors.items():
        data, dtype, shape = bytes_of(array)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    part = f"{path}.{os.getpid()}.{next(parts_made)}.part"
    with open(part, "xb") as file:  # x follows no link and takes no file that is there
        try:
            file.writelines((len(text).to_bytes(8, "little"), text, *parts))
            file.flush()
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise


def bytes_of(array):
    """(bytes, type of safetensors, shape)."""
    if isinstance(array, Bits):
        return array.array.tobytes(), "BF16", array.array.shape
    if hasattr(array, "detach"):  # torch, on any device
        array = array.detach().cpu().contiguous()
        if str(array.dtype) == "torch.bfloat16":
            import torch

            return array.view(torch.int16).numpy().tobytes(), "BF16", array.shape
        array = array.numpy()
    array = np.ascontiguousarray(array)
    if array.dtype.name == "bfloat16":
        return array.view("u2").tobytes(), "BF16", array.shape
    kinds = {np.dtype(v): k for k, v in TYPES.items() if k != "BF16"}
    if array.dtype.kind in "iu" and array.dtype not in kinds:
        array = array.astype("i8")
    _require(array.dtype in kinds, f"arrays of {array.dtype} are not dumped")
    return array.tobytes(), kinds[array.dtype], array.shape


def config_of(path):
    """The fields of a config.json; None without a path."""
    if not path:
        return None
    try:
        with opened(path) as file:
            config = json.loads(file.read(MOST))
    except (KernelError, ValueError, RecursionError, OSError) as error:
        raise KernelError(f"{shown(path)}: {shown(error)}") from None
    _require(isinstance(config, dict), f"{shown(path)} is not an object")
    return config
