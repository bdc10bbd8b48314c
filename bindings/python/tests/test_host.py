"""The host of a process's calls: what it shares, whom it hears, and what becomes of calls without it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Dict, List, Tuple

import executors
import pytest
import stockade
from conftest import children, descriptors, eventually, processes, slowly

THREADS = 8

CALLS = int(os.environ.get("STOCKADE_TEST_CALLS", "120"))
"""How many calls the longest test makes."""


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A record of its own for each test, and so a host of its own."""
    directory = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory


def hosts() -> List[int]:
    """The hosts that this process has started."""
    mine = {int(child) for child in children()}
    return [pid for pid in processes("\0__host\0") if pid in mine]


def echo(directory: pathlib.Path) -> Dict[str, Any]:
    """A tool that answers with its arguments."""
    return executors.manifest(directory, "answer = args")


def sleeper(directory: pathlib.Path, **fields: Any) -> Dict[str, Any]:
    """A tool that sleeps longer than any test, with its marker in a command line."""
    sleep = "[sys.executable, '-c', 'import time; time.sleep(999)', args['marker']]"
    body = f"import subprocess; subprocess.run({sleep})"
    return executors.manifest(directory, body, **fields)


def test_many_calls_have_one_host_and_leave_nothing(project: pathlib.Path) -> None:
    """T62: from many threads, every answer is its caller's own."""
    tool = echo(project)
    assert stockade.invoke(tool, {"n": 0}).value == {"n": 0}
    before, first = (descriptors(), children()), hosts()
    assert len(first) == 1
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        answers = pool.map(lambda n: stockade.invoke(tool, {"n": n}).value, range(CALLS), timeout=slowly(300))
        assert list(answers) == [{"n": n} for n in range(CALLS)]
    assert (descriptors(), children()) == before and hosts() == first
    of_host = len(os.listdir(f"/proc/{first[0]}/fd"))
    assert stockade.invoke(tool, {"n": 0}).value == {"n": 0}
    # What a call had is closed soon after its answer.
    assert eventually(lambda: len(os.listdir(f"/proc/{first[0]}/fd")) <= of_host)


def test_a_host_that_is_killed_is_replaced(project: pathlib.Path, marker: str) -> None:
    """The call in flight fails, nothing of it is left, and the next call has another host."""
    tool = sleeper(project)
    failed: List[stockade.Killed] = []

    def call() -> None:
        with pytest.raises(stockade.Killed) as caught:
            stockade.invoke(tool, {"marker": marker})
        failed.append(caught.value)

    thread = threading.Thread(target=call)
    thread.start()
    assert eventually(lambda: bool(processes(marker)))
    (host,) = hosts()
    os.kill(host, signal.SIGKILL)
    thread.join(slowly(30))
    assert [error.reason for error in failed] == ["supervisor_lost"]
    assert eventually(lambda: not processes(marker))
    assert stockade.invoke(echo(project), {"n": 1}).value == {"n": 1}
    (other,) = hosts()
    assert other != host
    # One that is lost between two calls costs no call.
    os.kill(other, signal.SIGKILL)
    assert eventually(lambda: not is_running(other))
    assert stockade.invoke(echo(project), {"n": 2}).value == {"n": 2}


def test_a_launcher_that_is_killed_takes_its_host_along(project: pathlib.Path) -> None:
    """What the host cannot replace ends it, and the next call has another one."""
    tool = echo(project)
    stockade.invoke(tool, {})
    (host,) = hosts()
    launcher = int(pathlib.Path(f"/proc/{host}/task/{host}/children").read_text("ascii").split()[-1])
    os.kill(launcher, signal.SIGKILL)
    with contextlib.suppress(stockade.StockadeError):
        stockade.invoke(tool, {})
    assert eventually(lambda: hosts() != [host] or not stockade.invoke(tool, {}).value)
    assert stockade.invoke(tool, {"n": 3}).value == {"n": 3}


def test_a_caller_that_is_killed_leaves_no_cage(project: pathlib.Path, marker: str) -> None:
    """The host and its cages end with the process that they are for."""
    tool = sleeper(project)
    script = f"import stockade; stockade.invoke({tool!r}, {{'marker': {marker!r}}})"
    caller = subprocess.Popen([sys.executable, "-c", script])
    # Its own command line has the marker as well.
    assert eventually(lambda: len(processes(marker)) > 1)
    children_of = pathlib.Path(f"/proc/{caller.pid}/task/{caller.pid}/children")
    (host,) = children_of.read_text("ascii").split()
    caller.kill()
    caller.wait()
    assert eventually(lambda: not processes(marker))
    assert eventually(lambda: not is_running(int(host)))


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_call_that_takes_too_long_ends_alone(project: pathlib.Path, marker: str) -> None:
    """Its cage is gone when the failure is raised; the host goes on."""
    tool = sleeper(project)
    with pytest.raises(stockade.Timeout):
        stockade.invoke(tool, {"marker": marker}, timeout_s=1)
    assert not processes(marker)
    (host,) = hosts()
    with pytest.raises(stockade.Killed) as caught:
        stockade.invoke(tool, {"marker": marker}, cancelled=lambda: bool(processes(marker)))
    assert caught.value.reason == "cancelled"
    assert not processes(marker) and hosts() == [host]


