"""Rows of spec/sam.md 10.3 and 10.4 about calls as text, context, the end of a stream, and folders."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from sam_tui.core.agent.answer import read_text_calls
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.framework.bench import Bench
from tests.framework.conftest import Opened

pytestmark = pytest.mark.requirement("framework:sam-suite")

CALL = '{"name": "think", "arguments": {"thoughts": "a"}}'
OTHER = '{"name": "think", "arguments": {"thoughts": "b"}}'


@pytest.mark.parametrize(
    ("text", "thoughts", "left"),
    [
        pytest.param(f"<tool_call>{CALL}</tool_call>", ["a"], "", id="10.4-a-call-in-a-tag"),
        pytest.param(
            f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{OTHER}\n</tool_call>",
            ["a", "b"],
            "",
            id="10.4-two-calls-in-tags",
        ),
        pytest.param(
            f"Let me think.\n```json\n{CALL}\n```",
            ["a"],
            "Let me think.",
            id="10.4-a-fenced-call-at-the-end",
        ),
        pytest.param(CALL, ["a"], "", id="10.4-a-bare-call"),
        pytest.param(
            f"Before.\n<tool_call>{CALL}</tool_call>",
            ["a"],
            "Before.",
            id="10.4-text-around-a-call-stays",
        ),
    ],
)
async def test_a_call_written_as_text_runs(
    opened: Opened, text: str, thoughts: list[str], left: str
) -> None:
    async with FakeServer([Reply(text=text), Reply(text="Done.")]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        finished = await bench.session.run("Hi")
    assert (finished.answer, finished.steps) == ("Done.", 2)
    said = [m for m in bench.session.messages if m.kind in ("assistant", "tool")]
    assert [m.text for m in said] == [left, *thoughts, "Done."]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="10.4-nothing"),
        pytest.param(f"We discussed {CALL} and {OTHER} before.", id="10.4-in-a-discussion"),
        pytest.param(
            f"For example:\n```json\n{CALL}\n```\nThat is how.", id="10.4-M-a-fenced-example"
        ),
    ],
)
def test_what_is_only_said_is_no_call(text: str) -> None:
    found = read_text_calls(text, lambda _: True)
    assert (found.calls, found.text) == ((), text)


# The context of a message


def contexts(messages: Sequence[dict[str, str]]) -> list[int]:
    """Where a context stands among the messages of a request."""
    return [at for at, m in enumerate(messages) if "<userContext>" in str(m["content"])]


@pytest.mark.parametrize(
    "text", [pytest.param("Hello", id="10.4-context-stands-before-the-message")]
)
async def test_the_context_stands_before_the_message_and_the_message_stays(
    opened: Opened, text: str
) -> None:
    async with FakeServer([Reply(text="Hi.")] * 2) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        await bench.session.run(text)
        await bench.session.run("And now?")
        first, second = (request.json["messages"] for request in server.requests)
        bodies = [request.body for request in server.requests]
    (at,) = contexts(first)
    assert (first[at]["role"], first[at + 1]) == ("user", {"role": "user", "content": text})
    assert "Date: " in first[at]["content"] and "Permission mode: ask" in first[at]["content"]
    assert "Date: " not in first[0]["content"]
    # It holds still: it is not said twice, and the second request extends the first.
    assert contexts(second) == [at]
    assert bodies[1].startswith(bodies[0].removesuffix(b"]}"))


@pytest.mark.parametrize("size", [pytest.param(0, id="10.4-without-a-message-there-is-no-context")])
async def test_nothing_is_said_where_nobody_spoke(bench: Bench, size: int) -> None:
    assert len(bench.session.messages) == size
    request = bench.runtime.engine.requests.build(bench.session.messages)
    assert "<userContext>" not in request.system + request.tools_json


@pytest.mark.parametrize(
    "model", [pytest.param("openai/x", id="10.4-M-context-survives-a-compaction")]
)
async def test_a_context_that_left_is_told_anew(opened: Opened, model: str) -> None:
    async with FakeServer([Reply(text="An answer.")] * 12) as server:
        bench = opened(context_tokens=20_000, model=model, api_base=server.base, api_key="k")
        for number in range(8):
            await bench.session.run(f"Message {number}. " + "It goes on for long. " * 500)
        requests = [request.json["messages"] for request in server.requests]
    summarised = [m for m in requests if any("<thread_summary>" in str(x["content"]) for x in m)]
    assert summarised
    assert all(contexts(messages) for messages in requests)


# The end of a stream, and of a conversation


@pytest.mark.parametrize("chunk", [pytest.param(3, id="10.4-streaming-ends-clean")])
async def test_the_end_of_a_stream_clears_its_flag_and_keeps_what_it_said(
    opened: Opened, chunk: int
) -> None:
    calls = (Call("think", {"thoughts": "a"}),)
    async with FakeServer([
        Reply(text="Let me.", calls=calls, chunk=chunk),
        Reply(text="Done."),
    ]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        await bench.session.run("Hi")
    assert not bench.session.busy
    assert bench.runtime.engine.budgets.get(bench.conversation) is None
    said = [m for m in bench.session.messages if isinstance(m, AssistantMessage)]
    assert [(m.text, len(m.calls)) for m in said] == [("Let me.", 1), ("Done.", 0)]


@pytest.mark.parametrize(
    "name", [pytest.param("nobody", id="10.4-an-unknown-conversation-is-no-stream")]
)
def test_an_unknown_conversation_is_not_at_work(bench: Bench, name: str) -> None:
    assert not bench.runtime.subagents.cancel(ConversationId(name))
    assert bench.runtime.conversations.find(ConversationId(name)) is None


@pytest.mark.parametrize(
    "text", [pytest.param("Hi", id="10.4-messages-are-the-same-in-another-process")]
)
async def test_a_conversation_read_again_is_the_same(opened: Opened, text: str) -> None:
    calls = (Call("think", {"thoughts": "a"}, id="one"), Call("think", "{broken", id="two"))
    async with FakeServer([Reply(calls=calls), Reply(text="Done.")]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        await bench.session.run(text)
    await bench.runtime.close()
    again = opened().runtime.open_session(bench.conversation)
    assert list(again.messages) == list(bench.session.messages)


@pytest.mark.parametrize("said", [pytest.param("Hi", id="10.4-unused-conversations-go-at-the-end")])
async def test_a_conversation_without_a_word_is_gone_and_the_latest_is_what_remains(
    opened: Opened, said: str
) -> None:
    async with FakeServer([Reply(text="Hello.")]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        await bench.session.run(said)
        unused = bench.runtime.open_session().conversation
        await bench.runtime.close()
    store = opened().runtime.conversations
    latest = store.latest(str(bench.folder))
    assert latest is not None and latest.id == bench.conversation
    assert store.find(unused) is None


@pytest.mark.parametrize(
    "size", [pytest.param(100_000, id="10.4-a-folder-stays-while-something-is-in-it")]
)
async def test_a_conversation_with_a_file_of_its_own_stays(
    opened: Opened, tmp_path: Path, size: int
) -> None:
    bench = opened()
    done = await bench.call("think", thoughts="x" * size)
    folder = tmp_path / "data" / "conversations" / bench.conversation
    assert [path.stat().st_size for path in folder.rglob("*.txt")] == [size]
    await bench.runtime.close()
    again = opened()
    assert again.runtime.conversations.find(bench.conversation) is not None
    read = {"toolCallId": done.finished.call, "offset": size - 5}
    text = (await again.call("read_tool_result", read, bench.conversation)).finished.text
    assert "xxxxx" in text


# What SAM could not be asked for


@pytest.mark.parametrize("where", [pytest.param("subdir1", id="10.3-a-working-folder-per-request")])
async def test_a_command_runs_where_it_is_asked_to(bench: Bench, where: str) -> None:
    text = await bench.good("run_command", command="pwd", working_directory=where)
    assert text.strip() == bench.path(where)


@pytest.mark.parametrize(
    "tool", [pytest.param("terminal_operations", id="10.3-abilities-per-request")]
)
async def test_a_tool_that_is_withheld_is_refused_where_it_runs(opened: Opened, tool: str) -> None:
    bench = opened(disabled_tools=(tool,))
    told = await bench.bad(f"{tool}.run_command", command="pwd")
    assert "disabled" in told
    names = [schema["function"]["name"] for schema in bench.runtime.registry.schemas]
    assert tool not in names and "file_operations" in names
