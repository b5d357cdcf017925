"""Taking a change back, and choosing prompts, from the command line."""

import json

import pytest

from tests.cli.conftest import Command


def call(sam: Command, operation: str, **arguments: object) -> None:
    """One call of the conversation ``c``."""
    done = sam("tools", "call", operation, json.dumps(arguments), "--conversation", "c")
    assert done.code == 0, done.out


@pytest.mark.requirement("files2:undo-cli")
def test_the_newest_change_of_a_conversation_is_taken_back(sam: Command) -> None:
    call(sam, "create_file", filePath="a.txt", content="one\n")
    call(sam, "replace_string", filePath="a.txt", oldString="one", newString="two")
    listed = sam("edits", "list", "--conversation", "c", "--json").json
    assert [entry["operation"] for entry in listed] == [
        "replace_string",
        "create_file",
    ]
    undone = sam("edits", "undo", "--conversation", "c")
    assert undone.code == 0
    assert (sam.workspace / "a.txt").read_text(encoding="utf-8") == "one\n"
    # Or one that is named.
    assert sam("edits", "undo", str(listed[1]["id"]), "--conversation", "c").code == 0
    assert not (sam.workspace / "a.txt").exists()


@pytest.mark.requirement("files2:undo-cli")
def test_a_change_that_was_changed_since_is_left_alone(sam: Command) -> None:
    call(sam, "create_file", filePath="a.txt", content="one\n")
    (sam.workspace / "a.txt").write_text("mine\n", encoding="utf-8")
    refused = sam("edits", "undo", "--conversation", "c")
    assert refused.code == 1
    assert (sam.workspace / "a.txt").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.requirement("headless:empty-lists")
def test_an_empty_list_says_so_and_keeps_standard_output_empty(sam: Command) -> None:
    nowhere = sam("edits", "list")
    assert (nowhere.code, "sessions list" in nowhere.err) == (2, True)
    for words in (("edits", "list", "--conversation", "c"), ("workflow", "status")):
        listed = sam(*words)
        assert (listed.code, listed.out) == (0, "")
        assert listed.err.startswith(("This conversation", "No workflow"))
    assert "sam-tui --help" in sam("--bogus").err


@pytest.mark.requirement("memory:prompts-cli")
def test_prompts_are_listed_and_a_mini_prompt_is_turned_on(sam: Command) -> None:
    listed = sam("prompts", "list", "--json").json
    assert "built-in:default" in [prompt["id"] for prompt in listed["system"]]
    mini = listed["mini"][0]["id"]
    done = sam("prompts", "use", mini, "--conversation", "c")
    assert (done.code, "is on" in done.out) == (0, True)
    assert sam("prompts", "use", "nothing", "--conversation", "c").code == 2


@pytest.mark.requirement("memory:prompts-cli")
def test_a_run_takes_another_system_prompt_and_refuses_an_unknown_one(sam: Command) -> None:
    refused = sam("run", "hi", "--model", "scripted", "--system-prompt", "nonsense")
    assert refused.code == 2
    assert "built-in:default" in refused.err
