"""Definition files in their three places: the package, the user's settings, and the project.

``workflows/`` and ``personas/`` lie beside each other: in the package's ``bundled``, in the user's
configuration folder, and in the project's ``.sam``. Names that begin with ``_`` or ``.`` are left
out. In a project nothing outside of it is read, even through links, and files that the person does
not trust are named and not parsed.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files as package_files
from itertools import islice
from pathlib import Path
from typing import Literal

from sam_tui.adapters.workflows.front_matter import (
    LARGEST,
    FrontMatterFault,
    read_front_matter,
)
from sam_tui.core.errors import UsageError
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded
from sam_tui.core.ports.prompts import DefinitionFile, Origin
from sam_tui.core.workflow.definitions.model import NAME

PROJECT = ".sam"
MOST_FILES = 500
"""The most files of a folder that are read."""
Kind = Literal["workflow", "persona"]
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("persona", "personas"),
    ("workflow", "workflows"),
)
_UNTRUSTED = "not used: you have not trusted its present content; read it, then run sam-tui trust"
Stamp = tuple[int, int, int]


class DefinitionFiles:
    """The ``DefinitionSource``. A file is parsed again only when it changed.

    ``vouches`` says whether a file of the project, by its name there, has its trusted content.
    """

    def __init__(
        self,
        config_dir: str,
        workspace: str,
        *,
        vouches: Callable[[str, bytes], bool],
        package: str = "",
    ) -> None:
        bundled = package or str(package_files("sam_tui") / "bundled")
        self._workspace = workspace
        self._folders: tuple[tuple[Origin, str], ...] = (
            ("package", bundled),
            ("user", config_dir),
            ("project", os.path.join(workspace, PROJECT)),
        )
        self._vouches = vouches
        self._parsed: dict[str, tuple[str, DefinitionFile]] = {}

    def files(self) -> Sequence[DefinitionFile]:
        """Every workflow and persona file: package, then user, then project, each by path."""
        files_read: list[DefinitionFile] = []
        for origin, folder in self._folders:
            for kind, name in _KINDS:
                paths = self._paths(origin, os.path.join(folder, name))
                files_read.extend(self._file(origin, kind, path) for path in paths)
        return files_read

    def read(self, path: str) -> DefinitionFile:
        """One file as a workflow of the project."""
        return _read("project", "workflow", os.path.abspath(os.path.expanduser(path)))

    def create(self, name: str) -> str:
        """Write a workflow to start from into the project. Raises ``UsageError``."""
        if not NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name a workflow.", hint="Use letters, digits, ., - and _."
            )
        folder = Path(self._workspace, PROJECT, "workflows")
        path = folder / f"{name}.md"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not self._inside(str(folder)):
                raise UsageError(f"{folder} leads outside the workspace.")
            with path.open("x", encoding="utf-8") as file:
                file.write(_SKELETON.format(name=name))
        except FileExistsError:
            raise UsageError(f"{path} exists already.", hint="Choose another name.") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
        return str(path)

    def _paths(self, origin: Origin, folder: str) -> Iterator[str]:
        if not os.path.isdir(folder) or (origin == "project" and not self._inside(folder)):
            return
        for path in islice(_definitions(folder), MOST_FILES):
            if origin != "project" or self._inside(path):
                yield path

    def _inside(self, path: str) -> bool:
        root = os.path.realpath(self._workspace)
        real = os.path.realpath(path)
        return real == root or real.startswith(root.rstrip("/") + "/")

    def _file(self, origin: Origin, kind: Kind, path: str) -> DefinitionFile:
        if origin == "project":
            return self._of_project(kind, path)
        try:
            seen = os.stat(path)
        except OSError:
            return _read(origin, kind, path)
        return _unchanged(origin, kind, path, (seen.st_mtime_ns, seen.st_size, seen.st_ino))

    def _of_project(self, kind: Kind, path: str) -> DefinitionFile:
        """A file that anybody may have written: its bytes are read anew, and parsed if they are trusted."""
        file = _bytes_of("project", kind, path, root=self._workspace)
        if isinstance(file, DefinitionFile):
            return file
        empty, raw = file
        if not self._vouches(os.path.relpath(path, self._workspace), raw):
            return replace(empty, fault=_UNTRUSTED, trusted=False)
        cached = self._parsed.get(path)
        if cached is None or cached[0] != empty.sha256:
            cached = self._parsed[path] = (empty.sha256, _parse(empty, raw))
        return cached[1]


@lru_cache(maxsize=1024)
def _unchanged(origin: Origin, kind: Kind, path: str, stamp: Stamp) -> DefinitionFile:
    """A file of the package or of the person, which is parsed again only after a change."""
    return _read(origin, kind, path)


def _read(origin: Origin, kind: Kind, path: str) -> DefinitionFile:
    file = _bytes_of(origin, kind, path)
    return file if isinstance(file, DefinitionFile) else _parse(*file)


def _bytes_of(
    origin: Origin, kind: Kind, path: str, *, root: str = ""
) -> DefinitionFile | tuple[DefinitionFile, bytes]:
    """A definition without its values, and the file's bytes; or a definition with a fault."""
    empty = DefinitionFile(origin, kind, path, os.path.splitext(os.path.basename(path))[0], "")
    try:
        raw = read_bounded(path, most=LARGEST, root=root)
    except UnusableFile as why:
        return replace(empty, fault=f"the file {why}")
    return replace(empty, sha256=hashlib.sha256(raw).hexdigest()), raw


def _parse(empty: DefinitionFile, raw: bytes) -> DefinitionFile:
    try:
        parts = read_front_matter(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return replace(empty, fault="the file is not UTF-8")
    except FrontMatterFault as fault:
        return replace(empty, fault=str(fault), fault_line=fault.line)
    return replace(empty, fields=parts.fields, body=parts.body, lines=parts.lines)


def _definitions(folder: str) -> Iterator[str]:
    """The Markdown files below a folder in order; names that begin with _ or . are left out."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "_.")
        for name in sorted(names):
            if name[0] not in "_." and name.endswith(".md"):
                yield os.path.join(where, name)


_SKELETON = """\
---
name: {name}
description: What this workflow is for, in one sentence.
tags: []
params:
  objective: {{description: what should be achieved, required: true}}
steps:
  - id: plan
    persona: planner
    tools: [read, plan]
    prompt: |
      Work out how to achieve this, and change nothing yet: @{{params.objective}}
    output:
      type: object
      required: [summary, approach]
      properties:
        summary: {{type: string, minLength: 1}}
        approach: {{type: string, minLength: 1}}
  - id: do
    persona: coder
    needs: [plan]
    prompt: |
      Do it, as planned: @{{outputs.plan.approach}}
  - id: agree
    kind: human
    needs: [do]
    prompt: "It says: @{{outputs.do.summary}} Is that what you wanted?"
    guards:
      - {{value: "@{{output.approved}}", is: equals, to: true, message: the person does not agree}}
    on_fail: rollback:do
---

What every step should know goes here.
"""
