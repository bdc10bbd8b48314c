"""`python -m stockade` is the `stockade` command: this process becomes it."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import _binary


def main() -> NoReturn:
    """Executes the program with our arguments."""
    program = _binary.path()
    os.execv(program, ["stockade", *sys.argv[1:]])


if __name__ == "__main__":
    main()
