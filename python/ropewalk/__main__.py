"""python -m ropewalk VERB FILE.py [options]: the command, with this interpreter for FILE.py."""

import os
import sys

from . import command


def arguments(words):
    """Each FILE.py becomes --plugin FILE.py."""
    result = []
    for before, word in zip(["", *words], words):
        is_file = word.endswith(".py") and "=" not in word
        result += ["--plugin"] if is_file and before not in ("--plugin", "--python") else []
        result.append(word)
    if "--python" not in result and ("--plugin" in result or words[0] == "replay"):
        result[1:1] = ["--python", sys.executable]
    return result


def main():
    words, path = sys.argv[1:], None
    if not words:
        sys.stderr.write("usage: python -m ropewalk VERB FILE.py [options of the verb]\n")
        sys.exit(2)
    try:
        path = command.find()
        os.execv(path, [path, *arguments(words)])
    except OSError as error:
        reason = f"{path}: {error.strerror}" if path else error
        sys.stderr.write(f"ropewalk: {reason}\n")
        sys.exit(2)


main()
