"""A subagent's events in a headless run: labelled by the call that sent it, never taken for its own."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.openai_server import Call, Recorded, Reply, background
from tests.headless.conftest import Ended, Program

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
OUTSIDE = Call("file_operations.create_file", {"filePath": "../outside.txt", "content": "x"})
TODO = {"id": 1, "title": "the helper's own", "description": "", "status": "in-progress"}


def player(request: Recorded) -> Reply:
    """The parent sends one helper; the helper writes a list, tries to write outside, and answers."""
    messages = request.json["messages"]
    said = [m["content"] for m in messages if m["role"] == "user"]
    first = next(text for text in said if "<system-reminder>" not in text)
    turn = sum(m["role"] == "assistant" for m in messages)
    if first == "go":
        if turn == 0:
            send = Call("run_subagent", {"task": "help", "instructions": "out"}, id="sender")
            return Reply(calls=(send,), usage=USAGE)
        return Reply(text="All done.", usage=USAGE)
    steps = [
        Reply(calls=(Call("todo_operations.write", {"todoList": [TODO]}),), usage=USAGE),
        Reply(calls=(OUTSIDE,), usage=USAGE),
        Reply(text="Helped.", usage=USAGE),
    ]
    return steps[turn]


def ran(program: Program, *arguments: str) -> Ended:
    """The run, to its end."""
    with background([player] * 5) as server:
        return program.run(
            *("go", "--model", "openai/x", "--api-base", server.base, "--api-key", "k"), *arguments
        )


@pytest.mark.requirement("headless:subagents")
def test_its_lines_name_the_call_and_the_result_counts_what_is_its_own(program: Program) -> None:
    ended = ran(program, "--output-format", "stream-json", "--include-partial-messages")
    result = ended.result
    started = ended.of_kind("subagent")[0]
    (sent,) = [
        block["id"]
        for line in ended.of_kind("assistant")
        for block in line["message"]["content"]
        if block.get("name") == "run_subagent"
    ]
    assert (started["tool_use_id"], started["task"]) == (sent, "help")
    theirs = [line for line in ended.lines if line.get("parent_tool_use_id")]
    assert {line["parent_tool_use_id"] for line in theirs} == {sent}
    assert {line["session_id"] for line in ended.lines} == {result["session_id"]}
    texts = {_text(line): line["parent_tool_use_id"] for line in ended.of_kind("assistant")}
    assert texts["Helped."] == sent and texts["All done."] is None
    pieces = [line for line in ended.of_kind("stream_event") if "Helped" in json.dumps(line)]
    assert [line["parent_tool_use_id"] for line in pieces] == [sent]
    # The list and the count of turns are the conversation's; the cost is of everything.
    assert (result["todos"], result["num_turns"]) == ([], 2)
    assert result["usage"]["input"] == 50
    (denial,) = result["permission_denials"]
    assert denial["parent_tool_use_id"] == sent
    assert (ended.code, result["result"]) == (3, "All done.")


@pytest.mark.requirement("headless:subagents")
def test_progress_for_people_says_whose_it_is(program: Program) -> None:
    ended = ran(program, "--verbose")
    assert ended.out == "All done.\n"
    refused = [line for line in ended.err.splitlines() if "refused:" in line]
    assert refused and all(line.startswith("[help] ") for line in refused)
    assert "Spawning subagent: help" in ended.err.splitlines()


def _text(line: dict[str, Any]) -> str:
    blocks = line["message"]["content"]
    return next((block["text"] for block in blocks if block["type"] == "text"), "")


def sends_to(model: str) -> Callable[[Recorded], Reply]:
    """The parent sends one subagent with another model, then answers."""

    def play(request: Recorded) -> Reply:
        messages = request.json["messages"]
        if any(m["role"] == "assistant" for m in messages) or "secret task" in str(messages):
            return Reply(text="Done.", usage=USAGE)
        errand = {"task": "the secret task", "model": model}
        return Reply(calls=(Call("run_subagent", errand, id="sender"),), usage=USAGE)

    return play


@pytest.mark.requirement("subagent:model-host")
@pytest.mark.parametrize(
    ("model", "reply", "goes", "code"),
    [
        ("openai/other", "", "same", 0),
        ("ollama/other", "", "", 3),
        ("ollama/other", "deny", "", 0),
        ("ollama/other", "approve", "elsewhere", 0),
    ],
)
def test_a_task_goes_to_another_host_only_with_a_yes(
    program: Program, monkeypatch: pytest.MonkeyPatch, model: str, reply: str, goes: str, code: int
) -> None:
    answers = program.folder / "answers.json"
    answers.write_text(json.dumps([{"match": "secret task", "reply": reply}] if reply else []))
    with background([sends_to(model)] * 3) as first, background([sends_to("")] * 2) as second:
        monkeypatch.setenv("OPENAI_BASE_URL", first.base)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OLLAMA_API_BASE", second.base)
        ended = program.stream("go", "--model", "openai/x", "--answers", str(answers))
        used = [r.json["model"] for r in (*first.requests, *second.requests)]
        elsewhere = len(second.requests)
        hosts = [server.base.split("/")[2] for server in (first, second)]
    assert bool(elsewhere) == (goes == "elsewhere")
    assert ("other" in used) == bool(goes)
    refusals = json.dumps(ended.of_kind("user"))
    assert goes or all(host in refusals for host in hosts)
    assert ended.code == code
