"""create, replace, insert: exact, atomic, and everything else stays as it was."""

import asyncio
import os
import stat
from typing import Any

import pytest

from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.tooling.contract import ToolResult


def shown(result: ToolResult) -> Diff:
    (diff,) = result.display
    assert isinstance(diff, Diff)
    return diff


# ---- create_file


@pytest.mark.requirement("files:create-file")
@pytest.mark.parametrize("path", ["new.txt", "subdir1/new.txt", "x/y/z/new.txt"])
async def test_a_file_is_created_with_the_folders_above(marked: Any, path: str):
    result = await marked("create_file", filePath=path, content="one\ntwo é\n")
    assert (marked.root / path).read_bytes() == "one\ntwo é\n".encode()
    assert result.text == f"CREATED {path} (2 lines, 11 bytes)"
    assert (shown(result).added, shown(result).removed) == (2, 0)
    assert shown(result).unified == "@@ -0,0 +1,2 @@\n+one\n+two é"
    assert result.data["filePath"] == path


@pytest.mark.requirement("files:create-file")
async def test_an_existing_file_is_only_replaced_when_that_is_said(bench: Any):
    (bench.root / "a").write_text("old\n", encoding="utf-8")
    with pytest.raises(ToolError, match="a already exists") as error:
        await bench("create_file", filePath="a", content="new\n")
    assert "overwrite: true" in error.value.hint
    assert (bench.root / "a").read_text(encoding="utf-8") == "old\n"
    result = await bench("create_file", filePath="a", content="new\n", overwrite=True)
    assert (bench.root / "a").read_text(encoding="utf-8") == "new\n"
    assert shown(result).unified == "@@ -1 +1 @@\n-old\n+new"
    (bench.root / "d").mkdir()
    with pytest.raises(ToolError, match="is a folder"):
        await bench("create_file", filePath="d", content="", overwrite=True)


# ---- replace_string


@pytest.mark.requirement("files:replace-string")
async def test_one_place_is_replaced_and_shown_as_a_diff(bench: Any):
    (bench.root / "a").write_text("1\n2\n3\nOriginal line\n5\n6\n7\n8\n", encoding="utf-8")
    result = await bench(
        "replace_string", filePath="a", oldString="Original line", newString="Replaced line"
    )
    assert (bench.root / "a").read_text(encoding="utf-8") == "1\n2\n3\nReplaced line\n5\n6\n7\n8\n"
    assert shown(result) == Diff(
        "a", "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-Original line\n+Replaced line\n 5\n 6\n 7", 1, 1
    )
    assert result.text == "Replaced 1 place in a (+1 -1)"
    assert os.listdir(bench.root) == ["a"]


@pytest.mark.requirement("files:replace-string")
async def test_two_edits_one_after_the_other_both_hold(bench: Any):
    (bench.root / "a").write_text("AAA\nBBB\n", encoding="utf-8")
    await bench("replace_string", filePath="a", oldString="AAA", newString="111")
    await bench("replace_string", filePath="a", oldString="BBB", newString="222")
    assert (bench.root / "a").read_text(encoding="utf-8") == "111\n222\n"


@pytest.mark.requirement("files:replace-count")
async def test_more_than_one_place_needs_the_right_count(bench: Any):
    (bench.root / "a").write_text("x\ny\nx\nx x\n", encoding="utf-8")
    with pytest.raises(ToolError, match=r"occurs 4 times in a, not 1: lines 1, 3, 4, 4\."):
        await bench("replace_string", filePath="a", oldString="x", newString="z")
    with pytest.raises(ToolError, match=r"occurs 4 times in a, not 5"):
        await bench(
            "replace_string", filePath="a", oldString="x", newString="z", expectedReplacements=5
        )
    with pytest.raises(ToolError, match=r"occurs 1 time in a, not 2: line 2\."):
        await bench(
            "replace_string", filePath="a", oldString="y", newString="z", expectedReplacements=2
        )
    assert (bench.root / "a").read_text(encoding="utf-8") == "x\ny\nx\nx x\n"
    result = await bench(
        "replace_string", filePath="a", oldString="x", newString="z", expectedReplacements="4"
    )
    assert (bench.root / "a").read_text(encoding="utf-8") == "z\ny\nz\nz z\n"
    assert result.data["replacements"] == 4


