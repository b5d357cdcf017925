"""The files that name MCP servers for a runtime, and which of them are trusted."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from sam_tui.core.errors import ConfigurationError

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.pool import ServerFile
    from sam_tui.adapters.mcp_client.settings import ServerSettings
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.ports.policy import BundleFolder

_MANIFEST = ".claude-plugin/plugin.json"
_CONTEXT7 = "CONTEXT7_SERVER_URL"


def server_file(value: str) -> str:
    """A value of ``--mcp-config``: inline JSON unchanged, a path made absolute."""
    return value if _is_inline(value) else os.path.abspath(value)


def _is_inline(value: str) -> bool:
    """Whether an option holds JSON itself, and no path."""
    return value.lstrip().startswith("{")


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """The files of the command line, the person, the project and bundles.

    ``flags`` are the values of ``--mcp-config``; ``strict``: nothing else names a server. ``client``
    has the servers of a client. No server but the person's is given the variables that ``reserved``
    names.
    """

    flags: tuple[str, ...]
    strict: bool
    client: str
    config_dir: str
    environ: Mapping[str, str]
    trust: "FolderTrust"
    has_bundles: Callable[[], bool]
    bundles: "Callable[[], Sequence[BundleFolder]]"
    reserved: Callable[[], frozenset[str]]

    def any(self) -> bool:
        """Whether there is something that may name a server."""
        if self.context7 or self.client or self._bundled:
            return True
        return any(_is_inline(path) or os.path.lexists(path) for path in self._paths())

    @property
    def context7(self) -> str:
        """The address of Context7 in the environment; not where only ``flags`` count."""
        return "" if self.strict else self.environ.get(_CONTEXT7, "").strip()

    def named(self) -> "tuple[ServerSettings, ...]":
        """The servers from an environment variable (Context7) and from the client of this program."""
        from sam_tui.adapters.mcp_client.servers.documentation import named_by_variable
        from sam_tui.adapters.mcp_client.settings import SettingsReader

        named = named_by_variable(self.context7) if self.context7 else ()
        if self.client:  # the client has already filled in variables
            named += SettingsReader("client", {}).parse(self.client.encode(), "the editor")
        return named

    def files(self) -> "list[ServerFile]":
        """All files of servers; an earlier one precedes a later one."""
        from sam_tui.adapters.mcp_client.pool import ServerFile
        from sam_tui.adapters.mcp_client.settings import PROJECT_FILE, SettingsReader

        files, trust = self._named_files(), self.trust
        if not self.strict:
            personal, project = self._usual_paths()
            files.append(ServerFile(personal, SettingsReader("user", self.environ)))
            files.append(
                ServerFile(
                    project,
                    SettingsReader("project", self.environ, self.reserved()),
                    lambda: trust.trusted,
                    lambda data: trust.look() == "trusted" and trust.vouches(PROJECT_FILE, data),
                    trust.folder,
                )
            )
        for bundle in self.bundles() if self._bundled else ():
            counts = partial(self._counts, bundle.folder)
            files += bundle_servers(bundle, self.environ, self.reserved(), counts)
        return files

    def require_named(self) -> None:
        """Raise ``ConfigurationError`` for faults of files that the command line names."""
        for file in self._named_files() if self.flags else ():
            data = file.data()
            if data is None:
                why = f"There is no file {file.path}."
                raise ConfigurationError(why, hint="Check --mcp-config.")
            for server in file.reader.parse(data, file.path):
                if server.fault:
                    raise ConfigurationError(server.fault)

    def believes(self, settings: "ServerSettings") -> bool:
        """Whether what names a server is still trusted."""
        if settings.source == "bundle":
            return self._counts(bundle_of(settings))
        return settings.source != "project" or self.trust.trusted

    def _named_files(self) -> "list[ServerFile]":
        """Return the files of the command line, or JSON in place of a file."""
        from sam_tui.adapters.mcp_client.pool import ServerFile
        from sam_tui.adapters.mcp_client.settings import SettingsReader

        reader = SettingsReader("flag", self.environ)
        return [
            ServerFile("--mcp-config", reader, text=value)
            if _is_inline(value)
            else ServerFile(value, reader)
            for value in self.flags
        ]

    @property
    def _bundled(self) -> bool:
        return self.has_bundles() and not self.strict

    def _paths(self) -> tuple[str, ...]:
        return self.flags if self.strict else (*self.flags, *self._usual_paths())

    def _usual_paths(self) -> tuple[str, str]:
        """The person's file, and the project's."""
        return os.path.join(self.config_dir, "mcp.json"), os.path.join(
            self.trust.folder, ".mcp.json"
        )

    def _counts(self, folder: str) -> bool:
        """Whether a bundle is still in use, with its trusted content."""
        return any(b.folder == folder and b.intact() for b in self.bundles())


def bundle_servers(
    bundle: "BundleFolder",
    environ: Mapping[str, str],
    reserved: frozenset[str],
    counts: Callable[[], bool],
) -> "Iterator[ServerFile]":
    """The files of a bundle that may name servers, as long as it ``counts``."""
    from sam_tui.adapters.mcp_client.pool import ServerFile
    from sam_tui.adapters.mcp_client.settings import PROJECT_FILE, SettingsReader

    variables = {**environ, "CLAUDE_PLUGIN_ROOT": bundle.folder}
    reader = SettingsReader("bundle", variables, reserved, partial(_shaped, bundle.name))
    for name in (PROJECT_FILE, _MANIFEST):
        path = os.path.join(bundle.folder, name)
        yield ServerFile(path, reader, counts, partial(bundle.vouches, name), bundle.folder)


def _shaped(bundle: str, table: dict[str, object], path: str) -> dict[str, object]:
    """The servers of a bundle, in its manifest or a file of theirs, with or without a word around them."""
    manifest = path.endswith(_MANIFEST)
    servers = table.get("mcpServers", {} if manifest else table)
    if manifest and not isinstance(servers, dict):
        return {}  # a path: the servers are read from their usual file
    if not isinstance(servers, dict):
        raise ConfigurationError(f"{path}: mcpServers must be an object.")
    named = cast("dict[str, object]", servers)
    return {"mcpServers": {f"{bundle}-{name}": entry for name, entry in named.items()}}


def bundle_of(settings: "ServerSettings") -> str:
    """The folder of the bundle that a server belongs to."""
    folder = settings.file.removesuffix(f"/{_MANIFEST}")
    return folder if folder != settings.file else os.path.dirname(folder)
