import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tools.terminal_operations import TerminalOperations, TerminalParts
from sam_tui.adapters.terminal.commands.background import PortedCommands
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.accesses import Write
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from tests.fakes.interpreter import INTERPRETER
from tests.shield.test_leaks import TOKEN

ME = ConversationId("me")
OTHER = ConversationId("other")

Until = Callable[[TerminalSession, str], Awaitable[str]]
Hand = Any
"""Calls operations as the executor would once the guard has allowed them: see conftest."""

pytestmark = pytest.mark.usefixtures("plain_shell")


async def started(hand: Hand, command: str, **more: Any) -> Any:
    return await hand.data("run_command", command=command, isBackground=True, **more)


async def printing(hand: Hand, command: str) -> Any:
    """Start a command that prints a line: the answer that has it, on a busy machine not the first."""
    told = made = await started(hand, command)
    while "\n" not in told["output"]:
        told = await hand.data("get_terminal_output", id=made["terminalId"], wait=0.05)
    return made | told


# ---- background commands


@pytest.mark.requirement("terminal:background-streams")
async def test_output_of_a_background_command_is_read_from_where_the_last_read_ended(
    hand: Hand,
) -> None:
    (hand.workspace / "gate").touch()
    made = await printing(
        hand, "echo one; while [ -e gate ]; do sleep 0.01; done; echo two; exit 3"
    )
    terminal = made["terminalId"]
    assert (made["isBackground"], made["cwd"]) == (True, str(hand.workspace))
    assert (made["output"], made["isRunning"], made["exitCode"]) == ("one\n", True, None)
    (hand.workspace / "gate").unlink()
    told = await hand.data(
        "get_terminal_output", id=terminal, from_index=made["end_index"], wait=20
    )
    assert (told["output"], told["isRunning"], told["exitCode"]) == ("two\n", False, 3)
    assert (told["truncated"], told["end_index"]) == (False, 8)
    whole = await hand.data("get_terminal_output", id=terminal)
    assert whole["output"] == "one\ntwo\n"
    assert whole["state"] == "exited(3)"
    assert "".join(hand.heard).endswith("two\n")


@pytest.mark.requirement("terminal:background-waits")
async def test_waiting_gives_up_in_time_and_goes_on_later(hand: Hand) -> None:
    (hand.workspace / "gate").touch()
    made = await started(hand, "while [ -e gate ]; do sleep 0.01; done; echo done")
    told = await hand.data("get_terminal_output", id=made["terminalId"], wait=0.05)
    assert told["isRunning"]
    (hand.workspace / "gate").unlink()
    told = await hand.data("get_terminal_output", id=made["terminalId"], wait=20)
    assert (told["output"], told["exitCode"], told["isRunning"]) == ("done\n", 0, False)


@pytest.mark.requirement("terminal:background-ends")
async def test_ending_a_background_command_ends_all_it_started(
    hand: Hand, lives: Callable[[int], bool]
) -> None:
    made = await printing(hand, "sleep 300 & echo $! $$; wait")
    child, shell = map(int, made["output"].split())
    assert made["pid"] == shell
    assert lives(child)
    assert lives(shell)
    told = await hand.data("get_terminal_output", id=made["terminalId"], end=True)
    assert (told["isRunning"], told["exitCode"]) == (False, None)
    assert told["state"] == "ended on request"
    assert not lives(child)
    assert not lives(shell)
    assert (await hand.data("get_terminal_output", id=made["terminalId"], end=True))[
        "isRunning"
    ] is False


@pytest.mark.requirement("terminal:background-ends")
async def test_background_commands_end_with_the_runtime(
    hand: Hand,
    background: PortedCommands,
    lives: Callable[[int], bool],
    descriptors: Callable[[], int],
    no_zombies: Callable[[], None],
) -> None:
    await started(hand, "true")
    before = descriptors()
    pids = [int((await printing(hand, "echo $$; exec sleep 300"))["output"]) for _ in range(8)]
    assert all(map(lives, pids))
    await background.close_all()
    assert not any(map(lives, pids))
    assert descriptors() <= before + 3  # the next way in may be in the making, before or after
    no_zombies()
    assert (await hand.data("get_terminal_output"))["terminals"] == []


