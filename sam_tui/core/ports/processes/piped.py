"""Programs that are spoken to through their standard streams, held by the sandbox like commands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sam_tui.core.ports.processes.sandbox import AskOutside, Network, OutsideAccess


@dataclass(frozen=True, slots=True)
class PipedRequest:
    """What to start and how it is held.

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
    """One program that runs. Whoever started it calls ``stop`` in the end, also when it ended alone."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    @property
    def ended(self) -> str:
        """How it ended, in words such as ``exit code 1``; empty while it runs."""
        ...

    @property
    def refused(self) -> Sequence[OutsideAccess]:
        """What the sandbox refused it so far."""
        ...

    async def read(self) -> bytes:
        """The next piece of its standard output; empty at the end. For one reader."""
        ...

    async def write(self, data: bytes) -> None:
        """Pass something to its standard input. For one writer. Raises ``OSError`` when it is closed."""
        ...

    async def overdue(self, seconds: float) -> None:
        """Return once so much time has passed; while a person is asked something, time stands still."""
        ...

    async def stop(self) -> None:
        """Close its input, give it a moment, then end it with all it started."""
        ...


class PipedPrograms(Protocol):
    """Starts them."""

    async def start(self, request: PipedRequest) -> PipedProgram:
        """Start one. Raises ``ToolError`` when it cannot be started."""
        ...
