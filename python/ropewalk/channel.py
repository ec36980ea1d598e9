"""What the command hears from this process: lines of a key and a text, on a descriptor of their own."""

import os

from .decorator import KernelError

MOST = 1 << 23  # characters of a text
process = os.getpid()


def say(key, text=""):
    """One line, whatever is in the text. A process that somebody forked from this one says nothing:
    it ends."""
    if os.getpid() != process:
        from . import host

        host.returned[0] = 1
        os._exit(0)
    line = text if len(text) < MOST else text[:MOST] + "..."
    line = line.encode("utf-8", "backslashreplace").replace(b"\n", b"\\n")
    line = key.encode() + b"\t" + line + b"\n"
    while line:
        line = line[os.write(3, line):]


def in_one_line(error):
    """An exception's type and text; of one of ours its text alone."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        text = " ".join(text.split())
    except Exception:
        text = "its text cannot be made"
    if isinstance(error, (KernelError, OSError)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
