"""The result of a run, as `stockade` itself reports it, and the channel on which it comes.

The channel is a file in memory that only this process and `stockade` hold: no program in a cage can
write to it, so a program's own exit code is never mistaken for a word of `stockade`.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .errors import (
    Killed,
    ProgramNotExecutable,
    ProgramNotFound,
    Refused,
    StockadeError,
    Unavailable,
)

_RAN = frozenset(["exited", "signalled", "seccomp", "walltime_exceeded", "oom", "session_ended"])
"""Reasons with which a program ended that ran."""

_KINDS: Dict[str, type] = {
    "program_not_found": ProgramNotFound,
    "program_not_executable": ProgramNotExecutable,
    "record_lost": Killed,
    "supervisor_killed": Killed,
    "usage": Refused,
    "policy_syntax": Refused,
    "policy_invalid": Refused,
    "path_missing": Refused,
    "not_approved": Refused,
    "beyond_ceiling": Refused,
    "too_broad": Refused,
    "uncaged_not_allowed": Refused,
}
"""Kinds of failure and their exceptions. Any other kind is the machine's: `Unavailable`."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended, from `stockade` itself.

    Attributes:
        reason: `exited`, `signalled`, `seccomp`, `walltime_exceeded`, `oom`, `session_ended`, or the
            kind of failure where nothing ran.
        exit_code: the exit code of `stockade`: the program's own where it exited.
        signal: the signal that ended the program.
        caged: False for a program that ran without a cage.
        cage: the name of the cage in the policy.
        invocation: the name of this start in the record.
        session: the session that the run belonged to.
        duration_ms: from the program's first instruction to its end.
        denials: refused system calls, each with `syscall`, `count` and `killed`.
        quarantined: files that were set aside, each with `path`, `moved_to` and `what`.
        notes: what else was found after the run, one sentence each.
        network: what went through and what was refused; None without a network.
        usage: what limits have counted; None without limits.
        raw: the whole result, with what is not listed here.
    """

    reason: str
    exit_code: int
    signal: Optional[int] = None
    caged: bool = True
    cage: Optional[str] = None
    invocation: Optional[str] = None
    session: Optional[str] = None
    duration_ms: Optional[int] = None
    denials: List[Dict[str, Any]] = field(default_factory=list)
    quarantined: List[Dict[str, Any]] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    network: Optional[Dict[str, Any]] = None
    usage: Optional[Dict[str, Any]] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def ran(self) -> bool:
        """Whether the program ran to an end of its own or of a limit."""
        return self.reason in _RAN

    @property
    def returncode(self) -> int:
        """The exit code in the way of `subprocess`: a signal is its negative number."""
        if self.signal is not None and self.reason != "walltime_exceeded":
            return -self.signal
        return self.exit_code

    def error(self, stderr: Any = None) -> Optional[StockadeError]:
        """The exception for what kept the program from running; None for one that ran."""
        if self.ran:
            return None
        told = self.raw.get("error") or {}
        kind = _KINDS.get(self.reason, Unavailable)
        error: StockadeError = kind(
            told.get("message") or f"`stockade` reported nothing and ended with {self.exit_code}",
            reason=self.reason,
            help=told.get("help") or [],
            exit_code=self.exit_code,
            invocation=self.invocation,
            stderr=stderr,
            result=self,
        )
        return error


class Channel:
    """Where `stockade` writes the result of one run."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("stockade-result")
        self._lock = threading.Lock()
        self._result: Optional[RunResult] = None
        self._is_open = True
        self.was_killed = False

    @property
    def flag(self) -> str:
        """The flag of `stockade run` that names this channel."""
        return f"--json=/dev/fd/{self.descriptor}"

    def read(self, status: int) -> RunResult:
        """The result, once `stockade` has ended with `status`. Closes the channel."""
        with self._lock:
            if self._result is None:
                result = _parse(self._text(), status)
                if self.was_killed and not result.ran:
                    # It was killed before it began, which reads as a failure to begin.
                    result = RunResult(reason="signalled", exit_code=137, signal=9)
                self._result = result
                self._close()
            return self._result

    def close(self) -> None:
        """Closes the channel without reading it."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self.descriptor)

    def _text(self) -> bytes:
        if not self._is_open:
            return b""
        size = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, size, 0)

    def __del__(self) -> None:
        self.close()


def _parse(text: bytes, status: int) -> RunResult:
    """Reads a result. Without one `stockade` was itself killed, or could not even begin."""
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        if status < 0:
            return RunResult(reason="supervisor_killed", exit_code=128 - status, signal=-status)
        return RunResult(reason="no_result", exit_code=status)
    known = {name: told[name] for name in RunResult.__dataclass_fields__ if name in told}
    return RunResult(**{**known, "raw": told})
