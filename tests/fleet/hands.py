"""A worker in this process over one real queue: each test says what it does with a sub-task."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.fleet.database import QueueDatabase, database_url, load
from sam_tui.adapters.fleet.messages import Seal, SubTaskMessage, SubTaskResult
from sam_tui.adapters.fleet.queues import Takes, WorkHold, failure

Perform = Callable[[SubTaskMessage, WorkHold], SubTaskResult]
ROLE = "Talker"


class Hands:
    """The one worker of this process; each test says what it does with a sub-task."""

    def __init__(self, folder: Path) -> None:
        self.database = QueueDatabase(database_url({}, str(folder)), Seal("k" * 40))
        self.perform: Perform = lambda task, hold: failure("x", "x", "", "nothing to do")
        self.taken: list[SubTaskMessage] = []
        Takes(self.database, ["FleetAgent", ROLE], "hands", self._take)

    def is_lost(self, id: str) -> bool:
        """Whether a sub-task was given back."""
        return self.database.client.list_workflows(workflow_ids=[id])[0].status != "PENDING"

    def _take(self, task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        self.taken.append(task)
        return self.perform(task, hold)


@pytest.fixture(scope="module")
def module_hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hands]:
    """Hands for all of these tests."""
    hands = Hands(tmp_path_factory.mktemp("hands"))
    yield hands
    load().DBOS.destroy(workflow_completion_timeout_sec=0)
    hands.database.close()


@pytest.fixture
def hands(module_hands: Hands) -> Hands:
    """Hands that have taken nothing yet, and empty queues."""
    module_hands.taken.clear()
    client = module_hands.database.client
    if rows := client.list_workflows(load_input=False, load_output=False):
        client.delete_workflows([row.workflow_id for row in rows])
    return module_hands
