"""`stockade.spawn`, `Cage` and the same for `asyncio`."""

from __future__ import annotations

import asyncio
import pathlib
import signal
import subprocess
from typing import Any, Coroutine, Dict, List

import pytest
import stockade
from conftest import descriptors, eventually, processes, slowly
from stockade import aio


def test_is_a_popen() -> None:
    """Pipes, `communicate`, `poll`, `wait` and the context manager."""
    with stockade.spawn(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert isinstance(process, subprocess.Popen)
        assert process.poll() is None and process.returncode is None
        assert process.communicate("hello", timeout=slowly(30))[0] == "hello"
    assert process.returncode == 0
    assert process.result().reason == "exited"


def test_signals_reach_the_program() -> None:
    """`terminate` is for the program to handle; a signal that ends it is its negative number."""
    script = "trap 'echo asked; exit 9' TERM; echo ready; while :; do sleep 0.1; done"
    process = stockade.spawn(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.communicate(timeout=slowly(30))[0] == "asked\n"
    assert process.returncode == 9
    process = stockade.spawn(["sh", "-c", "echo ready; sleep 1000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(slowly(30)) == -signal.SIGTERM
    process.stdout.close()


def test_kill_ends_everything_in_the_cage(marker: str) -> None:
    """Also what the program has left in the background, before `kill` returns."""
    process = stockade.spawn(["sh", "-c", f"(sleep 1000; echo {marker}) & echo ready; wait"], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.kill()
    assert [one for one in processes(marker) if one != process.pid] == []
    assert process.wait(slowly(30)) == -signal.SIGKILL
    assert process.result().signal == signal.SIGKILL
    process.stdout.close()


@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.05])
def test_kill_at_any_moment_of_the_start(moment: float, marker: str) -> None:
    """However early it comes, nothing is left."""
    process = stockade.spawn(["sh", "-c", f"sleep 1000; echo {marker}"], stderr=subprocess.DEVNULL)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        pass
    process.kill()
    assert process.wait(slowly(30)) == -signal.SIGKILL
    assert eventually(lambda: processes(marker) == [])


def test_a_refusal_comes_with_the_result() -> None:
    """`wait` returns a code as `Popen` does; `result` raises."""
    process = stockade.spawn(["true"], ro="/nowhere", stderr=subprocess.DEVNULL)
    assert process.wait(slowly(30)) == 123
    with pytest.raises(stockade.Refused) as caught:
        process.result()
    assert caught.value.reason == "path_missing"


def test_a_cage_ends_what_it_spawned(marker: str) -> None:
    """Settings hold for all runs, and the block's end is the end of what was spawned."""
    before = descriptors()
    with stockade.Cage(net=False, ro=".") as cage:
        assert cage.run(["true"]).returncode == 0
        first = cage.spawn(["sh", "-c", f"trap '' TERM; sleep 1000; echo {marker}"])
        second = cage.spawn(["sh", "-c", f"sleep 1000; echo {marker}"], stdout=subprocess.PIPE)
        assert first.poll() is None
    assert (first.returncode, second.returncode) == (-9, -9)
    assert processes(marker) == []
    assert descriptors() == before
    assert repr(cage) == "Cage(net=False, ro='.')"


def test_settings_of_a_run_count_instead_of_those_of_the_cage() -> None:
    """What a call says is not added to what the cage says."""
    cage = stockade.Cage(commands=["true"])
    with pytest.raises(stockade.ProgramNotFound):
        cage.run(["env"], capture_output=True)
    assert cage.run(["env"], capture_output=True, commands="base").returncode == 0


def test_a_child_has_a_part_of_its_cage(project: pathlib.Path) -> None:
    """V34: less is given, also of what was narrowed before; more is refused by name; nothing is given back by a run."""
    for name in ("a/b/two", "a/one", "three"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    cage = stockade.Cage(rw=str(project), net="example.com:443")
    look = "cat a/one a/b/two three 2>/dev/null; touch a/b/new 2>/dev/null && echo wrote; ls /sys/class/net | wc -l"
    shell: Any = {"shell": True, "capture_output": True, "text": True, "cwd": str(project)}
    child = cage.narrow(rw=str(project / "a"), net=False)
    assert child.run("cat a/one a/b/two three 2>/dev/null; true", **shell).stdout == "a/onea/b/two"
    grandchild = child.narrow(ro=str(project / "a/b"))
    assert grandchild.run(look, **shell).stdout.startswith("a/b/two")
    assert not (project / "a/b/new").exists()
    assert cage.run("cat three", **shell).stdout == "three"
    wanted: List[Dict[str, Any]] = [{"rw": str(project / "a/b")}, {"ro": str(project)}, {"net": "example.com:443"}]
    for more in wanted:
        with pytest.raises(stockade.Refused):
            grandchild.narrow(**more).run(["true"], capture_output=True)
    with pytest.raises(stockade.Refused) as caught:
        cage.narrow(net="other.example:443").run(["true"], capture_output=True)
    assert "other.example" in str(caught.value)
    with pytest.raises(TypeError):
        child.run(["true"], net="example.com:443")
    with pytest.raises(TypeError):
        cage.narrow(session="other")
    with cage:
        process = grandchild.spawn(["sleep", "1000"])
        assert process.poll() is None
    assert process.returncode == -signal.SIGKILL


def wait_for(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs a test's coroutine, for a bounded time."""
    asyncio.run(asyncio.wait_for(coroutine, slowly(120)))


def test_asyncio_run() -> None:
    """The same results and exceptions; many at a time."""

    async def check() -> None:
        done = await aio.run(["cat"], input="text", capture_output=True, text=True)
        assert (done.stdout, done.returncode, done.result.reason) == ("text", 0, "exited")
        with pytest.raises(subprocess.CalledProcessError):
            await aio.run("exit 3", shell=True, check=True)
        with pytest.raises(stockade.Refused):
            await aio.run(["true"], ro="/nowhere", capture_output=True)
        many = await asyncio.gather(*(aio.run(["echo", str(n)], capture_output=True) for n in range(8)))
        assert [int(one.stdout) for one in many] == list(range(8))

    wait_for(check())


def test_asyncio_ends_cages(marker: str) -> None:
    """A time-out, a cancelled task and the end of a block leave nothing."""
    script = ["sh", "-c", f"trap '' TERM; sleep 1000; echo {marker}"]

    async def check() -> None:
        with pytest.raises(stockade.Timeout):
            await aio.run(script, timeout=slowly(1), capture_output=True)
        assert processes(marker) == []
        task = asyncio.ensure_future(aio.run(script))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes(marker) == []
        async with aio.Cage(net=False) as cage:
            process = await cage.spawn(script)
            assert (await cage.run(["true"])).returncode == 0
            assert process.returncode is None
        assert process.returncode == -9
        assert processes(marker) == []
        async with await aio.spawn(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
            assert await cat.communicate(b"through") == (b"through", None)
            assert (await cat.result()).reason == "exited"

    before = descriptors()
    wait_for(check())
    assert descriptors() == before
