"""Arrays over the caller's memory, with its strides. Nothing is copied or made contiguous here."""

import contextvars
import ctypes as C
import importlib
import mmap
from functools import partial

import numpy as np

from .decorator import KernelError

# bf16 as its bits; `wrap` of a library makes its own type of them
NUMPY = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "i2", "i32": "i4", "i64": "i8"}


def over(address, dtype, shape, strides):
    """The numpy array at an address. Strides count elements."""
    item = np.dtype(NUMPY[dtype])
    # The contract gives the stride of an axis of size 1 no meaning. Some kernels read it: it is the
    # size of what lies inside.
    steps, inside = [], item.itemsize
    for n, s in zip(reversed(shape), reversed(strides)):
        steps.insert(0, inside if n == 1 else s * item.itemsize)
        inside = steps[0] * n
    span = sum((n - 1) * s for n, s in zip(shape, steps)) + item.itemsize
    return np.ndarray(shape, item, (C.c_char * span).from_address(address), 0, steps)


class Library:
    """Numpy, and what the others have in common."""

    name = "numpy"
    before = ()  # what each call begins with

    def __init__(self):
        self.module = self.load()
        self.array = getattr(self.module, "ndarray", None)

    def load(self):
        return importlib.import_module(self.name)

    def refusal(self, dtype):
        """Why data of this type cannot be given, or None."""
        if dtype == "bf16" and self.bfloat16() is None:
            return "numpy has no bf16 without the package ml_dtypes"
        return None

    def bfloat16(self):
        try:
            return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
        except ImportError:
            return None

    def wrap(self, array, dtype=None):
        """The array that a function gets for a numpy array."""
        return array.view(self.bfloat16()) if dtype == "bf16" else array

    def begin(self, kernel):
        """Starts at load what the library would start in the first call."""

    def calling(self, function, positional, named):
        """A function without arguments that makes this call."""
        return lambda: function(*positional, **named)

    def check(self, value, wanted):
        """Raises unless value is an array like `wanted`."""
        if not isinstance(value, self.array):
            kind = type(value).__name__ if value is not None else "None"
            raise KernelError(f"returned {kind}, not an array of {self.name}")
        if value.shape != wanted.shape:
            raise KernelError(f"returned shape {tuple(value.shape)}, not {tuple(wanted.shape)}")
        if value.dtype != wanted.dtype:
            raise KernelError(f"returned {value.dtype}, not {wanted.dtype}")

    def copy(self, to, value):
        to[...] = value

    # What a call needs beside the function: memory of its own, and functions without arguments that
    # fill it. On a device these are of the library (on_device.py).

    def own(self, array):
        """The array that these functions work on."""
        return array

    def empty(self, shape, dtype):
        return np.empty(shape, dtype)

    def zeros(self, shape, dtype):
        return np.zeros(shape, dtype)

    def constant(self, array):
        return array

    def copier(self, to, value):
        return partial(np.copyto, to, value)

    def copy_changed(self, to, value):
        def copy():
            bits = f"i{to.itemsize}"
            changed = to.view(bits) != value.view(bits)
            to[changed] = value[changed]

        return copy

    def gather(self, table, positions, rows):
        if table.flags.c_contiguous:
            return partial(table.take, positions, 0, rows, "clip")  # "raise" would use a buffer
        return lambda: np.copyto(rows, table[positions])  # take would copy all of a table with gaps

    def times(self, given, factor, own, dtype):
        if dtype == "bf16":
            return lambda: np.copyto(own, narrow(wide(given) * np.float32(factor)).view("i2"))
        return partial(np.multiply, self.own(given), own.dtype.type(factor), out=self.own(own))

    def fill_rows(self, cache, positions, cos, sin):
        """Puts the rows of these positions into a cache."""
        cache, positions, cos, sin = map(self.own, (cache, positions, cos, sin))
        half = cos.shape[-1]

        def fill():
            cache[positions, :half] = cos
            cache[positions, half:] = sin

        return fill

    def room(self, elements, dtype):
        """Memory for a first call of prepare's own, as an array; None: there is none. Rows may lie
        gigabytes apart, so only the pages that are touched may take memory."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
        item = np.dtype(NUMPY[dtype])
        return np.ndarray(elements, item, mmap.mmap(-1, elements * item.itemsize, flags=flags))


def wide(bits):
    """The f32 numbers of the bits of bf16."""
    bits = bits.astype("u4")
    bits <<= 16
    return bits.view("f4")


def narrow(values):
    """The bits of the nearest bf16 numbers of f32; ties to even."""
    bits = values.view("u4")
    return ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype("u2")


class Torch(Library):
    name = "torch"
    one_thread = False  # is a backward pass for a device

    def __init__(self):
        super().__init__()
        torch, ready = self.module, contextvars.ContextVar("ready", default=False)
        self.array, self.compiles = torch.Tensor, False
        torch.set_num_threads(1)  # a timed kernel has one thread

        def get_thread_ready():  # both switches are per thread, and callers have threads
            if not ready.get():
                ready.set(True)
                torch.set_grad_enabled(False)
                if self.one_thread:
                    torch.autograd.set_multithreading_enabled(False)
                if self.compiles:
                    self.never_fall_back()

        self.before = (get_thread_ready,)

    def refusal(self, dtype):
        return None

    def wrap(self, array, dtype=None):
        tensor = self.module.from_numpy(array)
        return tensor.view(self.module.bfloat16) if dtype == "bf16" else tensor

    def begin(self, kernel):
        torch = self.module
        one = torch.ones(4)
        if kernel.inverse == "autograd":
            with torch.enable_grad():
                leaf = one.clone().requires_grad_()
                torch.autograd.grad(leaf * 2, leaf, one)
        if kernel.compiles:
            self.never_fall_back()
            torch.compile(lambda x: x + 1)(one)

    def never_fall_back(self):
        """Falling back to eager would judge and time another function, so it is an error. The
        limits are raised because verify makes more shapes than a model has."""
        self.compiles = True
        config = importlib.import_module("torch._dynamo").config
        if not hasattr(config, "fail_on_recompile_limit_hit"):
            raise KernelError(f"torch {self.module.__version__} falls back to eager in silence: "
                              "compiles=True needs torch._dynamo.config.fail_on_recompile_limit_hit")
        config.fail_on_recompile_limit_hit = True
        config.recompile_limit = config.accumulated_recompile_limit = 1 << 16

    def check(self, value, wanted):
        super().check(value, wanted)
        if value.device != wanted.device:
            raise KernelError(f"returned a tensor on {value.device}, not on {wanted.device}")

    def copy(self, to, value):
        to.copy_(value)

    def gradient(self, kernel, values, wanted):
        """The backward pass: a call that gives the gradients for the given tensors as grad_output.

        The function is linear in them, so the values at which it is asked do not matter."""
        torch, given = self.module, [values[name] for name in kernel.takes]

        def call():
            with torch.enable_grad():
                leaves = [g.detach().requires_grad_() for g in given]
                positional, named = kernel.arguments({**values, **dict(zip(kernel.takes, leaves))})
                forward = kernel.function(*positional, **named)
                results = results_of(kernel, forward)
                for result, like in zip(results, wanted):
                    self.check(result, like)
                gradients = torch.autograd.grad(results, leaves, given)
            return gradients if len(leaves) == 2 else gradients[0]

        return call


class Jax(Library):
    name = "jax"

    def __init__(self):
        super().__init__()
        self.array = self.module.Array
        # Threads begin at the first jit, and no entry of a kernel may begin one.
        self.module.jit(lambda x: x + 1)(np.ones(4, "f4")).block_until_ready()

    def refusal(self, dtype):
        if dtype == "f64" and not self.module.config.jax_enable_x64:
            return "jax makes f32 of f64 unless jax_enable_x64 is set"
        return None

    def calling(self, function, positional, named):
        asarray = self.module.numpy.asarray

        def given(value):
            return asarray(value) if isinstance(value, np.ndarray) else value

        return lambda: function(*map(given, positional),
                                **{n: given(v) for n, v in named.items()})


LIBRARIES = {library.name: library for library in (Library, Torch, Jax)}


def results_of(kernel, returned):
    """What a function returned, as a list of one array for each tensor that it gives."""
    if len(kernel.gives) == 1:
        return [returned]
    if not isinstance(returned, (tuple, list)):
        raise KernelError(f"returned {type(returned).__name__}, not two arrays")
    if len(returned) != 2:
        raise KernelError(f"returned {len(returned)} arrays, not 2")
    return returned
