"""A workspace full of traps beside an outside, and the real executor over it."""

import json
import os
import shutil
import socket
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sam_tools.file_operations import FileOperations
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.storage import open_storage
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry

HIDDEN = "outside content that nobody may see"
Entries = dict[str, tuple[int, int, int, int]]
"""Inode, mode, size and time of change of each path."""


@dataclass
class World:
    """A workspace full of traps beside an outside, and an executor that nobody attends."""

    folder: Path

    def __post_init__(self) -> None:
        self.inside, self.outside = self.folder / "ws", self.folder / "outside"
        (self.outside / "deep").mkdir(parents=True)
        for name in ("secret.txt", "deep/inner.txt"):
            (self.outside / name).write_text(HIDDEN, encoding="utf-8")
        sibling = self.folder / "ws-other"
        sibling.mkdir()
        (sibling / "secret.txt").write_text(HIDDEN, encoding="utf-8")
        composed = self.folder / unicodedata.normalize("NFC", "ö-outside")
        composed.mkdir()
        (composed / "secret.txt").write_text(HIDDEN, encoding="utf-8")
        self.handle = os.open(self.outside, os.O_RDONLY)
        self.file = os.open(self.outside / "secret.txt", os.O_RDONLY)
        self._furnished: Entries = {}
        self.furnish()
        self.storage = open_storage(self.folder / "data")
        bus, clock = Bus(), SystemClock()
        inquiries = Inquiries(bus, clock, attended=False)
        workspace = Workspace.open(str(self.inside))
        self.guard = Guard(workspace, Policy("ask", True, ()), Grants(clock), inquiries)
        # Only what needs no collaborators of its own is called here; patches are among them.
        tool = FileOperations(LocalFiles(), RipgrepSearch()).tool()
        self.executor = Executor(
            Registry([tool]),
            CallSurroundings(self.guard, self.storage.results, self.storage.decisions, bus, clock),
        )
        (self.folder / "home").mkdir(exist_ok=True)
        self.before = self.snapshot()

    def close(self) -> None:
        """Release what is open."""
        os.close(self.handle)
        os.close(self.file)
        self.storage.close()

    def furnish(self) -> None:
        """The workspace as new: a file of its own, and links of every kind out of it.

        Where nothing in it has changed since, it is left as it is.
        """
        if self._furnished and self._entries() == self._furnished:
            return
        shutil.rmtree(self.inside, ignore_errors=True)
        (self.inside / "sub").mkdir(parents=True)
        (self.inside / "mine.txt").write_text("mine\n", encoding="utf-8")
        links = {
            "out": self.outside,
            "file": self.outside / "secret.txt",
            "dangling": self.outside / "new.txt",
            "relative": Path("../outside"),
            "chain": Path("out"),
            "chain2": Path("chain"),
            "up": Path(".."),
            "sub/back": Path("../.."),
            "loop": Path("loop"),
            "root": Path("/"),
        }
        for name, target in links.items():
            (self.inside / name).symlink_to(target)
        os.link(self.outside / "secret.txt", self.inside / "hard")
        os.mkfifo(self.inside / "pipe")
        with socket.socket(socket.AF_UNIX) as made:
            here = os.getcwd()
            os.chdir(self.inside)
            try:
                made.bind("socket")
            finally:
                os.chdir(here)
        self._furnished = self._entries()

    def _entries(self) -> Entries:
        """What lies in the workspace: each name with what a change of it would change."""
        places = [self.inside, *self.inside.rglob("*")]
        states = [(str(place), place.lstat()) for place in places]
        return {path: (s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns) for path, s in states}

    def snapshot(self) -> dict[str, bytes | str]:
        """Everything beside the workspace and the data folder: names, kinds, contents."""
        found: dict[str, bytes | str] = {}
        for parent, folders, files in os.walk(self.folder):
            folders[:] = [
                f for f in folders if Path(parent, f) not in (self.inside, self.folder / "data")
            ]
            for name in (*folders, *files):
                path = Path(parent, name)
                found[str(path)] = path.read_bytes() if path.is_file() else "folder"
        return found

    async def call(self, operation: str, **arguments: Any) -> Executed:
        """One call, to its end."""
        call = ToolCall(CallId("k"), f"file_operations.{operation}", json.dumps(arguments))
        return await self.executor.execute(call, ConversationId("c"))
