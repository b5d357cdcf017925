"""The ``.env`` files of a workspace, whose values are secrets wherever they occur."""

import os
import stat
from collections.abc import Mapping

from sam_tui.core.local_files.bounded import UnusableFile, open_regular
from sam_tui.core.redaction.shield import secrets_of_env_file

_NAMES = (".env", ".envrc", *(f".env.{kind}" for kind in (
    "local", "development", "dev", "production", "prod", "staging", "test", "development.local",
    "production.local", "test.local", "secret", "secrets",
)))  # fmt: skip
_LARGEST = 1024 * 1024


class SettingsFiles:
    """The settings files directly in a folder, under their usual names."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[int, int, int]] = {}

    def changed(self) -> Mapping[str, str]:
        """The secrets of those that changed since the last call, by their names; often none."""
        values: dict[str, str] = {}
        for name in _NAMES:
            path = os.path.join(self._folder, name)
            try:
                about = os.stat(path)
            except OSError:
                continue
            mark = (about.st_ino, about.st_mtime_ns, about.st_size)
            if stat.S_ISREG(about.st_mode) and self._seen.get(name) != mark:
                self._seen[name] = mark
                values.update(secrets_of_env_file(_start_of(path)))
        return values


def _start_of(path: str) -> str:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return file.read(_LARGEST).decode(errors="replace")
    except (UnusableFile, OSError):
        return ""
