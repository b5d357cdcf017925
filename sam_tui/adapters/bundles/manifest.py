"""The manifest of a bundle: its texts about itself, and the files that it names but nothing reads."""

import os
from collections.abc import Iterator, Mapping
from typing import cast

from sam_tui.adapters.bundles.content import BundleContent
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.text.json_files import json_of_file
from sam_tui.core.text.nesting import mapping_of

MANIFEST = ".claude-plugin/plugin.json"
_PLACES = {
    "agents": "agents",
    "commands": "commands",
    "hooks": "hooks/hooks.json",
    "mcpServers": ".mcp.json",
    "skills": "skills",
}
"""Keys that a manifest may have, with the only path that is read for each; servers may be a table
instead."""
_ABOUT = frozenset({
    "$schema", "author", "category", "description", "displayName", "homepage", "keywords", "license",
    "name", "repository", "strict", "tags", "version",
})  # fmt: skip
"""Keys that describe the bundle and have no effect."""


def manifest_of(content: BundleContent) -> Mapping[str, str]:
    """The texts of a bundle's manifest; none where it cannot be read."""
    try:
        table = _table(content)
    except ConfigurationError:
        return {}
    return {key: text for key, text in table.items() if isinstance(text, str)}


def _table(content: BundleContent) -> Mapping[str, object]:
    """The entries of a manifest. Raises ``ConfigurationError`` where it cannot be read."""
    file = content.files.get(MANIFEST)
    return mapping_of(json_of_file(file.data, MANIFEST)) if file is not None else {}


def unread_of(content: BundleContent) -> Iterator[str]:
    """Yield the faults of a manifest, and its entries that name a place which is not read."""
    try:
        table = _table(content)
    except ConfigurationError as fault:
        yield str(fault)
        return
    for key, value in table.items():
        path = _PLACES.get(key, "")
        if key in _ABOUT or _is_usual(key, value, path):
            continue
        why = f"only {path} is read" if path else "unknown key"
        yield f"{MANIFEST}: “{key[:80]}”: {why}"


def _is_usual(key: str, value: object, path: str) -> bool:
    """Whether a manifest names a file that is read anyway."""
    if key == "mcpServers" and isinstance(value, dict):
        return True
    named = cast("list[object]", value) if isinstance(value, list) else [value]
    return bool(path) and all(isinstance(n, str) and os.path.normpath(n) == path for n in named)
