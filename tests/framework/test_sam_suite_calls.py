"""spec/sam.md 10.2: SAM's end-to-end suite, run on the assembled runtime over the same workspace.

SAM called it with ``isUserInitiated``: here a person is there who agrees once to what is asked. A row
marked M asserts what its modification demands, not what SAM tolerated.
"""

from collections.abc import Awaitable, Callable

import pytest

from tests.framework.bench import FILES, Bench
from tests.framework.rows import Rows

pytestmark = pytest.mark.requirement("framework:sam-suite")

Row = Callable[[Bench], Awaitable[None]]
CALLS: Rows[Row] = Rows()


# Reading and searching


@CALLS.add("10.2-read-root-absolute")
async def _read_root(bench: Bench) -> None:
    path = bench.path("root_files/sample.txt")
    assert "TESTMARKER_SAMPLE" in await bench.good("file_operations.read_file", filePath=path)


@CALLS.add("10.2-read-subdirectory-absolute")
async def _read_sub(bench: Bench) -> None:
    path = bench.path("subdir1/script.py")
    assert "hello_world" in await bench.good("file_operations.read_file", filePath=path)


@CALLS.add("10.2-read-nested-absolute")
async def _read_nested(bench: Bench) -> None:
    path = bench.path("subdir2/nested/deep.txt")
    assert "TESTMARKER_NESTED" in await bench.good("file_operations.read_file", filePath=path)


@CALLS.add("10.2-M-read-offset-gives-lines-2-and-3-exactly")
async def _read_offset(bench: Bench) -> None:
    data = await bench.data("read_file", filePath="root_files/sample.txt", offset=2, limit=2)
    assert data["content"] == "TESTMARKER_SAMPLE second line\nthird line\n"
    assert (data["offset"], data["returnedLines"], data["totalLines"]) == (2, 2, 4)


@CALLS.add("10.2-read-missing")
async def _read_missing(bench: Bench) -> None:
    assert "nonexistent.txt" in await bench.bad("read_file", filePath="nonexistent.txt")


@CALLS.add("10.2-list-root")
async def _list_root(bench: Bench) -> None:
    data = await bench.data("list_dir", path="root_files")
    assert {"sample.txt", "data.json"} <= {entry["name"] for entry in data["entries"]}


@CALLS.add("10.2-list-subdirectory")
async def _list_sub(bench: Bench) -> None:
    assert "script.py" in await bench.good("list_dir", path=bench.path("subdir1"))


@CALLS.add("10.2-list-empty")
async def _list_empty(bench: Bench) -> None:
    (bench.folder / "empty").mkdir()
    data = await bench.data("list_dir", path="empty")
    assert (data["entries"], data["totalCount"], data["hasMore"]) == ([], 0, False)


@CALLS.add("10.2-M-file-search-finds-script")
async def _file_search(bench: Bench) -> None:
    data = await bench.data("file_search", query="**/*.py")
    assert data["matches"] == ["subdir1/script.py"]


@CALLS.add("10.2-M-grep-hits-all-seven-files")
async def _grep(bench: Bench) -> None:
    data = await bench.data("grep_search", query="TESTMARKER", isRegexp=False)
    assert sorted({match["path"] for match in data["matches"]}) == sorted(FILES)
    assert len(FILES) == 7


@CALLS.add("10.2-M-grep-regex-hits-the-sample-only")
async def _grep_regex(bench: Bench) -> None:
    include = f"{bench.folder}/**"
    for pattern in ("**", include):
        data = await bench.data(
            "grep_search", query="TEST.*_SAMPLE", isRegexp=True, includePattern=pattern
        )
        assert [m["path"] for m in data["matches"]] == ["root_files/sample.txt"], pattern


# Changing


@CALLS.add("10.2-create-root")
async def _create_root(bench: Bench) -> None:
    await bench.good("create_file", filePath=bench.path("new.txt"), content="made")
    assert bench.text("new.txt") == "made"


@CALLS.add("10.2-create-subdirectory")
async def _create_sub(bench: Bench) -> None:
    await bench.good("create_file", filePath="subdir1/new.txt", content="made")
    assert bench.text("subdir1/new.txt") == "made"


@CALLS.add("10.2-create-nested")
async def _create_nested(bench: Bench) -> None:
    await bench.good("create_file", filePath="a/b/c/new.txt", content="made")
    assert bench.text("a/b/c/new.txt") == "made"


@CALLS.add("10.2-replace")
async def _replace(bench: Bench) -> None:
    bench.write("r.txt", "First\nOriginal line\nLast\n")
    await bench.good(
        "replace_string", filePath="r.txt", oldString="Original line", newString="Replaced line"
    )
    assert bench.text("r.txt") == "First\nReplaced line\nLast\n"


