"""The stages of a connection that a confined command wants to make, in the order they have a say."""

from sam_tui.core.accesses import Connect
from sam_tui.core.authorization.addresses import refusal
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
from sam_tui.core.authorization.hosts import address_of, loopback, split_port
from sam_tui.core.authorization.path_stages import allowed_by_rule, own_data, secret


def _planned(grounds: Grounds, case: AccessCase) -> Judgement | None:
    """Plan mode speaks to nobody outside."""
    return refused_by_plan(case, "connecting to others") if grounds.mode == "plan" else None


def _outside(_: Grounds, case: AccessCase) -> Judgement:
    """Whoever listens there may do anything on the command's behalf."""
    host = case.subject.host
    address = address_of(host) if host else None
    if address is not None and (why := refusal(address)):
        return case.ask("connect-outside", f"{host} is no public address: {why}")
    return case.ask("connect-outside", "who listens there is not held by the sandbox")


def _own_server(grounds: Grounds, case: AccessCase) -> Judgement | None:
    """A server that a command of this program started is held like the one that connects."""
    access = case.located.access
    host, port = split_port(access.where) if isinstance(access, Connect) else ("", None)
    if port is None or not (host == "localhost" or loopback(host)) or not grounds.serves(port):
        return None
    return case.allow("own-server", "a command of this program listens there")


_ALIKE: tuple[tuple[str, Stage], ...] = (
    ("plan mode", _planned),
    ("deny rules", denied_by_rule),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", allowed_by_rule),
)
_DEFAULT: tuple[str, Stage] = ("mode default", _outside)
SOCKET_STAGES: tuple[tuple[str, Stage], ...] = (
    ("hard protected", own_data),
    ("secrets", secret),
    *_ALIKE,
    _DEFAULT,
)
"""For a socket that stands as a file: rules for writing to its path speak of it, too."""
NETWORK_STAGES: tuple[tuple[str, Stage], ...] = (*_ALIKE, ("own servers", _own_server), _DEFAULT)
"""For a host, an abstract socket, or the network as a whole."""
