"""Functions of PyTorch on a device, in the forms in which it gets its arrays. All are right."""

import contextlib

import ropewalk
import torch

WORDS = {"pairing": "half_split", "device": "cuda"}


def turned(x, cos, sin):
    a, b = x.to(cos.dtype).chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


@ropewalk.kernel(arrays="torch", dtypes=("f64", "f32", "f16", "bf16"), inverse="autograd", **WORDS)
def torch_new(x, cos, sin):
    return turned(x, cos, sin)


@ropewalk.kernel(arrays="torch", returns="in_place", tables="twice", heads_axis=False,
                 layout="BHTD", **WORDS)
def torch_in_place(q, k, cos, sin):
    half = cos.shape[-1] // 2
    cos, sin = cos[:, None, :, :half], sin[:, None, :, :half]
    for x in (q, k):
        x.copy_(turned(x, cos, sin))


@ropewalk.kernel(arrays="torch", tables="cache", dtypes="bf16", **WORDS)
def torch_cache(x, position_ids, table, out):
    cos, sin = table[position_ids][:, :, None].chunk(2, dim=-1)
    out.copy_(turned(x, cos, sin))


@ropewalk.kernel(arrays="raw", raw=True, dtypes=("f32", "bf16"), **WORDS)
def raw(call):
    on_host = torch.from_dlpack(call.tensors[0].x).is_cpu  # with the stand-in for the driver
    stream = contextlib.nullcontext() if on_host else torch.cuda.stream(
        torch.cuda.ExternalStream(call.stream))
    with stream:
        turn_all(call)


def turn_all(call):
    state = call.state
    for t in call.tensors:
        for a, b in zip(t.pass_in, t.pass_out):
            torch.from_dlpack(b).copy_(torch.from_dlpack(a))
        if not t.rotate:
            continue
        x, y, cos, sin = map(torch.from_dlpack, (t.window_in, t.window_out, t.cos, t.sin))
        if state.problem.table_rows_by == 0:
            at = torch.from_dlpack(call.positions).long()
        else:
            at = torch.arange(x.shape[0] * x.shape[1], device=x.device).view(x.shape[:2])
        cos, sin = (v[at][:, :, None] * state.scale for v in (cos, sin))
        y.copy_(turned(x, cos, -sin if state.transpose else sin))
