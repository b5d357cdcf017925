import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tools.terminal_operations import TerminalOperations, TerminalParts
from sam_tui.adapters.terminal.person_input.redaction import PLACEHOLDER
from sam_tui.adapters.terminal.person_input.session_holder import SessionHolder
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event, TerminalPassed
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Inquiry, Reply
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from tests.terminal.session_kit import shown

Until = Callable[[TerminalSession, str], Awaitable[str]]
Hand = Any

ME = ConversationId("me")
SECRET = "hunter2secret"

pytestmark = pytest.mark.usefixtures("plain_shell")


class Harness:
    """A person who is asked, and answers what ``says`` returns, or does not answer."""

    def __init__(self, *, attended: bool) -> None:
        self.asked: list[str] = []
        self.says: Callable[[], str | None] = lambda: None
        self.inquiries = Inquiries(Bus(), SystemClock(), attended=attended, responder=self._respond)

    def _respond(self, inquiry: Inquiry) -> Reply | None:
        self.asked.append(str(inquiry.request))
        said = self.says()
        return None if said is None else Reply(said)


@pytest.fixture
def harness() -> Harness:
    return Harness(attended=True)


@pytest.fixture
def handed(hand: Hand, harness: Harness, terminals: PtyTerminals, published: list[Event]) -> Hand:
    """The tool with somebody to ask."""
    tool = TerminalOperations(
        TerminalParts(hand.commands, terminals, published.append, inquiries=harness.inquiries)
    )
    return type(hand)(tool, hand.workspace)


async def opened(hand: Hand, terminals: PtyTerminals) -> TerminalSession:
    session = terminals.find((await hand.data("create_session"))["session_id"])
    assert session is not None
    return session


@pytest.mark.requirement("terminal:holder")
async def test_the_agent_asks_the_person_to_type_and_learns_what_changed(
    handed: Hand, terminals: PtyTerminals, harness: Harness, until: Until, published: list[Event]
) -> None:
    session = await opened(handed, terminals)
    await handed.data("send_input", session_id=session.id, input="read -s -p 'Password: ' p\r\n")

    harness.says = lambda: session.type(f"{SECRET}\r".encode())
    asking = asyncio.ensure_future(
        handed.data(
            "send_input", session_id=session.id, input="", hand_over="your password for the vault"
        )
    )
    await shown(session, "Password:\nready>")
    session.type(f"echo {SECRET} was left >/dev/null; printf 'logged%s\\n' -in\r".encode())
    await shown(session, "logged-in")
    assert (session.turns.holder, session.turns.reason) == ("person", "your password for the vault")
    with pytest.raises(ToolError, match="what it shows is theirs"):
        await handed.call("get_terminal_buffer", id=session.id)
    session.turns.pass_to("agent")
    told = await asking
    assert "logged-in" in told["changed_by_person"]
    assert told["typed"] is False
    assert "your password for the vault" in harness.asked[0]
    history = await handed.call("get_history", session_id=session.id)
    buffer = await handed.call("get_terminal_buffer", id=session.id)
    last = await handed.call("get_last_command")
    for text in (str(told), history.text, buffer.text, last.text, str(published)):
        assert SECRET not in text
    assert "the person typed here" in history.text
    assert PLACEHOLDER in buffer.text
    passed = [event for event in published if isinstance(event, TerminalPassed)]
    assert [event.holder for event in passed] == ["person", "agent"]
    after = await handed.data("send_input", session_id=session.id, input="echo m''ine\r\n")
    assert "mine\n" in after["output"]
    assert "changed_by_person" not in after


@pytest.mark.requirement("terminal:holder")
async def test_an_answer_to_the_question_hands_back_too(
    handed: Hand, terminals: PtyTerminals, harness: Harness
) -> None:
    session = await opened(handed, terminals)
    harness.says = lambda: "I would rather not"
    told = await handed.data("send_input", session_id=session.id, input="", hand_over="a token")
    assert told["reply"] == "I would rather not"
    assert session.turns.holder == "agent"


