"""Definition files in their three places: the package, the user's settings, and the project.

``workflows/`` and ``personas/`` lie beside each other: in the package's ``bundled``, in the user's
configuration folder, and in the project's ``.sam``. Names that begin with ``_`` or ``.`` are left
out. In a project nothing outside of it is read, whatever its links say.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Literal

from sam_tui.adapters.workflows.front_matter import (
    LARGEST,
    FrontMatterFault,
    read_front_matter,
)
from sam_tui.core.bounded_files import UnusableFile, read_bounded
from sam_tui.core.errors import UsageError
from sam_tui.core.ports.workflows import DefinitionFile, Origin

PROJECT = ".sam"
MOST_FILES = 500
"""Files of one folder; a definition folder with more is not one."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS: tuple[tuple[Literal["workflow", "persona"], str], ...] = (
    ("persona", "personas"),
    ("workflow", "workflows"),
)
Stamp = tuple[int, int, int]


class DefinitionFiles:
    """The ``DefinitionSource``. A file is parsed again only when it changed."""

    def __init__(self, config_dir: str, workspace: str, *, package: str = "") -> None:
        bundled = package or str(package_files("sam_tui") / "bundled")
        self._workspace = workspace
        self._folders: tuple[tuple[Origin, str], ...] = (
            ("package", bundled),
            ("user", config_dir),
            ("project", os.path.join(workspace, PROJECT)),
        )
        self._parsed: dict[str, tuple[Stamp, DefinitionFile]] = {}

    def files(self) -> Sequence[DefinitionFile]:
        """Every workflow and persona file: package, then user, then project, each by path."""
        found: list[DefinitionFile] = []
        for origin, folder in self._folders:
            for kind, name in _KINDS:
                paths = self._paths(origin, os.path.join(folder, name))
                found.extend(self._file(origin, kind, path) for path in paths)
        return found

    def read(self, path: str) -> DefinitionFile:
        """One file as a workflow of the project."""
        return _parse("project", "workflow", os.path.abspath(os.path.expanduser(path)))

    def create(self, name: str, text: str) -> str:
        """Write a new workflow into the project. Raises ``UsageError``."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name a workflow.", hint="Use letters, digits, - and _."
            )
        folder = Path(self._workspace, PROJECT, "workflows")
        path = folder / f"{name}.md"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not self._inside(str(folder)):
                raise UsageError(f"{folder} leads out of the workspace.")
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise UsageError(f"{path} exists already.", hint="Choose another name.") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
        return str(path)

    def _paths(self, origin: Origin, folder: str) -> Iterator[str]:
        if origin == "project" and not self._inside(folder):
            return
        count = 0
        for where, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name[0] not in "_.")
            for name in sorted(names):
                path = os.path.join(where, name)
                if name[0] in "_." or not name.endswith(".md"):
                    continue
                count += 1
                if count > MOST_FILES:
                    return
                if origin != "project" or self._inside(path):
                    yield path

    def _inside(self, path: str) -> bool:
        root = os.path.realpath(self._workspace)
        real = os.path.realpath(path)
        return real == root or real.startswith(root.rstrip("/") + "/")

    def _file(
        self, origin: Origin, kind: Literal["workflow", "persona"], path: str
    ) -> DefinitionFile:
        try:
            seen = os.stat(path)
            stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        except OSError:
            stamp = (0, 0, 0)
        known = self._parsed.get(path)
        if known is None or known[0] != stamp:
            root = self._workspace if origin == "project" else ""
            known = (stamp, _parse(origin, kind, path, root=root))
            self._parsed[path] = known
        return known[1]


def _parse(
    origin: Origin, kind: Literal["workflow", "persona"], path: str, *, root: str = ""
) -> DefinitionFile:
    stem = os.path.splitext(os.path.basename(path))[0]
    try:
        raw = read_bounded(path, most=LARGEST, root=root)
    except UnusableFile as why:
        return DefinitionFile(origin, kind, path, stem, "", fault=f"the file {why}")
    sha256 = hashlib.sha256(raw).hexdigest()
    try:
        parts = read_front_matter(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return DefinitionFile(origin, kind, path, stem, sha256, fault="the file is not UTF-8")
    except FrontMatterFault as fault:
        return DefinitionFile(
            origin, kind, path, stem, sha256, fault=str(fault), fault_line=fault.line
        )
    return DefinitionFile(origin, kind, path, stem, sha256, parts.fields, parts.body, parts.lines)
