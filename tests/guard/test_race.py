"""Names that trade places with links out of the workspace while every file operation works on them."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.guard.world import HIDDEN, World

SWAPS = 10_000
ROUNDS = 12


class Trader:
    """A thread in which names and links trade places, in one step each, until it is stopped."""

    def __init__(self, pairs: list[tuple[Path, Path]]) -> None:
        self.swaps = 0
        self._pairs = pairs
        self._stop = threading.Event()
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._trade)
        self._thread.start()

    def finish(self) -> None:
        """Let it reach its number, then end it."""
        self._enough.wait(60)
        self._stop.set()
        self._thread.join()

    def _trade(self) -> None:
        exchange = exchanger()
        while not self._stop.is_set():
            for one, other in self._pairs:
                # A call may have deleted or renamed one of them meanwhile: that is part of it.
                self.swaps += exchange(one, other)
            if self.swaps >= SWAPS:
                self._enough.set()


def exchanger() -> Callable[[Path, Path], bool]:
    """What lets two names trade places; tells whether they did."""
    libc = ctypes.CDLL(None, use_errno=True)
    mac = sys.platform == "darwin"
    call, here = (libc.renameatx_np, -2) if mac else (libc.renameat2, -100)

    def exchange(one: Path, other: Path) -> bool:
        return bool(call(here, os.fsencode(one), here, os.fsencode(other), 2) == 0)

    return exchange


def calls(number: int) -> Mapping[str, Mapping[str, object]]:
    """One call of each kind, on names that trade places with links."""
    patch = f"--- /dev/null\n+++ b/d/new{number}.txt\n@@ -0,0 +1 @@\n+gone\n"
    return {
        "read_file": {"filePath": "d/secret.txt"},
        "create_file": {
            "filePath": f"d/made{number % 5}.txt",
            "content": "gone",
            "overwrite": True,
        },
        "replace_string": {"filePath": "f", "oldString": "mine", "newString": "mine"},
        "insert_edit": {"filePath": "d/secret.txt", "lineNumber": 1, "newText": "gone"},
        "rename_file": {
            "oldPath": f"d/made{number % 5}.txt",
            "newPath": f"d/moved{number % 5}.txt",
        },
        "delete_file": {"filePath": "d/secret.txt"},
        "apply_patch": {"patchContent": patch},
        "list_dir": {"path": "d"},
        "grep_search": {"query": "outside content", "rootPath": "d"},
    }


@pytest.mark.requirement("guard:race")
async def test_ten_thousand_swaps_under_every_operation_change_and_show_nothing_outside(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    inside = world.inside
    (inside / "d").mkdir()
    (inside / "d/secret.txt").write_text("mine", encoding="utf-8")
    (inside / "f").write_text("mine", encoding="utf-8")
    (inside / "to-folder").symlink_to(world.outside)
    (inside / "to-file").symlink_to(world.outside / "secret.txt")
    trader = Trader([(inside / "d", inside / "to-folder"), (inside / "f", inside / "to-file")])
    done: dict[str, set[bool]] = {}
    seen: list[str] = []
    try:
        for number in range(ROUNDS):
            for operation, arguments in calls(number).items():
                executed = await world.call(operation, **arguments)
                done.setdefault(operation, set()).add(executed.finished.ok)
                if HIDDEN in executed.finished.text:
                    seen.append(operation)
    finally:
        trader.finish()
    assert trader.swaps >= SWAPS
    assert seen == []
    assert world.snapshot() == world.before
    # Were every call refused before it came to a file, nothing would have been tried.
    assert True in set().union(*done.values())
    world.close()
