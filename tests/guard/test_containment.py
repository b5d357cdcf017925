"""Where a path lies is decided on real paths."""

import sys
from pathlib import Path

import pytest

from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ToolError, WorkspaceError

pytestmark = pytest.mark.requirement("guard:real-paths")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Workspace, Path, Path]:
    """A workspace with a file in it, and a folder outside."""
    inside, outside = tmp_path / "ws", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.txt").write_text("a", encoding="utf-8")
    (outside / "secret").write_text("s", encoding="utf-8")
    return Workspace.open(str(inside)), inside, outside


@pytest.mark.parametrize(
    "path",
    ["a.txt", "./a.txt", "new/deep/file", "sub/../a.txt", ".", "../ws/a.txt", "a.txt/", "ü/é"],
)
def test_paths_that_stay_or_come_back_are_inside(
    folders: tuple[Workspace, Path, Path], path: str
) -> None:
    workspace, inside, _ = folders
    where = workspace.locate(path)
    assert where.inside
    assert where.real.startswith(str(inside.resolve()))


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/x",
        "../ws-other/x",
        "/etc/hosts",
        "~/x",
        "/",
        "a/../../outside/new",
        "../ws2",
    ],
)
def test_paths_that_leave_are_outside(folders: tuple[Workspace, Path, Path], path: str) -> None:
    workspace, _, _ = folders
    assert not workspace.locate(path).inside


def test_a_link_out_of_the_workspace_is_outside(folders: tuple[Workspace, Path, Path]) -> None:
    workspace, inside, outside = folders
    (inside / "link").symlink_to(outside)
    (inside / "dangling").symlink_to(outside / "not-yet")
    for path in ("link", "link/new", "link/../outside/x", "dangling"):
        where = workspace.locate(path)
        assert not where.inside, path
        assert where.real.startswith(str(outside.parent.resolve()))


def test_a_link_into_the_workspace_is_inside(folders: tuple[Workspace, Path, Path]) -> None:
    workspace, inside, outside = folders
    (outside / "back").symlink_to(inside)
    assert workspace.locate(str(outside / "back" / "a.txt")).real == str(inside / "a.txt")


def test_a_link_itself_is_meant_when_it_is_not_followed(
    folders: tuple[Workspace, Path, Path],
) -> None:
    workspace, inside, outside = folders
    (inside / "link").symlink_to(outside / "secret")
    where = workspace.locate("link", follow=False)
    assert where.inside
    assert where.real == str(inside / "link")


@pytest.mark.parametrize(
    ("path", "itself"),
    [("link", True), ("link/", True), ("sub/link", True), ("link/.", False), ("sub/link/..", False),
     ("link/secret", True)],
)  # fmt: skip
def test_only_a_link_at_the_very_end_is_meant_itself(
    folders: tuple[Workspace, Path, Path], path: str, *, itself: bool
) -> None:
    workspace, inside, outside = folders
    (inside / "sub").mkdir()
    for name in ("link", "sub/link"):
        (inside / name).symlink_to(outside)
    followed = {"link/secret": f"{outside}/secret", "sub/link/..": str(outside.parent)}
    where = workspace.locate(path, follow=False)
    if itself and path != "link/secret":
        assert where.real == f"{inside}/{path.rstrip('/')}"
    else:
        assert where.real == followed.get(path, str(outside))
    assert workspace.locate(path).real == followed.get(path, str(outside))


def test_a_workspace_that_is_a_link_is_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    workspace = Workspace.open(str(tmp_path / "alias"))
    assert workspace.root == str(tmp_path / "real")
    assert workspace.locate(str(tmp_path / "alias" / "x")).inside


def test_everything_is_inside_a_workspace_of_the_root() -> None:
    workspace = Workspace.open("/")
    assert workspace.locate("/etc/hosts").inside
    assert workspace.locate("etc/hosts").display_path == "etc/hosts"


