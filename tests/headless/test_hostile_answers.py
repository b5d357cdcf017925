"""Answers that end too early, or are too large, from a server that means no good: told, never a defect."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from tests.fakes.openai_server import Call, Player, Reply, background, failure
from tests.headless.conftest import Ended, Program


def ask(program: Program, *replies: Player) -> tuple[Ended, list[list[Any]]]:
    """A run against a server with these replies, and the messages of each request."""
    with background(replies) as server:
        ended = program.stream(*(
            "go",
            "--model",
            "openai/x",
            "--api-base",
            server.base,
            "--api-key",
            "k",
        ))
        return ended, [request.json["messages"] for request in server.posts]


HALF, EMPTY = Reply(text="Half ", finish="length"), Reply()
CUT_CALL = Reply(
    calls=(Call("file_operations", '{"operation": "create_file", "filePath": "a", "con'),),
    finish="length",
)
EARLY: Mapping[str, tuple[tuple[Reply, Reply], int, str, str, str]] = {
    "length, then the rest": ((HALF, Reply(text="whole")), 0, "success", "Half whole", "continued"),
    "length, twice": ((HALF, HALF), 53, "error_max_output", "Half Half ", "length"),
    "empty, then words": ((EMPTY, Reply(text="Done.")), 0, "success", "Done.", "continued"),
    "empty, twice": ((EMPTY, EMPTY), 75, "error_unavailable", "", "empty"),
    "half a call": ((CUT_CALL, Reply(text="Done.")), 0, "success", "Done.", "continued"),
}


@pytest.mark.requirement("headless:early-end")
@pytest.mark.parametrize("case", EARLY)
def test_an_answer_that_ends_too_early_is_continued_once_and_marked(
    program: Program, case: str
) -> None:
    replies, code, subtype, said, ending = EARLY[case]
    ended, requests = ask(program, *replies)
    result = ended.result
    assert (ended.code, result["subtype"], result["result"]) == (code, subtype, said)
    assert result["answer_end"] == ending
    assert len(requests) == 2
    assert requests[1][: len(requests[0])] == requests[0]
    assert requests[1][-1]["role"] == "user"
    assert [line["level"] for line in ended.of_kind("notice")] == ["warning"]
    assert not any((program.workspace).iterdir())


@pytest.mark.requirement("headless:early-end")
def test_a_whole_answer_is_marked_as_one(program: Program) -> None:
    ended, _ = ask(program, Reply(text="Whole."))
    assert (ended.code, ended.result["answer_end"]) == (0, "complete")


PING: Mapping[str, Any] = {"type": "function", "function": {"name": "think", "arguments": "{}"}}


def many_calls(count: int) -> Reply:
    """So many calls, up to 10,000 of them in one event."""
    pieces = [{**PING, "index": n, "id": f"c{n}"} for n in range(count)]
    groups = (pieces[n : n + 10_000] for n in range(0, count, 10_000))
    deltas: list[tuple[dict[str, Any], str]] = [({"tool_calls": group}, "") for group in groups]
    deltas.append(({}, "tool_calls"))
    choices = [{"delta": delta, "finish_reason": finish or None} for delta, finish in deltas]
    return Reply(events=[{"choices": [choice]} for choice in choices])


def nested(depth: int) -> Reply:
    """A call with arguments so deep."""
    return Reply(
        calls=(Call("think", '{"thought":' + "[" * depth + "]" * depth + "}"),), chunk=4096
    )


AS_TEXT = '<tool_call>{"name": "think", "arguments": {}}</tool_call>'
WORDS = b'data: {"choices": [{"delta": {"content": "' + b"word " * 200 + b'"}}]}\n\n'
TOO_LARGE: Mapping[str, tuple[Callable[[], Reply], str]] = {
    "20,000 calls": (lambda: many_calls(20_000), "answer_calls"),
    "calls written as text": (lambda: Reply(text=AS_TEXT * 1000, chunk=9999), "answer_calls"),
    "100,000 levels": (lambda: nested(100_000), "argument_depth"),
    "arguments without end": (
        lambda: Reply(calls=(Call("think", '"' + "x" * 5_000_000),), chunk=100_000),
        "argument_bytes",
    ),
    "words without end": (lambda: Reply(raw="", endless=WORDS * 40), "answer_bytes"),
}


@pytest.mark.requirement("headless:answer-limits")
@pytest.mark.parametrize("case", TOO_LARGE)
def test_an_answer_beyond_its_limits_ends_the_run_with_53(program: Program, case: str) -> None:
    reply, setting = TOO_LARGE[case]
    ended, requests = ask(program, reply())
    assert (ended.code, ended.result["subtype"]) == (53, "error_max_answer")
    assert setting in ended.result["error"]["message"]
    assert ended.of_kind("user") == []
    assert len(requests) == 1


@pytest.mark.requirement("headless:answer-limits")
def test_the_limits_of_an_answer_are_settings(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = program.folder / "settings"
    settings.mkdir()
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(settings))
    (settings / "policy.toml").write_text("[limits]\nanswer_calls = 3\n", "utf-8")
    kept, _ = ask(program, many_calls(3), Reply(text="Done."))
    assert (kept.code, len(kept.of_kind("user"))) == (0, 3)
    refused, _ = ask(program, many_calls(4))
    assert "more than 3 calls" in refused.result["error"]["message"]
    (program.workspace / ".sam").mkdir()
    project = program.workspace / ".sam" / "policy.toml"
    project.write_text("[limits]\nanswer_calls = 128\nargument_depth = 9\n", "utf-8")
    raised, _ = ask(program, many_calls(4))
    assert "more than 3 calls" in raised.result["error"]["message"]
    lowered, _ = ask(program, nested(10))
    assert "more than 9 deep" in lowered.result["error"]["message"]
    (settings / "policy.toml").write_text("[limits]\nargument_depth = 201\n", "utf-8")
    wrong, _ = ask(program)
    assert wrong.code == 52
    assert "8 to 200" in json.dumps(wrong.result["error"])


@pytest.mark.requirement("headless:answer-limits")
def test_what_a_person_set_as_the_size_of_an_answer_bounds_the_response_as_well(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = program.folder / "settings"
    settings.mkdir()
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(settings))
    (settings / "policy.toml").write_text("[limits]\nanswer_bytes = 65536\n", "utf-8")
    ended, _ = ask(program, Reply(raw="", endless=b": still there\n\n" * 400))
    assert (ended.code, ended.result["subtype"]) == (53, "error_max_answer")
    assert f"more than {8 * 65536:,} bytes" in ended.result["error"]["message"]


SECRET = "zk-Ab+c/d3f_Gh1jK=l"
SPELLED: Mapping[str, str] = {
    "as it is": SECRET,
    "in base64": base64.b64encode(SECRET.encode()).decode(),
    "in a header": f"Bearer {SECRET}",
    "for a URL": quote(SECRET, safe=""),
    "as JSON": json.dumps(SECRET).replace("/", "\\/"),
}


@pytest.mark.requirement("headless:key-echo")
@pytest.mark.parametrize("how", SPELLED)
def test_a_key_that_comes_back_in_an_error_is_shown_nowhere(program: Program, how: str) -> None:
    echo = failure(400, f"Not valid: {SPELLED[how]}", code="bad")
    with background([echo]) as server:
        where = ("--model", "openai/x", "--api-base", server.base, "--api-key", SECRET)
        ended = program.stream("go", "--verbose", *where)
    assert ended.code == 1
    assert "Not valid" in ended.out
    for text in (ended.out, ended.err):
        assert SPELLED[how] not in text and SECRET not in text
