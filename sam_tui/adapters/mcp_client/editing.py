"""The person's own file of servers as ``sam-tui mcp add`` and ``remove`` leave it."""

import json
from collections.abc import Mapping
from typing import Any, cast

from sam_tui.adapters.mcp_client.settings import SettingsReader, table_of
from sam_tui.core.errors import ConfigurationError, UsageError


def with_server(
    data: bytes, path: str, name: str, entry: Mapping[str, Any], *, replace: bool = False
) -> str:
    """The text with one more server. What could not be read again is not written. Raises ``SamError``."""
    table, servers = _parts(data, path)
    if name in servers and not replace:
        raise UsageError(
            f"{path} names a server {name} already.", hint="--force puts this in its place."
        )
    servers[name] = dict(entry)
    text = _text(table)
    for server in SettingsReader("user", _Anything()).parse(text.encode(), path):
        if server.fault:
            raise ConfigurationError(server.fault)
    return text


def without_server(data: bytes, path: str, name: str) -> str:
    """The text without a server. Raises ``UsageError`` where it is not named."""
    table, servers = _parts(data, path)
    if name not in servers:
        names = ", ".join(sorted(servers)) or "none"
        raise UsageError(f"{path} names no server {name!r}.", hint=f"It names: {names}.")
    del servers[name]
    return _text(table)


def _parts(data: bytes, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The whole, and the servers in it. Raises ``ConfigurationError`` for a file that is damaged."""
    SettingsReader("user", _Anything()).parse(data or b"{}", path)
    table = table_of(data or b"{}", path)
    return table, cast("dict[str, Any]", table.setdefault("mcpServers", {}))


def _text(table: Mapping[str, Any]) -> str:
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"


class _Anything(dict[str, str]):
    """An environment in which every variable is set: what counts is how the file is written."""

    def get(self, key: str, default: Any = None) -> Any:
        """Something."""
        return super().get(key, default) or "set"
