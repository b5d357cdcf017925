"""The guard of a runtime, from its files and options."""

from sam_tui.adapters.policy import (
    FileLedger,
    Layers,
    Places,
    SandboxTerms,
    make_policy,
    sandbox_plan,
)
from sam_tui.adapters.shell import BashParser
from sam_tui.assembly.leaves import Leaves
from sam_tui.assembly.options import Options
from sam_tui.core.authorization.grants import Grants
from sam_tui.core.authorization.guard import TIMED_SECONDS, Guard


def make_guard(leaves: Leaves, options: Options, places: Places, layers: Layers) -> Guard:
    """The guard. Whether the kernel holds commands is looked at when the first one is judged."""
    policy = make_policy(
        layers,
        places,
        leaves.workspace,
        mode=options.mode,
        sandboxed=lambda: leaves.commands.confinement.kind != "none",
        parser=BashParser(),
    )
    ledger = FileLedger(places.data_dir)
    leaves.at_close(ledger.close)
    guard = Guard(
        leaves.workspace,
        policy,
        Grants(leaves.clock, ledger),
        leaves.inquiries,
        history=leaves.storage.decisions,
        saved=layers.saved,
    )
    guard.seconds = layers.seconds or TIMED_SECONDS
    terms = layers.sandbox(SandboxTerms(options.sandbox, options.network))
    guard.network = terms.network or "on"
    leaves.sandbox_plan = lambda: sandbox_plan(terms, guard.policy, places.home)
    if terms.kind == "strict":
        leaves.sandbox  # noqa: B018 # whoever wants it strict wants nothing to begin without it
    return guard
