"""rename_file and delete_file: nothing is replaced, and a link is meant itself."""

import os
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.tooling.contract import ToolResult


def shown(result: ToolResult) -> Diff:
    (diff,) = result.display
    assert isinstance(diff, Diff)
    return diff


@pytest.mark.requirement("files:rename-file")
async def test_files_and_folders_are_renamed_and_a_target_is_never_replaced(marked: Any):
    result = await marked("rename_file", oldPath="data/test.csv", newPath="new/dir/t.csv")
    assert (marked.root / "new/dir/t.csv").exists()
    assert not (marked.root / "data/test.csv").exists()
    assert result.text == "Renamed data/test.csv to new/dir/t.csv"
    assert [shown.heading for shown in result.display] == ["new/dir/t.csv (was data/test.csv)"]
    await marked("rename_file", oldPath="subdir2", newPath="moved")
    assert (marked.root / "moved/nested/deep.txt").exists()
    with pytest.raises(ToolError, match="already exists"):
        await marked("rename_file", oldPath="moved", newPath="subdir1")
    with pytest.raises(ToolError, match="not found"):
        await marked("rename_file", oldPath="none", newPath="x")


@pytest.mark.requirement("files:delete-file")
async def test_a_file_is_deleted_and_of_a_link_only_the_link(marked: Any, tmp_path: Path):
    (tmp_path / "outside").write_text("outside", encoding="utf-8")
    (marked.root / "out").symlink_to(tmp_path / "outside")
    (marked.root / "in").symlink_to("root_files/sample.txt")
    await marked("delete_file", filePath="out")
    await marked("delete_file", filePath="in")
    assert (tmp_path / "outside").exists()
    assert (marked.root / "root_files/sample.txt").exists()
    assert "in" not in os.listdir(marked.root)
    result = await marked("delete_file", filePath="root_files/sample.txt")
    assert not (marked.root / "root_files/sample.txt").exists()
    assert shown(result).removed == 4
    for path, words in (("subdir1", "is a folder"), ("none", "not found")):
        with pytest.raises(ToolError, match=words):
            await marked("delete_file", filePath=path)


@pytest.mark.requirement("files:rename-file")
async def test_renaming_a_link_moves_the_link_and_not_what_it_names(bench: Any):
    (bench.root / "real").write_text("x", encoding="utf-8")
    (bench.root / "link").symlink_to("real")
    await bench("rename_file", oldPath="link", newPath="other")
    assert os.readlink(bench.root / "other") == "real"
    assert (bench.root / "real").exists()
