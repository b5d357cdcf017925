"""The tasks that were made for a workspace: a tasks.json of its own in the data folder.

It lies beside the program's other data and not in the workspace, so that making a task never changes
the person's repository. It has VS Code's shape, so that it can be copied there by hand.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sam_tui.core.errors import StorageError

MOST_TASKS = 200
"""Definitions kept for one workspace; the oldest goes first."""


class FileTaskBook:
    """The ``TaskBook`` port: one private file for each workspace, replaced atomically."""

    def __init__(self, folder: str, workspace: str) -> None:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
        self._workspace = workspace
        self._folder = Path(folder)
        self._file = self._folder / f"{name}.json"

    def tasks(self) -> Sequence[Mapping[str, Any]]:
        """Every definition, oldest first. Raises ``StorageError`` for a file that cannot be read."""
        try:
            text = self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise StorageError(f"The tasks in {self._file} cannot be read: {error}.") from error
        try:
            stored = json.loads(text)["tasks"]
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{self._file} is damaged.", hint="Delete it; tasks can be made again."
            ) from error
        tasks = cast("list[object]", stored) if isinstance(stored, list) else []
        return [cast("dict[str, Any]", task) for task in tasks if isinstance(task, dict)]

    def save(self, task: Mapping[str, Any]) -> None:
        """Keep a definition; one of the same label is replaced. Raises ``StorageError``."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._alone():
                others = [
                    task_known
                    for task_known in self.tasks()
                    if task_known.get("label") != task["label"]
                ]
                self._write([*others, task][-MOST_TASKS:])
        except OSError as error:
            raise StorageError(f"The task cannot be kept: {error}.") from error

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Nobody else, in any process, changes the file meanwhile."""
        lock = os.open(
            self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        content = {"version": "2.0.0", "workspace": self._workspace, "tasks": tasks}
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".tasks-")
        try:
            # ASCII: names that are not UTF-8 keep their bytes as escapes.
            with os.fdopen(handle, "w", encoding="ascii") as file:
                json.dump(content, file, indent=2)
            os.replace(temporary, self._file)
        except BaseException:
            os.unlink(temporary)
            raise
