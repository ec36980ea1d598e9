"""Hosts Ropewalk's worker in this interpreter: PYTHON -u worker.py LIBRARY WORD...
Or runs a module of the package for the command: PYTHON -u worker.py --module NAME WORD...

It must parse under Python 3.7: an old interpreter is then refused in words. As a file it has its own
folder in sys.path where `python -c` has the current folder, in which foreign files may lie.
"""

import ctypes as C
import io
import os
import sys


class Host(C.Structure):
    """ropewalk_script_host"""

    _fields_ = [("load", C.CFUNCTYPE(C.c_void_p, C.c_char_p, C.c_void_p, C.c_size_t)),
                ("why", C.CFUNCTYPE(None, C.c_void_p, C.c_size_t)),
                ("runs_in", C.CFUNCTYPE(C.c_void_p, C.c_void_p)),
                ("apply", C.CFUNCTYPE(C.c_int32, C.c_void_p, C.c_void_p, C.c_int64)),
                ("none", C.c_void_p),
                ("rows", C.CFUNCTYPE(C.c_int32, C.c_void_p)),
                ("took", C.CFUNCTYPE(None, C.c_void_p, C.c_void_p)),
                ("floor", C.CFUNCTYPE(C.c_void_p))]


class Output(io.FileIO):
    """Standard output or error. The file behind it has a fixed size (output_watch.h); what a flood
    prints beyond that is dropped, and raises nothing."""

    def write(self, data):
        try:
            return super().write(data)
        except PermissionError:
            return len(data)


def bound_outputs():
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        raw = Output(descriptor, "wb", closefd=False)
        text = io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)
        setattr(sys, name, text)


def write(text, at, size):
    raw = text.encode("utf-8", "replace")[: size - 1] + b"\0"
    C.memmove(at, raw, len(raw))


def unfit():
    """Why the package cannot run in this interpreter, or None."""
    this = "python %d.%d.%d (%s)" % (*sys.version_info[:3], sys.executable)
    if sys.version_info < (3, 10):
        return this + " is too old: 3.10 or newer is needed"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return this + " runs without its global lock, which Python kernels need"
    try:
        import numpy  # noqa: F401
    except Exception as error:
        return "%s cannot import numpy: %s" % (this, " ".join(str(error).split()))
    return None


def import_package(folder):
    """The package of this file, wherever it lies. A wheel's lies among the packages of a Python that
    may be another one, so its folder must not come into sys.path."""
    from importlib.util import module_from_spec, spec_from_file_location

    file = os.path.join(folder, "__init__.py")
    spec = spec_from_file_location("ropewalk", file, submodule_search_locations=[folder])
    sys.modules["ropewalk"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["ropewalk"])


def run_module(here, name, words):
    """Calls main(*words) of a module of the package, or another function: MODULE:FUNCTION."""
    bound_outputs()
    reason = unfit()
    if reason is not None:
        line = "error\t" + reason.replace("\n", " ") + "\n"
        os.write(3, line.encode("utf-8", "backslashreplace"))
        return
    import_package(here)
    from importlib import import_module

    from ropewalk.channel import in_one_line, say

    sys.argv[1:] = []
    try:
        module, _, function = name.partition(":")
        module = import_module("ropewalk." + module)
        say("working")
        getattr(module, function or "main")(*words)
    except BaseException as error:
        say("error", in_one_line(error))
    say("end")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p not in (here, os.path.realpath(here))]
    if sys.argv[1] == "--module":
        return run_module(here, sys.argv[2], sys.argv[3:])
    # Ours is of this process only, not of those that a kernel starts.
    users = os.environ.pop("LD_PRELOAD", "").split(":")[1:]
    if users:
        os.environ["LD_PRELOAD"] = ":".join(users)
    # Before jax is imported: no work in threads of its own, no search for devices.
    os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "false")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    # Frameworks set these themselves, or would load all of their code.
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    caches = os.path.join(os.environ.get("TMPDIR", "/tmp"), "torchinductor_%d" % os.getuid())
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", caches)
    bound_outputs()
    # The functions that handle Python objects are called with the global lock held.
    python = C.PyDLL(sys.argv[1])
    python.ropewalk_script_state.argtypes = [C.c_int64]
    python.ropewalk_script_state.restype = C.c_void_p
    python.ropewalk_script_free.argtypes = [C.c_void_p]
    python.ropewalk_script_bind.argtypes = [C.c_void_p, C.c_void_p, C.py_object]
    python.ropewalk_script_bind.restype = None
    loaded = []  # the module host, once a file was to be loaded

    def load(file, error, size):
        told = str
        try:
            reason = unfit()
            if reason is None:
                if not loaded:
                    import_package(here)
                from ropewalk import host

                sys.dont_write_bytecode = True  # beside the file of a user
                loaded[:] = [host]
                told, host.library = host.told, python
                return host.load(os.fsdecode(file))
        except BaseException as problem:
            reason = told(problem)
        write(reason, error, size)
        return None

    def why(text, size):
        write(loaded[0].why() if loaded else "", text, size)

    def of_host(name):
        return lambda *given: getattr(loaded[0], name)(*given) if loaded else None

    own = {"load": load, "why": why}
    calls = {name: kind(own.get(name) or of_host(name)) for name, kind in Host._fields_ if name != "none"}
    host = Host(none=id(None), **calls)
    words = [os.fsencode(word) for word in sys.argv[2:]]
    argv = (C.c_char_p * (len(words) + 1))(*words, None)
    C.CDLL(sys.argv[1]).ropewalk_worker_main(len(words), argv, C.byref(host))


if __name__ == "__main__":
    main()
