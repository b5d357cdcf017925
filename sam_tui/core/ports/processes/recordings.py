"""Recordings of terminals: how they are stored, played, and copied without secrets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sam_tui.core.ports.processes.screens import ShownSession


@dataclass(frozen=True, slots=True)
class KeptRecording:
    """A stored recording: path, name, size in bytes, and time of the last write (epoch seconds)."""

    path: str
    name: str
    size: int
    at: float


class FollowedOutput(ShownSession, Protocol):
    """Text that a command prints, while it does. Nothing in it is answered, asks for or rings anything."""

    def feed(self, text: str) -> None:
        """Record text that the program printed."""
        ...


class Playback(ShownSession, Protocol):
    """A recording while it is played. Its screen has the size that was recorded.

    Times are in seconds of the recording, in which no pause is longer than a limit. Its output acts on
    its screen alone: it can ask for no clipboard, ring no bell, and gets no answers.
    """

    @property
    def name(self) -> str: ...

    @property
    def at(self) -> float:
        """The current position in seconds."""
        ...

    @property
    def length(self) -> float | None:
        """The length in seconds; None until the whole recording was read."""
        ...

    @property
    def playing(self) -> bool:
        """Whether it goes on by itself."""
        ...

    @property
    def seeking(self) -> bool:
        """Whether a jump to another position is under way."""
        ...

    @property
    def over(self) -> bool:
        """Whether the end is reached."""
        ...

    @property
    def fault(self) -> str:
        """Why playing stopped; empty if it did not."""
        ...

    @property
    def speed(self) -> float:
        """The speed as a multiple of the recorded one."""
        ...

    @speed.setter
    def speed(self, times: float) -> None: ...

    def play(self) -> None:
        """Go on; at the end, begin anew."""
        ...

    def pause(self) -> None:
        """Pause the playback."""
        ...

    def seek(self, at: float) -> None:
        """Go to a time in seconds; beyond the beginning or the end, to the nearest one."""
        ...

    def close(self) -> None:
        """Let go of it; safe to call again."""
        ...


class Recordings(Protocol):
    """The recordings of one data directory, and others by their path."""

    def fresh(self) -> str:
        """Return the path of the next recording, and make its folder. Raises ``errors.ToolError``."""
        ...

    def recordings(self, *others: str) -> Sequence[KeptRecording]:
        """The recordings of the data folder and of the folders ``others``, newest first."""
        ...

    def open(self, path: str) -> Playback:
        """A player for a recording, at its beginning. Raises ``errors.ToolError`` for a file that is no
        recording."""
        ...

    def follow(self) -> FollowedOutput:
        """Return a screen for a command's output from now on."""
        ...

    async def export(self, path: str, copy: str) -> int:
        """Write a copy in which secrets are masked; how many were. Raises ``errors.ToolError``."""
        ...

    def close(self) -> None:
        """Close every player."""
        ...
