"""What the tests share: patience on slow machines, a project to run in, and a look at processes."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import time
import uuid
from typing import Callable, Iterator, List

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
"""The root of the whole project."""


def slowly(seconds: float) -> float:
    """How long to wait for what takes at most so long on an idle machine."""
    return seconds * int(os.environ.get("STOCKADE_TEST_SLOWNESS", "1"))


def require(module: str) -> None:
    """Skips a test whose package is missing, or fails it where everything is required."""
    if importlib.util.find_spec(module) is None:
        reason = f"the package `{module}` is not installed"
        if os.environ.get("STOCKADE_REQUIRE") == "all":
            pytest.fail(f"{reason}, and STOCKADE_REQUIRE=all")
        pytest.skip(reason)


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something comes to hold."""
    limit = time.monotonic() + slowly(seconds)
    while not holds():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def processes(marker: str) -> List[int]:
    """Processes, but this one, that have a text in their command line."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    line = file.read()
            except OSError:
                continue
            if marker.encode() in line:
                found.append(int(entry))
    return found


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def children() -> List[str]:
    """Processes that this one has not waited for; `multiprocessing` keeps some of its own."""
    found: List[str] = []
    for task in os.listdir("/proc/self/task"):
        # A thread may end between the two looks.
        with contextlib.suppress(FileNotFoundError):
            found += pathlib.Path(f"/proc/self/task/{task}/children").read_text("ascii").split()
    return found


@pytest.fixture
def marker() -> str:
    """A text that no other process has in its command line."""
    return f"marker-{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """An empty directory in which every test runs, and an environment that disables nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("STOCKADE_SANDBOX", "METNOS_SANDBOX"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
