"""A checkpoint before every call that may change the workspace, and the way back to it."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sam_tui.core.accesses import CommandAccess, Connect, Fetch, LocatedAccess, Type, Use, Write
from sam_tui.core.authorization.commands.parts import CommandReading
from sam_tui.core.authorization.guard import Guard, Request
from sam_tui.core.bus import Bus
from sam_tui.core.errors import CheckpointError
from sam_tui.core.events import Noticed
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import calls_of
from sam_tui.core.ports.checkpoints import ChangingCall, Checkpoint, CheckpointStore, RewindPlan
from sam_tui.core.ports.files import FilesByPath
from sam_tui.core.ports.storage import ConversationStore
from sam_tui.core.tooling.contract import Permit

_MOST_WORDS = 200
"""The most characters of a summary that are stored with a checkpoint."""


@dataclass(frozen=True, slots=True)
class CallCheckpoints:
    """Keeps the files around calls. Without a guard it keeps nothing."""

    guard: Guard | None = None
    store: Callable[[], CheckpointStore] | None = None
    """Makes the store, at the first call that may change files; None if there are no checkpoints."""
    bus: Bus | None = None
    _reported: set[str] = field(default_factory=set[str])
    """Reasons for missing checkpoints that were reported, so that each is reported once."""

    @asynccontextmanager
    async def around(self, request: Request, permit: Permit) -> AsyncGenerator[None]:
        """A block in which a call runs: the files are stored before it, and compared after it."""
        if self.store is None or not self._changes(request.accesses, permit):
            yield
            return
        store = self.store()
        try:
            checkpoint = await store.before(self._call(request))
        except CheckpointError as error:
            self._notice(error)
            yield
            return
        try:
            yield
        finally:
            store.after(checkpoint)

    def _changes(self, accesses: tuple[LocatedAccess, ...], permit: Permit) -> bool:
        """Whether a call may change files of the workspace."""
        shut_in = permit.confined and not permit.writable
        return any(self._may_change(located, shut_in=shut_in) for located in accesses)

    def _may_change(self, located: LocatedAccess, *, shut_in: bool) -> bool:
        """The same of one access; a command that is ``shut_in`` writes nowhere."""
        match located.access:
            case Write():
                return located.location is None or located.location.inside
            case CommandAccess():
                readings = () if shut_in else self._readings(located)
                return any(reading is None or not reading.calm for reading in readings)
            case Type() | Use():
                return True
            case _:
                return False

    def _readings(self, located: LocatedAccess) -> Sequence[CommandReading | None]:
        assert self.guard is not None
        return self.guard.policy.readings((located,))

    def _call(self, request: Request) -> ChangingCall:
        summary = request.summary[:_MOST_WORDS]
        return ChangingCall(
            request.conversation,
            request.call,
            request.operation,
            summary,
            tuple(dict.fromkeys(f"{summary}: {why}" for why in self._beyond(request.accesses))),
        )

    def _beyond(self, accesses: tuple[LocatedAccess, ...]) -> list[str]:
        """Return the effects of a call that no snapshot of the workspace covers."""
        return [effect for located in accesses for effect in self._effects_beyond(located)]

    def _effects_beyond(self, located: LocatedAccess) -> Iterator[str]:
        match located.access:
            case Write() if located.location is not None and not located.location.inside:
                yield f"changed {located.location.real}, outside the workspace"
            case CommandAccess():
                for reading in self._readings(located):
                    if reading is None or reading.holds("network"):
                        yield "it may have used the network"
                    if reading is None or reading.holds("privileged"):
                        yield "it may have changed the system"
            case Use(server=server):
                yield f"what the server {server} did"
            case Fetch() | Connect():
                yield "it used the network"
            case _:
                pass

    def _notice(self, error: CheckpointError) -> None:
        text = error.explain()
        if text not in self._reported and self.bus is not None:
            self._reported.add(text)
            self.bus.publish(Noticed(None, "warning", text))


class Rewinder:
    """Finds checkpoints by the messages of conversations."""

    def __init__(self, conversations: ConversationStore, checkpoints: CheckpointStore) -> None:
        self._conversations = conversations
        self._checkpoints = checkpoints

    async def plan(self, conversation: ConversationId, at: float) -> RewindPlan | None:
        """Return what restoring the files to a point in time would change; None if no call changed any.

        Raises ``CheckpointError``.
        """
        checkpoints = await self._checkpoints.checkpoints()
        relatives = self._relatives(conversation, checkpoints)
        for checkpoint in checkpoints:
            if checkpoint.at >= at and checkpoint.made_by.conversation in relatives:
                return await self._checkpoints.plan(checkpoint.id, relatives)
        return None

    async def plan_of(self, number: int) -> RewindPlan:
        """The changes that restoring a checkpoint would make. Raises ``CheckpointError``."""
        checkpoints = await self._checkpoints.checkpoints()
        made_by = [c.made_by.conversation for c in checkpoints if c.id == number]
        relatives = {r for c in made_by for r in self._relatives(c, checkpoints)}
        return await self._checkpoints.plan(number, relatives)

    async def span(self, conversation: ConversationId) -> tuple[FilesByPath, FilesByPath]:
        """All files before a conversation or its subagents changed some, and after. Raises
        ``CheckpointError``."""
        checkpoints = await self._checkpoints.checkpoints()
        calls = {call.id for call in calls_of(self._conversations.everything(conversation))}
        copied = {c.made_by.conversation for c in checkpoints if c.made_by.call in calls}
        subagents = self._relatives(conversation, checkpoints) - copied - {conversation}
        return await self._checkpoints.span(calls, subagents)

    def _relatives(
        self, conversation: ConversationId, checkpoints: Sequence[Checkpoint]
    ) -> set[ConversationId]:
        """The conversation, the conversations it was copied from, and all their subagents."""
        calls = {call.id for call in calls_of(self._conversations.everything(conversation))}
        related = {c.made_by.conversation for c in checkpoints if c.made_by.call in calls}
        waiting = [conversation, *related]
        while waiting:
            children = {record.id for record in self._conversations.children(waiting.pop())}
            waiting += children - related
            related |= children
        return related | {conversation}


def files_untouched(plan: RewindPlan) -> str:
    """The number of files, in words, that stay because only others changed them; empty for none."""
    if plan.untouched == 1:
        return "1 file that only other programs changed stays as it is."
    stay = f"{plan.untouched} files that only other programs changed stay as they are."
    return stay if plan.untouched else ""
