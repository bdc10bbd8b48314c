"""`run` and `spawn`: programs in cages, in the ways of `subprocess`. The cage is built by the `stockade`
program, which this module starts as a child; nothing else supervises it.
"""

from __future__ import annotations

import signal
import subprocess
from typing import IO, TYPE_CHECKING, Any, AnyStr, Dict, List, Mapping, Optional, Tuple, Union, overload

from . import _binary, _ending, _flags
from ._result import Channel, RunResult
from .errors import Timeout

if TYPE_CHECKING:
    from typing_extensions import Literal, Unpack

    from ._flags import CageOptions, Command, Environment, Path

    Stream = Union[None, int, IO[Any]]

    class SpawnOptions(CageOptions, total=False):
        """What `spawn` takes beside the kind of its streams."""

        stdin: Stream
        stdout: Stream
        stderr: Stream
        shell: bool
        executable: Optional[Path]
        cwd: Optional[Path]
        env: Optional[Environment]
        bufsize: int
        start_new_session: bool

    class RunOptions(SpawnOptions, total=False):
        """What `run` takes beside the kind of its streams."""

        input: Any
        capture_output: bool
        timeout: Optional[float]
        check: bool


class Completed(subprocess.CompletedProcess[AnyStr]):
    """A `subprocess.CompletedProcess` that also has the result from `stockade`."""

    result: RunResult
    """How the run ended, with what was refused, set aside and used."""


class Process(subprocess.Popen[AnyStr]):
    """A program in a cage; a `subprocess.Popen` whose process is the `stockade` around the program.

    `terminate` and `send_signal` reach the program. `kill` ends everything in the cage and returns
    when it is gone. `wait`, `poll` and `communicate` are those of `Popen`; `returncode` is the
    program's, with a signal as its negative number. Whether the program ran at all says `result`.
    """

    def __init__(
        self,
        args: Command,
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        shell: bool = False,
        executable: Optional[Path] = None,
        cwd: Optional[Path] = None,
        env: Optional[Environment] = None,
        bufsize: int = -1,
        start_new_session: bool = False,
        text: Optional[bool] = None,
        universal_newlines: Optional[bool] = None,
        encoding: Optional[str] = None,
        errors: Optional[str] = None,
        **cage: Unpack[CageOptions],
    ) -> None:
        self._status: Optional[int] = None
        self._channel = Channel()
        try:
            words = _flags.command(args, shell, executable)
            line, variables = start(self._channel, words, env, cage)
            super().__init__(
                line,
                bufsize=bufsize,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=variables,
                pass_fds=(self._channel.descriptor,),
                start_new_session=start_new_session,
                text=text,
                universal_newlines=universal_newlines,
                encoding=encoding,
                errors=errors,
            )
        except BaseException:
            self._channel.close()
            raise
        self.args = args

    @property
    def returncode(self) -> Any:
        """The program's exit code, the negative number of its signal, or None while it runs."""
        return None if self._status is None else self._channel.read(self._status).returncode

    @returncode.setter
    def returncode(self, status: Any) -> None:
        self._status = status

    def result(self, timeout: Optional[float] = None) -> RunResult:
        """Waits for the end and returns how it came.

        Raises `Refused`, `Unavailable`, `ProgramNotFound` or `ProgramNotExecutable` where nothing
        ran. Does not read from pipes: `communicate` first where there are any.
        """
        self.wait(timeout)
        result = self._ended()
        error = result.error()
        if error is not None:
            raise error
        return result

    def send_signal(self, sig: int) -> None:
        """Sends a signal to the program; `SIGKILL` is what `kill` does."""
        if sig == signal.SIGKILL:
            self.kill()
        else:
            super().send_signal(sig)

    def kill(self) -> None:
        """Kills everything in the cage, and returns when it is gone."""
        if self.poll() is None:
            self._channel.was_killed = True
            _ending.end(self.pid)

    def _ended(self) -> RunResult:
        """The result of a process that has been waited for."""
        return self._channel.read(self._status or 0)

    def _end(self) -> None:
        """Kills everything in the cage and waits for `stockade` too, which nobody reads from."""
        self.kill()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        self.wait()


def start(
    channel: Channel, words: List[str], env: Optional[Environment], cage: Mapping[str, Any]
) -> Tuple[List[str], Optional[Dict[str, str]]]:
    """The command that starts a program in a cage, and the environment that it needs."""
    flags, variables = _flags.environment(env)
    line = [_binary.path(), "run", *_flags.flags(cage), *flags, channel.flag, "--", *words]
    return line, variables


@overload
def spawn(
    args: Command,
    *,
    text: Literal[True],
    universal_newlines: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **options: Unpack[SpawnOptions],
) -> Process[str]: ...


@overload
def spawn(
    args: Command,
    *,
    text: Optional[bool] = None,
    universal_newlines: Optional[bool] = None,
    encoding: str,
    errors: Optional[str] = None,
    **options: Unpack[SpawnOptions],
) -> Process[str]: ...


