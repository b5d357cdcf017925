"""Calls that change files do for a held command what they do without a sandbox. Costs 1 s of CPU.

The same calls are made in a folder of the workspace, at names of places that later run, and outside, where
the person agrees to each: results, and what is there afterwards, are those of a command that nobody holds.
"""

import json
import os
import stat
from pathlib import Path

import pytest

from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.sandbox.conftest import Run
from tests.sandbox.places_kit import Person

CALLS = r"""
import ctypes, json, os, stat, sys
libc, HERE = ctypes.CDLL(None, use_errno=True), -100
def times(*seconds):
    return (ctypes.c_long * (2 * len(seconds)))(*(n for s in seconds for n in (s, 0)))
def fresh(folder, name):
    os.mkdir(folder)
    with open(f"{folder}/{name}", "w") as file:
        file.write("# four\n")
    os.chmod(f"{folder}/{name}", 0o640)
def filled(path):
    with open(path, "w") as file:
        file.write("# b\n")
def calls(folder, name, here):
    a, b = (os.fsencode(f"{folder}/{n}") for n in (name, "b"))
    short, me = os.fsencode(name), (os.getuid(), os.getgid())
    file = lambda flags=os.O_RDWR: os.open(a, flags)
    def unnamed(name, by_path=True):
        made = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o614)
        os.write(made, b"# new\n")
        if by_path:
            return libc.linkat(HERE, b"/proc/self/fd/%d" % made, here, name, 0x400)
        return libc.linkat(made, b"", here, name, 0x1000)
    yield "chmod", lambda: libc.chmod(a, 0o600)
    yield "fchmod", lambda: libc.fchmod(file(), 0o604)
    yield "fchmodat", lambda: libc.fchmodat(here, short, 0o444, 0)
    yield "fchmodat2", lambda: libc.syscall(452, here, short, 0o755, 0)
    yield "fchmodat2 of a link", lambda: os.symlink(short, b) or libc.syscall(452, HERE, b, 0o755, 0x100)
    yield "fchmodat2 empty", lambda: libc.syscall(452, file(), b"", 0o711, 0x1000)
    yield "fchmodat2 flags", lambda: libc.syscall(452, here, short, 0o755, 7)
    yield "chown", lambda: libc.chown(a, *me)
    yield "lchown", lambda: libc.lchown(a, *me)
    yield "fchown", lambda: libc.fchown(file(), *me)
    yield "fchownat", lambda: libc.fchownat(here, short, *me, 0x100)
    yield "utimes", lambda: libc.utimes(a, times(7, 9))
    yield "utime", lambda: libc.utime(a, (ctypes.c_long * 2)(7, 9))
    yield "futimesat", lambda: libc.futimesat(here, short, times(7, 9))
    yield "utimensat", lambda: libc.utimensat(here, short, times(5, 6), 0)
    yield "utimensat of a link", lambda: os.symlink(short, b) or libc.utimensat(HERE, b, times(5, 6), 0x100)
    yield "futimens", lambda: libc.futimens(file(), times(3, 4))
    yield "truncate", lambda: libc.truncate(a, ctypes.c_long(3))
    yield "truncate longer", lambda: libc.truncate(a, ctypes.c_long(9))
    yield "ftruncate", lambda: libc.ftruncate(file(), ctypes.c_long(2))
    yield "truncate nothing", lambda: libc.truncate(b, ctypes.c_long(3))
    yield "open and cut", lambda: file(os.O_WRONLY | os.O_TRUNC)
    yield "append", lambda: os.write(file(os.O_WRONLY | os.O_APPEND), b"# x\n")
    yield "open anew", lambda: os.open(a, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    yield "make", lambda: os.open(b, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o602)
    yield "make nothing", lambda: os.open(b + b"/x", os.O_WRONLY | os.O_CREAT, 0o602)
    yield "rename", lambda: libc.rename(a, b)
    yield "rename back", lambda: (libc.rename(a, b), libc.rename(b, a))[1]
    yield "rename nothing", lambda: libc.rename(b, a)
    yield "rename into itself", lambda: libc.rename(a, a + b"/x")
    yield "renameat2 exchange", lambda: filled(b) or libc.renameat2(here, short, here, b"b", 2)
    yield "renameat2 kept", lambda: filled(b) or libc.renameat2(here, short, here, b"b", 1)
    yield "renameat2 flags", lambda: libc.renameat2(here, short, here, b"b", 64)
    yield "link", lambda: libc.link(a, b)
    yield "link again", lambda: (libc.link(a, b), libc.link(a, b))[1]
    yield "link nothing", lambda: libc.link(b, a)
    yield "linkat", lambda: libc.linkat(here, short, here, b"b", 0)
    yield "linkat flags", lambda: libc.linkat(here, short, here, b"b", 3)
    yield "name what has none", lambda: unnamed(b"b")
    yield "name it by its number", lambda: unnamed(b"b", False)
    yield "name it as that", lambda: os.unlink(a) or unnamed(short)
    yield "name it as that by its number", lambda: os.unlink(a) or unnamed(short, False)
    yield "symlink", lambda: libc.symlink(b"nowhere", b)
    yield "symlink again", lambda: libc.symlink(b"nowhere", a)
    yield "mkdir", lambda: libc.mkdir(b, 0o701)
    yield "mkdir again", lambda: libc.mkdir(a, 0o701)
    yield "rmdir", lambda: (os.mkdir(b), libc.rmdir(b))[1]
    yield "rmdir of a file", lambda: libc.rmdir(a)
    yield "fifo", lambda: libc.mkfifo(b, 0o610)
    yield "unlink", lambda: libc.unlink(a)
    yield "unlinkat", lambda: libc.unlinkat(here, short, 0)
    yield "unlink nothing", lambda: libc.unlink(b)
    yield "attribute", lambda: libc.setxattr(a, b"user.x", b"1", 1, 0)
    yield "attribute away", lambda: libc.removexattr(a, b"user.x")
    yield "missing name", lambda: libc.chmod(None, 0o600)
    yield "closed", lambda: libc.fchmod(999, 0o600)
os.umask(0o022)
told = []
for top, name in (line.split("|") for line in sys.argv[1:]):
    for number in range(len(list(calls(top, name, -1)))):
        folder = f"{top}/{number}"
        fresh(folder, name)
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        what, make = list(calls(folder, name, here))[number]
        ctypes.set_errno(0)
        try:
            result = 0 if make() >= 0 else ctypes.get_errno()
        except OSError as error:
            result = error.errno
        os.closerange(here, 900)
        told.append((folder, f"{name}: {what}", result))
print(json.dumps(told))
"""
OTHERWISE = (
    *(f".envrc: {what}" for what in ("link", "link again", "link nothing", "linkat")),
    ".envrc: renameat2 exchange",
    ".envrc: futimens",
    "out: name what has none",
    *(f"out: name it {how}" for how in ("by its number", "as that", "as that by its number")),
)
"""Hard links of places are refused, and to exchange one for something else in one step. What is written at
a place comes there with the time at which it was looked at. No file without a name gets one outside."""


