"""The session folder of seed 000: files by which agents that share no memory hand things over.

It lies in the workspace, ``iron-manus-sessions/<session>/``, so that reading it needs no grant; a
``.gitignore`` keeps it out of version control. Every path is located anew, must lie exactly where its
name says, and is opened without following links.
"""

import hashlib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sam_tui.core.accesses import Location
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import Files, FileStat
from sam_tui.core.workflow.views import WorkflowRefused

FOLDER = "iron-manus-sessions"
DAY = 86_400.0
"""Seconds after which the folder of an idle session is removed (seed 000)."""
LARGEST = 2_000_000
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HandoffFile:
    """A file of a session folder: its path in the workspace, bytes, and SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ScratchFiles:
    """A temporary file for a program: name and text."""

    name: str
    text: str


def require_session_id(identifier: str) -> str:
    """The id itself. Raises ``WorkflowRefused`` (``session_id_invalid``) before anything is done.

    It names an execution and a folder: 1 to 128 letters, digits, dashes and underscores, beginning
    with a letter or digit, and no device name of Windows.
    """
    if _SESSION.fullmatch(identifier) and not _DEVICES.fullmatch(identifier):
        return identifier
    raise WorkflowRefused(
        "session_id_invalid",
        f"{identifier[:140]!r} cannot name a session.",
        hint="Use 1 to 128 letters, digits, dashes and underscores, a letter or digit first.",
    )


class SessionFolders:
    """The session folders of one workspace."""

    def __init__(self, files: Files, workspace: Workspace) -> None:
        self._files = files
        self._workspace = workspace

    def path(self, session: str, name: str = "") -> str:
        """The path in the workspace of a session's folder, or of a file in it."""
        session = require_session_id(session)
        return f"{FOLDER}/{session}/{name}" if name else f"{FOLDER}/{session}"

    def prepare(self, session: str) -> str:
        """Make the folder and return its path."""
        self._prepare_root()
        self._files.make_directory(self._located(self.path(session)))
        return self.path(session)

    def write(self, session: str, name: str, text: str) -> HandoffFile:
        """Write a file of a session. Raises ``ToolError``."""
        data = text.encode("utf-8", "replace")
        if len(data) > LARGEST:
            raise ToolError(f"{name} is larger than {LARGEST} bytes.")
        self.prepare(session)
        path = self.path(session, _named(name))
        self._files.write(self._located(path), data, replace=True)
        return self.facts(session, name, text)

    def facts(self, session: str, name: str, text: str) -> HandoffFile:
        """Path, size and digest of a hand-off file with this text."""
        data = text.encode("utf-8", "replace")
        digest = hashlib.sha256(data).hexdigest()
        return HandoffFile(self.path(session, _named(name)), len(data), digest)

    def read(self, session: str, name: str) -> str | None:
        """The text of a file of a session, or None where there is none."""
        where = self._located(self.path(session, _named(name)))
        entry = self._files.stat(where)
        if entry is None or entry.kind != "file":
            return None
        return self._files.read(where, limit=LARGEST).decode("utf-8", "replace")

    def listed(self, session: str) -> Sequence[str]:
        """The names of a session's files."""
        where = self._located(self.path(session))
        if self._files.stat(where) is None:
            return ()
        return tuple(entry.name for entry in self._files.list(where) if entry.kind == "file")

    def restore(self, session: str, texts: Mapping[str, str]) -> None:
        """Write missing files again from the texts in the store."""
        present = set(self.listed(session))
        for name, text in texts.items():
            if _NAME.fullmatch(name) and name not in present:
                self.write(session, name, text)

    def sweep(self, idle: Callable[[FileStat], bool]) -> tuple[str, ...]:
        """Remove the folders of idle sessions; return their ids. Links and foreign names stay."""
        root = self._located(FOLDER)
        root_entry = self._files.stat(root)
        if root_entry is None or root_entry.kind != "directory":
            return ()
        removed: list[str] = []
        for entry in self._files.list(root):
            if entry.kind != "directory" or not _SESSION.fullmatch(entry.name):
                continue
            if idle(entry):
                self._remove(f"{FOLDER}/{entry.name}")
                removed.append(entry.name)
        return tuple(removed)

    def keep(self, name: str, text: str) -> HandoffFile:
        """Write a file that belongs to no session. Raises ``ToolError``."""
        data = text.encode("utf-8", "replace")
        self._prepare_root()
        self._files.write(self._located(f"{FOLDER}/{_named(name)}"), data, replace=True)
        return HandoffFile(f"{FOLDER}/{name}", len(data), hashlib.sha256(data).hexdigest())

    @contextmanager
    def scratch(self, files: Sequence[ScratchFiles]) -> Generator[None]:
        """Files of no session, for as long as the block runs."""
        paths: list[str] = []
        try:
            paths.extend(self.keep(file.name, file.text).path for file in files)
            yield
        finally:
            for path in paths:
                self._files.delete(self._located(path))

    def check(self) -> None:
        """Write a file, read it back and remove it. Raises ``ToolError``."""
        self._prepare_root()
        where = self._located(f"{FOLDER}/.check")
        data = b"a folder that can be written"
        self._files.write(where, data, replace=True)
        same = self._files.read(where, limit=len(data) + 1) == data
        self._files.delete(where)
        if not same:
            raise ToolError(f"{FOLDER} did not give back what was written.")

    def _prepare_root(self) -> None:
        """Make the folder of all sessions, with a ``.gitignore`` that keeps it out of version control."""
        self._files.make_directory(self._located(FOLDER))
        ignore = self._located(f"{FOLDER}/.gitignore")
        if self._files.stat(ignore) is None:
            self._files.write(ignore, b"*\n", replace=False)

    def _remove(self, path: str) -> None:
        """Delete a folder with its contents; a link in it is deleted, not followed."""
        where = self._located(path)
        for entry in self._files.list(where):
            inner = f"{path}/{entry.name}"
            if entry.kind == "directory":
                self._remove(inner)
            else:
                self._files.delete(self._workspace.locate(inner, follow=False))
        self._files.remove_directory(where)

    def _located(self, path: str) -> Location:
        """The location of a path of ours. Raises ``ToolError`` if a link leads elsewhere."""
        where = self._workspace.locate(path)
        if where.real != f"{self._workspace.root.rstrip('/')}/{path}":
            raise ToolError(f"{path} leads elsewhere.", hint=f"Remove the link below {FOLDER}.")
        return where


def _named(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    raise ToolError(f"{name[:140]!r} cannot name a file of a session.")
