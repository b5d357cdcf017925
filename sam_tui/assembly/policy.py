"""The guard of a runtime, and the MCP servers that it admits, from files and options."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.adapters.mcp_client.servers.guarded_servers import GuardedServers
from sam_tui.adapters.mcp_client.servers.server_files import ServerFiles
from sam_tui.adapters.policy import FileLedger, Layers, make_policy, renewed
from sam_tui.adapters.shell import BashParser
from sam_tui.assembly.models import Providers
from sam_tui.assembly.stores import once
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.grants.source_offers import no_sources
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.authorization.request import TIMED_SECONDS, GuardTerms
from sam_tui.core.ports.policy import TrustState
from sam_tui.settings.values import number_of_variable

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.connection_context import ServerSurroundings
    from sam_tui.core.agent.drivers.sampling import Sampler


class Permissions(Providers):
    """The part of a runtime that judges."""

    @once
    def guard(self) -> Guard:
        """Decides every call; anew as soon as the folder is trusted, or is so no longer.

        Whether the kernel holds commands is looked at when the first one is judged.
        """
        options, layers, trust = self.options, self.layers, self.trust

        def follow(state: TrustState) -> None:
            guard.use_policy(self._policy(renewed(layers, self.folders, trust.folder, state)))
            if state == "changed":
                self._warn(trust.withdrawal())

        ledger = FileLedger(self.folders.data_dir)
        self.at_close.callback(ledger.close)
        asks = options.attended or options.responder is not None
        terms = GuardTerms(
            layers.seconds or TIMED_SECONDS,
            self.network,
            options.rehearse,
            (lambda: self.package_sources.hosts()) if asks else no_sources,
            self.decisions,
            layers.saved,
            self.shield,
        )
        grants = Grants(self.clock, ledger)
        guard = Guard(self.workspace, self._policy(layers), grants, self.inquiries, terms)
        trust.watch(follow)
        return guard

    def _policy(self, layers: Layers) -> Policy:
        """Return the policy of the layers, with functions that look facts up at each judgement."""

        def watched() -> bool:
            return self.commands.confinement.kind == "live"

        def refusal(url: str) -> str:
            return self.online.web.refusal(url)

        def serves(port: int) -> bool:
            from sam_tui.adapters.terminal.sandbox.network.own_servers import OwnServers

            return OwnServers(self.leaders).serves(port)

        policy = make_policy(
            layers,
            self.folders,
            self.workspace,
            mode=self.options.mode,
            sandboxed=lambda: self.commands.confinement.kind != "none",
            parser=BashParser(),
        )
        return replace(
            policy.with_rules(self.options.denied),
            unwatched=lambda: self.network == "hosts" and not watched(),
            url_refusal=refusal,
            serves=serves,
            watched=watched,
        )

    @once
    def servers(self) -> GuardedServers:
        """The MCP servers whose tools the agent may call.

        Raises ``ConfigurationError`` for a file of ``--mcp-config`` that cannot be used.
        """
        options, sampler = self.options, self._sampler
        files = ServerFiles(
            options.mcp_config,
            options.strict_mcp_config,
            options.client_servers,
            self.folders.config_dir,
            self.environ,
            self.trust,
            lambda: self.extensions.has_bundles,
            self.bundles,
            _reserved,
        )
        return GuardedServers(
            files,
            lambda: self._surroundings(files, sampler),
            self.registry,
            self.shield,
            self.bus,
            attended=bool(options.attended),
        )

    def _surroundings(self, files: ServerFiles, sampler: "Sampler | None") -> "ServerSurroundings":
        from sam_tui.adapters.mcp_client.connection_context import Logins, ServerSurroundings
        from sam_tui.adapters.mcp_client.servers.admission import Admission
        from sam_tui.adapters.mcp_client.tool_descriptions import RememberedTools
        from sam_tui.adapters.web import GuardedWeb
        from sam_tui.settings.keys import PrivateTexts

        def mask(text: str) -> str:
            masked = self.shield.mask(text)
            return masked.text if masked.count else text

        admission = Admission(
            self.guard,
            self.executor,
            self.inquiries,
            frozenset(self.layers.local),
            GuardedWeb,
            self.named_reads.of,
            self.workspace.root,
        )
        logins = os.path.join(self.folders.data_dir, "mcp-logins")
        return ServerSurroundings(
            RememberedTools(os.path.join(self.folders.data_dir, "mcp-tools")),
            self.workspace.root,
            self.workspace.roots,
            lambda: self.piped,
            admission.url_guard,
            admission.admit,
            admission.ask,
            sampler and sampler.answer,
            files.believes,
            admission.confines,
            self.clock.monotonic,
            Logins(logins, self.options.browse, self.shield.learn, PrivateTexts()),
            mask,
        )

    @property
    def _sampler(self) -> "Sampler | None":
        """Has the model answer servers; None if the person allows them no tokens."""
        tokens = int(number_of_variable(self.environ, "agent.sampling_tokens"))
        if not tokens:
            return None
        from sam_tui.core.agent.drivers.sampling import Sampler

        charge = self.conversations.add_usage
        record = self.executor.record
        return Sampler(
            self.guard, self.budgets, tokens, record=record, charge=charge, prices=self.prices()
        )


def _reserved() -> frozenset[str]:
    """The variables with keys of providers."""
    from sam_tui.adapters.terminal.processes.environment import PROVIDER_KEYS

    return PROVIDER_KEYS
