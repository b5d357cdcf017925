"""The stages of an access to a file, and of those that leave this machine: connections, fetches, servers.

Each tuple is in the order in which its stages judge.
"""

import os
import stat

from sam_tui.core.accesses import Connect, Fetch, Location, Use, Write
from sam_tui.core.authorization.network.addresses import refusal
from sam_tui.core.authorization.network.hosts import address_of, loopback, split_port
from sam_tui.core.authorization.network.services import given_away
from sam_tui.core.authorization.paths.folding import folded
from sam_tui.core.authorization.paths.places import place_of
from sam_tui.core.authorization.policy.judgement import (
    READ,
    AccessCase,
    Judgement,
    PolicyState,
    Stage,
    asked_by_rule,
    bypassed,
    denied_by_rule,
    refused_by_plan,
    rule_reason,
)

LOCAL_RULE = "local-secret:"
"""The prefix of the rule by which a command's read of a secret in the workspace is asked."""
_KERNEL = ("/proc", "/sys", "/dev")


def own_data(state: PolicyState, case: AccessCase) -> Judgement | None:
    """The program's own data: never written, read only where the person's rule says so."""
    real = case.where.real
    folder = state.own_folder(real)
    if not folder:
        return None
    opened = state.shares(real) or state.rules.unlocks(case.subject, case.now)
    if opened and not case.writes:
        return None
    return case.deny(f"protected:{folder}", f"{folder} is protected")


