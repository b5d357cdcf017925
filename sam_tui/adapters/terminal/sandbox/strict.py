"""Strict mode: bubblewrap mounts everything read-only, hides secrets and sockets, unshares the rest."""

import os
import shutil
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ports.processes.sandbox import Network

_EMPTIED = ("/run", "/tmp", "/var/tmp")
"""Folders with sockets of other programs, which are replaced by empty ones."""
_PUT_BACK = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
"""Targets of /etc/resolv.conf, which are mounted read-only into these, so that names can be resolved."""
_ATTEMPT = ("--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "--unshare-net", "true")
_SECONDS = 20.0
"""A time limit that no working machine reaches, however busy it is."""
_working: set[str] = set()


def bubblewrap() -> str:
    """The path of bubblewrap, tried out until it has worked once.

    The reason why it fails may pass, and another ``PATH`` may lead to another program. Raises
    ``ConfigurationError`` where it is not installed or does not work.
    """
    program = shutil.which("bwrap") if sys.platform == "linux" else None
    if program is None:
        raise ConfigurationError(
            "The strict sandbox needs bubblewrap, which is not installed here.",
            hint="Install bubblewrap, or choose --sandbox default.",
        )
    if program not in _working:
        if why := _refusal(program):
            raise ConfigurationError(
                f"The strict sandbox needs bubblewrap, which does not work here: {why}.",
                hint="Choose --sandbox default.",
            )
        _working.add(program)
    return program


def _refusal(program: str) -> str:
    """The error output of bubblewrap where it does not work; empty where it does."""
    import subprocess

    from sam_tui.core.text.plain import gist

    try:
        attempt = subprocess.run(
            [program, *_ATTEMPT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {_SECONDS:g} s"
    except OSError as error:
        return str(error.strerror)
    if attempt.returncode == 0:
        return ""
    words = gist(attempt.stderr.decode(errors="replace"), 200).rstrip(".")
    return words or f"exit code {attempt.returncode}"


def strict_command(
    program: str, bounds: Bounds, network: Network, filter_descriptor: int | None
) -> tuple[str, ...]:
    """The start of a command line that runs the rest of it strictly.

    The filter is read from a descriptor that the caller passes on. The order matters: later mounts
    lie above earlier ones.
    """
    words = [
        program,
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    ]
    words += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--cap-drop", "ALL"]
    if network != "on":  # without a supervisor a list of hosts cannot be enforced
        words.append("--unshare-net")
    for folder in _EMPTIED:
        if os.path.isdir(folder) and not os.path.islink(folder):
            words += ["--tmpfs", folder]
    for path in (*_PUT_BACK, *bounds.reads.own):
        words += ["--ro-bind-try", path, path]
    for path in _reachable_sockets():
        words += ["--ro-bind-try", "/dev/null", path]
    for folder in bounds.writable:
        words += ["--bind", folder, folder]
    words += _masks(bounds.secrets)
    for path in bounds.opened:
        words += ["--ro-bind-try", path, path]
    if filter_descriptor is not None:
        words += ["--seccomp", str(filter_descriptor)]
    return (*words, "--")


def _reachable_sockets() -> list[str]:
    """The unix sockets that programs outside have bound to a path in folders that are not emptied.

    A read-only mount does not keep a command from connecting to them.
    """
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            names = {line.rstrip("\n").partition(" /")[2] for line in table}
    except OSError:
        return []
    paths = {os.path.realpath(f"/{name}") for name in names if name}
    emptied = tuple(f"{folder}/" for folder in _EMPTIED)
    return sorted(path for path in paths if not path.startswith(emptied) and _is_reachable(path))


def _is_reachable(path: str) -> bool:
    """Whether a path names a socket, in folders that this user passes without root's rights."""
    groups = {os.getegid(), *os.getgroups()}
    try:
        for folder in Path(path).parents:
            status = folder.stat()
            passes = 0o001 | (0o100 if status.st_uid == os.geteuid() else 0)
            passes |= 0o010 if status.st_gid in groups else 0
            if not status.st_mode & passes:
                return False
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _masks(secrets: Sequence[str]) -> list[str]:
    """Empty folders over secret folders, an empty device over secret files."""
    words: list[str] = []
    for secret in secrets:
        real = os.path.realpath(secret)
        if os.path.isdir(real) and real != "/":
            words += ["--tmpfs", real]
        elif os.path.exists(real):
            words += ["--ro-bind", "/dev/null", real]
    return words
