"""Real paths of many paths at once: each folder that they share is looked at one time."""

import os
import stat

_LONGEST = 500
"""The longest path whose folders are remembered; a longer one could have too many for a recursion."""


class RealPaths:
    """Resolves paths as ``os.path.realpath`` does. Paths are remembered, so keep it for one look only."""

    def __init__(self) -> None:
        self._looked: dict[str, tuple[str, bool]] = {"/": ("/", True)}

    def of(self, path: str) -> str:
        """Return the real path; for a missing one, with its existing part resolved."""
        return self.look(path)[0]

    def look(self, path: str) -> tuple[str, bool]:
        """Return the real path, and whether something is there. Nothing is below a missing folder."""
        looked = self._looked.get(path)
        if looked is None:
            looked = self._looked[path] = self._look(path)
        return looked

    def _look(self, path: str) -> tuple[str, bool]:
        folder, _, name = path.rpartition("/")
        if path[:1] != "/" or name in ("", ".", "..") or len(path) > _LONGEST:
            return _resolved(path)
        real, exists = self._looked.get(folder) or self.look(folder or "/")
        real_path = f"{real.rstrip('/')}/{name}"
        if not exists:
            return real_path, False
        try:
            mode = os.lstat(real_path).st_mode
        except (OSError, ValueError):
            return real_path, False
        return _resolved(real_path) if stat.S_ISLNK(mode) else (real_path, True)


def _resolved(path: str) -> tuple[str, bool]:
    real = os.path.realpath(path)
    return real, os.path.lexists(real)
