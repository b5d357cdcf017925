"""The result of a patch: the new content of each file, then the steps that write it.

Parts are read as git reads them. A rename or copy starts from the file before the patch, every other
part from the result of the parts above it. A part may use a name that another part frees.
"""

import posixpath
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sam_tools.file_operations.changes import difference, lf
from sam_tools.file_operations.document import MOST_READ, decoded, snapshot_of, text_in
from sam_tools.file_operations.names import counted
from sam_tools.file_operations.patch import FilePatch, Patch, created, patched
from sam_tui.core.accesses import Location
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Drop, EditableFiles, EditStep, Move, Put, Snapshot, Stamp
from sam_tui.core.text.plain import gist, printable


@dataclass(frozen=True, slots=True)
class _Version:
    """The content of a path at one moment. ``mode`` is None for a new file.

    ``executable`` is None where the patch says nothing of it.
    """

    data: bytes
    mode: int | None = None
    executable: bool | None = None
    link: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot) -> "_Version":
        """The version on disk."""
        return cls(snapshot.data, stat.S_IMODE(snapshot.mode), link=stat.S_ISLNK(snapshot.mode))

    @property
    def text(self) -> str:
        """The text for a diff; empty for binary or too large content."""
        document = decoded(self.data) if len(self.data) <= MOST_READ else None
        return lf(document.text) if document else ""

    def bits(self) -> int | None:
        """The mode bits of the result; everybody who may read a new executable may run it."""
        if self.mode is None or self.executable is None:
            return self.mode
        return self.mode | (self.mode & 0o444) >> 2 if self.executable else self.mode & ~0o111


