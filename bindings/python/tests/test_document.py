"""The nine tests of the design that the module `stockade.sandbox` comes from, under their names."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, List

import executors
import pytest
from conftest import slowly
from stockade import executor, sandbox


@pytest.fixture
def code(project: pathlib.Path) -> pathlib.Path:
    """An executor's code."""
    return executors.write(project, "")


def pairs(args: List[str], flag: str) -> List[List[str]]:
    """The two words after each such flag."""
    return [args[at + 1 : at + 3] for at, word in enumerate(args) if word == flag]


def test_status_torna_dict() -> None:
    """M13, M14, M76: a dictionary with the four keys."""
    status = sandbox.status()
    assert {"bwrap_available", "bwrap_path", "disabled_via_env", "active"} <= status.keys()
    assert status["active"] and not status["disabled_via_env"]
    assert status["bwrap_available"] == sandbox.bwrap_available()


def test_wrap_command_no_bwrap_passa_invariato(code: pathlib.Path) -> None:
    """M11, M55, M59, M77: exactly the same list where the caller allows that, and the level is reported; else an error."""
    program = f"""if True:
        import stockade
        from stockade import executor, sandbox
        assert not sandbox.bwrap_available()
        tool = {{"code_path": {str(code)!r}, "capabilities": []}}
        command = ["python3", {str(code)!r}]
        assert sandbox.wrap_command(tool, command, backend="bwrap", allow_unsandboxed=True) == command
        wrapped = executor.wrap(tool, command, backend="bwrap", allow_unsandboxed=True)
        assert (wrapped.sandbox, wrapped.reason) == ("none", "bubblewrap is not installed")
        try:
            sandbox.wrap_command(tool, command, backend="bwrap")
        except stockade.Unavailable:
            print("unavailable")
    """
    command = [sys.executable, "-c", program]
    if sandbox.bwrap_available():
        hidden = 'mount --bind /dev/null /usr/bin/bwrap && exec "$0" "$@"'
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hidden, *command]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("unavailable\n", "")


@pytest.mark.parametrize("variable", ["STOCKADE_SANDBOX", "METNOS_SANDBOX"])
def test_sandbox_disabled_rispetta_env(code: pathlib.Path, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """M7, M8, M56, M78: each value that disables, in any case, and some that do not."""
    command = ["python3", str(code)]
    tool = executors.Plain(code, [])
    for value in ["0", "off", "no", "false", "OFF", "False"]:
        monkeypatch.setenv(variable, value)
        assert sandbox.sandbox_disabled()
        wrapped = executor.wrap(tool, command)
        assert (wrapped.argv, wrapped.sandbox) == (command, "none")
        assert wrapped.reason is not None and variable in wrapped.reason
    assert sandbox.status()["active"] is False
    for value in ["1", "", "on", "yes", "disabled"]:
        monkeypatch.setenv(variable, value)
        assert not sandbox.sandbox_disabled()
        assert sandbox.wrap_command(tool, command) != command


def test_expand_hints_tronca_al_glob(monkeypatch: pytest.MonkeyPatch) -> None:
    """M38, M39, M40, M41, M42, M43, M46, M79"""
    monkeypatch.setenv("HOME", "/home/roberto")
    expand = sandbox._expand_hints_to_paths
    assert expand(["~/notes/**"]) == ["/home/roberto/notes"]
    assert expand(["/tmp/**", "/tmp/*", "/tmp"]) == ["/tmp"]
    assert expand(["~/Pictures", "~"]) == ["/home/roberto/Pictures", "/home/roberto"]
    assert expand(["/srv/a?/b", "/srv/[ab]", "/srv/{a,b}"]) == ["/srv"]
    assert expand([3, None, "", "relative/**", "~somebody/notes"]) == []
    with pytest.raises(ValueError):
        expand(["/srv/../etc"])


@pytest.mark.parametrize("name", ["fs:read", "network:http", "code:exec"])
def test_capability_kind_e_mode_parse(name: str) -> None:
    """M28, M29, M80: both forms."""
    forms: List[Any] = [name, {"name": name}, {"name": name, "hint": "/x"}]
    for form in forms:
        assert f"{sandbox._capability_kind(form)}:{sandbox._capability_mode(form)}" == name
    assert (sandbox._capability_kind({}), sandbox._capability_mode("alone")) == ("", "")


def test_build_bwrap_args_isola_rete_se_no_network_cap(code: pathlib.Path) -> None:
    """M47, M50, M51, M52, M53, M81"""
    args = sandbox._build_bwrap_args(code, ["fs:read", "time:read"])
    for flag in ["--unshare-net", "--unshare-user", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]:
        assert flag in args


def test_build_bwrap_args_lascia_rete_se_network_cap(code: pathlib.Path) -> None:
    """M32, M49, M82: open only where the caller grants the whole network by name."""
    args = sandbox._build_bwrap_args(code, ["network:http"], grants=["declared", "network:*"])
    assert "--unshare-net" not in args
    assert "--unshare-user" in args


def test_build_bwrap_args_bind_rw_per_fs_write(code: pathlib.Path, project: pathlib.Path) -> None:
    """M30, M31, M83"""
    for name in ["notes", "drafts"]:
        (project / name).mkdir()
    notes, drafts = str(project / "notes"), str(project / "drafts")
    capabilities: List[Any] = [
        {"name": "fs:read", "hint": f"host:{notes}/**"},
        {"name": "fs:write", "hint": [f"host:{drafts}/*"]},
    ]
    args = sandbox._build_bwrap_args(code, capabilities)
    assert [notes, notes] in pairs(args, "--ro-bind")
    assert [drafts, drafts] in pairs(args, "--bind")
    assert [notes, notes] not in pairs(args, "--bind")
    args = sandbox._build_bwrap_args(code, capabilities, autonomy="read_only")
    assert [drafts, drafts] in pairs(args, "--ro-bind") and pairs(args, "--bind") == []


def test_build_bwrap_args_include_code_dir_ro(code: pathlib.Path) -> None:
    """M25, M84"""
    directory = str(code.parent)
    assert [directory, directory] in pairs(sandbox._build_bwrap_args(code, []), "--ro-bind")


@pytest.mark.parametrize("backend", ["native", "bwrap"])
def test_the_call_site_of_the_design_works(backend: str) -> None:
    """M9, M12, M64, M65, M69, M75: the code of `invoke_executor`, as it was published, over this module."""
    if backend == "bwrap" and not sandbox.bwrap_available():
        pytest.skip("bubblewrap is not installed")
    with tempfile.TemporaryDirectory() as directory:
        # For root, bubblewrap's cages act as a user who may not look into root's directories.
        os.chmod(directory, 0o755)
        executor = executors.Plain(executors.write(pathlib.Path(directory), "answer = {'got': args}"), [])
        payload = json.dumps({"n": 1})
        base_cmd = ["python3", str(executor.code_path)]
        cmd = sandbox.wrap_command(executor, base_cmd, backend=backend)
        result = subprocess.run(cmd, input=payload, capture_output=True, text=True, timeout=slowly(30))
    assert cmd[-3:] == ["--", *base_cmd]
    assert (result.stdout, result.stderr) == ('{"got": {"n": 1}}\n', "")
