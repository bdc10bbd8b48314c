"""Every exception that this package raises. All of them can be pickled. Nothing is decided here."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Tuple, Type

if TYPE_CHECKING:
    from ._result import RunResult

__all__ = [
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
]


class StockadeError(Exception):
    """What every exception of this package is.

    Attributes:
        message: what happened, one sentence.
        reason: a stable word for it, such as `too_broad` or `timeout`.
        help: what to do about it, one sentence each.
        exit_code: the exit code of `stockade`, or of the executor; None where nothing ended.
        invocation: the name of the start in the record; None where nothing is on record.
        sandbox: the level that was enforced (`native`, `bwrap`, `none`); None where nothing started.
        autonomy: the autonomy of the call; None where there was none.
        stderr: the end of what an executor wrote to standard error, or what a run did.
        left: files that an executor left and that would run code on the host, as in `Invoked`.
        narrowed: what an executor declares and did not get, one sentence each.
        notes: what else there is to know about a call, one sentence each.
        result: the whole result of a run; None for executors.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        help: Sequence[str] = (),
        exit_code: Optional[int] = None,
        invocation: Optional[str] = None,
        sandbox: Optional[str] = None,
        autonomy: Optional[str] = None,
        stderr: Any = None,
        left: Optional[Sequence[Dict[str, Any]]] = None,
        narrowed: Optional[Sequence[str]] = None,
        notes: Optional[Sequence[str]] = None,
        result: Optional[RunResult] = None,
    ) -> None:
        Exception.__init__(self, message)
        self.message = message
        self.reason = reason
        self.help = list(help)
        self.exit_code = exit_code
        self.invocation = invocation
        self.sandbox = sandbox
        self.autonomy = autonomy
        self.stderr = stderr
        self.left = list(left or ())
        self.narrowed = list(narrowed or ())
        self.notes = list(notes or ())
        self.result = result

    def __str__(self) -> str:
        return "\nhelp: ".join([self.message, *self.help])

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, dict(self.__dict__)))


class Refused(StockadeError):
    """Nothing ran: what was asked for is more than may be had, or makes no sense.

    `reason` is one of the kinds of failure of `stockade run`, or what an executor's call was
    refused for.
    """


class Unavailable(StockadeError):
    """Nothing ran: this machine cannot build the cage, or cannot build it now."""


class ProgramNotFound(StockadeError, FileNotFoundError):
    """Nothing ran: the cage has no such program. Also a `FileNotFoundError`, as in `subprocess`."""


class ProgramNotExecutable(StockadeError, PermissionError):
    """Nothing ran: the program is no program. Also a `PermissionError`, as in `subprocess`."""


class Killed(StockadeError):
    """The program ran and was ended by something else than itself; `reason` says by what."""


class Exited(StockadeError):
    """An executor ended with `exit_code` and without a JSON object on standard output."""


class NonJson(StockadeError):
    """What an executor wrote to standard output is not exactly one JSON object."""


class TooLarge(StockadeError):
    """An executor wrote more than its manifest lets it."""


class Timeout(StockadeError, subprocess.TimeoutExpired):
    """The time was over, and everything in the cage is gone. Also a `subprocess.TimeoutExpired`.

    Attributes:
        cmd: the command.
        timeout: the time that it had, in seconds.
        output: what it had written to standard output, where that was captured.
    """

    def __init__(
        self, message: str, *, cmd: Any = None, timeout: float = 0.0, output: Any = None, **fields: Any
    ) -> None:
        StockadeError.__init__(self, message, reason="timeout", **fields)
        self.cmd = cmd
        self.timeout = timeout
        self.output = output


def _rebuild(kind: Type[StockadeError], message: str, fields: Dict[str, Any]) -> StockadeError:
    """Makes an exception again from what `pickle` kept of it."""
    error = kind.__new__(kind, message)
    error.args = (message,)
    error.__dict__.update(fields)
    return error
