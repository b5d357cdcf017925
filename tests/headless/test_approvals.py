"""A blocked run writes what it needed, a person decides, the next run does it. Costs some 4 s of CPU."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.headless.conftest import Program, call

Entry = dict[str, Any]


def outside(path: Path, content: str) -> dict[str, Any]:
    """A call that makes a file outside of the workspace."""
    return call("file_operations", "create_file", filePath=str(path), content=content)


def entries(file: Path) -> list[Entry]:
    """What stands in the file."""
    return json.loads(file.read_text(encoding="utf-8"))["entries"]


def decide(file: Path, **replies: Any) -> None:
    """Fill in replies by the last word of what each entry is about; a table changes the input as well."""
    table = json.loads(file.read_text(encoding="utf-8"))
    for entry in table["entries"]:
        reply = replies.get(Path(entry["targets"][0]).stem, "")
        if isinstance(reply, dict):
            entry["input"] |= reply
            reply = "approve"
        entry["reply"] = reply
    file.write_text(json.dumps(table), encoding="utf-8")


@pytest.mark.requirement("headless:approvals-file")
def test_approved_calls_are_made_by_the_run_that_goes_on_and_changed_ones_are_asked_anew(
    program: Program,
) -> None:
    file = program.folder / "approvals.json"
    paths = {name: program.folder / f"{name}.txt" for name in ("yes", "no", "changed", "later")}
    calls = [outside(path, name) for name, path in paths.items()]
    question = call("user_collaboration", "request_user_input", prompt="Which colour?")
    question["arguments"].pop("operation")
    later = [{"text": "Now I could."}] * 4
    model = program.script({"calls": [*calls, question]}, {"text": "I could not."}, *later)
    blocked = program.stream("go", "--model", model, "--approvals", str(file))
    assert (blocked.code, blocked.result["subtype"]) == (3, "error_blocked"), blocked.out
    assert str(file) in blocked.result["error"]["message"]
    assert [entry["operation"] for entry in entries(file)] == [
        *["file_operations.create_file"] * 4, "question",
    ]  # fmt: skip
    decide(
        file, yes="approve", no="never", changed={"content": "other"}, **{"Which colour?": "red"}
    )
    refused = json.loads(file.read_text(encoding="utf-8"))
    refused["entries"][1]["reply"] = "no, it is not yours"
    file.write_text(json.dumps(refused), encoding="utf-8")

    resumed = ("--resume", blocked.result["session_id"], "--approvals", str(file))
    ended = program.stream(*resumed, "--model", model)
    assert paths["yes"].read_text(encoding="utf-8") == "yes"
    assert not any(paths[name].exists() for name in ("no", "changed", "later"))
    results = [x["message"]["content"][0] for x in ended.of_kind("user")]
    assert [result["is_error"] for result in results] == [False, True, False]
    assert "red" in results[2]["content"]
    # The changed call was asked about, under a new hash: one more round makes it.
    assert (ended.code, ended.result["result"]) == (3, "Now I could.")
    assert [Path(entry["targets"][0]).stem for entry in entries(file)] == ["later", "changed"]
    decide(file, changed="approve", later="deny")
    done = program.stream(*resumed, "--model", model)
    assert (done.code, paths["changed"].read_text(encoding="utf-8")) == (0, "other")
    assert (entries(file), paths["later"].exists()) == ([], False)


@pytest.mark.requirement("headless:approvals-file")
def test_an_approval_covers_the_difference_that_the_file_showed_and_no_other(
    program: Program,
) -> None:
    file, target = program.folder / "approvals.json", program.folder / "list.txt"
    target.write_text("old\n")
    edit = {"filePath": str(target), "oldString": "old", "newString": "new"}
    said = [{"text": "Done."}] * 3
    model = program.script({"calls": [call("file_operations", "replace_string", **edit)]}, *said)
    blocked = program.stream("go", "--model", model, "--approvals", str(file))
    resumed = ("--resume", blocked.result["session_id"], "--approvals", str(file))
    for content, after in (("mine\nold\n", "mine\nold\n"), ("mine\nold\n", "mine\nnew\n")):
        assert "+new" in entries(file)[0]["change"]
        target.write_text(content)
        decide(file, list="approve")
        program.stream(*resumed, "--model", model)
        assert target.read_text() == after


WRONG = {
    "{}": "is not a file of approvals",
    "[": "is not valid JSON",
    '{"conversation": "c", "entries": [{}]}': "entry 1: “reply” is not as it was written",
}


@pytest.mark.requirement("headless:approvals-file")
def test_a_file_that_the_agent_could_write_or_that_is_none_ends_the_run(program: Program) -> None:
    file, model = program.folder / "approvals.json", program.script({"text": "ok"})
    nowhere = str(program.folder / "nowhere" / "a.json")
    early = program.run("go", "--model", model, "--approvals", nowhere)
    assert (early.code, early.out) == (52, "") and f"{nowhere} could not be written" in early.err
    inside = program.run("go", "--model", model, "--approvals", str(program.workspace / "a.json"))
    assert (inside.code, "could approve its own calls" in inside.err) == (52, True)
    for text, words in WRONG.items():
        file.write_text(text, encoding="utf-8")
        wrong = program.run("go", "--model", model, "--resume", "x", "--approvals", str(file))
        assert (wrong.code, words in wrong.err) == (52, True), wrong.err
        assert "only “reply” is for you to fill in" in wrong.err


@pytest.mark.requirement("headless:approvals-file")
def test_an_entry_whose_tool_was_changed_to_none_there_is_ends_the_run_and_stays(
    program: Program,
) -> None:
    file = program.folder / "approvals.json"
    model = program.script({"calls": [outside(program.folder / "yes.txt", "x")]}, {"text": "No."})
    blocked = program.stream("go", "--model", model, "--approvals", str(file))
    decide(file, yes="approve")
    changed = file.read_text(encoding="utf-8").replace('"file_operations"', '"file_operation"')
    file.write_text(changed, encoding="utf-8")
    resumed = ("--resume", blocked.result["session_id"], "--approvals", str(file))
    wrong = program.run(*resumed, "--model", model)
    assert (wrong.code, "no tool called 'file_operation'" in wrong.err) == (52, True), wrong.err
    assert file.read_text(encoding="utf-8") == changed
