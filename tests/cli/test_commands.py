"""The commands: which one is meant, what it prints, and the code it ends with."""

import contextlib
import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import click
import pytest

from sam_tui.cli.program import COMMANDS, program, routed
from tests.cli.conftest import Command
from tests.fakes.preloaded import SCRIPT


@pytest.mark.requirement("headless:routing")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ([], ["workbench"]),
        (["fix it"], ["workbench", "fix it"]),
        (["run", "fix it"], ["run", "fix it"]),
        (["-C", "run", "fix it"], ["workbench", "-C", "run", "fix it"]),
        (["--model", "m", "run", "x"], ["run", "--model", "m", "x"]),
        (["--model=m", "-c", "exec", "x"], ["exec", "--model=m", "-c", "x"]),
        (
            ["-p", "x", "--output-format", "json"],
            ["workbench", "-p", "x", "--output-format", "json"],
        ),
        (["--data-dir", "d", "sessions", "list"], ["sessions", "list", "--data-dir", "d"]),
        (["sessions", "--data-dir", "d", "list"], ["sessions", "list", "--data-dir", "d"]),
        (
            ["-C", "x", "mcp", "add", "n", "--", "prog", "-v"],
            ["mcp", "add", "-C", "x", "n", "--", "prog", "-v"],
        ),
        (["--", "run"], ["workbench", "--", "run"]),
        (["workbench"], ["workbench", "workbench"]),
        (["-"], ["workbench", "-"]),
        (["--help"], ["--help"]),
        (["-C", "x", "--help"], ["--help"]),
        (["-C", "x", "-h"], ["-h"]),
        (["help"], ["--help"]),
        (["help", "mcp", "add"], ["mcp", "add", "--help"]),
        (["help", "me"], ["workbench", "help", "me"]),
    ],
)
def test_the_first_word_that_is_a_command_is_the_command(
    words: list[str], meant: list[str]
) -> None:
    assert routed(words) == meant


@pytest.mark.requirement("headless:routing")
@pytest.mark.parametrize(
    "typed",
    ["tols list: tools", "-C . Sesions: sessions", "resume: --resume", "memory: memories list"],
)
def test_a_mistyped_command_is_an_error_that_names_the_command(sam: Command, typed: str) -> None:
    words, near = typed.split(": ")
    ended = sam(*words.split())
    assert ended.code == 2 and f"Did you mean “{near}”?" in ended.err
    word = words[-1]
    for prompt in (["--", word], ["-p", word], ["hello"], ["-c", "continue"], [f"{word} it"]):
        assert routed(prompt) == ["workbench", *prompt]


@pytest.mark.requirement("headless:routing")
def test_help_names_every_command_and_its_main_options(sam: Command) -> None:
    ended = sam("--help")
    assert ended.code == 0
    for word in ("run", "tools", "guard", "sessions", "--continue", "--permission-mode", "--print"):
        assert word in ended.out
    assert "exec" not in ended.out


@pytest.mark.requirement("headless:routing")
@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_a_list_of_commands_has_the_whole_sentence_of_each(name: str | None) -> None:
    context = click.Context(program, terminal_width=80)
    command = program.get_command(context, name) if name else program
    assert command and (not name or command.get_short_help_str(100) == COMMANDS[name][2])
    text = command.get_help(click.Context(command, terminal_width=80))
    assert "..." not in re.sub(r"\[[A-Z]+\]\.\.\.|COMMAND \.\.\.", "", text)


@pytest.mark.requirement("headless:exit-codes")
def test_the_workbench_without_a_terminal_says_what_to_use_instead(sam: Command) -> None:
    ended = sam("fix it")
    assert (ended.code, ended.out) == (2, "")
    assert "sam-tui run" in ended.err


@pytest.mark.requirement("headless:routing")
def test_print_is_run_and_its_options_need_it(sam: Command) -> None:
    script = sam.folder / "script.json"
    script.write_text(json.dumps([{"text": "Printed."}]), encoding="utf-8")
    model = f"scripted:{script}"
    ended = sam("-p", "go", "--output-format", "json", environ={"SAM_TUI_MODEL": model})
    assert (ended.code, ended.json["result"]) == (0, "Printed.")
    ended = sam("go", "--output-format", "json")
    assert ended.code == 2 and "--output-format needs --print" in ended.err