class PatchDraft:
    """A patch under construction. ``remarks`` describe the outcome of each part for the model."""

    def __init__(self, files: EditableFiles, patch: Patch) -> None:
        self._files = files
        self._patch = patch
        self.remarks: list[str] = []
        self._before: dict[str, Snapshot | None] = {}
        self._now: dict[str, _Version | None] = {}
        self._places: dict[str, Location] = {}
        self._sources: dict[str, str] = {}
        """The old path of each renamed file, by its new path."""
        self._leaving: set[str] = set()

    def compose(self, ends: Sequence[tuple[Location, Location]]) -> None:
        """Apply every part of the patch; ``ends`` has its source and its target. Raises ``ToolError``."""
        pairs = list(zip(self._patch.files, ends, strict=True))
        self._leaving = {
            source.real for file, (source, _) in pairs if file.renamed or file.kind == "delete"
        }
        for file, (source, target) in pairs:
            self._places |= {source.real: source, target.real: target}
            self._insist_direct(source)
            self._insist_direct(target)
            if file.type == "submodule":
                self.remarks.append(f"= {printable(source.display_path)}: a submodule, left to git")
            else:
                self._add(file, source, target)

    # ---- parts

    def _add(self, file: FilePatch, source: Location, target: Location) -> None:
        self._insist_one_part(file, source, target)
        name = printable(source.display_path)
        if file.kind == "create" or self._begins_a_file(file, source):
            self._insist_free(target, "makes it new")
            version = _Version(b"", executable=file.executable, link=file.type == "link")
            data = created(file, name).encode("utf-8", "surrogateescape")
            version = replace(version, data=file.binary.applied(b"", name) if file.binary else data)
            self._take(target, version)
            self.remarks.append(f"A {name}")
            return
        moved = file.renamed or file.kind == "copy"
        old = self._version(source, before=moved)
        if file.kind == "delete" and file.unread:
            new, remarks = replace(old, data=b""), list[str]()
        else:
            new, remarks = self._changed(old, file, name)
        if file.kind == "delete":
            if new.data:
                left = counted(new.data.count(b"\n") + (not new.data.endswith(b"\n")), "line")
                raise ToolError(
                    f"{name} is to be deleted, but {left} of it are not in the patch.",
                    hint="Read the file again, or delete it with delete_file.",
                )
            self._now[source.real] = None
            self.remarks.append(f"D {name}")
        elif file.kind == "copy":
            self._insist_free(target, "makes it new")
            runs = bool((new.bits() or 0) & 0o111)
            self._take(target, replace(new, mode=None, executable=runs))
            self.remarks.append(f"A {printable(target.display_path)}")
        elif file.renamed:
            self._insist_free(target, "renames to it")
            self._now.setdefault(source.real, None)
            self._sources[target.real] = source.real
            self._take(target, new)
            self.remarks.append(f"R {name} -> {printable(target.display_path)}")
        elif new == old:
            self.remarks.append(f"= {name}: nothing to change, it is so already")
        else:
            self._take(source, new)
            counts = difference(name, old.text, new.text)
            self.remarks.append(f"M {name} (+{counts.added} -{counts.removed})")
        self.remarks += [f"  {remark}" for remark in remarks]

    def _take(self, where: Location, version: _Version) -> None:
        target = version.data
        if version.link and (not target or b"\n" in target or b"\0" in target):
            raise ToolError(
                f"{printable(where.display_path)} cannot lead to"
                f" {gist(target.decode(errors='replace'), 60)!r}.",
                hint="A symbolic link has one line, with `\\ No newline at end of file` below it.",
            )
        self._now[where.real] = version

    def _changed(self, old: _Version, file: FilePatch, name: str) -> tuple[_Version, list[str]]:
        """The version after a part, and remarks on how its hunks fit."""
        if (file.type or file.hunks) and old.link != (file.type == "link"):
            kinds = ("a file", "a symbolic link")
            raise ToolError(
                f"{name} is {kinds[old.link]}, and the patch changes {kinds[not old.link]}.",
                hint="Delete it first, or name what it leads to.",
            )
        executable = old.executable if file.executable is None else file.executable
        new, remarks = replace(old, executable=executable), list[str]()
        if file.binary:
            new = replace(new, data=file.binary.applied(old.data, name))
        elif file.hunks:
            stood = Snapshot(old.data, Stamp(0, len(old.data), 0), 0)
            document = text_in(stood, name, whole=True).document
            document = document.spelt() if file.spells_mark else document
            style = "git" if file.exact else self._patch.style
            text, remarks = patched(document, file, name, style=style)
            new = replace(new, data=document.encode(text))
        return new, remarks

    def _version(self, where: Location, *, before: bool) -> _Version:
        """The current version of a path, or the one ``before`` the patch. Raises ``ToolError`` if there is
        none."""
        version = None if before else self._now.get(where.real)
        if version is None and (before or where.real not in self._now):
            stood = self._stood(where)
            version = _Version.of(stood) if stood else None
        if version is None:
            raise ToolError(
                f"{printable(where.display_path)} was deleted or renamed by an earlier part of the patch.",
                hint="Put all changes of a file into one part.",
            )
        return version

    def _stood(self, where: Location) -> Snapshot | None:
        if where.real not in self._before:
            entry = self._files.stat(where)
            link = entry is not None and entry.kind == "link"
            self._before[where.real] = (
                self._files.link(where) if link else snapshot_of(self._files, where)
            )
        return self._before[where.real]

    def _begins_a_file(self, file: FilePatch, where: Location) -> bool:
        """Whether an update that only adds lines is meant for a new file."""
        only_new = bool(file.hunks) and not any(hunk.old for hunk in file.hunks)
        plain = only_new and not file.renamed and file.kind == "update"
        return plain and where.real not in self._now and self._files.stat(where) is None

    def _insist_free(self, where: Location, does: str) -> None:
        if where.real in self._now:
            occupied = self._now[where.real] is not None
        else:
            entry = None if where.real in self._leaving else self._files.stat(where)
            # A folder counts as free when the patch removes files in it; writing fails if others remain.
            empties = any(path.startswith(where.real + "/") for path in self._leaving)
            occupied = entry is not None and not (entry.kind == "directory" and empties)
        if occupied:
            raise ToolError(
                f"{printable(where.display_path)} already exists, and the patch {does}.",
                hint="Update it instead, delete it first, or choose another name.",
            )

    def _insist_direct(self, where: Location) -> None:
        """Refuse a path that leads through a link which another part of the patch removes."""
        path = posixpath.normpath(posixpath.join(where.root or "/", where.argument))
        through = [removed for removed in self._leaving if path.startswith(removed + "/")]
        if any(not where.real.startswith(removed + "/") for removed in through):
            raise ToolError(
                f"{printable(where.argument)} leads through a link that the patch takes away.",
                hint="Make two calls: one for the link, one for what comes in its place.",
            )

    def _insist_one_part(self, file: FilePatch, source: Location, target: Location) -> None:
        """In an envelope only updates may name one file twice."""
        if self._patch.style != "envelope" or (file.kind == "update" and not file.renamed):
            return
        for where in (source, target):
            if where.real in self._now:
                raise ToolError(
                    f"{printable(where.display_path)} is named by two parts of the patch.",
                    hint="Put all changes of a file into one part, or make two calls.",
                )

    # ---- the result

    def steps(self) -> list[EditStep]:
        """The steps in order: deletions, then renames, then writes."""
        moves = self._moves()
        drops: list[EditStep] = []
        puts: list[EditStep] = []
        for real, version in self._now.items():
            where = self._places[real]
            stood = self._before.get(real) if real not in moves.values() else None
            same_kind = version and stood and version.link == stat.S_ISLNK(stood.mode)
            if stood and (
                not same_kind or (version and version.link and version.data != stood.data)
            ):
                drops.append(Drop(where, stood, prune=True))
                stood = None
            base = self._before[moves[real]] if real in moves else stood
            put = _put(where, version, base) if version else None
            puts += [put] if put else []
        renames = [
            Move(self._places[source], self._places[real], prune=True)
            for real, source in moves.items()
        ]
        return [*drops, *renames, *puts]

    def _moves(self) -> dict[str, str]:
        """Files that are only renamed, to a name that no file has: the old path by the new one."""
        times = Counter(self._sources.values())
        return {
            target: source
            for target, source in self._sources.items()
            if self._now[source] is None
            and times[source] == 1
            and not target.startswith(source + "/")
            and self._files.stat(self._places[target]) is None
            and (stood := self._before[source]) is not None
            and (version := self._now[target]) is not None
            and (not version.link or version.data == stood.data)
        }

    def diffs(self) -> list[Diff]:
        """The changes of each file."""
        diffs: list[Diff] = []
        given_up = set(self._sources.values())
        for real, version in self._now.items():
            source = self._sources.get(real, real)
            stood = self._before.get(source)
            old = _Version.of(stood) if stood else None
            if (version is None and real in given_up) or (source == real and version == old):
                continue
            name = printable(self._places[source].display_path)
            diff = difference(name, old.text if old else "", version.text if version else "")
            title = (
                f"{name} -> {printable(self._places[real].display_path)}"
                if source != real
                else name
            )
            diffs.append(replace(diff, path=title))
        return diffs


def _put(where: Location, version: _Version, base: Snapshot | None) -> Put | None:
    """The write that turns the present file into this version; None if it is the same already."""
    if len(version.data) > MOST_READ:
        if base and version.data == base.data and version.executable is None:
            return None
        raise ToolError(f"{printable(where.display_path)} is too large to be patched.")
    bits = version.bits()
    if base is None:
        runs = version.executable if bits is None else None
        return Put(where, version.data, None, mode=bits, executable=runs, link=version.link)
    mode = bits if bits is not None and bits != stat.S_IMODE(base.mode) else None
    if mode is None and version.data == base.data:
        return None
    return Put(where, version.data, base, mode=mode)
