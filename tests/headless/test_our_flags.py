"""Options of ours that no other test names, each by what the model is sent or what is done. 3 s of CPU."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.openai_server import Call, Reply, background
from tests.headless.conftest import Program

Post = dict[str, Any]
STORE = {"operation": "store_memory", "content": "The launch is on Friday."}
SEARCH = {"operation": "search_memory", "query": "launch"}


def _said(post: Post) -> str:
    return json.dumps(post["messages"])


def _names(post: Post) -> list[str]:
    return [tool["function"]["name"] for tool in post["tools"]]


def _run(command: str) -> Reply:
    arguments = {"operation": "run_command", "command": command}
    return Reply(calls=(Call("terminal_operations", arguments),))


DONE = Reply(text="Done.")
FLAGS: dict[str, tuple[list[str], list[Reply], Callable[[list[Post]], bool]]] = {
    "--context-tokens": (["4096"], [DONE], lambda posts: "find_tools" in _names(posts[0])),
    "--personality": (
        ["sceptic"],
        [DONE],
        lambda posts: "Speak as a sceptic." in posts[0]["messages"][0]["content"],
    ),
    "--topic": (["flight"], [DONE], lambda posts: "shared with topic: flight" in _said(posts[0])),
    "--workflow-mode": (
        [],
        [Reply(text='Half.\n{"status": "continue"}'), DONE],
        lambda posts: "Go on with the task." in _said(posts[1]),
    ),
    "--allowed-tools": (
        ["Bash(touch named)"],
        [_run("touch named"), DONE],
        lambda posts: "exit code 0" in _said(posts[1]) or "(no output)" in _said(posts[1]),
    ),
}
"""The option, its value, what the model answers, and what holds of all that it is sent."""


@pytest.mark.requirement("headless:our-flags")
@pytest.mark.parametrize("option", FLAGS)
def test_an_option_does_what_its_help_says_and_without_it_nothing_of_it(
    program: Program, option: str
) -> None:
    value, replies, holds = FLAGS[option]
    came: list[bool] = []
    for words in ([option, *value], []):
        with background([*replies, DONE]) as server:
            place = ("--model", "fake", "--provider", "direct", "--api-base", server.base)
            program.stream("go", *place, "--sandbox", "off", *words)
            posts = [json.loads(post.body) for post in server.posts]
        came.append(len(posts) >= len(replies) and holds(posts))
    assert came == [True, False]


@pytest.mark.requirement("headless:our-flags")
def test_conversations_of_a_topic_share_its_memory_and_others_do_not(program: Program) -> None:
    store, search = (
        Reply(calls=(Call("memory_operations", arguments),)) for arguments in (STORE, SEARCH)
    )
    results: list[bool] = []
    with background([store, DONE, search, DONE, search, DONE]) as server:
        place = ("--model", "fake", "--provider", "direct", "--api-base", server.base)
        answers = program.folder / "answers.json"  # what several conversations read is asked for
        answers.write_text('[{"match": "store_memory", "reply": "approve"}]', encoding="utf-8")
        place = (*place, "--answers", str(answers))
        for topic in (["--topic", "flight"], ["--topic", "flight"], []):
            program.stream("go", *place, *topic)
            messages = json.loads(server.posts[-1].body)["messages"]
            results.append(
                any("on Friday" in m["content"] for m in messages if m["role"] == "tool")
            )
    assert results[1:] == [True, False]
