"""The guard of a runtime, and the MCP servers that it admits, from files and options."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.adapters.mcp_client.servers.guarded_servers import GuardedServers
from sam_tui.adapters.mcp_client.servers.server_files import ServerFiles
from sam_tui.adapters.policy import FileLedger, Layers, make_policy, renewed
from sam_tui.adapters.shell import BashParser
from sam_tui.assembly.models import Providers
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.grants.source_offers import no_sources
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.authorization.request import TIMED_SECONDS, GuardTerms
from sam_tui.core.events import Noticed
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.policy import TrustState
from sam_tui.core.ports.processes.sandbox import DEFAULT_NETWORK

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.connection_context import ServerSurroundings
    from sam_tui.core.agent.drivers.sampling import Sampler
    from sam_tui.core.tooling.executor import Executor


def make_guard(parts: Providers, inquiries: Inquiries) -> Guard:
    """The guard. Whether the kernel holds commands is looked at when the first one is judged.

    It decides anew as soon as the folder is trusted, or is so no longer.
    """
    options, layers, trust = parts.options, parts.layers, parts.trust

    def follow(state: TrustState) -> None:
        guard.use_policy(_policy(parts, renewed(layers, parts.folders, trust.folder, state)))
        if state == "changed":
            parts.publish(Noticed(None, "warning", trust.withdrawal()))

    ledger = FileLedger(parts.folders.data_dir)
    parts.at_close.callback(ledger.close)
    asks = options.attended or options.responder is not None

    async def sources() -> Sequence[str]:
        return await parts.package_sources.hosts()

    terms = GuardTerms(
        layers.seconds or TIMED_SECONDS,
        parts.configuration.sandbox_terms.network or DEFAULT_NETWORK,
        options.rehearse,
        sources if asks else no_sources,
        parts.decisions,
        layers.saved,
        parts.shield,
    )
    grants = Grants(parts.clock, ledger)
    guard = Guard(parts.workspace, _policy(parts, layers), grants, inquiries, terms)
    trust.watch(follow)
    return guard


def _policy(parts: Providers, layers: Layers) -> Policy:
    """What the layers say, with what is looked at when something is judged."""
    network = parts.configuration.sandbox_terms.network or DEFAULT_NETWORK

    def watched() -> bool:
        return parts.commands.confinement.kind == "live"

    def refusal(url: str) -> str:
        return parts.online.web.refusal(url)

    def serves(port: int) -> bool:
        from sam_tui.adapters.terminal.sandbox.network.own_servers import OwnServers

        return OwnServers(parts.leaders).serves(port)

    policy = make_policy(
        layers,
        parts.folders,
        parts.workspace,
        mode=parts.options.mode,
        sandboxed=lambda: parts.commands.confinement.kind != "none",
        parser=BashParser(),
    )
    return replace(
        policy.with_rules(parts.options.denied),
        unwatched=lambda: network == "hosts" and not watched(),
        url_refusal=refusal,
        serves=serves,
        watched=watched,
    )


def make_servers(
    parts: Providers, executor: "Executor", inquiries: Inquiries, sampler: "Sampler | None"
) -> GuardedServers:
    """The servers. Raises ``ConfigurationError`` for a file of ``--mcp-config`` that cannot be used."""
    options, folders, workspace = parts.options, parts.folders, parts.workspace
    files = ServerFiles(
        options.mcp_config,
        options.strict_mcp_config,
        options.client_servers,
        folders.config_dir,
        workspace.root,
        parts.environ,
        parts.trust,
        lambda: parts.extensions.has_bundles,
        parts.bundles,
        _reserved,
    )

    def surroundings() -> "ServerSurroundings":
        from sam_tui.adapters.mcp_client.connection_context import Logins, ServerSurroundings
        from sam_tui.adapters.mcp_client.servers.admission import Admission
        from sam_tui.adapters.mcp_client.tool_descriptions import RememberedTools
        from sam_tui.adapters.web import GuardedWeb
        from sam_tui.settings.keys import PrivateTexts

        def mask(text: str) -> str:
            masked = parts.shield.mask(text)
            return masked.text if masked.count else text

        admission = Admission(
            parts.guard,
            executor,
            inquiries,
            frozenset(parts.layers.local),
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
            mask,
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
