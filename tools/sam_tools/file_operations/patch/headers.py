"""The lines above the hunks of a unified diff: names, prefixes, and git's additions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from sam_tools.file_operations.patch.binary import Binary
from sam_tools.file_operations.patch.pieces import ChangeKind, FilePatch, FileType, Hunk
from sam_tui.core.errors import ToolError

NOTHING = "/dev/null"
_STREAM = "-"
"""The name that diff writes for standard input."""
_STAMP = re.compile(r"\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s*[+-]\d{4}|Z)?\s*\Z")
_EPOCH = re.compile(r"\t((?:1969-12-31|1970-01-01) \d\d:\d\d:00)(?:\.0+)? ([+-]\d\d):?(\d\d)\r?\Z")
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|.)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abtnvfr"\\]))*)"')
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_TYPES: dict[str, FileType] = {
    "100": "file",
    "120": "link",
    "160": "submodule",
}
_OLD_PREFIXES, _NEW_PREFIXES = ("a/", "i/", "c/", "o/"), ("b/", "w/", "i/", "c/")
_DETOUR = re.compile(r"(?:^|/)(?!\.\./)[^/]+/\.\.(?:/|$)")
"""``x/..`` in a name, which git and GNU patch refuse. The guard judges a path that only leads upwards."""
_MODE = re.compile(r"(100|120|160)[0-7]{3}")
_MOVES = {"rename old": "rename from", "rename new": "rename to"}
_NAMES = ("rename from ", "rename to ", "rename old ", "rename new ", "copy from ", "copy to ")
_MODES = ("new file mode ", "deleted file mode ", "old mode ", "new mode ")


@dataclass
class Header:
    """The facts about a file so far; hunks are added as they come.

    ``old`` and ``new`` are the names behind ``---`` and ``+++``, ``git`` those of ``diff --git``.
    """

    old: str = ""
    new: str = ""
    git: tuple[str, str] | None = None
    moved: dict[str, str] = field(default_factory=dict[str, str])
    modes: dict[str, str] = field(default_factory=dict[str, str])
    index: str = ""
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    binary: Binary | None = None

    @property
    def named(self) -> bool:
        """Whether the header has ``---`` or ``+++`` lines."""
        return bool(self.old or self.new)

    @property
    def says_something(self) -> bool:
        """Whether this header changes a file, with or without hunks."""
        return bool(self.hunks or self.moved or self.modes or self.binary)

    def extend(self, line: str) -> None:
        """Read one of git's further header lines; other lines are ignored.

        Raises ``ToolError`` if the line contradicts an earlier one."""
        for name in _NAMES:
            if line.startswith(name):
                key, path = name.strip(), unquoted(line[len(name) :].rstrip("\r"))
                if self.moved.setdefault(_MOVES.get(key, key), path) != path:
                    raise ToolError(
                        f"A header in patchContent contradicts itself: {key} is said twice.",
                        hint="Begin each file with its own line diff --git.",
                    )
                return
        for name in _MODES:
            if line.startswith(name):
                self.modes[name.strip()] = line[len(name) :].strip()
                return
        if line.startswith("index "):
            self.index = line.removeprefix("index ").strip()

    def file(self) -> FilePatch:
        """The finished file. Raises ``ToolError`` when it has no usable name."""
        return self._plain_file() if self.git is None else self._git_file(*self.git)

    def _plain_file(self) -> FilePatch:
        old, new = without_prefixes(self.old, self.new)
        hunks = tuple(self.hunks)
        if old == NOTHING:
            return FilePatch("create", _usable(new), new, hunks)
        if new == NOTHING:
            return FilePatch("delete", _usable(old), old, hunks)
        path = _usable(_chosen(old, new))
        return FilePatch("update", path, path, hunks)

    def _git_file(self, first: str, second: str) -> FilePatch:
        """The file of a git header; names that contradict each other are refused."""
        if shared := self._shared_name(first, second):
            kind, source, target = "update", shared, shared
        else:
            kind, source, target = self._git_names(first, second)
            self._check_names(kind, source, target)
        if _DETOUR.search(source) or _DETOUR.search(target):
            raise ToolError(
                f"{target or source} in patchContent leads into a folder and out of it again.",
                hint="Write the path without `..`.",
            )
        type_, executable = self._type(target)
        return FilePatch(
            kind,
            _usable(source),
            _usable(target),
            tuple(self.hunks),
            executable,
            exact=True,
            type=type_,
            binary=self.binary,
        )

    def _git_names(self, first: str, second: str) -> tuple[ChangeKind, str, str]:
        """The kind of change, the file, and its name afterwards."""
        if self.moved:
            if not self.modes.keys() <= {"old mode", "new mode"}:
                raise ToolError(
                    f"The header of {first} in patchContent contradicts itself: it is moved or copied, "
                    "and made or deleted.",
                    hint="Begin each file with its own line diff --git.",
                )
            verb: Literal["copy", "rename"] = "copy" if "copy to" in self.moved else "rename"
            names = self.moved.get(f"{verb} from", ""), self.moved.get(f"{verb} to", "")
            return "copy" if verb == "copy" else "update", *names
        source, target = _bare(first, second)
        if "new file mode" in self.modes or self.old == NOTHING:
            return "create", target, target
        if "deleted file mode" in self.modes or self.new == NOTHING:
            return "delete", source, source
        if self.named and source != target:
            source, target = _bare(self.old, self.new)
        return "update", source, target

    def _check_names(self, kind: ChangeKind, source: str, target: str) -> None:
        """Raises ``ToolError`` if the names after ``---`` and ``+++`` differ from those of git's lines."""
        old, new = NOTHING if kind == "create" else source, NOTHING if kind == "delete" else target
        if self.named and not (_agree(self.old, old) and _agree(self.new, new)):
            raise ToolError(
                f"The header of {target or source} in patchContent contradicts itself: "
                f"{self.old or 'nothing'} and {self.new or 'nothing'} stand behind --- and +++.",
                hint="Write the same names in all lines of a header, and /dev/null for no file.",
            )

    def _shared_name(self, first: str, second: str) -> str:
        """The name of one file in two folders, as ``git diff --no-index`` writes it; else empty."""
        same = (self.old, self.new) == (first, second) and not self.moved
        return _below_folders(*_bare(first, second)) if same else ""

    def _type(self, name: str) -> tuple[FileType, bool | None]:
        """The file type and executable bit of git's modes. Raises ``ToolError``."""
        bits = [*self.modes.values(), *self.index.split(" ")[1:]]
        matches = [_MODE.fullmatch(mode) for mode in bits]
        types: set[FileType] = {_TYPES[match[1]] for match in matches if match}
        if None in matches or len(types) > 1:
            raise ToolError(
                f"{name} cannot have the modes {', '.join(bits)} that patchContent gives it.",
                hint="Modes are 100644, 100755 and 120000; another type is deleted, then made anew.",
            )
        declared = self.modes.get("new file mode") or self.modes.get("new mode")
        type_: FileType = types.pop() if types else ""
        return type_, bool(int(declared, 8) & 0o100) if declared and type_ == "file" else None


