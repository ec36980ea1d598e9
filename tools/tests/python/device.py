"""Functions on a device: right ones, and what each wrong one does. With the stand-in for the driver
CuPy's place is NumPy's."""

import gc
import weakref

import numpy as np
import ropewalk
from ropewalk import host

WORDS = {"pairing": "half_split", "arrays": "cupy", "device": "cuda"}


def turned(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1).astype(x.dtype)


@ropewalk.kernel(dtypes=("f64", "f32", "f16"), **WORDS)
def right_new(x, cos, sin):
    return turned(x, cos, sin)


@ropewalk.kernel(**WORDS)
def right_out(x, cos, sin, out):
    out[...] = turned(x, cos, sin)


@ropewalk.kernel(returns="in_place", layout="TD", tables="packed", heads_axis=False,
                 rotary_dim="head_dim", **WORDS)
def right_in_place(x, table, head_dim):
    heads = x.reshape(x.shape[0], -1, head_dim)
    heads[...] = turned(heads, *np.split(table[:, None], 2, axis=-1))


alive = weakref.WeakSet()
gc.disable()


@ropewalk.kernel(name="right_if_states_are_freed", **WORDS)
def counts_states(x, cos, sin):
    alive.update(host.states.values())
    assert len(alive) <= 2 + len(host.states), "released states are alive"
    return turned(x, cos, sin)


@ropewalk.kernel(**WORDS)
def rotates_back(x, cos, sin):
    return turned(x, cos, -sin)


@ropewalk.kernel(**WORDS)
def other_pairing(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack((a * cos - b * sin, b * cos + a * sin), axis=-1).reshape(x.shape)


@ropewalk.kernel(**WORDS)
def leaves_outputs(x, cos, sin, out):
    half = x.shape[-1] // 2
    out[..., :half] = turned(x, cos, sin)[..., :half]


@ropewalk.kernel(**WORDS)
def writes_its_input(x, cos, sin):
    out = turned(x, cos, sin)
    np.negative(x, x)
    return out


@ropewalk.kernel(**WORDS)
def writes_past(x, cos, sin, out):
    out[...] = turned(x, cos, sin)
    behind = np.lib.stride_tricks.as_strided(out[-1, -1, -1], (out.shape[-1] + 16,), (4,))
    behind[-1] = 1


@ropewalk.kernel(**WORDS)
def rounds_to_f16(x, cos, sin):
    return turned(x, cos.astype("f2"), sin.astype("f2"))


@ropewalk.kernel(**WORDS)
def returns_a_list(x, cos, sin):
    return turned(x, cos, sin).tolist()


@ropewalk.kernel(**WORDS)
def returns_f64(x, cos, sin):
    return turned(x, cos, sin).astype("f8")


@ropewalk.kernel(**WORDS)
def raises(x, cos, sin):
    raise ValueError("no rotation today")


kept = {}


@ropewalk.kernel(**WORDS)
def keeps_results(x, cos, sin, out):
    out[...] = kept.setdefault(x.shape, turned(x, cos, sin))


# What follows is right until it is timed, and takes one shape, so that it is soon judged.


def one_shape(p):
    fits = (p.batch, p.tokens, p.tensor[0].heads, p.tensor[0].head_dim) == (1, 4, 2, 8)
    return None if fits else "takes one shape alone"


def is_timed():
    return any(state.has_rows for state in host.states.values())


CHEAT = {"returns": "in_place", "supports": one_shape, "thread_safe": False, **WORDS}


@ropewalk.kernel(**CHEAT)
def timed_right(x, cos, sin):
    x[...] = turned(x, cos, sin)


@ropewalk.kernel(**CHEAT)
def timed_rests(x, cos, sin):
    if not is_timed():
        x[...] = turned(x, cos, sin)


@ropewalk.kernel(**CHEAT)
def timed_repeats(x, cos, sin):
    result = turned(x, cos, sin)
    x[...] = kept.setdefault(x.ctypes.data, result) if is_timed() else result


@ropewalk.kernel(**CHEAT)
def timed_raises(x, cos, sin):
    if is_timed():
        raise ValueError("not while it is timed")
    x[...] = turned(x, cos, sin)
