"""run_command on a branch of the workspace: its changes are shown, then made or dropped."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.rehearsal import FileChange, Rehearsal, Rehearsals
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult
from sam_tui.core.text.plain import escaped
from sam_tui.core.tooling.contract import AskRehearsed, ToolContext

_MOST_SHOWN = 100
_MOST_NAMED = 40


class RehearsedCommand:
    """The result of a rehearsed command, and the outcome of its changes."""

    def __init__(
        self, result: CommandResult, changes: Sequence[FileChange], *, accepted: bool
    ) -> None:
        self.result = result
        self.changes = changes
        self.accepted = accepted

    @property
    def displays(self) -> tuple[Diff, ...]:
        """The changes for people."""
        return tuple(
            diff_of(change, applied=self.accepted) for change in self.changes[:_MOST_SHOWN]
        )

    @property
    def data(self) -> dict[str, object]:
        """The changes for programs."""
        changes = [{"path": change.path, "kind": change.kind} for change in self.changes]
        return {"rehearsed": True, "kept": self.accepted, "changes": changes}

    @property
    def notes(self) -> list[str]:
        """The outcome of the rehearsal, as lines for the model."""
        if not self.changes:
            return ["[rehearsed on a copy of the workspace: it changes nothing there]"]
        became = (
            "the changes were made" if self.accepted else "the changes were dropped, none was made"
        )
        lines = [f"[rehearsed on a copy of the workspace: {tally(self.changes)}; {became}]"]
        lines += [f"{change.kind} {escaped(change.path)}" for change in self.changes[:_MOST_NAMED]]
        if len(self.changes) > _MOST_NAMED:
            lines.append(f"and {len(self.changes) - _MOST_NAMED} more")
        return lines


def refuse_rehearsal(context: ToolContext, what: str) -> None:
    """Raise ``ToolError`` for ``what`` if all commands have to be rehearsed."""
    if context.permit.ask_rehearsed is not None:
        raise ToolError(
            f"{what} cannot be rehearsed, and commands are only rehearsed here.",
            hint="run_command without isBackground can.",
        )


async def rehearse(
    rehearsals: Rehearsals | None, request: CommandRequest, context: ToolContext
) -> RehearsedCommand:
    """Run a command on a branch, and let the person make its changes real or drop them.

    Raises ``ToolError`` where no branch can be made, and when the workspace changed meanwhile.
    """
    ask = context.permit.ask_rehearsed
    if rehearsals is None or ask is None:
        raise ToolError("Commands cannot be rehearsed here.")
    branch = await asyncio.to_thread(rehearsals.open, context.workspace)
    try:
        return await _run(branch, request, ask)
    finally:
        # A cancelled call still removes the branch, or a copy of the workspace would remain.
        await asyncio.shield(asyncio.to_thread(branch.drop))


async def _run(branch: Rehearsal, request: CommandRequest, ask: AskRehearsed) -> RehearsedCommand:
    done = await branch.run(replace(request, again=None, granted=()))
    if not done.changes:
        return RehearsedCommand(done.result, (), accepted=False)
    diffs = tuple(diff_of(change, applied=False) for change in done.changes[:_MOST_SHOWN])
    accepted = await ask(f"{tally(done.changes)}, as rehearsed on {branch.detail}", diffs)
    if accepted:
        await asyncio.shield(asyncio.to_thread(branch.commit))
    return RehearsedCommand(done.result, done.changes, accepted=accepted)


def tally(changes: Sequence[FileChange]) -> str:
    """Return how many files and folders were changed, and how."""
    counts = dict.fromkeys(("created", "modified", "deleted"), 0)
    for change in changes:
        counts[change.kind] += 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def diff_of(change: FileChange, *, applied: bool) -> Diff:
    """Return a change in its displayed form, and whether it was made or only tried."""
    lines = [line for line in change.diff.splitlines() if not line.startswith(("---", "+++"))]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    note = change.note or ("" if lines else change.kind)
    if change.kind != "modified" and lines:
        note = change.kind
    return Diff(
        escaped(change.path), escaped("\n".join(lines)), added, removed, note=note, made=applied
    )
