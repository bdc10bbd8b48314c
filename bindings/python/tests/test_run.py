"""`stockade.run` beside `subprocess.run`, and what the cage adds to it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Dict, List

import pytest
import stockade
from conftest import descriptors, processes, slowly

SCRIPT = "cat; echo out; echo err >&2; exit 3"


@pytest.mark.parametrize(
    "options",
    [
        {"args": ["sh", "-c", SCRIPT], "capture_output": True, "input": b"in\n"},
        {"args": SCRIPT, "shell": True, "capture_output": True, "text": True, "input": "in\n"},
        {"args": ["sh", "-c", SCRIPT], "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL},
        {"args": ["sh", "-c", SCRIPT], "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "input": b""},
        {"args": "exit 122", "shell": True},
        {"args": "exit 125", "shell": True},
        {"args": "kill -TERM $$", "shell": True},
        {"args": "printf 'a\\r\\nb\\374'", "shell": True, "stdout": subprocess.PIPE, "encoding": "latin-1"},
        {"args": "printf 'a\\377b'", "shell": True, "stdout": subprocess.PIPE, "text": True, "errors": "replace"},
        {"args": "echo one; echo two", "shell": True, "stdout": subprocess.PIPE, "universal_newlines": True},
        {"args": ["echo", "a b", "", "--", "-x"], "stdout": subprocess.PIPE},
        {"args": ["echo", pathlib.Path("file"), b"bytes"], "stdout": subprocess.PIPE},
        {"args": "echo $0", "shell": True, "executable": "/bin/bash", "stdout": subprocess.PIPE},
    ],
)
def test_is_compatible_with_subprocess(options: Dict[str, Any]) -> None:
    """A caged program gives its caller what it gives without a cage."""
    ours, theirs = stockade.run(**options), subprocess.run(**options)
    assert isinstance(ours, subprocess.CompletedProcess)
    expected = (theirs.args, theirs.returncode, theirs.stdout, theirs.stderr)
    assert (ours.args, ours.returncode, ours.stdout, ours.stderr) == expected


@pytest.mark.parametrize("code", [0, 1, 2, 122, 123, 124, 125, 126, 127])
def test_an_exit_code_of_the_program_is_its_own(code: int) -> None:
    """The numbers that `stockade` has meanings for are not mistaken."""
    done = stockade.run(["sh", "-c", f"exit {code}"])
    assert (done.returncode, done.result.reason) == (code, "exited")


def test_check_raises_as_subprocess_does() -> None:
    """`CalledProcessError` has all its fields."""
    with pytest.raises(subprocess.CalledProcessError) as caught:
        stockade.run("echo out; exit 5", shell=True, check=True, capture_output=True, text=True)
    assert (caught.value.returncode, caught.value.stdout) == (5, "out\n")


def test_what_is_not_granted_is_not_there(project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The working directory can be read, `rw` written to, and nothing else exists."""
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("s3cret")
    (project / "here").write_text("here")
    (project / "out").mkdir()
    script = f"cat here; cat {secret}; touch not; echo x > out/file"
    done = stockade.run(script, shell=True, capture_output=True, text=True, ro=".", rw=["out"])
    assert done.stdout == "here"
    assert "s3cret" not in done.stderr
    assert (project / "out" / "file").read_text() == "x\n"
    assert not (project / "not").exists()


def test_paths_are_relative_to_this_process(project: pathlib.Path) -> None:
    """Grants are relative to our directory, and `cwd` is where the program starts."""
    (project / "data").mkdir()
    (project / "data" / "file").write_text("data")
    (project / "work").mkdir()
    done = stockade.run("pwd; cat ../data/file", shell=True, capture_output=True, text=True, ro=["data", "work"], cwd="work")
    assert done.stdout == f"{project / 'work'}\ndata"


def test_variables_reach_the_program_and_no_command_line(marker: str) -> None:
    """Other users of the machine can read command lines: values are not there."""
    process = stockade.spawn(
        "read line; echo $SECRET", shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"SECRET": marker}
    )
    assert processes(marker) == []
    output, _ = process.communicate("\n", timeout=slowly(30))
    assert output == f"{marker}\n"


