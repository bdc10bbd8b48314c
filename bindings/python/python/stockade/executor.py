"""Executors: programs that declare what they need in a manifest, called with one JSON object and
answering with one. Each call reads the manifest anew; what stays between calls is one process that builds
the cages of all of them.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _binary, _stockade
from .errors import (
    Exited,
    Killed,
    NonJson,
    Refused,
    StockadeError,
    Timeout,
    TooLarge,
    Unavailable,
)

if TYPE_CHECKING:
    from ._flags import Path

    Executor = Union[str, "os.PathLike[str]", "Manifest", Mapping[str, Any], object]
    """A manifest's file, a `Manifest`, a manifest as a dictionary, or any object that has
    `code_path` and `capabilities`."""

    Approve = Union[None, str, Callable[["Question"], Union[None, bool, str, datetime, timedelta]]]
    """Who is asked: nobody, `"terminal"`, or a function."""

__all__ = [
    "Checked",
    "Invoked",
    "Manifest",
    "Question",
    "Wrapped",
    "available",
    "bwrap_available",
    "check",
    "disabled",
    "expand_hints",
    "invoke",
    "invoke_executor",
    "sandbox_disabled",
    "status",
    "wrap",
    "wrap_command",
]


@dataclass(frozen=True)
class Invoked:
    """What an executor answered.

    Attributes:
        value: the object that it printed.
        sandbox: what was around it: `native`, `bwrap`, or `none` where cages are switched off or the
            caller allowed it.
        reason: why there was no cage; None where there was one.
        autonomy: the level that held.
        exit_code: its exit code; an executor may say in its answer why it is not 0.
        narrowed: what the manifest declares and this call did not get, one sentence each.
        notes: what a person may want to know, one sentence each.
        left: files that it left and that would run code on the host: `path`, `moved_to`, `what`.
        invocation: the name of this start in the record; None without a cage of `stockade`'s own.
        duration: how long it ran, in seconds.
        stderr: what it wrote to standard error.
        layers: what the kernel holds of the layers that not every kernel has.
    """

    value: Dict[str, Any]
    sandbox: str
    reason: Optional[str] = None
    autonomy: str = "supervised"
    exit_code: int = 0
    narrowed: List[str] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    left: List[Dict[str, Any]] = field(default_factory=list)
    invocation: Optional[str] = None
    duration: float = 0.0
    stderr: str = ""
    layers: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class Wrapped:
    """A command line with its cage around it.

    Attributes:
        argv: the words, for any function that starts processes.
        sandbox: what will be around the program: `native`, `bwrap` or `none`.
        reason: why there will be no cage; None where there will be one.
        autonomy: the level that its authority was narrowed by.
        narrowed: what the manifest declares and the program does not get.
        notes: what a person may want to know.
    """

    argv: List[str]
    sandbox: str
    reason: Optional[str] = None
    autonomy: str = "supervised"
    narrowed: List[str] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    """What a call would get.

    Attributes:
        page: the compiled cage for a person.
        plan: the compiled cage as data.
        asks: what somebody would have to agree to: `capability`, `target`, `always`.
        narrowed: what the manifest declares and the call would not get.
        notes: what a person may want to know.
        create: directories that would be made.
    """

    page: str
    plan: Dict[str, Any]
    asks: List[Dict[str, Any]] = field(default_factory=list)
    narrowed: List[str] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    create: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """What somebody has to agree to before an executor starts. The texts are the executor's and the
    call's: escape them before they are shown.

    Attributes:
        executor, version: which executor.
        capability: such as `mail:send`.
        target: what it is limited to; None where it is not.
        command: the command that will run, as a shell takes it.
        arguments: the arguments of the call; None where they are not known yet.
        sandbox: what will be around it: `native`, `bwrap` or `none`.
        always: whether the answer holds for this call alone, whatever it is.
    """

    executor: str
    version: str
    capability: str
    target: Optional[str]
    command: str
    arguments: Optional[Dict[str, Any]]
    sandbox: str
    always: bool


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read and makes sense.

    Attributes:
        name, version, summary: what it says of itself.
        code_path: the entry, with every link resolved.
        command: the command that starts it.
        capabilities: the names of what it declares.
        timeout_sec: the time that a call has.
        max_output: the most bytes of each output.
        backend: what builds its cage.
        source: the file, or the dictionary, that it was read from.
    """

    name: str
    version: str
    summary: str
    code_path: str
    command: List[str]
    capabilities: List[str]
    timeout_sec: int
    max_output: int
    backend: str
    source: Union[str, Dict[str, Any]] = field(repr=False)

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Manifest:
        """Reads a manifest's file; raises `Refused` with everything that is wrong with it."""
        return cls._of(os.path.abspath(path))

    @classmethod
    def from_dict(cls, manifest: Mapping[str, Any]) -> Manifest:
        """Reads a manifest that is a dictionary already."""
        return cls._of(dict(manifest))

    @classmethod
    def _of(cls, source: Union[str, Dict[str, Any]]) -> Manifest:
        told = _answer(_stockade.describe(_source(source)))
        del told["ok"]
        return cls(**told, source=source)