def secret(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Secret locations: denied until the person's own rule names them."""
    if state.secrets is None:
        return None
    what = state.secrets.find(case.where.real, inside=case.where.inside)
    if not what or state.rules.unlocks(case.subject, case.now):
        return None
    if what.startswith("/"):
        return case.deny(f"secret:{what}", f"{what} may hold secrets")
    if case.where.inside and _may_be_asked(case):
        return None
    return case.deny(f"secret:{what}", f"{case.where.real} ({what}) may hold secrets")


def _may_be_asked(case: AccessCase) -> bool:
    """Whether a later stage asks about a file that only its name makes a secret: servers and tests
    read it, a command makes it, or it is a place that is not there yet and holds nothing."""
    access = case.located.access
    if case.subject.operation == READ:
        return True
    return isinstance(access, Write) and (access.planted or _is_new_place(case.where))


def _is_new_place(where: Location) -> bool:
    """Whether a path would be a new one that later runs or instructs, such as ``.envrc``."""
    planted = where.root is not None and place_of(where.real, where.root)
    return bool(planted) and not os.path.lexists(where.real)


def special(_: PolicyState, case: AccessCase) -> Judgement | None:
    """Refuse to write to devices, pipes, sockets and the kernel's own files."""
    if not case.writes:
        return None
    real = case.where.real
    if any(real == top or real.startswith(top + "/") for top in _KERNEL):
        return case.deny("special-file", f"{real} belongs to the kernel")
    try:
        mode = os.lstat(real).st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
        return None
    return case.deny("special-file", f"{real} is a device, pipe or socket, not a file")


def planned(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Plan mode changes nothing."""
    if case.writes and state.mode == "plan":
        return refused_by_plan(case, "changing files")
    return None


def allowed_by_rule(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Allow rules."""
    rule = state.rules.permitting(case.subject, case.now)
    return case.allow(rule.id, rule_reason(rule)) if rule else None


def guarded(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Ask before a write to a file that later runs or instructs, also inside the workspace."""
    where = case.where
    if not (case.writes and where.root is not None and state.secrets is not None):
        return None
    if isinstance(case.located.access, Write) and case.located.access.planted:
        reason = f"{where.real} would later run or instruct"
    elif planted := place_of(where.real, where.root):
        reason = f"{where.real} {planted.what}"
    elif ".git" in folded(where.real[len(where.root) :]).split("/"):
        reason = f"{where.real} is git's own"
    else:
        return None
    return case.ask("guarded-file", reason, plain=False)


def local_secret(state: PolicyState, case: AccessCase) -> Judgement | None:
    """An environment file or key of the workspace that a command reads is asked for."""
    if state.secrets is None or case.subject.operation != READ or not case.where.inside:
        return None
    what = state.secrets.named(case.where.real, inside=True)
    if not what:
        return None
    return case.ask(f"{LOCAL_RULE}{what}", f"{case.where.real} ({what}) may hold secrets")


def contained(state: PolicyState, case: AccessCase) -> Judgement | None:
    """The mode's default: inside is free, outside is asked; reads outside are free where trusted."""
    where = case.where
    if where.inside and case.writes and state.mode == "ask-all":
        return case.ask("mode:ask-all", "ask-all mode asks about every change")
    if where.inside:
        return case.allow("inside-workspace", "inside the workspace")
    reason = f"{where.real} is outside the workspace"
    if case.writes:
        return case.ask("write-outside", reason)
    if not state.trusted:
        return case.ask("read-outside", reason)
    if state.secrets is not None and state.secrets.above(where.real):
        return case.ask("read-above-secrets", f"{where.real} has secrets below it", plain=False)
    return case.allow("trusted-read", "reads outside are free in a trusted folder")


PATH_STAGES: tuple[tuple[str, Stage], ...] = (
    ("hard protected", own_data),
    ("secrets", secret),
    ("special files", special),
    ("plan mode", planned),
    ("deny rules", denied_by_rule),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", allowed_by_rule),
    ("guarded files", guarded),
    ("secrets of the workspace", local_secret),
    ("mode default", contained),
)


def _connecting_in_plan(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Refuse outside connections in plan mode."""
    return refused_by_plan(case, "connecting to others") if state.mode == "plan" else None


def _unknown_listener(_: PolicyState, case: AccessCase) -> Judgement:
    """Ask about a connection to a program that could act on the command's behalf."""
    host = case.subject.host
    address = address_of(host) if host else None
    if address is not None and (why := refusal(address)):
        return case.ask("connect-outside", f"{host} is not a public address: {why}")
    gives = given_away(case.target)
    why = "the program that listens there runs outside the sandbox"
    return case.ask("connect-outside", f"{why}: {gives}" if gives else why)


def _own_server(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Connecting to a server that a command of this program started is allowed."""
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
"""The stages for a Unix socket with a path: rules for writes to the path apply too."""
NETWORK_STAGES: tuple[tuple[str, Stage], ...] = (*_ALIKE, ("own servers", _own_server), _DEFAULT)
"""The stages for a host, an abstract socket, or the network as a whole."""


def _refused_url(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Deny addresses that the URL guard refuses under any rule."""
    access = case.located.access
    assert isinstance(access, Fetch)
    why = "" if access.configured else state.url_refusal(access.url)
    return case.deny("not-public", why) if why else None


def _public_web(_: PolicyState, case: AccessCase) -> Judgement:
    """The addresses of a name are judged where it is resolved and used."""
    reason = "nothing forbids it; every address of the name is judged before the connection"
    return case.allow("public-web", reason)


def _fetch_allowed_by_rule(state: PolicyState, case: AccessCase) -> Judgement | None:
    rule = state.rules.permitting(case.subject, case.now)
    return case.allow(rule.id, f"{rule.layer} policy: {rule.words}") if rule else None


FETCH_STAGES: tuple[tuple[str, Stage], ...] = (
    ("URL guard", _refused_url),
    ("deny rules", denied_by_rule),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", _fetch_allowed_by_rule),
    ("mode default", _public_web),
)


def _used_in_plan(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Refuse tools without a rule in plan mode. A server that calls its tools read-only is not believed."""
    if state.mode != "plan" or state.rules.permitting(case.subject, case.now) is not None:
        return None
    return refused_by_plan(case, "using tools of servers")


def _foreign_tool(_: PolicyState, case: AccessCase) -> Judgement:
    """Ask about a tool of an MCP server: the guard cannot see what the server does with the call."""
    access = case.located.access
    assert isinstance(access, Use)
    if access.destructive:
        return case.ask(
            "destructive-tool",
            f"the server {access.server} calls this tool destructive: only a rule or grant for exactly "
            "this tool allows it without a question",
        )
    return case.ask(
        "server-tool", f"what the server {access.server} does with it cannot be observed"
    )


USE_STAGES: tuple[tuple[str, Stage], ...] = (
    ("deny rules", denied_by_rule),
    ("plan mode", _used_in_plan),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("allow rules", allowed_by_rule),
    ("mode default", _foreign_tool),
)