@pytest.mark.requirement("terminal:background-limit")
async def test_a_background_command_has_no_time_limit_unless_it_is_given_one(hand: Hand) -> None:
    arguments = hand.operation("run_command").arguments
    assert arguments(command="x", isBackground=True).limit is None
    assert arguments(command="x", isBackground="true", timeout="2").limit == 2
    assert arguments(command="x").limit == 120
    made = await started(hand, "sleep 300", timeout=0.1)
    told = await hand.data("get_terminal_output", id=made["terminalId"], wait=20)
    assert (told["isRunning"], told["state"]) == (False, "timed out")


@pytest.mark.requirement("terminal:background-list")
async def test_background_commands_are_listed_with_the_session(hand: Hand) -> None:
    first = await started(hand, "echo a; exit 4")
    second = await started(hand, "sleep 300")
    session = (await hand.data("create_session"))["session_id"]
    await hand.call("get_terminal_output", id=first["terminalId"], wait=20)
    listed = await hand.call("get_terminal_output")
    assert [
        (one["terminalId"], one["command"], one["isRunning"], one["exitCode"])
        for one in listed.data["terminals"]
    ] == [
        (first["terminalId"], "echo a; exit 4", False, 4),
        (second["terminalId"], "sleep 300", True, None),
    ]
    assert [one["session_id"] for one in listed.data["sessions"]] == [session]
    assert listed.display[0].rows[0][1:] == ("echo a; exit 4", "exited(4)")
    told = await hand.data("get_terminal_output", id=session)
    assert (told["terminalId"], told["isRunning"]) == (session, True)


@pytest.mark.requirement("terminal:background-foreign")
async def test_another_conversation_s_background_command_is_not_found(hand: Hand) -> None:
    made = await started(hand, "sleep 300")
    for name, context in ((made["terminalId"], hand.context(OTHER)), ("no-such", None)):
        with pytest.raises(ToolError, match="no background command"):
            await hand.call("get_terminal_output", context, id=name, end=True)
    assert (await hand.data("get_terminal_output", hand.context(OTHER)))["terminals"] == []
    assert (await hand.data("get_terminal_output"))["terminals"][0]["isRunning"]


@pytest.mark.requirement("terminal:background-confined")
async def test_a_background_command_is_held_by_the_same_sandbox(
    hand: Hand, outside: Path, commands: Any
) -> None:
    if commands.confinement.kind == "none":
        pytest.skip("the kernel offers no confinement")
    made = await started(hand, f"echo x > {outside}/victim; echo y > mine")
    await hand.call("get_terminal_output", id=made["terminalId"], wait=20)
    assert (outside / "victim").read_text() == "precious"
    assert (hand.workspace / "mine").read_text() == "y\n"


@pytest.mark.requirement("terminal:background-streams")
async def test_a_background_command_that_cannot_start_says_why(hand: Hand) -> None:
    gone = hand.context(working_directory=hand.workspace / "gone")
    with pytest.raises(ToolError, match="does not exist"):
        await hand.call(
            "run_command", gone, command="ls", isBackground=True, working_directory="gone"
        )


@pytest.mark.requirement("terminal:background-bounded")
async def test_of_a_flood_in_the_background_only_the_newest_is_kept(
    hand: Hand, background: PortedCommands
) -> None:
    made = await started(
        hand, "seq -w 1 99999 | sed 's/$/ ................................/'; echo last"
    )
    found = background.find(made["terminalId"])
    assert found is not None
    await found.wait(within=90)
    read = found.output(0)
    assert read.end - read.start == len(read.text) <= 1_000_000
    assert read.text.endswith("last\n")


@pytest.mark.requirement("terminal:background-bounded")
async def test_only_the_newest_ended_background_commands_are_remembered(
    hand: Hand, background: PortedCommands
) -> None:
    for number in range(24):
        made = await started(hand, f"echo {number}")
        await hand.call("get_terminal_output", id=made["terminalId"], wait=20)
    assert len(background.of(ME)) <= 21
    assert background.of(ME)[-1].output(0).text == "23\n"


# ---- the visible terminal


