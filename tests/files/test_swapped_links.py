"""What was checked is what is opened, also when a link is swapped in between."""

import ctypes
import os
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.files.descent import open_folder_beneath
from sam_tui.adapters.terminal.sandbox.kernel.calls import call
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError


def at(root: Path, path: str) -> Location:
    """A location as it was resolved before anybody swapped anything."""
    return Location(path, f"{root}/{path}" if path else str(root), str(root))


def has_openat2() -> bool:
    """Whether this kernel answers the call."""
    with suppress(OSError):
        how = struct.pack("=QQQ", os.O_PATH, 0, 0)
        os.close(call("openat2", -100, b"/", how, len(how)))
        return True
    return False


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize("swapped", ["d", "d/f"])
def test_a_link_swapped_in_after_the_check_is_refused_by_everything(
    files: LocalFiles, tmp_path: Path, swapped: str
):
    root, outside = tmp_path / "ws", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "f").write_bytes(b"secret")
    if swapped == "d":
        (root / "d").symlink_to(outside)
    else:
        (root / "d").mkdir()
        (root / "d/f").symlink_to(outside / "f")
    where = at(root, "d/f")
    with pytest.raises(ToolError, match="changed while it was being checked"):
        files.read(where, limit=100)
    with pytest.raises(ToolError, match="changed while it was being checked"):
        files.write(where, b"x", replace=True)
    with pytest.raises(ToolError, match="changed while it was being checked"):
        files.list(at(root, swapped))
    with pytest.raises(ToolError, match="changed while it was being checked"):
        files.make_directory(at(root, "d/f"))
    if swapped == "d":
        for act in (
            lambda: files.delete(where),
            lambda: files.stat(where),
            lambda: files.rename(where, at(root, "g")),
        ):
            with pytest.raises(ToolError, match="changed while it was being checked"):
                act()
    assert (outside / "f").read_bytes() == b"secret"
    assert os.listdir(outside) == ["f"]


@pytest.mark.requirement("files:no-follow")
def test_a_folder_is_opened_in_one_step_only_where_no_link_leads_and_nothing_above(
    tmp_path: Path,
) -> None:
    (tmp_path / "ws/a/b").mkdir(parents=True)
    (tmp_path / "ws/link").symlink_to("a")
    root = os.open(tmp_path / "ws", os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not has_openat2():
            pytest.skip("this kernel has no openat2")
        opened = open_folder_beneath(root, "a/b")
        assert opened is not None
        assert os.path.samestat(os.fstat(opened), os.stat(tmp_path / "ws/a/b"))
        assert not os.get_inheritable(opened)
        os.close(opened)
        for path in ("link/b", "../ws/a", "a/../..", str(tmp_path / "ws/a"), "a/none", "", "/"):
            assert open_folder_beneath(root, path) is None
    finally:
        os.close(root)


def exchange(one: Path, other: Path) -> None:
    """Let two names trade places in one step, as an attacker would."""
    libc = ctypes.CDLL(None, use_errno=True)
    mac = sys.platform == "darwin"
    call, here = (libc.renameatx_np, -2) if mac else (libc.renameat2, -100)
    if call(here, os.fsencode(one), here, os.fsencode(other), 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")


@pytest.mark.requirement("files:no-follow")
def test_nothing_is_written_outside_while_a_folder_and_a_link_trade_places(
    files: LocalFiles, tmp_path: Path
):
    root, outside = tmp_path / "ws", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    outside.mkdir()
    (root / "link").symlink_to(outside)
    stop = threading.Event()

    def trade() -> None:
        while not stop.is_set():
            exchange(root / "d", root / "link")

    thread = threading.Thread(target=trade)
    thread.start()
    outcomes = {"written": 0, "changed": 0}
    try:
        for n in range(20_000):
            try:
                files.write(at(root, f"d/sub{n % 7}/f"), b"x", replace=True)
                outcomes["written"] += 1
            except ToolError as error:
                assert "changed" in str(error)
                outcomes["changed"] += 1
            if n >= 500 and min(outcomes.values()) >= 50:
                break
    finally:
        stop.set()
        thread.join()
    assert min(outcomes.values()) > 0
    assert os.listdir(outside) == []


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize(
    ("swapped", "why"),
    [("link", "changed while it was being checked"), ("pipe", "not a regular one")],
)
def test_what_takes_the_place_of_a_file_just_before_it_is_opened_is_not_read(
    files: LocalFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, why: str
) -> None:
    file = tmp_path / "ws/f"
    file.parent.mkdir()
    file.write_bytes(b"mine")
    (tmp_path / "outside").write_bytes(b"secret")
    opened = os.open

    def swap(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == file.name:
            file.unlink()
            file.symlink_to("../outside") if swapped == "link" else os.mkfifo(file)
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(ToolError, match=why):
        files.read(at(file.parent, file.name), limit=10)


@pytest.mark.requirement("files:no-follow")
def test_a_circle_of_links_is_an_error(files: LocalFiles, tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ToolError, match="a cannot be followed: a link that leads nowhere or in a"):
        files.read(at(tmp_path, "a"), limit=10)


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize("real", ["/etc/passwd", "/w/../etc/passwd", "/w/./f", "/wx/f"])
def test_a_location_that_is_not_below_its_root_is_refused(
    files: LocalFiles, tmp_path: Path, real: str
):
    where = Location("x", real.replace("/w", str(tmp_path), 1), str(tmp_path))
    with pytest.raises(ToolError, match="not a resolved path"):
        files.read(where, limit=1)
