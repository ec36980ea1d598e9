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
import struct
from collections import defaultdict
from functools import partial

import numpy as np

from .channel import told_in_c
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


_MANAGED = "PiiiBBHPPQPP"  # DLManagedTensor
_handed_out = {}  # address of one -> what it points to
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
            self.__cuda_array_interface__ = dict(
                shape=self.shape, strides=self.strides, typestr=shell.dtype.str,
                data=(self.ptr, False), version=3, stream=None)

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None, **_):
        item, axes = self.shell.itemsize, len(self.shape)
        lengths = (C.c_int64 * (2 * axes))(*self.shape, *[s // item for s in self.strides])
        begin = C.addressof(lengths)
        code = 4 if self.dtype == "bf16" else {"i": 0, "u": 1, "f": 2, "c": 5}[self.shell.dtype.kind]
        rest = begin, begin + 8 * axes, 0, 0, C.cast(_drop, C.c_void_p).value
        made = struct.pack(_MANAGED, self.ptr, self.kind, 0, axes, code, 8 * item, 1, *rest)
        made = C.create_string_buffer(made, len(made))
        _handed_out[C.addressof(made)] = made, lengths, self.shell
        return _capsule(C.addressof(made), _capsule_name, None)


def _shell(address, owner, shape, dtype):
    """A contiguous array of a library as one that is not read on the host; it keeps `owner`."""
    dtype = np.dtype(dtype)
    room = (C.c_char * max(1, int(np.prod(shape)) * dtype.itemsize)).from_address(address)
    room.owner = owner
    return np.ndarray(shape, dtype, room)


class _Streams:
    """What all have: a call on the stream of its operands."""

    def __init__(self):
        super().__init__()
        self.driver = Driver()
        self.on_host = self.driver.is_stand_in
        self.pools = defaultdict(lambda: self.new_pool())  # by kernel and stream
        self.streams = {}  # by the address of the stream
        self.taken = 0, 0  # took(), when it was last asked
        self.launched = {}  # number -> (what the stand-in runs, whose state)

        @told_in_c
        def work(number):
            for step in (*self.before, *self.launched[number][0]):
                step()
            return 0

        self.work = C.CFUNCTYPE(C.c_int, C.c_void_p)(work)

    def run(self, steps, stream, state):
        """Runs them on the stream; the stand-in when somebody waits for it, or in each replay."""
        if self.on_host:
            number = next(_numbers)
            self.launched[number] = steps, state
            return self.driver.launch(stream, self.work, number)
        if stream not in self.streams:
            self.streams[stream] = self.stream_at(stream)
        # The pool first: torch would look for a capture of its own on a stream that is captured.
        with self.pool(state.kernel, stream), self.on(self.streams[stream]):
            for step in (*self.before, *steps):
                step()

    @contextlib.contextmanager
    def making(self):
        """Around what the suite makes for a call. It is there before the call, and may be made while
        the call is captured. What it allocates is not the kernel's."""
        mode = C.c_int(2)  # relaxed
        exchange = (lambda _: None) if self.on_host else self.driver.library.cuThreadExchangeStreamCaptureMode
        exchange(C.byref(mode))
        try:
            yield
            self.finish()
        finally:
            self.taken = self.took()
            exchange(C.byref(mode))

    def finish(self):
        if not self.on_host:
            self.wait()

    def forget(self, state):
        self.launched = {n: one for n, one in self.launched.items() if one[1] is not state}

    def took(self):
        return 0, 0

    def room(self, elements, dtype):
        """Memory for a first call of prepare's own; None if that would take 256 MiB."""
        is_large = elements * np.dtype(NUMPY[dtype]).itemsize > 1 << 28
        return None if is_large else self.zeros((elements,), NUMPY[dtype])

    def zeros(self, shape, dtype):
        return self.constant(np.zeros(shape, dtype))

    def constant(self, array):
        shell = self.empty(array.shape, array.dtype)
        self.copy(self.wrap(shell), self.module.asarray(array))
        return shell

    def own(self, array):
        return self.wrap(array)

    def copier(self, to, value):
        return partial(self.copy, self.wrap(to), self.wrap(value))

    copy_changed = copier  # all of it, as to choose on the host would wait

    def gather(self, table, positions, rows):
        table, positions, rows = map(self.wrap, (table, positions, rows))
        return lambda: self.copy(rows, table[positions])

    def stream_at(self, address):
        return self.module.cuda.ExternalStream(address or 0)


class TorchOnDevice(_Streams, Torch):
    one_thread = True  # a backward pass allocates in the thread of the call
    new_pool = property(lambda self: self.module.cuda.MemPool)

    def __init__(self):
        super().__init__()
        self.where = self.module.device("cpu" if self.on_host else "cuda:0")

    def begin(self, kernel):
        if kernel.compiles:
            self.never_fall_back()

    def refusal(self, dtype):
        has_pool = hasattr(self.module._C, "_cuda_beginAllocateCurrentThreadToPool")
        lacks = "CUDA" if self.module.version.cuda is None else "pool of memory for one thread"
        return None if self.on_host or has_pool else f"torch {self.module.__version__} has no {lacks}"

    def on(self, stream):
        return self.module.cuda.stream(stream)

    def wait(self):
        self.module.cuda.current_stream().synchronize()

    def pool(self, kernel, stream):
        """What a call allocates is its kernel's alone, as graphs of the kernel use it again."""
        return self.module.cuda.use_mem_pool(self.pools[kernel, stream])

    def wrap(self, array, dtype=None):
        kind = CPU if self.on_host else CUDA
        return self.module.from_dlpack(DeviceArray(array, dtype, kind))

    def empty(self, shape, dtype):
        torch, item = self.module, np.dtype(dtype).itemsize
        owner = torch.empty(int(np.prod(shape)) * item, dtype=torch.uint8, device=self.where)
        return _shell(owner.data_ptr(), owner, shape, dtype)

    def times(self, given, factor, own, dtype):
        given, own = self.wrap(given, dtype), self.wrap(own, dtype)
        if dtype == "bf16":
            return lambda: own.copy_(given.float() * factor)
        return lambda: self.module.mul(given, factor, out=own)

    def took(self):
        """Calls of the allocator, and bytes that it took of the device, so far."""
        if self.on_host or not self.module.cuda.is_initialized():
            return 0, 0  # PyTorch's CPU allocator has no counts
        stats = self.module.cuda.memory_stats()
        return stats["allocation.all.allocated"], stats["reserved_bytes.all.allocated"]


class CupyOnDevice(_Streams, Library):
    name = "cupy"
    new_pool = property(lambda self: self.module.cuda.MemoryPool)

    def load(self):  # with the stand-in NumPy, whose functions have the same names
        return np if Driver().is_stand_in else super().load()

    def refusal(self, dtype):
        return "arrays of CuPy are not made in bf16" if dtype == "bf16" else None

    def on(self, stream):
        return stream

    def wait(self):
        self.module.cuda.get_current_stream().synchronize()

    def pool(self, kernel, stream):
        return self.module.cuda.using_allocator(self.pools[kernel, stream].malloc)

    def wrap(self, array, dtype=None):
        return array if self.on_host else self.module.asarray(DeviceArray(array, dtype))

    def empty(self, shape, dtype):
        owner = self.module.empty(shape, dtype)
        address = owner.ctypes.data if self.on_host else owner.data.ptr
        return _shell(address, owner, shape, dtype)

    def took(self):
        return 0, 0 if self.on_host else sum(pool.total_bytes() for pool in self.pools.values())


class RawOnDevice(_Streams, Library):
    """No library: the function gets DeviceArrays, and puts its work on call.stream."""

    name = "numpy"
    stream_at = on = pool = wait = staticmethod(lambda *_: contextlib.nullcontext())
    room = staticmethod(lambda *_: None)

    def wrap(self, array, dtype=None):
        return DeviceArray(array, dtype, CPU if self.on_host else CUDA)


ON_DEVICE = {"torch": TorchOnDevice, "cupy": CupyOnDevice, "raw": RawOnDevice}