def header_name(text: str) -> str:
    """The name after ``---`` or ``+++``, without a timestamp.

    The date of a file that is not there is the first moment of 1970: that is as good as /dev/null.
    """
    text = text.rstrip("\r")
    if (epoch := _EPOCH.search(text)) and not datetime.strptime(
        f"{epoch[1]} {epoch[2]}{epoch[3]}", "%Y-%m-%d %H:%M:%S %z"
    ).timestamp():
        return NOTHING
    if text.startswith('"'):
        return unquoted(text)
    if "\t" in text:
        return text.partition("\t")[0]
    return _STAMP.sub("", text).rstrip()


def unquoted(text: str) -> str:
    """A name as git quotes it: in double quotes, with C escapes for its bytes."""
    end = _QUOTED.match(text)
    if end is None:
        return text

    def byte(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "0123":
            return chr(int(code, 8))
        return chr(_LETTERS[code]) if code in _LETTERS else code

    # Octal escapes are bytes; the unescaped text is UTF-8 already.
    raw = _ESCAPE.sub(byte, end[1].encode("utf-8", "surrogateescape").decode("latin-1"))
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")


def git_names(line: str) -> tuple[str, str]:
    """Both names of a ``diff --git`` line; they may hold spaces."""
    names = line.removeprefix("diff --git ").rstrip("\r")
    if names.startswith('"') or names.endswith('"'):
        match = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S.*?) ("(?:[^"\\]|\\.)*"|\S.*)', names)
        return (unquoted(match[1]), unquoted(match[2])) if match else (names, names)
    for text in (names, names.rstrip()):
        middle = len(text) // 2
        halves = text[:middle], text[middle + 1 :]
        if text[middle : middle + 1] == " " and halves[0][2:] == halves[1][2:]:
            return halves
    cuts = [at for at, character in enumerate(names) if character == " "]
    for at in cuts:
        if names[:at].partition("/")[2] == names[at + 1 :].partition("/")[2] != "":
            return names[:at], names[at + 1 :]
    old, _, new = names.partition(" b/")
    if new:
        return old, f"b/{new}"
    return (names[: cuts[0]], names[cuts[0] + 1 :]) if len(cuts) == 1 else (names, names)


