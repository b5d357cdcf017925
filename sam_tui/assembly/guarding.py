"""The guard of a runtime, from its files and options."""

from collections.abc import Callable
from dataclasses import replace

from sam_tui.adapters.policy import (
    AppFolders,
    FileLedger,
    Layers,
    SandboxTerms,
    make_policy,
    renewed,
    sandbox_plan,
)
from sam_tui.adapters.shell import BashParser
from sam_tui.assembly.leaves import Leaves
from sam_tui.assembly.options import Options
from sam_tui.assembly.sources import PackageSources
from sam_tui.core.accesses import Location
from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS, Limits
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import TIMED_SECONDS, Guard
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.events import Noticed
from sam_tui.core.ports.policy import TrustState
from sam_tui.core.ports.processes.sandbox import DEFAULT_NETWORK
from sam_tui.core.text.plain import gist

_NAMED = 4
"""Changes that are named."""


def make_guard(
    leaves: Leaves, options: Options, folders: AppFolders, layers: Layers, trust: FolderTrust
) -> Guard:
    """The guard. Whether the kernel holds commands is looked at when the first one is judged.

    It decides anew as soon as the folder is trusted, or is so no longer.
    """

    def blind() -> bool:
        return guard.network == "hosts" and leaves.commands.confinement.kind != "live"

    def refused_at_the_door(url: str) -> str:
        return leaves.online.web.refusal(url)

    def watched() -> bool:
        return leaves.commands.confinement.kind == "live"

    def serves(port: int) -> bool:
        from sam_tui.adapters.terminal.sandbox.network.own_servers import OwnServers

        return OwnServers(leaves.leaders).serves(port)

    def policy_of(layers: Layers) -> Policy:
        policy = make_policy(
            layers,
            folders,
            leaves.workspace,
            mode=options.mode,
            sandboxed=lambda: leaves.commands.confinement.kind != "none",
            parser=BashParser(),
        )
        return replace(
            policy, unwatched=blind, door=refused_at_the_door, serves=serves, watched=watched
        )

    def follow(state: TrustState) -> None:
        guard.use_policy(policy_of(renewed(layers, folders, trust.folder, state)))
        if state == "changed":
            leaves.bus.publish(Noticed(None, "warning", _no_longer(trust)))

    ledger = FileLedger(folders.data_dir)
    leaves.at_close(ledger.close)
    guard = Guard(
        leaves.workspace,
        policy_of(layers),
        Grants(leaves.clock, ledger),
        leaves.inquiries,
        history=leaves.storage.decisions,
        saved=layers.saved,
    )
    guard.seconds = layers.seconds or TIMED_SECONDS
    terms = layers.sandbox(SandboxTerms(options.sandbox, options.network))
    guard.rehearses = options.rehearse
    leaves.restricts_reads = lambda: not guard.policy.trusted and guard.policy.mode != "bypass"
    if options.attended or options.responder is not None:
        sources = PackageSources(lambda: leaves.commands, leaves.workspace.root, folders.home)
        guard.sources = sources.hosts
    guard.network = terms.network or DEFAULT_NETWORK
    leaves.sandbox_plan = lambda: sandbox_plan(
        terms, guard.policy, folders.home, local=layers.user.local
    )
    if terms.kind == "strict":
        leaves.sandbox  # noqa: B018 # whoever wants it strict wants nothing to begin without it
    trust.watch(follow)
    leaves.sieve = lambda where: _sieve(guard, where)
    return guard


def limits_of(options: Options, layers: Layers) -> Limits:
    """What a turn may spend: as flags say, else the files. What a person set the model cannot raise."""
    turns = options.max_turns or layers.limits.max_turns
    raised = MOST_STEPS if layers.limits.raise_to is None else layers.limits.raise_to
    return Limits(
        turns or DEFAULT_STEPS,
        options.max_tokens,
        options.max_cost,
        0 if turns else min(raised, MOST_STEPS),
    )


def _no_longer(trust: FolderTrust) -> str:
    changes = trust.changes()
    listed = ", ".join(gist(change, 60) for change in changes[:_NAMED])
    more = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return f"What you trusted here changed, so it is not believed any more: {listed}{more}."


def _sieve(guard: Guard, where: Location) -> Callable[[str], bool]:
    from sam_tui.core.authorization.policy.search_filter import sieve

    return sieve(guard.policy, where)
