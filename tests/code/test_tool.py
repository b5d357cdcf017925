"""The tool as a whole: all sixteen operations of the seed, in its order, in few words."""

from pathlib import Path

import pytest

from sam_tools.file_operations import FileOperations
from sam_tui.core.accesses import Write
from sam_tui.core.tooling.contract import Schedule
from sam_tui.core.tooling.offer import canonical, tool_schema
from tests.code.conftest import Workshop, endless_listing

SEED = (
    "read_file list_dir get_errors get_search_results file_search grep_search semantic_search"
    " list_usages search_index create_file replace_string multi_replace_string insert_edit"
    " rename_file delete_file apply_patch"
)


@pytest.mark.requirement("files:sixteen")
def test_all_sixteen_operations_are_there_in_the_seed_s_order(shop: Workshop):
    assert [o.name for o in shop.tool.operations] == SEED.split()
    schema = canonical([tool_schema(shop.tool)])
    assert len(schema.encode()) < 5200
    assert canonical([tool_schema(shop.tool)]) == schema


@pytest.mark.requirement("files:sixteen")
def test_what_cannot_run_is_not_offered(shop: Workshop):
    bare = FileOperations(shop.files, shop.search).tool()
    missing = {"get_errors", "semantic_search", "list_usages", "search_index"}
    assert [o.name for o in bare.operations] == [n for n in SEED.split() if n not in missing]


@pytest.mark.requirement("files:sixteen")
def test_looking_runs_in_parallel_and_every_change_alone(shop: Workshop):
    changes = SEED.split()[9:]
    for operation in shop.tool.operations:
        expected = Schedule.BLOCKING if operation.name in changes else Schedule.PARALLEL
        assert operation.schedule is expected
        assert (operation.preview is not None) == (operation.name in changes)


@pytest.mark.requirement("files:sixteen")
@pytest.mark.parametrize(
    ("name", "given", "summary"),
    [
        ("get_errors", {}, "Checking errors: all files"),
        ("get_errors", {"filePaths": ["x/a.py"]}, "Checking errors: a.py"),
        ("semantic_search", {"query": "a b"}, "Semantic search: a b"),
        ("list_usages", {"symbolName": "f"}, "Finding usages: f"),
        ("search_index", {"query": "q"}, "Searching index: q"),
        ("search_index", {"extension": ".py"}, "Finding .py files"),
    ],
)
def test_a_summary_says_what_is_looked_for(
    shop: Workshop, name: str, given: dict[str, object], summary: str
):
    operation = next(o for o in shop.tool.operations if o.name == name)
    assert operation.summary(operation.arguments.model_validate(given)) == summary


@pytest.mark.requirement("files:preview")
async def test_the_preview_of_several_files_is_the_change_that_is_made(shop: Workshop):
    shop.write("a.txt", "1\n")
    shop.write("b.txt", "1\n")
    for name, given in (
        (
            "multi_replace_string",
            {
                "replacements": [
                    {"filePath": n, "oldString": "1", "newString": "2"} for n in ("a.txt", "b.txt")
                ]
            },
        ),
        (
            "apply_patch",
            {"patchContent": "*** Update File: a.txt\n-2\n+3\n*** Delete File: b.txt\n"},
        ),
    ):
        operation = next(o for o in shop.tool.operations if o.name == name)
        arguments = operation.arguments.model_validate(given)
        located = {
            access.parameter: shop.workspace.locate(access.path)
            for access in operation.accesses(arguments)
            if isinstance(access, Write)
        }
        assert operation.preview is not None
        foreseen = operation.preview(arguments, located)
        assert operation.preview(arguments, {}) == ()
        done = await shop.done(name, **given)
        assert tuple(foreseen) == done.finished.display
        assert operation.preview(arguments, located) == ()


@pytest.mark.requirement("files:index-bounds")
async def test_the_model_is_told_where_the_listing_of_files_stopped(tmp_path: Path):
    shop = Workshop(tmp_path, search=endless_listing(tmp_path))
    try:
        shop.write("b.py", "wombat = 1\n")
        words = "listing the files stopped after 2 s: there may be more, name a folder below"
        assert words in (await shop.done("search_index")).finished.text
        executed = await shop.done("semantic_search", query="wombat")
        assert words in executed.finished.text
        assert "  1: wombat = 1" in executed.finished.text
    finally:
        shop.close()
