"""The package itself: what importing it costs, its command, its types, its documentation."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
from typing import Any, Iterator, List, Tuple

import pytest
import stockade
from conftest import PROJECT, require, slowly

PACKAGE = PROJECT / "bindings" / "python"


def python(program: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=slowly(60)).stdout


def test_importing_loads_and_starts_nothing() -> None:
    """M15, M62: neither the native module, nor `subprocess` or `asyncio`, nor a thread or process."""
    program = """if True:
        import sys, threading, os
        before, threads, open_before = set(sys.modules), threading.active_count(), os.listdir("/proc/self/fd")
        import stockade
        loaded = sorted(set(sys.modules) - before)
        assert threads == threading.active_count() and open_before == os.listdir("/proc/self/fd")
        print(*loaded)
    """
    loaded = python(program).split()
    assert "stockade" in loaded
    heavy = {"subprocess", "asyncio", "stockade._stockade", "stockade._process", "json", "dataclasses", "typing"}
    assert heavy.isdisjoint(loaded)
    assert python("import sys, stockade; stockade.run; print('stockade._stockade' in sys.modules)") == "False\n"


def test_the_functions_need_no_class_and_keep_no_state() -> None:
    """M15, M16: functions, and two in a row know nothing of each other."""
    from stockade import sandbox

    for name in ["wrap_command", "status", "bwrap_available", "sandbox_disabled"]:
        assert inspect.isfunction(getattr(sandbox, name))
    for name in ["_expand_hints_to_paths", "_capability_kind", "_capability_mode", "_build_bwrap_args"]:
        assert inspect.isfunction(getattr(sandbox, name))
    assert list(inspect.signature(sandbox.wrap_command).parameters)[:5] == [
        "executor",
        "cmd",
        "autonomy",
        "extra_ro",
        "extra_rw",
    ]
    defaults = inspect.signature(sandbox.wrap_command).parameters
    assert defaults["autonomy"].default == "supervised"
    assert defaults["extra_ro"].default is None and defaults["extra_rw"].default is None


def test_the_command() -> None:
    """`python -m stockade` is the program: its output, its exit code, and no process in between."""
    command = [sys.executable, "-m", "stockade"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("stockade ")
    ended = subprocess.run([*command, "run", "--", "sh", "-c", "exit 42"])
    assert ended.returncode == 42
    script = pathlib.Path(sys.executable).parent / "stockade"
    if script.exists():
        # A copied environment has scripts that name the interpreter of the first.
        text = script.read_text(encoding="utf-8")
        assert "stockade.__main__" in text


def test_a_missing_program_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation is `Unavailable`, and nothing runs without a cage."""
    from stockade import _binary

    monkeypatch.setattr(_binary, "_PATH", "/nowhere/stockade")
    for call in [lambda: stockade.run(["true"]), lambda: stockade.invoke({}, {}), stockade.status]:
        with pytest.raises(stockade.Unavailable, match="install the package again"):
            call()


def test_every_name_is_there() -> None:
    """What `dir` and `*` promise can be had, and nothing else."""
    assert dir(stockade) == sorted(stockade.__all__)
    for name in stockade.__all__:
        assert getattr(stockade, name) is not None
    with pytest.raises(AttributeError):
        getattr(stockade, "no_such_name")


def public(module: Any) -> Iterator[Tuple[str, Any]]:
    """Everything public of a module that is documented for itself."""
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__
        if not name.startswith("_") and is_own and (inspect.isclass(value) or inspect.isfunction(value)):
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for member, function in vars(value).items():
                    if not member.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                        yield f"{module.__name__}.{name}.{member}", function


def test_everything_public_is_documented() -> None:
    """Modules, classes, functions and methods."""
    missing: List[str] = []
    for found in pkgutil.iter_modules(stockade.__path__):
        if found.name in ("__main__", "_stockade"):
            continue
        module = importlib.import_module(f"stockade.{found.name}")
        missing += [] if module.__doc__ else [found.name]
        missing += [name for name, value in public(module) if not inspect.getdoc(value)]
    assert missing == []


def test_types_are_strict(tmp_path: pathlib.Path) -> None:
    """`mypy --strict` has nothing to say about the package, its tests and its examples."""
    require("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "mypy")]
    ended = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=slowly(600))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (pathlib.Path(stockade.__path__[0]) / "py.typed").exists()


def test_types_of_results_are_known(tmp_path: pathlib.Path) -> None:
    """A caller's type checker knows text from bytes, and refuses what does not exist."""
    require("mypy")
    caller = tmp_path / "caller.py"
    caller.write_text(
        "import stockade\n"
        "reveal_type(stockade.run(['x'], text=True).stdout)\n"
        "a: stockade.Completed[bytes] = stockade.run(['x'])\n"
        "b: stockade.Completed[bytes] = stockade.run(['x'], encoding='utf-8')\n"
        "stockade.run(['x'], rw=3)\n"
        "stockade.Cage(nett=['x'])\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "mypy"), str(caller)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=slowly(600))
    wrong = [int(line.split(":")[1]) for line in ended.stdout.splitlines() if ": error:" in line]
    assert sorted(set(wrong)) == [4, 5, 6], ended.stdout


def examples_in(document: str) -> List[str]:
    """The Python programs in a document."""
    text = (PROJECT / document).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "bindings/python/README.md"])
def test_examples_in_documents_run(
    document: str, project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every program in a document is run, one after the other in one directory, by a fresh interpreter."""
    examples = examples_in(document)
    assert examples
    home = tmp_path_factory.mktemp("home")
    (home / "notes").mkdir()
    (home / "notes" / "today.txt").write_text("buy milk\n")
    environment = {**os.environ, "HOME": str(home)}
    for example in examples:
        files = re.match(r"# (\S+\.(?:py|toml))\n", example)
        if files:
            (project / files.group(1)).write_text(example)
            continue
        command = [sys.executable, "-c", example]
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=slowly(120))
        assert ended.returncode == 0, f"{example}\n{ended.stderr}"
        expected = [line.partition("# → ")[2] for line in example.splitlines() if "# → " in line]
        for line in expected:
            assert line in ended.stdout, f"{example}\n{ended.stdout}"


@pytest.mark.parametrize(("example", "package"), [("langchain_tool", "langchain_core"), ("pydantic_ai_tool", "pydantic_ai")])
def test_examples_with_frameworks_run(example: str, package: str) -> None:
    """The tool runner of a framework calls a tool, whose program runs in a cage."""
    require(package)
    command = [sys.executable, str(PACKAGE / "examples" / f"{example}.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=slowly(120))
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told == {"words": 4, "sandbox": "native", "network": "unreachable", "secret": "unreadable"}
