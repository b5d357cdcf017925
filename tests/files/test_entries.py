"""Which entry a location opens, and what is said where it opens none."""

import errno
import os
from pathlib import Path

import pytest

from sam_tui.adapters.files.descent import entry_of
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError


@pytest.fixture
def root(tmp_path: Path) -> str:
    """An allowed folder."""
    (tmp_path / "ws/a/b/c").mkdir(parents=True)
    (tmp_path / "ws/file").touch()
    (tmp_path / "ws-other").mkdir()
    (tmp_path / "ws/pipes").mkdir()
    os.mkfifo(tmp_path / "ws/pipes/pipe")
    (tmp_path / "ws/way").symlink_to("a")
    return str((tmp_path / "ws").resolve())


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize(
    ("place", "folder", "name"),
    [
        ("", "", "."),
        ("/file", "", "file"),
        ("/a/b", "a", "b"),
        ("/a/b/c", "a/b", "c"),
        ("//a//b/c/", "a/b", "c"),
    ],
)
@pytest.mark.parametrize("slash", ["", "/"])
def test_an_entry_is_a_name_in_its_open_folder(
    root: str, place: str, folder: str, name: str, slash: str
) -> None:
    with entry_of(Location("x", root + place, root + slash)) as entry:
        assert entry.name == name
        assert os.path.samestat(os.fstat(entry.folder), os.stat(os.path.join(root, folder)))
        assert not os.get_inheritable(entry.folder)
    with entry_of(Location("x", root + place, None)) as entry:
        entered = os.stat(entry.name, dir_fd=entry.folder)
        assert os.path.samestat(entered, os.stat(root + place))


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize(
    "place", ["/./a", "/a/../../x", "/..", "-other/x", "x", "/a/.", "/a/./b/c"]
)
def test_a_path_that_is_not_resolved_or_not_below_opens_nothing(root: str, place: str) -> None:
    with pytest.raises(ToolError, match="is not a resolved path below") as refused:
        entry_of(Location("x", root + place, root)).__enter__()
    assert str(refused.value).endswith(f"below {root}.")
    with pytest.raises(ToolError, match=r"below /\.$"):
        entry_of(Location("x", "relative", None)).__enter__()


@pytest.mark.requirement("files:errors")
@pytest.mark.parametrize(
    ("place", "number"),
    [
        ("/none/x", errno.ENOENT),
        ("/a/none/x/y", errno.ENOENT),
        (f"/{'n' * 256}/x", errno.ENAMETOOLONG),
        (f"/a/{'n' * 256}/x", errno.ENAMETOOLONG),
        ("/file/x", errno.ENOTDIR),
        ("/file/x/y", errno.ENOTDIR),
        ("/pipes/pipe/x", errno.ENOTDIR),
        ("/" + "n/" * 2048, errno.ENAMETOOLONG),
    ],
)
def test_what_the_system_refuses_on_the_way_is_its_own_error(
    root: str, place: str, number: int
) -> None:
    with pytest.raises(OSError, match=r".") as refused:
        entry_of(Location("x", root + place, root)).__enter__()
    assert refused.value.errno == number


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize(
    ("place", "target"),
    [("/way/x", "."), ("/way/b/x", "."), ("/a/way/x", "."), ("/a/way/x", "../file")],
)
def test_a_link_on_the_way_was_put_there_meanwhile(root: str, place: str, target: str) -> None:
    os.symlink(target, f"{root}/a/way")
    with pytest.raises(ToolError, match="changed"):
        entry_of(Location("x", root + place, root)).__enter__()


@pytest.mark.requirement("files:make-directory")
def test_missing_folders_are_made_on_the_way_only_where_that_is_asked_for(root: str) -> None:
    with entry_of(Location("x", f"{root}/new/deep/er/x", root), make=True) as entry:
        assert entry.name == "x"
        assert os.path.samestat(os.fstat(entry.folder), os.stat(f"{root}/new/deep/er"))
    with pytest.raises(FileNotFoundError):
        entry_of(Location("x", f"{root}/other/x", root)).__enter__()
    assert not os.path.exists(f"{root}/other")
    with pytest.raises(NotADirectoryError):
        entry_of(Location("x", f"{root}/file/deep/x", root), make=True).__enter__()


@pytest.mark.requirement("files:no-follow")
@pytest.mark.parametrize(("length", "refused"), [(4096, False), (4097, True)])
def test_a_path_may_be_as_long_as_the_system_takes_it(
    tmp_path: Path, *, length: int, refused: bool
) -> None:
    names = "/".join(["n" * 200] * 30)
    real = f"{f'{tmp_path}/{names}'[: length - 1]}n"
    with pytest.raises(OSError, match=r".") as error:
        entry_of(Location("x", real, None)).__enter__()
    assert error.value.errno == (errno.ENAMETOOLONG if refused else errno.ENOENT)
