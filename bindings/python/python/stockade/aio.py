"""The same for `asyncio`: `run`, `spawn`, `invoke` and `Cage`. A cancelled task ends its cage."""

from __future__ import annotations

import asyncio
import functools
import io
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Tuple

from . import _ending, _flags
from ._process import Completed, completed, start, timed_out
from ._result import Channel, RunResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import CageOptions, Command, Environment, Path
    from ._process import Stream
    from .executor import Executor, Invoked

__all__ = ["Cage", "Process", "invoke", "run", "spawn"]


class Process:
    """A program in a cage, with the members of `asyncio.subprocess.Process`.

    As an asynchronous context manager it kills what still runs at the end of the block.
    """

    def __init__(self, process: asyncio.subprocess.Process, channel: Channel, args: Command) -> None:
        self._process = process
        self._channel = channel
        self.args = args
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr
        self.pid = process.pid

    @property
    def returncode(self) -> Optional[int]:
        """The program's exit code, the negative number of its signal, or None while it runs."""
        status = self._process.returncode
        return None if status is None else self._channel.read(status).returncode

    async def wait(self) -> int:
        """Waits for the end. Where pipes may fill, `communicate` is the one to use."""
        return self._channel.read(await self._process.wait()).returncode

    async def communicate(self, input: Optional[bytes] = None) -> Tuple[Any, Any]:
        """Writes the input, reads both outputs to their ends, and waits."""
        return await self._process.communicate(input)

    async def result(self) -> RunResult:
        """Waits for the end and returns how it came; raises what kept the program from running."""
        result = self._channel.read(await self._process.wait())
        error = result.error()
        if error is not None:
            raise error
        return result

    def send_signal(self, sig: int) -> None:
        """Sends a signal to the program; `SIGKILL` is what `kill` does."""
        if self._process.returncode is None:
            if sig == signal.SIGKILL:
                self.kill()
            else:
                self._process.send_signal(sig)

    def terminate(self) -> None:
        """Asks the program to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kills everything in the cage, and returns when it is gone, some milliseconds later."""
        if self._process.returncode is None:
            self._channel.was_killed = True
            _ending.end(self.pid)

    async def end(self) -> None:
        """Kills everything in the cage and waits for `stockade` too."""
        self.kill()
        # What nobody reads must not keep `stockade` waiting.
        await asyncio.shield(self._process.communicate())

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()


async def spawn(
    args: Command,
    *,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    shell: bool = False,
    executable: Optional[Path] = None,
    cwd: Optional[Path] = None,
    env: Optional[Environment] = None,
    start_new_session: bool = False,
    **cage: Unpack[CageOptions],
) -> Process:
    """Starts a program in a cage; the arguments are those of `stockade.run`. Streams are bytes."""
    channel = Channel()
    try:
        line, variables = start(channel, _flags.command(args, shell, executable), env, cage)
        process = await asyncio.create_subprocess_exec(
            *line,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=variables,
            pass_fds=(channel.descriptor,),
            start_new_session=start_new_session,
        )
    except BaseException:
        channel.close()
        raise
    return Process(process, channel, args)


async def run(
    args: Command,
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: Optional[float] = None,
    check: bool = False,
    text: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **options: Any,
) -> Completed[Any]:
    """As `stockade.run`. Cancelling it, and its time-out, end everything in the cage."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    is_text = bool(text or encoding or errors)
    given = input.encode(encoding or "utf-8", errors or "strict") if isinstance(input, str) else input
    process = await spawn(args, **options)
    try:
        streams = await asyncio.wait_for(process.communicate(given), timeout)
    except asyncio.TimeoutError:
        await process.end()
        raise timed_out(args, timeout or 0.0, None, None) from None
    except BaseException:
        await process.end()
        raise
    outputs = [_decoded(stream, encoding, errors) if is_text else stream for stream in streams]
    result = process._channel.read(process._process.returncode or 0)
    return completed(args, result, outputs[0], outputs[1], check)


async def invoke(
    executor: Executor, args: Mapping[str, Any], timeout_s: Optional[float] = None, **options: Any
) -> Invoked:
    """As `stockade.invoke`, in a thread of its own. Cancelling it ends the executor."""
    from . import executor as _executor

    end = threading.Event()
    call = functools.partial(_executor.invoke, executor, args, timeout_s, cancelled=end.is_set, **options)
    answer = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        end.set()
        # Nothing of the executor may be left when the task ends.
        await asyncio.wait([answer])
        if not answer.cancelled():
            answer.exception()
        raise


class Cage:
    """As `stockade.Cage`, for `async with`."""

    def __init__(self, **options: Unpack[CageOptions]) -> None:
        _flags.flags(options)
        self.options = options
        self._spawned: List[Process] = []
        self._children: List[Cage] = []

    async def run(self, args: Command, **options: Any) -> Completed[Any]:
        """As `run`, with this cage's settings."""
        return await run(args, **_flags.of_run(self.options, options))

    async def spawn(self, args: Command, **options: Any) -> Process:
        """As `spawn`, with this cage's settings. The program ends with the `async with` block."""
        process = await spawn(args, **_flags.of_run(self.options, options))
        self._spawned = [other for other in self._spawned if other.returncode is None] + [process]
        return process

    def narrow(self, **request: Unpack[CageOptions]) -> Cage:
        """As `stockade.Cage.narrow`."""
        child = Cage(**_flags.of_child(self.options, request))
        self._children.append(child)
        return child

    async def close(self) -> None:
        """Ends everything that was spawned and has not ended, by children too."""
        for child in self._children:
            await child.close()
        spawned, self._spawned = self._spawned, []
        for process in spawned:
            process.kill()
        for process in spawned:
            await process.end()

    async def __aenter__(self) -> Cage:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _decoded(stream: Optional[bytes], encoding: Optional[str], errors: Optional[str]) -> Optional[str]:
    """Text as `subprocess` reads it, with its line ends."""
    if stream is None:
        return None
    with io.TextIOWrapper(io.BytesIO(stream), encoding=encoding, errors=errors) as reader:
        return reader.read()
