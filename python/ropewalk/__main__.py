"""ropewalk VERB..., or python -m ropewalk VERB...: the command, which runs .py files with this
interpreter unless --python or ROPEWALK_PYTHON names another."""

import os
import sys

from . import command


def main():
    path = None
    try:
        path = command.find()
        os.environ.setdefault("ROPEWALK_PYTHON", sys.executable)
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        reason = f"{path}: {error.strerror}" if path else error
        sys.stderr.write(f"ropewalk: {reason}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
