"""What the person chose while working, such as widths and favourites: one JSON file in the data folder."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any, cast

PREFERENCES_FILE = "preferences.json"
_LARGEST = 1_000_000
"""Bytes of the file that are read at most."""


class PreferenceFile:
    """Sections by name, each a JSON object. What is no such file is read as empty."""

    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, PREFERENCES_FILE)

    def read(self, section: str) -> Mapping[str, Any]:
        """What was written there last; empty where nothing was."""
        stored = self._sections().get(section)
        return cast("Mapping[str, Any]", stored) if isinstance(stored, dict) else {}

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Keep a section in place of what it was. Raises ``OSError``."""
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        text = json.dumps({**self._sections(), section: dict(values)}, indent=1)
        draft = f"{self._path}.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            os.replace(draft, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise

    def _sections(self) -> dict[str, object]:
        try:
            with open(self._path, encoding="utf-8") as file:
                sections = json.loads(file.read(_LARGEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return cast("dict[str, object]", sections) if isinstance(sections, dict) else {}
