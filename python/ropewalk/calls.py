"""One call of a kernel. bind() makes once what depends on addresses alone. What is left for each
call: the rows of the tokens are gathered, the function runs, its result is copied.
"""

import ctypes as C
import mmap
from functools import partial
from types import SimpleNamespace

import numpy as np

from . import contract as c
from .views import NUMPY, over, results_of


class State:
    """What prepare knows: a copy of the problem, and its fields in the words of the decorator."""

    def __init__(self, kernel, library, problem):
        p = self.problem = c.Problem.from_buffer_copy(problem)
        self.kernel, self.library = kernel, library
        self.dtype, self.table_dtype = c.DTYPES[p.tensor[0].in_dtype], c.DTYPES[p.table_dtype]
        self.pairing = "half_split" if p.pairing == c.HALF_SPLIT else "interleaved"
        self.transpose = p.operation == c.TRANSPOSE
        self.scale = p.attention_scale or 1.0
        self.inv_freq = library.wrap(over(p.inv_freq_address, "f64", (p.rotary_dim // 2,), (1,)))
        self.user = kernel.prepare(self) if kernel.prepare else None


def bind(state, operands):
    """The steps of the call of these operands: functions without arguments."""
    kernel, p = state.kernel, state.problem
    positions = None
    if operands.positions:
        strides = p.position_batch_stride, p.position_token_stride
        shape = p.batch, p.tokens
        positions = over(operands.positions, c.DTYPES[p.position_dtype], shape, strides)
    tensors = [_tensor(state, p.tensor[i], operands.tensor[i]) for i in range(p.tensor_count)]
    if kernel.raw:
        return (*state.library.before, partial(kernel.function, _raw(state, tensors, positions)))
    return (*state.library.before, *_steps(state, tensors, positions))


def _tensor(state, s, at):
    """The numpy arrays of one tensor. Tables are [table_rows, rotary_dim / 2] as they lie."""
    p, t = state.problem, SimpleNamespace(rotate=bool(s.rotate), in_place=bool(s.in_place))
    shape = p.batch, p.tokens, s.heads, s.head_dim
    in_strides = s.in_batch_stride, s.in_token_stride, s.in_head_stride, 1
    out_strides = s.out_batch_stride, s.out_token_stride, s.out_head_stride, 1
    t.x = over(at.input, state.dtype, shape, in_strides)
    t.y = over(at.output, state.dtype, shape, out_strides)
    first = s.rotary_offset if t.rotate else 0
    end = first + p.rotary_dim if t.rotate else 0
    t.window_in, t.window_out = t.x[..., first:end], t.y[..., first:end]
    # What is not rotated is copied as integers, which keep the payload of a NaN.
    bits = f"i{t.x.itemsize}"
    outside = [] if t.in_place else [(..., slice(first)), (..., slice(end, None))]
    t.pass_in = [t.x.view(bits)[part] for part in outside if t.x[part].size]
    t.pass_out = [t.y.view(bits)[part] for part in outside if t.x[part].size]
    t.addresses, t.cos, t.sin = (None, None), None, None
    if t.rotate and not state.kernel.own_angles:
        t.addresses = at.cos, at.sin
        size, strides = (p.table_rows, p.rotary_dim // 2), (p.table_row_stride, 1)
        t.cos, t.sin = (over(a, state.table_dtype, size, strides) for a in t.addresses)
    return t


def _raw(state, tensors, positions):
    wrap = state.library.wrap
    for t in tensors:
        for name in ("x", "y", "window_in", "window_out"):
            setattr(t, name, wrap(getattr(t, name), state.dtype))
        t.pass_in, t.pass_out = [wrap(a) for a in t.pass_in], [wrap(a) for a in t.pass_out]
        if t.cos is not None:
            t.cos, t.sin = wrap(t.cos), wrap(t.sin)
    positions = None if positions is None else wrap(positions)
    return SimpleNamespace(tensors=tensors, positions=positions, state=state)


def _steps(state, tensors, positions):
    """Copies what is not rotated, then gathers rows, then runs the function."""
    kernel, p, wrap = state.kernel, state.problem, state.library.wrap
    steps = [partial(np.copyto, b, a) for t in tensors for a, b in zip(t.pass_in, t.pass_out)]
    always = {"pairing": state.pairing, "inverse": state.transpose, "scale": state.scale}
    always["inv_freq"] = state.inv_freq
    rows, runs = {}, []
    for t in tensors:
        if t.rotate and t.addresses not in rows:  # tensors may share a table
            rows[t.addresses] = {} if kernel.own_angles else _rows(state, t, positions, steps)
    for group, row in _groups(kernel, [t for t in tensors if t.rotate], rows):
        for b in range(p.batch) if kernel.layout == "THD" else (None,):
            values = dict(always)
            if positions is not None:
                values["positions"] = wrap(positions if b is None else positions[b])
            for name, array in row.items():
                values[name] = wrap(_laid_out(array[:, :, None], kernel.layout, b))
            outs = []
            for name, (window_in, window_out) in zip(kernel.takes, group):
                values[name] = wrap(_laid_out(window_in, kernel.layout, b), state.dtype)
                outs.append(wrap(_laid_out(window_out, kernel.layout, b), state.dtype))
                values["out" if name == "x" else name + "_out"] = outs[-1]
            runs.append(_run(state, values, outs))
    return steps + runs


def _laid_out(array, layout, b):
    """[batch, tokens, heads, n] in the layout of the function; THD: that of one batch row."""
    if layout == "THD":
        return array[b]
    return array.transpose(0, 2, 1, 3) if layout == "BHTD" else array


def _groups(kernel, rotated, rows):
    """The windows that the function gets in each call, and the rows for them."""
    windows = [(t.window_in, t.window_out) for t in rotated]
    own = [rows[t.addresses] for t in rotated]
    if kernel.takes == ("x",):
        return [([w], r) for w, r in zip(windows, own)]
    if own[0] is own[1]:
        return [(windows, own[0])]
    # Two tensors with two tables: the function runs once with each, and zeros stand in for the
    # other tensor.
    q, k = windows
    no_q, no_k = [(np.zeros(w.shape, w.dtype), np.empty(w.shape, w.dtype)) for w, _ in windows]
    return [([q, no_k], own[0]), ([no_q, k], own[1])]


def _rows(state, t, positions, steps):
    """The rows of the tokens by the name of their parameter, each [batch, tokens, n]. Appends what
    fills them at each call."""
    kernel, p = state.kernel, state.problem
    shape = p.batch, p.tokens, p.rotary_dim // 2
    flipped = state.transpose and kernel.inverse == "argument"
    sign = -1.0 if flipped and "inverse" not in kernel.parameters else 1.0
    scale = 1.0 if "scale" in kernel.parameters else state.scale
    rows = []
    for table, address, factor in (
        (t.cos, t.addresses[0], scale),
        (t.sin, t.addresses[1], scale * sign),
    ):
        own = np.empty(shape, table.dtype)
        if p.table_rows_by == c.ROW_BY_TOKEN:
            strides = p.tokens * p.table_row_stride, p.table_row_stride, 1
            given = over(address, state.table_dtype, shape, strides)
        else:
            given = own
            steps.append(_gather(table, positions, own))
        if factor != 1.0:
            steps.append(partial(np.multiply, given, own.dtype.type(factor), own))
            given = own
        rows.append(given)
    return _in_form(kernel.tables, state.pairing, *rows, steps)


def _gather(table, positions, rows):
    if table.flags.c_contiguous:
        return partial(table.take, positions, 0, rows, "clip")  # "raise" would use a buffer

    def gather():  # take would first copy all of a table with gaps
        rows[...] = table[positions]

    return gather


def _in_form(form, pairing, cos, sin, steps):
    if form == "half":
        return {"cos": cos, "sin": sin}
    batch, tokens, half = cos.shape
    if form == "complex":
        table = np.empty(cos.shape, np.result_type(cos.dtype, "c8"))
        steps += [partial(np.copyto, table.real, cos), partial(np.copyto, table.imag, sin)]
        return {"table": table}
    if form == "packed":
        table = np.empty((batch, tokens, 2 * half), cos.dtype)
        steps += [partial(np.copyto, table[..., :half], cos)]
        steps += [partial(np.copyto, table[..., half:], sin)]
        return {"table": table}
    full = {}
    for name, row in (("cos", cos), ("sin", sin)):
        full[name] = np.empty((batch, tokens, 2 * half), row.dtype)
        if pairing == "half_split":
            twice, row = full[name].reshape(batch, tokens, 2, half), row[:, :, None]
        else:
            twice, row = full[name].reshape(batch, tokens, half, 2), row[..., None]
        steps.append(partial(np.copyto, twice, row))
    return full


def _run(state, values, outs):
    """Calls the function and copies what it returns into `outs`."""
    kernel, library = state.kernel, state.library
    if state.transpose and kernel.inverse == "autograd":
        call = library.gradient(kernel, values, outs)
    else:
        call = library.calling(kernel.function, *kernel.arguments(values))
    if kernel.returns != "new":
        return call
    check, copy = library.check, library.copy
    if len(outs) == 1:
        out = outs[0]

        def run():
            value = call()
            check(value, out)
            copy(out, value)

        return run

    def run_pair():
        returned = results_of(kernel, call())
        for value, out in zip(returned, outs):
            check(value, out)
        for value, out in zip(returned, outs):
            copy(out, value)

    return run_pair


def warm_up(state):
    """Calls the function once on arrays of prepare's own, with the strides of the problem."""
    p, o, rooms = state.problem, c.Operands(), []

    def room(dtype, sizes, strides):
        elements = 1 + sum((n - 1) * s for n, s in zip(sizes, strides) if n > 1)
        # Rows may lie gigabytes apart, so only the pages that are touched may take memory.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
        rooms.append(mmap.mmap(-1, elements * np.dtype(NUMPY[dtype]).itemsize, flags=flags))
        return C.addressof(C.c_char.from_buffer(rooms[-1]))

    strides = p.position_batch_stride, p.position_token_stride
    o.positions = room(c.DTYPES[p.position_dtype], (p.batch, p.tokens), strides)
    for i in range(p.tensor_count):
        s, at = p.tensor[i], o.tensor[i]
        shape = p.batch, p.tokens, s.heads, s.head_dim
        strides = s.in_batch_stride, s.in_token_stride, s.in_head_stride, 1
        at.input = at.output = room(state.dtype, shape, strides)
        if not s.in_place:
            strides = s.out_batch_stride, s.out_token_stride, s.out_head_stride, 1
            at.output = room(state.dtype, shape, strides)
        if s.rotate and not state.kernel.own_angles:
            size, strides = (p.table_rows, p.rotary_dim // 2), (p.table_row_stride, 1)
            at.cos = at.sin = room(state.table_dtype, size, strides)
    for step in bind(state, o):
        step()