@CALLS.add("10.2-multi-as-two-replacements")
async def _two(bench: Bench) -> None:
    bench.write("r.txt", "AAA BBB CCC\n")
    await bench.good("replace_string", filePath="r.txt", oldString="AAA", newString="111")
    await bench.good("replace_string", filePath="r.txt", oldString="BBB", newString="222")
    assert bench.text("r.txt") == "111 222 CCC\n"


@CALLS.add("10.2-multi-replace-string")
async def _multi(bench: Bench) -> None:
    bench.write("r.txt", "AAA BBB CCC\n")
    changes = [
        {"oldString": "AAA", "newString": "111"},
        {"oldString": "BBB", "newString": "222"},
    ]
    await bench.good("multi_replace_string", filePath="r.txt", replacements=changes)
    assert bench.text("r.txt") == "111 222 CCC\n"


@CALLS.add("10.2-rename")
async def _rename(bench: Bench) -> None:
    bench.write("source.txt", "text")
    await bench.good("rename_file", oldPath="source.txt", newPath="target.txt")
    assert bench.text("target.txt") == "text"
    assert not (bench.folder / "source.txt").exists()


@CALLS.add("10.2-delete")
async def _delete(bench: Bench) -> None:
    bench.write("gone.txt", "text")
    await bench.good("delete_file", filePath="gone.txt")
    assert not (bench.folder / "gone.txt").exists()


@CALLS.add("10.2-persistence-chain")
async def _chain(bench: Bench) -> None:
    path = bench.path("chain.txt")
    await bench.good("create_file", filePath=path, content="V1\n")
    assert (await bench.data("read_file", filePath=path))["content"] == "V1\n"
    await bench.good("replace_string", filePath=path, oldString="V1", newString="V2")
    assert (await bench.data("read_file", filePath=path))["content"] == "V2\n"
    await bench.good("delete_file", filePath=path)
    assert "chain.txt" in await bench.bad("read_file", filePath=path)
    await bench.good("store_memory", content="the chain ends with V2")
    assert "chain ends" in await bench.good("search_memory", query="chain ends")


# Commands


@CALLS.add("10.2-echo")
async def _echo(bench: Bench) -> None:
    # The text is not in the command, so that only its output can hold it.
    text = await bench.good("run_command", command="echo he''llo", explanation="to greet")
    assert text.strip() == "hello"


@CALLS.add("10.2-pwd")
async def _pwd(bench: Bench) -> None:
    assert (await bench.good("run_command", command="pwd")).strip() == str(bench.folder)


@CALLS.add("10.2-ls")
async def _ls(bench: Bench) -> None:
    assert "sample.txt" in await bench.good("run_command", command="ls -la root_files")


@CALLS.add("10.2-variable")
async def _variable(bench: Bench) -> None:
    command = "export V=test_''value && echo $V"
    assert (await bench.good("run_command", command=command)).strip() == "test_value"


@CALLS.add("10.2-pipeline-of-three-lines")
async def _pipeline(bench: Bench) -> None:
    text = await bench.good("run_command", command='echo "one\ntwo\nthree" | wc -l')
    assert text.strip() == "3"


@CALLS.add("10.2-M-bad-command-ends-with-127")
async def _bad_command(bench: Bench) -> None:
    done = await bench.call("run_command", command="nonexistent_command_12345")
    assert not done.finished.ok
    assert "not found" in done.finished.text
    assert done.data["exitCode"] == 127


@CALLS.add("10.2-create-directory")
async def _directory(bench: Bench) -> None:
    await bench.good("create_directory", dirPath="made")
    assert (bench.folder / "made").is_dir()


@CALLS.add("10.2-create-directory-three-levels")
async def _directories(bench: Bench) -> None:
    await bench.good("create_directory", dirPath=bench.path("made/by/three"))
    assert (bench.folder / "made/by/three").is_dir()


@CALLS.add("10.2-create-session-with-an-unknown-parameter")
async def _session(bench: Bench) -> None:
    data = await bench.data("create_session", name="unheard of")
    assert (data["status"], data["working_directory"]) == ("created", str(bench.folder))


# Memory and todos


@CALLS.add("10.2-memory-store-with-an-unknown-parameter")
async def _store(bench: Bench) -> None:
    data = await bench.data("store_memory", content="the sky is blue", metadata={"a": 1})
    assert data["new"] is True


@CALLS.add("10.2-M-memory-search-honours-a-numeric-threshold")
async def _search(bench: Bench) -> None:
    await bench.good("store_memory", content="the quick brown fox jumps over the lazy dog")
    low = await bench.data(
        "search_memory", query="quick brown fox", similarity_threshold=0.3, top_k=5
    )
    assert (low["threshold"], len(low["memories"])) == (0.3, 1)
    weak = {"query": "quick zebras chase seven striped umbrellas", "similarity_threshold": 0.9}
    assert (await bench.data("search_memory", weak))["memories"] == []
    loose = await bench.data("search_memory", {**weak, "similarity_threshold": 0.0})
    assert len(loose["memories"]) == 1