def look(folder: str) -> list[object]:
    """What lies in a folder; a time counts where it was chosen."""
    shown: list[object] = []
    for path in sorted(Path(folder).iterdir()):
        status, text, leads = path.lstat(), b"", ""
        if stat.S_ISREG(status.st_mode):
            text = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            leads = os.readlink(path)
        time = status.st_mtime if status.st_mtime < 100 else "now"
        shown.append([path.name, oct(status.st_mode), status.st_nlink, time, text, leads])
    return shown


@pytest.mark.requirement("sandbox:metadata-inside")
@pytest.mark.confined("live")
async def test_calls_that_change_files_do_what_they_do_for_a_command_that_nobody_holds(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "calls.py").write_text(CALLS, "utf-8")
    told: list[CommandResult] = []
    for kind in ("held", "free"):
        places = [
            f"{workspace}/{kind}|a",
            f"{workspace}/{kind}places|.envrc",
            f"{tmp_path}/{kind}|out",
        ]
        for place in places:
            os.mkdir(place.partition("|")[0])
        words = " ".join(f"'{place}'" for place in places)
        command = f"{BARE_PYTHON} {tmp_path}/calls.py {words}"
        told.append(await run(command, ask=Person(says=True), confined=kind == "held"))
    held, free = (
        {what: (result, look(folder)) for folder, what, result in json.loads(each.output)}
        for each in told
    )
    for what in OTHERWISE:
        assert free.pop(what) != held.pop(what), what
    assert "\n".join(f"{w}: {free[w]}, held {held[w]}" for w in free if held[w] != free[w]) == ""