@overload
def spawn(
    args: Command,
    *,
    text: Optional[Literal[False]] = None,
    universal_newlines: Optional[Literal[False]] = None,
    encoding: None = None,
    errors: None = None,
    **options: Unpack[SpawnOptions],
) -> Process[bytes]: ...


@overload
def spawn(
    args: Command,
    *,
    text: Optional[bool] = None,
    universal_newlines: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **options: Unpack[SpawnOptions],
) -> Process[Any]: ...


def spawn(args: Command, **options: Any) -> Process[Any]:
    """Starts a program in a cage and returns at once; the arguments are those of `run`.

    The returned process is a `subprocess.Popen`. Its `result()` waits for the end and says how it
    came, or raises what kept the program from running.
    """
    return Process(args, **options)


@overload
def run(
    args: Command,
    *,
    text: Literal[True],
    universal_newlines: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **options: Unpack[RunOptions],
) -> Completed[str]: ...


@overload
def run(
    args: Command,
    *,
    text: Optional[bool] = None,
    universal_newlines: Optional[bool] = None,
    encoding: str,
    errors: Optional[str] = None,
    **options: Unpack[RunOptions],
) -> Completed[str]: ...


@overload
def run(
    args: Command,
    *,
    text: Optional[Literal[False]] = None,
    universal_newlines: Optional[Literal[False]] = None,
    encoding: None = None,
    errors: None = None,
    **options: Unpack[RunOptions],
) -> Completed[bytes]: ...


@overload
def run(
    args: Command,
    *,
    text: Optional[bool] = None,
    universal_newlines: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **options: Unpack[RunOptions],
) -> Completed[Any]: ...


def run(
    args: Command,
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: Optional[float] = None,
    check: bool = False,
    **options: Any,
) -> Completed[Any]:
    """Runs a program in a cage and waits for it, as `subprocess.run` does without one.

    Like `subprocess.run`:
        args: the program and its arguments; with `shell=True` a text for `/bin/sh`.
        input, capture_output, text, encoding, errors, stdin, stdout, stderr, bufsize: the streams.
        timeout: seconds, after which everything in the cage is killed and `Timeout` is raised, which
            is a `subprocess.TimeoutExpired`.
        check: whether an exit code other than 0 raises `subprocess.CalledProcessError`.
        cwd: where the program starts, which is also what the cage shows read-only by default.
        env: the program's variables. Without it the program has none of the caller's.

    Of the cage:
        ro, rw, hide: paths that the program may read, may change, and may not see.
        net: hosts that it may reach, such as `"example.com:443"`; `False` for none at all.
        host_ports, publish: ports of this machine's loopback that it reaches, and that it offers.
        commands: `"base"`, `"none"`, or the names of the system's programs that it has.
        memory, pids, cpus, time: limits, such as `"512M"`, `64`, `1.5` and `90` seconds.
        degraded_limits: whether it may start where a limit cannot be held in full.
        seccomp: `"default"` or `"relaxed"`.
        state, session: whether `/scratch` is kept, and for which session.
        project, cage, agent: which policy holds, as for the command `stockade run`.
        backend: `"native"` or `"bwrap"`.
        quiet: whether notes of `stockade` stay out of standard error; they do unless this is False.

    Returns a `subprocess.CompletedProcess` with one attribute more, `result`. Raises `Refused`,
    `Unavailable`, `ProgramNotFound` or `ProgramNotExecutable` where nothing ran.
    """
    if input is not None:
        if options.get("stdin") is not None:
            raise ValueError("`stdin` and `input` cannot both be given")
        options["stdin"] = subprocess.PIPE
    if capture_output:
        if options.get("stdout") is not None or options.get("stderr") is not None:
            raise ValueError("`stdout` and `stderr` cannot be given with `capture_output`")
        options["stdout"] = options["stderr"] = subprocess.PIPE
    process: Process[Any] = Process(args, **options)
    try:
        output, error_output = process.communicate(input, timeout=timeout)
    except subprocess.TimeoutExpired as expired:
        process.kill()
        output, error_output = process.communicate()
        raise timed_out(args, expired.timeout, output, error_output) from None
    except BaseException:
        process._end()
        raise
    return completed(args, process._ended(), output, error_output, check)


def timed_out(args: Any, timeout: float, output: Any, error_output: Any) -> Timeout:
    """The exception for a run that took too long."""
    message = f"`{args}` took longer than {timeout} s, and its cage was ended"
    return Timeout(message, cmd=args, timeout=timeout, output=output, stderr=error_output)


def completed(args: Any, result: RunResult, output: Any, error_output: Any, check: bool) -> Completed[Any]:
    """What `run` returns for a program that ran, or raises for one that did not."""
    error = result.error(error_output)
    if error is not None:
        raise error
    done: Completed[Any] = Completed(args, result.returncode, output, error_output)
    done.result = result
    if check:
        done.check_returncode()
    return done