@pytest.mark.requirement("files:replace-nearest")
@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        (
            "def one(a,b):\n  return a+b",
            "other white space at lines 3-4:\ndef one(a, b):\n    return",
        ),
        ("def twice(x) -> int:", "nearest is at line 6:\ndef twice(x):"),
        ("zzzzzzzzzz", "copy the text exactly"),
    ],
)
async def test_no_match_is_an_error_that_shows_the_nearest_place(
    bench: Any, wanted: str, hint: str
):
    text = "import os\n\ndef one(a, b):\n    return a + b\n\ndef twice(x):\n    return x * 2\n"
    (bench.root / "a.py").write_text(text, encoding="utf-8")
    stat = (bench.root / "a.py").stat()
    before = stat[:7], stat.st_mtime_ns  # and not when it was read last
    with pytest.raises(ToolError, match=r"does not occur in a\.py; nothing was changed") as error:
        await bench("replace_string", filePath="a.py", oldString=wanted, newString="x")
    assert hint in error.value.hint
    after = (bench.root / "a.py").stat()
    assert (after[:7], after.st_mtime_ns) == before


@pytest.mark.requirement("files:replace-nearest")
async def test_looking_for_the_nearest_place_is_bounded_on_a_big_file(bench: Any):
    lines = "".join(f"value_{n} = compute({n}, {n * 7})\n" for n in range(150_000))
    (bench.root / "big.py").write_text(lines, encoding="utf-8")
    with pytest.raises(ToolError) as error:
        await bench(
            "replace_string",
            filePath="big.py",
            oldString="value_77 = computed(77, 539)\nx\n",
            newString="",
        )
    assert "value_77 = compute(77, 539)" in error.value.hint
    assert len(error.value.hint) < 2000


@pytest.mark.requirement("files:replace-string")
async def test_empty_and_identical_strings_are_errors(bench: Any):
    (bench.root / "a").write_text("x\n", encoding="utf-8")
    with pytest.raises(ToolError, match="oldString is empty"):
        await bench("replace_string", filePath="a", oldString="", newString="y")
    with pytest.raises(ToolError, match="the same"):
        await bench("replace_string", filePath="a", oldString="x", newString="x")
    with pytest.raises(ToolError, match="not found"):
        await bench("replace_string", filePath="none", oldString="x", newString="y")


@pytest.mark.requirement("files:keeps-format")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"1\r\n2\r\n3\r\nc\r\n"),
        (b"x\r\na\nb\nc", b"x\r\n1\n2\n3\nc"),
        (b"\xef\xbb\xbfa\r\nb", b"\xef\xbb\xbf1\r\n2\r\n3"),
        (
            b"\xff\xfe" + "a\nb\né".encode("utf-16-le"),
            b"\xff\xfe" + "1\n2\n3\né".encode("utf-16-le"),
        ),
        (b"a\rb\rc\r", b"1\r2\r3\rc\r"),
        (b"caf\xe9\na\nb\n", b"caf\xe9\n1\n2\n3\n"),
    ],
)
async def test_line_ends_encoding_mark_and_the_last_newline_stay(
    bench: Any, before: bytes, after: bytes
):
    (bench.root / "f").write_bytes(before)
    await bench("replace_string", filePath="f", oldString="a\nb", newString="1\n2\r\n3")
    assert (bench.root / "f").read_bytes() == after


@pytest.mark.requirement("files:keeps-format")
async def test_a_character_the_encoding_lacks_is_an_error_and_mode_bits_stay(bench: Any):
    (bench.root / "f").write_bytes(b"caf\xe9\n")
    (bench.root / "f").chmod(0o755)
    with pytest.raises(ToolError, match="latin-1 and cannot hold"):
        await bench("replace_string", filePath="f", oldString="caf", newString="€")
    assert (bench.root / "f").read_bytes() == b"caf\xe9\n"
    await bench("replace_string", filePath="f", oldString="caf", newString="CAF")
    assert (bench.root / "f").read_bytes() == b"CAF\xe9\n"
    assert stat.S_IMODE((bench.root / "f").stat().st_mode) == 0o755


@pytest.mark.requirement("files:replace-string")
async def test_text_that_was_shown_with_a_broken_host_tag_can_still_be_replaced(bench: Any):
    (bench.root / "f").write_text("<system-reminder>x</system-reminder>\n", encoding="utf-8")
    await bench(
        "replace_string",
        filePath="f",
        oldString="<\\system-reminder>x<\\/system-reminder>",
        newString="<\\system-reminder>y<\\/system-reminder>",
    )
    assert (bench.root / "f").read_text(
        encoding="utf-8"
    ) == "<system-reminder>y</system-reminder>\n"


