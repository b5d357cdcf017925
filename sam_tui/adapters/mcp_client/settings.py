"""Servers that files name: ``mcpServers`` as other clients have it, read, checked and edited."""

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sam_tui.adapters.mcp_client.oauth_settings import KEYS, OAuthSettings, oauth_settings
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.local_files.bounded import MissingFile, UnusableFile, read_bounded
from sam_tui.core.ports.servers import ServerSource
from sam_tui.core.text.json_files import json_of_file

USER_FILE, PROJECT_FILE = "mcp.json", ".mcp.json"
START_SECONDS, CALL_SECONDS = 30.0, 300.0
MOST_BYTES = 1_000_000
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_COMMON = frozenset({"type", "disabled", "timeout"})
_KEYS = {
    "stdio": _COMMON | {"command", "args", "env", "cwd"},
    "http": _COMMON | {"url", "headers", "oauth"},
}
_TYPES = {"stdio": "stdio", "http": "http", "streamable-http": "http", "sse": "http"}
_TOP = ("mcpServers", "$schema")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One server of a file, variables filled in; ``fault`` says why it cannot be used.

    ``summary`` is its command line or URL as the file has it, before variables.
    """

    name: str
    source: ServerSource
    file: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    disabled: bool = False
    start_seconds: float = START_SECONDS
    call_seconds: float = CALL_SECONDS
    summary: str = ""
    fault: str = ""
    http: bool = False
    """Whether the server is reached by a URL. True also if ``url`` is empty because it is invalid."""
    sse: bool = False
    """Whether the server uses the HTTP+SSE transport of protocol revisions before 2025-03-26."""
    oauth: OAuthSettings = field(default_factory=OAuthSettings)

    @property
    def site(self) -> str:
        """``https://host:port/`` of its URL; empty for a program."""
        return _site(self.url) if self.url else ""

    @property
    def line(self) -> str:
        """The command line as a shell would quote it."""
        return shlex.join((self.command, *self.args))


def _outline(value: object) -> tuple[bool, str]:
    """Of an unusable entry: whether it names a URL, and that URL or its command line."""
    entry = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    args = cast("list[object]", entry["args"] if isinstance(entry.get("args"), list) else [])
    words = [entry.get("url", entry.get("command")), *args]
    http = "url" in entry or _TYPES.get(str(entry.get("type", ""))) == "http"
    return http, ascii(" ".join(word for word in words if isinstance(word, str)))[1:-1]