@pytest.mark.requirement("headless:tools-schema")
def test_schemas_are_the_same_bytes_in_every_process(sam: Command) -> None:
    first, second = sam("tools", "schema", environ={"PYTHONHASHSEED": "1"}), sam("tools", "schema")
    assert first.code == 0 and first.out == second.out
    names = [schema["function"]["name"] for schema in first.json]
    listed = sam("tools", "list", "--json").json
    assert [tool["name"] for tool in listed] == names
    one = sam("tools", "schema", names[0])
    assert one.json == first.json[0]
    assert sam("tools", "schema", "nope").code == 2


def call(
    sam: Command, name: str, arguments: Any, *options: str, stdin: str = ""
) -> tuple[int, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    ended = sam("tools", "call", name, text, *options, stdin=stdin)
    assert "Traceback" not in ended.err
    return ended.code, ended.json


@pytest.mark.requirement("headless:tools-call")
def test_a_call_prints_one_object_and_ends_with_what_became_of_it(sam: Command) -> None:
    outside = sam.folder / "secret.txt"
    outside.write_text("outside\n", encoding="utf-8")
    (sam.workspace / "a.txt").write_text("hello\n", encoding="utf-8")

    code, done = call(sam, "file_operations.read_file", {"filePath": "a.txt"})
    assert (code, done["success"], done["toolName"]) == (0, True, "file_operations")
    assert "hello" in done["output"]["content"]
    assert done["output"]["mimeType"] == "text/plain"
    assert done["metadata"]["operation"] == "file_operations.read_file"
    assert done["executionId"] and done["metadata"]["timestamp"]
    assert "note" not in done["metadata"]

    code, failed = call(sam, "file_operations.read_file", {"filePath": "none.txt"})
    assert (code, failed["success"]) == (1, False)
    assert call(sam, "file_operations.read_file", {})[0] == 1

    code, refused = call(sam, "file_operations.read_file", {"filePath": str(outside)})
    assert (code, refused["success"]) == (3, False)
    assert refused["metadata"]["decision"]["rule"] == "unattended"
    assert "--approve always" in refused["metadata"]["note"]
    approved = {"operation": "read_file", "filePath": str(outside)}
    code, done = call(
        sam, "file_operations", "-", "--approve", "always", stdin=json.dumps(approved)
    )
    assert code == 0 and "outside" in done["output"]["content"]

    background = {"command": "sleep 60", "isBackground": True}
    code, done = call(sam, "terminal_operations.run_command", background)
    terminal = done["output"]["additionalData"]["terminalId"]
    assert done["metadata"]["note"] == f"A single call ends what it started: command {terminal}."


@pytest.mark.requirement("headless:tools-call")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("nope", "{}"), ("file_operations.nope", "{}"), ("think", "{bad"), ("think", "[1]")],
)
def test_a_name_or_text_that_means_nothing_ends_with_2(
    sam: Command, name: str, arguments: str
) -> None:
    code, answer = call(sam, name, arguments)
    assert code == 2
    assert answer["success"] is False and answer["output"]["content"].startswith("ERROR: ")


@pytest.mark.requirement("headless:tools-call")
def test_what_a_call_stored_is_there_for_the_next_in_the_same_conversation(sam: Command) -> None:
    todo = {"id": 1, "title": "Paint", "description": "", "status": "not-started"}
    assert (
        call(sam, "todo_operations.write", {"todoList": [todo]}, "--conversation", "mine")[0] == 0
    )
    assert (
        "Paint"
        in call(sam, "todo_operations.read", {}, "--conversation", "mine")[1]["output"]["content"]
    )
    assert "Paint" not in call(sam, "todo_operations.read", {})[1]["output"]["content"]


@pytest.mark.requirement("headless:guard-explain")
def test_the_guard_explains_a_call_without_making_it(sam: Command) -> None:
    outside = str(sam.folder / "b.txt")
    write = {"filePath": outside, "content": "x"}
    ended = sam("guard", "explain", "file_operations.create_file", json.dumps(write))
    (access,) = ended.json["accesses"]
    assert (ended.code, ended.json["decision"], ended.json["rule"]) == (0, "ask", "write-outside")
    assert (access["kind"], access["path"], access["inside"]) == ("write", outside, False)
    assert access["parameter"] == "filePath"
    assert not Path(outside).exists()
    inside = {"filePath": "c.txt", "content": "x"}
    ended = sam("guard", "explain", "file_operations.create_file", json.dumps(inside))
    assert ended.json["decision"] == "allow" and ended.json["accesses"][0]["inside"] is True
    assert not (sam.workspace / "c.txt").exists()


