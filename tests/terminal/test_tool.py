import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sam_tools.terminal_operations.arguments import RunCommand
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.accesses import CommandAccess, Read, Type
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event, TerminalClosed, TerminalOpened
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import SessionSpec
from sam_tui.core.tooling.contract import Schedule
from sam_tui.core.tooling.offer import tool_schema

ME = ConversationId("me")
OTHER = ConversationId("other")

Hand = Any
"""Calls operations as the executor would once the guard has allowed them: see conftest."""

pytestmark = pytest.mark.usefixtures("plain_shell")


@pytest.mark.requirement("terminal:tool-schema")
def test_operations_come_in_the_seed_s_order_and_share_one_schema(hand: Hand) -> None:
    schema = tool_schema(hand.tool)["function"]
    assert schema["parameters"]["properties"]["operation"]["enum"] == [
        "run_command",
        "get_terminal_output",
        "get_terminal_buffer",
        "get_last_command",
        "get_terminal_selection",
        "create_directory",
        "create_session",
        "send_input",
        "get_output",
        "get_history",
        "close_session",
    ]
    assert hand.operation("run_command").schedule is Schedule.BLOCKING
    assert schema["parameters"]["properties"]["timeout"]["type"] == "number"


@pytest.mark.requirement("terminal:tool-run")
async def test_a_command_s_own_output_comes_back(hand: Hand) -> None:
    result = await hand.call("run_command", command="printf '\\033[31mred\\033[0m\\n'; pwd")
    assert result.text == f"red\n{hand.workspace}"
    assert result.ok
    assert result.data["exitCode"] == 0
    assert result.data["cwd"] == str(hand.workspace)
    assert "".join(hand.heard) == f"red\n{hand.workspace}\n"
    (display,) = result.display
    assert isinstance(display, Terminal)
    assert (display.output, display.exit_code) == (f"red\n{hand.workspace}\n", 0)


@pytest.mark.requirement("terminal:tool-run")
@pytest.mark.parametrize(
    ("command", "text", "code"),
    [
        ("true", "(no output)", 0),
        ("exit 3", "(no output)\n[exit code 3]", 3),
        ("echo partly; exit 1", "partly\n[exit code 1]", 1),
        ("kill -9 $$", "(no output)\n[killed by SIGKILL]", None),
    ],
)
async def test_how_a_command_ended_is_its_last_line(
    hand: Hand, command: str, text: str, code: int | None
) -> None:
    result = await hand.call("run_command", command=command)
    assert (result.text, result.ok, result.data["exitCode"]) == (text, code == 0, code)


@pytest.mark.requirement("terminal:tool-run")
async def test_an_unknown_command_fails_with_127(hand: Hand) -> None:
    result = await hand.call("run_command", command="nonexistent_command_12345")
    assert "not found" in result.text
    assert (result.ok, result.data["exitCode"]) == (False, 127)


@pytest.mark.requirement("terminal:tool-run")
async def test_a_timeout_is_told(hand: Hand) -> None:
    result = await hand.call("run_command", command="echo begun; sleep 60", timeout="0.3")
    assert result.text.startswith("begun\n[timed out after 0.3 s")
    assert not result.ok
    assert result.data["timedOut"]


@pytest.mark.requirement("terminal:tool-run")
async def test_a_refusal_by_the_sandbox_is_explained(
    hand: Hand, outside: Path, commands: ShellCommands
) -> None:
    if commands.confinement.kind == "none":
        pytest.skip("the kernel offers no Landlock")
    result = await hand.call("run_command", command=f"echo x > {outside}/victim")
    assert "Permission denied" in result.text
    assert "sandbox refuses writing outside the workspace" in result.text.splitlines()[-1]
    free = hand.context()
    free = replace(free, permit=replace(free.permit, confined=False))
    result = await hand.call("run_command", free, command=f"echo x > {outside}/victim")
    assert (result.text, result.ok) == ("(no output)", True)


@pytest.mark.requirement("terminal:tool-run")
async def test_a_named_folder_is_where_it_runs(hand: Hand) -> None:
    sub = hand.workspace / "sub"
    sub.mkdir()
    context = hand.context(working_directory=sub)
    result = await hand.call("run_command", context, command="pwd", working_directory="sub")
    assert result.text == str(sub)
    assert result.data["cwd"] == str(sub)


@pytest.mark.requirement("terminal:tool-accesses")
def test_every_operation_declares_what_it_touches(hand: Hand) -> None:
    def touched(name: str, **given: Any) -> list[Any]:
        operation = hand.operation(name)
        return list(operation.accesses(operation.arguments.model_validate(given)))

    assert touched("run_command", command="ls") == [CommandAccess("ls")]
    assert touched("run_command", command="ls", working_directory="a") == [
        CommandAccess("ls", "a"),
        Read("a", "working_directory"),
    ]
    assert touched("create_session", working_directory="a") == [
        CommandAccess("(interactive shell)", "a"),
        Read("a", "working_directory"),
    ]
    assert touched("send_input", session_id="s", input="rm x\r\n") == [Type("s", "rm x\r\n")]
    assert touched("get_history", session_id="s") == []


@pytest.mark.requirement("terminal:tool-schema")
@pytest.mark.parametrize(
    "given",
    [{}, {"command": "  "}, {"command": "x", "timeout": 0}, {"command": "x", "timeout": 4000}],
)
def test_arguments_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RunCommand.model_validate(given)


