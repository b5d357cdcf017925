import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tools.history import ReadToolResult
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.tooling.contract import Permit, ToolContext
from tests.todos.harness import Harness

TEXT = "".join(f"line {n} é中👩\u200d👧\n" for n in range(3_000))


def content(chunk: str) -> str:
    """What stands between the content lines."""
    return chunk.partition("--- Content ---\n")[2].rpartition("\n--- End Content ---")[0]


def keep(harness: Harness, text: str, call: str = "call_big") -> None:
    harness.storage.results.save(harness.conversation, CallId(call), text)


@pytest.mark.requirement("todos:result-chunk")
async def test_a_slice_has_its_place_and_how_to_go_on(harness: Harness):
    keep(harness, "abcdefghij")
    done = await harness.call(
        "read_tool_result", {"toolCallId": "call_big", "offset": 2, "length": 3}
    )
    assert done.finished.text == (
        "[TOOL_RESULT_CHUNK]\n"
        "Tool Call ID: call_big\n"
        "Offset: 2\n"
        "Length: 3\n"
        "Total Length: 10\n"
        "Has More: true\n"
        "Next Offset: 5\n"
        "\n"
        "--- Content ---\n"
        "cde\n"
        "--- End Content ---\n"
        "\n"
        'Read on with read_tool_result(toolCallId="call_big", offset=5, length=3).'
    )
    assert done.data == {
        "toolCallId": "call_big",
        "offset": 2,
        "length": 3,
        "totalLength": 10,
        "hasMore": True,
    }
    last = await harness.call("read_tool_result", {"toolCallId": "call_big", "offset": "5"})
    assert "Has More: false\n\n--- Content ---\nfghij\n" in last.finished.text
    assert "Next Offset" not in last.finished.text
    assert last.finished.text.endswith("This is the end of the result.")


@pytest.mark.requirement("todos:result-chunk")
async def test_slices_are_code_points_and_together_are_the_whole(harness: Harness):
    keep(harness, TEXT)
    parts: list[str] = []
    offset = 0
    while True:
        done = await harness.call("read_tool_result", {"toolCallId": "call_big", "offset": offset})
        parts.append(content(done.finished.text))
        if not done.data["hasMore"]:
            break
        assert len(parts[-1]) == 8192
        offset = int(re.findall(r"Next Offset: (\d+)", done.finished.text)[0])
    assert "".join(parts) == TEXT


@pytest.mark.requirement("todos:result-chunk")
async def test_a_slice_is_capped_at_32768_and_never_stored_again_itself(harness: Harness):
    keep(harness, TEXT * 2)
    done = await harness.call("read_tool_result", {"toolCallId": "call_big", "length": 10**9})
    assert content(done.finished.text) == (TEXT * 2)[:32_768]
    assert "[TOOL_RESULT_STORED" not in done.finished.text
    assert harness.storage.results.calls(harness.conversation) == ["call_big"]


@pytest.mark.requirement("todos:result-empty")
async def test_an_empty_result_can_be_read_and_the_end_is_no_error(harness: Harness):
    keep(harness, "")
    done = await harness.call("read_tool_result", {"toolCallId": "call_big"})
    assert done.finished.ok
    assert "Total Length: 0\nHas More: false" in done.finished.text
    assert done.finished.text.endswith("The result is empty.")
    keep(harness, "abc")
    end = await harness.call("read_tool_result", {"toolCallId": "call_big", "offset": 3})
    assert end.finished.ok
    assert "Length: 0\n" in end.finished.text
    assert end.finished.text.endswith("This is the end: nothing follows.")


@pytest.mark.requirement("todos:result-empty")
@pytest.mark.parametrize(
    "arguments", [{"offset": 4}, {"offset": -1}, {"length": 0}, {"length": -5}, {"offset": "x"}]
)
async def test_places_outside_the_result_are_wrong_arguments(
    harness: Harness, arguments: dict[str, object]
):
    keep(harness, "abc")
    done = await harness.call("read_tool_result", {"toolCallId": "call_big", **arguments})
    assert not done.finished.ok
    assert next(iter(arguments)) in done.finished.text


