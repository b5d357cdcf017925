"""The parts of a patch, for every dialect: patch, file, hunk and line."""

from dataclasses import dataclass, replace
from typing import Literal

from sam_tools.file_operations.patch.binary import Binary

Mark = Literal[" ", "-", "+"]
FileType = Literal["file", "link", "submodule", ""]
ChangeKind = Literal["update", "create", "delete", "copy"]
"""The effect of a part of a patch on a file."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk. ``text`` is without its line feed, but with a carriage return it had.

    ``newline`` is false where the patch says that the file ends without one.
    """

    mark: Mark
    text: str
    newline: bool = True


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring changes of a file.

    ``number`` counts from 1 within the file. ``start`` is the line (from 1) that the old lines begin
    at, or after which new ones go where there are no old ones; None where the patch does not say.
    ``anchors`` are lines that stand above it, outermost first.
    """

    number: int
    lines: tuple[Line, ...]
    start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old(self) -> tuple[Line, ...]:
        """The lines that the hunk expects."""
        return tuple(line for line in self.lines if line.mark != "+")

    @property
    def new(self) -> tuple[Line, ...]:
        """The lines that the hunk leaves in their place."""
        return tuple(line for line in self.lines if line.mark != "-")

    @property
    def marked(self) -> bool:
        """Whether it says anywhere that a file ends without a newline."""
        return not all(line.newline for line in self.lines)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file. ``target`` differs from ``path`` when the file gets another name.

    ``executable`` is None where the patch does not mention it. ``unread`` deletes the file with any
    content. ``exact`` parts have git's header: their hunks go where git and GNU patch put them, without
    guesses.
    """

    kind: ChangeKind
    path: str
    target: str
    hunks: tuple[Hunk, ...] = ()
    executable: bool | None = None
    unread: bool = False
    exact: bool = False
    type: FileType = ""
    binary: Binary | None = None

    @property
    def link_target(self) -> str | None:
        """The target of the symbolic link that this part makes or changes; None if it makes none."""
        new = [line.text for hunk in self.hunks for line in hunk.new]
        return "\n".join(new) if self.type == "link" and self.kind != "delete" and new else None

    @property
    def renamed(self) -> bool:
        """Whether the file moves."""
        return self.kind == "update" and self.path != self.target

    @property
    def spells_mark(self) -> bool:
        """Whether a hunk contains a byte order mark, as diffs of files that begin with one do."""
        return any(line.text.startswith("\ufeff") for hunk in self.hunks for line in hunk.lines)


@dataclass(frozen=True, slots=True)
class Patch:
    """All files of a patch in order. ``style`` decides how exactly context must fit."""

    files: tuple[FilePatch, ...]
    style: Literal["unified", "envelope"]

    def aimed(self, path: str) -> "Patch":
        """The same patch for another file; unchanged if it changes several files."""
        if len(self.files) != 1:
            return self
        only = self.files[0]
        target = only.target if only.renamed or only.kind == "copy" else path
        return replace(self, files=(replace(only, path=path, target=target),))
