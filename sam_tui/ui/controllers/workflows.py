"""Workflows in the workbench: the screen of runs, actions on runs, and their drivers."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.worker import Worker

from sam_tui.core.errors import SamError
from sam_tui.core.ids import NO_CONVERSATION
from sam_tui.ui import programs
from sam_tui.ui.controllers.context import Context, ended
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.screens.forms import ParamForm
from sam_tui.ui.screens.reader import Reader, whole
from sam_tui.ui.screens.run_lines import gate_words

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.workflow.catalog import DefinitionView
    from sam_tui.core.workflow.service import Workflows
    from sam_tui.core.workflow.views import ExecutionView
    from sam_tui.ui.screens.runs import RunsScreen

_GROUP = "workflow"
_WIDEST = 48
_LONGEST = 20_000
"""The most characters of an answer that the transcript shows."""


class WorkflowRuns:
    """Starts, stops and continues runs. Each run that our agent drives has a worker of its own."""

    def __init__(
        self,
        context: Context,
        current: CurrentConversation,
        conversations: Conversations,
        patience: Patience,
    ) -> None:
        self._context = context
        self._patience = patience
        self._app = context.app
        self._runtime = context.runtime
        self._current = current
        self._conversations = conversations
        self._screen: RunsScreen | None = None
        """The screen of runs, while it is open."""
        self._driven: dict[str, Worker[None]] = {}
        self._opening = asyncio.Lock()
        self._due = False
        current.changed.watch(self.show_phase)
        self._verbs: dict[str, Callable[[str], None]] = {
            "new": lambda _: self._offer(),
            "go": self._go,
            "pause": self._pause,
            "resume": self._resume,
            "retry": self._retry,
            "abandon": self._abandon,
            "transcript": self._transcript,
            "plan": self._edit_plan,
        }

    def open(self, name: str = "") -> None:
        """The screen of runs; with a ``name`` that workflow is begun."""
        from sam_tui.ui.screens.runs import RunsScreen

        try:
            workflows = self._workflows
            view = workflows.catalog.view(name) if name else None
        except SamError as error:
            self._complain(error)
            return
        if self._screen is None:
            pending = self._runtime.inquiries.pending
            self._screen = RunsScreen(workflows, self.act, lambda: len(pending()), self.drives)
            self._app.push_screen(self._screen, self._left)
        if view is not None:
            self._ask(view)

    def show_fleets(self) -> None:
        """The screen of fleets."""
        from sam_tui.ui.screens.fleets import FleetsScreen

        self._app.push_screen(FleetsScreen(self._runtime.fleets, self._patience))

    def plan(self, task: str = "") -> None:
        """Make a plan for a task and look at its run; the plan waits there for approval."""
        if not task.strip():
            self._say("Name the task: /plan TASK")
            return
        self._app.run_worker(self._begin_plan(task), name="plan", group=_GROUP)

    async def _begin_plan(self, task: str) -> None:
        """Begin the plan once the servers' tools are known: its planner's prompt lists them."""
        from sam_tui.core.workflow.planned import PlannedTasks

        session = self._current.session
        conversation = session.conversation if session is not None else NO_CONVERSATION
        await self._runtime.servers.arrive(conversation)
        try:
            self._runtime.require_hand_out()
            tasks = PlannedTasks(self._workflows, self._runtime.require_models)
            execution = tasks.begin(task, "PLAN_ONLY")
            self.open()
            if self._screen is not None:
                self._screen.choose(execution)
            self._drive(execution)
        except SamError as error:
            self._complain(error)

    def act(self, verb: str, execution: str) -> None:
        """Do something to a run. A refusal is reported and changes nothing."""
        try:
            self._verbs[verb](execution)
        except SamError as error:
            self._complain(error)

    def drives(self, execution: str) -> bool:
        """Whether our agent is driving a run."""
        worker = self._driven.get(execution)
        return worker is not None and not worker.is_finished and not worker.is_cancelled

    def moved(self) -> None:
        """Read the runs anew after this program changed one; once for all changes of a transaction."""
        if not self._due:
            self._due = True
            self._app.call_later(self._look)

    def show_phase(self) -> None:
        """Show the phase of the displayed conversation, or else of a run driven here, in the status."""
        status = self._context.screen.status
        try:
            status.standing.phase = one_line(self._phase(), _WIDEST)
        except SamError:
            status.standing.phase = ""
        status.show()

    async def close(self) -> None:
        """Stop driving; every run keeps its state and can be continued."""
        workers = list(self._driven.values())
        for worker in workers:
            worker.cancel()
        for worker in workers:
            await ended(worker)

    def _look(self) -> None:
        self._due = False
        if self._screen is not None and self._screen.is_mounted:
            self._screen.look()
        self.show_phase()

    @property
    def _workflows(self) -> "Workflows":
        return self._runtime.workflows.workflows()

    def _phase(self) -> str:
        conversation = self._current.id
        phase = self._runtime.workflows.phase(conversation) if conversation else None
        if phase is not None:
            steps = self._workflows.records.steps(phase.execution_id)
            return gate_words(phase.workflow, steps) or f"{phase.workflow}: {phase.state}"
        for execution in self._driven:
            view = self._workflows.records.execution(execution)
            if words := gate_words(view.workflow, self._workflows.records.steps(execution)):
                return words
        return ""

    def _left(self, _: None) -> None:
        self._screen = None

    # -- beginning -----------------------------------------------------------------------------

    def _offer(self) -> None:
        """Pick a workflow to begin."""
        options = [
            (Choice(view.name, view.definition.description), partial(self._ask, view))
            for view in self._workflows.catalog.views()
        ]
        empty = "There is no workflow: sam-tui workflow new makes one."
        self._context.pick("begin a workflow", options, empty=empty)

    def _ask(self, view: "DefinitionView") -> None:
        """Ask for its parameters, then begin."""
        if not view.definition.params:
            self._start(view.name, {})
            return

        def filled(params: dict[str, str] | None) -> None:
            if params is not None:
                self._start(view.name, params)

        self._app.push_screen(ParamForm(view.name, view.definition.params), filled)

    def _start(self, name: str, params: dict[str, str]) -> None:
        try:
            self._runtime.require_models(self._workflows.catalog.certain(name))
            execution = self._workflows.start(name, params).execution_id
        except SamError as error:
            self._complain(error)
            return
        if self._screen is not None:
            self._screen.choose(execution)
        self._drive(execution)

    # -- verbs ---------------------------------------------------------------------------------

    def _go(self, execution: str) -> None:
        view = self._workflows.records.execution(execution)
        if view.state in ("paused", "idle"):
            self._resume(execution)
        elif view.state == "running":
            self._drive(execution)
        else:
            self._say(f"{view.workflow} is {view.state}. t reopens the failed step.")

    def _pause(self, execution: str) -> None:
        self._workflows.steer("pause", execution, "paused by you")
        self._stop(execution)

    def _resume(self, execution: str) -> None:
        view = self._workflows.records.execution(execution)
        if view.question is None:
            self._workflows.steer("resume", execution)
        elif self.drives(execution) and self._screen is not None:
            self._screen.dismiss(None)  # the question waits in the chat
        self._drive(execution)

    def _retry(self, execution: str) -> None:
        self._stop(execution)
        self._workflows.steer("retry", execution)
        self._drive(execution)

    def _abandon(self, execution: str) -> None:
        self._workflows.steer("abandon", execution, "abandoned by you")
        self._stop(execution)

    def _transcript(self, execution: str) -> None:
        """The conversation of the newest attempt, in the chat."""
        conversations = [
            a.conversation for a in self._workflows.records.history(execution) if a.conversation
        ]
        if not conversations:
            self._say("None of its steps has a conversation here.")
            return
        conversation: ConversationId = conversations[-1]  # pyright: ignore[reportAssignmentType] # stored
        if self._runtime.engine.budgets.get(conversation) is not None:
            # A conversation with a running turn cannot be opened, so its messages so far are shown.
            messages = self._runtime.conversations.everything(conversation)
            text = "\n\n".join(f"{message.kind}\n{message.text}" for message in messages)
            self._app.push_screen(Reader(f"{conversation}, at work", whole(text)))
            return
        if self._screen is not None:
            self._screen.dismiss(None)
        self._conversations.open(conversation)

    def _edit_plan(self, execution: str) -> None:
        """Open a run's plan in the person's editor; the saved text replaces the plan."""
        from sam_tui.core.workflow.planned import PlannedTasks

        tasks = PlannedTasks(self._workflows)
        stages = tasks.stages(execution)
        if not stages:
            self._say("This run has no plan.")
            return
        before = json.dumps(stages, ensure_ascii=False, indent=2)

        async def edited() -> None:
            text, trouble = await programs.edit(self._app, before)
            if trouble or text.strip() == before:
                self._say(trouble or "The plan is unchanged.")
                return
            try:
                tasks.replace(execution, json.loads(text))
            except (ValueError, RecursionError) as error:
                self._say(f"That is not JSON: {error}")
            except SamError as error:
                self._complain(error)

        self._app.run_worker(edited(), name=f"plan {execution}", group=_GROUP)

    # -- driving -------------------------------------------------------------------------------

    def _drive(self, execution: str) -> None:
        """Have our agent drive a run, unless it does already or a conversation does."""
        view = self._workflows.records.execution(execution)
        if view.conversation:
            self._say("A conversation runs it: send a prompt there to continue.")
            return
        if self.drives(execution):
            return
        before = self._driven.get(execution)
        self._driven[execution] = self._app.run_worker(
            self._run(execution, before), name=f"workflow {execution}", group=_GROUP
        )
        self.show_phase()

    def _stop(self, execution: str) -> None:
        worker = self._driven.get(execution)
        if worker is not None:
            worker.cancel()

    async def _run(self, execution: str, before: "Worker[None] | None") -> None:
        """Drive a run to its end or a pause, after the worker that drove it ``before`` has ended."""
        mine = self._driven.get(execution)
        if before is not None:
            await ended(before)
        try:
            self._runtime.require_hand_out()
            async with (
                self._opening
            ):  # of the queues, which takes a second where steps are handed out
                await asyncio.to_thread(getattr, self._runtime, "hand_out")
            runner = self._runtime.open_runner(lambda _: None)
            view = await runner.run(execution)
        except SamError as error:
            self._complain(error)
            return
        finally:
            if self._driven.get(execution) is mine:
                del self._driven[execution]
            self.show_phase()
        level = "info" if view.state in ("completed", "paused", "idle") else "error"
        reason = f": {view.reason}" if view.reason else ""
        text = f"Workflow {view.workflow} is {view.state} ({view.progress} steps){reason}"
        then = {
            "idle": "To approve and run it: /workflow, then r",
            "failed": "To try again: /workflow, then t",
        }
        text = "\n".join(filter(None, (text, then.get(view.state))))
        answer = self._answer_of(view)
        self._context.notice(f"{text}\n{answer}" if answer else text, level)
        self._say(text)

    def _answer_of(self, view: "ExecutionView") -> str:
        """The result of a planned task; empty for other runs."""
        from sam_tui.core.workflow.execution.context import excerpt
        from sam_tui.core.workflow.planned import final_answer

        records = self._workflows.records
        if view.state != "completed" or not records.is_task(view.id):
            return ""
        return excerpt(final_answer(records.steps(view.id)) or "", _LONGEST)

    def _say(self, text: str) -> None:
        self._app.notify(one_line(text), markup=False)

    def _complain(self, error: SamError) -> None:
        self._app.notify(error.explain(), title=error.title, severity="error", markup=False)
