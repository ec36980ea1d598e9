"""Answers a file of questions with NumPy; the third word plants an error."""
import json
import sys

import numpy as np


def read(path):
    whole = open(path, "rb").read()
    end = 8 + int.from_bytes(whole[:8], "little")
    header, types = json.loads(whole[8:end]), {"F32": "f4", "F16": "f2", "I64": "i8"}
    metadata = header.pop("__metadata__")
    return metadata, {n: np.frombuffer(whole[end + e["data_offsets"][0] : end + e["data_offsets"][1]],
                                       types[e["dtype"]]).reshape(e["shape"]) for n, e in header.items()}


def write(path, metadata, tensors):
    types, header, at = {"f4": "F32", "f2": "F16", "i8": "I64"}, {"__metadata__": metadata}, 0
    for name, a in tensors.items():
        header[name] = {"dtype": types[a.dtype.str[1:]], "shape": a.shape, "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for a in tensors.values():
            file.write(np.ascontiguousarray(a).tobytes())


metadata, t = read(sys.argv[1])
error = sys.argv[3] if len(sys.argv) > 3 else ""
for n, asked in enumerate(json.loads(metadata["questions"])):
    half = asked["rotary_dim"] // 2
    for name, part in asked["tensors"].items():
        x = t[f"{n}.{name}"]
        y = x.copy()
        if part["rotate"]:
            cos, sin = (t.get(f"{n}.{name}_{w}", t[f"{n}.{w}"])[:, :, None].astype("f8") for w in ("cos", "sin"))
            if error == "position_sweep":  # one position of many
                sin = np.where(t[f"{n}.position_ids"][..., None, None] == 77777, -sin, sin)
            sin = -sin if asked["inverse"] else sin
            i = np.arange(half) + part["rotary_offset"]
            j = i + half
            if error == "agreement":
                i, j = i + np.arange(half), i + np.arange(half) + 1
            a, b = x[..., i].astype("f8"), x[..., j].astype("f8")
            y[..., i], y[..., j] = asked["scale"] * (a * cos - b * sin), asked["scale"] * (b * cos + a * sin)
        if error == "untouched_dims" and y.shape[-1] > 2 * half + part["rotary_offset"]:
            y[..., -1] = 0
        t[f"{n}.{name}_out"] = y
write(sys.argv[2], metadata, t)
