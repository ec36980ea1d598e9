"""Right kernels in NumPy. The planted errors beside this file start from them."""
import numpy as np
import ropewalk

ALL = ("f64", "f32", "f16", "bf16")


def halves(x, pairing):
    """The first and the second elements of all pairs, as views."""
    if pairing == "half_split":
        return np.split(x, 2, axis=-1)
    return x[..., 0::2], x[..., 1::2]


def rotate(x, cos, sin, out, pairing):
    """Computes in the type of the table and rounds once, on the store; x may be out."""
    a, b = halves(x, pairing)
    first, second = a * cos - b * sin, b * cos + a * sin
    u, v = halves(out, pairing)
    u[...] = first
    v[...] = second


def without_frequencies(problem):
    right = problem.inv_freq.shape == (problem.rotary_dim // 2,) and problem.inv_freq.dtype == "f8"
    return None if right else "the frequencies are no array of rotary_dim / 2 numbers"


@ropewalk.kernel(pairing="both", dtypes=ALL, in_place=True, supports=without_frequencies)
def right_out(x, cos, sin, out, pairing):
    rotate(x, cos, sin, out, pairing)


@ropewalk.kernel(pairing="both", dtypes=ALL)
def right_new(x, cos, sin, pairing):
    y = np.empty(x.shape, x.dtype)
    rotate(x, cos, sin, y, pairing)
    return y


@ropewalk.kernel(pairing="both", dtypes=ALL, returns="in_place")
def right_in_place(x, cos, sin, pairing):
    rotate(x, cos, sin, x, pairing)


@ropewalk.kernel(pairing="both", dtypes=ALL)
def right_q_k(q, k, cos, sin, q_out, k_out, pairing):
    rotate(q, cos, sin, q_out, pairing)
    rotate(k, cos, sin, k_out, pairing)


@ropewalk.kernel(pairing="both", dtypes=ALL, layout="BHTD", tables="packed")
def right_packed(x, table, out, pairing):
    rotate(x, *np.split(table, 2, axis=-1), out, pairing)


@ropewalk.kernel(pairing="half_split", dtypes=ALL, layout="THD", tables="full")
def right_full(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return (x * cos + np.concatenate((-b, a), axis=-1) * sin).astype(x.dtype)


@ropewalk.kernel(pairing="interleaved", dtypes=("f64", "f32"), tables="complex")
def right_complex(x, table):
    z = x[..., 0::2] + 1j * x[..., 1::2]
    z *= table
    return np.stack((z.real, z.imag), axis=-1).reshape(x.shape).astype(x.dtype)


# Not f64: at position 2^31 an angle in longdouble errs by up to 2^-32.
@ropewalk.kernel(pairing="both", dtypes=("f32", "f16", "bf16"), angles="exact")
def right_exact(x, positions, inv_freq, out, pairing, inverse, scale):
    angle = positions[..., None, None].astype(np.longdouble) * inv_freq
    cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
    rotate(x, cos, -sin if inverse else sin, out, pairing)


@ropewalk.kernel(pairing="both", dtypes=ALL, raw=True)
def right_raw(call):
    p = call.state.problem
    by_token = np.arange(p.batch * p.tokens).reshape(p.batch, p.tokens)
    rows = by_token if p.table_rows_by else call.positions
    for t in call.tensors:
        for a, b in zip(t.pass_in, t.pass_out):
            b[...] = a
        if t.rotate:
            cos, sin = (table[rows][:, :, None] * call.state.scale for table in (t.cos, t.sin))
            rotate(t.window_in, cos, -sin if call.state.transpose else sin, t.window_out,
                   call.state.pairing)


class Model:
    """What assert_rope finds by the variable that holds it: its method, and a closure."""

    def turn(self, x, cos, sin):
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)


def closed_over(held):
    return lambda x, cos, sin: held.turn(x, cos, sin)


model = Model()
closure = closed_over(model)
