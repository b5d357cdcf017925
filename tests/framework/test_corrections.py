"""spec/sam.md 9.2, C1 to C16: what was wrong in SAM is right on the assembled runtime."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.events import DecisionMade
from sam_tui.core.ids import CallId, ConversationId, mint_conversation
from sam_tui.core.messages import ToolCall, ToolMessage, calls_of
from sam_tui.core.tooling.contract import Schedule
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.framework.bench import Bench, Person
from tests.framework.conftest import Opened

pytestmark = pytest.mark.requirement("framework:corrections")

DEADLINE = 90.0


def another(bench: Bench) -> ConversationId:
    """A second conversation of the same runtime."""
    return bench.runtime.open_session(mint_conversation()).conversation


async def test_c1_all_seven_writes_inside_are_one_decision_and_ask_nobody(opened: Opened) -> None:
    bench = opened(person=Person(agrees=False))
    change = {"oldString": "2", "newString": "3"}
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-zero\n+nil\n"
    for name, arguments in (
        ("create_file", {"filePath": "a.txt", "content": "one\n2\n"}),
        ("replace_string", {"filePath": "a.txt", "oldString": "one", "newString": "1"}),
        ("multi_replace_string", {"filePath": "a.txt", "replacements": [change]}),
        ("insert_edit", {"filePath": "a.txt", "lineNumber": 1, "newText": "zero"}),
        ("apply_patch", {"patchContent": patch}),
        ("rename_file", {"oldPath": "a.txt", "newPath": "b.txt"}),
        ("delete_file", {"filePath": "b.txt"}),
    ):
        await bench.good(f"file_operations.{name}", arguments)
        made = [e for e in bench.events.drain() if isinstance(e, DecisionMade)]
        assert [e.decision.outcome for e in made] == ["allow"], name
    assert bench.person.asked == []


async def test_c2_replacements_are_counted_all_or_none_undoable_and_leave_nothing_behind(
    bench: Bench,
) -> None:
    bench.write("a.txt", "alpha\nbeta\nbeta\ngamma line\n")
    before = sorted(bench.folder.iterdir())
    told = await bench.bad("replace_string", filePath="a.txt", oldString="gama line", newString="x")
    assert "gamma line" in told
    told = await bench.bad("replace_string", filePath="a.txt", oldString="beta", newString="x")
    assert "2" in told and "3" in told
    good = {"oldString": "alpha", "newString": "x"}
    missing = {"oldString": "nowhere", "newString": "y"}
    await bench.bad("multi_replace_string", filePath="a.txt", replacements=[good, missing])
    assert bench.text("a.txt") == "alpha\nbeta\nbeta\ngamma line\n"
    await bench.good(
        "replace_string", filePath="a.txt", oldString="beta", newString="b", expectedReplacements=2
    )
    assert bench.text("a.txt") == "alpha\nb\nb\ngamma line\n"
    assert sorted(bench.folder.iterdir()) == before
    journal = bench.runtime.journal
    (entry,) = journal.entries(bench.conversation)
    journal.undo(bench.conversation, entry.id)
    assert bench.text("a.txt") == "alpha\nbeta\nbeta\ngamma line\n"


async def test_c3_grep_takes_patterns_globs_and_limits_and_needs_none_of_them(bench: Bench) -> None:
    assert (await bench.data("grep_search", query="TEST.*SAMPLE"))["count"] == 0
    everything = await bench.data("grep_search", query="testmarker_\\w+", isRegexp=True)
    assert everything["count"] == 7
    only = {"query": "TESTMARKER", "includePattern": "**/*.{py,ini}"}
    assert (await bench.data("grep_search", only))["count"] == 2
    limited = await bench.data("grep_search", query="TESTMARKER", maxResults=3)
    assert (limited["count"], limited["truncated"]) == (3, True)
    assert (
        "regular expression" in (await bench.bad("grep_search", query="(", isRegexp=True)).lower()
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("run_command", {"command": "true"}, id="explanation-is-optional"),
        pytest.param("document_create", {"content": "x", "format": "txt"}, id="txt"),
        pytest.param("search_memory", {"query": "x", "similarity_threshold": 0.2}, id="number"),
        pytest.param("search_memory", {"query": "x", "similarity_threshold": "0.2"}, id="text"),
        pytest.param("read_file", {"file_path": "root_files/sample.txt", "offset": "2"}, id="twin"),
        pytest.param("get_changed_files", {"repository_path": "."}, id="repository_path"),
        pytest.param("run_task", {"task_label": "greet"}, id="task_label"),
        pytest.param(
            "todo_operations.write",
            {"todoList": [{"id": "1", "title": "x", "status": "in-progress", "progress": "0.5"}]},
            id="progress",
        ),
    ],
)
async def test_c4_what_schema_and_implementation_disagreed_on_is_accepted(
    bench: Bench, name: str, arguments: dict[str, Any]
) -> None:
    bench.repository()
    bench.write(
        ".vscode/tasks.json", json.dumps({"tasks": [{"label": "greet", "command": "true"}]})
    )
    await bench.good(name, arguments)


async def test_c5_reading_past_the_end_is_an_empty_slice_with_a_note(bench: Bench) -> None:
    done = await bench.call("read_file", filePath="root_files/sample.txt", offset=99)
    assert done.finished.ok and done.data["content"] == ""
    assert "nothing at line 99, the file has 4 lines" in done.finished.text
    bench.write("empty.txt", "")
    assert "the file is empty" in await bench.good("read_file", filePath="empty.txt")
    await bench.good("think", thoughts="x" * 9000)
    stored = f"call_{2}"
    done = await bench.call("read_tool_result", toolCallId=stored, offset=9000)
    assert done.finished.ok and done.data["length"] == 0
    assert "beyond the end" in await bench.bad("read_tool_result", toolCallId=stored, offset=9001)


async def test_c6_a_command_s_own_whole_output_exit_code_and_folder_and_never_an_old_one(
    bench: Bench,
) -> None:
    # Silence is no end: the command waits until its own child has said the last word.
    command = "echo first; exec 3< <(sleep 0.3; echo last); cat <&3; exit 5"
    done = await bench.call("run_command", command=command, working_directory="subdir1")
    assert done.finished.text == "first\nlast\n[exit code 5]"
    assert (done.data["exitCode"], done.data["cwd"]) == (5, bench.path("subdir1"))
    assert not done.finished.ok
    for text in ("old", "new"):
        bench.write("now.txt", text)
        assert await bench.good("run_command", command="cat now.txt") == text
    done = await bench.call("run_command", command="echo begun; sleep 60", timeout=2)
    assert done.finished.text.startswith("begun\n[timed out")
    last = (await bench.data("get_last_command"))["run_command"]
    assert last["command"] == "echo begun; sleep 60"


async def test_c7_split_characters_are_whole_and_the_buffer_is_bounded_with_a_cursor(
    bench: Bench,
) -> None:
    session = (await bench.data("create_session"))["session_id"]

    async def send(line: str) -> Any:
        return await bench.data(
            "send_input", session_id=session, input=f"{line}\r\n", timeout=DEADLINE
        )

    sent = await send("printf '<\\303'; sleep 0.1; printf '\\251>\\377|\\n'")
    assert "<é>\ufffd|" in sent["output"]
    sent = await send("head -c 3000000 /dev/zero | tr '\\0' 'x'; echo the''end")
    assert "theend" in sent["output"]
    whole = await bench.call("get_output", session_id=session, from_index=0)
    assert whole.data["truncated"] is True
    assert 0 < whole.data["from_index"] < whole.data["end_index"]
    rest = await bench.data("get_output", session_id=session, from_index=whole.data["end_index"])
    assert (rest["output"], rest["truncated"]) == ("", False)


async def test_c8_closing_ends_the_whole_group_and_an_exit_is_told(bench: Bench) -> None:
    first, second = await asyncio.gather(bench.data("create_session"), bench.data("create_session"))
    assert first["session_id"] == second["session_id"]
    session = first["session_id"]
    sent = await bench.data(
        "send_input", session_id=session, input="sleep 987 & echo pid=$!.\r\n", timeout=DEADLINE
    )
    child = int(sent["output"].rpartition("pid=")[2].partition(".")[0])
    os.kill(child, 0)
    await bench.good("close_session", session_id=session)
    await gone(child)
    session = (await bench.data("create_session"))["session_id"]
    sent = await bench.data("send_input", session_id=session, input="exit 7\r\n", timeout=DEADLINE)
    async with asyncio.timeout(DEADLINE):
        while sent["status"] == "running":
            await asyncio.sleep(0)
            sent = await bench.data("get_output", session_id=session)
    assert sent["status"] == "exited(7)"


async def gone(process: int) -> None:
    """Wait until a process has ended; one that nobody reaped yet has ended as well."""
    for _ in range(2_000):
        if not _alive(process):
            return
        await asyncio.sleep(DEADLINE / 2_000)
    raise AssertionError(f"{process} still runs")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return (
            not status.exists()
            or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
        )
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_c9_background_commands_stream_are_listed_awaited_and_ended(bench: Bench) -> None:
    # More on stderr than a pipe holds, before anything on stdout.
    command = "head -c 300000 /dev/zero | tr '\\0' 'e' >&2; echo ou''t; exec sleep 987"
    made = await bench.data("run_command", command=command, isBackground=True)
    terminal, read = made["terminalId"], dict(made)
    async with asyncio.timeout(DEADLINE):
        while "out" not in read["output"]:
            read = dict(await bench.data("get_terminal_output", id=terminal, wait=0.01))
    assert read["isRunning"] is True
    listed = (await bench.data("get_terminal_output"))["terminals"]
    assert [(one["terminalId"], one["isRunning"]) for one in listed] == [(terminal, True)]
    assert not (await bench.data("get_terminal_output", id=terminal, end=True))["isRunning"]
    await gone(made["pid"])
    made = await bench.data("run_command", command="exit 4", isBackground=True)
    ended = await bench.data("get_terminal_output", id=made["terminalId"], wait=DEADLINE)
    assert (ended["isRunning"], ended["exitCode"]) == (False, 4)


async def test_c10_raising_the_limit_holds_at_once_and_every_model_call_counts(
    opened: Opened,
) -> None:
    raised = Call("increase_max_iterations", {"requested_iterations": 4, "reason": "more to do"})
    think = Reply(calls=(Call("think", {"thoughts": "x"}),))
    async with FakeServer([Reply(calls=(raised,)), *[think] * 9]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k", max_turns=2)
        finished = await bench.session.run("Go")
        assert (finished.reason, finished.steps, finished.exit_code) == ("limit", 4, 53)
        assert len(server.requests) == 4
    told = await bench.bad("increase_max_iterations", requested_iterations=9, reason="no turn runs")
    assert "No turn of an agent runs here" in told


async def test_c11_names_are_resolved_before_the_schedule_and_results_stand_in_call_order(
    opened: Opened,
) -> None:
    calls = (
        Call("file_operations.read_file", {"filePath": "root_files/sample.txt"}),
        Call("run_command", {"command": "echo made > by-command.txt"}),
        Call("read_file", {"filePath": "by-command.txt"}),
        Call("memory_operations.store_memory", {"content": "one"}),
    )
    async with FakeServer([Reply(calls=calls), Reply(text="Done.")]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        executor = bench.runtime.executor
        for name, operation, schedule in (
            ("terminal_operations", "run_command", Schedule.BLOCKING),
            ("memory_operations", "store_memory", Schedule.SERIAL),
            ("file_operations", "read_file", Schedule.PARALLEL),
        ):
            given = {"command": "x", "content": "x", "filePath": "x"}
            for spelled, more in (
                (name, {"operation": operation}),
                (f"{name}.{operation}", {}),
                (operation, {}),
            ):
                call = ToolCall(CallId("c"), spelled, json.dumps({**given, **more}))
                plan = executor.plan(call)
                assert (plan.key, plan.schedule) == (f"{name}.{operation}", schedule)
        await bench.session.run("Go")
    results = [m for m in bench.session.messages if isinstance(m, ToolMessage)]
    assert [m.call_id for m in results] == [c.id for c in calls_of(bench.session.messages)]
    assert "TESTMARKER_SAMPLE" in results[0].text and "made" in results[2].text


async def test_c12_every_call_of_a_message_gets_exactly_one_result(opened: Opened) -> None:
    calls = (
        Call("no_such_tool", {}),
        Call("read_file", '{"filePath": '),
        Call("read_file", {"filePath": "nowhere.txt"}),
        Call("create_file", {"filePath": "../outside.txt", "content": "x"}),
        Call("think", {"thoughts": "fine"}),
        Call("think", {"thoughts": "same id"}, id="call_4"),
    )
    async with FakeServer([Reply(calls=calls), Reply(text="Done.")]) as server:
        settings = {"model": "openai/x", "api_base": server.base, "api_key": "k"}
        bench = opened(person=Person(agrees=False), **settings)
        assert (await bench.session.run("Go")).reason == "finished"
        sent = server.requests[-1].json["messages"]
    made = [call["id"] for m in sent for call in m.get("tool_calls", ())]
    assert len(made) == len(set(made)) == 6
    assert [m["tool_call_id"] for m in sent if m["role"] == "tool"] == made


def _todo(identifier: int, **more: Any) -> dict[str, Any]:
    return {"id": identifier, "title": f"Item {identifier}", "status": "not-started", **more}


async def test_c13_the_newest_begun_item_stays_and_the_demoted_one_is_reported(
    bench: Bench,
) -> None:
    await bench.good("todo_operations.write", todoList=[_todo(1), _todo(2, status="in-progress")])
    text = await bench.good(
        "todo_operations.update", todoUpdates=[{"id": 1, "status": "in-progress"}]
    )
    stored = {item.id: item.status for item in bench.runtime.todos.items(bench.conversation)}
    assert stored == {1: "in-progress", 2: "not-started"}
    assert "in-progress" in text and "2" in text and "not-started" in text


@pytest.mark.parametrize(
    ("items", "words"),
    [
        pytest.param([_todo(1), _todo(1)], "unique", id="duplicate-ids"),
        pytest.param([_todo(1, title="  ")], "title is empty", id="blank-title"),
        pytest.param([_todo(0)], "0", id="id-zero"),
        pytest.param([_todo(1, status="blocked")], "eason", id="blocked-without-reason"),
    ],
)
async def test_c14_lists_that_break_a_rule_are_refused(
    bench: Bench, items: list[dict[str, Any]], words: str
) -> None:
    assert words in await bench.bad("todo_operations.write", todoList=items)
    assert bench.runtime.todos.items(bench.conversation) == ()


async def test_c14_unmet_dependencies_are_told_times_kept_and_nothing_applied_is_no_success(
    bench: Bench,
) -> None:
    begun = _todo(2, status="in-progress", dependencies=[1])
    assert "1" in await bench.good("todo_operations.write", todoList=[_todo(1), begun])
    before = bench.runtime.todos.items(bench.conversation)
    await bench.good("todo_operations.update", todoUpdates=[{"id": 1, "priority": "high"}])
    after = bench.runtime.todos.items(bench.conversation)
    assert [i.created_at for i in after] == [i.created_at for i in before]
    assert after[1].updated_at == before[1].updated_at
    await bench.bad("todo_operations.update", todoUpdates=[{"id": 77, "status": "completed"}])


async def test_c15_a_circle_is_told_for_its_members_only_and_layers_cost_nothing(
    bench: Bench,
) -> None:
    circle = [
        _todo(1, dependencies=[2]),
        _todo(2, dependencies=[1]),
        _todo(3, dependencies=[1]),
    ]
    told = await bench.bad("todo_operations.write", todoList=circle)
    assert "2 problems" in told and "3" not in told.replace("2 problems", "")
    layers: list[dict[str, Any]] = [_todo(1), _todo(2)]
    for n in range(3, 401, 2):
        layers += [_todo(n, dependencies=[n - 2, n - 1]), _todo(n + 1, dependencies=[n - 2, n - 1])]
    await bench.good("todo_operations.write", todoList=layers)


async def test_c16_memories_are_deduplicated_by_scope_and_found_after_a_restart(
    opened: Opened,
) -> None:
    bench = opened()
    fact = {"content": "the robot arm turns before the camera looks"}
    assert (await bench.data("store_memory", fact))["new"] is True
    assert (await bench.data("store_memory", fact))["new"] is False
    done = await bench.call("store_memory", fact, another(bench))
    assert done.data["new"] is True
    asked = {"query": "robot camera", "similarity_threshold": 0.1}
    before = await bench.data("search_memory", asked)
    await bench.runtime.close()
    again = opened()
    conversation = again.runtime.open_session(bench.conversation).conversation
    after = (await again.call("search_memory", asked, conversation)).data
    assert after == before and before["memories"]
