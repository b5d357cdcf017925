"""Planned tasks (seed 002, 3.4): a task in one of four modes as an execution, and its result.

tasks = PlannedTasks(workflows)
task = tasks.begin("find out how bees see", "PLAN_ONLY")   # for a runner to drive
tasks.result(task)["plan"]                                # the seed's response fields
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from sam_tui.core.clock import iso
from sam_tui.core.errors import UsageError
from sam_tui.core.ports.workflows import EventQuery, EventRow
from sam_tui.core.workflow.definitions.model import Step
from sam_tui.core.workflow.definitions.stages import sub_task, to_stages
from sam_tui.core.workflow.execution.context import excerpt
from sam_tui.core.workflow.execution.output import RESULT, SUMMARY
from sam_tui.core.workflow.records import SERVICE_CHOSEN, SYNTHESIZE, TASK_MATCHED
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import MODES, StepView, WorkflowRefused

PLAN = "plan"
"""The name of the bundled workflow that makes a plan."""
_MATERIAL = 60_000
"""The most characters of results that are synthesised."""
Fields = dict[str, object]
RequireModels = Callable[[Iterable[Step | StepView], str], None]
"""Raises ``ConfigurationError`` if steps of a task with this AI service have no model."""


class PlannedTasks:
    """Begins tasks and reads their results. The caller decides who drives them.

    ``require_models`` is asked before anything begins or goes on.
    """

    def __init__(
        self, workflows: Workflows, require_models: RequireModels = lambda steps, service: None
    ) -> None:
        self._workflows = workflows
        self._require_models = require_models

    def begin(
        self,
        task: str,
        mode: str = "EXECUTE_FULL_PLAN",
        *,
        task_id: str = "",
        name: str = "",
        service: str = "",
    ) -> str:
        """The execution to drive. ``task_id`` is that of ``EXECUTE_PLANNED_TASK`` and ``SYNTHESIZE_ONLY``.

        ``service`` is the AI service that works on it from now on; who calls has seen that there is one.
        Raises ``UsageError`` for a mode or a lack, ``WorkflowRefused`` as ``start`` and ``decide`` do,
        and ``ConfigurationError`` where there is no model for a step of it; nothing has begun then.
        """
        if mode not in MODES:
            raise UsageError(f"There is no mode {mode!r}.", hint=f"One of: {', '.join(MODES)}.")
        if mode in ("EXECUTE_FULL_PLAN", "PLAN_ONLY"):
            if not task.strip():
                raise UsageError("The task is missing.")
            execution = self._planned(task, hold=mode == "PLAN_ONLY", name=name, service=service)
        elif not task_id:
            raise UsageError(f"{mode} needs the id of a task.")
        elif mode == "EXECUTE_PLANNED_TASK":
            execution = self._carried_out(task_id, service)
        else:
            self._require_models(self._workflows.catalog.certain(SYNTHESIZE), service)
            params = {"task": task or self.task_of(task_id), "material": self._material(task_id)}
            execution = self._workflows.start(SYNTHESIZE, params, execution_id=name).execution_id
        if service:
            self._workflows.notes.add_note(execution, SERVICE_CHOSEN, {"service": service})
        return execution

    def replan(self, task_id: str, why: str) -> None:
        """Have the plan of a task made anew for a person's reason; it costs no budget."""
        step = self._plan_step(task_id)
        self._require_models([step], self._workflows.records.service(task_id))
        self._workflows.plan_again(task_id, step.id, why)

    def replace(self, task_id: str, stages: object) -> None:
        """Put a person's plan in the place of the task's. Raises ``WorkflowRefused``, all faults."""
        self._workflows.replan(task_id, self._plan_step(task_id).id, stages)

    def stages(self, task_id: str) -> list[list[Fields]]:
        """The plan of a task in the seed's form."""
        return to_stages(self._workflows.records.plan(task_id))

    def task_of(self, task_id: str) -> str:
        """Return the task text of an execution."""
        if matched := self._workflows.records.task(task_id):
            return matched
        view = self._workflows.records.execution(task_id)
        return str(view.params.get("task") or view.params.get("objective") or view.workflow)

    def result(self, task_id: str) -> Fields:
        """The response of seed 002: plan, executed plan, final answer, context."""
        view = self._workflows.records.execution(task_id)
        steps = self._workflows.records.steps(task_id)
        # What ``PLAN_ONLY`` asks for: a template is held back.
        planned = view.awaits_approval or view.state == "idle"
        message = f"{view.state}: {view.reason}" if view.reason else view.state
        return {
            "success": view.state == "completed" or planned,
            "message": "The plan was made and waits for approval." if planned else message,
            "originalTask": self.task_of(task_id),
            "plan": self.stages(task_id),
            "executedPlan": self._executed(task_id, steps),
            "finalAnswer": final_answer(steps),
            "currentWorkingContext": self._workflows.records.context(task_id),
            "parentTaskId": task_id,
        }

    def _planned(self, task: str, *, hold: bool, name: str, service: str) -> str:
        """By the template whose matcher fits, else by a planner."""
        match = self._workflows.catalog.match(task)
        planning = {"task": task, "review": "true" if hold else "false"}
        workflow, params = match or (PLAN, planning)
        idle = hold and match is not None
        if not idle:
            self._require_models(self._workflows.catalog.certain(workflow), service)
        done = self._workflows.start(workflow, params, execution_id=name, hold=idle)
        if match is not None:
            self._workflows.notes.add_note(done.execution_id, TASK_MATCHED, {"task": task})
        return done.execution_id

    def _carried_out(self, task_id: str, service: str) -> str:
        """Approve a waiting plan, reopen failed steps, or resume a paused execution."""
        records = self._workflows.records
        view = records.execution(task_id)
        if view.state not in ("completed", "abandoned"):
            ahead = [s for s in records.steps(task_id) if s.status not in ("completed", "skipped")]
            self._require_models(ahead, service or records.service(task_id))
        if view.awaits_approval:
            self._workflows.steer("decide", task_id, "approve")
        elif view.state in ("failed", "diverged"):
            self._workflows.steer("retry", task_id)
        elif view.state in ("idle", "paused") and view.question is None:
            self._workflows.steer("resume", task_id)
        return task_id

    def _plan_step(self, task_id: str) -> StepView:
        plans = [s for s in self._workflows.records.steps(task_id) if s.kind == "plan"]
        if not plans:
            name = self._workflows.records.execution(task_id).workflow
            why = f"Execution {task_id} follows the workflow {name}, which has no step that plans."
            raise WorkflowRefused("step_not_plan", why)
        return plans[-1]

    def _material(self, task_id: str) -> str:
        """The results of a task so far, as text."""
        steps = self._workflows.records.steps(task_id)
        outputs = {s.id: s.output for s in steps if s.output is not None and s.kind != "plan"}
        context = self._workflows.records.context(task_id)
        text = json.dumps({"outputs": outputs, "context": context}, ensure_ascii=False)
        return excerpt(text, _MATERIAL)

    def _executed(self, task_id: str, steps: Sequence[StepView]) -> list[Fields]:
        """Return seed 002's execution context: every step of the plan with its result."""
        specs = {spec.id: spec for spec in self._workflows.records.plan(task_id)}
        entries: list[Fields] = []
        for step in steps:
            id_ = step.id.removeprefix(f"{step.parent}/")
            if id_ not in specs:
                continue
            output = step.output or {}
            raw = output.get("result_data", output.get("text", output.get("summary")))
            entries.append(
                sub_task(specs[id_])
                | {
                    "status": step.status.upper(),
                    "processed_result_data": output.get("processed_result_data", raw),
                    "raw_result_data": raw,
                    "error_details": {"message": step.error} if step.error else None,
                }
            )
        return entries


