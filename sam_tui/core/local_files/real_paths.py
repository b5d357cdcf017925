"""Real paths of many paths at once: the folders that they share are resolved one time."""

import os


class RealPaths:
    """Resolves paths as ``os.path.realpath`` does. Folders are remembered, so keep it for one look only."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the real path; for a missing one, with its existing part resolved."""
        folder, _, name = path.rpartition("/")
        if path[:1] != "/" or name in ("", ".", ".."):
            return os.path.realpath(path)
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = os.path.realpath(folder or "/")
        resolved = f"{real.rstrip('/')}/{name}"
        return os.path.realpath(resolved) if os.path.islink(resolved) else resolved
