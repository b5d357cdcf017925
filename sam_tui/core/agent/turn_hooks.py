"""The effects of hooks on a turn and a compaction: refuse it, add to it, or make the turn continue."""

from collections.abc import Mapping
from dataclasses import dataclass

from sam_tui.core.errors import StoppedByHook, UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.hooks import HookEvent
from sam_tui.core.tooling.hooks import Asker, Hooking, HooksVerdict

MOST_STOPS = 8
"""How often hooks may continue a turn, so that a hook which never agrees cannot do so forever."""


@dataclass(slots=True)
class HookedTurn:
    """The hooks of one turn; ``who`` names the subagent whose turn it is, and is empty for the main
    agent."""

    hooking: Hooking
    conversation: ConversationId
    who: str
    stops: int = 0
    """How often hooks continued the turn."""
    compacting: bool = False
    """Whether hooks were informed that a compaction is near."""

    async def admit(self, text: str, opening: str) -> tuple[str, ...]:
        """Context that hooks add to a message. Raises ``StoppedByHook`` if one refuses the message.

        A subagent's task is no message of the person's, and no session begins with it.
        """
        if self.who:
            return ()
        notes: tuple[str, ...] = ()
        if opening:
            verdict = await self._ask("SessionStart", {"source": opening}, subject=opening)
            _require(verdict, "The session was stopped before it began", refusable=False)
            notes = verdict.notes
        verdict = await self._ask("UserPromptSubmit", {"prompt": text})
        _require(verdict, "The message was not sent", refusable=True)
        return (*notes, *verdict.notes)

    async def sent_on(self, answer: str) -> tuple[str, tuple[str, ...]]:
        """Return why hooks continue the turn after this answer, and notes; no reason ends the turn."""
        if self.stops >= MOST_STOPS:
            return "", ()
        event: HookEvent = "SubagentStop" if self.who else "Stop"
        facts = {"stop_hook_active": self.stops > 0, "last_assistant_message": answer}
        verdict = await self._ask(event, facts)
        if verdict.word != "deny" or verdict.halt:
            return "", verdict.notes
        self.stops += 1
        return (
            f"A hook ({verdict.rule}) does not let you stop yet:\n{verdict.reason}",
            verdict.notes,
        )

    async def before_compaction(self, share: float, threshold: float | None) -> None:
        """Tell hooks once of an automatic compaction near the limit; nothing refuses it."""
        near = share > (threshold or 1.0)
        if near and not self.compacting:
            await self._ask("PreCompact", _compaction("auto", ""), subject="auto")
        self.compacting = near

    async def admit_compaction(self, instructions: str) -> str:
        """The person's instructions for a compaction, with the notes that hooks add.

        Raises ``UsageError`` where a hook refuses it.
        """
        facts = _compaction("manual", instructions)
        verdict = await self._ask("PreCompact", facts, subject="manual")
        if verdict.word == "deny" or verdict.halt:
            why = verdict.halt or verdict.reason
            raise UsageError(f"It is not summarised: {why}", hint=f"The hook: {verdict.rule}")
        return "\n".join(text for text in (instructions, *verdict.notes) if text)

    async def _ask(
        self, event: HookEvent, facts: Mapping[str, object], *, subject: str = ""
    ) -> HooksVerdict:
        asker = Asker.of_turn(self.conversation, self.who)
        return await self.hooking.ask(event, asker, facts, subject=subject)


def _compaction(trigger: str, instructions: str) -> dict[str, str]:
    return {"trigger": trigger, "custom_instructions": instructions}


def _require(verdict: HooksVerdict, what: str, *, refusable: bool) -> None:
    if verdict.halt or (refusable and verdict.word == "deny"):
        reason = verdict.halt or verdict.reason
        raise StoppedByHook(f"{what}: {reason}", hint=f"The hook: {verdict.rule}")
