"""python -m ropewalk VERB FILE.py [options]: the command, with this interpreter for FILE.py."""

import os
import sys

from . import command


def arguments(words):
    """Each FILE.py becomes --plugin FILE.py."""
    result, python_asked = [], "--python" in words
    for before, word in zip([""] + words, words):
        is_file = word.endswith(".py") and "=" not in word and not before.startswith("--")
        result += ["--plugin", word] if is_file else [word]
    if not python_asked and ("--plugin" in result or words[:1] == ["replay"]):
        result[1:1] = ["--python", sys.executable]
    return result


def main():
    words = sys.argv[1:]
    if not words:
        print("usage: python -m ropewalk VERB FILE.py [options of the verb]", file=sys.stderr)
        sys.exit(2)
    try:
        path = command.find()
        os.execv(path, [path, *arguments(words)])
    except OSError as error:
        print(f"ropewalk: {error}", file=sys.stderr)
        sys.exit(2)


main()
