"""Reviewing the changes of the conversation on show: looked at, accepted, undone, commented."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sam_tui.core.errors import SamError
from sam_tui.core.ids import ConversationId
from sam_tui.ui import programs
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.screens.review import ReviewMarks, ReviewRequest, ReviewScreen

if TYPE_CHECKING:
    from sam_tui.core.ports.checkpoints import RewindPlan


class ConversationReview:
    """Opens the review of all changes of the conversation, and carries out the person's choices in it."""

    def __init__(
        self, context: Context, current: CurrentConversation, submit: Callable[[str], None]
    ) -> None:
        self._context = context
        self._current = current
        self._submit = submit
        self._marks: dict[ConversationId, ReviewMarks] = {}

    def open(self) -> None:
        """Show all changes of this conversation."""
        conversation = self._current.id
        if conversation is None:
            self._context.notice("/review needs a conversation: send a first prompt to begin one.")
            return
        redact = self._context.runtime.executor.shield.redact
        marks = self._marks.setdefault(conversation, ReviewMarks())

        def ask(request: ReviewRequest) -> None:
            screen.run_worker(self._do(conversation, screen, screen.plan, request), group="review")

        screen = ReviewScreen(marks, redact, ask, self._submit)
        self._context.app.push_screen(screen)
        screen.call_after_refresh(
            screen.run_worker, self._look(conversation, screen, ""), group="review"
        )

    async def _look(self, conversation: ConversationId, screen: ReviewScreen, note: str) -> None:
        try:
            screen.show(await self._context.runtime.rewinder.plan(conversation, 0.0), note)
        except SamError as error:
            screen.show(None, error.explain())

    async def _do(
        self,
        conversation: ConversationId,
        screen: ReviewScreen,
        plan: "RewindPlan | None",
        request: ReviewRequest,
    ) -> None:
        runtime, path = self._context.runtime, request.change.path
        if request.what == "open":
            real = os.path.join(runtime.workspace.root, path)
            note = await programs.open_file(self._context.app, real, request.line)
        else:
            note = await self._undo(plan, request)
        await self._look(conversation, screen, note)

    async def _undo(self, plan: "RewindPlan | None", request: ReviewRequest) -> str:
        """Undo a change of the plan that was drawn when the key was pressed; the outcome in words.
        A file that changed since then is left alone."""
        if plan is None:
            return ""
        path, hunk = request.change.path, request.hunk
        try:
            await self._context.runtime.checkpoints.restore(plan, (path,), hunk=hunk)
        except SamError as error:
            return error.explain()
        part = "" if hunk is None else f"hunk {hunk + 1} of "
        return f"Undone: {part}{path}. /rewind and sam-tui checkpoints can restore it."
