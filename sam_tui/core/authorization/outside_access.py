"""The outside accesses of a confined command, in a form that the guard can judge."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sam_tui.core.accesses import Access, Connect, LocatedAccess, Location, Read, Write
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.judgement import CHANGE, CONNECT, READ
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.processes.sandbox import OutsideAccess

LIVE = "The command waits for your answer and continues from there: nothing runs twice."
PLANTED = "Exactly this content is written; other content is a new question."
AGAIN = (
    "The guard could not ask while it ran. A yes runs the whole command again from its "
    "beginning, so what it already did is done twice."
)


@dataclass(frozen=True, slots=True)
class OutsideRun:
    """The run on whose behalf something is asked.

    ``call`` started it, by the operation ``key``; ``line`` is the card's line of that call.
    ``lasting`` is what outlives its call: a terminal session, or what ``lasts`` names.
    """

    conversation: ConversationId
    call: CallId
    key: str
    line: str
    asker: str = ""
    lasting: bool = False
    lasts: str = "the terminal session"

    @property
    def once(self) -> str:
        """The extent of a single yes, in words."""
        if self.lasting:
            return f"exactly this, until {self.lasts} ends"
        return "exactly this, for this command"


def operation_of(access: OutsideAccess) -> str:
    """The operation that an access belongs to."""
    return {"connect": CONNECT, "read": READ}.get(access.kind, CHANGE)


def summary_of(access: OutsideAccess, run: OutsideRun) -> str:
    """One line: the process, the kind of access, and the path or host."""
    who = f"{access.process} (pid {access.pid})" if access.process else "the command"
    verb = {
        "read": "wants to read",
        "write": "wants to write",
        "delete": "wants to delete",
        "rename": "wants to rename",
        "metadata": "wants to change mode, owner or times of",
        "connect": "wants to connect to",
    }[access.kind]
    where = f"{access.path} to {access.to}" if access.to else access.path
    return f"{who} {verb} {where} · {run.line}"


def then_of(access: OutsideAccess) -> str:
    """The effect of a yes, in words."""
    return LIVE if access.change is None else f"{access.change.why}. {PLANTED}"


def preview_of(access: OutsideAccess) -> tuple[Diff, ...]:
    """The difference that a change of a place makes."""
    change = access.change
    if change is None:
        return ()
    path = access.to or access.path
    return (Diff(path, change.difference, change.added, change.removed, made=False),)


def located(access: OutsideAccess, workspace: Workspace) -> tuple[LocatedAccess, ...]:
    """Every path of it exactly as it would be used. Empty when one leads elsewhere by now.

    The supervisor carries a call out on the very path that it tells, without any link.
    """
    if access.kind == "connect":
        return (LocatedAccess(Connect(access.path), _place(access.path, workspace)),)
    located_accesses: list[LocatedAccess] = []
    for path in (access.path, access.to) if access.to else (access.path,):
        where = workspace.locate(path, follow=False)
        if where.real != path:
            return ()
        if access.kind == "read":
            located_accesses.append(LocatedAccess(Read(path, "outside"), where))
            continue
        write = Write(path, "outside", follow=False, planted=access.planted)
        located_accesses.append(LocatedAccess(write, where))
    return tuple(located_accesses)


def widened(refused: Sequence[OutsideAccess], workspace: Workspace) -> tuple[LocatedAccess, ...]:
    """Return the paths to open for the refused accesses: existing files, else their folders."""
    accesses: dict[str, LocatedAccess] = {}
    for access in refused:
        if access.kind in ("connect", "read"):
            continue
        for path in (access.path, access.to) if access.to else (access.path,):
            where = workspace.locate(path)
            if where.inside:
                continue
            single = access.kind in ("write", "metadata") and os.path.isfile(where.real)
            real = where.real if single else _folder(os.path.dirname(where.real))
            replacement: Access = Write(real, "outside")
            accesses[real] = LocatedAccess(replacement, workspace.locate(real))
    return tuple(accesses.values())


def _folder(path: str) -> str:
    """The deepest existing folder on the way to a path."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _place(path: str, workspace: Workspace) -> Location | None:
    return workspace.locate(path, follow=False) if path.startswith("/") else None