@CALLS.add("10.2-M-memory-threshold-finds-no-gibberish")
async def _gibberish(bench: Bench) -> None:
    await bench.good("store_memory", content="the quick brown fox")
    for threshold in (0.99, "0.99"):
        data = await bench.data(
            "search_memory", query="xyzzy plugh qwert", similarity_threshold=threshold
        )
        assert (data["memories"], data["knowledge"]) == ([], [])


@CALLS.add("10.2-list-collections")
async def _collections(bench: Bench) -> None:
    await bench.good("store_memory", content="a fact", content_type="fact")
    assert (await bench.data("list_collections"))["counts"]["fact"] == 1


@CALLS.add("10.2-M-manage-todos-write-read-update")
async def _manage(bench: Bench) -> None:
    told = await bench.bad("memory_operations.manage_todos", todoOperation="write")
    assert "todo_operations" in told
    two = [
        {"id": 1, "title": "First task", "description": "a", "status": "not-started"},
        {"id": 2, "title": "Second task", "description": "b", "status": "not-started"},
    ]
    await bench.good("todo_operations.write", todoList=two)
    text = await bench.good("todo_operations.read")
    assert "First task" in text and "Second task" in text
    await bench.good("todo_operations.update", todoUpdates=[{"id": 1, "status": "completed"}])
    assert "1/2 completed" in await bench.good("todo_operations.read")


# Documents, builds, thinking, results, names


@CALLS.add("10.2-document-import")
async def _import(bench: Bench) -> None:
    data = await bench.data("document_import", path=bench.path("root_files/README.md"))
    assert data["document_id"] and data["memory_stored"]
    assert "TESTMARKER_README" in await bench.good("search_memory", query="TESTMARKER_README")


@CALLS.add("10.2-document-info-without-a-path")
async def _info(bench: Bench) -> None:
    assert not (await bench.good("get_doc_info")).startswith("ERROR")
    await bench.good("document_import", path="root_files/README.md")
    assert "README.md" in await bench.good("get_doc_info")


@CALLS.add("10.2-document-create-markdown")
async def _create_document(bench: Bench) -> None:
    data = await bench.data(
        "document_create",
        content="# Hello\n\nwords",
        path="ignored",
        format="markdown",
        title="unheard of",
    )
    assert "# Hello" in bench.text(data["path"])


@CALLS.add("10.2-changed-files")
async def _changed(bench: Bench) -> None:
    bench.repository()
    bench.write("root_files/sample.txt", "changed\n")
    bench.write("new.txt", "new\n")
    data = await bench.data("get_changed_files", repositoryPath=str(bench.folder))
    found = {file["path"]: file["status"] for file in data["files"]}
    assert found == {"root_files/sample.txt": "modified", "new.txt": "untracked"}


@CALLS.add("10.2-M-task-output-holds-the-echo")
async def _task(bench: Bench) -> None:
    task = {"label": "echo", "type": "shell", "command": "echo ta''sk-out; exit 0"}
    done = await bench.data("create_and_run_task", task=task)
    assert "task-out" in done["output"] and done["exitCode"] == 0
    assert "task-out" in (await bench.data("get_task_output", id=done["id"]))["output"]


@CALLS.add("10.2-think-basic")
async def _think(bench: Bench) -> None:
    assert await bench.good("think", thoughts="What is next?") == "What is next?"


@CALLS.add("10.2-think-complex")
async def _think_more(bench: Bench) -> None:
    thoughts = "1. “quotes” \\ and \n lines\n2. ünïcode 🦊\n" * 50
    assert await bench.good("think", thoughts=thoughts) == thoughts


@CALLS.add("10.2-read-tool-result-of-an-unknown-id")
async def _unknown_result(bench: Bench) -> None:
    told = await bench.bad("read_tool_result", toolCallId="call_unknown", offset=0, length=1000)
    assert "No result is stored" in told


@CALLS.add("10.2-dotted-names")
async def _dotted(bench: Bench) -> None:
    assert "sample.txt" in await bench.good("file_operations.list_dir", path="root_files")
    path = "root_files/sample.txt"
    assert "SAMPLE" in await bench.good("file_operations.read_file", filePath=path)
    stored = await bench.data("memory_operations.store_memory", content="dots", tags=["a", "b"])
    assert stored["new"]
    assert "42" in await bench.good("terminal_operations.run_command", command="echo $((6*7))")


@CALLS.add("10.2-dotted-create-directory")
async def _dotted_directory(bench: Bench) -> None:
    await bench.good("terminal_operations.create_directory", dirPath="dotted")
    assert (bench.folder / "dotted").is_dir()


@pytest.mark.parametrize("row", CALLS.all)
async def test_what_sam_s_end_to_end_suite_asked_holds(row: Row, bench: Bench) -> None:
    await row(bench)