@pytest.mark.requirement("headless:guard-explain")
def test_the_guard_explains_many_lines_and_survives_the_bad_ones(sam: Command) -> None:
    (sam.workspace / "link").symlink_to("/etc")
    requests: list[Any] = [
        {"operation": "file_operations.read_file", "arguments": {"filePath": "link/passwd"}},
        "garbage",
        {"operation": "nope", "arguments": {}},
        {"operation": "file_operations.read_file", "arguments": {"filePath": "a\0b"}},
        {
            "operation": "file_operations.rename_file",
            "arguments": {"oldPath": "a", "newPath": "/b"},
        },
        {"arguments": {}},
        {"operation": "think", "arguments": {"thoughts": "x"}},
    ]
    lines = [r if isinstance(r, str) else json.dumps(r) for r in requests]
    ended = sam("guard", "explain", "--jsonl", stdin="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in ended.out.splitlines()]
    kinds = [answer.get("decision") or "error" for answer in answers]
    assert kinds == ["ask", "error", "error", "deny", "ask", "error", "allow"]
    assert answers[0]["accesses"][0]["real"] == "/etc/passwd"
    assert ended.code == 2
    good = sam("guard", "explain", "--jsonl", stdin=lines[-1])
    assert (good.code, len(good.out.splitlines())) == (0, 1)


@pytest.mark.requirement("headless:guard-explain")
def test_explaining_needs_one_name_or_lines_and_not_both(sam: Command) -> None:
    assert sam("guard", "explain").code == 2
    assert sam("guard", "explain", "think", "--jsonl").code == 2


@pytest.mark.requirement("headless:continue")
def test_stored_conversations_are_listed(sam: Command) -> None:
    script = sam.folder / "script.json"
    script.write_text(json.dumps([{"text": "Hi."}]), encoding="utf-8")
    sam("run", "Greet me\nplease", "--model", f"scripted:{script}", "--session-id", "mine")
    (record,) = sam("sessions", "list", "--json").json
    # The prompt, the reminder of date and mode beside it, the answer.
    assert (record["id"], record["title"], record["messages"]) == ("mine", "Greet me", 3)
    assert record["workspace"] == str(sam.workspace)
    assert "Greet me" in sam("sessions", "list").out
    assert sam("sessions", "list", "--json", "-C", str(sam.folder)).json == []


DEFECT = """
import sys
import sam_tui.assembly
def build(*_):
    raise ZeroDivisionError("boom \\x1b[31m zkKq7Vx2Lm9Rt4Wb8N Ev9pQw3LmZx7Rt2K")
sam_tui.assembly.build = build
from sam_tui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.requirement("headless:defect")
def test_a_defect_is_one_sentence_and_its_details_are_in_a_private_file(sam: Command) -> None:
    program = (*SCRIPT, DEFECT)
    (sam.folder / ".env").write_text("DB_PASSWORD=Ev9pQw3LmZx7Rt2K\n", encoding="utf-8")
    where = ("-C", "..", "--api-key", "zkKq7Vx2Lm9Rt4Wb8N")
    ended = sam("run", "go", "--output-format", "json", *where, program=program)
    log = sam.data / "sam-tui.log"
    assert not re.search("zkKq|Ev9p", ended.out + ended.err + log.read_text(encoding="utf-8"))
    assert (ended.code, ended.json["subtype"]) == (70, "error_internal")
    assert "Traceback" not in ended.err and "\x1b" not in ended.err
    assert "ZeroDivisionError: boom" in ended.err and str(log) in ended.err
    assert "Traceback" in log.read_text(encoding="utf-8")
    assert log.stat().st_mode & 0o777 == 0o600
    told = sam("tools", "list", *where[:2], program=program, environ={"SAM_TUI_DEBUG": "1"})
    assert told.code == 70 and "Traceback" in told.err and "Ev9p" not in told.err


NOISE = """
import os, sys
import sam_tui.assembly
class Broken:
    name = "broken"
    host = ""
    context_tokens = None
    async def stream(self, request):
        print("noise from a library"); os.system("echo noise from a child")
        raise KeyError("half-way")
        yield
    async def close(self):
        pass
build = sam_tui.assembly.build
def noisy(*arguments):
    print("noise while building")
    runtime = build(*arguments)
    runtime.use_model(Broken())
    return runtime
sam_tui.assembly.build = noisy
from sam_tui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.requirement("headless:stdout-pure")
def test_what_libraries_print_and_a_defect_half_way_leave_the_contract_whole(sam: Command) -> None:
    program = (*SCRIPT, NOISE)
    ended = sam("run", "go", "--output-format", "stream-json", program=program)
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert [line["type"] for line in lines][-1:] == ["result"]
    assert [line["subtype"] for line in lines if line["type"] == "result"] == ["error_internal"]
    assert ended.code == lines[-1]["exit_code"] == 70
    assert ended.err.count("noise") == 3 and "Traceback" not in ended.err
    assert "KeyError" in (sam.data / "sam-tui.log").read_text(encoding="utf-8")

    call = sam("tools", "call", "think", '{"thoughts": "x"}', program=program)
    assert call.json["success"] is True and "noise" in call.err


@pytest.mark.requirement("headless:early-failure")
def test_an_unusable_workspace_is_named(sam: Command) -> None:
    (sam.workspace / "file").write_text("x", encoding="utf-8")
    for place in ("none", "file"):
        ended = sam("tools", "list", "-C", place)
        assert ended.code == 52 and place in ended.err and "Traceback" not in ended.err


NO_PASSWD = """
import pwd, sys
def unknown(user):
    raise KeyError(user)
pwd.getpwuid = unknown
from sam_tui.__main__ import main
sys.exit(main())
"""


@pytest.mark.requirement("headless:early-failure")
def test_without_a_home_folder_one_sentence_says_what_to_set(
    sam: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    program = (*SCRIPT, NO_PASSWD)
    for words, data in ((("doctor",), ""), (("tools", "list"), str(sam.data))):
        ended = sam(*words, program=program, environ={"SAM_TUI_DATA_DIR": data})
        assert (ended.code, ended.out) == (52, "")
        assert ended.err.startswith("Invalid configuration: There is no home folder"), ended.err
    settled = {"SAM_TUI_CONFIG_DIR": str(sam.folder / "cfg")}
    assert sam("tools", "list", program=program, environ=settled).code == 0
    assert sorted(path.name for path in sam.workspace.iterdir()) == []


@pytest.mark.requirement("model:offered")
def test_without_a_model_a_run_says_what_there_is_to_choose_from(sam: Command) -> None:
    ended = sam("run", "hi", environ={"OPENAI_API_KEY": "k"})
    assert (ended.code, ended.out) == (52, "")
    assert "--model scripted" in ended.err
    assert "OPENAI_API_KEY is set" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.requirement("demo:auto")
def test_the_demo_plays_to_the_end_without_a_terminal(sam: Command) -> None:
    ended = sam("demo", "--auto")
    assert ended.code == 0
    for words in (
        "text.lower().split()",
        "asks for",
        "allowed: this call",
        "Ran 3 tests",
        "## Done",
    ):
        assert words in ended.out


@pytest.mark.requirement("doctor:says")
def test_the_doctor_waits_once_for_a_database_that_is_locked_and_looks_at_all_else(
    sam: Command,
) -> None:
    assert sam("tools", "call", "todo_operations.read").code == 0
    with contextlib.closing(sqlite3.connect(sam.data / "sam.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        checks = {check["name"]: check for check in sam("doctor", "--json").json}
    locked = [name for name, check in checks.items() if "is locked" in check["detail"]]
    assert locked == ["audit log"]
    assert "End that one" in checks["audit log"]["advice"]
    assert checks["hooks"]["state"] == "ok"


@pytest.mark.requirement("headless:closed-streams")
@pytest.mark.parametrize("command", ["config show", "man", "--version"])
def test_output_that_is_full_is_told_and_a_reader_that_left_is_not(
    sam: Command, command: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as full, open(writer, "wb") as left:
        ended = [sam(*command.split(), stdout=stdout) for stdout in (full, left)]
    told = "Standard output could not be written: No space left on device.\n"
    assert [(one.code, one.err) for one in ended] == [(1, told), (0, "")]
