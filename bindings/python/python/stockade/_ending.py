"""Ends a whole cage at once. Signals go through descriptors of processes, never to a number that may
be another's by now.

The first process of the cage is killed, and with it everything inside; `stockade` sees that, puts the
end on record, looks at what was left on the host, and ends. Only where there is no such process yet, or
none at all, `stockade` itself is killed.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import List, Optional

_LONGEST = 10.0
"""How many seconds what was killed may take to be gone. The kernel needs milliseconds."""


def end(supervisor: int) -> None:
    """Kills everything in the cage of a running `stockade run`, and returns when it is gone.

    `stockade` may still be busy for some milliseconds: whoever started it waits for it.
    """
    try:
        own = os.pidfd_open(supervisor)
    except ProcessLookupError:
        return
    try:
        first = _open_first_process(supervisor)
        if first is not None:
            _kill_and_wait([first])
            return
        # Nothing may be forked while we look.
        signal.pidfd_send_signal(own, signal.SIGSTOP)
        _wait_until_stopped(supervisor)
        first = _open_first_process(supervisor)
        if first is not None:
            signal.pidfd_send_signal(own, signal.SIGCONT)
            _kill_and_wait([first])
            return
        below = _open_descendants(supervisor)
        signal.pidfd_send_signal(own, signal.SIGKILL)
        _kill_and_wait(below)
    except ProcessLookupError:
        return
    finally:
        os.close(own)


def _kill_and_wait(processes: List[int]) -> None:
    """Kills processes by their descriptors, waits until they are gone, and closes the descriptors."""
    try:
        for descriptor in processes:
            try:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        limit = time.monotonic() + _LONGEST
        for descriptor in processes:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(0.0, limit - time.monotonic()) * 1000)
    finally:
        for descriptor in processes:
            os.close(descriptor)


def _open_first_process(supervisor: int) -> Optional[int]:
    """A descriptor of the first process of the cage: a child that is 1 in a namespace of its own."""
    depth = len(_namespace_ids(supervisor))
    for child in _children(supervisor):
        ids = _namespace_ids(child)
        if len(ids) > depth and ids[-1] == "1":
            descriptor = _open_child(supervisor, child)
            if descriptor is not None:
                return descriptor
    return None


def _open_descendants(process: int) -> List[int]:
    """Descriptors of all processes below one."""
    opened = []
    for child in _children(process):
        descriptor = _open_child(process, child)
        if descriptor is not None:
            opened += [descriptor, *_open_descendants(child)]
    return opened


def _open_child(process: int, child: int) -> Optional[int]:
    """A descriptor of a child, unless the number is another's meanwhile."""
    try:
        descriptor = os.pidfd_open(child)
    except ProcessLookupError:
        return None
    if child in _children(process):
        return descriptor
    os.close(descriptor)
    return None


def _wait_until_stopped(process: int) -> None:
    limit = time.monotonic() + 1.0
    while _state(process) not in ("T", "t", "Z", "X", "") and time.monotonic() < limit:
        time.sleep(0.001)


def _children(process: int) -> List[int]:
    return [int(word) for word in _read(f"/proc/{process}/task/{process}/children").split()]


def _namespace_ids(process: int) -> List[str]:
    """The ids of a process, outermost namespace first."""
    for line in _read(f"/proc/{process}/status").splitlines():
        if line.startswith("NSpid:"):
            return line.split()[1:]
    return []


def _state(process: int) -> str:
    fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
    return fields[0] if fields else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
