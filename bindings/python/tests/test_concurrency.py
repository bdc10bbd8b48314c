"""Many at a time: threads, processes that were forked and processes that were spawned."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pathlib
import pickle
import subprocess
from typing import Any, Dict, List, Tuple

import executors
import pytest
import stockade
from conftest import children, descriptors, slowly

THREADS = 8


def one_run(number: int) -> int:
    """A run whose answer is its own."""
    return int(stockade.run(["echo", str(number)], capture_output=True, text=True, check=True).stdout)


def one_invoke(task: Tuple[Dict[str, Any], int]) -> int:
    """A call whose answer is its own."""
    tool, number = task
    return int(stockade.invoke(tool, {"n": number}).value["n"])


def one_refusal(_number: int) -> None:
    """What is raised in another process."""
    stockade.run(["true"], ro="/nowhere", capture_output=True)


def test_threads(project: pathlib.Path) -> None:
    """Eight threads with runs and calls by turns: every answer is right, and nothing is left."""
    tool = executors.manifest(project, "answer = args")
    one_invoke((tool, 0))
    before = (descriptors(), children())
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        runs = pool.map(one_run, range(80), timeout=slowly(120))
        calls = pool.map(one_invoke, [(tool, number) for number in range(80)], timeout=slowly(120))
        assert list(runs) == list(range(80)) and list(calls) == list(range(80))
    assert (descriptors(), children()) == before


def test_a_spawned_program_outlives_the_thread_that_started_it() -> None:
    """Whoever holds the process decides about it, not the thread."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        start = pool.submit(stockade.spawn, ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = start.result(slowly(30))
    assert process.communicate(b"alive", timeout=slowly(30))[0] == b"alive"
    assert process.returncode == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(project: pathlib.Path, method: str) -> None:
    """In processes of every kind, also in one that was forked after the module was in use."""
    tool = executors.manifest(project, "answer = args")
    assert one_run(1) == 1 and one_invoke((tool, 1)) == 1
    with multiprocessing.get_context(method).Pool(4) as pool:
        assert pool.map(one_run, range(12)) == list(range(12))
        assert pool.map(one_invoke, [(tool, number) for number in range(12)]) == list(range(12))
        # An exception comes from there with all its fields.
        with pytest.raises(stockade.Refused) as caught:
            pool.map(one_refusal, [1])
    assert (caught.value.reason, caught.value.exit_code) == ("path_missing", 123)
    assert caught.value.help and caught.value.result is not None


def test_everything_that_is_raised_or_returned_can_be_pickled(project: pathlib.Path) -> None:
    """With its fields."""
    tool = executors.manifest(project, "answer = args")
    values: List[Any] = [
        stockade.invoke(tool, {"n": 1}),
        stockade.Manifest.from_dict(tool),
        stockade.run(["true"]).result,
    ]
    for value in values:
        assert pickle.loads(pickle.dumps(value)) == value
    assert pickle.loads(pickle.dumps(stockade.run(["true"]))).result.reason == "exited"
    kinds = [getattr(stockade.errors, name) for name in stockade.errors.__all__]
    for kind in kinds:
        error = kind("what", help=["do this"], exit_code=3, stderr="tail", invocation="I", autonomy="full")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and again.__dict__ == error.__dict__
        assert str(again) == str(error) == "what\nhelp: do this"
    error = stockade.Timeout("late", cmd=["x"], timeout=2.5, output=b"out", stderr=b"err")
    again = pickle.loads(pickle.dumps(error))
    assert (again.cmd, again.timeout, again.output, again.stdout) == (["x"], 2.5, b"out", b"out")
