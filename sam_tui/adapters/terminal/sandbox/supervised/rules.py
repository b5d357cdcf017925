"""What lies inside for a confined command, and where paths lead, remembered for a moment."""

import os
import time
from collections.abc import Sequence

from sam_tui.adapters.terminal.sandbox.supervised.caller import Target

_REMEMBERED_SECONDS = 1.0
_REMEMBERED_FOLDERS = 512


class Inside:
    """The folders that a command may change without anybody being asked, but for what is ``kept``."""

    def __init__(self, roots: Sequence[str], secret_paths: Sequence[str] = ()) -> None:
        self._kept = tuple(f"{path}/" for path in secret_paths)
        self._exact = frozenset(roots)
        self._beneath = tuple(f"{root.rstrip('/')}/" for root in roots)
        self._folders: dict[str, tuple[float, str]] = {}

    def holds(self, real: str) -> bool:
        """Whether a real path is one of them or lies below one."""
        if self._kept and f"{real}/".startswith(self._kept):
            return False
        return real.startswith(self._beneath) or real in self._exact

    @property
    def keeps(self) -> bool:
        """Whether anything below them stays as it is."""
        return bool(self._kept)

    def leads(self, real: str) -> bool:
        """Whether a real path is on the way to what is kept: moved away or exchanged, it would not be."""
        return any(path.startswith(f"{real.rstrip('/')}/") for path in self._kept)

    def surely(self, target: Target, directory: int, path: str, *, follow: bool) -> bool:
        """A quick yes for a path that leads inside; False means that it has to be looked at.

        Folders are remembered for a second. A wrong yes costs a question that is not put, never a
        write: Landlock decides all that is let through on it.
        """
        absolute = target.absolute(directory, path)
        folder, _, name = absolute.rpartition("/")
        if not name or name in (".", ".."):
            return False
        real = self._folder(target, folder or "/")
        if not (real + "/").startswith(self._beneath) or real.startswith("/proc/"):
            return False
        if not follow:
            return True
        try:
            os.readlink(f"{real}/{name}")
        except OSError:
            return True
        return False

    def likely(self, target: Target, directory: int, path: str) -> str:
        """Where a path probably leads, for what is opened without links and looked at again."""
        absolute = target.absolute(directory, path)
        folder, _, name = absolute.rpartition("/")
        if not name or name in (".", ".."):
            return ""
        return f"{self._folder(target, folder or '/').rstrip('/')}/{name}"

    def _folder(self, target: Target, folder: str) -> str:
        now = time.monotonic()
        cached = self._folders.get(folder)
        if cached is not None and now < cached[0]:
            return cached[1]
        target_path = target.resolve(-1, folder, follow=True)
        if target_path.by_proc:
            return target_path.real  # means another folder for each process
        if len(self._folders) >= _REMEMBERED_FOLDERS:
            self._folders.clear()
        self._folders[folder] = (now + _REMEMBERED_SECONDS, target_path.real)
        return target_path.real