def invoke(
    executor: Executor,
    args: Mapping[str, Any],
    timeout_s: Optional[float] = None,
    *,
    autonomy: str = "supervised",
    extra_ro: Optional[Sequence[Path]] = None,
    extra_rw: Optional[Sequence[Path]] = None,
    grants: Optional[Sequence[str]] = None,
    backend: Optional[str] = None,
    allow_unsandboxed: bool = False,
    approve: Approve = None,
    forbidden_paths: Sequence[str] = (),
    forbidden_patterns: Sequence[str] = (),
    cancelled: Optional[Callable[[], bool]] = None,
) -> Invoked:
    """Calls an executor: `args` as JSON on its standard input, its answer as JSON from its output.

    Args:
        executor: a manifest's file, a `Manifest`, a dictionary, or an object with `code_path` and
            `capabilities`.
        args: the arguments of the call. They only narrow what the manifest declares.
        timeout_s: the time that it has; the manifest's without it, which is 30 by default.
        autonomy: `read_only`, `supervised` or `full`. It only takes away.
        extra_ro, extra_rw: paths of the caller's own choice.
        grants: what of the manifest is given, such as `["fs:read:~/notes", "network:example.com"]`;
            without it everything ordinary that the manifest declares.
        backend: `native` or `bwrap`, in place of the manifest's; one that says `bwrap` needs it.
        allow_unsandboxed: whether the program may run where no cage can be built.
        approve: who is asked where the level wants somebody to agree: a function that gets a
            `Question` and returns whether to go on (or `"always"`, a `datetime` or a `timedelta`, which are
            kept for later calls), or `"terminal"`. Without it nobody agrees.
        forbidden_paths, forbidden_patterns: what no argument may name, beside well-known secrets.
        cancelled: asked some times a second; the executor is ended once it says yes.

    Raises `Refused`, `Unavailable`, `Timeout`, `Killed`, `Exited`, `NonJson` or `TooLarge`. Whatever
    happens, nothing of the executor is left running.
    """
    given = _given(autonomy, extra_ro, extra_rw, grants, backend, allow_unsandboxed, approve)
    given.update(
        timeout=timeout_s,
        forbidden_paths=list(forbidden_paths),
        forbidden_patterns=list(forbidden_patterns),
        cancelled=cancelled,
    )
    answer = _stockade.invoke_executor(_source(executor), _object(args), given)
    told = _answer(answer, executor)
    sandbox = told["sandbox"]
    return Invoked(
        value=told["result"],
        sandbox=sandbox["level"],
        reason=sandbox.get("reason"),
        layers=sandbox.get("layers"),
        autonomy=told["autonomy"],
        exit_code=told["exit_code"],
        narrowed=told["narrowed"],
        notes=told["notes"],
        left=told["left"],
        invocation=told["invocation"],
        duration=told["duration_ms"] / 1000,
        stderr=told["stderr"],
    )


invoke_executor = invoke


