"""The contract of ``sam-tui run``, with a real process, a real provider on loopback, real tools."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.openai_server import Reply, background, failure
from tests.headless.conftest import SECONDS, Program, call, shell

ANSWER = {"text": "All done.", "usage": {"input_tokens": 10, "output_tokens": 3, "cost": 0.5}}


@pytest.mark.requirement("headless:stream-json", "headless:one-result")
def test_a_run_is_told_from_init_to_result_in_valid_json_lines(program: Program) -> None:
    todos = {"id": 1, "title": "Count", "description": "", "status": "in-progress"}
    create = call("file_operations", "create_file", filePath="a.txt", content="x\n")
    model = program.script(
        {"reasoning": "hm", "text": "Counting.", **shell("seq 1 10000")},
        {"calls": [create, call("todo_operations", "write", todoList=[todos])]},
        ANSWER,
    )
    # Warnings as errors: nothing of any library may reach standard output.
    ended = program.run(
        "go", "--model", model, "--output-format", "stream-json", python=("-W", "error")
    )

    result = ended.result
    assert (ended.code, ended.err) == (0, "")
    init = ended.lines[0]
    assert (init["type"], init["subtype"], init["cwd"]) == (
        "system",
        "init",
        str(program.workspace),
    )
    assert "file_operations" in init["tools"]
    assert init["permission_mode"] == "ask"
    blocks = [block for line in ended.of_kind("assistant") for block in line["message"]["content"]]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [line["message"]["content"][0]["tool_use_id"] for line in ended.of_kind("user")]
    assert len(uses) == 3 and results == uses
    assert len(ended.of_kind("permission_decision")) == 3
    assert ended.of_kind("todo")[0]["items"][0]["title"] == "Count"
    assert ended.of_kind("stream_event") == []
    assert {line["session_id"] for line in ended.lines} == {init["session_id"]}
    assert result["result"] == "All done."
    assert result["files_changed"] == ["a.txt"]
    assert (result["num_turns"], result["total_cost_usd"]) == (3, 0.5)
    assert result["unpriced_answers"] == 2
    assert result["usage"]["input"] == 10
    assert result["todos"][0]["status"] == "in-progress"
    assert result["permission_denials"] == []


@pytest.mark.requirement("headless:text")
def test_text_output_is_the_answer_alone_and_progress_is_for_the_curious(program: Program) -> None:
    model = program.script({"text": "Looking.", **shell("echo hi")}, ANSWER)
    quiet = program.run("go", "--model", model)
    loud = program.run("go", "--model", model, "--verbose")
    assert (quiet.code, quiet.out, quiet.err) == (0, "All done.\n", "")
    assert loud.out == "All done.\n"
    assert "Running: echo hi" in loud.err


@pytest.mark.requirement("headless:json")
def test_json_output_is_the_result_alone(program: Program) -> None:
    ended = program.run("go", "--model", program.script(ANSWER), "--output-format", "json")
    assert len(ended.lines) == 1
    assert ended.result["subtype"] == "success"


@pytest.mark.requirement("headless:partials")
def test_pieces_of_the_answer_stream_when_asked_for(program: Program) -> None:
    model = program.script({"text": "x" * 300})
    ended = program.stream("go", "--model", model, "--include-partial-messages")
    events = [line["event"] for line in ended.of_kind("stream_event")]
    pieces = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(pieces) == "x" * 300
    assert ended.result["subtype"] == "success"


@pytest.mark.requirement("headless:stdin")
def test_the_prompt_may_come_from_standard_input_and_the_answer_go_to_a_file(
    program: Program,
) -> None:
    model = program.script({"when": {"user": "from the pipe"}, "text": "Heard."})
    target = program.folder / "answer.txt"
    ended = program.run("--model", model, "-o", str(target), stdin="from the pipe")
    assert (ended.code, ended.out) == (0, "Heard.\n")
    assert target.read_text(encoding="utf-8") == "Heard."


@pytest.mark.requirement("headless:exit-codes")
def test_an_answer_that_cannot_be_saved_is_an_error_of_the_run(program: Program) -> None:
    nowhere = str(program.folder / "none" / "answer.txt")
    ended = program.stream("go", "--model", program.script(ANSWER), "-o", nowhere)
    assert ended.result["subtype"] == "error_during_execution"
    assert "answer.txt" in ended.result["error"]["message"]
    assert ended.result["result"] == "All done."


@pytest.mark.requirement("headless:no-endless-files")
def test_a_pipe_that_nobody_serves_and_a_file_without_end_are_told_and_end_the_run(
    program: Program,
) -> None:
    model = program.script(ANSWER)
    pipe = str(program.folder / "pipe")
    os.mkfifo(pipe)
    for arguments, code, words in (
        (["--model", "scripted:/dev/zero"], 52, "/dev/zero is longer than"),
        (["--model", f"scripted:{pipe}"], 52, "pipe is a pipe, and nobody writes to it"),
        (["--model", model, "--answers", pipe], 52, "pipe is a pipe, and nobody writes to it"),
        (["--model", model, "-o", pipe], 1, "pipe is a pipe, and nobody reads it"),
    ):
        ended = program.stream("go", *arguments)
        assert ended.code == code and words in ended.result["error"]["message"], arguments


@pytest.mark.requirement("headless:no-endless-files")
def test_pipes_that_somebody_serves_are_answers_and_outputs(program: Program) -> None:
    model = program.script(ANSWER).removeprefix("scripted:")
    command = shlex.join(program.command("go"))
    line = f"""{command} --model scripted:<(cat {model}) --answers <(echo '[]') -o >(cat >&2)"""
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "All done.\n", "All done.")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a command line stays as it was")
@pytest.mark.requirement("headless:key-hidden")
@pytest.mark.parametrize("form", [["--api-key", "{}"], ["--api-key={}"]])
def test_a_key_on_the_command_line_is_shown_to_no_other_process(
    program: Program, form: list[str]
) -> None:
    key = "sk-given-by-hand-0123456789"
    given = [word.format(key) for word in form]
    words = ("--output-format", "stream-json", "--model", program.script(ANSWER), "go", *given)
    command = program.command(*words, python=("-W", "error"))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert key not in shown and shown.endswith("*" * len(key) + "\0")


@pytest.mark.requirement("headless:provider-500")
def test_a_provider_that_fails_for_ever_ends_the_run_with_75(program: Program) -> None:
    reply = failure(503, "overloaded", retry_after="0")
    with background([reply] * 20) as server:
        ended = program.stream(
            "go", "--model", "openai/x", "--api-base", server.base, "--api-key", "k"
        )
        tries = len(server.requests)
    retries = ended.of_kind("api_retry")
    assert (ended.code, ended.result["subtype"]) == (75, "error_unavailable")
    assert len(retries) == tries - 1 > 0
    assert [retry["attempt"] for retry in retries] == list(range(1, tries))
    assert retries[0]["error_status"] == 503
    assert ended.err.strip()


@pytest.mark.requirement("headless:exit-codes")
@pytest.mark.parametrize(("status", "code"), [(401, 41), (400, 1), (404, 1)])
def test_a_refusing_provider_ends_the_run_with_its_own_code(
    program: Program, status: int, code: int
) -> None:
    with background([failure(status, "no")] * 3) as server:
        ended = program.stream(
            "go", "--model", "openai/x", "--api-base", server.base, "--api-key", "k"
        )
    assert (ended.code, ended.result["is_error"]) == (code, True)
    assert len(server.requests) == 1


@pytest.mark.requirement("headless:stream-json")
def test_a_real_answer_over_http_is_told(program: Program) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    with background([Reply(text="Hello there.", usage=usage)]) as server:
        ended = program.run(
            "go", "--model", "openai/x", "--api-base", server.base, "--api-key", "k"
        )
    assert (ended.code, ended.out) == (0, "Hello there.\n")


@pytest.mark.requirement("headless:limit")
def test_the_limit_hit_with_a_tool_call_open_ends_with_53_and_the_call_has_its_result(
    program: Program,
) -> None:
    ended = program.stream(
        "go", "--model", program.script(shell("echo hi"), ANSWER), "--max-turns", "1"
    )
    assert (ended.code, ended.result["subtype"]) == (53, "error_max_turns")
    assert len(ended.of_kind("user")) == 1
    assert ended.result["num_turns"] == 1


def outside(program: Program) -> Path:
    """A file that the agent may not write without an approval."""
    folder = program.folder / "outside"
    folder.mkdir(exist_ok=True)
    return folder / "b.txt"


@pytest.mark.requirement("headless:blocked", "headless:unattended")
def test_what_nobody_approved_is_not_done_and_the_run_counts_as_blocked(program: Program) -> None:
    target = outside(program)
    write = call("file_operations", "create_file", filePath=str(target), content="x")
    ended = program.stream("go", "--model", program.script({"calls": [write]}, ANSWER))
    result = ended.result
    assert (ended.code, result["subtype"], result["result"]) == (3, "error_blocked", "All done.")
    assert not target.exists()
    (decision,) = ended.of_kind("permission_decision")
    assert (decision["decision"], decision["rule"]) == ("deny", "unattended")
    (denial,) = result["permission_denials"]
    assert denial["tool_name"] == "file_operations"
    assert denial["tool_input"]["filePath"] == str(target)


@pytest.mark.requirement("headless:unattended")
def test_a_refusal_names_letters_of_another_script_that_look_latin(program: Program) -> None:
    target = outside(program).parent / "p\u0430ypal"
    write = call("file_operations", "create_file", filePath=str(target), content="x")
    ended = program.run("go", "--model", program.script({"calls": [write]}, ANSWER))
    assert "  letters: \u0430 in p\u0430ypal is cyrillic small letter a (U+0430)" in ended.err


@pytest.mark.requirement("headless:blocked")
def test_a_question_that_nobody_answers_blocks_too(program: Program) -> None:
    ask = {"calls": [{"name": "user_collaboration", "arguments": {"prompt": "Which colour?"}}]}
    model = program.script(ask, ANSWER)
    ended = program.stream("go", "--model", model)
    assert (ended.code, ended.of_kind("question")[0]["outcome"]) == (3, "unattended")

    answers = program.folder / "answers.json"
    answers.write_text(json.dumps([{"match": "colour", "reply": "teal"}]), encoding="utf-8")
    ended = program.stream("go", "--model", model, "--answers", str(answers))
    assert ended.code == 0
    assert "teal" in ended.of_kind("user")[0]["message"]["content"][0]["content"]


@pytest.mark.requirement("headless:answers")
@pytest.mark.parametrize(
    ("reply", "code", "written"), [("approve", 0, True), ("not there", 0, False)]
)
def test_a_file_of_answers_decides_in_a_persons_place(
    program: Program, reply: str, code: int, written: bool
) -> None:
    target = outside(program)
    write = call("file_operations", "create_file", filePath=str(target), content="x")
    answers = program.folder / "answers.json"
    answers.write_text(json.dumps([{"match": "b[.]txt", "reply": reply}]), encoding="utf-8")
    model = program.script({"calls": [write]}, ANSWER)
    ended = program.stream("go", "--model", model, "--answers", str(answers))
    assert (ended.code, target.exists()) == (code, written)
    (decision,) = ended.of_kind("permission_decision")
    assert decision["source"] == "user"
    assert decision["comment"] == ("" if written else "not there")


@pytest.mark.requirement("headless:blocked")
def test_a_mode_that_never_asks_refuses_without_being_blocked(program: Program) -> None:
    write = call("file_operations", "create_file", filePath=str(outside(program)), content="x")
    model = program.script({"calls": [write]}, ANSWER)
    ended = program.stream("go", "--model", model, "--permission-mode", "dontAsk")
    assert (ended.code, ended.lines[0]["permission_mode"]) == (0, "auto")
    assert ended.result["permission_denials"][0]["rule"] == "mode:auto"


@pytest.mark.requirement("headless:early-failure")
@pytest.mark.parametrize(
    ("arguments", "code", "subtype"),
    [
        (["--answers", "/nowhere.json"], 52, "error_configuration"),
        (["--answers", "/dev/zero"], 52, "error_configuration"),
        (["-C", "/nowhere"], 52, "error_configuration"),
        (["--model", "scripted:/nowhere.json"], 52, "error_configuration"),
        (["--model", ""], 52, "error_configuration"),
        (["--settings", "{"], 52, "error_configuration"),
        (["--data-dir", "/proc/nowhere"], 70, "error_internal"),
    ],
)
def test_a_run_that_cannot_begin_still_ends_with_a_result(
    program: Program, arguments: list[str], code: int, subtype: str
) -> None:
    model = program.script(ANSWER)
    ended = program.stream("go", "--model", model, *arguments)
    assert (ended.code, ended.result["subtype"]) == (code, subtype)
    assert ended.result["error"]["message"]
    assert ended.err.strip()
    assert "Traceback" not in ended.err


@pytest.mark.requirement("headless:exit-codes")
@pytest.mark.parametrize(
    "arguments",
    [
        [""],
        ["go", "--max-turns", "0"],
        ["go", "--resume", "no-such-one"],
        ["go", "--continue"],
        ["go", "--session-id", "../x"],
        ["go", "--inquiries-fd", "99"],
        ["go", "--inquiries-fd", "99999999999"],
    ],
)
def test_a_wrong_command_line_ends_with_2_and_a_sentence(
    program: Program, arguments: list[str]
) -> None:
    ended = program.stream("--model", program.script(ANSWER), *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip() and "Traceback" not in ended.err


@pytest.mark.requirement("headless:continue")
def test_conversations_go_on_by_latest_by_id_and_under_a_chosen_name(program: Program) -> None:
    model = program.script({"text": "one"}, {"text": "two"}, {"text": "three"})
    first = program.stream("a", "--model", model, "--session-id", "mine")
    second = program.stream("b", "--model", model, "-c")
    third = program.stream("c", "--model", model, "--resume", "mine")
    assert [e.result["result"] for e in (first, second, third)] == ["one", "two", "three"]
    assert {e.result["session_id"] for e in (first, second, third)} == {"mine"}
