"""Hands a session to the person and back: the agent waits, and learns which lines changed."""

import asyncio

from sam_tools.terminal_operations.answers import state_words, status
from sam_tools.terminal_operations.session_output import session_result
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import SessionId
from sam_tui.core.inquiries import Inquiries, InquiryOutcome
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.ports.processes.terminals import TerminalSession
from sam_tui.core.text.plain import escaped
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_LONGEST_CHANGE = 4000
_TYPED = {
    True: "All of input was typed before; output is what was printed then.",
    False: "Nothing of input was typed.",
}
_HOW = "Type in the agent's terminal; Ctrl+] twice there hands it back, and so does an answer here."


class HandingOver:
    """Hands sessions over, and reports each time that the person held one once."""

    def __init__(self, inquiries: Inquiries | None) -> None:
        self._inquiries = inquiries
        self._reported: dict[SessionId, int] = {}

    def news(self, session: TerminalSession) -> dict[str, object]:
        """The lines that changed while the person held the session, unless they were reported before."""
        last = session.turns.handover
        if last is None or self._reported.get(session.id, 0) >= last.number:
            return {}
        self._reported[session.id] = last.number
        return {"changed_by_person": escaped(last.changed)[:_LONGEST_CHANGE]}

    async def ask(
        self,
        session: TerminalSession,
        reason: str,
        context: ToolContext,
        first: dict[str, object] | None,
    ) -> ToolResult:
        """Let the person type, and wait until they answer or hand the session back.

        ``first`` is the result of the keys that the agent typed before; None if it typed none.
        """
        if self._inquiries is None:
            raise ToolError("Nobody can be asked to type here.")
        if not session.running:
            raise ToolError("The terminal session has ended.", hint="Create a new session.")
        words = one_line(reason)
        session.turns.pass_to("person", words)
        question = Question(f"The agent asks you to type in its terminal: {words}", _HOW)
        asking = asyncio.ensure_future(
            self._inquiries.ask(context.conversation, context.call, question)
        )
        waiting = asyncio.ensure_future(returned(session))
        try:
            await asyncio.wait((asking, waiting), return_when=asyncio.FIRST_COMPLETED)
            outcome = asking.result() if asking.done() else None
        finally:
            for task in (asking, waiting):
                task.cancel()
            await asyncio.wait((asking, waiting))
            session.turns.pass_to("agent")
        return await self._result(session, outcome, first)

    async def yielded(self, session: TerminalSession, within: float) -> ToolResult | None:
        """None if the agent may type; else wait, and return the changes when the person hands back.

        The agent's keys are not typed then, because they were meant for another screen. Raises
        ``ToolError`` when the person holds the session for longer than ``within`` seconds.
        """
        if session.turns.holder == "agent":
            return None
        try:
            async with asyncio.timeout(within):
                await returned(session)
        except TimeoutError:
            raise ToolError(
                "The person types in this terminal now, so nothing was typed."
                if session.turns.holder == "person"
                else "The person lets nobody type in this terminal: it is watched only.",
                hint="Go on with other work, or ask the person by user_collaboration.",
            ) from None
        return await self._result(session, None, None)

    async def _result(
        self,
        session: TerminalSession,
        outcome: InquiryOutcome | None,
        first: dict[str, object] | None,
    ) -> ToolResult:
        try:
            await session.turns.tidied()
            note: dict[str, object] = {}
        except ToolError as error:
            note = {"note": error.explain()}
        data: dict[str, object] = {
            "session_id": session.id,
            "status": status(session),
            "state": state_words(session),
            "typed": first is not None,
            "message": f"The person handed the terminal back. {_TYPED[first is not None]}",
            **(first or {}),
            **note,
            "end_index": session.end,
            **self.news(session),
        }
        ok = True
        if outcome is not None and isinstance(outcome.answer, Reply):
            data["reply"] = outcome.answer.text
        elif outcome is not None:
            ok = False
            data["message"] = (
                "Nobody is there who could type. Go on without, where you safely can."
                f" {_TYPED[first is not None]}"
            )
        placeholder = "(handed to the person)"
        changed = str(data.get("changed_by_person", ""))
        return session_result(
            session, data, Terminal(placeholder, changed, session.exit_code, 0.0), ok=ok
        )


async def returned(session: TerminalSession) -> None:
    """Wait until the agent may type again, or there is nothing left to type into."""
    changed = asyncio.Event()
    stop = session.watch(changed.set)
    try:
        while session.running and session.turns.holder != "agent":
            changed.clear()
            await changed.wait()
    finally:
        stop()
