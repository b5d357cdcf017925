"""Commands, agents and rules that people write as Markdown files, in our folders and Claude Code's."""

import os
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sam_tui.adapters.skills.folders import UnusableSkill, front_matter
from sam_tui.core.accesses import Location
from sam_tui.core.errors import SamError
from sam_tui.core.local_files.cache import Unchanged
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.prompts import (
    Definition,
    DefinitionKind,
    DefinitionListing,
    FileProblem,
    SkillSource,
)
from sam_tui.core.text.plain import printable

LARGEST = 65_536
"""Bytes of one file."""
MOST = 200
"""Files of one folder."""


@dataclass(frozen=True, slots=True)
class DefinitionSources:
    """Where definitions lie, and whom to ask.

    ``vouches`` says whether a file of the workspace holds what was trusted, ``clean`` takes secrets
    out of a text.
    """

    personal: tuple[str, ...]
    """The person's folders, above those of a kind."""
    project: tuple[str, ...]
    """The same below the workspace, by their names in it."""
    workspace: str
    files: Files
    trusted: Callable[[], bool]
    vouches: Callable[[str, bytes], bool]
    clean: Callable[[str], str]


class FileDefinitions:
    """The ``Definitions``: files are read when they changed, the workspace's as they were trusted."""

    def __init__(self, sources: DefinitionSources) -> None:
        self._sources = sources
        self._read: Unchanged[Definition] = Unchanged()

    def listing(self, kind: DefinitionKind) -> DefinitionListing:
        """Those of a kind that count, the person's own first; of two of one name the first."""
        definitions: dict[str, Definition] = {}
        problems: list[FileProblem] = []
        for folder, source in self._folders(kind):
            for file, name in self._files(folder, source):
                try:
                    definition = self._read.get(file, partial(self._parsed, file, name, source))
                except UnusableSkill as why:
                    problems.append(FileProblem(printable(file), str(why)))
                    continue
                if definition.name in definitions:
                    why = f"{definition.name} is there already"
                    problems.append(FileProblem(printable(file), why))
                    continue
                definitions[definition.name] = definition
        return DefinitionListing(tuple(definitions.values()), tuple(problems))

    def _folders(self, kind: DefinitionKind) -> Iterator[tuple[str, SkillSource]]:
        for folder in self._sources.personal:
            yield os.path.realpath(os.path.join(folder, kind)), "user"
        if self._sources.trusted():
            for name in self._sources.project:
                yield os.path.join(self._sources.workspace, name, kind), "project"

    def _files(self, folder: str, source: SkillSource) -> list[tuple[str, str]]:
        """The Markdown files of a folder, and of the folders in it, with the names they give."""
        listed: list[tuple[str, str]] = []
        for below in ("", *self._entries(folder, source, "directory")):
            for name in self._entries(os.path.join(folder, below), source, "file"):
                stem, ending = os.path.splitext(name)
                if ending == ".md" and not stem.startswith("."):
                    listed.append((os.path.join(folder, below, name), posixpath.join(below, stem)))
        return [(file, name.replace("/", ":")) for file, name in listed[:MOST]]

    def _entries(self, folder: str, source: SkillSource, kind: str) -> list[str]:
        try:
            entries = self._sources.files.list(self._where(folder, source))
        except SamError:
            return []
        return sorted(entry.name for entry in entries if entry.kind == kind)

    def _parsed(self, file: str, name: str, source: SkillSource) -> Definition:
        try:
            data = self._sources.files.read(self._where(file, source), limit=LARGEST + 1)
        except SamError as error:
            raise UnusableSkill(f"cannot be read: {error}") from None
        if len(data) > LARGEST:
            raise UnusableSkill(f"is larger than {LARGEST // 1024} kB")
        workspace = self._sources.workspace
        if source == "project" and not self._sources.vouches(
            os.path.relpath(file, workspace), data
        ):
            raise UnusableSkill("is not what was trusted")
        try:
            text = self._sources.clean(data.decode("utf-8-sig").replace("\r\n", "\n"))
        except UnicodeDecodeError:
            raise UnusableSkill("is not UTF-8 text") from None
        values: dict[str, str] = {}
        if text.startswith("---\n"):
            values, text = front_matter(text)
        text = text.replace("\0", "").strip()
        if not text:
            raise UnusableSkill("says nothing")
        label = printable(values.get("name", "") or name).replace(" ", "-")
        about = values.get("description", "") or text.partition("\n")[0].lstrip("# ")
        return Definition(label, printable(about)[:300], text, source, file, values)

    def _where(self, path: str, source: SkillSource) -> Location:
        return Location(path, path, self._sources.workspace if source == "project" else None)
