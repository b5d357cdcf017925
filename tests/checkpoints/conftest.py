"""A workspace with its checkpoints: real git, real files; calls are whatever a test does in between."""

import os
from collections.abc import Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sam_tui.adapters.checkpoints import CheckpointLimits, GitCheckpoints
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.checkpoints import ChangingCall, RewindPlan

OWN = ConversationId("own")
FEW = "sam_tui.adapters.checkpoints.workspace_files._FEW"
"""The most files that the program stores itself."""


@dataclass
class Kept:
    """One workspace. ``calling`` is a call of a conversation, around which the files are kept."""

    root: Path
    data: Path
    limits: CheckpointLimits = field(default_factory=CheckpointLimits)

    def __post_init__(self) -> None:
        self.root.mkdir(exist_ok=True)
        self.checkpoints = self.opened()
        self._calls = 0

    def opened(self, *, search_path: str = os.environ["PATH"]) -> GitCheckpoints:
        """The checkpoints as another program opens them."""
        return GitCheckpoints(
            str(self.data),
            os.path.realpath(self.root),
            LocalFiles(),
            search_path=search_path,
            limits=self.limits,
        )

    @asynccontextmanager
    async def calling(self, conversation: ConversationId = OWN, *beyond: str):
        self._calls += 1
        call = CallId(f"call-{self._calls}")
        number = await self.checkpoints.before(
            ChangingCall(conversation, call, "op", "does", beyond)
        )
        try:
            yield number
        finally:
            self.checkpoints.after(number)

    def write(self, path: str, content: str | bytes, mode: int | None = None) -> None:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            where.chmod(mode)

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """Every file and link with its mode and content; nothing of the repositories' own folders."""
        found: dict[str, tuple[int, bytes]] = {}
        for path in sorted(self.root.rglob("*")):
            if path.is_symlink():
                found[str(path.relative_to(self.root))] = 0, os.readlink(os.fsencode(path))
            elif path.is_file() and ".git" not in path.parts:
                name = str(path.relative_to(self.root))
                found[name] = path.stat().st_mode & 0o777, path.read_bytes()
        return found

    async def back(self, number: int, paths: Collection[str] | None = None) -> RewindPlan:
        """Restore a checkpoint: what only calls changed, or these paths."""
        plan = await self.checkpoints.plan(number, {OWN})
        await self.checkpoints.restore(plan, plan.safe if paths is None else paths)
        return plan


def leave_index(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the program store what changes from now on, beside an index that is older than that."""
    monkeypatch.setattr(FEW, 200)
    (index,) = kept.data.rglob("index")
    os.utime(index, (1, 1))


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """git takes all files into its index, as it does with those of a larger workspace."""
    monkeypatch.setattr(FEW, 0)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    workspace = Kept(tmp_path / "ws", tmp_path / "data")
    yield workspace
    workspace.checkpoints.close()
