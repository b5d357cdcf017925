"""The stages of a call to a tool of an MCP server, in the order in which they have a say."""

from sam_tui.core.accesses import Use
from sam_tui.core.authorization.grounds import (
    AccessCase,
    Grounds,
    Judgement,
    Stage,
    asked_by_rule,
    bypassed,
    denied_by_rule,
    refused_by_plan,
)
from sam_tui.core.authorization.path_stages import allowed_by_rule


def _planned(grounds: Grounds, case: AccessCase) -> Judgement | None:
    """Plan mode uses what a rule names. What a server says of its own tools counts for nothing."""
    if grounds.mode != "plan" or grounds.rules.permitting(case.subject, case.now) is not None:
        return None
    return refused_by_plan(case, "using tools of servers")


def _theirs(_: Grounds, case: AccessCase) -> Judgement:
    """Nobody here knows what the server does with a call."""
    access = case.located.access
    assert isinstance(access, Use)
    return case.ask("server-tool", f"what the server {access.server} does with it is not seen here")


USE_STAGES: tuple[tuple[str, Stage], ...] = (
    ("deny rules", denied_by_rule),
    ("plan mode", _planned),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", allowed_by_rule),
    ("mode default", _theirs),
)
