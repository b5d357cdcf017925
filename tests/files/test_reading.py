"""read_file and list_dir: exact text, honest limits, any encoding, never a crash."""

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.errors import ToolError
from sam_tui.core.tooling.contract import Schedule


def body(text: str) -> str:
    """What follows the one header line."""
    return text.split("\n", 1)[1]


@pytest.mark.requirement("files:read-file")
@pytest.mark.parametrize(
    ("path", "marker"),
    [
        ("root_files/sample.txt", "TESTMARKER_SAMPLE"),
        ("subdir1/script.py", "hello_world"),
        ("subdir2/nested/deep.txt", "TESTMARKER_NESTED"),
    ],
)
async def test_a_file_is_read_by_relative_and_by_absolute_path(marked: Any, path: str, marker: str):
    relative = await marked("read_file", filePath=path)
    absolute = await marked("read_file", filePath=str(marked.root / path))
    assert relative.text == absolute.text
    assert body(relative.text) == (marked.root / path).read_text(encoding="utf-8")
    assert marker in relative.data["content"]
    assert relative.text.startswith(f"{path}: ")


@pytest.mark.requirement("files:read-slice")
async def test_offset_and_limit_choose_exactly_those_lines(marked: Any):
    result = await marked("read_file", filePath="root_files/sample.txt", offset="2", limit=2)
    assert body(result.text) == "TESTMARKER_SAMPLE\nthird\n"
    assert result.text.startswith("root_files/sample.txt: lines 2-3 of 4; go on with offset=4\n")
    wanted = {"totalLines": 4, "returnedLines": 2, "truncated": True, "offset": 2, "limit": 2}
    assert wanted.items() <= dict(result.data).items()


@pytest.mark.requirement("files:read-slice")
async def test_an_offset_past_the_end_is_an_empty_slice_with_a_note(bench: Any):
    (bench.root / "a").write_text("1\n2\n", encoding="utf-8")
    result = await bench("read_file", filePath="a", offset=3)
    assert result.ok
    assert result.text == "a: nothing at line 3, the file has 2 lines\n"
    assert result.data["returnedLines"] == 0
    for offset in range(3, 9):
        assert (await bench("read_file", filePath="a", offset=offset)).data["content"] == ""
    (bench.root / "empty").touch()
    assert (await bench("read_file", filePath="empty", offset=9)).text == (
        "empty: the file is empty\n"
    )
    assert (await bench("read_file", filePath="a", offset=0)).text == "a: 2 lines\n1\n2\n"


@pytest.mark.requirement("files:encodings")
@pytest.mark.parametrize(
    ("data", "text", "traits"),
    [
        (b"\xef\xbb\xbfa\xc3\xa9\n", "aé\n", " (BOM)"),
        ("aé\r\nb\r\n".encode("utf-16"), "aé\nb\n", " (UTF-16-LE, CRLF)"),
        (b"\xfe\xff" + "aé\n".encode("utf-16-be"), "aé\n", " (UTF-16-BE)"),
        ("𝄞\n".encode("utf-32"), "𝄞\n", " (UTF-32-LE)"),
        (b"caf\xe9\n", "café\n", " (LATIN-1)"),
        (b"a\r\nb\r\n", "a\nb\n", " (CRLF)"),
        (b"a\rb\r", "a\nb\n", " (CR)"),
        (b"no end", "no end", ""),
        (b"ID3 is a tag\n", "ID3 is a tag\n", ""),
        (b"\x1b[31mred\x1b[0m\f\n", "\x1b[31mred\x1b[0m\f\n", ""),
    ],
)
async def test_text_in_any_usual_encoding_is_decoded(
    bench: Any, data: bytes, text: str, traits: str
):
    (bench.root / "f").write_bytes(data)
    result = await bench("read_file", filePath="f")
    assert body(result.text) == text
    assert result.text.startswith(f"f{traits}: ")


@pytest.mark.requirement("files:binary")
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG image"),
        (b"%PDF-1.7\n", "PDF document"),
        (b"a\0b", "unknown kind"),
        (bytes(range(128, 256)) + bytes(range(1, 9)) * 10, "unknown kind"),
        (b"\xff\xfe\x00\xd8", "unknown kind"),
    ],
)
async def test_a_binary_file_is_an_error_with_kind_and_size(bench: Any, data: bytes, kind: str):
    (bench.root / "f").write_bytes(data)
    with pytest.raises(ToolError, match=f"binary file \\({kind}, {len(data)} bytes\\)"):
        await bench("read_file", filePath="f")
    (bench.root / "f.docx").write_bytes(data)
    with pytest.raises(ToolError) as error:
        await bench("read_file", filePath="f.docx")
    assert "document_import" in error.value.hint


