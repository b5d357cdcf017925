"""How tests are handed out to the workers of pytest-xdist."""

from typing import Any, SupportsIndex

from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs]

TOGETHER = ("tests/llm/",)
"""Folders of which one worker has all modules: it imports litellm for them."""


class Places(list[str]):
    """Ids of tests, of which each is found without reading those before it."""

    def __init__(self, ids: list[str]) -> None:
        super().__init__(ids)
        self._places = {name: place for place, name in enumerate(ids)}

    def index(self, value: str, start: SupportsIndex = 0, stop: SupportsIndex = -1) -> int:
        """Where it stands."""
        return self._places[value]


class ModuleScheduling(LoadFileScheduling):
    """Give each worker whole modules, and what is ``TOGETHER`` to one."""

    def _split_scope(self, nodeid: str) -> str:
        module = str(super()._split_scope(nodeid))
        return next((name for name in TOGETHER if module.startswith(name)), module)

    def add_node_collection(self, node: Any, collection: Any) -> None:
        """Note the tests of a worker."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Places(self.registered_collections[node])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note that a test has ended; forget a module that has, whose tests would be counted each time."""
        super().mark_test_complete(node, item_index, duration)
        work = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(work[scope].values()):
            del work[scope]
