"""Every weakness that the specification lists of the originals, and what holds it here."""

import pytest

from tests.requirements import REQUIREMENTS

ROWS: dict[str, tuple[str, ...]] = {
    "E1 the gate is text only": (
        "workflow:gate", "workflow:gate-message", "workflow:gate-subagent", "workflow:runner-gate",
        "workflow:own-step", "ironmanus:gate",
    ),
    "E1 a wrong phase is ignored, transitions are unconditional": (
        "workflow:mismatch", "workflow:output", "workflow:vectors", "ironmanus:phase-mismatch",
    ),
    "E1 any key of a payload becomes state": (
        "workflow:output", "workflow:vectors", "ironmanus:whitelist",
    ),
    "E1 a role is chosen by parts of words": ("ironmanus:role-choice",),
    "E1 meta-prompts are cut and lead to nothing": (
        "ironmanus:meta-prompt", "ironmanus:delegation",
    ),
    "E1 what is fetched is retried, shared and cut": (
        "web:headers", "web:status", "web:tool-errors", "ironmanus:retries", "ironmanus:headers",
        "ironmanus:fetch",
    ),
    "E1 the bucket is a fixed window": ("web:allowance",),
    "E1 the list of addresses is text": (
        "web:legacy-ipv4", "web:refused-addresses", "web:rebinding", "web:redirects",
    ),
    "E1 hooks take prose for faults": ("ironmanus:review",),
    "E1 success and completion are self-reported": (
        "workflow:evidence", "workflow:lists", "workflow:tool-honest",
    ),
    "E1 rollbacks have no limit, effectiveness deadlocks": (
        "workflow:rollback-budget", "workflow:effectiveness", "workflow:vectors",
    ),
    "E1 raw template marks reach the model": ("workflow:phased", "workflow:references"),
    "E1 what is stored is lost, nobody is locked out": (
        "workflow:round-trip", "workflow:token-once", "workflow:runner-alone", "workflow:vectors",
        "workflow:prune", "ironmanus:sessions", "ironmanus:cleanup",
    ),
    "E1 foreign files are deleted, logs break the protocol": ("mcp:stdout", "mcp:endings"),
    "E1 knowledge comes from three demo addresses": (
        "ironmanus:api-task", "ironmanus:synthesis", "ironmanus:handoffs",
    ),
    "E1 scores are in no total order, the registry mixes pages with endpoints": (
        "ironmanus:api-scores", "ironmanus:api-list",
    ),
    "E1 the Python tool prints code, inputs are spliced into it": (
        "ironmanus:python", "ironmanus:python-custom",
    ),
    "E1 the health check always passes": ("ironmanus:health",),
    "E2 a fresh database cannot be made": ("workflow:migrations",),
    "E2 shipped workflows cannot start": ("workflow:bundled", "workflow:midex-form"),
    "E2 dependsOn and allowParallel are ignored": ("workflow:dag", "workflow:runner-parallel"),
    "E2 a forged token is accepted": (
        "workflow:token-refusals", "workflow:token-hash", "workflow:token-once",
        "workflow:token-attempt", "mcp:midex-refuses", "mcp:two-clients",
    ),
    "E2 a paused workflow goes on, verbs are missing": (
        "workflow:verbs", "workflow:states", "workflow:diverged",
    ),
    "E2 no retry, no loop": ("workflow:attempts",),
    "E2 a persona is looked up after the commit": ("workflow:pins", "workflow:bundled"),
    "E2 progress is unknown": ("workflow:progress",),
    "E2 artifacts cannot be read, findings cannot be changed": (
        "workflow:artifacts", "workflow:findings",
    ),
    "E2 the index keeps words that are gone": ("workflow:findings",),
    "E2 times are mixed, events are lost": ("workflow:events", "workflow:vectors"),
    "E2 faults are dumped, templates are resources, ids stay encoded": (
        "mcp:errors", "mcp:midex-refuses", "mcp:completion", "mcp:midex-shapes",
    ),
    "E2 savings are invented": ("mcp:midex-shapes", "workflow:effectiveness"),
    "E2 vanished files stay": ("workflow:sync",),
}  # fmt: skip


@pytest.mark.requirement("workflow:rows")
@pytest.mark.parametrize("row", ROWS)
def test_each_row_is_held_by_sentences_that_have_tests(row: str) -> None:
    assert [name for name in ROWS[row] if name not in REQUIREMENTS] == []
