"""What the worker asks of Python: the kernels of a file, and their entries as C functions.

No exception may leave a function that C calls. ctypes would print it and answer 0, which is
ROPE_OK. So each one that may raise catches BaseException and notes it; `why` gives the text.
"""

import contextlib
import ctypes as C
import importlib.util
import io
import itertools
import mmap
import os
import platform
import sys
import threading
import time
import traceback
import warnings
from functools import partial

import numpy as np

from . import contract as c
from .calls import State, bind, raised, shapes_given, warm_up
from .channel import in_one_line
from . import decorator
from .decorator import KernelError, offered
from .on_device import ON_DEVICE
from .views import LIBRARIES

library = None  # the worker's library, given by worker.py
alive = []  # what C code points to
texts = {}  # text -> buffer that stays
libraries = {}  # name and device -> of views or on_device
states = {}  # number -> State
addresses = {}  # of a state in C -> its number
failures = {}  # thread -> its last failure
files = set()  # of plugins and of their functions
floors = []  # the entry of an empty function on a device, once a file has one there
environments = {}  # address of a kernel -> what it runs in
runs_in = environments.get
numbers = itertools.count(1)
process = os.getpid()
forks = []  # of the running call
returned = mmap.mmap(-1, 1)  # shared with what is forked; 1: such a process came to settle()


def static(text):
    if text not in texts:
        texts[text] = C.create_string_buffer(text.encode(errors="backslashreplace"))
    return C.addressof(texts[text])


def told(error):
    """An exception in one line, with the deepest line of a plugin or of the file of a kernel."""
    text = in_one_line(error)
    # extract_tb() would read the source of each line.
    walked = traceback.walk_tb(error.__traceback__)
    places = [(frame.f_code.co_filename, line) for frame, line in walked]
    if isinstance(error, SyntaxError):
        places.append((error.filename, error.lineno))
    own = [place for place in places if place[0] in files]
    return f"{os.path.basename(own[-1][0])} line {own[-1][1]}: {text}" if own else text


def failed(error, given=""):
    failures[threading.get_ident()] = told(error)[:250] + given
    return c.FAILED


def told_in_c(function):
    """The function as C may call it: an exception is noted."""

    def call(*given):
        try:
            return function(*given)
        except BaseException as error:
            return failed(error)

    return call


def why():
    error = raised.pop(threading.get_ident(), None)
    return failures.pop(threading.get_ident(), told(error) if error else "")


def refusal(kernel, p):
    """Why a kernel does not take a problem, or None."""
    if (p.angle_source == c.ANGLES_TABLE) == kernel.own_angles:
        own = kernel.own_angles
        return "makes its own angles and takes no table" if own else "needs a table of cos and sin"
    if p.axes and p.axes.axes not in kernel.axes:
        return f"takes {' or '.join(map(str, kernel.axes))} axes of positions alone"
    if ("interleaved", "half_split")[p.pairing] not in kernel.pairings:
        return "takes the other pairing"
    if p.operation == c.TRANSPOSE and kernel.inverse == "none":
        return "forward only"
    tensors = p.tensor[: p.tensor_count]
    dtype = c.DTYPES[tensors[0].in_dtype]
    if dtype not in kernel.dtypes:
        return "takes another data type"
    if any(d != tensors[0].in_dtype for t in tensors for d in (t.in_dtype, t.out_dtype)):
        return "all tensors must have one data type"
    wanted = dtype if dtype == "f64" or kernel.tables_dtype else "f32"
    if not kernel.own_angles and c.DTYPES[p.table_dtype] != wanted:
        return f"the table must be {wanted}"
    if (refused := sizes_refused(kernel, p, [t for t in tensors if t.rotate])) is not None:
        return refused
    scales = kernel.raw or not kernel.own_angles or "scale" in kernel.parameters
    if not scales and p.attention_scale not in (0.0, 1.0):
        return "names no parameter scale, so attention_scale must be 1"
    reads = {"positions", "position_ids"} & {*kernel.parameters} or kernel.tables == "cache"
    if reads and p.table_rows_by == c.ROW_BY_TOKEN and not kernel.own_angles:
        return "needs positions, which a table by token may lack"
    refused = library_of(kernel).refusal(dtype) or marks_refused(kernel, p)
    return refused or (kernel.supports(p) if kernel.supports else None)


