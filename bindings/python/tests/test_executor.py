"""`stockade.invoke` and its kin: answers, failures, approvals and what the manifest gives."""

from __future__ import annotations

import asyncio
import datetime
import functools
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List

import executors
import pytest
import stockade
from conftest import children, descriptors, processes, slowly
from stockade import aio
from stockade.executor import Question


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Stored grants and the record of each test are its own."""
    directory = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory


def test_one_object_in_and_one_out(project: pathlib.Path) -> None:
    """M63, M66, M68: JSON both ways, and the result says what was around the program."""
    tool = executors.manifest(project, "answer = {'sum': sum(args['n'])}; print('note', file=sys.stderr)")
    invoked = stockade.invoke(tool, {"n": [1, 2, 3]})
    assert invoked.value == {"sum": 6}
    assert (invoked.sandbox, invoked.autonomy, invoked.exit_code) == ("native", "supervised", 0)
    assert invoked.stderr == "note\n" and invoked.invocation and invoked.duration > 0
    assert stockade.invoke_executor is stockade.invoke


def test_every_kind_of_executor(project: pathlib.Path) -> None:
    """M12: a file, a dictionary, a `Manifest`, and any object with two attributes."""
    tool = executors.manifest(project, "answer = {'fine': True}", ["time:read"])
    file = project / "tool.toml"
    file.write_text('name = "tool"\ncode = "executors/tool.py"\ncapabilities = ["time:read"]\n')
    kinds: List[Any] = [
        tool,
        str(file),
        file,
        stockade.Manifest.load(file),
        stockade.Manifest.from_dict(tool),
        executors.Plain(pathlib.Path(tool["code_path"]), ["time:read"]),
    ]
    for kind in kinds:
        assert stockade.invoke(kind, {}).value == {"fine": True}
    loaded = stockade.Manifest.load(file)
    assert (loaded.name, loaded.timeout_sec, loaded.capabilities) == ("tool", 30, ["time:read"])
    with pytest.raises(TypeError):
        stockade.invoke(object(), {})


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        ("print('no JSON')", stockade.NonJson, "non_json"),
        ("print('{}')", stockade.NonJson, "non_json"),
        ("sys.exit(7)", stockade.Exited, "exited"),
        ("os.kill(os.getpid(), 9)", stockade.Killed, "signal 9"),
        ("print('x' * (2 << 20))", stockade.TooLarge, "stdout"),
        ("print('x' * (2 << 20), file=sys.stderr)", stockade.TooLarge, "stderr"),
    ],
)
def test_failures_are_typed(project: pathlib.Path, body: str, kind: Any, reason: str) -> None:
    """Each way to fail is an exception of its own, with the level that held."""
    with pytest.raises(kind) as caught:
        stockade.invoke(executors.manifest(project, body), {})
    error = caught.value
    assert isinstance(error, stockade.StockadeError)
    assert (error.reason, error.sandbox, error.autonomy) == (reason, "native", "supervised")
    assert error.invocation


def test_an_answer_with_an_exit_code_is_an_answer(project: pathlib.Path) -> None:
    """An executor may say in JSON why it failed."""
    tool = executors.manifest(project, "print('{\"why\": 1}'); sys.exit(3)")
    invoked = stockade.invoke(tool, {})
    assert (invoked.value, invoked.exit_code) == ({"why": 1}, 3)


def test_a_time_out_leaves_nothing(project: pathlib.Path, marker: str) -> None:
    """M67: 30 seconds by default; what is over is gone with all that it started."""
    body = f"""
        import subprocess
        subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000; echo {marker}"])
        time.sleep(1000)
    """
    tool = executors.manifest(project, body)
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        stockade.invoke(tool, {}, timeout_s=1)
    assert isinstance(caught.value, stockade.Timeout)
    assert caught.value.timeout == 1
    assert processes(marker) == []


def test_manifests_that_make_no_sense(project: pathlib.Path) -> None:
    """All that is wrong is said, before anything runs."""
    with pytest.raises(stockade.Refused) as caught:
        stockade.Manifest.from_dict({"code_path": "/x.py", "capabilities": ["fs:fly"], "nme": "x"})
    assert caught.value.reason == "manifest"
    assert "fs:fly" in caught.value.message and "nme" in caught.value.message
    with pytest.raises(stockade.Refused):
        stockade.Manifest.load(project / "absent.toml")
    with pytest.raises(ValueError):
        stockade.invoke(executors.manifest(project, ""), {}, autonomy="unbounded")
    with pytest.raises(ValueError):
        stockade.invoke(executors.manifest(project, ""), {"x": float("nan")})
    with pytest.raises(ValueError):
        stockade.invoke(executors.manifest(project, ""), {}, grants=["everything"])


def test_capabilities_and_arguments(project: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M30, M31, M73: the manifest gives, an argument narrows, autonomy takes away."""
    home = project / "home"
    (home / "notes" / "deep").mkdir(parents=True)
    (home / "notes" / "a").write_text("a note")
    monkeypatch.setenv("HOME", str(home))
    body = """
        try: answer["read"] = open(args["path"]).read()
        except OSError as error: answer["read"] = error.strerror
        try: open(args["path"] + ".new", "w").close(); answer["wrote"] = True
        except OSError as error: answer["wrote"] = error.strerror
    """
    capabilities = [{"name": "fs:write", "hint": f"host:{home}/notes/**"}]
    tool = executors.manifest(project, body, capabilities)
    path = {"path": str(home / "notes" / "a")}
    invoked = stockade.invoke(tool, path)
    assert invoked.value == {"read": "a note", "wrote": True}
    invoked = stockade.invoke(tool, path, autonomy="read_only")
    assert invoked.value == {"read": "a note", "wrote": "Read-only file system"} and invoked.narrowed
    invoked = stockade.invoke(tool, path, grants=[])
    assert invoked.value["read"] == "No such file or directory" and invoked.narrowed
    invoked = stockade.invoke(executors.manifest(project, body), path, extra_ro=[home / "notes"])
    assert invoked.value == {"read": "a note", "wrote": "Read-only file system"}


