"""The names of a sandbox module that many agent runtimes have: `from stockade import sandbox`.

A program that was written for `sandbox.wrap_command(executor, cmd)` and `sandbox.status()` works with this
module. What differs is said where it differs: nothing falls back to running without a cage unless the
environment or the caller says so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from . import _stockade
from .executor import (
    _answer,
    _given,
    _source,
    bwrap_available,
    expand_hints,
    sandbox_disabled,
    status,
    wrap_command,
)

if TYPE_CHECKING:
    from ._flags import Path

__all__ = ["bwrap_available", "sandbox_disabled", "status", "wrap_command"]

Capability = Union[str, Mapping[str, Any]]
"""`"fs:read"`, or `{"name": "fs:read", "hint": …}`."""


def _expand_hints_to_paths(hints: Sequence[object]) -> List[str]:
    """The roots that hints name: `~/notes/**` is `notes` in the home, `/tmp/*` is `/tmp`."""
    return expand_hints(hints)


def _capability_kind(capability: Capability) -> str:
    """The family: `fs` of `fs:read`."""
    return _capability_name(capability).partition(":")[0]


def _capability_mode(capability: Capability) -> str:
    """The mode: `read` of `fs:read`; empty where there is none."""
    return _capability_name(capability).partition(":")[2]


def _capability_name(capability: Capability) -> str:
    name = capability if isinstance(capability, str) else capability.get("name", "")
    return name if isinstance(name, str) else ""


def _build_bwrap_args(
    code_path: Path,
    capabilities: Sequence[Capability],
    extra_ro: Optional[Sequence[Path]] = None,
    extra_rw: Optional[Sequence[Path]] = None,
    *,
    autonomy: str = "supervised",
    grants: Optional[Sequence[str]] = None,
) -> List[str]:
    """The flags of bubblewrap for an executor, whether or not bubblewrap is installed.

    A network capability without hosts leaves the network open only where `grants` has `network:*`;
    one with hosts is refused, because bubblewrap cannot hold a program to hosts.
    """
    manifest = {"code_path": os.fsdecode(code_path), "capabilities": list(capabilities)}
    given = _given(autonomy, extra_ro, extra_rw, grants, "bwrap", False, None)
    words, answer = _stockade.bwrap_arguments(_source(manifest), given)
    _answer(answer)
    return words or []
