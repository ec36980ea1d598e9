"""One call of a kernel. bind() makes once what depends on addresses alone. What is left for each
call: the rows of the tokens are gathered, the function runs, its result is copied.

Arrays are NumPy's over the caller's memory, on a device too, where nobody reads them on the host.
"""

import ctypes as C
import itertools
import re
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np

from . import contract as c
from .decorator import PAIRINGS
from .views import NUMPY, over, results_of

raised = {}  # thread -> what a function raised at odd strides alone


class State:
    """What prepare knows: a copy of the problem, and its fields in the words of the decorator."""

    def __init__(self, kernel, library, problem):
        p = self.problem = c.Problem.from_buffer_copy(problem)
        p.kept_map = p.axis_of_pair
        self.kernel, self.library, self.norm, self.caches = kernel, library, p.norm, {}
        self.dtype, self.table_dtype, self.pairing = p.dtype, p.table_type, PAIRINGS[p.pairing]
        self.transpose = bool(p.operation)
        self.scale = p.attention_scale or 1.0
        for i in kernel.appends:
            a, t = p.append, p.tensor[i]
            strides = a.page_stride[i], a.slot_stride[i], a.head_stride[i], 1
            self.caches[i] = self.dtype, (a.pages, a.page_size, t.heads, t.head_dim), strides
            self.slots = c.DTYPES[a.slot_dtype], (p.batch, p.tokens), (p.tokens, 1)
        self._choose_planes(p, p.axes)
        self.inv_freq = self._constant(over(p.inv_freq_address, "f64", (p.rotary_dim // 2,), (1,)))
        self.user = kernel.prepare(self) if kernel.prepare else None
        self.bound, self.has_rows = {}, False  # on a device: what gathers the rows of each call

    def _constant(self, array):
        is_raw = self.kernel.arrays == "raw"
        return array.copy() if is_raw else self.library.wrap(self.library.constant(array))

    def _choose_planes(self, p, axes):
        """Shape and strides of the positions and of a table. They begin with the axes, if the function
        takes such. `shifts`: by how many planes the rows of each pair must move, so that the function
        finds them where its own map looks."""
        kernel, given = self.kernel, p.axis_of_pair
        own = np.array(kernel.axis_of_pair or given)
        self.axis_of_pair = self._constant(own) if kernel.axes else None
        self.shifts = (given - own) % axes.axes if axes else ()
        by_pair = self.shifts if kernel.own_angles and axes else [0]
        self.moves, self.call_of_pair = np.unique(by_pair, return_inverse=True)
        axes = axes or c.Axes(axes=min(kernel.axes, default=0))  # strides of 0: equal planes
        p.next = None  # the nodes may lie elsewhere in a call
        sizes = axes.axes, p.batch, p.tokens
        strides = axes.position_axis_stride, p.position_batch_stride, p.position_token_stride
        first = 0 if kernel.axes else 1
        self.positions = sizes[first:], strides[first:]
        first = first if p.table_rows_by == c.ROW_BY_TOKEN else 1  # else one serves all axes
        sizes = axes.axes, p.table_rows, p.rotary_dim // 2
        self.table = sizes[first:], (axes.table_axis_stride, p.table_row_stride, 1)[first:]


def bind(state, operands):
    """The steps of the call of these operands, functions without arguments: those that gather rows,
    which depend on positions and tables alone, and the others."""
    kernel, p = state.kernel, state.problem
    positions = None
    if operands.positions:
        positions = over(operands.positions, c.DTYPES[p.position_dtype], *state.positions)
    tensors = [_tensor(state, p.tensor[i], operands.tensor[i]) for i in range(p.tensor_count)]
    if kernel.raw:
        call = _raw(state, tensors, positions)
        call.stream = operands.stream
        return [], [partial(kernel.function, call)]
    by_token = {} if positions is None else {"positions": positions}
    return _steps(state, tensors, by_token, _norm_and_append(state, operands, by_token))


def _norm_and_append(state, operands, by_token):
    """What the function gets of the two extensions, by the names of its parameters."""
    norm, library, given = state.norm, state.library, operands.norm
    values = {"eps": norm.epsilon} if norm else {}
    for i in state.kernel.normalizes:
        dtype, shape = c.DTYPES[norm.weight_dtype], (state.problem.tensor[i].head_dim,)
        one = 0 if norm.weight_plus_one else 0x3F80 if dtype == "bf16" else 1
        weight = (over(given.weight[i], dtype, shape, (1,)) if given and given.weight[i]
                  else library.constant(np.full(shape, one, NUMPY[dtype])))
        values["qk"[i] + "_weight"] = library.wrap(weight, dtype)
    for i, cache in state.caches.items():
        by_token["slots"] = over(operands.append.slot, *state.slots)
        values["qkv"[i] + "_cache"] = library.wrap(over(operands.append.cache[i], *cache), state.dtype)
    return values


def _tensor(state, s, at):
    """The numpy arrays of one tensor. Tables are [table_rows, rotary_dim / 2] as they lie; by token
    those of all axes, [axes, table_rows, ..]."""
    p, t = state.problem, SimpleNamespace(rotate=bool(s.rotate), in_place=bool(s.in_place))
    shape = p.batch, p.tokens, s.heads, s.head_dim
    t.x = over(at.input, state.dtype, shape, c.strides(s, "in"))
    t.y = over(at.output, state.dtype, shape, c.strides(s, "out")) if at.output else t.x  # to a cache
    first = s.rotary_offset if t.rotate else 0
    end = first + p.rotary_dim if t.rotate else 0
    t.window_in, t.window_out = t.x[..., first:end], t.y[..., first:end]
    # What is not rotated is copied as integers, which keep the payload of a NaN.
    bits = f"i{t.x.itemsize}"
    outside = [] if t.in_place or t.y is t.x else [(..., slice(first)), (..., slice(end, None))]
    t.pass_in = [t.x.view(bits)[part] for part in outside if t.x[part].size]
    t.pass_out = [t.y.view(bits)[part] for part in outside if t.x[part].size]
    t.addresses, t.cos, t.sin = (None, None), None, None
    if t.rotate and not state.kernel.own_angles:
        t.addresses = at.cos, at.sin
        t.cos, t.sin = (over(a, state.table_dtype, *state.table) for a in t.addresses)
    return t


def _raw(state, tensors, positions):
    wrap = state.library.wrap
    for t in tensors:
        for name in ("x", "y", "window_in", "window_out"):
            setattr(t, name, wrap(getattr(t, name), state.dtype))
        t.pass_in, t.pass_out = [wrap(a) for a in t.pass_in], [wrap(a) for a in t.pass_out]
        if t.cos is not None:
            t.cos, t.sin = (wrap(a, state.table_dtype) for a in (t.cos, t.sin))
    positions = None if positions is None else wrap(positions)
    return SimpleNamespace(tensors=tensors, positions=positions, state=state)


def _steps(state, tensors, by_token, always):
    """What gathers rows; then what copies the dims that are not rotated, and runs the function."""
    kernel, p, library = state.kernel, state.problem, state.library
    wrap, steps = library.wrap, []
    runs = [library.copier(b, a) for t in tensors for a, b in zip(t.pass_in, t.pass_out)]
    always.update(pairing=state.pairing, inverse=state.transpose, scale=state.scale)
    always.update(inv_freq=state.inv_freq, rotary_dim=p.rotary_dim, head_dim=p.tensor[0].head_dim)
    always.update(q_heads=p.tensor[0].heads, k_heads=p.tensor[1].heads)
    always.update(half_split=state.pairing == "half_split", axis_of_pair=state.axis_of_pair)
    rows, positions = {}, by_token.get("positions")
    if positions is not None and "position_ids" in kernel.parameters:
        by_token["position_ids"] = library.empty(positions.shape, "i8")
        steps.append(library.copier(by_token["position_ids"], positions))
    moved = [_moved(library, by_token, move, steps) if move else {} for move in state.moves]
    for t in tensors:
        if t.rotate and t.addresses not in rows:  # tensors may share a table
            rows[t.addresses] = {} if kernel.own_angles else _rows(state, t, positions, steps)
    by_row = kernel.is_flat or kernel.layout in ("1THD", "THD")
    for group, row in _groups(state, tensors, rows):
        for b in range(p.batch) if by_row else (None,):
            values = dict(always)
            for name, array in by_token.items():
                values[name] = wrap(array if b is None else array[..., b, :])
            values["moved"] = [{name: wrap(a if b is None else a[..., b, :]) for name, a in each.items()}
                               for each in moved]
            for name, array in row.items():
                values[name] = wrap(_table(kernel, array, b), state.table_dtype)
            runs += _run_group(state, group, values, b)
    return steps, runs


def _moved(library, by_token, move, steps):
    """Positions whose planes are moved, by the name of their parameter. Appends what moves them."""
    out = {name: library.empty(a.shape, a.dtype) for name, a in by_token.items()}
    for name, own in out.items():
        for axis in range(len(own)):
            steps.append(library.copier(own[axis], by_token[name][(axis + move) % len(own)]))
    return out


def _run_group(state, group, values, b):
    """The function with the tensors of a group, and what copies them there and back."""
    kernel, library, before, after, outs = state.kernel, state.library, [], [], []
    values["odd"] = {}
    for name, places in zip(kernel.takes, group):
        if kernel.is_flat and len(places) == 1 and (flat := _as_it_lies(kernel, *places[0][:2], b)):
            x, y = flat
        elif kernel.is_flat:
            sizes = [a.shape[2] * a.shape[3] for a, _, _ in places]
            x = library.empty((places[0][0].shape[1], sum(sizes)), places[0][0].dtype)
            y = x if kernel.returns == "in_place" else library.empty(x.shape, x.dtype)
            at = 0
            for (a, to, written), size in zip(places, sizes):
                part = [flat[:, at : at + size].reshape(a.shape[1:]) for flat in (x, y)]
                at += size
                before.append(library.copier(part[0], a[b]))
                if written and to is not a:
                    after.append(library.copier(to[b], part[1]))
                elif written is None:
                    after.append(library.copy_changed(to[b], part[1]))
            if kernel.layout == "BT3HD":
                x, y = (a.reshape(1, len(a), 3, -1, places[0][0].shape[3]) for a in (x, y))
        else:
            x, y = [_laid_out(a, kernel.layout, b) for a in places[0][:2]]
            if has_odd_strides(x) and kernel.returns == "new" and not kernel.device:
                values["odd"][name] = x
        values[name] = library.wrap(x, state.dtype)
        outs.append(library.wrap(y, state.dtype))
        values[f"{name}_out" if len(kernel.takes) > 1 else "out"] = outs[-1]
    return [*before, _run(state, values, outs[: len(kernel.gives)]), *after]


def has_odd_strides(x):
    """Whether a stride is no multiple of a head's length, or that is odd: no contiguous tensor of a
    model, transpose of it, or slice of its heads has such."""
    head = getattr(x.base, "shape", x.shape)[-1]  # x may be the window in it
    return any(n > 1 and (head % 2 or stride % (head * x.itemsize))
               for n, stride in zip(x.shape[:-1], x.strides))


def _as_it_lies(kernel, a, to, b):
    """Input and output of a batch row as [tokens, heads * head_dim], if a function can take them as
    they lie; else None."""
    x, y = a[b], to[b]
    moves = kernel.returns == "in_place" and x.ctypes.data != y.ctypes.data
    if moves or not (x.flags.c_contiguous and y.flags.c_contiguous):
        return None
    return x.reshape(len(x), -1), y.reshape(len(y), -1)


def _laid_out(array, layout, b):
    """[.., batch, tokens, heads, n] in the layout of the function; THD: that of one batch row."""
    if b is not None:
        return array[..., b : b + 1, :, :, :] if layout == "1THD" else array[..., b, :, :, :]
    swapped = {"BHTD": (-3, -2), "TBHD": (-4, -3)}.get(layout)
    return array.swapaxes(*swapped) if swapped else array


def _table(kernel, array, b):
    """Rows [.., batch, tokens, n] as the function gets them; a whole cache has two axes."""
    if array.ndim == 2:
        return array
    if kernel.heads_axis:
        array = array[..., None, None, :] if kernel.layout == "BT3HD" else array[..., None, :]
        return _laid_out(array, kernel.layout, b)
    if b is not None:
        return array[..., b, :, :]
    return array.swapaxes(-3, -2) if kernel.layout == "TBHD" else array


def _groups(state, tensors, rows):
    """What the function gets in each call, and the rows for it: a list for each parameter, of
    input, output, and whether the output is written."""
    kernel, library = state.kernel, state.library
    rotated = [t for t in tensors if t.rotate]
    own = [rows[t.addresses] for t in rotated]
    if kernel.takes == ("qkv",):
        # In place v is not to be written, so only a change of the function's is carried there.
        q, k, v = [(t.x, t.y, True if t.rotate or not t.in_place else None) for t in tensors]
        if own[0] is own[1]:
            return [([[q, k, v]], own[0])]
        without_q, without_k, without_v = [(*a[:2], False) for a in (q, k, v)]
        return [([[q, without_k, v]], own[0]), ([[without_q, k, without_v]], own[1])]
    whole = kernel.whole
    places = [(t.x, t.y, True) if whole else (t.window_in, t.window_out, True) for t in rotated]
    v = [[(t.x, t.y, True)] for t in tensors[2:3] if "v" in kernel.takes]
    if kernel.takes == ("x",):
        return [([[place]], r) for place, r in zip(places, own)]
    if own[0] is own[1]:
        return [([*([place] for place in places), *v], own[0])]
    # Two tensors with two tables: the function runs once with each, and zeros stand in for the
    # other tensor.
    q, k = places
    no_q, no_k = [(library.zeros(a.shape, a.dtype), library.empty(a.shape, a.dtype), True)
                  for a, *_ in places]
    return [([[q], [no_k], *v], own[0]), ([[no_q], [k], *v], own[1])]


def _rows(state, t, positions, steps):
    """The rows of the tokens by the name of their parameter, each [batch, tokens, n] or
    [axes, batch, tokens, n]. Appends what fills them at each call."""
    kernel, p, library = state.kernel, state.problem, state.library
    shape = *state.positions[0], p.rotary_dim // 2
    flipped = state.transpose and kernel.inverse == "argument"
    sign = -1.0 if flipped and "inverse" not in kernel.parameters else 1.0
    scale = 1.0 if "scale" in kernel.parameters else state.scale
    rows = []
    for table, factor in ((t.cos, scale), (t.sin, scale * sign)):
        own = library.empty(shape, table.dtype)
        if p.table_rows_by == c.ROW_BY_TOKEN:
            strides = *state.table[1][:-2], p.tokens * p.table_row_stride, p.table_row_stride, 1
            given = over(table.ctypes.data, state.table_dtype, shape, strides)
        else:
            given = own
            steps.append(library.gather(table, positions, own))
        if factor != 1.0:
            steps.append(library.times(given, factor, own, state.table_dtype))
            given = own
        if any(state.shifts):
            own = library.empty(shape, table.dtype)
            for a, (i, shift) in itertools.product(range(len(own)), enumerate(state.shifts)):
                row = given[(a + shift) % len(own), ..., i]
                steps.append(library.copier(own[a, ..., i], row))
            given = own
        rows.append(given)
    if kernel.tables == "cache":  # [table_rows, rotary_dim]: only rows that are named are filled
        cache = library.zeros((t.cos.shape[0], p.rotary_dim), t.cos.dtype)
        steps.append(library.fill_rows(cache, positions, *rows))
        return {"table": cache}
    return _in_form(library, kernel.tables, state.pairing, *rows, steps)


def _in_form(library, form, pairing, cos, sin, steps):
    if form == "half":
        return {"cos": cos, "sin": sin}
    *tokens, half = cos.shape
    if form in ("complex", "packed"):
        shape, dtype = (cos.shape, np.result_type(cos.dtype, "c8")) if form == "complex" else (
            (*tokens, 2 * half), cos.dtype)
        table = library.empty(shape, dtype)
        parts = (table.real, table.imag) if form == "complex" else (table[..., :half], table[..., half:])
        steps += [library.copier(part, row) for part, row in zip(parts, (cos, sin))]
        return {"table": table}
    full, halves = {}, pairing == "half_split" or form == "twice"
    for name, row in (("cos", cos), ("sin", sin)):
        full[name] = library.empty((*tokens, 2 * half), row.dtype)
        twice = full[name].reshape(*tokens, *((2, half) if halves else (half, 2)))
        steps.append(library.copier(twice, np.broadcast_to(np.expand_dims(row, -2 if halves else -1), twice.shape)))
    return full


def _run(state, values, outs):
    """Calls the function and copies what it returns into `outs`."""
    kernel, library = state.kernel, state.library
    state.given = {name: tuple(x.shape) for name, x in values.items() if getattr(x, "ndim", 0) > 1}

    def calling(given):
        if state.transpose and kernel.inverse == "autograd":
            return library.gradient(kernel, given, outs)
        return library.calling(kernel.function, *kernel.arguments(given))

    def at_strides(given):
        call = calling(given)
        return partial(_or_contiguous, state, call, calling, given) if given["odd"] else call

    call, *others = [at_strides({**values, **moved}) for moved in values["moved"]]
    if kernel.returns != "new":
        return call
    if others:
        return partial(_run_moved, state, (call, *others), outs)
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


def shapes_given(state, error):
    """Of an error about shapes: what the function was given, and the words that change it."""
    given = getattr(state, "given", None)  # by name; of a raw function nothing
    if not given or not re.search("shape|size|dimension|broadcast", str(error)):
        return ""
    shapes = [f"{name} {given[name]}" for name in state.kernel.parameters if name in given]
    words = "layout=" if state.kernel.own_angles else "layout=, tables=, heads_axis="
    return f"; given {', '.join(shapes)}: see {words}"


def _or_contiguous(state, call, calling, given):
    """A call at odd strides. If it raises, and does not with contiguous copies, it counts with them,
    and `raised` has the exception: which strides a function takes is a matter of contract."""
    try:
        return call()
    except Exception as error:
        copies = {name: state.library.wrap(np.ascontiguousarray(x), state.dtype)
                  for name, x in given["odd"].items()}
        try:
            returned = calling({**given, **copies, "odd": {}})()
        except Exception:
            raise error from None
        raised[threading.get_ident()] = error
        return returned


def _run_moved(state, calls, outs):
    """Takes each pair from the call in which the map of the function finds the axis of the pair."""
    kernel, library, half = state.kernel, state.library, len(state.call_of_pair)
    first = (kernel.whole and kernel.rotary_offset) or 0
    returned = [results_of(kernel, call()) for call in calls]
    for i, out in enumerate(outs):
        for values in returned:
            library.check(values[i], out)
        for d in range(out.shape[-1]):
            pair = (d - first) % half if state.pairing == "half_split" else (d - first) // 2 % half
            library.copy(out[..., d : d + 1], returned[state.call_of_pair[pair]][i][..., d : d + 1])


def warm_up(state):
    """Calls the function once on arrays of prepare's own, with the strides of the problem."""
    p, o, rooms = state.problem, c.Operands(), []

    def room(dtype, sizes, strides):
        elements = 1 + sum((n - 1) * s for n, s in zip(sizes, strides) if n > 1)
        rooms.append(state.library.room(elements, dtype))
        return None if rooms[-1] is None else rooms[-1].ctypes.data

    o.positions = room(c.DTYPES[p.position_dtype], *state.positions)
    for i in range(p.tensor_count):
        s, at = p.tensor[i], o.tensor[i]
        shape = p.batch, p.tokens, s.heads, s.head_dim
        at.input = at.output = room(state.dtype, shape, c.strides(s, "in"))
        if i in state.kernel.appends:
            at.output = None
        elif not s.in_place:
            at.output = room(state.dtype, shape, c.strides(s, "out"))
        if s.rotate and not state.kernel.own_angles:
            at.cos = at.sin = room(state.table_dtype, *state.table)
    append = c.AppendOperands(kind=c.EXT_APPEND)
    for i in state.kernel.appends:
        o.next, append.slot = C.addressof(append), room(*state.slots)
        append.cache[i] = room(*state.caches[i])
    if not any(one is None for one in rooms):
        gather, runs = bind(state, o)
        for step in (*state.library.before, *gather, *runs):
            step()
    if state.kernel.device:
        state.library.finish()