@pytest.mark.requirement("terminal:tool-buffer")
async def test_the_buffer_is_what_the_screen_shows(hand: Hand) -> None:
    with pytest.raises(ToolError, match="no terminal session"):
        await hand.call("get_terminal_buffer")
    session = (await hand.data("create_session"))["session_id"]
    await hand.call(
        "send_input",
        session_id=session,
        input="printf '\\033[2J\\033[4;7Hthe\\033[1;31m re\\033[0md\\n'\r",
    )
    found = await hand.data("get_terminal_buffer")
    assert found["buffer"].splitlines()[3] == "      the red"
    assert (found["session_id"], found["columns"], found["rows"]) == (session, 100, 30)
    assert found["state"] == "finished: at the prompt"
    assert await hand.data("get_terminal_buffer", id=session) == found
    with pytest.raises(ToolError, match="no terminal session"):
        await hand.call("get_terminal_buffer", hand.context(OTHER), id=session)


@pytest.mark.requirement("terminal:tool-buffer")
async def test_a_line_that_the_screen_wraps_is_told_whole(hand: Hand) -> None:
    (hand.workspace / "long").write_text(f"{'-' * 80}{TOKEN}\n")
    session = (await hand.data("create_session"))["session_id"]
    await hand.call("send_input", session_id=session, input="clear; cat long\r")
    found = await hand.data("get_terminal_buffer")
    assert found["columns"] < 80 + len(TOKEN)
    assert TOKEN in found["buffer"]


@pytest.mark.requirement("terminal:tool-last-command")
async def test_the_last_command_is_told_for_both_hands(hand: Hand) -> None:
    empty = await hand.data("get_last_command")
    assert (empty["session"], empty["run_command"]) == (None, None)
    assert "No command" in empty["message"]
    await hand.call("run_command", command="echo out; exit 3")
    session = (await hand.data("create_session"))["session_id"]
    sub = hand.workspace / "sub"
    sub.mkdir()
    await hand.call("send_input", session_id=session, input="cd sub\r\n")
    await hand.call("send_input", session_id=session, input="echo in; false\r\n")
    last = await hand.data("get_last_command")
    ran, typed = last["run_command"], last["session"]
    assert (ran["command"], ran["exitCode"], ran["output"]) == ("echo out; exit 3", 3, "out\n")
    assert ran["cwd"] == str(hand.workspace)
    assert (typed["command"], typed["exitCode"], typed["output"]) == ("echo in; false", 1, "in\n")
    assert (typed["cwd"], typed["isRunning"]) == (str(sub), False)
    assert typed["durationMs"] >= 0
    elsewhere = await hand.data("get_last_command", hand.context(OTHER))
    assert (elsewhere["session"], elsewhere["run_command"]) == (None, None)


@pytest.mark.requirement("terminal:tool-selection")
async def test_the_selection_is_what_the_person_selected(
    hand: Hand, terminals: PtyTerminals
) -> None:
    nothing = await hand.data("get_terminal_selection")
    assert (nothing["selection"], "message" in nothing) == ("", True)
    persons, _ = await terminals.open(SessionSpec(None, str(hand.workspace)))
    persons.selection = "theirs\x1b[31m!"
    assert await hand.data("get_terminal_selection") == {
        "selection": "theirs!",
        "terminal": "person",
    }
    session = terminals.find((await hand.data("create_session"))["session_id"])
    assert session is not None
    session.selection = "agent's"
    assert await hand.data("get_terminal_selection") == {
        "selection": "agent's",
        "terminal": "agent",
    }
    elsewhere = await hand.data("get_terminal_selection", hand.context(OTHER))
    assert elsewhere["selection"] == "theirs!"


@pytest.mark.requirement("terminal:tool-directory")
@pytest.mark.parametrize("name", ["dirPath", "path", "dir_path"])
async def test_a_directory_is_made_with_those_above_it(hand: Hand, name: str) -> None:
    where = hand.workspace / "a" / "b"
    operation = hand.operation("create_directory")
    arguments = operation.arguments.model_validate({name: "a/b"})
    assert list(operation.accesses(arguments)) == [Write("a/b", "dirPath")]
    context = hand.context(dirPath=where)
    made = await hand.data("create_directory", context, **{name: "a/b"})
    assert (made["success"], made["created"], made["path"]) == (True, True, "a/b")
    assert where.is_dir()
    again = await hand.data("create_directory", context, **{name: "a/b"})
    assert (again["success"], again["created"]) == (True, False)


# ---- typing