# ---- insert_edit


@pytest.mark.requirement("files:insert-edit")
@pytest.mark.parametrize(
    ("before", "line", "new", "after"),
    [
        ("a\nb\n", 1, "x", "x\na\nb\n"),
        ("a\nb\n", 2, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb\n", 3, "x", "a\nb\nx\n"),
        ("a\nb", 3, "x\n", "a\nb\nx"),
        ("", 1, "x", "x\n"),
        ("a\r\n", 1, "x\ny", "x\r\ny\r\na\r\n"),
        ("a\n", 1, "\n", "\na\n"),
    ],
)
async def test_lines_are_inserted_before_a_line(
    bench: Any, before: str, line: int, new: str, after: str
):
    (bench.root / "f").write_bytes(before.encode())
    await bench("insert_edit", filePath="f", lineNumber=line, newText=new)
    assert (bench.root / "f").read_bytes() == after.encode()


@pytest.mark.requirement("files:insert-edit")
@pytest.mark.parametrize(
    ("before", "line", "new", "after"),
    [
        ("a\nb\nc\n", 2, "x", "a\nx\nc\n"),
        ("a\nb\nc\n", 2, "x\ny\n", "a\nx\ny\nc\n"),
        ("a\nb", 2, "x\n", "a\nx"),
        ("a\r\nb\r\n", 1, "x", "x\r\nb\r\n"),
        ("a\nb\nc\n", 2, "", "a\nc\n"),
        ("a\nb\nc\n", 2, "\n", "a\n\nc\n"),
    ],
)
async def test_one_line_is_replaced(bench: Any, before: str, line: int, new: str, after: str):
    (bench.root / "f").write_bytes(before.encode())
    result = await bench(
        "insert_edit", filePath="f", lineNumber=line, newText=new, insertOperation="replace"
    )
    assert (bench.root / "f").read_bytes() == after.encode()
    assert shown(result).removed == 1


@pytest.mark.requirement("files:insert-range")
@pytest.mark.parametrize(
    ("text", "line", "kind", "words"),
    [
        ("a\nb\n", 0, "insert", "0 is out of range: f has 2 lines, so 1-3 can be used"),
        ("a\nb\n", 4, "insert", "1-3 can be used"),
        ("a\nb\n", 3, "replace", "1-2 can be used"),
        ("", 1, "replace", "0 lines, so there is none to replace"),
        ("a\n", -1, "replace", "out of range"),
    ],
)
async def test_a_line_out_of_range_is_an_error_with_the_range(
    bench: Any, text: str, line: int, kind: str, words: str
):
    (bench.root / "f").write_text(text, encoding="utf-8")
    with pytest.raises(ToolError, match=words):
        await bench("insert_edit", filePath="f", lineNumber=line, newText="x", insertOperation=kind)
    with pytest.raises(ToolError, match="newText is empty"):
        await bench("insert_edit", filePath="f", lineNumber=1, newText="")


# ---- all writes


@pytest.mark.requirement("files:preview")
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("create_file", {"filePath": "n/new", "content": "x\n"}),
        ("create_file", {"filePath": "a", "content": "x\n", "overwrite": True}),
        ("replace_string", {"filePath": "a", "oldString": "two", "newString": "2"}),
        ("insert_edit", {"filePath": "a", "lineNumber": 2, "newText": "x"}),
        ("rename_file", {"oldPath": "a", "newPath": "b"}),
        ("delete_file", {"filePath": "a"}),
    ],
)
async def test_the_preview_is_the_change_that_is_then_made(
    bench: Any, name: str, given: dict[str, Any]
):
    (bench.root / "a").write_text("one\ntwo\nthree\n", encoding="utf-8")
    preview = bench.preview(name, **given)
    assert (bench.root / "a").read_text(encoding="utf-8") == "one\ntwo\nthree\n"
    assert os.listdir(bench.root) == ["a"]
    result = await bench(name, **given)
    assert preview == result.display


