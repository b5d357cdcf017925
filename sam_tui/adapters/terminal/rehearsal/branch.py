"""The launcher of a rehearsed command: mounts a branch over the workspace, for that command alone.

Runs as a process of its own: ``main`` mounts, forks an init for the command's process ids, confines
and executes. Exit code 213 means that the branch could not be mounted and nothing was started.
"""

import ctypes
import dataclasses
import json
import os
import signal
import struct
import sys
from collections.abc import Sequence
from typing import Any, Literal, cast

from sam_tui import signals
from sam_tui.adapters.terminal.sandbox.kernel import landlock
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine
from sam_tui.adapters.terminal.sandbox.kernel.calls import AT_FDCWD, libc, syscall
from sam_tui.adapters.terminal.sandbox.kernel.devices import SystemLook
from sam_tui.adapters.terminal.sandbox.kernel.entry import enrolment, restrict
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import program

NOT_MOUNTED = 213
Mount = Literal["overlay", "bind", "none"]

_NEWNS, _NEWUSER, _NEWPID = 0x20000, 0x10000000, 0x20000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8
_MOUNT_SETATTR = 442
_ALL_BELOW, _READ_ONLY = 0x8000, 1
_SET_DEATH_SIGNAL = 1
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/shm")


def main() -> None:
    """Run the launcher. Its last arguments are a JSON object and the command to execute."""
    terms, words = cast("dict[str, Any]", json.loads(sys.argv[2])), sys.argv[3:]
    try:
        _branch(terms)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(NOT_MOUNTED)
    signals.keep_own()
    signals.ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    first = os.fork()
    if first == 0:
        _init(terms, words)
    _leave(os.waitpid(first, 0)[1])


def _branch(terms: dict[str, Any]) -> None:
    """Enter a mount namespace in which the branch has the workspace's path."""
    user, group = os.geteuid(), os.getegid()
    _checked(libc().unshare(_NEWNS | _NEWPID | (_NEWUSER if user else 0)), "unshare")
    if user:
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as mapping:
                mapping.write(line)
    _mount("none", "/", None, _RECURSIVE | _PRIVATE, None)
    workspace = terms["workspace"]
    if terms["mount"] == "bind":
        _mount(terms["copy"], workspace, None, _BIND, None)
    else:
        layers = ",".join(
            f"{key}={_escaped(terms[name])}"
            for key, name in (("lowerdir", "workspace"), ("upperdir", "upper"), ("workdir", "work"))
        )
        _mount("overlay", workspace, "overlay", 0, f"{layers},userxattr")
    _mount(terms["scratch"], terms["scratch"], None, _BIND, None)
    _close_outside(workspace, terms["scratch"])


def _close_outside(*writable: str) -> None:
    """Make most mounts read-only, as Landlock cannot for owners, modes, times and attributes; give the
    command its own shared memory and terminals, and hide the sockets of other programs."""
    sockets = _sockets(writable)
    _set_attributes("/", _ALL_BELOW, on=_READ_ONLY)
    for path in writable:
        _set_attributes(path, 0, off=_READ_ONLY)
    _mount("tmpfs", "/dev/shm", "tmpfs", _NOSUID | _NODEV, "mode=1777")
    _mount("devpts", "/dev/pts", "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666")
    if not os.path.islink("/dev/ptmx"):
        _mount("/dev/pts/ptmx", "/dev/ptmx", None, _BIND, None)
    for path in sockets:
        try:
            _mount("/dev/null", path, None, _BIND, None)
        except OSError:
            continue  # gone, or out of the command's reach as well


def _sockets(writable: Sequence[str]) -> list[str]:
    """The paths of other programs' sockets outside of the writable folders (proc(5), net/unix)."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as lines:
        fields = [line.rstrip("\n").split(None, 7) for line in lines]
    paths = dict.fromkeys(words[7] for words in fields if len(words) == 8)
    writable_prefixes = tuple(f"{path}/" for path in writable)
    absolute = [path for path in paths if path.startswith("/")]
    return [path for path in absolute if not os.path.realpath(path).startswith(writable_prefixes)]


def _set_attributes(path: str, flags: int, *, on: int = 0, off: int = 0) -> None:
    attributes = struct.pack("=4Q", on, off, 0, 0)
    syscall(_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes))


def _init(terms: dict[str, Any], words: list[str]) -> None:
    """Run the first process of the new process ids: all others end with it."""
    libc().prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    try:
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC, None)
    except OSError:
        pass  # the outer /proc stays: it shows more processes, which does no harm
    command = os.fork()
    if command == 0:
        _become(terms, words)
    while True:
        ended, status = os.wait()
        if ended == command:
            os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else status >> 8)


def _become(terms: dict[str, Any], words: list[str]) -> None:
    """Confine this process to the branch, and become the command."""
    try:
        os.chdir(terms["cwd"])
        writable = (terms["workspace"], terms["scratch"])
        bounds = landlock.Bounds(
            writable,
            _DEVICES,
            tuple(terms["secrets"]),
            tcp=terms["network"] == "on",
            opened=tuple(terms["opened"]),
        )
        bounds = dataclasses.replace(bounds, masked=landlock.maskable(bounds, SystemLook()))
        table = machine()
        code = (
            b"" if table is None else program(table, terms["network"], live=False, rehearsed=True)
        )
        ours, theirs = enrolment(landlock.build(landlock.abi(), bounds), code, live=False)
        theirs.close()
        restrict(ours.fileno())
        ours.close()
        os.environ.update(dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(terms["scratch"])))
        os.environ["PWD"] = terms["cwd"]
        os.execv(words[0], words)
    except OSError as error:
        sys.stderr.write(f"The rehearsal could not be started: {error}\n")
        sys.stderr.flush()
    os._exit(126)


def _leave(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    os._exit(128 - code if code < 0 else code)


def _escaped(path: str) -> str:
    """A path as an overlay option: backslash, comma and colon would end it."""
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    options = None if data is None else os.fsencode(data)
    _checked(libc().mount(*texts, flags, options), f"mount {target}")


def _checked(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)
