"""Hears of workflows that other processes move: our own agent, another server, the command line."""

import asyncio
from collections.abc import Callable
from typing import Final

from sam_tui.core.bus import Bus
from sam_tui.core.events import WorkflowMoved
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.workflow.service import Workflows

INTERVAL: Final = 0.5
"""Seconds between two looks. SQLite tells no other process of a change, so it has to be asked."""
_BATCH = 1000


class StoreWatch:
    """Publishes the changes of other processes as if they were made here."""

    def __init__(self, workflows: Callable[[], Workflows], bus: Bus) -> None:
        self._workflows = workflows
        self._bus = bus
        self._seen = 0

    async def run(self, needed: Callable[[], bool]) -> None:
        """Look for as long as somebody wants to hear; until it is cancelled."""
        subscription = self._bus.subscribe()
        try:
            self._seen = self._newest()
            while True:
                await asyncio.sleep(INTERVAL)
                mine = {e.seq for e in subscription.drain() if isinstance(e, WorkflowMoved)}
                if needed():
                    self._look(mine)
                else:
                    self._seen = max(self._newest(), self._seen)
        finally:
            subscription.close()

    def _look(self, mine: set[int]) -> None:
        rows = self._workflows().events(EventQuery(after=self._seen, limit=_BATCH))
        for row in rows:
            self._seen = row.seq
            if row.seq not in mine:
                nobody = ConversationId("")
                self._bus.publish(WorkflowMoved(nobody, row.execution, row.type, row.step, row.seq))

    def _newest(self) -> int:
        rows = self._workflows().events(EventQuery(limit=1, newest=True))
        return rows[0].seq if rows else 0
