"""``sam-tui worker``: takes sub-tasks from the queues until it is ended."""

import asyncio
import concurrent.futures
import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.commands.fleets.drive import open_database, passed_options
from sam_tui.cli.options import MODES, Values, collect_garbage, fleet_options, open_runtime
from sam_tui.cli.roles import roles_option
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.messages import ToolCall
from sam_tui.headless.inquiries_line import give_answer

if TYPE_CHECKING:
    from sam_tui.adapters.fleet.messages import Ask
    from sam_tui.adapters.fleet.steps import StepRuns
    from sam_tui.core.runtime import Runtime
    from sam_tui.core.tooling.executor import Executed

_CLOSE_SECONDS = 10


@click.command(
    "worker", short_help="Work on sub-tasks of fleets and plans, here or on another machine."
)
@roles_option("--roles", "The roles whose sub-tasks it takes, separated by commas.", "FleetAgent")
@click.option("--allow-model", multiple=True, metavar="NAME", help="A model that tasks may choose.")
@click.option(
    "--clone-from",
    multiple=True,
    metavar="URL",
    help="An address from which tasks may clone repositories.",
)
@click.option("--name", hidden=True)
@click.option("--while-stdin", is_flag=True, hidden=True)
@fleet_options
def worker_command(**values: Any) -> int:
    """Take sub-tasks one at a time until a signal comes: whole tasks of fleets (FleetAgent), or the steps
    of plans of other roles, such as ResearchAgent and UtilityAgent.

    The queues are in the data folder, or in the database of SAM_TUI_DATABASE_URL. Messages are sealed
    with the fleet key: SAM_TUI_FLEET_KEY, else the file fleet-key in the data folder. The options of
    this worker limit what a task may do, whatever the task asks for.
    """
    from sam_tui.adapters.fleet.headless import HeadlessRuns, WorkerAllowance
    from sam_tui.adapters.fleet.messages import FLEET_ROLE, SubTaskMessage, SubTaskResult
    from sam_tui.adapters.fleet.queues import Takes, WorkHold

    roles: tuple[str, ...] = values["roles"]
    steps, close = _step_runs(values, [role for role in roles if role != FLEET_ROLE])
    name = values["name"] or f"{socket.gethostname()[:60]}-{mint('worker')}"
    mode = MODES[values["mode"]] if values["mode"] else "ask"
    allowance = WorkerAllowance(
        name,
        passed_options(values),
        mode,
        tuple(values["allow_model"]),
        tuple(values["clone_from"]),
    )
    runs = HeadlessRuns(allowance)

    def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
        if steps is None or task.assigned_agent_role == FLEET_ROLE:
            return runs.perform(task, hold)
        return steps.perform(task, hold)

    if values["api_key"]:
        os.environ["SAM_TUI_API_KEY"] = values[
            "api_key"
        ]  # for its tasks; not on their command line
    database = open_database(values)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: ended.set())
    if values["while_stdin"]:
        threading.Thread(target=_until_end_of_input, args=(ended,), daemon=True).start()
    Takes(database, roles, name, perform)
    collect_garbage()
    click.echo(f"sam-tui worker {name} takes sub-tasks of {', '.join(roles)}", err=True)
    ended.wait()
    runs.stop()
    if steps is not None:
        steps.stop()
        close()
    sys.stdout.flush()
    os._exit(0)  # threads of the queue would wait for the work just given back


def _step_runs(
    values: Values, roles: Sequence[str]
) -> "tuple[StepRuns | None, Callable[[], None]]":
    """The runner of plan steps, in an empty folder, and the function that ends it; None without such roles.

    Raises ``UsageError`` for a role that cannot be handed out.
    """
    if not roles:
        return None, lambda: None
    from sam_tui.adapters.fleet.messages import FLEET_ROLE
    from sam_tui.adapters.fleet.steps import StepRuns
    from sam_tui.core.workflow.definitions.stages import require_roles

    folder = tempfile.mkdtemp(prefix="sam-tui-steps-")
    runtime = open_runtime({**values, "workspace": folder}, attended=True, program="sam-tui worker")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="steps").start()

    def close() -> None:
        with contextlib.suppress(concurrent.futures.TimeoutError):
            asyncio.run_coroutine_threadsafe(runtime.close(), loop).result(_CLOSE_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)

    asyncio.run_coroutine_threadsafe(runtime.servers.arrive(), loop).result()
    capabilities = {c.role: c for c in runtime.workflows.workflows().capabilities()}
    try:
        require_roles(roles, (*capabilities, FLEET_ROLE))
    except UsageError:
        close()
        raise
    tools = {role: frozenset(capabilities[role].tools) for role in roles}
    return StepRuns(tools, RuntimeCalls(runtime, loop)), close


class RuntimeCalls:
    """The calls of steps in a runtime that has a thread of its own."""

    def __init__(self, runtime: "Runtime", loop: asyncio.AbstractEventLoop) -> None:
        self._runtime, self._loop = runtime, loop

    def begin(
        self, conversation: ConversationId, tool: str, arguments: str
    ) -> "concurrent.futures.Future[Executed]":
        call = ToolCall(CallId(mint("call")), tool, arguments)

        async def execute() -> "Executed":
            self._runtime.conversations.claim(conversation)
            return await self._runtime.executor.execute(call, conversation)

        return asyncio.run_coroutine_threadsafe(execute(), self._loop)

    def asks(self, conversation: ConversationId) -> "Sequence[Ask]":
        from sam_tui.adapters.fleet.messages import Ask
        from sam_tui.headless.inquiries_line import question_of

        async def pending() -> list[Ask]:
            inquiries = self._runtime.inquiries.pending()
            mine = [inquiry for inquiry in inquiries if inquiry.conversation == conversation]
            return [Ask.model_validate(question_of(inquiry)) for inquiry in mine]

        return asyncio.run_coroutine_threadsafe(pending(), self._loop).result()

    def answer(self, ask: str, reply: str) -> None:
        async def answered() -> None:
            give_answer(self._runtime.inquiries, ask, reply)

        asyncio.run_coroutine_threadsafe(answered(), self._loop).result()


def _until_end_of_input(ended: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    ended.set()
