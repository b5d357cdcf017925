"""The location of a path, decided on the real path of its deepest existing ancestor, never on text.

Rules: spec/sam.md 9.1 S4 and S5. A location is computed once per call and used as it is.
"""

import ast
import errno
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sam_tui.core.errors import ToolError, WorkspaceError
from sam_tui.core.text.plain import printable

if TYPE_CHECKING:
    from sam_tui.core.accesses import Location

_LONGEST = 4096
"""The most bytes of a path: PATH_MAX on Linux. macOS allows less and refuses longer paths itself."""
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[nrt])")
_NO_NAME = re.compile(r"file:/|\$(?:HOME|PWD|TMPDIR|\{(?:HOME|PWD|TMPDIR)\})(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders that are the agent's own: real, absolute paths without a trailing slash."""

    root: str
    added: tuple[str, ...] = ()

    @classmethod
    def open(cls, folder: str, added: tuple[str, ...] = ()) -> "Workspace":
        """The workspace of a folder as typed; raises ``WorkspaceError`` when it cannot be one."""
        return cls(_real_folder(folder), tuple(_real_folder(a) for a in added))

    @property
    def roots(self) -> tuple[str, ...]:
        """All allowed folders, the workspace first."""
        return (self.root, *self.added)

    def locate(self, path: str, *, follow: bool = True) -> "Location":
        """Resolve a path as an argument gave it: ``~``, then relative to the workspace.

        With ``follow`` false a link at the very end is not followed: the location is the link.
        Raises ``ToolError`` for text that cannot be a path.
        """
        _refuse_unusable(path)
        full = self._meant(os.path.join(self.root, os.path.expanduser(path)), path)
        head, tail = os.path.split(full.rstrip("/"))
        try:
            if follow or tail in ("", ".", ".."):
                real = os.path.realpath(full)
            else:
                real = os.path.join(os.path.realpath(head), tail)
        except OSError as error:
            # The kernel refuses to say where some links of /proc lead.
            raise ToolError(
                f"The target of {path} cannot be determined: {error.strerror}."
            ) from error
        _refuse_circle(real, path, follow=follow)
        # Imported here: a first frame opens a workspace and locates nothing in it.
        from sam_tui.core.accesses import Location

        return Location(path, real, self._holder(real))

    def _meant(self, full: str, path: str) -> str:
        """Return the path itself, else the existing one that results show so with escapes.

        Raises ``ToolError`` for a text that is evidently no file name, unless such a file exists.
        """
        if not (_ESCAPE.search(full) or _NO_NAME.match(path)) or os.path.lexists(full):
            return full
        unescaped = _ESCAPE.sub(lambda match: ast.literal_eval(f"'{match[0]}'"), full)
        if unescaped != full and "\0" not in unescaped and os.path.lexists(unescaped):
            return unescaped
        if path.startswith("file:"):
            plain = unquote(path.removeprefix("file://").removeprefix("file:"))
            raise ToolError(
                f"{printable(path)} is a URL.", hint=f"Give the path: {printable(plain)}"
            )
        if _NO_NAME.match(path):
            raise ToolError(
                f"{printable(path)} contains a variable; variables are not expanded here.",
                hint="Write ~ for the home folder, or the path itself.",
            )
        return full

    def _holder(self, real: str) -> str | None:
        for root in self.roots:
            if real == root or real.startswith(root if root.endswith("/") else root + "/"):
                return root
        if sys.platform == "darwin":
            return self.same_folder(real)
        return None

    def same_folder(self, real: str) -> str | None:
        """Return the root that contains a real path, by comparing the folders and not their names.

        For volumes where two spellings, of case or of accents, name one folder.
        """
        parts = Path(real).parts
        for root in self.roots:
            depth = len(Path(root).parts)
            try:
                if len(parts) >= depth and os.path.samefile(os.path.join(*parts[:depth]), root):
                    return root
            except OSError:
                continue
        return None


def _refuse_unusable(path: str) -> None:
    if not path.strip():
        raise ToolError("The path is empty.", hint="Give a path relative to the workspace.")
    if "\0" in path:
        raise ToolError("The path contains a NUL character, which file names cannot contain.")
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise ToolError("The path contains characters that file names cannot contain.") from None
    if size > _LONGEST:
        raise ToolError(f"The path is {size} bytes long; the longest possible is {_LONGEST}.")


def _refuse_circle(real: str, path: str, *, follow: bool) -> None:
    """Links that lead back to themselves leave a path that nothing can use. Raises ``ToolError``."""
    try:
        os.stat(real, follow_symlinks=follow)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ToolError(
                f"{printable(path)} cannot be used: its links lead in a circle.",
                hint="Name the file itself, or remove the link.",
            ) from error


def _real_folder(folder: str) -> str:
    if not folder or "\0" in folder:
        raise WorkspaceError(f"{folder!r} is not a folder.", hint="Name an existing folder.")
    path = Path(folder).expanduser()
    try:
        if not path.is_dir():
            what = "is not a folder" if path.exists() else "does not exist"
            raise WorkspaceError(f"{folder} {what}.", hint="Name an existing folder.")
        real = os.path.realpath(path)
        os.listdir(real)
    except OSError as error:
        raise WorkspaceError(
            f"{folder} cannot be opened: {error.strerror}.", hint="Check its permissions."
        ) from error
    return real
