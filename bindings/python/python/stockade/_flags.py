"""Keyword arguments of a cage, as flags of `stockade run`. Looks at nothing and starts nothing.

Values of variables never become part of a command line, which every user of the machine can read:
`--env NAME` passes on what `stockade` has in its own environment.
"""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    from typing_extensions import Literal, TypedDict

    Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
    Paths = Union[Path, Iterable[Path]]
    Command = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]", Sequence[Path]]
    Environment = Mapping[str, str]

    class CageOptions(TypedDict, total=False):
        """What a cage may have. See `stockade.run` for what each means."""

        ro: Paths
        rw: Paths
        hide: Paths
        net: Union[None, Literal[False], str, Iterable[str]]
        host_ports: Union[int, str, Iterable[Union[int, str]]]
        publish: Union[int, str, Iterable[Union[int, str]]]
        commands: Union[None, str, Iterable[str]]
        seccomp: Optional[str]
        state: Optional[str]
        session: Optional[str]
        memory: Union[None, int, str]
        pids: Optional[int]
        cpus: Union[None, float, str]
        time: Union[None, float, str, timedelta]
        tmp_size: Optional[str]
        home_size: Optional[str]
        degraded_limits: bool
        project: Optional[Path]
        cage: Optional[str]
        agent: Optional[str]
        backend: Optional[str]
        narrow: Sequence[Mapping[str, Any]]
        quiet: bool


_OWN_VARIABLES = frozenset(
    ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "NO_COLOR", "TERM", "TMPDIR"]
)
"""What `stockade` itself reads. A value for the program must not change that, and is no secret."""

_SET_BY_THE_CAGE = frozenset(["HOME", "LOGNAME", "PWD", "USER"])
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

_OF_PROGRAMS = frozenset(
    "stdin stdout stderr shell executable cwd env bufsize start_new_session text universal_newlines encoding errors "
    "input capture_output timeout check quiet".split()
)
"""What is about a program, and not about its cage."""

_REPEATED_PATHS = ("ro", "rw", "hide")
_WORDS = ("seccomp", "state", "session", "cage", "agent", "backend")


def flags(options: Mapping[str, Any]) -> List[str]:
    """The flags for a cage's options. A name that is not an option is a `TypeError`."""
    rest = dict(options)
    built: List[str] = []
    for name in _REPEATED_PATHS:
        built += [f"--{name}={path}" for path in _paths(rest.pop(name, ()))]
    built += _network(rest)
    built += _commands(rest.pop("commands", None))
    for name in _WORDS:
        value = rest.pop(name, None)
        if value is not None:
            built.append(f"--{name}={value}")
    built += _limits(rest)
    built += [f"--narrow={json.dumps(narrowing(request))}" for request in rest.pop("narrow", ())]
    project = rest.pop("project", None)
    if project is not None:
        built.append(f"--project={_path(project)}")
    if rest.pop("degraded_limits", False):
        built.append("--degraded-limits")
    if rest.pop("quiet", True):
        built.append("--quiet")
    if rest:
        unknown = ", ".join(sorted(rest))
        raise TypeError(f"unknown keyword argument of a cage: {unknown}")
    return built


def narrowing(options: Mapping[str, Any]) -> Dict[str, Any]:
    """What a child asks of its cage, as rules. A name that is no part of a cage is a `TypeError`."""
    rest = dict(options)
    rules: Dict[str, Any] = {name: _paths(rest.pop(name)) for name in _REPEATED_PATHS if rest.get(name) is not None}
    net = rest.pop("net", None)
    if net is False:
        rules["no_net"] = True
    elif net is not None:
        rules["net"] = _items(net)
    for name in ("host_ports", "publish", "commands"):
        value = rest.pop(name, None)
        if value is not None:
            rules[name] = _items(value)
    for name in ("seccomp", "state", "memory", "pids", "cpus", "tmp_size", "home_size"):
        value = rest.pop(name, None)
        if value is not None:
            rules[name] = value if name in ("pids", "cpus") else str(value)
    time = rest.pop("time", None)
    if time is not None:
        rules["time"] = _duration(time)
    if rest:
        unknown = ", ".join(sorted(rest))
        raise TypeError(f"a child cannot ask for this: {unknown}")
    return rules


