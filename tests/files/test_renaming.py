"""Renaming never replaces anything, with and without the help of the kernel."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.files.descent import OpenedEntry, entry_of
from sam_tui.adapters.files.exclusive import rename_checked
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError


def at(root: Path, path: str) -> Location:
    """A location as it was resolved before anybody swapped anything."""
    return Location(path, f"{root}/{path}" if path else str(root), str(root))


def temporaries(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.requirement("files:rename")
def test_files_folders_and_links_are_renamed_and_folders_above_are_made(
    files: LocalFiles, tmp_path: Path
):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("d/f")
    files.rename(at(tmp_path, "d"), at(tmp_path, "new/deep/d"))
    files.rename(at(tmp_path, "link"), at(tmp_path, "other"))
    assert (tmp_path / "new/deep/d/f").read_bytes() == b"x"
    assert os.readlink(tmp_path / "other") == "d/f"


@pytest.mark.requirement("files:rename")
def test_a_rename_never_replaces_anything(files: LocalFiles, tmp_path: Path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    for target in ("b", "empty", "dangling"):
        with pytest.raises(ToolError, match="already exists"):
            files.rename(at(tmp_path, "a"), at(tmp_path, target))
    with pytest.raises(ToolError, match="not found"):
        files.rename(at(tmp_path, "none"), at(tmp_path, "c"))
    with pytest.raises(ToolError, match="into itself"):
        files.rename(at(tmp_path, "empty"), at(tmp_path, "empty/in/it"))
    with pytest.raises(ToolError, match="workspace itself"):
        files.rename(at(tmp_path, ""), Location("x", "/tmp/x", None))
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "dangling", "empty"]
    assert (tmp_path / "b").read_bytes() == b"b"


@pytest.mark.requirement("files:rename")
def test_without_the_kernels_help_a_rename_still_replaces_nothing(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "d").mkdir()
    with entry_of(at(tmp_path, "a")) as entry:
        for source, target in (("a", "b"), ("d", "b"), ("a", "d")):
            with pytest.raises(FileExistsError):
                rename_checked(OpenedEntry(entry.folder, source), OpenedEntry(entry.folder, target))
        rename_checked(OpenedEntry(entry.folder, "a"), OpenedEntry(entry.folder, "c"))
        rename_checked(OpenedEntry(entry.folder, "d"), OpenedEntry(entry.folder, "e"))
    assert sorted(os.listdir(tmp_path)) == ["b", "c", "e"]


@contextmanager
def another_file_system(here: Path) -> Generator[Path, None, None]:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == here.stat().st_dev:
        pytest.skip("there is no second file system")
    folder = shared / f"sam-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.mark.requirement("files:rename")
def test_a_file_moves_across_file_systems_and_a_folder_says_that_it_cannot(
    files: LocalFiles, tmp_path: Path
):
    with another_file_system(tmp_path) as other:
        (tmp_path / "run.sh").write_bytes(b"x" * 3_000_000)
        (tmp_path / "run.sh").chmod(0o751)
        (tmp_path / "d").mkdir()
        (tmp_path / "link").symlink_to("nowhere")
        before = (tmp_path / "run.sh").stat()
        files.rename(at(tmp_path, "run.sh"), at(other, "sub/run.sh"))
        files.rename(at(tmp_path, "link"), at(other, "link"))
        after = (other / "sub/run.sh").stat()
        assert (after.st_mode, after.st_mtime_ns, after.st_size) == (
            before.st_mode,
            before.st_mtime_ns,
            3_000_000,
        )
        assert os.readlink(other / "link") == "nowhere"
        with pytest.raises(ToolError, match="another file system"):
            files.rename(at(tmp_path, "d"), at(other, "d"))
        (tmp_path / "again").touch()
        with pytest.raises(ToolError, match="already exists"):
            files.rename(at(tmp_path, "again"), at(other, "sub/run.sh"))
        assert sorted(os.listdir(tmp_path)) == ["again", "d"]
        assert temporaries(other / "sub") == []
