"""Profiles for sandbox-exec, the sandbox of macOS. Generated and compared as text; not run here."""

import os

from sam_tui.adapters.terminal.sandbox.landlock import Bounds
from sam_tui.core.ports.sandbox import Network

PROGRAM = "/usr/bin/sandbox-exec"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/ptmx")


def seatbelt_command(bounds: Bounds, network: Network) -> tuple[str, ...]:
    """The start of a command line that runs the rest of it under a profile."""
    return (PROGRAM, "-p", profile(bounds, network))


def profile(bounds: Bounds, network: Network) -> str:
    """A profile: all reads but secrets, writes in given folders, no signals to others. Last rule wins."""
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
    if network == "off":
        lines += ["(deny network* (remote ip))", "(deny network-bind (local ip))"]
    for secret in bounds.secrets:
        real = os.path.realpath(secret)
        lines.append(f"(deny file-read* file-write* (subpath {_quoted(real)}))")
    for path in bounds.opened:
        lines.append(f"(allow file-read* (subpath {_quoted(os.path.realpath(path))}))")
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    """A string of the profile language. Raises ValueError for what it cannot hold."""
    if "\0" in path or "\n" in path:
        raise ValueError(f"A path that no profile can name: {path!r}")
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
