"""Profiles for sandbox-exec, the sandbox of macOS. Generated and compared as text; not run here."""

import os
from collections.abc import Sequence
from itertools import chain

from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.core.authorization.network.hosts import HostEntry, loopback
from sam_tui.core.ports.processes.sandbox import HostTerms, Network

PROGRAM = "/usr/bin/sandbox-exec"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/ptmx")


def seatbelt_command(
    bounds: Bounds, network: Network, hosts: HostTerms | None = None
) -> tuple[str, ...]:
    """The start of a command line that runs the rest of it under a profile."""
    return (PROGRAM, "-p", profile(bounds, network, hosts))


def profile(bounds: Bounds, network: Network, hosts: HostTerms | None = None) -> str:
    """A profile: all reads but secrets, writes in given folders, no signals to others. Last rule wins.

    It can name no host but this machine: of a list of hosts only its servers are reached.
    """
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        *(f"(allow file-write* (subpath {_quoted(path)}))" for path in bounds.writable),
        *(f"(allow file-write-data file-ioctl (literal {_quoted(path)}))" for path in _DEVICES),
        '(allow file-write* (regex #"^/dev/(ttys[0-9]+|pty.*|fd/.*)$"))',
        "(deny signal (target others))",
        "(deny process-info* (target others))",
        "(deny mach-priv* mach-task-name)",
        "(deny appleevent-send)",
        "(deny job-creation)",
        "(deny system-privilege)",
        "(deny network-outbound (remote unix-socket))",
        *(
            f"(allow network-outbound (remote unix-socket (subpath {_quoted(path)})))"
            for path in bounds.writable
        ),
    ]
    if network != "on":
        lines += ["(deny network* (remote ip))", "(deny network-bind (local ip))"]
    if network == "hosts":
        lines += _local_servers(hosts or HostTerms())
    for secret in bounds.secrets:
        real = os.path.realpath(secret)
        lines.append(f"(deny file-read* file-write* (subpath {_quoted(real)}))")
    for path in bounds.opened:
        lines.append(f"(allow file-read* (subpath {_quoted(os.path.realpath(path))}))")
    return "\n".join(lines) + "\n"


def _local_servers(hosts: HostTerms) -> list[str]:
    """Rules for the run's own servers, and for local ports that every list of hosts names."""
    lists = [tuple(map(HostEntry.of, entries)) for entries in hosts.lists]
    named = {entry for entry in chain.from_iterable(lists) if _is_local(entry.host)}
    ports = {entry.port for entry in named if all(_stands_in(entry, x) for x in lists)}
    allowed = sorted("*" if port is None else str(port) for port in ports)
    return [
        '(allow network-bind network-inbound (local ip "localhost:*"))',
        *(f'(allow network-outbound (remote ip "localhost:{port}"))' for port in allowed),
    ]


def _is_local(host: str) -> bool:
    return host == "localhost" or loopback(host)


def _stands_in(entry: HostEntry, entries: Sequence[HostEntry]) -> bool:
    """Whether a list contains an entry; one for every port is in no list of single ports."""
    wide = (other for other in entries if other.port in (None, entry.port))
    return any(other.covers(entry.host, entry.port) for other in wide)


def _quoted(path: str) -> str:
    """Return a string of the profile language. Raises ValueError for a path that it cannot hold."""
    if "\0" in path or "\n" in path:
        raise ValueError(f"A path that no profile can name: {path!r}")
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