def test_what_is_left_is_told(project: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K227: files that were set aside are in the answer, and in the exception."""
    # Root's cages write as strangers do outside of a home.
    monkeypatch.setenv("HOME", str(project))
    out = project / "out"
    out.mkdir()
    body = """
        open(args["at"], "w").close()
        if args["fail"]: sys.exit(3)
    """
    tool = executors.manifest(project, body, [{"name": "fs:write", "hint": f"host:{out}/**"}])
    at = str(out / ".envrc")
    (left,) = stockade.invoke(tool, {"at": at, "fail": False}).left
    assert left["path"] == at and pathlib.Path(left["moved_to"]).exists()
    with pytest.raises(stockade.Exited) as caught:
        stockade.invoke(tool, {"at": at, "fail": True})
    assert [one["path"] for one in caught.value.left] == [at]
    assert stockade.invoke(tool, {"at": str(out / "note"), "fail": False}).left == []


def test_bubblewrap_is_the_callers_choice(project: pathlib.Path) -> None:
    """M87: a manifest asks for the weaker backend, and only the caller gives it."""
    tool = executors.manifest(project, "", backend="bwrap")
    with pytest.raises(stockade.Refused) as caught:
        stockade.invoke(tool, {})
    assert caught.value.reason == "backend"
    assert stockade.invoke(tool, {}, backend="native").sandbox == "native"


def test_check_starts_nothing(project: pathlib.Path) -> None:
    """What a call would get, and what would be asked."""
    (project / "data").mkdir()
    capabilities = [{"name": "fs:read", "hint": f"host:{project}/data/**"}, "mail:send"]
    checked = stockade.check(executors.manifest(project, "", capabilities))
    assert str(project / "data") in checked.page and checked.plan["walls"]
    assert [ask["capability"] for ask in checked.asks] == ["mail:send"]
    assert checked.asks[0]["always"] is True


def test_approvals_by_a_function(project: pathlib.Path) -> None:
    """The function sees what will run, and its answer decides."""
    tool = executors.manifest(project, "answer = {'sent': True}", ["mail:send"])
    with pytest.raises(stockade.Refused) as caught:
        stockade.invoke(tool, {"to": "x"})
    assert caught.value.reason == "not_approved"
    asked: List[Question] = []

    def answer(value: Any) -> Any:
        def ask(question: Question) -> Any:
            asked.append(question)
            return value

        return ask

    assert stockade.invoke(tool, {"to": "x"}, approve=answer(True)).value == {"sent": True}
    question = asked[0]
    assert (question.executor, question.capability, question.always) == ("tool", "mail:send", True)
    assert question.arguments == {"to": "x"} and question.command.startswith("python3 ")
    for no in [False, None, "no"]:
        with pytest.raises(stockade.Refused):
            stockade.invoke(tool, {}, approve=answer(no))
    # What is asked always is never answered from a stored grant.
    stockade.invoke(tool, {}, approve=answer("always"))
    with pytest.raises(stockade.Refused):
        stockade.invoke(tool, {})


def always(answer: Any, _question: Question) -> Any:
    """Gives the same answer to every question."""
    return answer


def test_stored_approvals(project: pathlib.Path) -> None:
    """`always` and a time are kept for later calls of the same code, and of no other."""
    tool = executors.manifest(project, "", ["notify:send"])
    answers: List[Any] = ["always", datetime.timedelta(hours=1), datetime.datetime.now() + datetime.timedelta(hours=1)]
    for count, answer in enumerate(answers):
        pathlib.Path(tool["code_path"]).write_text(f"print('{{\"n\": {count}}}')\n")
        with pytest.raises(stockade.Refused):
            stockade.invoke(tool, {})
        stockade.invoke(tool, {}, approve=functools.partial(always, answer))
        assert stockade.invoke(tool, {}).value == {"n": count}


def test_an_exception_in_an_approval_denies(project: pathlib.Path) -> None:
    """It denies, and reaches the caller as it is."""
    witness = project / "witness"
    tool = executors.manifest(project, "open(args['at'], 'w').close()", ["mail:send"])

    class Own(Exception):
        pass

    def raises(_question: Question) -> bool:
        raise Own("mine")

    with pytest.raises(Own, match="mine"):
        stockade.invoke(tool, {"at": str(witness)}, approve=raises, extra_rw=[project])
    assert not witness.exists()
    with pytest.raises(TypeError):
        stockade.invoke(tool, {}, approve=functools.partial(always, 1.5))
    with pytest.raises(ValueError):
        stockade.invoke(tool, {}, approve="somebody")


def test_disabled_runs_without_a_cage_and_says_so(project: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M11, M58: the level is in the result, and the filter looks at arguments all the same."""
    monkeypatch.setenv("METNOS_SANDBOX", "off")
    tool = executors.manifest(project, "answer = {'uid': os.getuid()}", path_args=["path"])
    invoked = stockade.invoke(tool, {})
    assert (invoked.sandbox, invoked.value) == ("none", {"uid": os.getuid()})
    assert invoked.reason is not None and "METNOS_SANDBOX" in invoked.reason
    with pytest.raises(stockade.Refused):
        stockade.invoke(tool, {"path": "/srv/../etc/shadow"})
    with pytest.raises(stockade.Refused):
        stockade.invoke(tool, {"path": "/srv/forbidden/x"}, forbidden_paths=["/srv/forbidden"])


def test_interrupting_an_invoke(project: pathlib.Path, marker: str) -> None:
    """Ctrl-C while it waits: `KeyboardInterrupt` comes, and nothing is left."""
    tool = executors.manifest(project, f"print('{marker}', file=sys.stderr)\ntime.sleep(1000)")
    program = f"""if True:
        import stockade, threading, os, signal
        threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()
        try:
            stockade.invoke({tool!r}, {{"x": 1}})
        except KeyboardInterrupt:
            print("interrupted")
    """
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=slowly(60))
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")
    assert processes(tool["code_path"]) == []


