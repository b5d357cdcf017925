"""The MCP servers of a runtime, from its files and options."""

import os
from typing import TYPE_CHECKING

from sam_tui.adapters.mcp_client.servers.guarded_servers import GuardedServers
from sam_tui.adapters.mcp_client.servers.server_files import ServerFiles
from sam_tui.assembly.models import Providers
from sam_tui.core.inquiries import Inquiries

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.connection_context import ServerSurroundings
    from sam_tui.core.agent.drivers.sampling import Sampler
    from sam_tui.core.tooling.executor import Executor


def make_servers(
    parts: Providers, executor: "Executor", inquiries: Inquiries, sampler: "Sampler | None"
) -> GuardedServers:
    """The servers. Raises ``ConfigurationError`` for a file of ``--mcp-config`` that cannot be used."""
    configuration = parts.configuration
    options, folders = configuration.options, configuration.folders
    files = ServerFiles(
        options.mcp_config,
        options.strict_mcp_config,
        options.client_servers,
        folders.config_dir,
        parts.workspace.root,
        parts.environ,
        configuration.trust,
        lambda: configuration.has_bundles,
        parts.bundles,
        _reserved,
    )

    def surroundings() -> "ServerSurroundings":
        from sam_tui.adapters.mcp_client.connection_context import Logins, ServerSurroundings
        from sam_tui.adapters.mcp_client.servers.admission import Admission
        from sam_tui.adapters.mcp_client.tool_descriptions import RememberedTools
        from sam_tui.adapters.web import GuardedWeb
        from sam_tui.settings.keys import PrivateTexts

        workspace = parts.workspace
        admission = Admission(
            parts.guard,
            executor,
            inquiries,
            frozenset(configuration.layers.local),
            GuardedWeb,
            parts.named_reads.of,
            workspace.root,
        )
        logins = os.path.join(folders.data_dir, "mcp-logins")
        return ServerSurroundings(
            RememberedTools(os.path.join(folders.data_dir, "mcp-tools")),
            workspace.root,
            workspace.roots,
            lambda: parts.piped,
            admission.url_guard,
            admission.admit,
            admission.ask,
            sampler and sampler.answer,
            files.believes,
            admission.confines,
            parts.clock.monotonic,
            Logins(logins, options.browse, parts.shield.learn, PrivateTexts()),
        )

    return GuardedServers(
        files,
        surroundings,
        executor.registry,
        parts.shield,
        parts.bus,
        attended=bool(options.attended),
    )


def _reserved() -> frozenset[str]:
    """The variables with keys of providers."""
    from sam_tui.adapters.terminal.processes.environment import PROVIDER_KEYS

    return PROVIDER_KEYS
