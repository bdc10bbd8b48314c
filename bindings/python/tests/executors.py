"""Executors that the tests call: small programs in a directory of their own."""

from __future__ import annotations

import pathlib
import textwrap
from typing import Any, Dict, List, Optional


class Plain:
    """The least that an executor can be: an object with two attributes."""

    def __init__(self, code_path: pathlib.Path, capabilities: List[Any]) -> None:
        self.code_path = code_path
        self.capabilities = capabilities


def write(directory: pathlib.Path, body: str, name: str = "tool.py") -> pathlib.Path:
    """Writes an executor that has its arguments in `args` and answers with `answer`."""
    code = directory / "executors" / name
    code.parent.mkdir(exist_ok=True)
    head = "import json, os, sys, time\nargs = json.load(sys.stdin)\nanswer = {}\n"
    code.write_text(head + textwrap.dedent(body) + "\nprint(json.dumps(answer))\n")
    return code


def manifest(
    directory: pathlib.Path, body: str, capabilities: Optional[List[Any]] = None, **fields: Any
) -> Dict[str, Any]:
    """The manifest, as a dictionary, of an executor that is written there."""
    code = write(directory, body)
    return {"name": "tool", "code_path": str(code), "capabilities": capabilities or [], **fields}
