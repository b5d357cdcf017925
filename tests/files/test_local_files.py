"""The Files port on real files: what was checked is what is opened, whole or not at all."""

import errno
import os
import re
import resource
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.files import LocalFiles, descent
from sam_tui.adapters.files.refusals import refusal
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.local_files.bounded import UnusableFile, write_named
from tests.fakes.preloaded import SCRIPT


def at(root: Path, path: str) -> Location:
    """A location as it was resolved before anybody swapped anything."""
    return Location(path, f"{root}/{path}" if path else str(root), str(root))


@pytest.mark.requirement("files:descriptors")
@pytest.mark.parametrize("swift", [True, False])
def test_every_folder_that_was_entered_is_left_again(
    files: LocalFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, swift: bool
):
    if not swift:
        monkeypatch.setattr(descent, "open_folder_beneath", _nowhere)
    files.write(at(tmp_path, "a/b/c.txt"), b"content", replace=False)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    before = sorted(os.listdir("/dev/fd"))
    files.write(at(tmp_path, "a/b/new/d.txt"), b"content", replace=False)
    assert files.read(at(tmp_path, "a/b/c.txt"), limit=1) == b"c"
    files.delete(at(tmp_path, "a/b/c.txt"))
    for path in ("a/b/gone.txt", "a/none/c.txt", "link/b/c.txt"):
        with pytest.raises((ToolError, OSError)):
            files.read(at(tmp_path, path), limit=100)
    assert sorted(os.listdir("/dev/fd")) == before


def _nowhere(_: int, __: str) -> None:
    """As where the system call is missing."""


