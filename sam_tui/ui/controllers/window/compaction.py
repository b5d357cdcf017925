"""/compact and /pin: replaces old messages by a summary that the person approves, and pins messages."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.errors import UsageError
from sam_tui.ui.controllers.context import Context, Option
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.controllers.window.meter import context_share
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice

if TYPE_CHECKING:
    from sam_tui.core.agent.notes.planned import Extent, PlannedCompaction, WhatLeaves
    from sam_tui.core.agent.session import Session

MOST_PINNED = 6_000
"""The most characters of all pins together, because every request contains them."""


class CompactionActions:
    """Plans a compaction in the background, shows the result for approval, and carries it out."""

    def __init__(self, context: Context, current: CurrentConversation) -> None:
        self._context = context
        self._runtime = context.runtime
        self._current = current

    def compact(self, instructions: str = "") -> None:
        """Summarise the messages before the newest steps, after the person has approved it."""
        from sam_tui.core.agent.notes.planned import WhatLeaves

        if (session := self._session("/compact")) is not None:
            self._plan(session, WhatLeaves(instructions=instructions))

    def _plan(self, session: "Session", leaving: "WhatLeaves", *, by_rules: bool = False) -> None:
        async def plan() -> None:
            planner = session.planner
            self._context.screen.status.flash("Summarising…")
            try:
                planned, usage = await planner.plan(session.model, leaving, by_rules=by_rules)
            except UsageError as error:
                self._context.notice(error.explain())
                self._ask(session, leaving, None)
                return
            figures = self._context.screen.status.standing.figures
            figures.usage = figures.usage.plus(usage)
            self._ask(session, leaving, planned)

        self._context.work(plan, "compact", exclusive=True)

    def _ask(
        self, session: "Session", leaving: "WhatLeaves", planned: "PlannedCompaction | None"
    ) -> None:
        again = partial(self._ask, session, leaving, planned)
        options: list[Option] = []
        if planned is not None:
            after = f"{planned.before:,} to {planned.compacted.tokens:,} tokens"
            counts = f"{len(planned.summarised)} summarised, {len(planned.dropped)} dropped"
            options += [
                (Choice("Compact", f"{after} · {counts}"), partial(self._apply, session, planned)),
                (Choice("Look at it", "kept, summarised, dropped, and the summary"),
                 partial(self._look, planned, again)),
            ]  # fmt: skip
            if not planned.written.fault:
                plain = partial(self._plan, session, leaving, by_rules=True)
                options.append((Choice("By rules", "without the model's notes"), plain))
        options += [
            (Choice("Up to a message", "only what came before it"),
             partial(self._choose, session, leaving, "up to")),
            (Choice("From a message", "only it and what came after"),
             partial(self._choose, session, leaving, "from")),
        ]  # fmt: skip
        if session.planner.compacted:
            undo = Choice("Undo", "undo the last compaction")
            options.append((undo, partial(self._undo, session)))
        hint = "Esc changes nothing. After a compaction the provider's cache starts again."
        self._context.pick("compact the conversation", options, hint=hint)

    def _choose(self, session: "Session", leaving: "WhatLeaves", extent: "Extent") -> None:
        from sam_tui.core.agent.notes.planned import WhatLeaves

        options: list[Option] = [
            (
                Choice(one_line(text, 60), ""),
                partial(self._plan, session, WhatLeaves(extent, number, leaving.instructions)),
            )
            for number, text in session.planner.prompts
        ]
        self._context.pick(f"compact {extent} a message", options, empty="There is no message.")

    def _look(self, planned: "PlannedCompaction", back: Callable[[], None]) -> None:
        from sam_tui.ui.screens.reader import Reader, whole

        reader = Reader("what a compaction changes", whole(planned.in_words()))
        self._context.app.push_screen(reader, lambda _: back())

    def _apply(self, session: "Session", planned: "PlannedCompaction") -> None:
        if session.busy:
            raise UsageError("A turn is running.", hint="Wait for it, or cancel it.")
        session.planner.apply(planned)
        self._show_share(session)

    def _undo(self, session: "Session") -> None:
        if session.busy:
            raise UsageError("A turn is running.", hint="Wait for it, or cancel it.")
        undone = session.planner.restore()
        self._context.notice(
            "The last compaction is undone: everything it dropped is in the context again."
            if undone
            else "There is no compaction to undo."
        )
        self._show_share(session)

    def _show_share(self, session: "Session") -> None:
        from sam_tui.core.usage import Usage

        figures = self._context.screen.status.standing.figures
        figures.context = context_share(self._runtime, session, Usage())
        self._context.screen.status.show()

    def pin(self, text: str = "") -> None:
        """Pin a text; without one let the person pick a message to pin, or a pin to remove."""
        session = self._session("/pin")
        if session is None:
            return
        if text.strip():
            self._pin(session, text.strip())
            return
        pins = self._runtime.conversations.pins(session.conversation)
        options: list[Option] = [
            (Choice(f"● {one_line(pin, 60)}", "unpin it"), partial(self._unpin, session, pin))
            for pin in pins
        ]
        options += [
            (Choice(f"○ {one_line(prompt.text, 60)}", "pin it"),
             partial(self._pin, session, prompt.text))
            for prompt in reversed(
                self._runtime.conversations.user_prompts(session.conversation)
            )
            if prompt.text not in pins
        ]  # fmt: skip
        self._context.pick("what never leaves the context", options, empty="Pin a text: /pin TEXT")

    def _pin(self, session: "Session", text: str) -> None:
        text = self._runtime.executor.shield.redact(text)
        pins = [*self._runtime.conversations.pins(session.conversation), text]
        if sum(map(len, pins)) > MOST_PINNED:
            raise UsageError(
                f"All pins together may have {MOST_PINNED:,} characters, because every "
                "request contains them.",
                hint="Pin a shorter text, or unpin one with /pin.",
            )
        self._runtime.conversations.keep_pins(session.conversation, pins)
        self._context.notice(f"Pinned: {one_line(text, 60)}")

    def _unpin(self, session: "Session", text: str) -> None:
        pins = list(self._runtime.conversations.pins(session.conversation))
        pins.remove(text)
        self._runtime.conversations.keep_pins(session.conversation, pins)
        self._context.notice(f"No longer pinned: {one_line(text, 60)}")

    def _session(self, command: str) -> "Session | None":
        if self._current.session is None:
            self._context.notice(
                f"{command} needs a conversation: send a first prompt to begin one."
            )
        return self._current.session