def wrap(
    executor: Executor,
    cmd: Sequence[Path] = (),
    autonomy: str = "supervised",
    extra_ro: Optional[Sequence[Path]] = None,
    extra_rw: Optional[Sequence[Path]] = None,
    *,
    grants: Optional[Sequence[str]] = None,
    backend: Optional[str] = None,
    allow_unsandboxed: bool = False,
    approve: Approve = None,
    args: Optional[Mapping[str, Any]] = None,
) -> Wrapped:
    """As `wrap_command`, with what is known about the command line beside its words."""
    given = _given(autonomy, extra_ro, extra_rw, grants, backend, allow_unsandboxed, approve)
    words = [os.fsdecode(word) for word in cmd]
    argv, answer = _stockade.wrap(_source(executor), words, None if args is None else _object(args), given)
    told = _answer(answer, cmd)
    sandbox = told["sandbox"]
    return Wrapped(
        argv=argv or [],
        sandbox=sandbox["level"],
        reason=sandbox.get("reason"),
        autonomy=told["autonomy"],
        narrowed=told["narrowed"],
        notes=told["notes"],
    )


def wrap_command(
    executor: Executor,
    cmd: Sequence[Path],
    autonomy: str = "supervised",
    extra_ro: Optional[Sequence[Path]] = None,
    extra_rw: Optional[Sequence[Path]] = None,
    *,
    grants: Optional[Sequence[str]] = None,
    backend: Optional[str] = None,
    allow_unsandboxed: bool = False,
    approve: Approve = None,
    args: Optional[Mapping[str, Any]] = None,
) -> List[str]:
    """A command with its cage around it, complete in itself: `subprocess.run` can start it.

    Where the environment switches cages off it is the same command. Where none can be built it is an
    `Unavailable`, or the same command if `allow_unsandboxed` says so. The other arguments are those of
    `invoke`; without `args`, capabilities that depend on arguments are not given.
    """
    return wrap(
        executor,
        cmd,
        autonomy,
        extra_ro,
        extra_rw,
        grants=grants,
        backend=backend,
        allow_unsandboxed=allow_unsandboxed,
        approve=approve,
        args=args,
    ).argv


def check(
    executor: Executor,
    args: Optional[Mapping[str, Any]] = None,
    *,
    autonomy: str = "supervised",
    extra_ro: Optional[Sequence[Path]] = None,
    extra_rw: Optional[Sequence[Path]] = None,
    grants: Optional[Sequence[str]] = None,
) -> Checked:
    """What a call would get: nothing is started, asked or made."""
    given = _given(autonomy, extra_ro, extra_rw, grants, None, False, None)
    told = _answer(_stockade.check(_source(executor), None if args is None else _object(args), given))
    del told["ok"]
    return Checked(**told)


def status() -> Dict[str, Any]:
    """What this machine does for a call, for dashboards.

    `bwrap_available`, `bwrap_path`, `disabled_via_env`, `native_available`, `active` (a cage was built
    just now, and nothing switches cages off) and `reason`.
    """
    told: Dict[str, Any] = json.loads(_stockade.status(_binary.path()))
    return told


def available() -> bool:
    """Whether a cage can be built here. One is built at every call; a broken try is `Unavailable`."""
    try:
        return _stockade.available(_binary.path()) is None
    except RuntimeError as error:
        raise Unavailable(str(error), reason="probe") from None


def bwrap_available() -> bool:
    """Whether bubblewrap is installed, for `backend="bwrap"`. Looked up at every call."""
    return _stockade.bwrap_available()


def sandbox_disabled() -> bool:
    """Whether `STOCKADE_SANDBOX` or `METNOS_SANDBOX` switches cages off: `0`, `off`, `no`, `false`."""
    return _stockade.disabled() is not None


disabled = sandbox_disabled


def expand_hints(hints: Sequence[object]) -> List[str]:
    """The roots that hints name: cut at the first glob, `~` expanded, each once.

    Hints that are no text, empty or relative are left out; one with `..` is a `ValueError`.
    """
    texts = [hint for hint in hints if isinstance(hint, str)]
    return [os.fspath(path) for path in _stockade.expand_hints(texts, os.environ.get("HOME"))]


