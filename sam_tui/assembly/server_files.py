"""Which files name MCP servers for a runtime, and which of them are believed."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from sam_tui.assembly.models import Providers
from sam_tui.assembly.options import is_inline, names_something
from sam_tui.core.errors import ConfigurationError

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client import ServerFile, ServerSettings
    from sam_tui.core.ports.policy import BundleFolder

_MANIFEST = ".claude-plugin/plugin.json"


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """The files of the command line, the person, the project and bundles."""

    parts: Providers

    def any(self) -> bool:
        """Whether there is a file that may name a server."""
        return self._bundled or any(map(names_something, self._paths()))

    def files(self) -> "list[ServerFile]":
        """All files of servers; an earlier one precedes a later one."""
        from sam_tui.adapters.mcp_client import PROJECT_FILE, ServerFile, SettingsReader
        from sam_tui.adapters.terminal.processes.environment import PROVIDER_KEYS

        environ, trust = self.parts.environ, self.parts.configuration.trust
        paths = self._paths()
        count = len(self.parts.configuration.options.mcp_config)
        flags = SettingsReader("flag", environ)
        files = [
            ServerFile("--mcp-config", flags, text=v) if is_inline(v) else ServerFile(v, flags)
            for v in paths[:count]
        ]
        if paths[count:]:
            personal, project = paths[count:]
            files.append(ServerFile(personal, SettingsReader("user", environ)))
            files.append(
                ServerFile(
                    project,
                    SettingsReader("project", environ, PROVIDER_KEYS),
                    lambda: trust.trusted,
                    lambda data: trust.look() == "trusted" and trust.vouches(PROJECT_FILE, data),
                    self.parts.workspace.root,
                )
            )
        for bundle in self.parts.bundles() if self._bundled else ():
            files += self._of_bundle(bundle)
        return files

    def require_named(self) -> None:
        """Whoever names a file wants it: what is wrong with it ends the start."""
        for file in self.files()[: len(self.parts.configuration.options.mcp_config)]:
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
        return settings.source != "project" or self.parts.configuration.trust.trusted

    @property
    def _bundled(self) -> bool:
        configuration = self.parts.configuration
        return configuration.has_bundles and not configuration.options.strict_mcp_config

    def _paths(self) -> tuple[str, ...]:
        configuration = self.parts.configuration
        named = configuration.options.mcp_config
        if configuration.options.strict_mcp_config:
            return named
        personal = os.path.join(configuration.folders.config_dir, "mcp.json")
        return (*named, personal, os.path.join(self.parts.workspace.root, ".mcp.json"))

    def _of_bundle(self, bundle: "BundleFolder") -> "Iterator[ServerFile]":
        """The files of a bundle that may name servers; they count while it does."""
        counts = partial(self._counts, bundle.folder)
        return bundle_servers(bundle, self.parts.environ, counts)

    def _counts(self, folder: str) -> bool:
        """Whether a bundle still counts, and is what was trusted."""
        return any(b.folder == folder and b.intact() for b in self.parts.bundles())


def bundle_servers(
    bundle: "BundleFolder", environ: Mapping[str, str], counts: Callable[[], bool]
) -> "Iterator[ServerFile]":
    """The files of a bundle that may name servers, as long as it ``counts``."""
    from sam_tui.adapters.mcp_client import PROJECT_FILE, ServerFile, SettingsReader
    from sam_tui.adapters.terminal.processes.environment import PROVIDER_KEYS

    variables = {**environ, "CLAUDE_PLUGIN_ROOT": bundle.folder}
    reader = SettingsReader("bundle", variables, PROVIDER_KEYS, partial(_shaped, bundle.name))
    for name in (PROJECT_FILE, _MANIFEST):
        path = os.path.join(bundle.folder, name)
        yield ServerFile(path, reader, counts, partial(bundle.vouches, name), bundle.folder)


def _shaped(bundle: str, table: dict[str, object], path: str) -> dict[str, object]:
    """The servers of a bundle, in its manifest or a file of theirs, with or without a word around them."""
    manifest = path.endswith(_MANIFEST)
    servers = table.get("mcpServers", {} if manifest else table)
    if manifest and not isinstance(servers, dict):
        return {}  # says where they stand: they are read in their usual file
    if not isinstance(servers, dict):
        raise ConfigurationError(f"{path}: mcpServers must be an object.")
    named = cast("dict[str, object]", servers)
    return {"mcpServers": {f"{bundle}-{name}": entry for name, entry in named.items()}}


def bundle_of(settings: "ServerSettings") -> str:
    """The folder of the bundle that a server belongs to."""
    folder = settings.file.removesuffix(f"/{_MANIFEST}")
    return folder if folder != settings.file else os.path.dirname(folder)
