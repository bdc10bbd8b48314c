"""Runs programs, and the tools of agents, in cages on Linux.

`run` and `spawn` are `subprocess.run` and `subprocess.Popen` with a cage around the program; `Cage` holds
settings for many runs; `invoke` runs an executor that declares what it needs in a manifest;
`wrap_command` gives a command for it that any process API can start. `stockade.aio` has the same for
`asyncio`. Importing this package starts and loads nothing: each part is loaded when it is first used.
"""

from __future__ import annotations

# As in `typing`, which takes longer to load than all of this file.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Dict, List

    from . import aio as aio
    from . import sandbox as sandbox
    from ._cage import Cage as Cage
    from ._process import Completed as Completed
    from ._process import Process as Process
    from ._process import run as run
    from ._process import spawn as spawn
    from ._result import RunResult as RunResult
    from .errors import Exited as Exited
    from .errors import Killed as Killed
    from .errors import NonJson as NonJson
    from .errors import ProgramNotExecutable as ProgramNotExecutable
    from .errors import ProgramNotFound as ProgramNotFound
    from .errors import Refused as Refused
    from .errors import StockadeError as StockadeError
    from .errors import Timeout as Timeout
    from .errors import TooLarge as TooLarge
    from .errors import Unavailable as Unavailable
    from .executor import Invoked as Invoked
    from .executor import Manifest as Manifest
    from .executor import Question as Question
    from .executor import available as available
    from .executor import bwrap_available as bwrap_available
    from .executor import check as check
    from .executor import disabled as disabled
    from .executor import expand_hints as expand_hints
    from .executor import invoke as invoke
    from .executor import invoke_executor as invoke_executor
    from .executor import sandbox_disabled as sandbox_disabled
    from .executor import status as status
    from .executor import wrap_command as wrap_command

_WHERE: Dict[str, List[str]] = {
    "_cage": ["Cage"],
    "_process": ["Completed", "Process", "run", "spawn"],
    "_result": ["RunResult"],
    "errors": [
        "Exited",
        "Killed",
        "NonJson",
        "ProgramNotExecutable",
        "ProgramNotFound",
        "Refused",
        "StockadeError",
        "Timeout",
        "TooLarge",
        "Unavailable",
    ],
    "executor": [
        "Invoked",
        "Manifest",
        "Question",
        "available",
        "bwrap_available",
        "check",
        "disabled",
        "expand_hints",
        "invoke",
        "invoke_executor",
        "sandbox_disabled",
        "status",
        "wrap_command",
    ],
}
_PARTS = ["aio", "errors", "executor", "sandbox"]

__all__ = sorted([*_PARTS, *(name for names in _WHERE.values() for name in names)])


def __getattr__(name: str) -> Any:
    """Loads a part of the package when it is first asked for."""
    from importlib import import_module

    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    for module, names in _WHERE.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


def __dir__() -> List[str]:
    return __all__