@pytest.mark.requirement("todos:result-ids")
@pytest.mark.parametrize(
    "hostile",
    [
        "../call_big",
        "..",
        ".hidden",
        "a/b",
        "a\\b",
        "",
        "a b",
        "a\x00",
        "x" * 129,
        "call_big\nx",
        "é",
    ],
)
async def test_an_id_that_could_be_a_path_is_refused_before_it_is_looked_up(
    harness: Harness, hostile: str
):
    keep(harness, "secret", hostile)
    done = await harness.call("read_tool_result", {"toolCallId": hostile})
    assert not done.finished.ok
    assert "secret" not in done.finished.text
    assert "not the id of a result" in done.finished.text


@pytest.mark.requirement("todos:result-ids")
@pytest.mark.parametrize("real", ["toolu_01AbC", "call-5f0c", "functions.read_file:0", "0"])
async def test_ids_as_providers_make_them_are_taken(harness: Harness, real: str):
    keep(harness, "here", real)
    assert (
        content((await harness.call("read_tool_result", {"toolCallId": real})).finished.text)
        == "here"
    )


@pytest.mark.requirement("todos:result-ids")
async def test_an_unknown_id_is_told_with_the_nearest_ones(harness: Harness):
    for call in ("call_aaaa1", "call_aaaa2", "call_aaab3", "call_aaaa4", "call_zzzzzzzz"):
        keep(harness, "x", call)
    done = await harness.call("read_tool_result", {"toolCallId": "call_aaaa"})
    assert not done.finished.ok
    assert "Did you mean call_aaaa1, call_aaaa2, call_aaaa4?" in done.finished.text
    far = await harness.call("read_tool_result", {"toolCallId": "something_else"})
    assert "Did you mean" not in far.finished.text


@pytest.mark.requirement("todos:result-ids")
async def test_another_conversations_result_is_not_found(harness: Harness):
    other = ConversationId("other")
    harness.storage.conversations.create(other, "/ws")
    harness.storage.results.save(other, CallId("call_theirs"), "secret")
    done = await harness.call("read_tool_result", {"toolCallId": "call_theirs"})
    assert not done.finished.ok
    assert "secret" not in done.finished.text
    assert "Nothing is stored in this conversation yet." in done.finished.text


@pytest.mark.requirement("todos:result-chunk")
async def test_the_hint_of_a_clipped_result_leads_to_the_rest(harness: Harness):
    await harness.stand(
        *(
            {"id": n, "title": f"Item {n} {'x' * 200}", "status": "not-started"}
            for n in range(1, 61)
        )
    )
    whole = await harness.todos("read")
    hint = re.search(r'read_tool_result\(toolCallId="(\w+)", offset=(\d+)\)', whole.finished.text)
    assert hint is not None
    rest = await harness.call(
        "read_tool_result", {"toolCallId": hint[1], "offset": hint[2], "length": 32_000}
    )
    shown = whole.finished.text.partition("\n")[2][: int(hint[2])]
    told = shown + content(rest.finished.text)
    assert [int(n) for n in re.findall(r"^  (\d+)\. Item", told, re.M)] == list(range(1, 61))


class One:
    """A store with one result."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, conversation: ConversationId, call: CallId, text: str) -> None:
        self.text = text

    def load(self, conversation: ConversationId, call: CallId) -> str | None:
        return self.text

    def calls(self, conversation: ConversationId) -> list[CallId]:
        return [CallId("a")]


@pytest.mark.requirement("todos:result-chunk")
@given(st.text(max_size=60), st.integers(1, 20))
async def test_following_next_offset_reads_everything_once(text: str, length: int):
    operation = ReadToolResult(One(text)).tool().operations[0]
    context = ToolContext(ConversationId("c"), CallId("k"), "/ws", Permit({}), lambda _: None)
    read, more = "", True
    while more:
        arguments = operation.arguments.model_validate({
            "toolCallId": "a",
            "offset": len(read),
            "length": length,
        })
        result = await operation.run(arguments, context)
        assert result.data["totalLength"] == len(text)
        read += content(result.text)
        more = result.data["hasMore"]
    assert read == text