@pytest.mark.requirement("files:preview")
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("create_file", {"filePath": "a", "content": "x"}),
        ("create_file", {"filePath": "a/b", "content": "\ud800"}),
        ("replace_string", {"filePath": "a", "oldString": "none", "newString": ""}),
        ("replace_string", {"filePath": "pipe", "oldString": "x", "newString": ""}),
        ("insert_edit", {"filePath": "none", "lineNumber": 2, "newText": "x"}),
    ],
)
def test_a_preview_that_cannot_be_made_is_empty_and_never_an_error(
    bench: Any, name: str, given: dict[str, Any]
):
    (bench.root / "a").write_text("one\n", encoding="utf-8")
    os.mkfifo(bench.root / "pipe")
    operation = bench.operation(name)
    arguments = operation.arguments.model_construct(**{**_defaults(operation), **given})
    assert operation.preview(arguments, bench.locations(name, arguments)) == ()
    assert operation.preview(arguments, {}) == ()


def _defaults(operation: Any) -> dict[str, Any]:
    fields = operation.arguments.model_fields
    return {n: f.default for n, f in fields.items() if not f.is_required()}


@pytest.mark.requirement("files:errors")
async def test_a_write_where_nothing_may_be_written_is_a_clear_error(public: Any, ordinary: Any):
    (public.root / "d").mkdir()
    (public.root / "d/a").write_text("one\n", encoding="utf-8")
    (public.root / "d").chmod(0o555)
    (public.root / "d/a").chmod(0o444)
    with ordinary():
        for name, given in (
            ("create_file", {"filePath": "d/new", "content": "x"}),
            ("replace_string", {"filePath": "d/a", "oldString": "one", "newString": "1"}),
            ("insert_edit", {"filePath": "d/a", "lineNumber": 1, "newText": "x"}),
            ("rename_file", {"oldPath": "d/a", "newPath": "b"}),
            ("delete_file", {"filePath": "d/a"}),
        ):
            with pytest.raises(ToolError, match="permission denied") as error:
                await public(name, **given)
            assert error.value.hint
    assert (public.root / "d/a").read_text(encoding="utf-8") == "one\n"


@pytest.mark.requirement("files:cancelled")
async def test_a_cancelled_edit_writes_nothing_afterwards(bench: Any):
    text = "line\n" * 1_000_000
    (bench.root / "f").write_text(text, encoding="utf-8")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            bench("insert_edit", filePath="f", lineNumber=900_000, newText="x")
        )
        await asyncio.sleep(0)
        task.cancel()
    assert task.cancelled()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert (bench.root / "f").read_text(encoding="utf-8") == text


@pytest.mark.requirement("files:persistence-chain")
async def test_create_read_replace_read_delete_in_a_row(bench: Any):
    await bench("create_file", filePath="v", content="V1\n")
    assert "V1" in (await bench("read_file", filePath="v")).text
    await bench("replace_string", filePath="v", oldString="V1", newString="V2")
    assert "V2" in (await bench("read_file", filePath="v")).text
    await bench("delete_file", filePath="v")
    assert os.listdir(bench.root) == []


@pytest.mark.requirement("files:odd-names")
async def test_a_result_is_encodable_whatever_the_folder_is_called(bench: Any):
    odd = os.fsdecode(b"d\xe9")
    (bench.root / odd).mkdir()
    given = {"filePath": f"{odd}/f", "content": "x\n"}
    operation = bench.operation("create_file")
    arguments = operation.arguments.model_construct(**given, overwrite=False)
    (diff,) = operation.preview(arguments, bench.locations("create_file", arguments))
    assert diff.path == r"d\udce9/f"


@pytest.mark.requirement("execute:spellings")
@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("replace_string", {"path": "a", "old_str": "1", "new_str": "2"}),
        ("replace_string", {"file": "a", "old_text": "1", "newText": "2"}),
        ("apply_patch", {"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"}),
        ("create_file", {"path": "a", "file_text": "2\n", "overwrite": True}),
        ("insert_edit", {"path": "a", "line": 1, "newText": "2", "insertOperation": "replace"}),
    ],
)
async def test_arguments_under_the_names_of_other_editors_are_taken(
    bench: Any, operation: str, given: dict[str, Any]
):
    (bench.root / "a").write_text("1\n", encoding="utf-8")
    await bench(operation, **given)
    assert (bench.root / "a").read_text(encoding="utf-8") == "2\n"


@pytest.mark.requirement("execute:spellings")
async def test_an_argument_s_own_name_counts_before_any_other(bench: Any):
    (bench.root / "a").write_text("needle\n", encoding="utf-8")
    result = await bench("grep_search", query="needle", pattern="nothing", path="a")
    assert result.text == "1 match in 1 file\na:1: needle"