def _bare(old: str, new: str) -> tuple[str, str]:
    """Names of git's header without the folder that git puts before each."""
    (_, _, first), (_, _, second) = old.partition("/"), new.partition("/")
    if old != new and (first == second != "" or _paired(old, new) or _paired(new, old)):
        return first, second
    return old, new


def _agree(name: str, expected: str) -> bool:
    return expected in (name, name.partition("/")[2])


def without_prefixes(old: str, new: str) -> tuple[str, str]:
    """The names without ``a/`` and ``b/``, or another pair of git's prefixes, if they have one."""
    if old in ("", NOTHING, _STREAM):
        return old.removesuffix(_STREAM), new.removeprefix("b/")
    if new in ("", NOTHING, _STREAM):
        return old.removeprefix("a/"), new.removesuffix(_STREAM)
    return (old[2:], new[2:]) if _paired(old, new) else (old, new)


def _paired(old: str, new: str) -> bool:
    prefixed = old.startswith(_OLD_PREFIXES) and new.startswith(_NEW_PREFIXES)
    return prefixed and old[0] != new[0]


def _chosen(old: str, new: str) -> str:
    """Of two names for one file the one without an ending such as ``.orig`` or ``.new``.

    Where the file is in two folders that ``diff -r`` compared, its path below them.
    """
    if not old or not new or old == new:
        return new or old
    return old if new.startswith(old) else _below_folders(old, new) or new


def _below_folders(old: str, new: str) -> str:
    """The path that both names have below folders of other names; empty if they share none."""
    first, second = old.split("/"), new.split("/")
    most = min(len(first), len(second)) - 1
    same = next((i for i in range(most) if first[-1 - i] != second[-1 - i]), most)
    above = "/".join(first[: len(first) - same]), "/".join(second[: len(second) - same])
    if not same or above[0].startswith(above[1]) or above[1].startswith(above[0]):
        return ""
    return "/".join(first[-same:])


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
    """Both names if a hunk has only one of ``---`` and ``+++`` above it, the other one empty; else None."""
    if at + 1 == len(lines) or not re.match(r"@@+(?: *-\d|[ .]*@@|\s*\Z)", lines[at + 1]):
        return None
    name = header_name(lines[at][4:])
    match lines[at][:4]:
        case "--- ":
            return name, ""
        case "+++ ":
            return "", name
        case _:
            return None
