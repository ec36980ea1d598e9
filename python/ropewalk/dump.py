"""Dumps of a rotation: tensors x and y (or q, k, q_out, k_out) of one layer as safetensors."""

import functools
import inspect
import json
import math
import os
import tempfile
import zipfile
from collections import namedtuple

import numpy as np

from .decorator import KernelError, _require

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
WORDS = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16"}
MOST = 1 << 30  # bytes of a file, and of what an .npz unpacks
KEY = "ropewalk_dump"
LAYOUTS = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3), "sbhd": (1, 0, 2, 3)} | {"thd": None, "td": None}
PAIRS = (("x", "y"), ("q", "q_out"), ("k", "k_out"))
OTHERS = (("y", "y_other"), ("q_out", "q_other"), ("k_out", "k_other"))  # outputs of two engines
NAMES = {"positions": "position_ids", "xq": "q", "xk": "k", "query": "q", "key": "k"}
Bits = namedtuple("Bits", "array")  # bf16 as its bits, of u2
Dump = namedtuple("Dump", "tensors dtypes metadata")  # {name: array}, {name: word}, {word: text}
KNOWN = "x", "q", "k", "position_ids", "cos", "sin", "inv_freq"


def read(path, raw=False):
    """A file of safetensors, .npz or .pt. `raw`: floats keep their types, bf16 as its bits. Raises
    KernelError with what is wrong with the file."""
    if path.endswith((".npz", ".pt")):
        return converted(path)
    size = os.path.getsize(path)
    _require(8 < size <= MOST, f"has {size} bytes")
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        _require(length <= min(size - 8, 1 << 24), "its header does not fit into it")
        try:
            header = json.loads(file.read(length))
        except ValueError:
            raise KernelError("its header is not JSON") from None
        _require(isinstance(header, dict), "its header is not an object")
        metadata = header.pop("__metadata__", {})
        tensors, dtypes, ends = {}, {}, []
        for name, entry in header.items():
            _require(isinstance(entry, dict), f"{name} has a header entry that is not an object")
            tensors[name], dtypes[name] = tensor(file, name, entry, length + 8, size, raw)
            ends.append((*entry["data_offsets"], name))
    ends.sort()
    for (_, end, one), (begin, _, other) in zip(ends, ends[1:]):
        _require(begin >= end, f"{one} and {other} overlap")
    words = metadata.items() if isinstance(metadata, dict) else ()
    return Dump(tensors, dtypes, {k: v for k, v in words if isinstance(v, str)})


def tensor(file, name, entry, begin, size, raw):
    """One tensor in f64 (bf16 too) or integers, and its type."""
    dtype, shape, at = (entry.get(k) for k in ("dtype", "shape", "data_offsets"))
    known = ", ".join(TYPES)
    _require(isinstance(dtype, str) and dtype in TYPES, f"{name} is of type {dtype}: known are {known}")
    numbers = [*shape, *at] if isinstance(shape, list) and isinstance(at, list) else [-1]
    fits = all(type(n) is int and 0 <= n < MOST for n in numbers) and len(at) == 2 and len(shape) < 8
    _require(fits, f"{name} has the shape {shape} at {at}")
    count = math.prod(shape)
    item = np.dtype(TYPES[dtype]).itemsize
    _require(at[1] - at[0] == count * item, f"{name} of {shape} does not fill its {at[1] - at[0]} bytes")
    _require(begin + at[1] <= size, f"{name} ends behind the file")
    file.seek(begin + at[0])
    array = np.frombuffer(file.read(count * item), TYPES[dtype]).reshape(shape)
    if raw:
        return array, WORDS.get(dtype)
    if dtype == "BF16":
        array = (array.astype("u4") << 16).view("f4")
    return array.astype("f8") if dtype in WORDS else array, WORDS.get(dtype)


def converted(path):
    """What another format holds, by way of a file of this one."""
    if path.endswith(".pt"):
        import torch

        tensors = torch.load(path, map_location="cpu", weights_only=True)
    else:
        with zipfile.ZipFile(path) as packed:
            size = sum(one.file_size for one in packed.infolist())
        _require(size <= MOST, f"unpacks to {size} bytes")
        with np.load(path, allow_pickle=False) as file:
            tensors = dict(file)
    _require(isinstance(tensors, dict), "it holds no dictionary of tensors")
    metadata = {k: str(v) for k, v in tensors.items() if isinstance(v, str) or (
        getattr(getattr(v, "dtype", None), "kind", "") == "U" and v.ndim == 0)}
    with tempfile.TemporaryDirectory(prefix="ropewalk") as folder:
        made = os.path.join(folder, "dump.safetensors")
        write(made, {k: v for k, v in tensors.items() if hasattr(v, "shape") and k not in metadata}, metadata)
        return read(made)


def capture(function, path=None, *, names=None, calls=1, **metadata):
    """Wraps a rope function, and writes what its first calls are given and return.

    Tensors are found by the names of the parameters (x, or q and k; position_ids, cos, sin, inv_freq;
    names={"own": "q"} for others), results by their order; a function that returns nothing has written
    in place. `metadata`: layout="bhsd", head_dim, pairing. The second call goes to PATH with .1 before its
    suffix. Without a path the function comes back as it is, unless ROPEWALK_CAPTURE names a folder: then
    each process writes there."""
    folder = os.environ.get("ROPEWALK_CAPTURE")
    if path is None and not folder:
        return function
    name = f"{getattr(function, '__name__', 'rope')}-{os.getpid()}.safetensors"
    place = path or os.path.join(folder, name)
    _require(place.endswith(".safetensors"), f"{place}: captures are written as .safetensors")
    parameters = list(inspect.signature(function).parameters)
    known = {**NAMES, **(names or {})}
    done = []

    @functools.wraps(function)
    def wrapped(*args, **words):
        if len(done) >= calls:
            return function(*args, **words)
        given = {known.get(n, n): v for n, v in (*zip(parameters, args), *words.items())}
        kept = {n: copied(v) for n, v in given.items() if n in KNOWN and hasattr(v, "shape")}
        returned = function(*args, **words)
        inputs = [n for n in ("x", "q", "k") if n in kept]
        results = returned if isinstance(returned, (tuple, list)) else [returned]
        if returned is None:
            results = [given[n] for n in inputs]
        outputs = {"x": "y", "q": "q_out", "k": "k_out"}
        kept.update({outputs[n]: copied(r) for n, r in zip(inputs, results)})
        root, suffix = os.path.splitext(place)
        write(f"{root}.{len(done)}{suffix}" if done else place, kept,
              {k: str(v) for k, v in metadata.items()})
        done.append(1)
        return returned

    return wrapped


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
    with open(f"{path}.part", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
    os.replace(f"{path}.part", path)


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
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except ValueError as error:
        raise KernelError(f"{path}: {error}") from None
    _require(isinstance(config, dict), f"{path} is not an object")
    return config