def temporaries(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.requirement("files:whole-and-atomic")
def test_a_written_file_is_there_whole_and_its_folders_are_made(files: LocalFiles, tmp_path: Path):
    files.write(at(tmp_path, "a/b/c.txt"), b"content", replace=False)
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"content"
    assert temporaries(tmp_path / "a/b") == []


@pytest.mark.requirement("files:whole-and-atomic")
def test_a_write_that_fails_in_the_middle_leaves_the_old_file(files: LocalFiles, tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(ToolError, match=r"a\.txt cannot be written: too large"):
            files.write(at(tmp_path, "a.txt"), bytes(200_000), replace=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.requirement("files:whole-and-atomic")
def test_a_file_that_the_person_names_is_replaced_whole_or_stays(tmp_path: Path):
    file, link = tmp_path / "answer", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(UnusableFile, match="too large"):
            write_named(str(file), bytes(2_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == b"old"
    write_named(str(link), b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o640)
    assert link.is_symlink() and sorted(os.listdir(tmp_path)) == ["answer", "link"]


@pytest.mark.requirement("files:no-replace")
def test_without_replace_an_existing_file_stays(files: LocalFiles, tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"old")
    with pytest.raises(ToolError, match="already exists"):
        files.write(at(tmp_path, "a.txt"), b"new", replace=False)
    assert (tmp_path / "a.txt").read_bytes() == b"old"


@pytest.mark.requirement("files:no-replace")
def test_of_many_creators_at_once_exactly_one_wins(files: LocalFiles, tmp_path: Path):
    rounds, people = 40, 4
    barrier = threading.Barrier(people)
    winners: list[tuple[int, bytes]] = []

    def create(person: int) -> None:
        for number in range(rounds):
            barrier.wait()
            try:
                files.write(at(tmp_path, f"{number}"), b"%d" % person, replace=False)
            except ToolError:
                continue
            winners.append((number, b"%d" % person))

    threads = [threading.Thread(target=create, args=(n,)) for n in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(winners) == [(n, (tmp_path / f"{n}").read_bytes()) for n in range(rounds)]
    assert len(os.listdir(tmp_path)) == rounds


@pytest.mark.requirement("files:mode-bits")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755])
def test_mode_bits_survive_a_write(files: LocalFiles, tmp_path: Path, mode: int):
    target = tmp_path / "run.sh"
    target.write_bytes(b"old")
    target.chmod(mode)
    files.write(at(tmp_path, "run.sh"), b"new", replace=True)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.requirement("files:mode-bits")
def test_a_new_file_gets_the_usual_mode(files: LocalFiles, tmp_path: Path):
    files.write(at(tmp_path, "new"), b"", replace=False)
    (tmp_path / "plain").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.requirement("files:mode-bits")
@pytest.mark.parametrize(("user", "group"), [(1234, 1235), (1234, None), (None, 1235)])
def test_the_owner_survives_a_write_by_root(
    files: LocalFiles, tmp_path: Path, user: int | None, group: int | None
):
    (tmp_path / "a").touch()
    owner = (os.geteuid() if user is None else user, os.getegid() if group is None else group)
    os.chown(tmp_path / "a", *owner)
    files.write(at(tmp_path, "a"), b"new", replace=True)
    about = (tmp_path / "a").stat()
    assert (about.st_uid, about.st_gid) == owner


@pytest.mark.requirement("files:mode-bits")
@pytest.mark.skipif(sys.platform != "linux", reason="Python reads them on Linux alone")
def test_extended_attributes_survive_a_write(files: LocalFiles, tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"1")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has none")
    files.write(at(tmp_path, "f"), b"2", replace=True)
    assert (file.read_bytes(), os.getxattr(file, "user.note")) == (b"2", b"kept")


@pytest.mark.requirement("files:hard-link")
def test_a_hard_link_to_an_outside_file_is_broken_and_not_written_through(
    files: LocalFiles, tmp_path: Path
):
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "outside").write_bytes(b"outside")
    os.link(tmp_path / "outside", root / "inside")
    files.write(at(root, "inside"), b"changed", replace=True)
    assert (tmp_path / "outside").read_bytes() == b"outside"
    assert (root / "inside").read_bytes() == b"changed"


@pytest.mark.requirement("files:special")
def test_a_pipe_a_socket_and_a_device_are_refused_without_waiting(
    files: LocalFiles, tmp_path: Path
):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    for where in (at(tmp_path, "pipe"), at(tmp_path, "socket"), Location("n", "/dev/null", None)):
        with pytest.raises(ToolError, match="special file"):
            files.read(where, limit=10)
        with pytest.raises(ToolError, match="special file"):
            files.write(where, b"x", replace=True)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.requirement("files:errors")
def test_a_missing_file_a_folder_and_a_file_in_the_way_say_so(files: LocalFiles, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match=r"none\.txt cannot be read: not found") as missing:
        files.read(at(tmp_path, "none.txt"), limit=10)
    assert missing.value.hint
    with pytest.raises(ToolError, match="is a folder"):
        files.read(at(tmp_path, "folder"), limit=10)
    with pytest.raises(ToolError, match="is a folder"):
        files.write(at(tmp_path, "folder"), b"", replace=True)
    with pytest.raises(ToolError, match="a file, not a folder"):
        files.write(at(tmp_path, "file/x"), b"", replace=True)
    with pytest.raises(ToolError, match="a file, not a folder"):
        files.list(at(tmp_path, "file"))
    with pytest.raises(ToolError, match="too long"):
        files.write(at(tmp_path, "n" * 300), b"", replace=False)
    assert files.stat(at(tmp_path, "file/x")) is None
    assert files.stat(at(tmp_path, "none")) is None


@pytest.mark.requirement("files:errors")
def test_a_workspace_that_is_gone_is_told_as_that(files: LocalFiles, tmp_path: Path):
    where = Location("a/b", f"{tmp_path}/ws/a/b", f"{tmp_path}/ws")
    gone = f"a/b cannot be %s: the folder {tmp_path}/ws itself is gone"
    with pytest.raises(ToolError, match=re.escape(gone % "read")):
        files.read(where, limit=10)
    with pytest.raises(ToolError, match=re.escape(gone % "written")):
        files.write(where, b"x", replace=False)
    assert not (tmp_path / "ws").exists()


@pytest.mark.requirement("files:errors")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only file system"),
        (errno.EDQUOT, "quota"),
        (errno.EIO, "disk failed"),
    ],
)
def test_what_the_system_refuses_is_told_with_what_to_do(code: int, words: str):
    error = refusal(OSError(code, os.strerror(code)), Location("a", "/w/a", "/w"), "written")
    assert str(error).startswith("a cannot be written: ")
    assert words in str(error)
    assert error.hint


@pytest.mark.requirement("files:errors")
def test_permission_denied_is_an_error_and_a_write_protected_file_stays(
    files: LocalFiles, public: Any, ordinary: Any
):
    root: Path = public.root
    (root / "protected").write_bytes(b"old")
    (root / "closed").mkdir()
    (root / "closed").chmod(0o555)
    (root / "secret").write_bytes(b"")
    for name, mode in (("protected", 0o444), ("secret", 0o200)):
        if os.geteuid() == 0:
            os.chown(root / name, 65534, 65534)
        (root / name).chmod(mode)
    with ordinary():
        with pytest.raises(ToolError, match="permission denied"):
            files.write(at(root, "protected"), b"new", replace=True)
        with pytest.raises(ToolError, match="permission denied"):
            files.write(at(root, "closed/x"), b"new", replace=False)
        with pytest.raises(ToolError, match="permission denied"):
            files.read(at(root, "secret"), limit=1)
        with pytest.raises(ToolError, match="permission denied"):
            files.make_directory(at(root, "closed/d"))
    assert (root / "protected").read_bytes() == b"old"
    assert os.listdir(root / "closed") == []


@pytest.mark.requirement("files:errors")
def test_a_folder_without_read_permission_can_still_be_passed_through(
    files: LocalFiles, public: Any, ordinary: Any
):
    root: Path = public.root
    (root / "x").mkdir()
    (root / "x/f").write_bytes(b"data")
    (root / "x").chmod(0o711)
    with ordinary():
        assert files.read(at(root, "x/f"), limit=10) == b"data"
        if os.geteuid() != (root / "x").stat().st_uid:
            with pytest.raises(ToolError, match="permission denied"):
                files.list(at(root, "x"))


@pytest.mark.requirement("files:bounded-read")
def test_a_read_stops_at_its_limit_and_knows_the_kernels_own_files(
    files: LocalFiles, tmp_path: Path
):
    (tmp_path / "f").write_bytes(b"0123456789")
    assert files.read(at(tmp_path, "f"), limit=4) == b"0123"
    assert files.read(at(tmp_path, "f"), limit=100) == b"0123456789"
    version = Path("/proc/version")
    if version.exists():
        assert files.read(Location("v", str(version), None), limit=10_000) == version.read_bytes()


@pytest.mark.requirement("files:list")
def test_a_listing_tells_kinds_apart_and_follows_no_link(files: LocalFiles, tmp_path: Path):
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    found = files.list(at(tmp_path, ""))
    kinds = [("dir", "directory"), ("file", "file"), ("link", "link"), ("pipe", "other")]
    assert [(e.name, e.kind) for e in found] == kinds
    assert found[1].size == 5
    top = files.stat(at(tmp_path, ""))
    assert top is not None and top.kind == "directory"
    assert files.list(Location("/", "/", "/"))


@pytest.mark.requirement("files:odd-names")
def test_a_name_that_is_not_utf8_survives_and_is_told_escaped(files: LocalFiles, tmp_path: Path):
    name = os.fsdecode(b"caf\xe9\n.txt")
    files.write(at(tmp_path, name), b"x", replace=False)
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9\n.txt"]
    assert [e.name for e in files.list(at(tmp_path, ""))] == [name]
    files.delete(at(tmp_path, name))
    with pytest.raises(ToolError) as missing:
        files.read(at(tmp_path, name), limit=1)
    assert str(missing.value).encode() == rb"caf\udce9\n.txt cannot be read: not found."


@pytest.mark.requirement("files:delete")
def test_delete_takes_files_and_links_and_never_folders(files: LocalFiles, tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "f").touch()
    (tmp_path / "link").symlink_to("f")
    files.delete(at(tmp_path, "link"))
    assert (tmp_path / "f").exists()
    files.delete(at(tmp_path, "f"))
    with pytest.raises(ToolError, match="is a folder"):
        files.delete(at(tmp_path, "d"))
    with pytest.raises(ToolError, match="not found"):
        files.delete(at(tmp_path, "f"))
    assert os.listdir(tmp_path) == ["d"]


@pytest.mark.requirement("files:make-directory")
def test_a_folder_is_made_once(files: LocalFiles, tmp_path: Path):
    assert files.make_directory(at(tmp_path, "a/b/c")) is True
    assert files.make_directory(at(tmp_path, "a/b/c")) is False
    assert files.make_directory(at(tmp_path, "")) is False
    (tmp_path / "f").touch()
    with pytest.raises(ToolError, match="already exists"):
        files.make_directory(at(tmp_path, "f"))


@pytest.mark.requirement("files:no-leaks")
def test_no_descriptor_is_left_open_after_success_or_failure(files: LocalFiles, tmp_path: Path):
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("f")
    os.mkfifo(tmp_path / "pipe")
    table = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")
    before = sorted(os.listdir(table))
    acts: list[Callable[[Location], object]] = [
        lambda w: files.read(w, limit=5),
        files.list,
        files.stat,
        lambda w: files.write(w, b"y", replace=True),
        lambda w: files.write(w, b"y", replace=False),
        files.make_directory,
        lambda w: files.rename(w, at(tmp_path, "f")),
        files.delete,
    ]
    for name in ("f", "none", "link", "pipe", "f/x", "", "a/b", "n" * 300):
        for act in acts:
            try:
                act(at(tmp_path, name))
            except ToolError:
                continue
    assert sorted(os.listdir(table)) == before
    assert temporaries(tmp_path) == []


@pytest.mark.requirement("files:bounded-read")
def test_a_200_mb_file_is_read_in_little_memory(tmp_path: Path):
    with (tmp_path / "big").open("wb") as big:
        big.write(b"line\n" * 10)
        big.truncate(200_000_000)
    program = (
        "import resource, sys, asyncio\n"
        "from sam_tui.adapters.files import LocalFiles\n"
        "from sam_tui.core.accesses import Location\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "data = LocalFiles().read(Location('big', sys.argv[1] + '/big', sys.argv[1]), limit=100_000)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert len(data) == 100_000 and data.startswith(b'line')\n"
        "print((after - before) * (1 if sys.platform == 'darwin' else 1024))\n"
    )
    grown = subprocess.check_output([*SCRIPT, program, str(tmp_path)], text=True)
    assert int(grown) < 8_000_000
