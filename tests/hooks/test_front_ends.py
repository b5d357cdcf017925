"""Hooks in every front end: headless, calls without a model, the MCP server, the command line."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.ports.model import TextDelta
from tests.cli.conftest import Command
from tests.fakes.engine_kit import RawModel, calls
from tests.headless.conftest import Program, shell
from tests.hooks.conftest import says, write
from tests.mcp.conftest import Place as Server
from tests.mcp.conftest import text_of
from tests.servers.conftest import House, raw
from tests.ui.driver import app_over, build_stage, driven

STOP = "echo not here >&2; exit 2"
RUN = "terminal_operations.run_command"
COMMAND = json.dumps({"command": "echo ran > made"})


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings folder of the programs that a test starts."""
    folder = tmp_path / "cfg"
    folder.mkdir()
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def program(tmp_path: Path, config: Path) -> Program:
    """``sam-tui run`` over an empty workspace."""
    (tmp_path / "ws").mkdir()
    return Program(tmp_path)


@pytest.fixture
def command(tmp_path: Path, config: Path) -> Command:
    """Any other command over an empty workspace."""
    (tmp_path / "ws").mkdir()
    return Command(tmp_path)


@pytest.mark.requirement("hooks:everywhere")
def test_a_headless_run_is_stopped_says_so_and_goes_on(program: Program, config: Path) -> None:
    write(config / "hooks.json", "PreToolUse", [STOP])
    model = program.script(shell("echo ran > made"), {"text": "It was not allowed."})
    ended = program.stream("go", "--model", model)
    (decision,) = ended.of_kind("permission_decision")
    assert (decision["decision"], decision["source"], decision["rule"]) == ("deny", "hook", STOP)
    assert not (program.workspace / "made").exists()
    assert ended.result["result"] == "It was not allowed."
    assert ended.code == 0


@pytest.mark.requirement("hooks:everywhere")
def test_a_headless_run_whose_message_is_refused_ends_as_blocked(
    program: Program, config: Path
) -> None:
    write(config / "hooks.json", "UserPromptSubmit", [STOP])
    ended = program.run("go", "--model", program.script({"text": "Never said."}))
    assert (ended.code, ended.out) == (3, "")
    assert "A hook stopped it: The message was not sent: not here" in ended.err


@pytest.mark.requirement("hooks:everywhere", "hooks:warn")
def test_a_hook_that_fails_is_told_of_on_standard_error(program: Program, config: Path) -> None:
    write(config / "hooks.json", "PreToolUse", ["echo '\x1b[31mbad' >&2; exit 7"])
    ended = program.run("go", "--model", program.script(shell("true"), {"text": "Done."}))
    assert (ended.code, ended.out) == (0, "Done.\n")
    assert "warning: The PreToolUse hook" in ended.err and "failed (exit code 7): bad" in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.requirement("hooks:everywhere")
def test_a_call_without_a_model_is_stopped_too(command: Command, config: Path) -> None:
    write(config / "hooks.json", "PreToolUse", [STOP])
    ended = command("tools", "call", RUN, COMMAND)
    assert ended.code == 1
    assert ended.json["metadata"]["decision"]["by"] == "hook"
    assert not (command.workspace / "made").exists()
    listed = command("audit", "list")
    assert "hook" in listed.out and RUN in listed.out


@pytest.mark.requirement("hooks:listed")
def test_the_command_line_lists_hooks_and_says_what_does_not_count(
    command: Command, config: Path
) -> None:
    assert command("hooks", "list").err == "There are no hooks.\n"
    write(config / "hooks.json", "PreToolUse", [STOP], matcher="bash")
    write(config / "hooks.json", "Stop", ["true"])
    write(config / "hooks.json", "SessionStart", ["true"], matcher="starup")
    (command.workspace / ".sam").mkdir()
    write(command.workspace / ".sam/hooks.json", "Stop", ["false"])
    told = command("hooks", "list")
    assert f"user     PreToolUse (bash)  {STOP}" in told.out
    assert "matches no operation" in told.out
    assert told.out.count("matches") == 2 and "matches none of startup, resume" in told.out
    assert "left out" in told.out and "is not trusted" in told.out
    rows: dict[str, Any] = command("hooks", "list", "--json").json
    assert [row["command"] for row in rows["hooks"]] == [STOP, "true", "true"]
    assert "matches nothing: bash, starup" in command("doctor").out
    command("trust")
    assert [r["command"] for r in command("hooks", "list", "--json").json["hooks"]][-1] == "false"


@pytest.mark.requirement("instructions:listed")
def test_the_doctor_says_which_instructions_are_believed(command: Command, config: Path) -> None:
    assert "instructions     none" in command("doctor").out
    (config / "AGENTS.md").write_text("x", encoding="utf-8")
    (command.workspace / "CLAUDE.md").write_text("x", encoding="utf-8")
    assert f"{config}/AGENTS.md; not trusted: CLAUDE.md" in command("doctor").out
    command("trust")
    assert f"{config}/AGENTS.md, CLAUDE.md" in command("doctor").out


