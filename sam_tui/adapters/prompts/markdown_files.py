"""Markdown files with a few named values at their top, read without trusting where they came from.

---
name: Tests first
order: 10
---
The text.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sam_tui.core.local_files.bounded import UnusableFile, read_bounded
from sam_tui.core.ports.prompts import FileProblem
from sam_tui.core.text.plain import printable

LARGEST = 65_536
"""The most bytes of a file."""
MOST_FILES = 200
"""The most files of a folder that are read."""

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """A file that could be read: ``stem`` is its name without ``.md``, ``values`` in lower case."""

    file: str
    stem: str
    values: Mapping[str, str]
    text: str
    path: str
    """The exact path of the file; ``file`` is the same, escaped for display."""
    data: bytes
    """The content of the file before it was parsed."""


class InvalidMarkdown(Exception):
    """A file that cannot be used; ``str`` is why."""


def read_folder(folder: Path, *, root: str = "") -> tuple[list[MarkdownFile], list[FileProblem]]:
    """The Markdown files of a folder by name, and those that could not be used.

    A folder that is not there has none. With ``root``, the workspace, links are not read: a workspace
    must not be able to show a file of the person's as its own.
    """
    try:
        if root and folder.is_symlink():
            return [], [FileProblem(str(folder), "is a link, and links are not read here")]
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".md"))
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        return [], [FileProblem(str(folder), f"cannot be read: {error.strerror}")]
    files: list[MarkdownFile] = []
    problems: list[FileProblem] = []
    for name in names[:MOST_FILES]:
        if name.startswith("."):
            continue
        try:
            files.append(_parsed(folder / name, _content(folder / name, root)))
        except InvalidMarkdown as why:
            problems.append(FileProblem(printable(str(folder / name)), str(why)))
    if len(names) > MOST_FILES:
        left = len(names) - MOST_FILES
        problems.append(FileProblem(str(folder), f"contains {left} more files than are read"))
    return files, problems


def number(values: Mapping[str, str], name: str, default: int) -> int:
    """A whole number among the values. Raises ``InvalidMarkdown``."""
    text = values.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise InvalidMarkdown(f"{name} must be a whole number, not {text!r}") from None


def truth(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Yes or no among the values. Raises ``InvalidMarkdown``."""
    text = values.get(name, "").lower()
    if text in ("true", "yes", "on", "1"):
        return True
    if text in ("false", "no", "off", "0"):
        return False
    if text:
        raise InvalidMarkdown(f"{name} must be true or false, not {text!r}")
    return default


def _content(path: Path, root: str) -> bytes:
    try:
        return read_bounded(str(path), most=LARGEST, root=root, alone=bool(root))
    except UnusableFile as why:
        raise InvalidMarkdown(str(why)) from None


def _front_matter(lines: Sequence[str]) -> dict[str, str]:
    """``name: value`` a line, without the marks around it; empty lines and comments say nothing."""
    values: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not colon:
            raise InvalidMarkdown(f"has a line without a colon at its top: {printable(line)[:60]}")
        values[name.strip().lower()] = value.strip().strip("\"'")
    return values


def _parsed(path: Path, data: bytes) -> MarkdownFile:
    try:
        content = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InvalidMarkdown("is not UTF-8 text") from None
    values: dict[str, str] = {}
    text = content
    lines = content.split("\n")
    if lines[0].rstrip() == _FENCE:
        end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
        if end is None:
            raise InvalidMarkdown("opens with --- and has no second ---")
        values = _front_matter(lines[1:end])
        text = "\n".join(lines[end + 1 :])
    text = text.replace("\x00", "").strip()
    if not text:
        raise InvalidMarkdown("has no text")
    shown_path = printable(str(path))
    return MarkdownFile(shown_path, printable(path.stem), values, text, str(path), data)
