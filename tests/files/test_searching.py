"""file_search and grep_search through the tool."""

from typing import Any

import pytest

from sam_tui.core.errors import ToolError


@pytest.mark.requirement("files:file-search")
async def test_python_files_are_found_at_any_depth(marked: Any):
    result = await marked("file_search", query="**/*.py")
    assert result.data["matches"] == ["subdir1/script.py"]
    assert result.text == "1 file for **/*.py\nsubdir1/script.py"
    below = await marked("file_search", query="*.txt", rootPath="subdir2")
    assert below.data["matches"] == ["subdir2/nested/deep.txt"]
    assert (await marked("read_file", filePath=below.data["matches"][0])).ok


@pytest.mark.requirement("files:file-search")
async def test_found_files_are_paged(marked: Any):
    result = await marked("file_search", query="*", limit=3, offset=3)
    assert len(result.data["matches"]) == 3
    assert result.data["totalCount"] == 7
    assert result.text.startswith("7 files for *, 4-6 shown; go on with offset=6\n")
    assert (await marked("file_search", query="*.rs")).data["totalCount"] == 0


@pytest.mark.requirement("files:grep-search")
async def test_a_literal_search_hits_all_seven_files(marked: Any):
    result = await marked("grep_search", query="TESTMARKER", isRegexp=False)
    assert result.data["count"] == 7
    assert len({match["path"] for match in result.data["matches"]}) == 7
    assert "root_files/sample.txt:2: TESTMARKER_SAMPLE" in result.text
    assert (await marked("grep_search", query="testmarker")).data["count"] == 7


@pytest.mark.requirement("files:grep-search")
@pytest.mark.parametrize("absolute", [True, False])
async def test_a_regular_expression_with_an_include_hits_one_file(marked: Any, absolute: bool):
    include = f"{marked.root}/**" if absolute else "root_files/**"
    result = await marked(
        "grep_search", query="TEST.*_SAMPLE", isRegexp="true", includePattern=include
    )
    assert [m["path"] for m in result.data["matches"]] == ["root_files/sample.txt"]
    some = await marked("grep_search", query="TESTMARKER", includePattern="root_files/**")
    assert some.data["count"] == 3
    literal = await marked("grep_search", query="TEST.*_SAMPLE")
    assert literal.data["count"] == 0
    assert literal.text.startswith("no match for TEST.*_SAMPLE")


@pytest.mark.requirement("files:grep-search")
async def test_the_most_results_are_honoured_and_the_cut_is_told(marked: Any):
    result = await marked("grep_search", query="TESTMARKER", maxResults=3)
    assert result.data["count"] == 3
    assert result.data["truncated"] is True
    assert "there are more" in result.text.splitlines()[0]


@pytest.mark.requirement("files:grep-search")
async def test_one_file_or_another_folder_can_be_searched(marked: Any):
    one = await marked("grep_search", query="TESTMARKER", rootPath="data/test.csv")
    assert [m["path"] for m in one.data["matches"]] == ["data/test.csv"]
    (marked.root / "same").mkdir()
    (marked.root / "same/same").write_text("TESTMARKER\n", encoding="utf-8")
    folder = await marked("grep_search", query="TESTMARKER", rootPath="same")
    assert [m["path"] for m in folder.data["matches"]] == ["same/same"]
    with pytest.raises(ToolError, match="not found"):
        await marked("grep_search", query="x", rootPath="none")
