"""Markdown files with a few named values at their top, read without trusting where they came from.

---
name: Tests first
order: 10
---
The text.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sam_tui.core.plain import printable
from sam_tui.core.ports.prompts import FileProblem

LARGEST = 65_536
"""Bytes of one file."""
MOST_FILES = 200
"""Files of one folder that are looked at."""

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """A file that could be read: ``stem`` is its name without ``.md``, ``values`` in lower case."""

    file: str
    stem: str
    values: Mapping[str, str]
    text: str


class Unusable(Exception):
    """A file that cannot be used; ``str`` is why."""


def read_folder(folder: Path, *, follow: bool) -> tuple[list[MarkdownFile], list[FileProblem]]:
    """The Markdown files of a folder by name, and those that could not be used.

    A folder that is not there has none. Without ``follow``, links are not read: a workspace must
    not be able to show a file of the person's as its own.
    """
    try:
        if not follow and folder.is_symlink():
            return [], [FileProblem(str(folder), "is a link, and links are not read here")]
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".md"))
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        return [], [FileProblem(str(folder), f"cannot be read: {error.strerror}")]
    found: list[MarkdownFile] = []
    problems: list[FileProblem] = []
    for name in names[:MOST_FILES]:
        if name.startswith("."):
            continue
        try:
            found.append(_parsed(folder / name, _content(folder / name, follow=follow)))
        except Unusable as why:
            problems.append(FileProblem(printable(str(folder / name)), str(why)))
    if len(names) > MOST_FILES:
        left = len(names) - MOST_FILES
        problems.append(FileProblem(str(folder), f"holds {left} more files than are read"))
    return found, problems


def number(values: Mapping[str, str], name: str, default: int) -> int:
    """A whole number among the values. Raises ``Unusable``."""
    text = values.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise Unusable(f"{name} must be a whole number, not {text!r}") from None


def truth(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Yes or no among the values. Raises ``Unusable``."""
    text = values.get(name, "").lower()
    if text in ("true", "yes", "on", "1"):
        return True
    if text in ("false", "no", "off", "0"):
        return False
    if text:
        raise Unusable(f"{name} must be true or false, not {text!r}")
    return default


def _content(path: Path, *, follow: bool) -> str:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if path.is_symlink() and not follow:
            raise Unusable("is a link, and links are not read here") from None
        raise Unusable(f"cannot be read: {error.strerror}") from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise Unusable("is no regular file")
        if not follow and about.st_nlink > 1:
            raise Unusable("has other names, and such files are not read here")
        data = b""
        while len(data) <= LARGEST and (piece := os.read(descriptor, LARGEST + 1 - len(data))):
            data += piece
    except OSError as error:
        raise Unusable(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise Unusable(f"is larger than {LARGEST // 1024} kB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Unusable("is not UTF-8 text") from None


def _parsed(path: Path, content: str) -> MarkdownFile:
    values: dict[str, str] = {}
    text = content
    lines = content.split("\n")
    if lines[0].rstrip() == _FENCE:
        end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
        if end is None:
            raise Unusable("opens with --- and has no second ---")
        for line in lines[1:end]:
            name, colon, value = line.partition(":")
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if not colon:
                raise Unusable(f"has a line without a colon at its top: {printable(line)[:60]}")
            values[name.strip().lower()] = value.strip().strip("\"'")
        text = "\n".join(lines[end + 1 :])
    text = text.replace("\x00", "").strip()
    if not text:
        raise Unusable("has no text")
    shown = printable(str(path))
    return MarkdownFile(shown, printable(path.stem), values, text)