@pytest.mark.requirement("files:token-cap")
async def test_a_long_file_is_cut_at_ten_thousand_tokens_of_whole_lines(bench: Any):
    lines = [f"{n:05} {'x' * 93}\n" for n in range(1000)]
    (bench.root / "f").write_text("".join(lines), encoding="utf-8")
    result = await bench("read_file", filePath="f")
    assert body(result.text) == "".join(lines[:400])
    assert "lines 1-400 of 1000; cut at 10000 tokens; go on with offset=401" in result.text[:99]
    assert result.data["tokenLimited"] is True
    assert result.data["estimatedTokens"] == 10_000
    assert len(result.text) < 48_000


@pytest.mark.requirement("files:token-cap")
async def test_very_long_lines_are_clipped_and_said_to_be(bench: Any):
    (bench.root / "f").write_text("a" * 5000 + "\n" + "b" * 2000 + "\r\nc", encoding="utf-8")
    result = await bench("read_file", filePath="f")
    assert body(result.text) == "a" * 2000 + "…\n" + "b" * 2000 + "\nc"
    assert "1 line cut after 2000 characters" in result.text.split("\n")[0]


@pytest.mark.requirement("files:huge")
async def test_a_file_of_200_mb_is_read_from_its_start_and_says_so(bench: Any):
    with (bench.root / "f").open("wb") as big:
        big.write(b"line\n" * 3_000_000)
        big.truncate(200_000_000)
    tracemalloc.start()
    try:
        result = await bench("read_file", filePath="f", limit=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000
    assert body(result.text) == "line\nline\n"
    assert "the file has 200.0 MB, only the first 10.0 MB can be read here" in result.text
    assert "grep_search" in result.text
    assert result.data["complete"] is False
    with pytest.raises(ToolError, match=r"200\.0 MB long; files over 10\.0 MB are not edited"):
        await bench("replace_string", filePath="f", oldString="line", newString="x")


@pytest.mark.requirement("files:read-errors")
async def test_a_missing_file_a_folder_and_a_special_file_are_clear_errors(bench: Any):
    os.mkfifo(bench.root / "pipe")
    (bench.root / "folder").mkdir()
    for path, words in (("none", "not found"), ("folder", "is a folder"), ("pipe", "special")):
        with pytest.raises(ToolError, match=words) as error:
            await bench("read_file", filePath=path)
        assert error.value.hint


@pytest.mark.requirement("files:read-errors")
@pytest.mark.parametrize("path", ["src/mian.py", "src/`main.py`", "src/main.py "])
async def test_a_name_that_is_nearly_right_is_told_the_right_one(bench: Any, path: str):
    (bench.root / "src").mkdir()
    (bench.root / "src" / "main.py").write_text("x\n", encoding="utf-8")
    with pytest.raises(ToolError, match="not found") as error:
        await bench("read_file", filePath=path)
    assert error.value.hint == "Did you mean src/main.py?"


@pytest.mark.requirement("files:list-dir")
async def test_a_folder_is_listed_without_hidden_entries(marked: Any):
    (marked.root / "root_files/.secret").touch()
    (marked.root / "root_files/link").symlink_to("sample.txt")
    result = await marked("list_dir", path="root_files")
    names = [entry["name"] for entry in result.data["entries"]]
    assert names == ["README.md", "data.json", "link", "sample.txt"]
    assert result.text.splitlines()[0] == "root_files: 4 entries"
    assert "link@" in result.text
    sample = result.data["entries"][3]
    assert sample["size"] == 37 and not sample["isDirectory"]
    assert sample["permissions"].startswith("rw-")
    assert sample["modifiedDate"].endswith("Z")
    top = await marked("list_dir")
    assert "subdir1/" in top.text.splitlines()
    assert (await marked("list_dir", path="empty")).text == "empty: 0 entries"


@pytest.mark.requirement("files:list-dir")
async def test_a_listing_is_paged(bench: Any):
    for n in range(7):
        (bench.root / f"{n}").touch()
    result = await bench("list_dir", limit=3, offset=3)
    assert [e["name"] for e in result.data["entries"]] == ["3", "4", "5"]
    assert (result.data["totalCount"], result.data["hasMore"]) == (7, True)
    assert "4-6 shown; go on with offset=6" in result.text
    assert (await bench("list_dir", offset=9)).text == ".: 7 entries, none after 9"
    assert (await bench("list_dir", limit=99_999)).data["limit"] == 1000
    for path, words in (("none", "not found"), ("0", "a file, not a folder")):
        with pytest.raises(ToolError, match=words):
            await bench("list_dir", path=path)


@pytest.mark.requirement("files:odd-names")
async def test_names_that_are_not_utf8_are_shown_escaped_and_never_break_json(bench: Any):
    (bench.root / os.fsdecode(b"caf\xe9\x1b[1m.txt")).write_bytes(b"needle\n")
    for result in (
        await bench("list_dir"),
        await bench("file_search", query="*.txt"),
        await bench("grep_search", query="needle"),
    ):
        assert r"caf\udce9\x1b[1m.txt" in result.text
        json.dumps(dict(result.data), ensure_ascii=False).encode()
        result.text.encode()


@pytest.mark.requirement("files:odd-names")
@pytest.mark.parametrize("sent", [r"caf\udce9\x1b[1m.txt", "caf\udce9\x1b[1m.txt"])
async def test_a_name_can_be_sent_back_as_it_was_shown(bench: Any, sent: str):
    (bench.root / os.fsdecode(b"caf\xe9\x1b[1m.txt")).write_bytes(b"needle\n")
    assert "needle" in (await bench("read_file", filePath=sent)).text
    await bench("rename_file", oldPath=sent, newPath="cafe.txt")
    assert (bench.root / "cafe.txt").read_bytes() == b"needle\n"


@pytest.mark.requirement("files:no-follow")
async def test_a_link_out_of_the_workspace_is_located_outside_and_read_only_as_located(
    bench: Any, tmp_path: Path
):
    (tmp_path / "outside.txt").write_text("outside\n", encoding="utf-8")
    (bench.root / "link").symlink_to(tmp_path / "outside.txt")
    arguments = bench.parse("read_file", {"filePath": "link"})
    where = bench.locations("read_file", arguments)["filePath"]
    assert not where.inside
    result = await bench("read_file", filePath="link")
    assert result.text.startswith(f"{where.real}: 1 line\n")


@pytest.mark.requirement("files:schedules")
def test_reads_run_in_parallel_and_writes_alone(bench: Any):
    schedules = {o.name: o.schedule for o in bench.tool.operations}
    assert [name for name, s in schedules.items() if s is Schedule.PARALLEL] == [
        "read_file",
        "list_dir",
        "get_search_results",
        "file_search",
        "grep_search",
    ]
    assert [name for name, s in schedules.items() if s is Schedule.BLOCKING] == [
        "create_file",
        "replace_string",
        "multi_replace_string",
        "insert_edit",
        "rename_file",
        "delete_file",
        "apply_patch",
    ]


@pytest.mark.requirement("files:every-path-declared")
def test_every_path_argument_is_declared_as_an_access(bench: Any):
    given = {"filePath": "f", "oldPath": "o", "newPath": "n", "path": "p", "rootPath": "r"}
    text = {"query": "q", "content": "", "oldString": "", "newString": "", "newText": ""}
    # Those whose paths stand in lists and patches, and the one without any, have tests of their own.
    apart = {"get_search_results", "multi_replace_string", "apply_patch"}
    for operation in bench.tool.operations:
        if operation.name in apart:
            continue
        arguments = operation.arguments.model_validate({**given, **text, "lineNumber": 1})
        declared = {(a.parameter, a.path) for a in operation.accesses(arguments)}
        fields = set(operation.arguments.model_fields)
        assert declared == {(n, v) for n, v in given.items() if n in fields}
        assert declared
        kinds = {a.kind for a in operation.accesses(arguments)}
        assert kinds == {"write" if operation.schedule is Schedule.BLOCKING else "read"}
    for name in ("list_dir", "file_search", "grep_search"):
        operation = bench.operation(name)
        arguments = operation.arguments.model_validate({"query": "q"})
        assert [a.path for a in operation.accesses(arguments)] == ["."]


@pytest.mark.requirement("files:summaries")
@pytest.mark.parametrize(
    ("name", "given", "summary"),
    [
        ("read_file", {"filePath": "src/a.py"}, "Reading: a.py"),
        ("list_dir", {}, "Listing: ."),
        ("list_dir", {"path": "src/"}, "Listing: src"),
        ("file_search", {"query": "**/*.py"}, "Finding files: **/*.py"),
        ("grep_search", {"query": "a\nb" + "c" * 99}, "Searching: a b" + "c" * 56 + "…"),
        ("create_file", {"filePath": "x/b\x1b.py", "content": "s"}, r"Creating: b\x1b.py"),
        ("replace_string", {"filePath": "a", "oldString": "s", "newString": "t"}, "Editing: a"),
        ("insert_edit", {"filePath": "a", "lineNumber": 1, "newText": "s"}, "Inserting in: a"),
        ("rename_file", {"oldPath": "x/a", "newPath": "y/b"}, "Renaming: a to b"),
        ("delete_file", {"filePath": "x/a"}, "Deleting: a"),
        ("get_search_results", {}, "Getting search results"),
        (
            "multi_replace_string",
            {"filePath": "x/a", "replacements": [{"oldString": "s", "newString": "t"}]},
            "Multi-edit: a",
        ),
        ("apply_patch", {"patchContent": "*** Delete File: x/a"}, "Patching: a"),
        ("apply_patch", {"patchContent": "no patch"}, "Patching"),
    ],
)
def test_a_summary_names_the_file_and_no_content(
    bench: Any, name: str, given: dict[str, Any], summary: str
):
    operation = bench.operation(name)
    assert operation.summary(operation.arguments.model_validate(given)) == summary