def _given(
    autonomy: str,
    extra_ro: Optional[Sequence[Path]],
    extra_rw: Optional[Sequence[Path]],
    grants: Optional[Sequence[str]],
    backend: Optional[str],
    allow_unsandboxed: bool,
    approve: Approve,
) -> Dict[str, Any]:
    """What the native module takes."""
    return {
        "autonomy": autonomy,
        "extra_ro": [os.fsdecode(path) for path in extra_ro or ()],
        "extra_rw": [os.fsdecode(path) for path in extra_rw or ()],
        "grants": None if grants is None else list(grants),
        "backend": backend,
        "allow_unsandboxed": allow_unsandboxed,
        "timeout": None,
        "forbidden_paths": [],
        "forbidden_patterns": [],
        "stockade": _binary.path(),
        "approve": _asking(approve) if callable(approve) else approve,
        "cancelled": None,
    }


def _asking(approve: Callable[[Question], Any]) -> Callable[..., Union[None, bool, int]]:
    """A caller's function, between the values of the native module."""

    def ask(**fields: Any) -> Union[None, bool, int]:
        if fields["arguments"] is not None:
            fields["arguments"] = json.loads(fields["arguments"])
        answer = approve(Question(**fields))
        if answer is None or isinstance(answer, bool):
            return answer
        if answer in ("always", "once", "no"):
            return {"always": 0, "once": True, "no": False}[answer]
        if isinstance(answer, timedelta):
            return max(1, int(time.time() + answer.total_seconds()))
        if isinstance(answer, datetime):
            return max(1, int(answer.timestamp()))
        raise TypeError("an answer is True, False, 'always', a datetime or a timedelta")

    return ask


def _source(executor: Any) -> Dict[str, Any]:
    """Which executor is meant, for the native module."""
    here = os.getcwd()
    if isinstance(executor, Manifest):
        executor = executor.source
    if isinstance(executor, (str, os.PathLike)):
        return {"path": os.fspath(executor), "manifest": None, "directory": here}
    if isinstance(executor, Mapping):
        manifest = dict(executor)
    elif hasattr(executor, "code_path") and hasattr(executor, "capabilities"):
        names = [name for name in _FIELDS if getattr(executor, name, None) is not None]
        manifest = {name: getattr(executor, name) for name in names}
    else:
        raise TypeError(
            "an executor is a manifest's file, a dictionary, a Manifest, or has `code_path` and `capabilities`"
        )
    return {"path": None, "manifest": json.dumps(manifest, default=_plain), "directory": here}


_FIELDS = ("code_path", "capabilities", "name", "version", "path_args", "timeout_sec", "max_output", "backend")
"""What of an object's attributes is part of its manifest."""


def _plain(value: object) -> object:
    """Values that JSON does not know: paths, and collections that are no list."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot be part of a manifest")


def _object(args: Mapping[str, Any]) -> str:
    if not isinstance(args, Mapping):
        raise TypeError("the arguments of a call are a dictionary")
    return json.dumps(dict(args), allow_nan=False)


def _answer(text: str, cmd: Any = None) -> Dict[str, Any]:
    """An answer of the native module; a failure is raised."""
    told: Dict[str, Any] = json.loads(text)
    if told["ok"]:
        return told
    raise _error(told, cmd)


_KINDS: Dict[str, Tuple[type, str]] = {
    "refused": (Refused, "code"),
    "unavailable": (Unavailable, "kind"),
    "killed": (Killed, "reason"),
    "exited": (Exited, "kind"),
    "non_json": (NonJson, "kind"),
    "too_large": (TooLarge, "stream"),
}
"""Kinds of failure: the exception, and which field is its `reason`."""


def _error(told: Dict[str, Any], cmd: Any) -> StockadeError:
    failure = told["error"]
    sandbox = told.get("sandbox")
    fields = {name: told.get(name) for name in ("autonomy", "invocation", "stderr", "left", "narrowed", "notes")}
    fields["sandbox"] = sandbox["level"] if sandbox else None
    if failure["kind"] == "timeout":
        return Timeout(failure["message"], cmd=cmd, timeout=failure["seconds"], **fields)
    kind, reason = _KINDS.get(failure["kind"], (StockadeError, "kind"))
    exit_code = failure["code"] if failure["kind"] == "exited" else None
    error: StockadeError = kind(failure["message"], reason=failure[reason], exit_code=exit_code, **fields)
    return error
