"""Builds the package: compiles the `stockade` program, lets maturin make the wheel, and puts the
program into it. Never writes into the project but for what cargo builds.

`STOCKADE_BINARY` names a program that is compiled already, which saves the time for it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import zipfile
from typing import Any, Dict, List, Optional

import maturin

ConfigSettings = Optional[Dict[str, Any]]

_INSIDE = "stockade/bin/stockade"
"""Where the package looks for the program."""

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: Optional[str] = None
) -> str:
    """Makes the wheel and returns its name."""
    program = _program()
    name = str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))
    with open(program, "rb") as file:
        _add(os.path.join(wheel_directory, name), file.read())
    return name


def build_sdist(sdist_directory: str, config_settings: ConfigSettings = None) -> str:
    """There is none: the program is built from the whole project."""
    raise RuntimeError("build a wheel from a checkout of the project: `pip wheel ./bindings/python`")


def _program() -> str:
    """The `stockade` program, compiled if it is not given."""
    given = os.environ.get("STOCKADE_BINARY")
    if given:
        return given
    project = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    build = ["cargo", "build", "--locked", "--release", "--package", "stockade-cli"]
    messages = subprocess.run(
        [*build, "--message-format=json-render-diagnostics"],
        cwd=project,
        stdout=subprocess.PIPE,
        check=True,
    )
    programs = [
        message["executable"]
        for message in map(json.loads, messages.stdout.splitlines())
        if message.get("executable") and message["target"]["name"] == "stockade"
    ]
    if len(programs) != 1:
        raise RuntimeError("cargo has built no `stockade`")
    return str(programs[0])


def _add(wheel: str, program: bytes) -> None:
    """Puts the program into a wheel, and its line into the wheel's list of files."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    executable = zipfile.ZipInfo(_INSIDE)
    executable.external_attr = 0o100755 << 16
    executable.compress_type = zipfile.ZIP_DEFLATED
    digest = base64.urlsafe_b64encode(hashlib.sha256(program).digest()).rstrip(b"=").decode()
    record = [_INSIDE, f"sha256={digest}", str(len(program))]
    unfinished = f"{wheel}.unfinished"
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(executable, program)
        for member, contents in members:
            if member.filename.endswith(".dist-info/RECORD"):
                contents = _with_line(contents, record)
            archive.writestr(member, contents)
    os.replace(unfinished, wheel)


def _with_line(record: bytes, line: List[str]) -> bytes:
    lines = [line, *csv.reader(io.StringIO(record.decode()))]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()