def test_a_forked_process_has_a_host_of_its_own(project: pathlib.Path) -> None:
    """Whatever another thread of its parent was doing when it was forked."""
    tool = echo(project)
    stockade.invoke(tool, {})
    (host,) = hosts()
    busy = threading.Thread(target=lambda: [stockade.invoke(tool, {}) for _ in range(5)])
    busy.start()
    child = os.fork()
    if child == 0:
        fine = False
        try:
            fine = stockade.invoke(tool, {"n": 4}).value == {"n": 4} and len(hosts()) == 1
            fine = fine and hosts() != [host]
        finally:
            os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    busy.join()
    assert hosts() == [host]


def raw_call(line_to_host: socket.socket, argv: List[str]) -> Tuple[socket.socket, int]:
    """A call as the library makes it, from a command line that `wrap_command` has made; the line on which its report
    comes, and its output."""
    sealed = argv[argv.index("--sealed") + 1]
    command = argv[argv.index("--") + 1 :]
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    words = [sealed, str(0o022), str(len(command)), *command, *variables]
    request, stdin = os.memfd_create("request"), os.memfd_create("stdin")
    os.write(request, b"".join(os.fsencode(word) + b"\0" for word in words))
    os.write(stdin, b"{}")
    for file in (request, stdin):
        os.lseek(file, 0, os.SEEK_SET)
    reader, writer = os.pipe()
    mine, theirs = socket.socketpair()
    socket.send_fds(line_to_host, [b"call"], [stdin, writer, writer, request, theirs.fileno()])
    for file in (request, stdin, writer):
        os.close(file)
    theirs.close()
    mine.settimeout(slowly(30))
    return mine, reader


def test_a_host_hears_its_starter_alone(project: pathlib.Path) -> None:
    """Whoever has a copy of its socket, by a fork or by having been sent it, starts nothing with it."""
    tool = executors.manifest(project, "answer = {'ran': True}")
    stockade.invoke(tool, {})
    argv = stockade.wrap_command(tool, ["/usr/bin/python3", tool["code_path"]])
    found = [int(number) for number in os.listdir("/proc/self/fd") if is_seqpacket(int(number))]
    assert len(found) == 1
    to_host = socket.socket(fileno=os.dup(found[0]))
    line, output = raw_call(to_host, argv)
    assert b'"reason":"exited"' in line.recv(1 << 16) and b"ran" in os.read(output, 100)
    child = os.fork()
    if child == 0:
        heard = b"?"
        try:
            line, output = raw_call(to_host, argv)
            heard = line.recv(1 << 16) + os.read(output, 100)
        finally:
            os._exit(0 if heard == b"" else 1)
    assert os.waitpid(child, 0)[1] == 0
    # It goes on to hear its starter.
    assert stockade.invoke(tool, {}).value == {"ran": True}
    to_host.close()


def is_seqpacket(number: int) -> bool:
    """Whether a descriptor is a socket of the kind that leads to a host."""
    try:
        with socket.socket(fileno=os.dup(number)) as found:
            return found.type == socket.SOCK_SEQPACKET
    except OSError:
        return False


def test_a_program_has_its_own_streams_and_nothing_else(project: pathlib.Path, marker: str) -> None:
    """Neither the host's socket nor descriptors or processes of another call."""
    done = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(stockade.invoke, sleeper(project), {"marker": marker}, cancelled=done.is_set)
        assert eventually(lambda: bool(processes(marker)))
        body = """
        def leads(number):
            try:
                return os.readlink(f"/proc/self/fd/{number}").split(":")[0]
            except OSError:
                return None
        answer = {
            "descriptors": {n: leads(n) for n in os.listdir("/proc/self/fd") if leads(n)},
            "processes": [open(f"/proc/{p}/cmdline").read() for p in os.listdir("/proc") if p.isdigit() and p != "1"],
        }
        """
        code = executors.write(project, body, "look.py")
        told = stockade.invoke({"name": "look", "code_path": str(code), "capabilities": []}, {}).value
        done.set()
        with pytest.raises(stockade.Killed):
            other.result(slowly(30))
    assert sorted(told["descriptors"]) == ["0", "1", "2"]
    kinds = told["descriptors"]
    assert "memfd" in kinds["0"] and kinds["1"] == kinds["2"] == "pipe"
    assert not any(marker in line or "__host" in line for line in told["processes"])


def test_each_call_has_the_surroundings_of_its_moment(
    project: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those that the host was started with."""
    tool = executors.manifest(project, "answer = {'umask': os.umask(0), 'home': os.environ.get('HOME')}")
    before = os.umask(0o022)
    try:
        first = stockade.invoke(tool, {}).value
        os.umask(0o077)
        home = project / "another home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        second = stockade.invoke(tool, {}).value
    finally:
        os.umask(before)
    assert (first["umask"], second["umask"]) == (0o022, 0o077)
    assert first["home"] != second["home"] == str(home)
    assert len(hosts()) == 1


def test_another_record_is_another_host(project: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host writes to the record that its starter's environment named; another environment has another host."""
    tool = echo(project)
    stockade.invoke(tool, {})
    (host,) = hosts()
    elsewhere = project / "elsewhere"
    monkeypatch.setenv("XDG_STATE_HOME", str(elsewhere))
    invoked = stockade.invoke(tool, {})
    assert hosts() != [host] and len(hosts()) == 1
    log = b"".join(file.read_bytes() for file in (elsewhere / "stockade" / "audit").rglob("*") if file.is_file())
    assert invoked.invocation and invoked.invocation.encode() in log