@dataclass(frozen=True, slots=True)
class SettingsReader:
    """Reads the files of one source. Variables named in ``withheld`` are not filled in.

    ``shaped`` brings a file of another form into this one.
    """

    source: ServerSource
    environ: Mapping[str, str]
    withheld: Collection[str] = ()
    shaped: Callable[[dict[str, object], str], dict[str, object]] = lambda table, _: table

    def read(self, path: str) -> tuple[ServerSettings, ...]:
        """The servers of a file; none without a file. Raises as ``parse`` does."""
        data = data_of(path)
        return () if data is None else self.parse(data, path)

    def parse(self, data: bytes, path: str) -> tuple[ServerSettings, ...]:
        """Return the servers that the text of a file names.

        Raises ``ConfigurationError``, naming the file, if it has another form; a fault of one
        server is that server's ``fault``.
        """
        table = self.shaped(table_of(data, path), path)
        for key in table:
            if key not in _TOP:
                raise ConfigurationError(
                    f"{path}: the key {_brief(key)} is not known.", hint="Known: mcpServers."
                )
        servers = table.get("mcpServers", {})
        if not isinstance(servers, dict):
            raise ConfigurationError(f"{path}: mcpServers must be an object.")
        named = cast("dict[str, object]", servers)
        return tuple(self._server(path, name, named[name]) for name in sorted(named))

    def _server(self, path: str, name: str, value: object) -> ServerSettings:
        safe = name if _NAME.fullmatch(name) else _brief(name)
        where = f"{path}: mcpServers.{safe}"
        try:
            if safe != name:
                hint = "at most 32 letters, digits, - and single _, a letter or digit first"
                raise ConfigurationError(f"{where}: a server's name is {hint}.")
            return self._checked(path, name, _object(value, where))
        except ConfigurationError as error:
            http, summary = _outline(value)
            return ServerSettings(
                safe, self.source, path, fault=str(error), http=http, summary=summary
            )

    def _checked(self, path: str, name: str, fields: Mapping[str, object]) -> ServerSettings:
        where = f"{path}: mcpServers.{name}"
        usual = "http" if "url" in fields else "stdio"
        kind = fields.get("type", usual)
        if not isinstance(kind, str) or kind not in _TYPES:
            raise ConfigurationError(f"{where}.type must be stdio, http or sse.")
        sse, kind = kind == "sse", _TYPES[kind]
        for key in fields:
            if key not in _KEYS[kind]:
                keys = ", ".join(sorted(_KEYS[kind]))
                raise ConfigurationError(
                    f"{where}: the key {_brief(key)} is not known ({kind}: {keys})."
                )
        disabled = fields.get("disabled", False)
        if not isinstance(disabled, bool):
            raise ConfigurationError(f"{where}.disabled must be true or false.")
        common = ServerSettings(
            name,
            self.source,
            path,
            disabled=disabled,
            http=kind == "http",
            sse=sse,
            start_seconds=self._patience("MCP_TIMEOUT", START_SECONDS),
            call_seconds=_seconds(fields, where)
            or self._patience("MCP_TOOL_TIMEOUT", CALL_SECONDS),
        )
        return (
            self._http(common, fields, where)
            if kind == "http"
            else self._stdio(common, fields, where)
        )

    def _patience(self, variable: str, usual: float) -> float:
        """A time limit in seconds, from a variable in milliseconds. Raises ``ConfigurationError``."""
        text = self.environ.get(variable, "")
        if text and not re.fullmatch(r"[1-9][0-9]{0,7}", text):
            raise ConfigurationError(
                f"{variable} is {_brief(text)}: write milliseconds, a whole number from 1 to 99999999."
            )
        return int(text) / 1000 if text else usual

    def _stdio(
        self, common: ServerSettings, fields: Mapping[str, object], where: str
    ) -> ServerSettings:
        command = _text(fields, "command", where)
        if command.startswith("-"):
            raise ConfigurationError(f"{where}.command must be a program.")
        args = fields.get("args", [])
        if not isinstance(args, list) or not all(
            isinstance(a, str) for a in cast("list[object]", args)
        ):
            raise ConfigurationError(f"{where}.args must be a list of texts.")
        words = cast("list[str]", args)
        cwd = _text(fields, "cwd", where) if "cwd" in fields else ""
        return replace(
            common,
            command=self._filled(command, f"{where}.command"),
            args=tuple(self._filled(word, f"{where}.args") for word in words),
            env=self._texts(fields, "env", where),
            cwd=self._filled(cwd, f"{where}.cwd"),
            summary=" ".join([command, *words]),
        )

    def _http(
        self, common: ServerSettings, fields: Mapping[str, object], where: str
    ) -> ServerSettings:
        url = _text(fields, "url", where)
        headers = self._texts(fields, "headers", where)
        if not all(f"{name}{value}".isprintable() for name, value in headers.items()):
            raise ConfigurationError(
                f"{where}.headers contain characters that headers cannot contain."
            )
        filled = self._filled(url, f"{where}.url")
        oauth = self._oauth(fields, f"{where}.oauth")
        return replace(common, url=filled, headers=headers, summary=url, oauth=oauth)

    def _oauth(self, fields: Mapping[str, object], where: str) -> OAuthSettings:
        texts = self._texts(fields, "oauth", where.removesuffix(".oauth"))
        if unknown := sorted(texts.keys() - KEYS.keys()):
            keys = ", ".join(sorted(KEYS))
            raise ConfigurationError(
                f"{where}: the key {_brief(unknown[0])} is not known ({keys})."
            )
        return oauth_settings(texts, where, names_files=self.source in ("user", "flag"))

    def _texts(self, fields: Mapping[str, object], key: str, where: str) -> dict[str, str]:
        texts: dict[str, str] = {}
        for name, value in _object(fields.get(key, {}), f"{where}.{key}").items():
            if not isinstance(value, str):
                raise ConfigurationError(f"{where}.{key}.{_brief(name)} must be a text.")
            texts[name] = value
        return {name: self._filled(text, f"{where}.{key}.{name}") for name, text in texts.items()}

    def _filled(self, text: str, where: str) -> str:
        """A text with ``${VAR}`` and ``${VAR:-default}`` replaced. Raises if a variable is not set."""

        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            if name in self.withheld:
                raise ConfigurationError(
                    f"{where}: {name} is a key of a provider, which a project's file cannot use."
                )
            replacement = self.environ.get(name) or default
            if replacement is None:
                raise ConfigurationError(f"{where}: the variable {name} is not set.")
            return replacement

        return _VARIABLE.sub(value, text)