def marks_refused(kernel, p):
    """Why a kernel does not take the norm and the append of a problem, or the lack of them, or None."""
    for name, asked in (("normalizes", p.norm), ("appends", p.append)):
        tensors = getattr(kernel, name)
        if (asked.tensors if asked else 0) != sum(1 << i for i in tensors):
            return f"{name} {' and '.join('qkv'[i] for i in tensors)} in every call, and nothing else"
    if p.norm and bool(p.norm.weight_plus_one) != kernel.weight_plus_one:
        return f"adds {'1' if kernel.weight_plus_one else 'nothing'} to the weights in every call"
    return library_of(kernel).refusal(c.DTYPES[p.norm.weight_dtype]) if p.norm else None


def sizes_refused(kernel, p, rotated):
    """Why a kernel does not take the sizes of a problem, or None."""
    if kernel.takes[0] == "q" and len(rotated) != 2:
        return "takes q and k: two rotated tensors"
    if kernel.is_fused and not (p.tensor[0].rotate and p.tensor[1].rotate):
        return "takes q and k as the first two tensors"
    if kernel.takes == ("qkv",):
        v, sizes = p.tensor[2], {t.head_dim for t in p.tensor[: p.tensor_count]}
        if p.tensor_count != 3 or len(rotated) != 2 or v.rotate or v.heads != p.tensor[1].heads:
            return "takes q and k, which are rotated, and a v with the heads of k"
        if kernel.layout == "BT3HD" and p.tensor[0].heads != v.heads:
            return "takes as many heads of k as of q"
        if len(sizes) != 1 or rotated[0].rotary_offset != rotated[1].rotary_offset:
            return "q, k and v must have heads of one size, and one window"
    if "head_dim" in kernel.parameters and len({t.head_dim for t in rotated}) > 1:
        return "takes one head_dim for all tensors"
    for word, field in (("head_dims", "head_dim"), ("rotary_offset", "rotary_offset")):
        wanted = getattr(kernel, word)
        wanted = 0 if wanted is None and word == "rotary_offset" and kernel.whole else wanted
        if wanted is None:
            continue
        wanted = (wanted,) * len(rotated) if isinstance(wanted, int) else tuple(wanted)
        if tuple(getattr(t, field) for t in rotated) != wanted:
            return f"takes {word}={getattr(kernel, word) or 0} alone"
    if kernel.rotary_dim == "head_dim" and any(t.head_dim != p.rotary_dim for t in rotated):
        return "rotates whole heads alone"
    if kernel.rotary_dim not in (None, "head_dim", p.rotary_dim):
        return f"takes rotary_dim={kernel.rotary_dim} alone"
    if kernel.max_position is not None and p.max_position > kernel.max_position:
        return f"takes positions up to {kernel.max_position}"
    if kernel.theta:
        exponents = [-2.0 * i / p.rotary_dim for i in range(p.rotary_dim // 2)]
        near = 1e-6 if kernel.angles == "f32" else 1e-12  # f32 frequencies are given as f32
        if not np.allclose(p.inv_freq, np.power(float(kernel.theta), exponents), near, 0):
            return f"takes the frequencies of theta={kernel.theta:g} alone"
    return None


def library_of(kernel):
    return libraries[kernel.arrays, kernel.device]


def entry_of(kernel):
    """The rope_kernel of a function."""

    @told_in_c
    def supports(problem, reason):
        refused = refusal(kernel, c.Problem.from_address(problem))
        if refused is None:
            return c.OK
        if reason:
            C.c_void_p.from_address(reason).value = static(str(refused)[:400])
        return c.UNSUPPORTED

    @told_in_c
    def prepare(problem, state):
        made = State(kernel, library_of(kernel), c.Problem.from_address(problem))
        if kernel.compiles or kernel.device:
            warm_up(made)
        number = next(numbers)
        made.address = library.ropewalk_script_state(number)
        states[number], addresses[made.address] = made, number
        C.c_void_p.from_address(state).value = made.address
        return c.OK

    @told_in_c
    def release(state):
        made = states.pop(addresses.pop(state, None), None)
        library.ropewalk_script_free(state)
        if made and kernel.device:
            made.bound.clear()  # which points to the state, so that it would stay
            made.library.forget(made)

    flags = c.INTERPRETED
    flags |= c.OUT_OF_PLACE if kernel.returns != "in_place" or kernel.is_flat else 0
    for word in ("in_place", "thread_safe", "bitwise_invariant", "mixes_pairs",
                 "flushes_subnormals", "own_threads", "rounds_norm", "rounds_weighted"):  # fmt: skip
        flags |= getattr(c, word.upper()) if getattr(kernel, word) else 0
    return c.KernelEntry(
        struct_size=C.sizeof(c.KernelEntry),
        abi_version=1,
        name=kernel.name.encode(),
        summary=kernel.described().encode() or None,
        source=kernel.source.encode() if kernel.source else None,
        memory=c.CUDA if kernel.device else c.HOST,
        angle_contract=c.ANGLE_CONTRACTS.index(kernel.angles),
        flags=flags,
        extensions=bool(kernel.axes) << c.EXT_AXES | bool(kernel.normalizes) << c.EXT_NORM
        | bool(kernel.appends) << c.EXT_APPEND,
        error_bound=kernel.error_bound,
        supports=c.SUPPORTS(supports),
        prepare=c.PREPARE(prepare),
        apply=C.cast(library.ropewalk_script_apply, C.c_void_p).value,
        release=c.RELEASE(release),
    )


@told_in_c
def apply(problem, operands, number):
    """A call with new operands. Later calls with the same ones run the kept closure alone."""
    state, o = states[number], c.Operands.from_address(operands)
    kept = state.bound[o.key()][2] if o.key() in state.bound else kept_call(state, o)
    library.ropewalk_script_bind(state.address, operands, kept)
    return c.OK if kept() is None else c.FAILED


def kept_call(state, o):
    on_device = state.kernel.device is not None
    with state.library.making() if on_device else contextlib.nullcontext():
        gather, runs = bind(state, o)
    steps = *state.library.before, *gather, *runs
    if on_device:
        steps = (partial(run_on_device, state, gather, runs, o.stream),)

    def kept():
        try:
            for step in steps:
                step()
            if forks:
                settle()
        except BaseException as error:
            failed(error, shapes_given(state, error))
            return False

    if on_device:  # what a graph works on must live as long as the graph, so all of it stays
        state.bound[o.key()] = gather, o.stream, kept
    return kept


def run_on_device(state, gather, runs, stream):
    state.library.run(runs if state.has_rows else (*gather, *runs), stream, state)


def floor():
    return C.addressof(floors[0]) if floors else None


@told_in_c
def rows(address):
    """Gathers the rows of all calls of a state on a device. From now on its calls do not."""
    state = states[addresses[address]]
    state.has_rows = True
    for gather, stream, _ in state.bound.values():
        state.library.run(gather, stream, state)
    return c.OK


@told_in_c
def took(calls, byte_count):
    """What the pools of libraries on a device gave out, and took of the device, since the last
    question."""
    for one in [one for (_, device), one in libraries.items() if device]:
        now = one.took()
        C.c_uint64.from_address(calls).value += max(0, now[0] - one.taken[0])
        C.c_int64.from_address(byte_count).value += max(0, now[1] - one.taken[1])
        one.taken = now


def settle():
    """A function that forked has returned: here, and perhaps in the child too, which then writes
    the same output and would go on as the worker."""
    if os.getpid() != process:
        returned[0] = 1
        os._exit(0)
    forks.clear()
    for _ in range(20):  # looks; a child that works longer than 0.2 s is not waited for
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            ended = True
        if ended or returned[0]:
            break
        time.sleep(0.01)
    if returned[0]:
        returned[0] = 0
        os.waitid(os.P_ALL, 0, os.WEXITED)  # so that this process is left as it was
        raise KernelError("forks, and the child returned too: a child must end by os._exit()")


def import_file(path):
    """Runs a file as a module of its own name. A library's file has that of the library, so its
    folder must not come into sys.path; and what it warns of is not the user's to mend."""
    path = os.path.abspath(path)
    files.add(path)
    own = os.path.join(os.path.dirname(os.path.realpath(__file__)), "libraries")
    is_library = os.path.dirname(os.path.realpath(path)) == own
    if not is_library:
        sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(f"ropewalk_plugin_{len(files)}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with contextlib.redirect_stderr(io.StringIO()) if is_library else contextlib.nullcontext():
        spec.loader.exec_module(module)
    return module


def kernels_of(path):
    """Imports a file and returns the kernels that it offers itself, and none that a file offers
    which it imports."""
    module = import_file(path)
    kernels = [k for k in offered if k.module == module.__name__]
    if not kernels:
        file = os.path.basename(path)
        raise KernelError(f"{file} offers no kernel: a function needs @ropewalk.kernel(pairing=)")
    names = set()
    for k in kernels:
        try:
            if k.name in names:
                raise KernelError(f"a second kernel has the name {k.name}")
            names.add(k.name)
            get_ready(k)
        except Exception as error:
            raise KernelError(f"{os.path.basename(path)} line {k.line}: {told(error)}") from None
    return kernels


def get_ready(kernel):
    """Makes the array library of a kernel begin whatever it would begin in a first call."""
    if kernel.interpreter and os.environ.get("TRITON_INTERPRET") != "1":
        raise KernelError('interpreter=True: set os.environ["TRITON_INTERPRET"] = "1" first')
    key = kernel.arrays, kernel.device
    if key not in libraries:
        libraries[key] = (ON_DEVICE if kernel.device else LIBRARIES)[kernel.arrays]()
    libraries[key].begin(kernel)
    code = getattr(kernel.function, "__code__", None)
    if code:
        files.add(code.co_filename)


def load(path):
    """The rope_kernel_list of a file, by its address."""
    warnings.simplefilter("ignore", RuntimeWarning)  # Inf and NaN are given on purpose
    kernels = kernels_of(path)
    entries = [entry_of(k) for k in kernels]
    for kernel, entry in zip(kernels, entries):
        module = library_of(kernel).module
        version = getattr(module, "__version__", "")
        runs_in = f"python {platform.python_version()}, {module.__name__} {version}".rstrip()
        interpreter = ", Triton interpreter" if kernel.interpreter else ""
        environments[C.addressof(entry)] = static(runs_in + interpreter)
    forked = partial(forks.append, 1)
    os.register_at_fork(after_in_parent=forked, after_in_child=forked)
    for kernel in sorted(kernels, key=lambda k: k.arrays == "raw"):  # whose calls cost less
        if kernel.device and not floors:
            words = {"arrays": kernel.arrays, "device": kernel.device, "dtypes": decorator.DTYPES}
            offer = decorator.kernel(pairing="both", raw=True, angles="exact", name="none", **words)
            offer(lambda call: None)
            floors.append(entry_of(offered.pop()))
    pointers = (C.POINTER(c.KernelEntry) * len(entries))(*[C.pointer(e) for e in entries])
    result = c.KernelList(C.sizeof(c.KernelList), 1, len(entries), pointers)
    alive.append((entries, pointers, result))
    return C.addressof(result)
