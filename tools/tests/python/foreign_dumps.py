"""Files of tensors from anywhere, each of which dump.read refuses in one line: prints a line for each that it
does not. Nothing of a file runs, and memory stays below three times the bytes of its tensors."""
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import ropewalk
from ropewalk import dump

folder = sys.argv[1]


def refused(words, suffix, contents=None, path=None):
    path = path or f"{folder}/a.{suffix}"
    if contents is not None:
        with open(path, "wb") as file:
            file.write(contents)
    try:
        dump.read(path)
        print("read:", words)
    except ropewalk.KernelError as error:
        if words not in str(error) or not str(error).isprintable():
            print(f"wrong: {words!r}: {error}")


def zipped(kind=zipfile.ZIP_STORED, **members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as file:
        for name, contents in members.items():
            file.writestr(name.replace("__", "/").replace("_", "."), contents)
    return out.getvalue()


def headed(header, size=64):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(size)


def npy(shape, kind="<f4", size=64):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue() + bytes(size)


sys.modules["torch"] = None
for name in ("a__constants_pkl", "a__code__b_py"):
    refused("is TorchScript", "pt", zipped(**{"a__data_pkl": b"", name: b""}))
refused("torch is needed", "pt", zipped(a__data_pkl=b""))
refused("is no dict of tensors", "pt", bytes(64))
for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
    refused("zip of an unknown kind", "npz", zipped(kind, x_npy=npy((16,))))
for shape in ((17,), (1 << 40,), (-1,), (1,) * 40, (True,) * 4):
    refused("does not fill its", "npz", zipped(x_npy=npy(shape)))
refused("is damaged", "npz", zipped(x_npy=npy((8,), "|O")))
refused("unpacks to", "npz", zipped(zipfile.ZIP_DEFLATED, x_npy=bytes((1 << 30) + 1)))
refused("is damaged", "npz", b"PK\3\4" + bytes(64))

good = {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}
for name in ("\ud800", "x\nend\t0", "x\x1b[2J", "\u202ex"):
    refused("is no name", "safetensors", headed({name: good}))
refused("a name twice", "safetensors", headed(b'{"x": %s, "x": %s}' % ((json.dumps(good).encode(),) * 2)))
for offsets in ([-64, 0], [float("nan"), 64], [False, 64], [0, 64, 64], ["0", 64]):
    refused("", "safetensors", headed({"x": {**good, "data_offsets": offsets}}))
refused("is damaged", "safetensors", headed(b"[" * 100000))
refused("ends behind", "safetensors", headed({"x": good}, 60))
os.mkfifo(f"{folder}/pipe.npz")
for path in ("/dev/zero", folder, f"{folder}/pipe.npz"):
    refused("not a regular file", "", path=path)
refused("cannot open: No such file or directory", "", path=f"{folder}/none.pt")

MEMORY = """if 1:
    import resource, sys
    from ropewalk import dump
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dump.read(sys.argv[1])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"""
for kind, most in (("<f4", 1), ("<f2", 3), ("<i8", 1)):
    x = np.zeros((32 << 20) // np.dtype(kind).itemsize, kind)
    np.savez(f"{folder}/x.npz", x=x)
    dump.write(f"{folder}/x.safetensors", {"x": x}, {})
    for suffix in ("npz", "safetensors"):
        # A shell, as a process begins with the peak of its parent.
        words = ["sh", "-c", 'exec "$@" | cat', "sh", sys.executable, "-c", MEMORY, f"{folder}/x.{suffix}"]
        took = int(subprocess.run(words, capture_output=True, check=True).stdout) / (32 << 10)
        if took > most + 0.3:
            print(f"{suffix} of {kind} took {took:.3g} times its bytes")