def of_child(cage: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a child of a cage with these."""
    narrowing(options)
    return {**cage, "narrow": [*cage.get("narrow", ()), dict(options)]}


def of_run(cage: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of one run in a cage; what a child was not given cannot be given to its runs."""
    if cage.get("narrow"):
        more = sorted(set(options) - _OF_PROGRAMS)
        if more:
            raise TypeError(f"a child has a part of its cage: `narrow` it instead of giving {', '.join(more)}")
    return {**cage, **options}


def environment(given: Optional[Environment]) -> Tuple[List[str], Optional[Dict[str, str]]]:
    """The flags for a program's variables, and the environment in which `stockade` gets them."""
    if given is None:
        return [], None
    built, own = [], dict(os.environ)
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError("names and values of variables are texts")
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise ValueError(f"`{name}` cannot be a variable's name, or its value has a NUL in it")
        is_passable = name not in _SET_BY_THE_CAGE and _PLAIN_NAME.match(name)
        if not is_passable and os.environ.get(name) == value:
            # Of `{**os.environ, …}`: the caller did not mean this one.
            continue
        if not is_passable or (name in _OWN_VARIABLES and own.get(name) != value):
            built.append(f"--env={name}={value}")
        else:
            built.append(f"--env={name}")
            own[name] = value
    return built, own


def command(args: Command, shell: bool, executable: Optional[Path]) -> List[str]:
    """The program and its arguments, from what `subprocess` takes."""
    if isinstance(args, (str, bytes, os.PathLike)):
        words = [os.fsdecode(args)]
    else:
        words = [os.fsdecode(word) for word in args]
    if shell:
        return [os.fsdecode(executable or "/bin/sh"), "-c", *words]
    if executable is not None:
        raise ValueError("`executable` is for `shell=True`: a cage starts the first word of `args`")
    return words


def _network(rest: Dict[str, Any]) -> List[str]:
    net = rest.pop("net", None)
    ports = [("host-port", _items(rest.pop("host_ports", ()))), ("publish", _items(rest.pop("publish", ())))]
    built = [f"--{name}={port}" for name, values in ports for port in values]
    if net is None:
        return built
    hosts = [] if net is False else _items(net)
    built += [f"--net={host}" for host in hosts]
    return built if built else ["--no-net"]


def _commands(commands: Union[None, str, Iterable[str]]) -> List[str]:
    if commands is None:
        return []
    if isinstance(commands, str):
        return [f"--commands={commands}"]
    return [f"--command={name}" for name in commands] or ["--commands=none"]


def _limits(rest: Dict[str, Any]) -> List[str]:
    built = []
    for name in ("memory", "pids", "cpus", "tmp_size", "home_size"):
        value = rest.pop(name, None)
        if value is not None:
            built.append(f"--{name.replace('_', '-')}={value}")
    time = rest.pop("time", None)
    if time is not None:
        built.append(f"--time={_duration(time)}")
    return built


def _duration(time: Union[float, str, timedelta]) -> str:
    """Whole seconds, at least one: shorter times are what `timeout` is for."""
    if isinstance(time, str):
        return time
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    return f"{max(1, -int(-seconds // 1))}s"


def _paths(given: Any) -> List[str]:
    is_one = isinstance(given, (str, bytes, os.PathLike))
    return [_path(path) for path in ([given] if is_one else given or ())]


def _path(given: Path) -> str:
    """Relative to this process's directory, as every path in Python; `~` is left to `stockade`."""
    path = os.fsdecode(given)
    return path if path == "~" or path.startswith("~/") else os.path.abspath(path)


def _items(given: Any) -> List[Any]:
    return [given] if isinstance(given, (str, int)) else list(given or ())
