"""The display of a result, as data: front ends draw it, events carry it."""

from dataclasses import dataclass
from typing import Literal

from sam_tui.core.todos.item import Todo


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, never markup."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Diff:
    """One changed file. ``unified`` is a unified diff without the ``---``/``+++`` lines.

    ``note`` adds facts that the lines do not show, such as ``created``; ``made`` is false for a change
    that was only tried.
    """

    path: str
    unified: str
    added: int
    removed: int
    note: str = ""
    made: bool = True
    kind: Literal["diff"] = "diff"

    @classmethod
    def of_text(cls, heading: str, text: str) -> "Diff":
        """Return a text that is new as a whole, for the person who is asked about it."""
        lines = text.splitlines()
        body = [f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)]
        return cls(heading, "\n".join(body) + "\n", len(lines), 0)

    @property
    def heading(self) -> str:
        """The path, followed by the note if there is one."""
        return f"{self.path} ({self.note})" if self.note else self.path


@dataclass(frozen=True, slots=True)
class Terminal:
    """A command and its output. ``exit_code`` is None while the command runs and when it was killed."""

    command: str
    output: str
    exit_code: int | None
    seconds: float
    running: bool = False
    kind: Literal["terminal"] = "terminal"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain cells under column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Todos:
    """The present todo list."""

    items: tuple[Todo, ...]
    kind: Literal["todos"] = "todos"


Display = Text | Diff | Terminal | Table | Todos
