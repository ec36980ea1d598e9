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
import tarfile
import threading
import types
import warnings
import zipfile
from collections import namedtuple
from pathlib import Path

import numpy as np

from .decorator import KernelError, _require
from .views import wide

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
WORDS = {"<f8": "f64", "<f4": "f32", "<f2": "f16"}
MOST = 1 << 30  # bytes of a file, of what it unpacks, and of its tensors
LAYOUTS = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3), "sbhd": (1, 0, 2, 3)} | {"thd": None, "td": None}
PAIRS = {"x": "y", "q": "q_out", "k": "k_out"}
OTHERS = (("y", "y_other"), ("q_out", "q_other"), ("k_out", "k_other"))  # outputs of two engines
NAMES = {"positions": "position_ids", "xq": "q", "xk": "k", "query": "q", "key": "k"}
Bits = namedtuple("Bits", "array")  # bf16 as its bits, of u2
Dump = namedtuple("Dump", "tensors dtypes metadata")  # {name: array}, {name: word}, {word: text}
KNOWN = "x", "q", "k", "position_ids", "cos", "sin", "inv_freq"
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
                _require(shown(name) == name, f"{shown(name)} is no name of a tensor")
                word = "bf16" if isinstance(array, Bits) else WORDS.get(array.dtype.str)
                array = array.array if word == "bf16" else array
                _require(word or array.dtype.kind in "iu", f"{name} is of type {array.dtype.str}")
                tensors[name], dtypes[name] = array if raw else widened(array, word, name), word
        except Exception as error:  # of any library, about any damage
            known = isinstance(error, KernelError)
            why = error if known else "is damaged, of another format than its name says, or too large here"
            raise KernelError(why) from None
    return Dump(tensors, dtypes, metadata)


def opened(path):
    """A regular file: a pipe would wait, and a device may have no end."""
    try:
        _require(stat.S_ISREG(os.stat(path).st_mode), "is not a regular file")
        return open(path, "rb")
    except (OSError, ValueError) as error:
        raise KernelError(f"cannot open: {getattr(error, 'strerror', 'it is no name of a file')}") from None


def shown(text):
    return "".join(c if c.isprintable() else "?" for c in str(text)[:200])


def filled(file, name, shape, dtype, size, order="C"):
    """An array of the next `size` bytes; its memory is bounded by the file's size, or by MOST."""
    good = all(type(n) is int and 0 <= n < MOST for n in shape) and len(shape) < 8
    _require(good and math.prod(shape) * dtype.itemsize == size,
             f"{shown(name)} of shape {shown(shape)} does not fill its {size} bytes")
    data = np.empty(size, "u1")
    for at in range(0, size, 1 << 20):
        piece = file.read(min(size - at, 1 << 20))
        data[at : at + (1 << 20)] = np.frombuffer(piece, "u1")  # raises if the file has become shorter
    return data.view(dtype).reshape(shape, order=order)


def widened(array, word, name):
    array = wide(array) if word == "bf16" else array.astype("f4") if word == "f16" else array
    return array.astype("f8") if word and name in ("cos", "sin", "inv_freq") else array


def once(pairs):
    _require(len(dict(pairs)) == len(pairs), "its header has a name twice")
    return dict(pairs)


def of_safetensors(file, size, metadata):
    length = int.from_bytes(file.read(8), "little")
    _require(length <= min(size - 8, 1 << 24), "its header does not fit into it")
    header = json.loads(file.read(length), object_pairs_hook=once)
    words = header.pop("__metadata__", {}).items()
    metadata.update((k, v) for k, v in words if isinstance(v, str))
    entries, last = [(*entry["data_offsets"], name, entry) for name, entry in header.items()], 0
    _require(all(type(n) is int for e in entries for n in e[:2]), "its offsets are not whole numbers")
    for begin, end, name, entry in sorted(entries, key=lambda e: e[:2]):
        _require(last <= begin, f"{shown(name)} and the tensor before it overlap")
        _require(begin <= end <= size - 8 - length, f"{shown(name)} ends behind the file")
        kind, last = entry["dtype"], end
        _require(kind in TYPES, f"{shown(name)} is of type {shown(kind)}: known are {', '.join(TYPES)}")
        file.seek(8 + length + begin)
        array = filled(file, name, entry["shape"], np.dtype(TYPES[kind]), end - begin)
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
            left = one.file_size - member.tell()
            array = filled(member, name, shape, dtype, left, "F" if fortran else "C")
        if dtype.kind == "U" and not shape:
            metadata[name] = str(array)
        else:
            yield name, array


