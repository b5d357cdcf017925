"""The person's choices while working, such as widths and favourites, in one JSON file."""

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from sam_tui.core.local_files.bounded import UnusableFile, read_bounded

PREFERENCES_FILE = "preferences.json"
_LARGEST = 4_000_000
"""The most bytes of the file that are read; drafts take up to half of them."""


class PreferenceFile:
    """Sections by name, each a JSON object. A damaged file is read as empty."""

    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, PREFERENCES_FILE)

    def read(self, section: str) -> Mapping[str, object]:
        """The stored values of a section; empty if nothing is stored."""
        stored = self._sections().get(section)
        return cast("Mapping[str, object]", stored) if isinstance(stored, dict) else {}

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Replace a section. Raises ``ConfigurationError``."""
        from sam_tui.core.local_files.private_files import exclusive, replace_file

        with exclusive(self._path):
            text = json.dumps({**self._sections(), section: dict(values)}, indent=1)
            replace_file(self._path, text)

    def _sections(self) -> dict[str, object]:
        try:
            sections = json.loads(read_bounded(self._path, most=_LARGEST))
        except (UnusableFile, ValueError, RecursionError):
            return {}
        return cast("dict[str, object]", sections) if isinstance(sections, dict) else {}