def final_answer(steps: Sequence[StepView]) -> str | None:
    """Return the answer of the final step, else of the last step; None before it exists."""
    outputs = {step.id: step.output for step in steps}
    plans = [step for step in steps if step.kind == "plan"]
    finals = [outputs.get(f"{s.id}/{(s.output or {}).get('final_step')}") for s in plans]
    last = [step.output for step in steps if not step.parent and step.kind != "plan"]
    answer = next(filter(None, finals), last[-1] if last else None)
    return None if answer is None else str(answer.get("summary", ""))


BankFile = tuple[str, str]
"""A name and a text."""
_DECISIONS = {
    "plan_adopted": "A plan was adopted",
    "plan_approved": "The plan was approved",
    "plan_unachievable": "The task was found not achievable",
    "replan_asked": "A new plan was requested",
    "budget_exhausted": "A budget was used up",
    "question_answered": "A person decided",
}
"""Events that are decisions, each with its heading."""


class MemoryBank:
    """The files of one task, from the store's present content. Each method raises ``WorkflowRefused``."""

    def __init__(self, workflows: Workflows, task_id: str) -> None:
        self._seen = 0
        self._workflows = workflows
        self._task = task_id
        self._planned = PlannedTasks(workflows)

    @property
    def folder(self) -> str:
        """The folder of the files among the saved tasks."""
        return f"{self._workflows.records.task_folder(self._task)}/memory_bank"

    def first_files(self) -> list[BankFile]:
        """The files that are written before anything is planned or carried out."""
        task = f"# Task\n\n{self._planned.task_of(self._task)}\n"
        return [("task_definition.md", task), self._context()]

    def step_files(self) -> list[BankFile]:
        """The files that are written when a step has ended: decisions where some followed the last look."""
        events = self._events(self._seen)
        self._seen = events[-1].seq if events else self._seen
        decided = any(event.type in _DECISIONS for event in events)
        return [self._context(), self._decisions()] if decided else [self._context()]

    def last_files(self) -> list[BankFile]:
        """The files that are written once the task has ended or waits for a person."""
        result = self._planned.result(self._task)
        answer = result["finalAnswer"] or "There is none yet."
        log = _log(result["executedPlan"], str(result["message"]))
        return [
            self._context(),
            self._decisions(),
            ("final_answer_archive.md", f"# Answer\n\n{answer}\n"),
            ("execution_log_summary.md", log),
            *self._summaries(),
            ("task_state.json", _json(self._state(result))),
            ("journal.json", _json([_entry(event) for event in self._events()])),
        ]

    def files(self) -> list[BankFile]:
        """All files of the bank in the order in which they are written (seed 002, 4.1)."""
        return [*self.first_files()[:1], *self.last_files()]

    def _context(self) -> BankFile:
        context = self._workflows.records.context(self._task)
        return "current_working_context.json", _json(context)

    def _decisions(self) -> BankFile:
        """Plans, approvals and failures that were planned around."""
        lines = ["# Decisions and learnings", ""]
        for event in self._events():
            if event.type in _DECISIONS:
                facts = {k: v for k, v in event.data.items() if k != "fingerprint"}
                about = "; ".join(f"{name}: {value}" for name, value in facts.items())
                lines.append(f"- {iso(event.at)} {_DECISIONS[event.type]} ({event.step}): {about}")
        return "key_decisions_and_learnings.md", "\n".join(lines) + "\n"

    def _summaries(self) -> list[BankFile]:
        """Long results, their summaries, and the hash that a summary is found by."""
        records, files = self._workflows.records, list[BankFile]()
        for row in records.artifacts(self._task):
            if row.name not in (RESULT, SUMMARY):
                continue
            name = f"{row.step.replace('/', '_')}_{row.name}"
            files.append((name, records.read_artifact(row.id).text))
            if row.name == SUMMARY:
                files.append((f"{name}.meta.json", _json(row.metadata)))
        return files

    def _events(self, after: int = 0) -> Sequence[EventRow]:
        query = EventQuery(self._task, after=after, limit=100_000)
        return self._workflows.records.reader.events(query)

    def _state(self, result: Fields) -> Fields:
        """``task_state.json`` with the seed's fields."""
        view = self._workflows.records.execution(self._task)
        steps = self._workflows.records.steps(self._task)
        failed = next((step for step in steps if step.error and step.status != "completed"), None)
        broken = view.state in ("failed", "diverged")
        status = (
            ("FAILED_PLANNING", "FAILED_EXECUTION") if broken else ("PLANNING", "PLAN_GENERATED")
        )
        settled = view.state in ("completed", "abandoned", "running")
        error = {"reason": view.reason, "failedStep": failed.id if failed else None}
        return {
            "taskId": self._task,
            "userTaskString": result["originalTask"],
            "status": view.state.upper() if settled else status[bool(result["plan"])],
            "plan": result["plan"],
            "plan_source": "llm" if view.workflow == PLAN else "template",
            "executionContext": result["executedPlan"],
            "finalAnswer": result["finalAnswer"],
            "errorSummary": error if view.reason else None,
            "currentWorkingContext": result["currentWorkingContext"],
            "createdAt": iso(view.created_at),
            "updatedAt": iso(view.updated_at),
        }


def _log(executed: object, message: str) -> str:
    lines = ["# Execution", "", message, ""]
    for entry in cast("list[dict[str, Any]]", executed):
        error = f": {entry['error_details']['message']}" if entry["error_details"] else ""
        who = f"{entry['assigned_agent_role']}/{entry['tool_name']}"
        lines.append(f"- {entry['stepId']} ({who}) {entry['status']}{error}")
    return "\n".join(lines) + "\n"


def _entry(event: EventRow) -> Fields:
    """An entry of the journal."""
    return {
        "timestamp": iso(event.at),
        "type": event.type.upper(),
        "source": event.step or "execution",
        "message": event.type.replace("_", " "),
        "details": event.data,
    }


def _json(value: Sequence[object] | Mapping[str, object]) -> str:
    """JSON with a line for each entry: deeper indentation costs three times as much at every step."""
    if isinstance(value, Mapping):
        lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()]
        return "{\n " + ",\n ".join(lines) + "\n}\n"
    return "[\n " + ",\n ".join(json.dumps(v, ensure_ascii=False) for v in value) + "\n]\n"
