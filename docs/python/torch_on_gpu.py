import torch
import ropewalk

WORDS = {"pairing": "half_split", "arrays": "torch", "device": "cuda", "layout": "BHTD",
         "tables": "twice", "heads_axis": False, "dtypes": ("f32", "f16", "bf16")}


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rope(q, k, cos, sin):  # as models of Hugging Face have it
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return [(x.to(cos.dtype) * cos + rotate_half(x.to(cos.dtype)) * sin).to(x.dtype) for x in (q, k)]


ropewalk.kernel(name="torch_eager", **WORDS)(rope)
ropewalk.kernel(name="torch_compiled", compiles=True, **WORDS)(torch.compile(rope))
