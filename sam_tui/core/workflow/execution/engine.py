"""The verbs: each one transaction that checks, changes, opens what follows and tells of it."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sam_tui.core.clock import Clock
from sam_tui.core.ports.workflows import (
    AttemptRow,
    EventRow,
    ExecutionRow,
    WorkflowStore,
    WorkflowUnit,
)
from sam_tui.core.workflow.definitions.catalog import WorkflowCatalog
from sam_tui.core.workflow.definitions.model import StepAction
from sam_tui.core.workflow.execution.case import ENDED, ExecutionCase, require_next, require_running
from sam_tui.core.workflow.execution.completion import accept, failed_step, finish
from sam_tui.core.workflow.execution.output import read_output
from sam_tui.core.workflow.execution.plans import adopt, read_plan
from sam_tui.core.workflow.execution.readiness import settle
from sam_tui.core.workflow.execution.recovery import (
    WITHDRAWN,
    begin_call,
    cancel,
    end,
    fail_step,
    reopen,
    rollback,
)
from sam_tui.core.workflow.execution.start import Order, create
from sam_tui.core.workflow.execution.tickets import (
    describe,
    issue,
    not_running,
    read_token,
    redeem,
    refused_token,
    token_hash,
)
from sam_tui.core.workflow.refusals import WorkflowRefused, require_choice
from sam_tui.core.workflow.views import Advanced, Failure, Outcome, Ticket

Events = list[EventRow]
"""What a unit of work has to tell once it is stored."""


class WorkflowEngine:
    """Changes executions. Everything that returned is committed; ``announce`` hears it after that."""

    def __init__(
        self,
        store: WorkflowStore,
        catalog: WorkflowCatalog,
        clock: Clock,
        announce: Callable[[EventRow], None],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._announce = announce

    def start(
        self,
        name: str,
        params: Mapping[str, Any],
        *,
        execution_id: str,
        conversation: str,
        hold: bool,
    ) -> Advanced:
        """Create an execution and, unless held, begin it."""
        definition = self._catalog.find(name).definition
        order = Order(definition, self._catalog.personas(), params)
        with self._unit() as (unit, events):
            case = create(
                unit,
                order,
                execution=execution_id,
                conversation=conversation,
                now=self._clock.now(),
            )
            if not hold:
                self._begin(case)
            return self._done(case, events, "started" if not hold else "waiting")

    def advance(self, token: str, output: Any, *, execution_id: str = "") -> Advanced:
        """Finish the step of a token."""
        parts = read_token(token)
        now = self._clock.now()
        try:
            with self._unit() as (unit, events):
                case, attempt = redeem(unit, token, execution_id, now)
                if self._overdue(case, attempt):
                    return self._late(case, events, attempt)
                read = read_output(case.spec(attempt.step), output)
                if not unit.spend_token(token_hash(token), now):
                    raise refused_token(
                        "token_replayed", "That token was used already.", attempt.step
                    )
                case.record("token_validated", attempt.step, attempt.id)
                finish(case, attempt, read)
                return self._settled(case, events)
        except WorkflowRefused as refusal:
            self._tell_refusal(parts.execution_id, parts.step_name, refusal)
            raise

    def peek(self, token: str) -> Ticket:
        """The step of a token that would be good for ``advance``; it stays unused."""
        parts = read_token(token)
        try:
            with self._unit() as (unit, _):
                case, attempt = redeem(unit, token, "", self._clock.now())
                return describe(case, attempt)
        except WorkflowRefused as refusal:
            self._tell_refusal(parts.execution_id, parts.step_name, refusal)
            raise

    def submit(self, execution_id: str, step: str, output: Any) -> Advanced:
        """Finish an open step without a token."""
        try:
            with self._unit() as (unit, events):
                case, attempt = self._open_step(unit, execution_id, step)
                if self._overdue(case, attempt):
                    return self._late(case, events, attempt)
                finish(case, attempt, read_output(case.spec(attempt.step), output))
                return self._settled(case, events)
        except WorkflowRefused as refusal:
            self._tell_refusal(execution_id, step, refusal)
            raise

    def fail_step(self, execution_id: str, step: str, error: str) -> Advanced:
        """The open attempt at a step failed."""
        with self._unit() as (unit, events):
            case, attempt = self._open_step(unit, execution_id, step)
            fail_step(case, attempt, (Failure("driver", error or "failed", {}),))
            return self._settled(case, events)

    def pause(self, execution_id: str, reason: str) -> Advanced:
        """running -> paused."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            case.move("paused", reason)
            return self._done(case, events, "waiting")

    def resume(self, execution_id: str) -> Advanced:
        """paused -> running, or idle -> running; deadlines move on by the time it was paused."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            if case.row.state == "idle":
                self._begin(case)
                return self._done(case, events, "started")
            require_next(execution_id, case.row.state, "running")
            if case.row.state in ENDED:
                raise WorkflowRefused(
                    "execution_closed",
                    f"Execution {execution_id} is {case.row.state}.",
                    hint="Open it again with retry.",
                    details={"execution_id": execution_id, "state": case.row.state},
                )
            if case.row.question_json:
                return self._answer(case, events, "retry")
            self._go_on(case)
            return self._settled(case, events, reissue=True)

    def end(self, execution_id: str, state: str, reason: str) -> Advanced:
        """-> abandoned, failed or diverged."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            if state in ("failed", "diverged", "abandoned"):
                require_next(execution_id, case.row.state, state)
            end(case, state, reason)
            return self._done(case, events, "diverged" if state == "diverged" else "failed")

    def retry(self, execution_id: str, step: str) -> Advanced:
        """Open a step afresh, whatever it was."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            target = failed_step(case, step)
            if case.row.state != "running":
                require_next(execution_id, case.row.state, "running")
                case.change(question_json="")
                self._go_on(case)
            if case.spec(target).each and case.steps[target].status == "completed":
                case.put(replace(case.steps[target], cursor=-1))
            reopen(case, target, error=case.steps[target].error)
            case.record("step_reopened", target)
            case.target = target
            return self._settled(case, events)

    def decide(self, execution_id: str, choice: str) -> Advanced:
        """Answer the question of a paused execution."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            if case.row.state != "paused" or not case.row.question_json:
                raise WorkflowRefused(
                    "nothing_asked",
                    f"Execution {execution_id} asks nothing.",
                    details={"execution_id": execution_id, "state": case.row.state},
                )
            return self._answer(case, events, choice)

    def replan(self, execution_id: str, step: str, plan: Any) -> Advanced:
        """A new revision of a plan step's children, made by whoever drives."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            require_running(execution_id, case.row.state)
            row = case.steps.get(step)
            if row is None or case.spec(step).kind != "plan" or row.status != "completed":
                raise WorkflowRefused(
                    "step_not_plan",
                    f"{step!r} is no plan step that has a plan.",
                    details={"execution_id": execution_id, "step": step},
                )
            read_plan(case, step, plan)
            if case.row.replans >= case.definition.policy.replans:
                raise WorkflowRefused(
                    "replans_exhausted",
                    f"The replan budget of {case.definition.policy.replans} is used up.",
                    details={"execution_id": execution_id},
                )
            children = [r.id for r in case.living() if r.parent == step]
            cancel(case, children, "a new plan was made")
            case.change(replans=case.row.replans + 1)
            adopt(case, step, plan)
            case.outcome = "replanned"
            return self._settled(case, events)

    def expire(self) -> tuple[Advanced, ...]:
        """Time out every attempt and execution that is over its deadline."""
        done: list[Advanced] = []
        for row in self._store.reader.executions(state="running", limit=10_000):
            late = self._late_in(row)
            done.extend([late] if late else [])
        return tuple(done)

    def tickets(self, execution_id: str, *, mint: bool) -> tuple[Ticket, ...]:
        """What is open, with fresh tokens if any are to be minted."""
        with self._unit() as (unit, events):
            case = self._load(unit, execution_id)
            if case.row.state != "running":
                return ()
            ticket = issue if mint else describe
            tickets = tuple(ticket(case, attempt) for attempt in case.attempts())
            events.extend(case.events)
            return tickets

    def claim(self, execution_id: str, step: str, *, driver: str, conversation: str) -> None:
        """Note who works on an open attempt."""
        with self._unit() as (unit, events):
            case, attempt = self._open_step(unit, execution_id, step)
            unit.save_attempt(replace(attempt, driver=driver, conversation=conversation))
            case.record("step_claimed", step, attempt.id, driver=driver)
            events.extend(case.events)

    def begin_call(self, execution_id: str, step: str) -> Advanced | None:
        """Note that the call of an open tool step is made now; None unless a person has to decide."""
        with self._unit() as (unit, events):
            case, attempt = self._open_step(unit, execution_id, step)
            if not begin_call(case, attempt):
                return self._settled(case, events)
            events.extend(case.events)
            return None

    def withdraw_call(self, execution_id: str, step: str) -> None:
        """Note that the call of an open tool step was not made after all."""
        with self._unit() as (unit, events):
            case, attempt = self._open_step(unit, execution_id, step)
            case.record(WITHDRAWN, step, attempt.id)
            events.extend(case.events)

    # -- parts of verbs ------------------------------------------------------------------------

    @contextmanager
    def _unit(self) -> Generator[tuple[WorkflowUnit, Events], None, None]:
        events: Events = []
        with self._store.unit() as unit:
            yield unit, events
        for event in events:
            self._announce(event)

    def _load(self, unit: WorkflowUnit, execution: str) -> ExecutionCase:
        return ExecutionCase.load(unit, execution, self._clock.now())

    def _begin(self, case: ExecutionCase) -> None:
        case.move("running")
        case.record("workflow_started", workflow=case.row.workflow)
        settle(case)

    def _go_on(self, case: ExecutionCase) -> None:
        """Run again; what was open gets the time back that it was held up."""
        paused = max(0.0, case.now - case.row.updated_at)
        for attempt in case.attempts():
            if attempt.deadline is not None:
                case.unit.save_attempt(replace(attempt, deadline=attempt.deadline + paused))
        case.move("running")

    def _open_step(
        self, unit: WorkflowUnit, execution: str, step: str
    ) -> tuple[ExecutionCase, AttemptRow]:
        case = self._load(unit, execution)
        require_running(execution, case.row.state)
        attempts = case.attempts(step=step)
        if not attempts:
            raise not_running(case, step)
        return case, attempts[0]

    def _answer(self, case: ExecutionCase, events: Events, choice: str) -> Advanced:
        question = json.loads(case.row.question_json)
        step = question["step"]
        choice = require_choice(choice, question["choices"])
        case.change(question_json="")
        case.record("question_answered", step, choice=choice)
        if choice == "abort":
            end(case, "failed", question["prompt"])
            return self._done(case, events, "failed")
        self._go_on(case)
        if choice == "accept":
            accept(case, step)
        elif choice == "retry":
            reopen(case, step, error=case.steps[step].error)
        else:
            target = choice.removeprefix("rollback:")
            rollback(case, case.steps[step], StepAction("rollback", target), counted=False)
        return self._settled(case, events)

    def _overdue(self, case: ExecutionCase, attempt: AttemptRow | None) -> bool:
        late = attempt is not None and attempt.deadline is not None and case.now > attempt.deadline
        return late or bool(self._expired(case))

    def _expired(self, case: ExecutionCase) -> str:
        """Why an execution that runs has taken too long as a whole; empty while it has not."""
        limit = case.definition.policy.timeout
        if limit is None:
            return ""
        assert case.row.started_at is not None
        over = case.now > case.row.started_at + limit
        return f"it took longer than {limit:g} seconds" if over else ""

    def _late(self, case: ExecutionCase, events: Events, attempt: AttemptRow | None) -> Advanced:
        """Too late: the attempt is timed out, or the whole execution has failed."""
        if reason := self._expired(case):
            end(case, "failed", reason)
            return self._done(case, events, "failed")
        assert attempt is not None
        case.record("step_timed_out", attempt.step, attempt.id)
        failure = Failure("timeout", "it took too long", {"code": "step_timed_out"})
        fail_step(case, attempt, (failure,), status="timed_out")
        return self._settled(case, events)

    def _late_in(self, row: ExecutionRow) -> Advanced | None:
        with self._unit() as (unit, events):
            case = self._load(unit, row.id)
            if case.row.state != "running":
                return None
            attempts = [a for a in case.attempts() if self._overdue(case, a)]
            if not attempts and not self._overdue(case, None):
                return None
            return self._late(case, events, attempts[0] if attempts else None)

    def _settled(self, case: ExecutionCase, events: Events, *, reissue: bool = False) -> Advanced:
        settle(case)
        if reissue and case.row.state == "running":
            case.opened = list(case.attempts())
        return self._done(case, events, "continued" if case.opened else "waiting")

    def _done(self, case: ExecutionCase, events: Events, outcome: Outcome) -> Advanced:
        tickets = tuple(issue(case, attempt) for attempt in case.opened)
        events.extend(case.events)
        reached: Any = case.outcome or outcome
        if case.row.state in ENDED or case.row.state == "paused":
            reached = {"completed": "completed", "diverged": "diverged", "paused": reached}.get(
                case.row.state, "failed"
            )
        return Advanced(
            case.row.id,
            case.row.workflow,
            case.row.state,
            reached,
            tickets,
            case.message,
            tuple(case.failures),
            case.target,
        )

    def _tell_refusal(self, execution: str, step: str, refusal: WorkflowRefused) -> None:
        """In a transaction of its own: what was refused left nothing else behind."""
        with self._unit() as (unit, events):
            row = unit.execution(execution)
            if row is not None:
                case = ExecutionCase(unit, row, self._clock.now())
                kind = "token_expired" if refusal.code == "token_expired" else "refused"
                case.record(kind, step, code=refusal.code)
                events.extend(case.events)
