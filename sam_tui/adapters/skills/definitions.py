"""Commands, agents and rules that people write as Markdown files, in our folders and Claude Code's."""

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sam_tui.adapters.skills.folders import FileOrigin, UnusableSkill, front_matter
from sam_tui.core.errors import SamError
from sam_tui.core.local_files.cache import Unchanged
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.policy import BundleFolder
from sam_tui.core.ports.prompts import (
    Definition,
    DefinitionKind,
    DefinitionListing,
    FileProblem,
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
    bundles: Callable[[], Sequence[BundleFolder]] = tuple


class FileDefinitions:
    """The ``Definitions``: files are read when they changed, the workspace's as they were trusted."""

    def __init__(self, sources: DefinitionSources) -> None:
        self._sources = sources
        self._read: Unchanged[Definition] = Unchanged()

    def listing(self, kind: DefinitionKind) -> DefinitionListing:
        """Those of a kind that count, the person's own first; of two of one name the first."""
        definitions: dict[str, Definition] = {}
        problems: list[FileProblem] = []
        for folder, origin in self._folders(kind):
            for file, name in self._files(folder, origin):
                try:
                    definition = self._read.get(file, partial(self._parsed, file, name, origin))
                except UnusableSkill as why:
                    problems.append(FileProblem(printable(file), str(why)))
                    continue
                if definition.name in definitions:
                    why = f"{definition.name} is there already"
                    problems.append(FileProblem(printable(file), why))
                    continue
                definitions[definition.name] = definition
        return DefinitionListing(tuple(definitions.values()), tuple(problems))

    def _folders(self, kind: DefinitionKind) -> Iterator[tuple[str, FileOrigin]]:
        sources = self._sources
        for folder in sources.personal:
            yield os.path.realpath(os.path.join(folder, kind)), FileOrigin("user")
        if sources.trusted():
            project = FileOrigin("project", sources.workspace, vouches=sources.vouches)
            for name in sources.project:
                yield os.path.join(sources.workspace, name, kind), project
        for bundle in sources.bundles() if kind != "rules" else ():
            yield os.path.join(bundle.folder, kind), FileOrigin.of_bundle(bundle)

    def _files(self, folder: str, origin: FileOrigin) -> list[tuple[str, str]]:
        """The Markdown files of a folder, and of the folders in it, with the names they give."""
        listed: list[tuple[str, str]] = []
        for below in ("", *self._entries(folder, origin, "directory")):
            for name in self._entries(os.path.join(folder, below), origin, "file"):
                stem, ending = os.path.splitext(name)
                if ending == ".md" and not stem.startswith("."):
                    listed.append((os.path.join(folder, below, name), posixpath.join(below, stem)))
        return [(file, name.replace("/", ":")) for file, name in listed[:MOST]]

    def _entries(self, folder: str, origin: FileOrigin, kind: str) -> list[str]:
        try:
            entries = self._sources.files.list(origin.where(folder))
        except SamError:
            return []
        return sorted(entry.name for entry in entries if entry.kind == kind)

    def _parsed(self, file: str, name: str, origin: FileOrigin) -> Definition:
        text = origin.read(self._sources.files, file, LARGEST)
        text = self._sources.clean(text.replace("\r\n", "\n"))
        values: dict[str, str] = {}
        if text.startswith("---\n"):
            values, text = front_matter(text)
        text = text.replace("\0", "").strip()
        if not text:
            raise UnusableSkill("says nothing")
        label = printable(values.get("name", "") or name).replace(" ", "-")
        about = values.get("description", "") or text.partition("\n")[0].lstrip("# ")
        about = printable(about)[:300]
        return Definition(f"{origin.prefix}{label}", about, text, origin.source, file, values)