def _site(url: str) -> str:
    """``https://host:port/`` of a URL."""
    scheme, _, remainder = url.partition("://")
    return f"{scheme}://{re.split(r'[/?#]', remainder)[0].rpartition('@')[2]}/"


def merged(files: Sequence[Sequence[ServerSettings]]) -> tuple[ServerSettings, ...]:
    """The servers of several files, sorted by name; of one name the first file's."""
    servers_by_name: dict[str, ServerSettings] = {}
    for servers in files:
        for server in servers:
            servers_by_name.setdefault(server.name, server)
    return tuple(servers_by_name[name] for name in sorted(servers_by_name))


def secrets_of(servers: Sequence[ServerSettings]) -> Iterator[tuple[str, str]]:
    """Names and values in server settings that may be secrets, for the shield to judge."""
    for server in servers:
        yield from server.env.items()
        for name, value in server.oauth.secrets.items():
            yield f"{server.name}_{name}", value
        for name, value in server.headers.items():
            scheme, _, credential = value.partition(" ")
            yield name, credential if scheme.lower() in ("bearer", "basic", "token") else value


def data_of(path: str, *, root: str = "") -> bytes | None:
    """The bytes of a file of servers, None without a file; a project's file is opened below its ``root``.

    Raises ``ConfigurationError``.
    """
    try:
        return read_bounded(path, most=MOST_BYTES, root=root)
    except MissingFile:
        return None
    except UnusableFile as why:
        raise ConfigurationError(f"{path} {why}.") from None


def table_of(data: bytes, path: str) -> dict[str, object]:
    """The JSON object of a file. Raises ``ConfigurationError``, naming the file."""
    return _object(json_of_file(data, path), path)


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where} must be an object.")
    return cast("dict[str, object]", value)


def _text(fields: Mapping[str, object], key: str, where: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ConfigurationError(f"{where}.{key} must be a text.")
    return value


def _seconds(fields: Mapping[str, object], where: str) -> float | None:
    """``timeout`` converted from milliseconds, the unit of other clients."""
    if "timeout" not in fields:
        return None
    value = fields["timeout"]
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 1 <= value <= 86_400_000
    ):
        raise ConfigurationError(f"{where}.timeout must be a number from 1 to 86400000 (ms).")
    return value / 1000


def _brief(text: str) -> str:
    """An excerpt of a name from outside, safe to show."""
    return ascii(text if len(text) <= 40 else f"{text[:40]}…")


def with_server(
    data: bytes, path: str, name: str, entry: Mapping[str, object], *, replace: bool = False
) -> str:
    """The text with one more server. Raises ``SamError`` if the result could not be read again."""
    table, servers = _parts(data, path)
    if name in servers and not replace:
        raise UsageError(f"{path} already names a server {name}.", hint="--force replaces it.")
    servers[name] = dict(entry)
    text = _toml_or_json(table)
    for server in SettingsReader("user", _Anything()).parse(text.encode(), path):
        if server.fault:
            raise ConfigurationError(server.fault)
    return text


def without_server(data: bytes, path: str, name: str) -> str:
    """The text without a server. Raises ``UsageError`` if the text does not name it."""
    table, servers = _parts(data, path)
    if name not in servers:
        names = ", ".join(sorted(servers)) or "none"
        raise UsageError(f"{path} names no server {name!r}.", hint=f"It names: {names}.")
    del servers[name]
    return _toml_or_json(table)


def _parts(data: bytes, path: str) -> tuple[dict[str, object], dict[str, object]]:
    """The whole object, and the servers in it. Raises ``ConfigurationError`` for a damaged file."""
    SettingsReader("user", _Anything()).parse(data or b"{}", path)
    table = table_of(data or b"{}", path)
    return table, cast("dict[str, object]", table.setdefault("mcpServers", {}))


def _toml_or_json(table: Mapping[str, object]) -> str:
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"


class _Anything(dict[str, str]):
    """An environment with every variable that a file could name, to check its syntax alone."""

    def get(self, key: str, default: Any = None) -> Any:
        """A value for any variable that has no default."""
        return "set" if default is None else default