@pytest.mark.requirement("terminal:tool-session")
async def test_a_session_is_created_found_restarted_and_closed(
    hand: Hand, published: list[Event]
) -> None:
    created = await hand.data("create_session", topic="unknown parameters are ignored")
    assert created["status"] == "created"
    assert created["working_directory"] == str(hand.workspace)
    assert "/dev/" in created["tty_name"]
    existing = await hand.data("create_session", conversation_id=ME)
    assert (existing["status"], existing["session_id"]) == ("existing", created["session_id"])
    sub = hand.workspace / "sub"
    sub.mkdir()
    restarted = await hand.data(
        "create_session", hand.context(working_directory=sub), working_directory="sub"
    )
    assert restarted["status"] == "restarted"
    assert restarted["session_id"] != created["session_id"]
    closed = await hand.data("close_session", session_id=restarted["session_id"])
    assert closed == {"session_id": restarted["session_id"], "status": "closed"}
    assert (await hand.data("create_session"))["status"] == "created"
    kinds = [(type(event).__name__, getattr(event, "session", "")) for event in published]
    assert kinds[:4] == [
        ("TerminalOpened", created["session_id"]),
        ("TerminalClosed", created["session_id"]),
        ("TerminalOpened", restarted["session_id"]),
        ("TerminalClosed", restarted["session_id"]),
    ]
    assert len(kinds) == 5


@pytest.mark.requirement("terminal:tool-session")
async def test_input_returns_only_what_was_printed_since(hand: Hand) -> None:
    session = (await hand.data("create_session"))["session_id"]
    first = await hand.data("send_input", session_id=session, input="echo o''ne\r\n")
    assert "one\n" in first["output"]
    second = await hand.data("send_input", session_id=session, input="echo t''wo\r\n")
    assert "two\n" in second["output"]
    assert "one\n" not in second["output"]
    # One enter per line: an empty second one would print another prompt.
    assert second["output"].count("ready>") == 1
    assert second["status"] == "running"
    rest = await hand.data("get_output", session_id=session, from_index=first["end_index"])
    assert rest["output"] == second["output"]
    assert (rest["from_index"], rest["truncated"]) == (first["end_index"], False)
    history = await hand.data("get_history", session_id=session)
    assert "one\n" in history["history"]
    assert "two\n" in history["history"]
    assert history["truncated"] is False


@pytest.mark.requirement("terminal:tool-session")
async def test_a_shell_that_exits_is_told_and_announced(hand: Hand, published: list[Event]) -> None:
    session = (await hand.data("create_session"))["session_id"]
    told = await hand.data("send_input", session_id=session, input="exit 5\r\n")
    async with asyncio.timeout(90):
        while told["status"] == "running":
            told = await hand.data("get_output", session_id=session)
            await asyncio.sleep(0)
    assert told["status"] == "exited(5)"
    assert published == [TerminalOpened(ME, session), TerminalClosed(ME, session, 5)]
    with pytest.raises(ToolError, match="has ended"):
        await hand.call("send_input", session_id=session, input="ls\r\n")
    assert (await hand.data("create_session"))["status"] == "restarted"


@pytest.mark.requirement("terminal:tool-foreign")
async def test_a_session_of_another_conversation_is_not_found(
    hand: Hand, terminals: PtyTerminals
) -> None:
    mine = (await hand.data("create_session"))["session_id"]
    persons, _ = await terminals.open(SessionSpec(None, str(hand.workspace)))
    other = hand.context(OTHER)
    for session, context in ((mine, other), (persons.id, None), ("no-such", None)):
        for name, more in (
            ("send_input", {"input": "x"}),
            ("get_output", {}),
            ("get_history", {}),
            ("close_session", {}),
        ):
            with pytest.raises(ToolError, match="no terminal session"):
                await hand.call(name, context, session_id=session, **more)
    assert persons.running
    with pytest.raises(ToolError, match="only be opened for this conversation"):
        await hand.call("create_session", conversation_id=OTHER)


@pytest.mark.requirement("terminal:tool-foreign")
async def test_a_session_without_sandbox_is_not_typed_into_once_the_sandbox_applies(
    hand: Hand,
) -> None:
    held = hand.context()
    free = replace(held, permit=replace(held.permit, confined=False))
    session = (await hand.data("create_session", free))["session_id"]
    await hand.call("send_input", free, session_id=session, input="ls\r\n")
    with pytest.raises(ToolError, match="without the sandbox"):
        await hand.call("send_input", held, session_id=session, input="ls\r\n")
    assert (await hand.data("create_session", held))["session_id"] != session


@pytest.mark.requirement("terminal:tool-summary")
@pytest.mark.parametrize(
    ("name", "given", "line"),
    [
        ("run_command", {"command": "ls\n -la"}, "Running: ls -la"),
        ("run_command", {"command": "x" * 99}, "Running: " + "x" * 79 + "…"),
        ("run_command", {"command": "a\u202eb\x1b"}, "Running: a\\u202eb\\x1b"),
        ("send_input", {"session_id": "s", "input": "\x03"}, "Sending to terminal: \\x03"),
    ],
)
def test_the_card_s_line_is_short_and_hides_nothing(
    hand: Hand, name: str, given: dict[str, Any], line: str
) -> None:
    operation = hand.operation(name)
    summary: Callable[[Any], str] = operation.summary
    assert summary(operation.arguments.model_validate(given)) == line
