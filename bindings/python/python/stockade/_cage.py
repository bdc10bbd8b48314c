"""`Cage`: settings for many runs, and the end of what was started with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from . import _flags
from ._process import Completed, Process, run, spawn

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import CageOptions, Command


class Cage:
    """What programs may have, said once.

    Takes the keywords of `run` that are about the cage. As a context manager it ends what it spawned::

        with Cage(rw=["build"], net=["example.com:443"]) as cage:
            cage.run(["make"], check=True)
            server = cage.spawn(["python3", "-m", "http.server"])

    Every run has a cage of its own: nothing is shared between them but the settings.
    """

    def __init__(self, **options: Unpack[CageOptions]) -> None:
        _flags.flags(options)
        self.options = options
        self._spawned: List[Process[Any]] = []
        self._children: List[Cage] = []

    def run(self, args: Command, **options: Any) -> Completed[Any]:
        """As `stockade.run`, with this cage's settings; what is given here counts instead of them."""
        return run(args, **_flags.of_run(self.options, options))

    def spawn(self, args: Command, **options: Any) -> Process[Any]:
        """As `stockade.spawn`, with this cage's settings. The program ends with the `with` block."""
        process: Process[Any] = spawn(args, **_flags.of_run(self.options, options))
        self._spawned = [other for other in self._spawned if other.poll() is None] + [process]
        return process

    def narrow(self, **request: Unpack[CageOptions]) -> Cage:
        """A child: a cage with the part of this one that the keywords name, and all of it where they say nothing.

        ``cage.narrow(ro=["src"], net=False).spawn(["make"])``. More than this cage has is refused when the child
        is run or spawned, by a `Refused` that names it. A child can be narrowed again. What it spawned ends with
        this cage's block too.
        """
        child = Cage(**_flags.of_child(self.options, request))
        self._children.append(child)
        return child

    def close(self) -> None:
        """Ends everything that was spawned and has not ended, by children too."""
        for child in self._children:
            child.close()
        spawned, self._spawned = self._spawned, []
        for process in spawned:
            if process.poll() is None:
                process.kill()
        for process in spawned:
            process._end()

    def __enter__(self) -> Cage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"Cage({settings})"
