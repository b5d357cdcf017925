"""While an agent's shell starts, what it wants outside is refused without a question.

It reads the person's own files then: version managers, completions, histories. Nothing of that is the
agent's doing, nobody could judge it, and each new terminal would begin with the same questions.
"""

import time
from collections.abc import Callable

from sam_tui.core.ports.processes.sandbox import AskOutside, OutsideAccess, OutsideAnswer

_LONGEST = 10.0
"""Seconds that a start may take; a shell that never tells its first prompt is asked about after them."""
_AGAIN = 1.0
"""Seconds for which a refusal holds: what is typed later is asked anew."""


class Hush:
    """Asks as ``ask`` does, once ``starts`` says no."""

    def __init__(self, ask: AskOutside) -> None:
        self._ask = ask
        self._until = time.monotonic() + _LONGEST
        self.starts: Callable[[], bool] = lambda: True

    async def __call__(self, access: OutsideAccess) -> bool | OutsideAnswer:
        """Ask about one access."""
        if time.monotonic() < self._until and self.starts():
            return OutsideAnswer(False, _AGAIN)
        return await self._ask(access)
