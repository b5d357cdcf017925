"""Planned tasks (seed 002, 3.4): a task in one of four modes as an execution, and what it came to.

tasks = PlannedTasks(workflows)
task = tasks.begin("find out how bees see", "PLAN_ONLY")   # for a runner to drive
tasks.result(task)["plan"]                                # the seed's response fields
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from sam_tui.core.errors import UsageError
from sam_tui.core.workflow.definitions.stages import sub_task, to_stages
from sam_tui.core.workflow.execution.context import excerpt
from sam_tui.core.workflow.records import SERVICE_CHOSEN, SYNTHESIZE, TASK_MATCHED
from sam_tui.core.workflow.refusals import WorkflowRefused
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import MODES, Advanced, ExecutionView, ModelStep, StepView

PLAN = "plan"
"""The bundled workflow that plans."""
_STATUS = {"completed": "COMPLETED", "failed": "FAILED", "running": "RUNNING", "skipped": "SKIPPED"}
_MATERIAL = 60_000
"""Characters of what is synthesised."""
Fields = dict[str, object]
RequireModels = Callable[[Iterable[ModelStep], str], None]
"""Raises ``ConfigurationError`` where steps, of a task with that AI service, lack a model."""


def _none_asked(steps: Iterable[ModelStep], service: str) -> None:
    """Any driver will do."""


class PlannedTasks:
    """Begins tasks and reads their results. The caller decides who drives them.

    ``require_models`` is asked before anything begins or goes on.
    """

    def __init__(self, workflows: Workflows, require_models: RequireModels = _none_asked) -> None:
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
        execution = self._begun(task, mode, task_id=task_id, name=name, service=service)
        if service:
            note = {"service": service}
            self._workflows.notes.add_note(execution, SERVICE_CHOSEN, note)
        return execution

    def _begun(self, task: str, mode: str, *, task_id: str, name: str, service: str) -> str:
        if mode not in MODES:
            raise UsageError(f"There is no mode {mode!r}.", hint=f"One of: {', '.join(MODES)}.")
        if mode in ("EXECUTE_FULL_PLAN", "PLAN_ONLY"):
            if not task.strip():
                raise UsageError("The task is missing.")
            hold = mode == "PLAN_ONLY"
            return self._planned(task, hold=hold, name=name, service=service).execution_id
        if not task_id:
            raise UsageError(f"{mode} needs the id of a task.")
        if mode == "EXECUTE_PLANNED_TASK":
            return self._carried_out(task_id, service)
        self._require_models(self._workflows.catalog.certain(SYNTHESIZE), service)
        params = {"task": task or self.task_of(task_id), "material": self._material(task_id)}
        return self._workflows.start(SYNTHESIZE, params, execution_id=name).execution_id

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
        """What was to be achieved."""
        if matched := self._workflows.records.task(task_id):
            return matched
        view = self._workflows.records.execution(task_id)
        return str(view.params.get("task") or view.params.get("objective") or view.workflow)

    def result(self, task_id: str) -> Fields:
        """The response of seed 002: plan, executed plan, final answer, context."""
        view = self._workflows.records.execution(task_id)
        steps = self._workflows.records.steps(task_id)
        return {
            "success": view.state == "completed" or _is_planned(view),
            "message": _message(view),
            "originalTask": self.task_of(task_id),
            "plan": self.stages(task_id),
            "executedPlan": self._executed(task_id, steps),
            "finalAnswer": final_answer(steps),
            "currentWorkingContext": self._workflows.records.context(task_id),
            "parentTaskId": task_id,
        }

    def _planned(self, task: str, *, hold: bool, name: str, service: str) -> Advanced:
        """By the template whose matcher fits, else by a planner."""
        match = self._workflows.catalog.match(task)
        if not (hold and match):
            workflow = match.name if match else PLAN
            self._require_models(self._workflows.catalog.certain(workflow), service)
        if match is not None:
            advance = self._workflows.start(match.name, match.params, execution_id=name, hold=hold)
            self._workflows.notes.add_note(advance.execution_id, TASK_MATCHED, {"task": task})
            return advance
        params = {"task": task, "review": "true" if hold else "false"}
        return self._workflows.start(PLAN, params, execution_id=name)

    def _carried_out(self, task_id: str, service: str) -> str:
        """Approve a plan that waits, open again what failed, go on with what is paused."""
        records = self._workflows.records
        view = records.execution(task_id)
        if view.state not in ("completed", "abandoned"):
            ahead = [s for s in records.steps(task_id) if s.status not in ("completed", "skipped")]
            self._require_models(ahead, service or records.service(task_id))
        if view.question is not None and "approve" in view.question.choices:
            self._workflows.steer("decide", task_id, "approve")
        elif view.state in ("failed", "diverged"):
            self._workflows.steer("retry", task_id)
        elif view.state in ("idle", "paused") and view.question is None:
            self._workflows.steer("resume", task_id)
        return task_id

    def _plan_step(self, task_id: str) -> StepView:
        plans = [s for s in self._workflows.records.steps(task_id) if s.kind == "plan"]
        if not plans:
            raise WorkflowRefused("step_not_plan", f"Execution {task_id} has no plan.")
        return plans[-1]

    def _material(self, task_id: str) -> str:
        """The results of a task so far, as text."""
        steps = self._workflows.records.steps(task_id)
        outputs = {s.id: s.output for s in steps if s.output is not None and s.kind != "plan"}
        context = self._workflows.records.context(task_id)
        text = json.dumps({"outputs": outputs, "context": context}, ensure_ascii=False)
        return excerpt(text, _MATERIAL)

    def _executed(self, task_id: str, steps: Sequence[StepView]) -> list[Fields]:
        """Seed 002's execution context: every step of the plan with what it came to."""
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
                    "status": _STATUS.get(step.status, "PENDING"),
                    "processed_result_data": output.get("processed_result_data", raw),
                    "raw_result_data": raw,
                    "error_details": {"message": step.error} if step.error else None,
                }
            )
        return entries


def final_answer(steps: Sequence[StepView]) -> str | None:
    """The answer: of the step that was marked as final, else of the last step; None before it is there."""
    outputs: dict[str, Mapping[str, object]] = {
        s.id: s.output for s in steps if s.output is not None
    }
    for step in steps:
        final = (step.output or {}).get("final_step") if step.kind == "plan" else ""
        if final and f"{step.id}/{final}" in outputs:
            return str(outputs[f"{step.id}/{final}"].get("summary", ""))
    last = [step for step in steps if not step.parent and step.kind != "plan"]
    return str(last[-1].output.get("summary", "")) if last and last[-1].output is not None else None


def _is_planned(view: ExecutionView) -> bool:
    """Whether it waits with a plan for approval, what ``PLAN_ONLY`` asks for; a template is held back."""
    approvable = view.question is not None and "approve" in view.question.choices
    return approvable or view.state == "idle"


def _message(view: ExecutionView) -> str:
    if _is_planned(view):
        return "The plan was made and waits for approval."
    return f"{view.state}: {view.reason}" if view.reason else view.state
