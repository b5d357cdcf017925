"""spec/sam.md 9.2, C17 to C30: what was wrong in SAM is right on the assembled runtime."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.errors import ToolError
from sam_tui.core.events import HistoryShortened, ToolFinished, ToolProgressed
from sam_tui.core.ids import mint_conversation
from sam_tui.core.inquiry import Reply as Answered
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.registry import Registry, built_ins_first
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.fakes.programs import found
from tests.framework.bench import Bench, Person
from tests.framework.conftest import Opened

pytestmark = pytest.mark.requirement("framework:corrections")

DEADLINE = 90.0


def settings(server: FakeServer, **more: Any) -> dict[str, Any]:
    """What a runtime needs to speak with the server."""
    return {"model": "openai/x", "api_base": server.base, "api_key": "k", **more}


async def test_c17_reminders_stand_once_right_before_the_message(opened: Opened) -> None:
    todos = {"todoList": [{"id": 1, "title": "One", "status": "in-progress"}]}
    first = Reply(
        calls=(
            Call("todo_operations.write", todos),
            Call("store_memory", {"content": "the arm turns"}),
        )
    )
    async with FakeServer([first, Reply(text="Done."), Reply(text="Again.")]) as server:
        bench = opened(**settings(server))
        await bench.session.run("Begin")
        await bench.session.run("Go on")
        sent = server.requests[-1].json["messages"]
    texts = [m["content"] or "" for m in sent]
    assert texts[-1] == "Go on"
    said = [n for n, text in enumerate(texts) if n and "<system-reminder>" in text]
    block = [n for n in said if n > texts.index("Done.")]
    assert block == list(range(texts.index("Done.") + 1, len(texts) - 1))
    for tag in ("<todoList>", "<recentlyStoredMemories>"):
        assert sum(tag in texts[n] for n in block) == 1, tag
    assert all(sent[n]["role"] == "user" for n in block)


async def talked(bench: Bench, messages: int) -> list[str]:
    """Say so much that a small context cannot hold all of it."""
    said = [
        f"Message {n}. The robot arm number {n} turns. " + "Long. " * 700 for n in range(messages)
    ]
    for text in said:
        assert (await bench.session.run(text)).reason == "finished"
    return said


async def test_c18_what_left_the_context_is_recalled(opened: Opened) -> None:
    async with FakeServer([Reply(text="Yes.")] * 12) as server:
        bench = opened(**settings(server, context_tokens=16_000))
        assert "Nothing is archived yet" in await bench.good("recall_history", query="robot")
        await talked(bench, 12)
        text = await bench.good("recall_history", query="robot arm number 0", limit=10)
    assert "robot arm number 0" in text


async def test_c19_one_unit_throughout_and_the_hint_starts_where_the_preview_ends(
    bench: Bench,
) -> None:
    whole = "".join(chr(0x1F400 + n % 60) + "é" for n in range(6000))
    shown = await bench.good("think", thoughts=whole)
    assert "totalLength=12000, remaining=3808]" in shown and "offset=8192)" in shown
    preview = shown.partition("\n")[2].partition("\n[TOOL_RESULT_STORED")[0]
    rest = await bench.good("read_tool_result", toolCallId="call_0", offset=8192)
    content = rest.partition("--- Content ---\n")[2].partition("\n--- End Content ---")[0]
    assert preview + content == whole


async def test_c20_a_small_context_gets_a_gapless_end_within_its_limit(opened: Opened) -> None:
    async with FakeServer([Reply(text="Yes.")] * 12) as server:
        bench = opened(**settings(server, context_tokens=16_000))
        said = await talked(bench, 12)
        bodies = list(server.requests)
    assert any(isinstance(e, HistoryShortened) for e in bench.events.drain())
    assert max(len(request.body) for request in bodies) / 4 < 16_000
    sent = [m["content"] for m in bodies[-1].json["messages"] if m["content"] in said]
    assert 0 < len(sent) < len(said)
    assert sent == said[-len(sent) :]


async def test_c21_the_prefix_holds_nothing_that_changes(opened: Opened) -> None:
    store = Reply(calls=(Call("store_memory", {"content": "the arm turns"}),))
    async with FakeServer([store, *[Reply(text="Yes.")] * 3]) as server:
        for _ in range(2):
            bench = opened(**settings(server))
            await bench.session.run("Go")
        heads = {request.body.partition(b'{"role":"user"')[0] for request in server.requests}
    assert len(server.requests) >= 3
    assert len(heads) == 1


async def test_c22_a_question_ends_with_its_call_and_takes_one_answer(opened: Opened) -> None:
    bench = opened(person=Person(reply=None))
    inquiries = bench.runtime.inquiries
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(bench.call("user_collaboration", prompt="Which?"))
        await opened_question(bench)
        (question,) = inquiries.pending()
        assert question.conversation == bench.conversation
        asking.cancel()
    assert asking.cancelled() and inquiries.pending() == []
    assert inquiries.answer(question.id, Answered("late")) is False
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(bench.call("user_collaboration", prompt="Which?"))
        await opened_question(bench)
        (question,) = inquiries.pending()
        assert inquiries.answer(question.id, Answered("red")) is True
        assert inquiries.answer(question.id, Answered("blue")) is False
    assert "User response: red" in asking.result().finished.text


async def opened_question(bench: Bench) -> None:
    """Wait until a question stands open."""
    async with asyncio.timeout(DEADLINE):
        while not bench.runtime.inquiries.pending():
            await bench.events.batch()


async def test_c23_progress_is_heard_while_the_call_runs(bench: Bench) -> None:
    os.mkfifo(bench.folder / "gate")
    heard: list[Any] = []
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.call("run_command", command="echo begun; cat gate"))
        async with asyncio.timeout(DEADLINE):
            while not any(isinstance(e, ToolProgressed) and "begun" in e.text for e in heard):
                heard += await bench.events.batch()
        assert not running.done()
        assert not any(isinstance(e, ToolFinished) for e in heard)
        await asyncio.to_thread((bench.folder / "gate").write_text, "opened\n")
    assert running.result().finished.text.strip() == "begun\nopened"


async def test_c24_plug_ins_are_listed_after_the_built_ins_by_name(bench: Bench) -> None:
    async def run(_: NoArguments, __: ToolContext) -> ToolResult:
        return ToolResult("")

    operation = Operation("x", "x", NoArguments, run, lambda _: "x")
    made = [Tool(name, "One more.", (operation,), consolidated=False) for name in ("zeta", "alpha")]
    own = bench.runtime.registry.tools
    registry = Registry(built_ins_first(own, made))
    names = [schema["function"]["name"] for schema in registry.schemas]
    assert names == [*(tool.name for tool in own), "alpha", "zeta"]


async def test_c25_tasks_run_and_git_tells_renames_and_worktrees_and_invents_no_author(
    bench: Bench, tmp_path: Path
) -> None:
    task = {"label": "sum", "command": "echo $((40+2)); exit 3"}
    done = await bench.call("create_and_run_task", task=task)
    assert not done.finished.ok and done.data["exitCode"] == 3 and "42" in done.data["output"]
    bench.repository()
    (bench.folder / "data/test.csv").rename(bench.folder / "data/moved.csv")
    git = (found("git"), "-C", str(bench.folder))
    await asyncio.to_thread(subprocess.run, [*git, "add", "-A"], check=True)
    bench.write("new.txt", "new")
    files = (await bench.data("get_changed_files"))["files"]
    assert {f["path"]: f["status"] for f in files} == {
        "data/moved.csv": "renamed",
        "new.txt": "untracked",
    }
    tree = bench.folder / "tree"
    added = [*git, "worktree", "add", "-q", str(tree)]
    await asyncio.to_thread(subprocess.run, added, check=True)
    assert (tree / ".git").is_file()
    (tree / "more.txt").write_text("more")
    files = (await bench.data("get_changed_files", repositoryPath="tree"))["files"]
    assert [f["path"] for f in files] == ["more.txt"]
    (Path.home() / ".gitconfig").unlink()
    before = (bench.folder / ".git/config").read_text()
    assert "whose commit" in await bench.bad("git_commit", message="Nobody's")
    assert (bench.folder / ".git/config").read_text() == before


async def test_c26_a_subagent_keeps_to_its_budget_and_its_tools(opened: Opened) -> None:
    errand = {"task": "Work", "instructions": "on", "maxIterations": 3}
    tries = Reply(
        calls=(
            Call("run_subagent", {"task": "deeper"}, id="a"),
            Call("run_command", {"command": "touch made"}, id="b"),
            Call("increase_max_iterations", {"requested_iterations": 99, "reason": "x"}, id="c"),
        )
    )
    async with FakeServer([
        Reply(calls=(Call("run_subagent", errand),)),
        tries,
        tries,
        tries,
        Reply(text="End."),
    ]) as server:
        bench = opened(**settings(server))
        assert (await bench.session.run("Go")).answer == "End."
        assert len(server.requests) == 5
        child = server.requests[3].json["messages"]
        last = server.requests[-1].json["messages"]
    refused = [m["content"] for m in child if m["role"] == "tool"][:3]
    assert all(text.startswith("ERROR: There is no tool") for text in refused)
    assert not (bench.folder / "made").exists()
    report = next(m["content"] for m in last if m["role"] == "tool")
    assert "Status: limit. Model calls: 3." in report


async def test_c27_two_runtimes_and_two_conversations_share_no_state(
    opened: Opened, tmp_path: Path, environ: dict[str, str]
) -> None:
    bench = opened()
    (tmp_path / "other").mkdir()
    options = Options(str(tmp_path / "other"), str(tmp_path / "data2"), attended=False)
    second = build(options, environ)
    try:
        session = second.open_session()
        other = Bench(second, tmp_path / "other", Person(), session, second.bus.subscribe())
        await bench.good("store_memory", content="the arm turns")
        await bench.good("store", key="k", content="v")
        await bench.good("grep_search", query="TESTMARKER")
        bench.runtime.guard.use_mode("plan")
        assert (await other.data("search_memory", query="arm"))["memories"] == []
        assert (await other.data("list_keys"))["keys"] == []
        assert (await other.data("get_search_results"))["operation"] == ""
        assert second.mode == "ask"
        fresh = bench.runtime.open_session(mint_conversation()).conversation
        found = await bench.call("get_search_results", {}, fresh)
        assert found.data["operation"] == ""
        assert (await bench.data("get_search_results"))["operation"] == "grep_search"
    finally:
        await second.close()


async def test_c28_prompts_are_read_from_where_they_are_kept(bench: Bench, tmp_path: Path) -> None:
    place = tmp_path / "data/prompts/mini"
    place.mkdir(parents=True)
    (place / "own.md").write_text("---\nname: My own\n---\nBe brief.\n", encoding="utf-8")
    text = await bench.good("list_mini_prompts")
    assert "My own" in text and "Be brief." in text
    assert "built-in:default" in await bench.good("list_system_prompts")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        pytest.param("store_memory", {}, ["`content` is missing", '"content"'], id="missing"),
        pytest.param(
            "grep_search", {}, ["`query` is missing", '"grep_search"'], id="its-own-example"
        ),
        pytest.param("user_collaboration", {}, ["`prompt` is missing", '"prompt"'], id="single"),
        pytest.param("read_file", {"filePath": "no.txt"}, ["no.txt", "not found"], id="not-found"),
        pytest.param("read_file", {"filePath": "\0"}, ["NUL"], id="value"),
    ],
)
async def test_c29_what_to_do_comes_from_the_schema_and_the_kind_of_error(
    bench: Bench, name: str, arguments: dict[str, Any], words: list[str]
) -> None:
    told = await bench.bad(name, arguments)
    assert told.startswith("ERROR: ")
    for word in words:
        assert word in told


async def test_c29_a_refusal_says_that_it_was_one(opened: Opened) -> None:
    bench = opened(person=Person(agrees=False))
    told = await bench.bad("create_file", filePath="../x.txt", content="x")
    assert "refused" in told.lower() or "denied" in told.lower()
    assert "permissions" not in told


async def test_c30_aliases_come_from_the_live_schemas_and_lead_nowhere_else(bench: Bench) -> None:
    assert "TESTMARKER" in await bench.good("read_file", filePath="root_files/sample.txt")
    for name in ("agent_operations", "agent_operations.run", "write_file", "insert_at_line"):
        assert "There is no tool" in await bench.bad(name)
    for tool in bench.runtime.registry.tools:
        for operation in tool.operations:
            try:
                found = bench.runtime.registry.resolve(operation.name)
            except ToolError as error:
                # Only a name that several tools have stands for none of them.
                assert operation.name == "retrieve", error
            else:
                assert found.operation is not None
