"""Commands, agents and rules that people write as Markdown files, in our folders and Claude Code's."""

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sam_tui.adapters.skills.folders import FileOrigin, UnusableSkill, front_matter
from sam_tui.core.authorization.trust import FolderTrust
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
from sam_tui.folders import PROJECT_DEFINITIONS

LARGEST = 65_536
"""The most bytes of a file."""
MOST = 200
"""The most files of a folder."""

_REFUSED = {"link": "is a link, and no link is followed", "other": "is not a regular file"}
"""The reasons for which entries of a kind are not read."""


@dataclass(frozen=True, slots=True)
class DefinitionSources:
    """The folders of the definitions, and the ``trust`` in the workspace's.

    ``clean`` replaces the secrets in a text.
    """

    personal: tuple[str, ...]
    """The person's folders; each contains one folder for each kind of definition."""
    files: Files
    trust: FolderTrust
    clean: Callable[[str], str]
    bundles: Callable[[], Sequence[BundleFolder]] = tuple


class FileDefinitions:
    """The ``Definitions``: files are read again after a change, the workspace's in their trusted form."""

    def __init__(self, sources: DefinitionSources) -> None:
        self._sources = sources
        self._read: Unchanged[Definition] = Unchanged()

    def listing(self, kind: DefinitionKind) -> DefinitionListing:
        """The definitions of a kind in use, the person's own first; of one name only the first, but
        every rule: nobody calls one by its name."""
        definitions: dict[str, Definition] = {}
        problems: list[FileProblem] = []
        for folder, origin in self._folders(kind):
            files, refused = self._files(folder, origin)
            problems += refused
            for file, name in files:
                try:
                    definition = self._read.get(file, partial(self._parsed, file, name, origin))
                    if kind == "rules":
                        definition = replace(definition, globs=_globs(definition.values))
                except UnusableSkill as why:
                    problems.append(FileProblem(printable(file), str(why), faulty=True))
                    continue
                key = file if kind == "rules" else definition.name
                if key in definitions:
                    why = f"{definition.name} exists already"
                    problems.append(FileProblem(printable(file), why))
                    continue
                definitions[key] = definition
        return DefinitionListing(tuple(definitions.values()), tuple(problems))

    def _folders(self, kind: DefinitionKind) -> Iterator[tuple[str, FileOrigin]]:
        sources = self._sources
        for folder in sources.personal:
            yield os.path.realpath(os.path.join(folder, kind)), FileOrigin("user")
        if (trust := sources.trust).trusted:
            project = FileOrigin("project", trust.folder, vouches=trust.vouches)
            for name in PROJECT_DEFINITIONS:
                yield os.path.join(trust.folder, name, kind), project
        for bundle in sources.bundles() if kind != "rules" else ():
            yield os.path.join(bundle.folder, kind), FileOrigin.of_bundle(bundle)

    def _files(
        self, folder: str, origin: FileOrigin
    ) -> tuple[list[tuple[str, str]], list[FileProblem]]:
        """The Markdown files of a folder and its subfolders with their names, and the refused ones."""
        listed: list[tuple[str, str]] = []
        refused: list[FileProblem] = []
        for below in ("", *self._names(folder, origin, "directory")):
            for name, kind in self._entries(os.path.join(folder, below), origin):
                stem, ending = os.path.splitext(name)
                file = os.path.join(folder, below, name)
                if stem.startswith(".") or kind == "directory":
                    continue
                if ending == ".md" and kind == "file":
                    listed.append((file, posixpath.join(below, stem).replace("/", ":")))
                elif why := _REFUSED.get(kind) if ending == ".md" or kind == "link" else None:
                    refused.append(FileProblem(printable(file), why))
        if len(listed) > MOST:
            why = f"{len(listed) - MOST} of {len(listed)} files are left out; {MOST} are read"
            refused.append(FileProblem(printable(folder), why))
        return listed[:MOST], refused

    def _names(self, folder: str, origin: FileOrigin, kind_name: str) -> list[str]:
        return [name for name, kind in self._entries(folder, origin) if kind == kind_name]

    def _entries(self, folder: str, origin: FileOrigin) -> list[tuple[str, str]]:
        """The names in a folder in order, with their kinds."""
        try:
            entries = self._sources.files.list(origin.where(folder))
        except SamError:
            return []
        return sorted((entry.name, entry.kind) for entry in entries)

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


_GLOB = re.compile(r"(?:\{[^{}]*\}|[^\s,\"'])+")
_GROUP = re.compile(r"\{[^{}]*\}")
_NO_PATTERN = re.compile(r"true|false|null|~|[-+]?[\d.]+|.*:(?:\s.*)?", re.IGNORECASE | re.DOTALL)
"""Texts that YAML reads as another type; the last one is the key of a mapping."""


def _globs(values: Mapping[str, str]) -> tuple[str, ...]:
    """The patterns at the top of a rule, as Claude Code (``paths``) or Cursor (``globs``) spell them.

    Raises ``UnusableSkill`` where they are none: a rule about some files is no rule about all.
    """
    key = "paths" if values.get("paths") or "globs" not in values else "globs"
    text = values.get(key, "")
    listed = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    globs = tuple(glob for glob in _GLOB.findall(listed) if glob != "-")
    example = f"write, for example, {key}: src/**/*.py"
    if not globs and (text or "paths" in values):
        raise UnusableSkill(f"{key} at its top names no pattern: {example}, or remove the line")
    if faulty := next(filter(_is_no_pattern, globs), ""):
        words = f"{key} at its top has {printable(faulty)}; a pattern has *, **, ? and {{a,b}}"
        raise UnusableSkill(f"{words}: {example}")
    return globs


def _is_no_pattern(text: str) -> bool:
    bare = _GROUP.sub("", text)
    return bool(_NO_PATTERN.fullmatch(text)) or any(mark in bare for mark in "{}[]")
