"""The manifest of a bundle: its texts about itself, and the files that it names but nothing reads."""

import os
from collections.abc import Iterator, Mapping
from typing import cast

from sam_tui.adapters.bundles.content import BundleContent
from sam_tui.core.text.nesting import json_object

MANIFEST = ".claude-plugin/plugin.json"
_PLACES = {
    "agents": "agents",
    "commands": "commands",
    "hooks": "hooks/hooks.json",
    "mcpServers": ".mcp.json",
    "skills": "skills",
}
"""What a manifest may name, and where alone it is read; servers may stand in the manifest as well."""
_ABOUT = frozenset({
    "$schema", "author", "category", "description", "displayName", "homepage", "keywords", "license",
    "name", "repository", "strict", "tags", "version",
})  # fmt: skip
"""What of a manifest is about the bundle, and does nothing."""


def manifest_of(content: BundleContent) -> Mapping[str, str]:
    """The texts of a bundle's manifest."""
    return {key: text for key, text in _table(content).items() if isinstance(text, str)}


def _table(content: BundleContent) -> Mapping[str, object]:
    file = content.files.get(MANIFEST)
    return (json_object(file.data) if file is not None else None) or {}


def unread_of(content: BundleContent) -> Iterator[str]:
    """The entries of a manifest that are not read from the place that it names."""
    for key, value in _table(content).items():
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
