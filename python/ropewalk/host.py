"""What the worker asks of Python: the kernels of a file, and their entries as C functions.

No exception may leave a function that C calls. ctypes would print it and answer 0, which is
ROPE_OK. So each one that may raise catches BaseException and notes it; `why` gives the text.
"""

import contextlib
import ctypes as C
import importlib.util
import io
import itertools
import os
import platform
import sys
import threading
import warnings
from functools import cache

from . import contract as c
from . import decorator
from .calls import State, bind, raised, shapes_given, warm_up
from .channel import failed, failures, files, forks, settle, told, told_in_c, watch_forks
from .decorator import KernelError, _require, offered
from .on_device import ON_DEVICE
from .views import LIBRARIES

alive = []  # what C code points to
library = None  # the worker's library, given by worker.py
libraries = {}  # name and device -> of views or on_device
states = {}  # number -> State
addresses = {}  # of a state in C -> its number
floors = []  # the entry of an empty function on a device, once a file has one there
environments = {}  # address of a kernel -> what it runs in
runs_in = environments.get
numbers = itertools.count(1)


@cache  # so that it stays
def static(text):
    return C.create_string_buffer(text.encode(errors="backslashreplace"))


def why():
    error = raised.pop(threading.get_ident(), None)
    return failures.pop(threading.get_ident(), told(error) if error else "")


def entry_of(kernel):
    """The rope_kernel of a function."""

    @told_in_c
    def supports(problem, reason):
        refused = kernel.refusal(c.Problem.from_address(problem))
        if refused is None:
            return c.OK
        if reason:
            C.c_void_p.from_address(reason).value = C.addressof(static(str(refused)[:400]))
        return c.UNSUPPORTED

    @told_in_c
    def prepare(problem, state):
        made = State(kernel, kernel.library, c.Problem.from_address(problem))
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

    functions = c.SUPPORTS(supports), c.PREPARE(prepare), c.RELEASE(release)
    alive.append(functions)
    supports, prepare, release = (C.cast(one, C.c_void_p).value for one in functions)
    return c.KernelEntry(
        struct_size=C.sizeof(c.KernelEntry),
        abi_version=1,
        name=kernel.name.encode(),
        summary=kernel.described().encode() or None,
        source=kernel.source.encode() if kernel.source else None,
        memory=int(kernel.device is not None),
        angle_contract=decorator.ANGLES.index(kernel.angles),
        flags=kernel.flags,
        extensions=bool(kernel.axes) << c.EXT_AXES | bool(kernel.normalizes) << c.EXT_NORM
        | bool(kernel.appends) << c.EXT_APPEND,
        error_bound=kernel.error_bound,
        supports=supports,
        prepare=prepare,
        apply=C.cast(library.ropewalk_script_apply, C.c_void_p).value,
        release=release,
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
    stream = o.stream
    if on_device:
        steps = (lambda: state.library.run(runs if state.has_rows else (*gather, *runs), stream, state),)

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
        state.bound[o.key()] = gather, stream, kept
    return kept


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
    file, names = os.path.basename(path), set()
    _require(kernels, f"{file} offers no kernel: a function needs @ropewalk.kernel(pairing=)")
    for k in kernels:
        try:
            _require(k.name not in names, f"a second kernel has the name {k.name}")
            names.add(k.name)
            get_ready(k)
        except Exception as error:
            raise KernelError(f"{file} line {k.line}: {told(error)}") from None
    return kernels


def get_ready(kernel):
    """Makes the array library of a kernel begin whatever it would begin in a first call."""
    _require(not kernel.interpreter or os.environ.get("TRITON_INTERPRET") == "1",
             'interpreter=True: set os.environ["TRITON_INTERPRET"] = "1" first')
    key = kernel.arrays, kernel.device
    if key not in libraries:
        libraries[key] = (ON_DEVICE if kernel.device else LIBRARIES)[kernel.arrays]()
    kernel.library = libraries[key]
    kernel.library.begin(kernel)
    code = getattr(kernel.function, "__code__", None)
    if code:
        files.add(code.co_filename)


def load(path):
    """The rope_kernel_list of a file, by its address."""
    warnings.simplefilter("ignore", RuntimeWarning)  # Inf and NaN are given on purpose
    kernels = kernels_of(path)
    entries = [entry_of(k) for k in kernels]
    for kernel, entry in zip(kernels, entries):
        module = kernel.library.module
        version = getattr(module, "__version__", "")
        runs_in = f"python {platform.python_version()}, {module.__name__} {version}".rstrip()
        interpreter = ", Triton interpreter" if kernel.interpreter else ""
        environments[C.addressof(entry)] = C.addressof(static(runs_in + interpreter))
    watch_forks()
    for kernel in sorted(kernels, key=lambda k: k.arrays == "raw"):  # whose calls cost less
        if kernel.device and not floors:
            words = {"arrays": kernel.arrays, "device": kernel.device, "dtypes": decorator.DTYPES}
            offer = decorator.kernel(pairing="both", raw=True, angles="exact", name="none", **words)
            offer(lambda call: None)
            offered[-1].library = kernel.library
            floors.append(entry_of(offered.pop()))
    pointers = (C.POINTER(c.KernelEntry) * len(entries))(*[C.pointer(e) for e in entries])
    result = c.KernelList(C.sizeof(c.KernelList), 1, len(entries), C.addressof(pointers))
    alive.append((entries, pointers, result))
    return C.addressof(result)
