"""Instructions: files that tell the agent how to work, the person's own and a trusted folder's."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Instruction:
    """One file. ``file`` is its name as shown, ``folder`` what it is about, empty for everything.

    ``left`` counts the characters that did not fit.
    """

    file: str
    text: str
    personal: bool = False
    """Whether it is the person's own."""
    folder: str = ""
    left: int = 0


class Instructions(Protocol):
    """Knows which instructions hold."""

    def standing(self, touched: Callable[[], Collection[str]]) -> Sequence[Instruction]:
        """Those that hold now, the widest first: the person's, the folder's, those of folders below.

        ``touched`` gives the paths that were worked on, for the last of them.
        """
        ...
