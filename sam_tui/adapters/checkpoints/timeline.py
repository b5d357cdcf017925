"""The snapshots of a workspace in order: before and after each call that changed files.

A reference names a commit whose message is one line of JSON; it is written last and in one step, so
that a snapshot exists whole or not at all.
"""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sam_tui.adapters.checkpoints.git import GitStore
from sam_tui.adapters.checkpoints.workspace_files import WorkspaceTree
from sam_tui.core.errors import CheckpointError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.checkpoints import ChangingCall, Checkpoint

_MOST_MODES = 1000
"""The most files with unusual permission bits in the record of one snapshot."""
_REFS = "refs/snapshots"
_MOST_NAMES = 10_000
"""The most commits that git gets as arguments; more become parents of one commit, which it gets."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A snapshot and its number. ``of`` is the number of the snapshot before its call."""

    number: int
    checkpoint: Checkpoint
    modes: dict[str, int]
    of: int | None = None


class Timeline:
    """Reads and writes the moments of one store. Call it with the store locked."""

    def __init__(self, store: GitStore) -> None:
        self._store = store
        self._refs = store.folder / _REFS
        self._read: dict[int, Moment] = {}

    def numbers(self) -> list[int]:
        """The numbers of all snapshots, in order."""
        with suppress(FileNotFoundError):
            return sorted(int(name) for name in os.listdir(self._refs) if name.isdecimal())
        return []

    def add(
        self, call: ChangingCall, snapshot: WorkspaceTree, at: float, *, of: int | None = None
    ) -> Moment:
        """Store a snapshot behind all others."""
        number = max(self._last(), 0, *self.numbers()) + 1
        modes = dict(list(snapshot.modes.items())[:_MOST_MODES])
        about = {
            "conversation": call.conversation,
            "call": call.call,
            "operation": call.operation,
            "summary": call.summary,
            "beyond": call.beyond,
            "at": at,
            "modes": modes,
            "omitted": snapshot.omitted,
            "of": of,
        }
        commit = f"tree {snapshot.tree}\n{_who(at)}\n{json.dumps(about)}\n"
        name = self._store.write("commit", commit.encode())
        self._store.replace(f"{_REFS}/{number}", f"{name}\n".encode())
        checkpoint = Checkpoint(number, at, call, snapshot.tree, snapshot.omitted)
        return self._read.setdefault(number, Moment(number, checkpoint, modes, of))

    def _last(self) -> int:
        """The highest number of removed snapshots: no number is used twice."""
        with suppress(FileNotFoundError, ValueError):
            return int((self._store.folder / "last").read_bytes())
        return 0

    def remove(self, numbers: Collection[int]) -> None:
        """Forget snapshots; their objects go with the next prune."""
        highest = max(self._last(), 0, *numbers)
        self._store.keep("last", str(highest).encode())
        for number in numbers:
            self._read.pop(number, None)
            with suppress(FileNotFoundError):
                os.unlink(self._refs / str(number))

    def prune(self) -> None:
        """Remove the objects that no snapshot needs. Raises ``CheckpointError`` or ``OSError``.

        git gets the list of snapshots: it takes a folder of references for empty if it cannot open it,
        because memory or descriptors run out, and would remove every object.
        """
        commits = [commit for number in self.numbers() if (commit := self._commit(number))]
        if len(commits) > _MOST_NAMES:
            parents = "".join(f"parent {commit}\n" for commit in commits)
            head = f"tree {self._store.write('tree', b'')}\n{parents}"
            commits = [self._store.write("commit", f"{head}{_who(0.0)}\n".encode())]
        self._store.run("prune", "--expire=now", *commits)

    def _commit(self, number: int) -> str:
        """The commit of a snapshot; empty, and the snapshot forgotten, where it is gone or damaged."""
        try:
            self.moment(number)
        except CheckpointError:
            self.remove((number,))
            return ""
        return self._name(number)

    def _name(self, number: int) -> str:
        return (self._refs / str(number)).read_text("ascii").strip()

    def moments(self, start: int = 0) -> list[Moment]:
        """All snapshots from a number on, in order, without damaged ones."""
        return list(self._moments(start))

    def _moments(self, start: int) -> Iterator[Moment]:
        for number in self.numbers():
            if number >= start:
                with suppress(CheckpointError, FileNotFoundError):
                    yield self.moment(number)

    def moment(self, number: int) -> Moment:
        """The snapshot of a number. Raises ``CheckpointError`` if there is none."""
        if number not in self._read:
            try:
                commit = self._store.read("commit", self._name(number))
                self._read[number] = _parsed(number, commit)
            except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
                raise CheckpointError(
                    f"There is no checkpoint {number}.",
                    hint="“sam-tui checkpoints list” lists them.",
                ) from error
        return self._read[number]


def _who(at: float) -> str:
    """Return the lines of a commit with its author and time."""
    who = f"sam-tui <> {int(at)} +0000"
    return f"author {who}\ncommitter {who}\n"


def _parsed(number: int, commit: bytes) -> Moment:
    head, _, body = commit.decode().partition("\n\n")
    about: dict[str, Any] = json.loads(body)
    call = ChangingCall(
        ConversationId(about["conversation"]),
        CallId(about["call"]),
        about["operation"],
        about["summary"],
        tuple(about["beyond"]),
    )
    tree = head.split("\n", 1)[0].removeprefix("tree ")
    checkpoint = Checkpoint(number, about["at"], call, tree, tuple(about["omitted"]))
    return Moment(number, checkpoint, about["modes"], about["of"])


@dataclass(frozen=True, slots=True)
class Interval:
    """The changes between two snapshots, and whether calls of the conversations ran in it."""

    begin: str
    end: str
    by_calls: bool
    foreign: bool


def intervals(
    moments: Sequence[Moment], now: str, conversations: Collection[ConversationId]
) -> list[Interval]:
    """The pieces of time from the first of these moments until now, and whose calls ran in each.

    A call without an end was broken off: it counts until the next snapshot.
    """
    ends = {moment.of for moment in moments}
    running: dict[int, bool] = {}
    pieces: list[Interval] = []
    trees = [*(moment.checkpoint.tree for moment in moments), now]
    for index, moment in enumerate(moments):
        ours = moment.checkpoint.made_by.conversation in conversations
        if moment.of is None:
            running[moment.number] = ours
        else:
            running.pop(moment.of, None)
        if trees[index] != trees[index + 1]:
            whose = set(running.values())
            pieces.append(Interval(trees[index], trees[index + 1], True in whose, whose != {True}))
        if moment.of is None and moment.number not in ends:
            running.pop(moment.number)
    return pieces