@pytest.mark.requirement("terminal:holder")
async def test_where_nobody_is_the_agent_is_told_at_once(
    hand: Hand, terminals: PtyTerminals, published: list[Event]
) -> None:
    alone = Harness(attended=False)
    tool = TerminalOperations(
        TerminalParts(hand.commands, terminals, published.append, inquiries=alone.inquiries)
    )
    mine = type(hand)(tool, hand.workspace)
    session = await opened(mine, terminals)
    result = await mine.call("send_input", session_id=session.id, input="", hand_over="a token")
    assert not result.ok
    assert "Nobody is there" in result.text
    assert session.turns.holder == "agent"


@pytest.mark.requirement("terminal:holder-pause")
async def test_a_key_of_the_person_pauses_the_agent_until_it_is_handed_back(
    handed: Hand, terminals: PtyTerminals
) -> None:
    session = await opened(handed, terminals)
    session.type(b"printf 'by-%s' hand; echo\r")
    await shown(session, "by-hand")
    with pytest.raises(ToolError, match="person types in this terminal now, so nothing was typed"):
        await handed.call("send_input", session_id=session.id, input="ls\r\n", timeout=0.05)
    with pytest.raises(ToolError, match="not the agent's turn"):
        session.write(b"ls\r")
    for name in ("close_session", "get_terminal_output"):
        given = {"id": session.id, "end": True} if name != "close_session" else {}
        with pytest.raises(ToolError, match=r"The person (types in|has) this terminal"):
            await handed.call(name, **(given or {"session_id": session.id}))
    sending = asyncio.ensure_future(
        handed.data("send_input", session_id=session.id, input="echo nev''er\r\n", timeout=60)
    )
    await asyncio.sleep(0)
    session.turns.pass_to("agent")
    told = await sending
    assert told["typed"] is False
    assert "by-hand" in told["changed_by_person"]
    assert "never" not in session.screen.text()


@pytest.mark.requirement("terminal:holder")
async def test_a_session_that_is_only_watched_takes_no_keys(
    handed: Hand, terminals: PtyTerminals
) -> None:
    session = await opened(handed, terminals)
    session.turns.pass_to("watch")
    for types in (session.write, session.type):
        with pytest.raises(ToolError):
            types(b"x")
    with pytest.raises(ToolError, match="watched only"):
        await handed.call("send_input", session_id=session.id, input="ls\r\n", timeout=0.05)
    session.turns.pass_to("agent")
    session.write(b"\r")


@pytest.mark.requirement("terminal:holder")
async def test_the_person_s_own_shell_stays_theirs(
    terminals: PtyTerminals, workspace: Path, until: Until
) -> None:
    session, _ = await terminals.open(SessionSpec(None, str(workspace)))
    session.turns.pass_to("agent")
    assert session.turns.holder == "person"
    session.type(b"echo all-is-ke''pt\r")
    await until(session, "all-is-kept\r\n")


@pytest.mark.requirement("terminal:holder-unrecorded")
async def test_a_recording_has_nothing_of_what_the_person_did(
    handed: Hand, terminals: PtyTerminals, tmp_path: Path, until: Until
) -> None:
    session = await opened(handed, terminals)
    stop = session.record(str(tmp_path / "one.cast"), typed=True)
    session.write(b"echo bef''ore\r")
    await until(session, "before\r\n")
    session.type(f"echo {SECRET}\r".encode())
    session.type(b"echo en''d\r")
    await shown(session, "\nend")
    session.turns.pass_to("agent")
    session.write(b"echo af''ter\r")
    await until(session, "after\r\n")
    stop()
    text = (tmp_path / "one.cast").read_text()
    assert SECRET not in text
    assert "before" in text
    assert "after" in text


@pytest.mark.requirement("terminal:holder-unrecorded")
def test_what_was_typed_is_redacted_however_it_was_edited() -> None:
    baton = SessionHolder(personal=False)
    baton.take("why", "one\ntwo")
    baton.typed(b"secrxx\x7f\x7fet-word")
    assert baton.redacted("$ secret-word") == f"$ {PLACEHOLDER}"
    baton.typed(b"\x1b[Dx\x1b[D\x1b[D\x7f\x1b[200~pasted\x1b[201~\rls\r")
    assert baton.redacted("$ secret-wopastedrxd") == f"$ {PLACEHOLDER}"
    baton.hand_back("one\ntwo\n$ secret-wo\r\n\x1b[1mpastedrxd\nnew")
    assert baton.handover is not None
    assert baton.handover.changed == f"one\ntwo\n$ {PLACEHOLDER}\nnew"
