"""The stages of what leaves this machine: connections, fetches, and calls to tools of MCP servers.

Each tuple is in the order in which its stages have a say.
"""

from sam_tui.core.accesses import Connect, Fetch, Use
from sam_tui.core.authorization.network.addresses import refusal
from sam_tui.core.authorization.network.hosts import address_of, loopback, split_port
from sam_tui.core.authorization.policy.judgement import (
    AccessCase,
    Judgement,
    PolicyState,
    Stage,
    asked_by_rule,
    bypassed,
    denied_by_rule,
    refused_by_plan,
)
from sam_tui.core.authorization.policy.path_stages import allowed_by_rule, own_data, secret


def _connecting_in_plan(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Plan mode speaks to nobody outside."""
    return refused_by_plan(case, "connecting to others") if state.mode == "plan" else None


def _unknown_listener(_: PolicyState, case: AccessCase) -> Judgement:
    """Whoever listens there may do anything on the command's behalf."""
    host = case.subject.host
    address = address_of(host) if host else None
    if address is not None and (why := refusal(address)):
        return case.ask("connect-outside", f"{host} is no public address: {why}")
    return case.ask("connect-outside", "who listens there is not held by the sandbox")


def _own_server(state: PolicyState, case: AccessCase) -> Judgement | None:
    """A server that a command of this program started is held like the one that connects."""
    access = case.located.access
    host, port = split_port(access.where) if isinstance(access, Connect) else ("", None)
    if port is None or not (host == "localhost" or loopback(host)) or not state.serves(port):
        return None
    return case.allow("own-server", "a command of this program listens there")


_ALIKE: tuple[tuple[str, Stage], ...] = (
    ("plan mode", _connecting_in_plan),
    ("deny rules", denied_by_rule),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", allowed_by_rule),
)
_DEFAULT: tuple[str, Stage] = ("mode default", _unknown_listener)
SOCKET_STAGES: tuple[tuple[str, Stage], ...] = (
    ("hard protected", own_data),
    ("secrets", secret),
    *_ALIKE,
    _DEFAULT,
)
"""For a socket that stands as a file: rules for writing to its path speak of it, too."""
NETWORK_STAGES: tuple[tuple[str, Stage], ...] = (*_ALIKE, ("own servers", _own_server), _DEFAULT)
"""For a host, an abstract socket, or the network as a whole."""


def _refused_url(state: PolicyState, case: AccessCase) -> Judgement | None:
    """What the door refuses whatever anybody allowed."""
    access = case.located.access
    assert isinstance(access, Fetch)
    why = "" if access.configured else state.door(access.url)
    return case.deny("not-public", why) if why else None


def _public_web(_: PolicyState, case: AccessCase) -> Judgement:
    """The addresses of a name are judged where it is resolved and used."""
    reason = "nothing is against it; every address of a name is judged before it is connected to"
    return case.allow("public-web", reason)


def _fetch_allowed_by_rule(state: PolicyState, case: AccessCase) -> Judgement | None:
    rule = state.rules.permitting(case.subject, case.now)
    return case.allow(rule.id, f"{rule.layer} policy: {rule.words}") if rule else None


FETCH_STAGES: tuple[tuple[str, Stage], ...] = (
    ("the door", _refused_url),
    ("deny rules", denied_by_rule),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", _fetch_allowed_by_rule),
    ("mode default", _public_web),
)


def _used_in_plan(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Plan mode uses what a rule names. What a server says of its own tools counts for nothing."""
    if state.mode != "plan" or state.rules.permitting(case.subject, case.now) is not None:
        return None
    return refused_by_plan(case, "using tools of servers")


def _foreign_tool(_: PolicyState, case: AccessCase) -> Judgement:
    """Nobody here knows what the server does with a call."""
    access = case.located.access
    assert isinstance(access, Use)
    return case.ask("server-tool", f"what the server {access.server} does with it is not seen here")


USE_STAGES: tuple[tuple[str, Stage], ...] = (
    ("deny rules", denied_by_rule),
    ("plan mode", _used_in_plan),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", allowed_by_rule),
    ("mode default", _foreign_tool),
)
