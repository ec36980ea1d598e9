"""Arrays on a CUDA device, over memory that the worker owns, and the streams on which calls run.

Until a function gets it, an array is a NumPy array over the address on the device: it knows shape and
strides, and nobody reads it on the host. `wrap` makes an array of the library of it, without a copy.

The stand-in for the driver (harness/testing/standin) has its device memory on the host. There the
same code runs with arrays of the host, as work of a stream that replays as often as a graph does.
"""

import contextlib
import ctypes as C
import itertools
import os
from functools import partial

import numpy as np

from .decorator import KernelError
from .views import NUMPY, Library, Torch

CPU, CUDA = 1, 2  # kinds of device of DLPack


class Driver:
    """The driver that the worker uses."""

    def __init__(self):
        try:
            self.library = C.CDLL(os.environ.get("ROPEWALK_CUDA_DRIVER") or "libcuda.so.1")
        except OSError:
            self.library = None
        self.is_stand_in = hasattr(self.library, "ropewalk_standin_launch")

    def launch(self, stream, function, data):
        """Puts a function of the host on a stream of the stand-in."""
        text, pointers = C.c_char_p(), (C.c_void_p(stream), C.cast(function, C.c_void_p))
        if answer := self.library.ropewalk_standin_launch(*pointers, C.c_void_p(data)):
            self.library.cuGetErrorString(answer, C.byref(text))
            raise KernelError(text.value.decode())


