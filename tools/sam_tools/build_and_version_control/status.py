"""``git status --porcelain=v2 -z`` as data, to the letter of git-status(1)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

State = Literal["staged", "unstaged", "untracked", "merge-conflicts", "ignored"]

_WORDS = {
    "M": "modified",
    "T": "type-changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
}
_CONFLICTS = {
    "DD": "both deleted",
    "AU": "added by us",
    "UD": "deleted by them",
    "UA": "added by them",
    "DU": "deleted by us",
    "AA": "both added",
    "UU": "both modified",
}
_SUBMODULE = (("C", "new commits"), ("M", "modified content"), ("U", "untracked content"))


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One changed file in one state: a file changed again after staging has two.

    Paths are relative to the repository; bytes that are not UTF-8 are lone surrogates. ``score`` is
    the similarity in percent of a rename or copy. ``conflict`` says who did what. ``submodule`` says
    what changed within one.
    """

    path: str
    status: str
    state: State
    old_path: str = ""
    score: int | None = None
    conflict: str = ""
    submodule: tuple[str, ...] = ()

    @property
    def staged(self) -> bool:
        """Whether it would be part of a commit made now."""
        return self.state == "staged"


@dataclass(frozen=True, slots=True)
class Status:
    """The branch and all changes. ``head`` is empty before the first commit."""

    branch: str = ""
    head: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    changes: tuple[FileStatus, ...] = field(default=())


def read_status(output: bytes) -> Status:
    """Parse the status in git's words. Raises ``ValueError`` for any other text."""
    records = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    headers: dict[str, str] = {}
    changes: list[FileStatus] = []
    for record in records:
        kind, _, fields = record.partition(" ")
        match kind:
            case "":
                continue
            case "#":
                name, _, value = fields.partition(" ")
                headers[name] = value
            case "1":
                changes += _ordinary(fields)
            case "2":
                changes += _moved(fields, next(records, ""))
            case "u":
                changes.append(_unmerged(fields))
            case "?":
                changes.append(FileStatus(fields, "untracked", "untracked"))
            case "!":
                changes.append(FileStatus(fields, "ignored", "ignored"))
            case _:
                raise ValueError(f"an unknown record: {record[:80]!r}")
    return _with_headers(headers, changes)


def _with_headers(headers: dict[str, str], changes: list[FileStatus]) -> Status:
    head = headers.get("branch.oid", "")
    ahead, _, behind = headers.get("branch.ab", "+0 -0").partition(" ")
    return Status(
        branch=headers.get("branch.head", ""),
        head="" if head == "(initial)" else head,
        upstream=headers.get("branch.upstream", ""),
        ahead=int(ahead),
        behind=-int(behind),
        changes=tuple(changes),
    )


def _ordinary(fields: str) -> Iterator[FileStatus]:
    """``XY sub mH mI mW hH hI path``."""
    codes, sub, _, _, _, _, _, path = fields.split(" ", 7)
    submodule = _submodule(sub)
    if codes[0] != ".":
        yield FileStatus(path, _WORDS[codes[0]], "staged", submodule=submodule)
    if codes[1] != ".":
        yield FileStatus(path, _WORDS[codes[1]], "unstaged", submodule=submodule)


def _moved(fields: str, old: str) -> Iterator[FileStatus]:
    """``XY sub mH mI mW hH hI Xscore path``, and where it came from as the next record."""
    codes, sub, _, _, _, _, _, scored, path = fields.split(" ", 8)
    submodule, score = _submodule(sub), int(scored[1:])
    for code, state in zip(codes, ("staged", "unstaged"), strict=True):
        if code in "RC":
            yield FileStatus(path, _WORDS[code], state, old, score, submodule=submodule)
        elif code != ".":
            yield FileStatus(path, _WORDS[code], state, submodule=submodule)


def _unmerged(fields: str) -> FileStatus:
    """``XY sub m1 m2 m3 mW h1 h2 h3 path``."""
    codes, sub, _, _, _, _, _, _, _, path = fields.split(" ", 9)
    return FileStatus(
        path,
        "conflict",
        "merge-conflicts",
        conflict=_CONFLICTS[codes],
        submodule=_submodule(sub),
    )


def _submodule(field_: str) -> tuple[str, ...]:
    """Return the kinds of change within a submodule: none for ``N...``, else by the letters after ``S``."""
    if not field_.startswith("S"):
        return ()
    return tuple(words for letter, words in _SUBMODULE if letter in field_[1:])
