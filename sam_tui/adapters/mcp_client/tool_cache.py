"""The tools that each server listed last, so that a message need not wait for the server's start."""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool
from sam_tui.core.local_files.private_files import replace_file

MOST_BYTES, MOST_FILES = 4_000_000, 100
_APPROVED = "approved-"


@dataclass(frozen=True, slots=True)
class RememberedTools:
    """One file for each server in a private folder, named by a hash of its settings without secrets."""

    folder: str

    def recall(self, settings: ServerSettings) -> list[RawTool] | None:
        """The last list of a server of exactly these settings; None if none is stored."""
        try:
            with open(self._path(settings), "rb") as file:
                data = file.read(MOST_BYTES + 1)
            rows = json.loads(data) if len(data) <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(rows, list):
            return None
        return [
            _tool(cast("dict[str, object]", row))
            for row in cast("list[object]", rows)
            if isinstance(row, dict)
        ]

    def keep(self, settings: ServerSettings, tools: Sequence[RawTool]) -> None:
        """Store a list. A failure to write is ignored: the next start waits instead."""
        text = json.dumps([asdict(tool) for tool in tools], ensure_ascii=False)
        self._write(self._path(settings), text)

    def approved(self, settings: ServerSettings) -> dict[str, str]:
        """The digest of each tool description at its first call or its last approved change.

        By the server's name for it; a digest of what the model is told. A server is who the same file
        gives the same name, whatever else that file says of it by now: so are its permissions.
        """
        try:
            with open(self._approved_path(settings), "rb") as file:
                rows: Any = json.loads(file.read(MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        rows_by_tool = cast("dict[object, object]", rows) if isinstance(rows, dict) else {}
        return {str(tool): str(digest) for tool, digest in rows_by_tool.items()}

    def approve(self, settings: ServerSettings, digests: dict[str, str]) -> None:
        """Store the digests of the tool descriptions that the person approved."""
        self._write(self._approved_path(settings), json.dumps(digests))

    def _approved_path(self, settings: ServerSettings) -> str:
        digest = hashlib.sha256(json.dumps([settings.name, settings.file]).encode()).hexdigest()
        return os.path.join(self.folder, f"{_APPROVED}{digest[:32]}.json")

    def _write(self, path: str, text: str) -> None:
        with contextlib.suppress(OSError, UnicodeEncodeError):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._make_room()
            replace_file(path, text, flushed=False)

    def _path(self, settings: ServerSettings) -> str:
        named = (settings.name, settings.file, settings.summary, settings.cwd)
        names = (sorted(settings.env), sorted(settings.headers))
        digest = hashlib.sha256(json.dumps([named, names]).encode()).hexdigest()
        return os.path.join(self.folder, f"{digest[:32]}.json")

    def _make_room(self) -> None:
        """Delete the oldest files beyond the limit."""
        entries = [
            entry
            for entry in os.scandir(self.folder)
            if entry.is_file() and not entry.name.startswith(_APPROVED)
        ]
        entries.sort(key=lambda entry: entry.stat().st_mtime)
        for entry in entries[: -MOST_FILES + 1]:
            os.unlink(entry.path)


def _tool(row: dict[str, Any]) -> RawTool:
    schema = row.get("schema")
    return RawTool(
        str(row.get("name", "")),
        str(row.get("about", "")),
        cast("dict[str, Any]", schema) if isinstance(schema, dict) else {},
        str(row.get("fault", "")),
    )