class _Dlpack(C.Structure):
    """DLManagedTensor"""

    _fields_ = [
        ("data", C.c_void_p), ("kind", C.c_int32), ("index", C.c_int32), ("axes", C.c_int32),
        ("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16), ("shape", C.c_void_p),
        ("strides", C.c_void_p), ("offset", C.c_uint64), ("context", C.c_void_p),
        ("deleter", C.c_void_p),
    ]  # fmt: skip


_handed_out = {}  # address of a _Dlpack -> what it points to
_numbers = itertools.count(1)
_drop = C.CFUNCTYPE(None, C.c_void_p)(lambda address: _handed_out.pop(address, None) and None)
_capsule = C.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = C.py_object, [C.c_void_p, C.c_char_p, C.c_void_p]
_capsule_name = C.c_char_p(b"dltensor")


class DeviceArray:
    """Memory of the device as any library takes it: by DLPack, or by __cuda_array_interface__, which
    has no bf16: there it has int16. `strides` count bytes."""

    def __init__(self, shell, dtype=None, kind=CUDA):
        self.shell, self.kind, self.ptr = shell, kind, shell.ctypes.data
        self.shape, self.strides = shell.shape, shell.strides
        self.dtype = dtype or shell.dtype.name
        if kind == CUDA:
            self.__cuda_array_interface__ = {
                "shape": self.shape, "strides": self.strides, "typestr": shell.dtype.str,
                "data": (self.ptr, False), "version": 3, "stream": None,
            }  # fmt: skip

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None, **_):
        item, axes = self.shell.itemsize, len(self.shape)
        lengths = (C.c_int64 * (2 * axes))(*self.shape, *[s // item for s in self.strides])
        begin = C.addressof(lengths)
        code = 4 if self.dtype == "bf16" else {"i": 0, "u": 1, "f": 2, "c": 5}[self.shell.dtype.kind]
        made = _Dlpack(self.ptr, self.kind, 0, axes, code, 8 * item, 1, begin, begin + 8 * axes, 0,
                       None, C.cast(_drop, C.c_void_p).value)  # fmt: skip
        _handed_out[C.addressof(made)] = made, lengths, self.shell
        return _capsule(C.addressof(made), _capsule_name, None)


def _shell(address, owner, shape, dtype):
    """A contiguous array of a library as one that is not read on the host; it keeps `owner`."""
    dtype = np.dtype(dtype)
    room = (C.c_char * max(1, int(np.prod(shape)) * dtype.itemsize)).from_address(address)
    room.owner = owner
    return np.ndarray(shape, dtype, room)


class _Streams:
    """What both libraries have: a call on the stream of its operands."""

    def __init__(self):
        super().__init__()
        self.driver = Driver()
        self.on_host = self.driver.is_stand_in
        self.taken = 0, 0  # took(), when it was last asked
        self.launched = {}  # number -> (what the stand-in runs, whose state)

        def work(number):
            from . import host

            try:
                for step in (*self.before, *self.launched[number][0]):
                    step()
                return 0
            except BaseException as error:
                return host.failed(error)

        self.work = C.CFUNCTYPE(C.c_int, C.c_void_p)(work)

    def run(self, steps, stream, state):
        """Runs them on the stream; the stand-in when somebody waits for it, or in each replay."""
        if self.on_host:
            number = next(_numbers)
            self.launched[number] = steps, state
            return self.driver.launch(stream, self.work, number)
        with self.stream(stream), self.pool(state.kernel):
            for step in (*self.before, *steps):
                step()

    def forget(self, state):
        self.launched = {n: one for n, one in self.launched.items() if one[1] is not state}

    def took(self):
        return 0, 0

    def room(self, elements, dtype):
        """Memory for a first call of prepare's own; None if that would take 1 GiB."""
        if elements * np.dtype(NUMPY[dtype]).itemsize > 1 << 30:
            return None
        return self.zeros((elements,), NUMPY[dtype])

    def copy_changed(self, to, value):
        """All of it is written: to choose on the host would wait."""
        to, value = self.wrap(to), self.wrap(value)
        return lambda: self.copy(to, value)

    def copier(self, to, value):
        return partial(self.copy, self.wrap(to), self.wrap(value))


class TorchOnDevice(_Streams, Torch):
    where = "cuda:0"

    def __init__(self):
        super().__init__()
        self.pools = {}
        self.where = self.module.device("cpu" if self.on_host else "cuda:0")

    def refusal(self, dtype):
        if not self.on_host and self.module.version.cuda is None:
            return f"torch {self.module.__version__} has no CUDA"
        return None

    def stream(self, address):
        torch = self.module
        return torch.cuda.stream(torch.cuda.ExternalStream(address or 0))

    def pool(self, kernel):
        """What a call allocates is its kernel's alone, as graphs of the kernel use it again."""
        torch = self.module
        if kernel not in self.pools:
            self.pools[kernel] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[kernel])

    def wrap(self, array, dtype=None):
        kind = CPU if self.on_host else CUDA
        return self.module.from_dlpack(DeviceArray(array, dtype, kind))

    def empty(self, shape, dtype):
        torch, item = self.module, np.dtype(dtype).itemsize
        owner = torch.empty(int(np.prod(shape)) * item, dtype=torch.uint8, device=self.where)
        return _shell(owner.data_ptr(), owner, shape, dtype)

    def zeros(self, shape, dtype):
        shell = self.empty(shape, dtype)
        self.wrap(shell).zero_()
        return shell

    def constant(self, array):
        shell = self.empty(array.shape, array.dtype)
        self.wrap(shell).copy_(self.module.from_numpy(array))
        return shell

    def gather(self, table, positions, rows):
        rows = self.wrap(rows).view(-1, rows.shape[-1])
        table, positions, select = self.wrap(table), self.wrap(positions), self.module.index_select
        return lambda: select(table, 0, positions.reshape(-1), out=rows)

    def times(self, given, factor, own, dtype):
        given, own = self.wrap(given, dtype), self.wrap(own, dtype)
        if dtype == "bf16":
            return lambda: own.copy_(given.float() * factor)
        return lambda: self.module.mul(given, factor, out=own)

    def fill_rows(self, cache, positions, cos, sin):
        """Puts the rows of these positions into a cache."""
        cache, positions, cos, sin = map(self.wrap, (cache, positions, cos, sin))
        half = cos.shape[-1]

        def fill():
            at = positions.reshape(-1).long()
            cache[:, :half].index_copy_(0, at, cos.reshape(-1, half))
            cache[:, half:].index_copy_(0, at, sin.reshape(-1, half))

        return fill

    def copy(self, to, value):
        to.copy_(value)

    def check(self, value, wanted):
        Library.check(self, value, wanted)
        if value.device != wanted.device:
            raise KernelError(f"returned a tensor on {value.device}, not on {wanted.device}")

    def took(self):
        """Calls of the allocator, and bytes that it took of the device, so far."""
        if self.on_host or not self.module.cuda.is_initialized():
            return 0, 0
        stats = self.module.cuda.memory_stats()
        return stats["allocation.all.allocated"], stats["reserved_bytes.all.allocated"]


class CupyOnDevice(_Streams, Library):
    name = "cupy"

    def load(self):  # NumPy's functions have the same names, and the stand-in's memory is the host's
        return np if Driver().is_stand_in else super().load()

    def refusal(self, dtype):
        return "cupy has no bf16" if dtype == "bf16" else None

    def stream(self, address):
        return self.module.cuda.ExternalStream(address or 0)

    def pool(self, kernel):
        return self.module.cuda.using_allocator(self.module.get_default_memory_pool().malloc)

    def wrap(self, array, dtype=None):
        return array if self.on_host else self.module.asarray(DeviceArray(array, dtype))

    def empty(self, shape, dtype):
        owner = self.module.empty(shape, dtype)
        address = owner.ctypes.data if self.on_host else owner.data.ptr
        return _shell(address, owner, shape, dtype)

    def zeros(self, shape, dtype):
        shell = self.empty(shape, dtype)
        self.wrap(shell)[...] = 0
        return shell

    def constant(self, array):
        shell = self.empty(array.shape, array.dtype)
        self.wrap(shell)[...] = self.module.asarray(array)
        return shell

    def gather(self, table, positions, rows):
        table, positions, rows = map(self.wrap, (table, positions, rows))
        return lambda: self.copy(rows, table[positions])

    def times(self, given, factor, own, dtype):
        given, own = self.wrap(given), self.wrap(own)
        return lambda: self.module.multiply(given, own.dtype.type(factor), own)

    def fill_rows(self, cache, positions, cos, sin):
        cache, positions, cos, sin = map(self.wrap, (cache, positions, cos, sin))
        half = cos.shape[-1]

        def fill():
            cache[positions, :half] = cos
            cache[positions, half:] = sin

        return fill

    def took(self):
        return 0, 0 if self.on_host else self.module.get_default_memory_pool().total_bytes()


class RawOnDevice(_Streams, Library):
    """No library: the function gets DeviceArrays, and puts its work on call.stream."""

    name = "numpy"
    stream = pool = staticmethod(lambda _: contextlib.nullcontext())

    def wrap(self, array, dtype=None):
        return DeviceArray(array, dtype, CPU if self.on_host else CUDA)

    def room(self, elements, dtype):
        return None


ON_DEVICE = {"torch": TorchOnDevice, "cupy": CupyOnDevice, "raw": RawOnDevice}
