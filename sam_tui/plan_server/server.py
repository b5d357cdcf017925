"""Serves the plan API of a runtime on loopback until a signal comes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.core.inquiry import ApprovalRequest, Inquiry
from sam_tui.core.runtime import Runtime
from sam_tui.loopback.access import HttpAccess
from sam_tui.loopback.server import listen, serve_until
from sam_tui.plan_server.app import PUBLIC, plan_app
from sam_tui.plan_server.tasks import ServedTasks


def attends(inquiry: Inquiry) -> bool:
    """Whether somebody may answer over the wire. Not for a workflow's question: it pauses the run."""
    asks_agent = not inquiry.conversation.startswith("exec_")
    return asks_agent or isinstance(inquiry.request, ApprovalRequest)


@dataclass(frozen=True, slots=True)
class PlanFace:
    """The port, token and version of a server; ``announce`` is called with the port it got."""

    port: int
    token: str
    version: str
    announce: Callable[[int], None]


async def serve_plans(runtime: Runtime, face: PlanFace) -> None:
    """Serve until a signal comes; running tasks are ended and can be continued later."""
    listening = listen(face.port)
    bound: int = listening.getsockname()[1]
    async with asyncio.TaskGroup() as group:
        tasks = ServedTasks(runtime, group)
        telling = group.create_task(tasks.tell_inquiries(), name="plan-inquiries")
        access = HttpAccess(plan_app(tasks, face.version), face.token, bound, PUBLIC)
        async with serve_until(access, listening) as stopped:
            face.announce(bound)
            await stopped.wait()
            tasks.stop()
        telling.cancel()