def test_asyncio_invoke(project: pathlib.Path) -> None:
    """Many at once, and a cancelled one ends its executor before the task does."""
    tool = executors.manifest(project, "time.sleep(args['s']); answer = args")

    async def check() -> None:
        answers = await asyncio.gather(*(aio.invoke(tool, {"s": 0, "n": n}) for n in range(6)))
        assert [answer.value["n"] for answer in answers] == list(range(6))
        task = asyncio.ensure_future(aio.invoke(tool, {"s": 1000}))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes(tool["code_path"]) == []
        with pytest.raises(stockade.Timeout):
            await aio.invoke(tool, {"s": 1000}, 1)

    asyncio.run(asyncio.wait_for(check(), slowly(120)))


def test_no_leak_after_many_invokes(project: pathlib.Path) -> None:
    """200 calls leave neither a descriptor nor a process."""
    tool = executors.manifest(project, "answer = args")
    stockade.invoke(tool, {})
    before = (descriptors(), children())
    for n in range(200):
        assert stockade.invoke(tool, {"n": n}).value == {"n": n}
    assert (descriptors(), children()) == before


def test_available_asks_anew() -> None:
    """M5, M6: a cage is built at each call; a program that cannot say is an error."""
    assert stockade.available() is True
    status = stockade.status()
    assert status["native_available"] and status["active"] and status["reason"] is None


def test_deadlines_hold_when_signals_arrive(project: pathlib.Path) -> None:
    """A handler that does not raise changes nothing."""
    seen: List[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: seen.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        tool = executors.manifest(project, "time.sleep(1); answer = {'slept': True}")
        assert stockade.invoke(tool, {}).value == {"slept": True}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen


def test_options_are_read_before_anything_runs(project: pathlib.Path) -> None:
    """Wrong values of options are Python's own errors."""
    tool = executors.manifest(project, "")
    wrong: List[Dict[str, Any]] = [{"backend": "docker"}, {"timeout_s": -1.0}, {"timeout_s": float("nan")}]
    for options in wrong:
        with pytest.raises(ValueError):
            stockade.invoke(tool, {}, **options)
    begun = time.monotonic()
    with pytest.raises(stockade.Refused):
        stockade.invoke(tool, {}, extra_ro=[project / "absent"])
    assert time.monotonic() - begun < slowly(10)
