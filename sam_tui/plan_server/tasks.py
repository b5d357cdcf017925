"""The tasks of a server: driven in its own task group, followed, cancelled, and asked about."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from sam_tui.core.errors import UsageError
from sam_tui.core.events import InquiryClosed, InquiryOpened
from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry, Reply
from sam_tui.core.runtime import Runtime
from sam_tui.core.workflow.planned import PlannedTasks

MOST_RUNNING = 8
MOST_LINES = 1000
"""The most progress events of a task that are stored for clients that connect later: the newest."""
MOST_ENDED = 100
"""How many ended tasks can still be followed from their beginning."""
Fields = dict[str, object]


class TooMany(Exception):
    """The highest permitted number of tasks runs already."""


@dataclass(slots=True)
class ServedTask:
    """A task that the server drives, and its progress."""

    id: str
    work: "asyncio.Task[None]"
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=MOST_LINES))
    count: int = 0
    """The number of all lines, including those no longer stored."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: bool = False
    fault: str = ""

    def add(self, line: str) -> None:
        """A line of progress."""
        self.lines.append(line)
        self.count += 1
        self.wake()

    def wake(self) -> None:
        """Wake all followers after a change."""
        self.changed.set()
        self.changed = asyncio.Event()


class ServedTasks:
    """All tasks of one server by id, and their results. ``group`` owns the running ones."""

    def __init__(self, runtime: Runtime, group: asyncio.TaskGroup) -> None:
        self._runtime, self._group = runtime, group
        self.planned = PlannedTasks(runtime.workflows.workflows(), runtime.require_models)
        self.served: dict[str, ServedTask] = {}

    def begin(self, task: str, mode: str, task_id: str, service: str = "") -> ServedTask:
        """Begin a task and drive it, with the AI service of that name. Raises ``SamError``, ``TooMany``."""
        running = [served for served in self.served.values() if not served.work.done()]
        if len(running) >= MOST_RUNNING:
            raise TooMany
        execution = self.planned.begin(task, mode, task_id=task_id, service=service)
        if (served := self.served.get(execution)) and not served.work.done():
            return served
        ended = [id for id, served in self.served.items() if served.work.done()]
        for id in ended[:-MOST_ENDED]:
            del self.served[id]
        work = self._group.create_task(self._drive(execution), name=f"plan {execution}")
        served = self.served[execution] = ServedTask(execution, work)
        work.add_done_callback(lambda _: served.wake())
        return served

    def service_fault(self, name: str) -> str:
        """Return why an AI service is unavailable; empty if it is available."""
        try:
            self._runtime.catalog.service(name)
        except UsageError as error:
            return error.explain()
        return ""

    def running(self, id: str) -> bool:
        """Whether it is driven now."""
        served = self.served.get(id)
        return served is not None and not served.work.done()

    def cancel(self, id: str) -> bool:
        """End a task that is driven; False where none is."""
        served = self.served.get(id)
        if served is None or served.work.done():
            return False
        served.cancelled = True
        served.work.cancel()
        return True

    def stop(self) -> None:
        """Cancel the running tasks; they can be resumed."""
        for served in self.served.values():
            served.work.cancel()

    async def finished(self, served: ServedTask) -> None:
        """Wait for the end of a task; if the waiting ends, the task goes on."""
        await asyncio.wait({served.work})

    async def progress(self, served: ServedTask) -> AsyncGenerator[str]:
        """Its lines of progress from the first on, until it ends."""
        sent = 0
        while True:
            changed, ended = served.changed, served.work.done()
            fresh = tuple(served.lines)[-(served.count - sent) :] if served.count > sent else ()
            sent = served.count
            for line in fresh:
                yield line
            if ended:
                return
            await changed.wait()

    def inquiries(self) -> list[Fields]:
        """The open inquiries."""
        return [_fields(inquiry) for inquiry in self._runtime.inquiries.pending()]

    def answer(self, id: str, reply: str) -> bool:
        """Give a person's answer; False where nothing of that id waits.

        An approval takes ``approve`` or ``deny``; anything else denies it, as the reason for the agent.
        """
        for inquiry in self._runtime.inquiries.pending():
            if inquiry.id == id:
                return self._runtime.inquiries.answer(InquiryId(id), answer_of(inquiry, reply))
        return False

    async def tell_inquiries(self) -> None:
        """Report to the followers of tasks when an inquiry opens or closes."""
        events = self._runtime.bus.subscribe()
        try:
            while True:
                for event in await events.batch():
                    match event:
                        case InquiryOpened(inquiry=inquiry):
                            self._announce(f"inquiry {inquiry.id} waits")
                        case InquiryClosed(inquiry=id):
                            self._announce(f"inquiry {id} is closed")
                        case _:
                            pass
        finally:
            events.close()

    def _announce(self, line: str) -> None:
        for served in self.served.values():
            if not served.work.done():
                served.add(line)

    async def _drive(self, execution: str) -> None:
        def report(line: str) -> None:
            if (served := self.served.get(execution)) is not None:
                served.add(re.sub(r"[\r\n]+", " ", line))

        try:
            await self._runtime.open_runner(report).run(execution)
        except asyncio.CancelledError:
            if self.served[execution].cancelled:
                self._runtime.workflows.workflows().steer(
                    "abandon", execution, "cancelled over the plan API"
                )
        except Exception as error:  # noqa: BLE001 - one task's fault ends no other; its response says it
            self.served[execution].fault = f"{type(error).__name__}: {error}"


def _fields(inquiry: Inquiry) -> Fields:
    request = inquiry.request
    if isinstance(request, ApprovalRequest):
        return {
            "id": inquiry.id,
            "kind": "approval",
            "operation": request.operation,
            "summary": request.summary,
            "targets": list(request.targets),
            "letters": list(request.letters),
            "why": request.why,
            "change": request.difference,
            "cwd": request.cwd,
            "asker": request.asker,
            "agentSays": request.words,
            "choices": ["approve", "deny"],
        }
    return {
        "id": inquiry.id,
        "kind": "question",
        "prompt": request.prompt,
        "context": request.context,
        "choices": list(request.choices),
    }


def answer_of(inquiry: Inquiry, reply: str) -> Approval | Reply:
    """The answer that a reply is; only the word ``approve`` approves."""
    if isinstance(inquiry.request, ApprovalRequest):
        if reply == "approve":
            return Approval("once")
        return Approval("deny", "" if reply == "deny" else reply)
    return Reply(inquiry.request.reply(reply) or reply)
