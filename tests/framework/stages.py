"""For every stage of the guard an access that it decides, and where such an access lies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sam_tui.core.accesses import (
    Access,
    CommandAccess,
    Connect,
    Fetch,
    LocatedAccess,
    Read,
    Type,
    Use,
    Write,
)
from sam_tui.core.authorization import outside_access
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.policy.judgement import READ
from sam_tui.core.ports.processes.sandbox import OutsideAccess

RULES = """
[[rule]]
effect = "deny"
path = "denied"
[[rule]]
effect = "ask"
path = "asked"
[[rule]]
effect = "allow"
path = "~/allowed"
[[rule]]
effect = "deny"
command = "denied"
[[rule]]
effect = "ask"
command = "asked"
[[rule]]
effect = "allow"
command = "sudo id"
exact = true
[[rule]]
effect = "deny"
host = "denied.example"
[[rule]]
effect = "ask"
host = "asked.example"
[[rule]]
effect = "allow"
host = "allowed.example"
[[rule]]
effect = "deny"
operation = "mcp__denied__*"
[[rule]]
effect = "ask"
operation = "mcp__asked__*"
[[rule]]
effect = "allow"
operation = "mcp__allowed__*"
"""
FREE: dict[str, Any] = {"sandbox": "off"}
EDITING: dict[str, Any] = {"sandbox": "off", "mode": "accept-edits"}
BLIND: dict[str, Any] = {"sandbox": "off", "network": "hosts"}


@dataclass(frozen=True)
class Row:
    """What one stage of one table decides, in a runtime with such options."""

    stages: str
    stage: str
    access: Access
    outcome: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    operation: str = ""


def rows(stages: str, *given: tuple[Any, ...]) -> list[Row]:
    """Rows of one table of stages."""
    return [Row(stages, *row) for row in given]


STAGES: list[Row] = [
    *rows(
        "files",
        ("hard protected", Write("~/settings/policy.toml", "p"), "deny"),
        ("secrets", Read("~/.ssh/id_rsa", "p"), "deny"),
        ("special files", Write("/proc/sys/x", "p"), "deny"),
        ("plan mode", Write("a", "p"), "deny", {"mode": "plan"}),
        ("deny rules", Read("denied", "p"), "deny"),
        ("bypass mode", Write("/outside", "p"), "allow", {"mode": "bypass"}),
        ("ask rules", Read("asked", "p"), "ask"),
        ("allow rules", Write("~/allowed/a", "p"), "allow"),
        ("guarded files", Write(".git/config", "p"), "ask"),
        ("secrets of the workspace", Read(".env", "p"), "ask", {}, READ),
        ("mode default", Write("a", "p"), "allow"),
        ("mode default", Write("/outside", "p"), "ask"),
    ),
    *rows(
        "commands",
        ("secrets", CommandAccess("cat ~/.ssh/id_rsa"), "deny"),
        ("plan mode", CommandAccess("touch a"), "deny", {"mode": "plan"}),
        ("plan mode", Type("s", "ls\r"), "deny", {"mode": "plan"}),
        ("deny rules", CommandAccess("ls; denied"), "deny"),
        ("bypass mode", CommandAccess("sudo rm -rf /"), "allow", {"mode": "bypass"}),
        ("ask rules", CommandAccess("asked"), "ask"),
        ("kernel sandbox", CommandAccess("cat .env"), "allow"),
        ("secrets of the workspace", CommandAccess("cat .env"), "ask", FREE),
        ("allow rules", CommandAccess("sudo id"), "allow"),
        ("command class", CommandAccess("sudo true"), "ask"),
        ("network by command", CommandAccess("curl example.org"), "ask", BLIND),
        ("kernel sandbox", CommandAccess("touch a"), "allow"),
        ("read-only commands", CommandAccess("ls"), "allow", FREE),
        ("mode default", CommandAccess("ls $(cat x"), "ask", FREE),
        ("mode default", CommandAccess("touch a"), "ask", FREE),
        ("read-only commands", CommandAccess("mkdir a"), "allow", EDITING),
        ("mode default", CommandAccess("PATH=/tmp mkdir a"), "ask", EDITING),
    ),
    *rows(
        "sockets",
        ("hard protected", Connect("{home}/settings/s"), "deny"),
        ("secrets", Connect("{home}/.gnupg/s"), "deny"),
        ("plan mode", Connect("/run/s"), "deny", {"mode": "plan"}),
        ("deny rules", Connect("{ws}/denied/s"), "deny"),
        ("bypass mode", Connect("/run/s"), "allow", {"mode": "bypass"}),
        ("ask rules", Connect("{ws}/asked/s"), "ask"),
        ("allow rules", Connect("{home}/allowed/s"), "allow"),
        ("mode default", Connect("/run/s"), "ask"),
    ),
    *rows(
        "hosts",
        ("plan mode", Connect("example.org:443"), "deny", {"mode": "plan"}),
        ("deny rules", Connect("denied.example:443"), "deny"),
        ("bypass mode", Connect("example.org:443"), "allow", {"mode": "bypass"}),
        ("ask rules", Connect("asked.example:443"), "ask"),
        ("allow rules", Connect("allowed.example:443"), "allow"),
        ("own servers", Connect("localhost:{port}"), "allow"),
        ("mode default", Connect("example.org:443"), "ask"),
    ),
    *rows(
        "addresses",
        ("URL guard", Fetch("http://127.0.0.1:9/x", "url"), "deny", {"mode": "bypass"}),
        ("deny rules", Fetch("https://denied.example", "url"), "deny"),
        ("bypass mode", Fetch("https://asked.example", "url"), "allow", {"mode": "bypass"}),
        ("ask rules", Fetch("https://asked.example", "url"), "ask"),
        ("allow rules", Fetch("https://allowed.example", "url"), "allow"),
        ("mode default", Fetch("https://example.org", "url"), "allow"),
    ),
    *rows(
        "servers",
        ("deny rules", Use("denied", "t"), "deny"),
        ("plan mode", Use("other", "t"), "deny", {"mode": "plan"}),
        ("bypass mode", Use("other", "t"), "allow", {"mode": "bypass"}),
        ("ask rules", Use("asked", "t"), "ask"),
        ("allow rules", Use("allowed", "t"), "allow"),
        ("mode default", Use("allowed", "t", destructive=True), "ask"),
        ("mode default", Use("other", "t"), "ask"),
    ),
]
"""For each table of stages and each stage in it what it decides, and how."""


LISTENS = (
    'import socket; s = socket.create_server(("127.0.0.1", 0));'
    ' open("port", "w").write(str(s.getsockname()[1])); s.accept()'
)
"""Python that listens, and writes its port to a pipe."""


def located(guard: Guard, access: Access, home: Path, port: str) -> tuple[LocatedAccess, ...]:
    """An access where it lies; what a running command wants is located on its own.

    On ``port`` a command of this program listens.
    """
    if not isinstance(access, Connect):
        return guard.locate([access])
    path = access.where.format(home=home.resolve(), ws=guard.workspace.root, port=port)
    return outside_access.located(OutsideAccess("connect", path), guard.workspace)