@pytest.mark.requirement("skills:problems")
def test_the_command_line_lists_skills_and_says_what_is_none(
    command: Command, config: Path
) -> None:
    for name, text in {"good": "---\nname: good\ndescription: D\n---\nx", "bad": "x"}.items():
        (config / "skills" / name).mkdir(parents=True)
        (config / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
    told = command("skills", "list")
    assert told.out == "user     good                     D\n"
    assert "bad/SKILL.md: does not begin with ---" in told.err
    assert "is not trusted" in told.err
    assert [row["name"] for row in command("skills", "list", "--json").json] == ["good"]


@pytest.mark.requirement("hooks:errors")
def test_a_broken_file_ends_the_program_with_its_name_and_place(
    command: Command, config: Path
) -> None:
    (config / "hooks.json").write_text('{"hooks": {"Before": []}}', encoding="utf-8")
    ended = command("tools", "call", RUN, COMMAND)
    assert ended.code == 52
    assert f"{config}/hooks.json: hooks: unknown key “Before”" in ended.err
    assert "Known: SessionStart" in ended.err


@pytest.mark.requirement("hooks:told")
def test_the_stream_tells_of_hooks_when_it_is_asked_to(program: Program, config: Path) -> None:
    write(config / "hooks.json", "PreToolUse", [STOP, "true", "exit 9"])
    model = program.script(shell("true"), {"text": "Done."})
    quiet = program.stream("go", "--model", model)
    assert quiet.of_kind("hook_started") == quiet.of_kind("hook_response") == []
    ended = program.stream("go", "--model", model, "--include-hook-events")
    started, told = ended.of_kind("hook_started"), ended.of_kind("hook_response")
    assert {line["hook_id"] for line in started} == {line["hook_id"] for line in told}
    outcomes = {line["hook_name"]: line["outcome"] for line in told}
    assert outcomes == {STOP: "deny", "true": "agreed", "exit 9": "failed"}
    assert {line["hook_event"] for line in told} == {"PreToolUse"}
    assert next(line for line in told if line["hook_name"] == STOP)["reason"] == "not here"


@pytest.mark.requirement("hooks:everywhere", "hooks:context")
async def test_a_client_over_mcp_is_stopped_and_told_what_hooks_add(
    tmp_path: Path, config: Path
) -> None:
    server = Server(tmp_path)
    (tmp_path / "ws").mkdir()
    write(config / "hooks.json", "PreToolUse", [STOP], matcher=r".*run_command")
    own = {"hookEventName": "PostToolUse", "additionalContext": "mind the tests"}
    write(config / "hooks.json", "PostToolUse", [says(hookSpecificOutput=own)])
    async with server.client() as client:
        stopped = await client.call_tool(
            "terminal_operations", {"operation": "run_command", "command": "echo ran > made"}
        )
        made = await client.call_tool(
            "file_operations", {"operation": "create_file", "filePath": "a", "content": "x"}
        )
    assert stopped.is_error and "not here" in text_of(stopped)
    assert not (tmp_path / "ws/made").exists()
    assert not made.is_error
    assert any("mind the tests" in getattr(block, "text", "") for block in made.content)


@pytest.mark.requirement("hooks:everywhere", "hooks:context")
def test_a_call_without_a_model_is_told_what_hooks_add(command: Command, config: Path) -> None:
    own = {"hookEventName": "PostToolUse", "additionalContext": "mind the tests"}
    write(config / "hooks.json", "PostToolUse", [says(hookSpecificOutput=own)])
    (note,) = command("tools", "call", RUN, COMMAND).json["metadata"]["hooks"]
    assert note.endswith("says:\nmind the tests")


@pytest.mark.requirement("hooks:everywhere", "hooks:told")
async def test_the_workbench_says_what_it_waits_for_and_what_was_stopped(tmp_path: Path) -> None:
    settings = tmp_path / "settings"
    settings.mkdir()
    gate = tmp_path / "ws/gate"
    command = "cat gate >/dev/null; echo '[red]not here' >&2; exit 2"
    write(settings / "hooks.json", "PreToolUse", [command])
    model = RawModel()
    stage = build_stage(tmp_path, model)
    os.mkfifo(gate)
    model.answers += [
        calls(("run_command", {"command": "echo ran > made"})),
        [TextDelta("It was stopped.")],
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("go")
        await me.until(lambda: "hook: cat gate" in me.app.chat.status.activity.words(0))
        await asyncio.to_thread(gate.write_text, "go")
        await me.until(lambda: "It was stopped." in me.transcript())
        assert "A hook stopped terminal_operations.run_command: [red]not here" in me.transcript()
        assert "[red]not here" in me.drawn()
        assert me.app.chat.status.activity.running == {}
    assert not (stage.workspace / "made").exists()


@pytest.mark.requirement("hooks:everywhere", "hooks:input")
async def test_tools_of_mcp_servers_are_hooked_by_the_names_of_the_field(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "cfg").mkdir(mode=0o700)
    house = House(tmp_path)
    house.user(one=raw())
    write(tmp_path / "cfg/hooks.json", "PreToolUse", ["cat > told"], matcher="mcp__one__.*")
    write(tmp_path / "cfg/hooks.json", "PreToolUse", [STOP], matcher="mcp__one__write")
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="hello") == "hello"
        told = json.loads((house.workspace / "told").read_text(encoding="utf-8"))
        assert (told["tool_name"], told["tool_input"]) == ("mcp__one__echo", {"text": "hello"})
        assert "not here" in await sam.text("mcp__one__write", text="a.txt")
        assert len(house.person.asked) == 1  # what a hook stops nobody is asked about
    assert not (house.workspace / "a.txt").exists()
