"""Where the `stockade` program is: in this package. Never looks along `PATH`."""

from __future__ import annotations

import os

from .errors import Unavailable

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "stockade")


def path() -> str:
    """The program that came with this package."""
    if not os.access(_PATH, os.X_OK):
        raise Unavailable(
            f"`{_PATH}` is missing or cannot be executed",
            reason="cannot_build",
            help=["install the package again: `pip install --force-reinstall stockade`"],
        )
    return _PATH