def test_an_added_folder_counts_as_inside(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    workspace = Workspace.open(str(tmp_path / "a"), (str(tmp_path / "b"),))
    assert workspace.locate(str(tmp_path / "b" / "x")).root == str(tmp_path / "b")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_detour_over_proc_is_seen_through(folders: tuple[Workspace, Path, Path]) -> None:
    workspace, inside, outside = folders
    assert not workspace.locate(f"/proc/self/root{outside}/x").inside
    assert workspace.locate(f"/proc/self/root{inside}/a.txt").inside


@pytest.mark.requirement("guard:bad-paths")
@pytest.mark.parametrize("path", ["", "   ", "a\0b", "x" * 5000, "\ud800"])
def test_text_that_cannot_be_a_path_is_refused_with_a_reason(
    folders: tuple[Workspace, Path, Path], path: str
) -> None:
    with pytest.raises(ToolError) as refused:
        folders[0].locate(path)
    assert "path" in str(refused.value)


@pytest.mark.requirement("guard:bad-paths")
def test_each_fault_of_a_path_is_named_and_the_longest_is_taken(
    folders: tuple[Workspace, Path, Path],
) -> None:
    workspace, _, _ = folders
    faults = {
        " ": "The path is empty.",
        "a\0b": "The path contains a NUL character, which file names cannot contain.",
        "\ud800": "The path contains characters that file names cannot contain.",
        "x" * 4097: "The path is 4097 bytes long; the longest possible is 4096.",
        "é" * 2049: "The path is 4098 bytes long; the longest possible is 4096.",
    }
    for path, fault in faults.items():
        with pytest.raises(ToolError) as refused:
            workspace.locate(path)
        assert str(refused.value) == fault
    assert workspace.locate("/".join(["x"] * 2048) + "x").real.endswith("/xx")


@pytest.mark.requirement("guard:real-paths")
def test_a_folder_of_another_spelling_is_the_same_where_the_system_says_so(
    folders: tuple[Workspace, Path, Path],
) -> None:
    _, inside, outside = folders
    workspace = Workspace(f"{inside}-gone", (str(inside), str(outside)))
    (outside.parent / "alias").symlink_to(inside)
    alias = f"{outside.parent}/alias"
    assert workspace.same_folder(f"{alias}/a.txt") == workspace.same_folder(alias) == str(inside)
    assert workspace.same_folder(f"{outside}/x/y") == str(outside)
    assert workspace.same_folder(str(outside.parent)) is None
    assert workspace.same_folder(f"{outside.parent}/none/x") is None


@pytest.mark.requirement("guard:bad-paths")
@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("file:///etc/my%20file", "Give the path: /etc/my file"),
        ("file:/etc/x", "Give the path: /etc/x"),
        ("$HOME/x", "Write ~ for"),
        ("${PWD}", "Write ~ for"),
    ],
)
def test_what_is_meant_as_something_else_is_no_new_name_but_an_existing_one(
    folders: tuple[Workspace, Path, Path], path: str, hint: str
) -> None:
    workspace, inside, _ = folders
    with pytest.raises(ToolError) as refused:
        workspace.locate(path)
    assert (refused.value.hint or "").startswith(hint)
    (inside / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    (inside / path.lstrip("/")).write_text("", encoding="utf-8")
    assert workspace.locate(path).inside
    assert workspace.locate("$id.tsx").display_path == "$id.tsx"


@pytest.mark.requirement("workspace:unusable")
def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path, word in ((tmp_path / "none", "does not exist"), (tmp_path / "file", "not a folder")):
        with pytest.raises(WorkspaceError, match=word) as refused:
            Workspace.open(str(path))
        assert refused.value.exit_code == 52
        assert refused.value.hint == "Name an existing folder."
    for nothing in ("", "a\0b"):
        with pytest.raises(WorkspaceError, match="is not a folder"):
            Workspace.open(nothing)


def test_a_link_loop_is_not_followed_anywhere(folders: tuple[Workspace, Path, Path]) -> None:
    workspace, inside, _ = folders
    (inside / "loop").symlink_to(inside / "loop")
    for path in ("loop", "loop/x"):
        with pytest.raises(ToolError, match="in a circle"):
            workspace.locate(path)
    assert workspace.locate("loop", follow=False).inside
