"""Kernels that write each call down as a question, or answer it from a file. Run by `ropewalk vectors` and
`ropewalk verify answers.safetensors`: ROPEWALK_QUESTIONS names the folder, ROPEWALK_ANSWERS the file."""

import hashlib
import json
import os

import numpy as np

import ropewalk
from ropewalk import dump, views
from ropewalk.angles import rounded
from ropewalk.identify.pairs import elements_of
from ropewalk.views import narrow, wide

# Elements of a question, unless it is about many positions. A model's has more heads.
MOST = 1 << (15 if os.environ.get("ROPEWALK_MODEL") else 13)
views.Library.bfloat16 = lambda self: np.dtype("u2")  # its bits, which nobody computes with
folder, file = os.environ.get("ROPEWALK_QUESTIONS"), os.environ.get("ROPEWALK_ANSWERS")
pairing = os.environ.get("ROPEWALK_PAIRING", "half_split")
NAMES = ("q", "k", "v", "w")
bits = np.ascontiguousarray  # a tensor of raw memory as NumPy's, whatever library or type it has


def few(p):
    """Questions stay small: a file of them has a few MB."""
    if p.table_rows_by:
        return "asks by position alone"
    tensors = p.tensor[: p.tensor_count]
    if len({d for t in tensors for d in (t.in_dtype, t.out_dtype)}) > 1:
        return "asks in one data type"
    size = sum(t.heads * t.head_dim for t in tensors) * p.batch * p.tokens
    return None if size <= MOST or (size <= MOST << 6 and p.rotary_dim <= 4) else "asks small questions"


def as_f64(array, dtype):
    return (wide(array.view("u2")) if dtype == "bf16" else array).astype("f8")


def question_of(call):
    """(its key, what is asked in words, its tensors)."""
    s = call.state
    p, tensors, words = s.problem, {}, []
    for name, t, spec in zip(NAMES, call.tensors, p.tensor):
        tensors[name] = bits(t.x)
        words.append({"rotary_offset": spec.rotary_offset, "rotate": bool(spec.rotate)})
    rows = np.asarray(call.positions).astype("i8")
    tensors["position_ids"] = rows
    for name, t in zip(NAMES, call.tensors):
        if t.rotate:  # a tensor whose table is another one than that of the first has its own
            cos, sin = bits(t.cos[rows]), bits(t.sin[rows])
            if not (np.array_equal(tensors.setdefault("cos", cos), cos, equal_nan=True)
                    and np.array_equal(tensors.setdefault("sin", sin), sin, equal_nan=True)):
                tensors[f"{name}_cos"], tensors[f"{name}_sin"] = cos, sin
    asked = {"pairing": s.pairing, "rotary_dim": p.rotary_dim, "inverse": s.transpose, "scale": s.scale,
             "dtype": s.dtype, "tensors": dict(zip(NAMES, words))}
    seen = hashlib.sha256(json.dumps(asked, sort_keys=True).encode())
    for name in sorted(tensors):
        seen.update(name.encode() + str(tensors[name].shape).encode() + tensors[name].tobytes())
    return seen.hexdigest()[:16], asked, tensors


def right(call, asked, tensors):
    """The definition, so that no question follows from a failure."""
    for t, words in zip(call.tensors, asked["tensors"].values()):
        x = as_f64(bits(t.x), asked["dtype"])
        y = x.copy()
        if words["rotate"]:
            cos, sin = (as_f64(bits(a[tensors["position_ids"]]), "f32")[:, :, None] for a in (t.cos, t.sin))
            if asked["inverse"]:
                sin = -sin
            at, n = words["rotary_offset"], asked["rotary_dim"] // 2
            i, j = elements_of(asked["pairing"], n, at)
            y[..., i] = asked["scale"] * (x[..., i] * cos - x[..., j] * sin)
            y[..., j] = asked["scale"] * (x[..., j] * cos + x[..., i] * sin)
            dtype = asked["dtype"]
            out = narrow(rounded(y, dtype).astype("f4")) if dtype == "bf16" else y.astype(views.NUMPY[dtype])
            keep = np.ones(x.shape[-1], bool)
            keep[at : at + 2 * n] = False
            out[..., keep] = bits(t.x)[..., keep]
        else:
            out = bits(t.x)
        np.copyto(t.y, out)


def ask(call):
    key, asked, tensors = question_of(call)
    path = f"{folder}/{key}.npz"
    if not os.path.exists(path):
        np.savez(f"{path}.part.npz", asked=json.dumps(asked), **tensors)
        os.replace(f"{path}.part.npz", path)
    right(call, asked, tensors)


def answer(call):
    key, asked, _ = question_of(call)
    if key not in answers:
        raise ropewalk.KernelError("this was not asked")
    if path := os.environ.get("ROPEWALK_COMPARED"):
        with open(path, "a", encoding="ascii") as out:
            out.write(key + "\n")
    for name, t in zip(NAMES, call.tensors):
        given = answers[key][name]
        np.copyto(t.y, given.view(t.y.dtype).reshape(t.y.shape))


answers = {}
if file:
    made = dump.read(file, raw=True)
    for number, asked in enumerate(json.loads(made.metadata["questions"])):
        answers[asked["key"]] = {n: made.tensors.get(f"{number}.{n}_out") for n in asked["tensors"]}
ropewalk.kernel(name="answers" if file else "question", pairing=pairing, dtypes=("f32", "f16", "bf16"),
                raw=True, supports=few, thread_safe=False)(answer if file else ask)
