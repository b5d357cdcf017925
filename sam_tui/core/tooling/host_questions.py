"""What a tool may have the host ask on behalf of its call; every decision is put on record."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.permission import Plea, Response, ask_permission
from sam_tui.core.authorization.request import Request
from sam_tui.core.verdict import Decision


class HostQuestions:
    """Puts questions of one call to the guard. The tool words neither what is asked nor the answers."""

    def __init__(self, guard: Guard, request: Request, record: Callable[[Decision], None]) -> None:
        self._guard = guard
        self._request = request
        self._record = record

    @property
    def approves_all(self) -> bool:
        """Whether the mode lets every call pass that no rule refuses."""
        return self._guard.policy.mode == "bypass"

    @property
    def trusted(self) -> bool:
        """Whether the person trusts the workspace."""
        return self._guard.policy.trusted

    async def confirm(self, why: str, *, once: str, rule: str) -> Decision:
        """Whether the person agrees to this very call."""
        request = replace(self._request, once=once)
        try:
            decision = await self._guard.confirm(request, why, rule)
        except asyncio.CancelledError:
            self._cancelled()
            raise
        self._record(decision)
        return decision

    async def permission(self, operation: str, words: str) -> Response:
        """Whether what the conversation was refused of ``operation`` is allowed from now on."""
        request = self._request
        plea = Plea(
            request.conversation,
            request.call,
            operation,
            words,
            asker=request.asker,
            mask=request.mask,
        )
        try:
            response = await ask_permission(self._guard, plea)
        except asyncio.CancelledError:
            self._cancelled()
            raise
        for decision in response.decisions:
            self._record(decision)
        return response

    def _cancelled(self) -> None:
        reason = "the call was cancelled before it was answered"
        self._record(self._request.decided("cancelled", "user", "cancelled", reason))
