"""The guard of a runtime, from its files and options."""

from dataclasses import replace

from sam_tui.adapters.policy import FileLedger, Layers, make_policy, renewed
from sam_tui.adapters.policy.tool_settings import PackageSources
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


def make_guard(parts: Providers, inquiries: Inquiries) -> Guard:
    """The guard. Whether the kernel holds commands is looked at when the first one is judged.

    It decides anew as soon as the folder is trusted, or is so no longer.
    """
    configuration = parts.configuration
    options, folders, layers, trust = (
        configuration.options,
        configuration.folders,
        configuration.layers,
        configuration.trust,
    )

    def follow(state: TrustState) -> None:
        guard.use_policy(_policy(parts, renewed(layers, folders, trust.folder, state)))
        if state == "changed":
            parts.publish(Noticed(None, "warning", trust.withdrawal()))

    ledger = FileLedger(folders.data_dir)
    parts.at_close(ledger.close)
    asks = options.attended or options.responder is not None
    sources = PackageSources(lambda: parts.commands, parts.workspace.root, folders.home)
    terms = GuardTerms(
        layers.seconds or TIMED_SECONDS,
        configuration.sandbox_terms.network or DEFAULT_NETWORK,
        options.rehearse,
        sources.hosts if asks else no_sources,
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
    configuration = parts.configuration
    network = configuration.sandbox_terms.network or DEFAULT_NETWORK

    def watched() -> bool:
        return parts.commands.confinement.kind == "live"

    def refusal(url: str) -> str:
        return parts.online.web.refusal(url)

    def serves(port: int) -> bool:
        from sam_tui.adapters.terminal.sandbox.network.own_servers import OwnServers

        return OwnServers(parts.leaders).serves(port)

    policy = make_policy(
        layers,
        configuration.folders,
        parts.workspace,
        mode=configuration.options.mode,
        sandboxed=lambda: parts.commands.confinement.kind != "none",
        parser=BashParser(),
    )
    return replace(
        policy.with_rules(configuration.options.denied),
        unwatched=lambda: network == "hosts" and not watched(),
        url_refusal=refusal,
        serves=serves,
        watched=watched,
    )
