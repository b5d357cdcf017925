"""Programs that are spoken to through their standard streams, held by the sandbox like commands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sam_tui.core.ports.processes.sandbox import AskOutside, Network, OutsideAccess


@dataclass(frozen=True, slots=True)
class PipedRequest:
    """A program to start, and how it is confined.

    ``words`` are the program, looked up on PATH, and its arguments; ``environment`` comes on top of
    what commands get. ``writable`` and ``readable`` are real. ``on_error`` hears its standard error.
    """

    words: tuple[str, ...]
    cwd: str
    confined: bool
    writable: tuple[str, ...]
    on_error: Callable[[str], None]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    network: Network = "on"
    ask: AskOutside | None = None
    readable: tuple[str, ...] = ()


class PipedProgram(Protocol):
    """One running program. Its owner calls ``stop`` in the end, also after it ended by itself."""

    @property
    def pid(self) -> int:
        """The process id of the program."""
        ...

    @property
    def ended(self) -> str:
        """The way it ended, such as ``exit code 1``; empty while it runs."""
        ...

    @property
    def refused(self) -> Sequence[OutsideAccess]:
        """The accesses that the sandbox has refused so far."""
        ...

    async def read(self) -> bytes:
        """The next piece of its standard output; empty at the end. For one reader."""
        ...

    async def write(self, data: bytes) -> None:
        """Pass something to its standard input. For one writer. Raises ``OSError`` when it is closed."""
        ...

    async def overdue(self, seconds: float) -> None:
        """Return after this much time; the time in which a person answers a question does not count."""
        ...

    async def stop(self) -> None:
        """Close the program's input, wait a moment, then end it with all processes that it started."""
        ...


class PipedPrograms(Protocol):
    """Starts programs that are spoken to by pipes."""

    async def start(self, request: PipedRequest) -> PipedProgram:
        """Start a program. Raises ``ToolError`` if it cannot be started."""
        ...
