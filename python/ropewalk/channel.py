"""What is heard from this process: lines of a key and a text for the command, on a descriptor of their own;
exceptions in words; and a fork whose child returns."""

import json
import mmap
import os
import threading
import time
import traceback
from functools import partial

from .decorator import KernelError

MOST = 1 << 23  # characters of a text
process = os.getpid()
failures = {}  # thread -> its last failure
files = set()  # of plugins and of their functions
forks = []  # of the running call
returned = mmap.mmap(-1, 1)  # shared with what is forked; 1: such a process came to settle()


def say(key, text=""):
    """One line, whatever is in the text. A process that somebody forked from this one says nothing:
    it ends."""
    end_what_is_forked()
    line = text if len(text) < MOST else text[:MOST] + "..."
    line = line.encode("utf-8", "backslashreplace").replace(b"\n", b"\\n")
    line = key.encode() + b"\t" + line + b"\n"
    while line:
        line = line[os.write(3, line):]


def say_rows(rows, code):
    """What the command prints, and its exit code: sentences; fields, as JSON; and pairs of a key and a text,
    as of a table() or ("printed", a line as it is)."""
    for row in rows:
        row = ("printed", json.dumps(row)) if isinstance(row, dict) else row
        say("note", row) if isinstance(row, str) else say(*row)
    say("end", str(int(code)))


def table(rows, heads=()):
    """With heads, all columns but the first hold numbers."""
    texts = [[str(cell).encode("utf-8", "backslashreplace").decode() for cell in row] for row in (heads, *rows)]
    return "table", json.dumps({"schema": 1, "row": "said", "heads": texts[0], "rows": texts[1:]})


def end_what_is_forked():
    if os.getpid() != process:
        returned[0] = 1
        os._exit(0)


def watch_forks():
    forked = partial(forks.append, 1)
    os.register_at_fork(after_in_parent=forked, after_in_child=forked)


def settle():
    """Whether what ran here forked. It may have returned in the child too, which then writes the same output
    and would go on as this process: raises KernelError."""
    end_what_is_forked()
    if not forks and not returned[0]:
        return False
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
    return True


def told(error, identifies=False):
    """An exception in one line, with the deepest line of a plugin or of the file of a kernel. Or what
    identifies it: its type in place of its text, and the deepest line of all if there is no such."""
    text = type(error).__name__ if identifies else in_one_line(error)
    # extract_tb() would read the source of each line.
    walked = traceback.walk_tb(error.__traceback__)
    places = [(frame.f_code.co_filename, line) for frame, line in walked]
    if isinstance(error, SyntaxError):
        places.append((error.filename, error.lineno))
    own = [place for place in places if place[0] in files] or (places if identifies else [])
    return f"{os.path.basename(own[-1][0])} line {own[-1][1]}: {text}" if own else text


def failed(error, given=""):
    failures[threading.get_ident()] = f"{told(error)[:250]}{given}\0{told(error, True)}"
    return 2  # ROPE_FAILED


def told_in_c(function):
    """The function as C may call it: an exception is noted."""

    def call(*given):
        try:
            return function(*given)
        except BaseException as error:
            return failed(error)

    return call


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