@pytest.mark.requirement("terminal:end-of-command")
async def test_a_silent_command_is_waited_for_until_its_end(hand: Hand) -> None:
    session = (await hand.data("create_session"))["session_id"]
    told = await hand.data(
        "send_input", session_id=session, input="sleep 0.7; echo x\r\n", timeout=20
    )
    assert told["output"].splitlines()[-2:] == ["x", "ready> "]
    assert (told["exitCode"], told["state"]) == (0, "finished: at the prompt")
    assert told["working_directory"] == str(hand.workspace)


@pytest.mark.requirement("terminal:end-of-command")
async def test_a_command_that_takes_longer_is_told_to_run_still(
    hand: Hand, terminals: PtyTerminals, until: Until
) -> None:
    session = (await hand.data("create_session"))["session_id"]
    command = "echo be''gun; sleep 300"
    told = await hand.data("send_input", session_id=session, input=command + "\r\n", timeout=0.4)
    assert told.get("exitCode") is None
    found = terminals.find(session)
    assert found is not None
    await until(found, "begun\r\n")
    last = (await hand.data("get_last_command"))["session"]
    assert (last["command"], last["isRunning"], last["exitCode"]) == (command, True, None)
    waited = await hand.data("get_terminal_output", id=session, wait=0.1)
    assert waited["state"].startswith(("running", "quiet"))
    ended = await hand.data("get_terminal_output", id=session, end=True)
    assert (ended["state"], ended["isRunning"]) == ("finished: at the prompt", True)
    assert (await hand.data("get_last_command"))["session"]["exitCode"] == 130


@pytest.mark.requirement("terminal:waits-for-input")
async def test_a_question_is_returned_at_once_and_its_answer_typed(hand: Hand) -> None:
    session = (await hand.data("create_session"))["session_id"]
    told = await hand.data(
        "send_input", session_id=session, input="read -p 'name? ' n; echo hi $n\r\n", timeout=60
    )
    assert told["state"] == "waiting for input"
    assert told["output"].endswith("name? ")
    told = await hand.data("send_input", session_id=session, input="me\r\n")
    assert "hi me\n" in told["output"]
    assert told["exitCode"] == 0


@pytest.mark.requirement("terminal:secret-input")
async def test_what_is_typed_at_a_password_prompt_is_shown_and_kept_nowhere(hand: Hand) -> None:
    session = (await hand.data("create_session"))["session_id"]
    told = await hand.data(
        "send_input", session_id=session, input="read -s -p 'Password: ' p; echo; echo ${#p}\r\n"
    )
    assert told["state"] == "waiting for hidden input"
    result = await hand.call("send_input", session_id=session, input="hunter2\r\n")
    assert "7\n" in result.data["output"]
    (card,) = result.display
    assert isinstance(card, Terminal)
    assert card.command == "(hidden input)"
    history = (await hand.data("get_history", session_id=session))["history"]
    last = await hand.call("get_last_command")
    for text in (str(result), history, last.text):
        assert "hunter2" not in text


@pytest.mark.requirement("terminal:end-of-command")
async def test_cancelling_the_wait_leaves_the_session_as_it_is(
    hand: Hand, terminals: PtyTerminals, until: Until
) -> None:
    session = (await hand.data("create_session"))["session_id"]
    # A shell loses an interrupt that comes while it starts a program; this one takes it at any time.
    waits = "import time; print('be' + 'gun', flush=True); time.sleep(300)"
    command = f'{INTERPRETER} -c "{waits}"\r\n'
    sending = asyncio.ensure_future(
        hand.call("send_input", session_id=session, input=command, timeout=300)
    )
    found = terminals.find(session)
    assert found is not None
    await until(found, "begun\r\n")
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    told = await hand.data("send_input", session_id=session, input="\x03")
    assert told["exitCode"] == 130


@pytest.mark.requirement("terminal:tool-foreign")
async def test_without_its_ports_an_operation_says_so(
    hand: Hand, commands: Any, terminals: PtyTerminals, published: list[Event]
) -> None:
    bare = type(hand)(
        TerminalOperations(TerminalParts(commands, terminals, published.append)), hand.workspace
    )
    with pytest.raises(ToolError, match="cannot run in the background"):
        await started(bare, "ls")
    context = bare.context(dirPath=bare.workspace / "x")
    with pytest.raises(ToolError, match="cannot be made"):
        await bare.call("create_directory", context, dirPath="x")