def of_torch(file, _, metadata):
    start = file.read(4)
    file.seek(0)
    tar = tarfile.is_tarfile(file)  # which torch below 2.6 unpickles
    file.seek(0)
    _require(start == b"PK\3\4" or (start[:1] == b"\x80" and not tar), NO_DICT)
    if start[:1] == b"P":  # torch is given a copy of the members that are checked here, and no others
        (packed, members), file = unpacked(file), io.BytesIO()
        with zipfile.ZipFile(file, "w") as copy:
            for one in members:
                words = one.filename.lower().split("/")
                _require("constants.pkl" not in words and "code" not in words[:-1],
                         "is TorchScript, which is code: a dict of tensors is wanted, written by torch.save")
                copy.writestr(one.filename, packed.read(one))
        file.seek(0)
    try:
        import torch
    except ImportError:
        raise KernelError("torch is needed for .pt files, and this Python has none") from None
    with contextlib.suppress(Exception):  # whose text names ways to load code
        made = None
        made = torch.load(file, map_location="cpu", weights_only=True)
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
    in place. If no parameter has such a name, one array by position is x, and the first two are q and k.
    `metadata`: layout="bhsd", head_dim, pairing. No file is overwritten: where PATH is there, as it is
    for a second call, function, process or run, the next free one of PATH with .1, .2, ... before its
    suffix is written. Without a path the function comes back as it is, unless ROPEWALK_CAPTURE names a
    folder: then PATH is FUNCTION-PID.safetensors there. Whatever fails in here is one warning in each
    process. A caller gets what the function returns or raises."""
    folder = os.environ.get("ROPEWALK_CAPTURE")
    if path is None and not folder:
        return function
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", str(getattr(function, "__name__", "rope")))[:60]
    path = os.fsdecode(path) if path is not None else None
    _require(path is None or path.endswith(".safetensors"), f"{path}: captures are written as .safetensors")
    if path and os.path.lexists(path):
        tell(name, f"{path} is there already, and stays: PATH with .1, .2, ... is written")
    known, parameters, states = {**NAMES, **(names or {})}, [], {}
    with contextlib.suppress(ValueError, TypeError):  # of a callable without a signature
        parameters = list(inspect.signature(function).parameters)
    by_name = any(known.get(n, n) in KNOWN for n in parameters)

    def wrapped(*args, **words):
        # A child of fork has a lock and a count of its own.
        state = states.setdefault(os.getpid(), types.SimpleNamespace(lock=threading.Lock(), taken=0, told=False))
        with state.lock:
            state.taken += (mine := state.taken < calls)
        kept = mine and attempt(state, name, given, args, words)
        try:
            returned = function(*args, **words)
        except BaseException:
            with state.lock:
                state.taken -= mine
            raise
        if kept:
            attempt(state, name, keep, *kept, returned)
        return returned

    def given(args, words):
        places = parameters if by_name else "x" if sum(hasattr(a, "shape") for a in args) == 1 else "qk"
        found = {known.get(n, n): v for n, v in (*zip(places, args), *words.items())}
        found = {n: v for n, v in found.items() if n in KNOWN and hasattr(v, "shape")}
        _require({"x", "q", "k"} & found.keys(), "none of its arguments is an array x, q or k")
        return found, {n: copied(v) for n, v in found.items()}

    def keep(found, kept, returned):
        inputs = [n for n in PAIRS if n in kept]
        results = returned if isinstance(returned, (tuple, list)) else [returned]
        if returned is None:
            results = [found[n] for n in inputs]
        kept.update({PAIRS[n]: copied(r) for n, r in zip(inputs, results)})
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
    """What the step returns, or the one warning."""
    try:
        return step(*values)
    except Exception as error:
        told, state.told = state.told, True
        told or tell(name, getattr(error, "strerror", None) or error)


def tell(name, why):
    with contextlib.suppress(Exception):
        text = f"ropewalk.capture of {name}: {shown(why)}"
        try:
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        except Warning:  # where they are errors
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
    header, parts, at = {"__metadata__": {"ropewalk_dump": "1", **metadata}}, [], 0
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
    bits = isinstance(array, Bits) or str(array.dtype) in ("bfloat16", "torch.bfloat16")
    array = array.array if isinstance(array, Bits) else array
    if hasattr(array, "detach"):  # torch, on any device
        array = array.detach().cpu().contiguous()
        array = (array.view(sys.modules["torch"].int16) if bits else array).numpy()
    array = np.ascontiguousarray(array)
    if bits:
        return array.tobytes(), "BF16", array.shape
    kinds = {np.dtype(v): k for k, v in TYPES.items() if k != "BF16"}
    if array.dtype.kind in "iu" and array.dtype not in kinds:
        array = array.astype("i8")
    _require(array.dtype in kinds, f"arrays of {array.dtype} are not dumped")
    return array.tobytes(), kinds[array.dtype], array.shape


def config_of(path):
    """The fields of a config.json, which the command has read before; None without a path."""
    return json.loads(Path(path).read_text("utf-8")) if path else None