def test_variables_of_the_caller_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `env` the program has nothing of ours; a variable that `stockade` reads changes only the program."""
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    done = stockade.run(["env"], capture_output=True, text=True)
    assert "s3cret" not in done.stdout
    variables = {"XDG_STATE_HOME": "/nowhere", "TERM": "none", "A": "a=b c"}
    done = stockade.run("echo $XDG_STATE_HOME $TERM $A", shell=True, capture_output=True, text=True, env=variables)
    assert done.stdout == "/nowhere none a=b c\n"
    with pytest.raises(stockade.Refused):
        stockade.run(["env"], capture_output=True, env={"HOME": "/elsewhere"})


def test_the_whole_environment_can_be_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """`{**os.environ, …}` is how most callers add a variable."""
    monkeypatch.setenv("BASH_FUNC_x%%", "() { :; }")
    done = stockade.run("echo $PATH $ADDED", shell=True, capture_output=True, text=True, env={**os.environ, "ADDED": "yes"})
    assert done.stdout == f"{os.environ['PATH']} yes\n"


def test_refusals_have_fields() -> None:
    """What kept the program from running is an exception with the word for it."""
    cases: List[Any] = [
        ({"args": ["ls"], "ro": ["/nowhere/at/all"]}, stockade.Refused, "path_missing", 123),
        ({"args": ["ls"], "cwd": "/usr"}, stockade.Refused, "too_broad", 125),
        ({"args": ["ls"], "net": ["not a host"]}, stockade.Refused, "usage", 2),
        ({"args": ["ls"], "cage": "unheard-of"}, stockade.Refused, "policy_invalid", 123),
        ({"args": ["no-such-program"]}, stockade.ProgramNotFound, "program_not_found", 127),
        ({"args": ["/etc/passwd"]}, stockade.ProgramNotExecutable, "program_not_executable", 126),
    ]
    for options, kind, reason, code in cases:
        with pytest.raises(kind) as caught:
            stockade.run(**options, capture_output=True)
        error = caught.value
        assert (error.reason, error.exit_code) == (reason, code)
        assert error.message and error.result is not None and not error.result.ran
    with pytest.raises(FileNotFoundError):
        stockade.run(["no-such-program"], capture_output=True)


def test_what_makes_no_sense_is_refused_before_anything_starts() -> None:
    """Unknown keywords, and keywords that exclude each other."""
    unknown: List[Dict[str, Any]] = [{"shel": True}, {"pass_fds": (1,)}, {"preexec_fn": print}]
    for options in unknown:
        with pytest.raises(TypeError):
            stockade.run(["true"], **options)
    senseless: List[Dict[str, Any]] = [
        {"input": b"", "stdin": subprocess.PIPE},
        {"capture_output": True, "stdout": 1},
        {"executable": "/bin/sh"},
        {"env": {"A=B": "c"}},
    ]
    for options in senseless:
        with pytest.raises(ValueError):
            stockade.run(["true"], **options)
    with pytest.raises(TypeError):
        stockade.run(["true"], env={"A": 1})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        stockade.Cage(unheard_of=1)  # type: ignore[call-arg]


def test_a_time_out_leaves_nothing(marker: str) -> None:
    """Everything in the cage is gone when the exception comes, however stubborn it is."""
    script = f"echo begun; trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep 1000; echo {marker}' & sleep 1000; echo {marker}"
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        stockade.run(["sh", "-c", script], timeout=slowly(1), capture_output=True)
    assert processes(marker) == []
    error = caught.value
    assert isinstance(error, stockade.Timeout)
    assert (error.output, error.timeout, error.cmd[0]) == (b"begun\n", slowly(1), "sh")


def test_a_time_out_while_nothing_is_read(marker: str) -> None:
    """A program that fills its pipes is ended as well."""
    with pytest.raises(stockade.Timeout):
        stockade.run(["sh", "-c", f"yes {marker} >&2"], timeout=slowly(1), stderr=subprocess.PIPE)
    assert processes(marker) == []


def test_limits_end_the_program() -> None:
    """A limit is no exception: the program ran, and the result says what ended it."""
    done = stockade.run(["sleep", "1000"], time=1)
    assert (done.returncode, done.result.reason) == (124, "walltime_exceeded")


def test_large_output() -> None:
    """Both outputs, larger than any pipe."""
    size = 64 << 20
    script = f"head -c {size} /dev/zero; head -c {size} /dev/zero >&2"
    done = stockade.run(["sh", "-c", script], capture_output=True)
    assert (len(done.stdout), len(done.stderr)) == (size, size)


def test_streams_can_be_files(project: pathlib.Path) -> None:
    """Descriptors and files, as in `subprocess`."""
    (project / "in").write_text("from a file")
    with open("in", "rb") as source, open("out", "wb") as target:
        stockade.run(["cat"], stdin=source, stdout=target.fileno(), check=True)
    assert (project / "out").read_text() == "from a file"


def test_an_interrupted_run_leaves_nothing(marker: str) -> None:
    """Ctrl-C while a run waits: `KeyboardInterrupt` comes, and nothing of the cage is left."""
    program = (
        "import stockade\n"
        f"try: stockade.run(['sh', '-c', \"trap '' INT TERM; echo begun; sleep 1000; echo {marker}\"])\n"
        "except KeyboardInterrupt: print('interrupted', flush=True); raise SystemExit(7)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        os.killpg(process.pid, 2)
        assert process.stdout.readline() == "interrupted\n"
        # What was started has ended before the exception came.
        assert [one for one in processes(marker) if one != process.pid] == []
        assert process.wait(slowly(30)) == 7


def test_no_descriptor_stays_open() -> None:
    """Neither after a run, nor after a refusal, a time-out or a bad command."""
    stockade.run(["true"])
    before = descriptors()
    for _ in range(3):
        stockade.run(["true"], capture_output=True)
        with pytest.raises(stockade.Refused):
            stockade.run(["true"], capture_output=True, ro="/nowhere")
        with pytest.raises(stockade.Timeout):
            stockade.run(["sleep", "1000"], capture_output=True, timeout=0.2)
        with pytest.raises(TypeError):
            stockade.run(["true"], shel=1)  # type: ignore[call-overload]
    assert descriptors() == before


def test_a_time_out_is_not_waited_out() -> None:
    """The time-out ends a program that ignores requests, without any grace."""
    begun = time.monotonic()
    with pytest.raises(stockade.Timeout):
        stockade.run("trap '' TERM; sleep 1000", shell=True, timeout=0.5)
    assert time.monotonic() - begun < slowly(5)
