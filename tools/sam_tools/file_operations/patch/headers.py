"""What stands above the hunks of a unified diff: names, prefixes, and what git adds to them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sam_tools.file_operations.patch.pieces import FilePatch, Hunk
from sam_tui.core.errors import ToolError

NOTHING = "/dev/null"
_STAMP = re.compile(r"\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s*[+-]\d{4}|Z)?\s*\Z")
_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_NO_FILES = {"120000": "a symbolic link", "160000": "a submodule"}
_OLD_PREFIXES, _NEW_PREFIXES = ("a/", "i/", "c/", "o/"), ("b/", "w/", "i/", "c/")


@dataclass
class Header:
    """What is known of a file so far; hunks are added as they come."""

    old: str = ""
    new: str = ""
    git: tuple[str, str] = ("", "")
    moved: dict[str, str] = field(default_factory=dict[str, str])
    modes: dict[str, str] = field(default_factory=dict[str, str])
    hunks: list[Hunk] = field(default_factory=list[Hunk])

    @property
    def named(self) -> bool:
        """Whether ``---`` and ``+++`` were there."""
        return bool(self.old or self.new)

    @property
    def says_something(self) -> bool:
        """Whether it changes a file, with or without hunks."""
        return bool(self.hunks or self.moved or self.modes)

    def extend(self, line: str) -> bool:
        """Take one of git's further header lines; False for any other."""
        for name in ("rename from ", "rename to ", "copy from ", "copy to "):
            if line.startswith(name):
                self.moved[name.strip()] = unquoted(line[len(name) :])
                return True
        for name in ("new file mode ", "deleted file mode ", "old mode ", "new mode "):
            if line.startswith(name):
                self.modes[name.strip()] = line[len(name) :].strip()
                return True
        return line.startswith(("index ", "similarity index ", "dissimilarity index "))

    def file(self) -> FilePatch:
        """The finished file. Raises ``ToolError`` when it has no usable name."""
        old, new = self._names()
        hunks = tuple(self.hunks)
        bits = self.modes.get("new file mode") or self.modes.get("new mode") or ""
        if bits in _NO_FILES:
            raise ToolError(
                f"{new or old} is {_NO_FILES[bits]} in patchContent; only regular files are patched.",
                hint="Leave it out of the patch and make it with a command in the terminal.",
            )
        executable = bits.endswith("755") if bits else None
        if "rename to" in self.moved or "copy to" in self.moved:
            verb = "rename" if "rename to" in self.moved else "copy"
            source, target = self.moved.get(f"{verb} from", old), self.moved[f"{verb} to"]
            kind = "update" if verb == "rename" else "copy"
            return FilePatch(kind, _usable(source), _usable(target), hunks, executable)
        if old == NOTHING or "new file mode" in self.modes:
            return FilePatch("create", _usable(new), new, hunks, executable)
        if new == NOTHING or "deleted file mode" in self.modes:
            return FilePatch("delete", _usable(old), old, hunks)
        path = _usable(_chosen(old, new))
        return FilePatch("update", path, path, hunks, executable)

    def _names(self) -> tuple[str, str]:
        """Both names without what git put before them. Its own line says whether it did."""
        old, new = self.old or self.git[0], self.new or self.git[1]
        first, second = self.git
        if first and first == second:
            return old, new
        if _paired(first, second) and first[2:] == second[2:]:
            return old.removeprefix(first[:2]), new.removeprefix(second[:2])
        return without_prefixes(old, new)


def header_name(text: str) -> str:
    """The name behind ``---`` or ``+++``, without what may follow it."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        return unquoted(text)
    if "\t" in text:
        return text.partition("\t")[0]
    return _STAMP.sub("", text).rstrip()


def unquoted(text: str) -> str:
    """A name as git quotes it: in double quotes, with C escapes for its bytes."""
    text = text.strip()
    end = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    if end is None:
        return text

    def byte(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        return chr(_LETTERS[code]) if code in _LETTERS else code

    # Octal escapes are bytes; what stands there unescaped is UTF-8 already.
    raw = _ESCAPE.sub(byte, end[1].encode("utf-8", "surrogateescape").decode("latin-1"))
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")


def git_names(line: str) -> tuple[str, str]:
    """Both names of a ``diff --git`` line; they may hold spaces."""
    rest = line.removeprefix("diff --git ").rstrip()
    if rest.startswith('"') or rest.endswith('"'):
        found = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S.*?) ("(?:[^"\\]|\\.)*"|\S.*)', rest)
        return (unquoted(found[1]), unquoted(found[2])) if found else (rest, rest)
    middle = len(rest) // 2
    halves = rest[:middle], rest[middle + 1 :]
    if rest[middle : middle + 1] == " " and halves[0][2:] == halves[1][2:]:
        return halves
    old, _, new = rest.partition(" b/")
    return (old, f"b/{new}") if new else (rest, rest)


def without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Names without ``a/`` and ``b/`` (or git's other pairs), where they have such a pair."""
    if old in ("", NOTHING):
        return old, new.removeprefix("b/")
    if new in ("", NOTHING):
        return old.removeprefix("a/"), new
    return (old[2:], new[2:]) if _paired(old, new) else (old, new)


def _paired(old: str, new: str) -> bool:
    known = old.startswith(_OLD_PREFIXES) and new.startswith(_NEW_PREFIXES)
    return known and old[0] != new[0]


def _chosen(old: str, new: str) -> str:
    """Of two names for one file the one without an ending such as ``.orig`` or ``.new``."""
    if not old or not new or old == new:
        return new or old
    return old if new.startswith(old) else new


def _usable(path: str) -> str:
    if not path or path == NOTHING:
        raise ToolError(
            "A file in patchContent has no name.",
            hint="Begin each with `--- a/path` and `+++ b/path`, or pass filePath for one file.",
        )
    return path


def follows(lines: Sequence[str], at: int) -> bool:
    """Whether a file header begins here: ``---`` with ``+++`` below it."""
    return at + 1 < len(lines) and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")


def half_header(lines: Sequence[str], at: int) -> tuple[str, str] | None:
    """Both names where only one of ``---`` and ``+++`` stands above a hunk; None elsewhere."""
    if at + 1 == len(lines) or not lines[at + 1].startswith("@@"):
        return None
    name = header_name(lines[at][4:])
    match lines[at][:4]:
        case "--- ":
            return name, ""
        case "+++ ":
            return "", name
        case _:
            return None
