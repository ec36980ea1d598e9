"""Dumps: what capture writes, and that no file makes read() raise anything but a reason in words."""
import json
import os
import sys

import numpy as np
import ropewalk
from ropewalk import dump

folder = sys.argv[1]


def rope(q, k, cos, sin):
    def turn(x):
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)

    return turn(q), turn(k)


def in_place(x, wrong=False):
    x[...] = np.roll(x, 1, -1) if wrong else rope(x, x, cos, sin)[0]


angles = np.arange(96)[None, :, None, None] * 10000.0 ** (-np.arange(16) / 16)
cos, sin = (f(angles).astype("f4") for f in (np.cos, np.sin))
draw = np.random.default_rng(7)
q, k = (draw.standard_normal((1, 96, h, 32)).astype("f4") for h in (4, 2))
kept = ropewalk.capture(rope, f"{folder}/right.safetensors", calls=2, pairing="half_split")
kept(q, k, cos, sin), kept(q, k, sin=sin, cos=cos), kept(q, k, cos, sin)
assert sorted(os.listdir(folder)) == ["right.1.safetensors", "right.safetensors"]
ropewalk.capture(in_place, f"{folder}/in_place.safetensors", wrong=True)(q.copy())
ropewalk.capture(lambda x: in_place(x, True), f"{folder}/wrong.safetensors")(q.copy())
assert ropewalk.capture(rope) is rope
os.environ["ROPEWALK_CAPTURE"] = folder
ropewalk.capture(rope)(q, k, cos, sin)
assert os.path.exists(f"{folder}/rope-{os.getpid()}.safetensors")
np.savez(f"{folder}/other.npz", q=q, k=k, q_out=rope(q, k, cos, sin)[0], k_out=rope(q, k, cos, sin)[1])

more = draw.standard_normal((1, 96, 4, 32))
one, two = (rope(more, more, *(f(angles + s * angles[:, 1:2]) for f in (np.cos, np.sin)))[0] for s in (0, 2))
dump.write(f"{folder}/relative.safetensors", {"y": one.astype("f4"), "y_other": two.astype("f4")}, {})
dump.write(f"{folder}/equal.safetensors", {"y": one.astype("f4"), "y_other": one.astype("f4")}, {})

# Lies of the header, and any byte of it changed.
with open(f"{folder}/right.safetensors", "rb") as file:
    whole = file.read()
length = int.from_bytes(whole[:8], "little")
header, lies = json.loads(whole[8 : 8 + length]), []
for word, values in (("shape", ([-1], [1 << 62, 1 << 62], [1.5], None)), ("dtype", ("F8", 7)),
                     ("data_offsets", ([0, 1], [-8, 0], [1 << 60, 1 << 61], []))):
    for value in values:
        lie = json.dumps({**header, "q": {**header["q"], word: value}}).encode()
        lies.append(len(lie).to_bytes(8, "little") + lie + whole[8 + length :])
for lie in ({**header, "q": []}, {**header, "q": {}}, {**header, "k": header["q"]}, [],
            {**header, "__metadata__": {"layout": []}}):
    lie = json.dumps(lie).encode()
    lies.append(len(lie).to_bytes(8, "little") + lie + whole[8 + length :])
lies += [whole[:n] for n in (0, 7, 8, 100, len(whole) - 1)]
for at in range(0, 8 + length, 3):
    lies.append(whole[:at] + bytes([whole[at] ^ draw.integers(1, 256)]) + whole[at + 1 :])
refused = 0
for lie in lies:
    with open(f"{folder}/lie.safetensors", "wb") as file:
        file.write(lie)
    try:
        dump.read(f"{folder}/lie.safetensors")
    except ropewalk.KernelError:
        refused += 1
assert refused > len(lies) / 4, refused
