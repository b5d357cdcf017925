"""Workflows of one data folder: every front end, tool, server and runner comes through ``Workflows``.

    workflows = Workflows(store, source, clock, announce)
    done = workflows.start("fix-bug", params={"objective": "..."})
    done = workflows.advance(done.opened[0].token, {"summary": "..."})     # any driver, by token
    done = workflows.submit(done.execution_id, "fix", {"summary": "..."})  # a driver in this process
    view = workflows.records.execution(done.execution_id)

All of it is synchronous and returns after the commit. What is refused raises ``WorkflowRefused``
with a ``code`` and ``details``; nothing has changed then, but for the event that tells of it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from sam_tui.core.clock import Clock
from sam_tui.core.ports.workflows import AttemptRow, DefinitionSource, EventRow, WorkflowStore
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.workflow.definitions.catalog import WorkflowCatalog
from sam_tui.core.workflow.definitions.roles import (
    Capability,
    capabilities_json,
    capabilities_of,
)
from sam_tui.core.workflow.execution.case import ENDED, ExecutionCase, require_next
from sam_tui.core.workflow.execution.completion import (
    RecordedCall,
    failed_step,
    finish,
    keep_evidence,
)
from sam_tui.core.workflow.execution.output import read_output
from sam_tui.core.workflow.execution.progress import (
    advanced,
    begin,
    decide,
    go_on,
    overdue,
    plan_again,
    replan,
    require_no_plan,
    settled,
    time_out,
)
from sam_tui.core.workflow.execution.recovery import WITHDRAWN, begin_call, end, fail_step, reopen
from sam_tui.core.workflow.execution.start import Order, create
from sam_tui.core.workflow.execution.tickets import (
    describe,
    issue,
    read_token,
    redeem,
    refused_token,
    token_hash,
)
from sam_tui.core.workflow.execution.transactions import Transactions
from sam_tui.core.workflow.gate import conversation_gate
from sam_tui.core.workflow.notes import WorkflowNotes
from sam_tui.core.workflow.prompts import phase_digest
from sam_tui.core.workflow.records import WorkflowRecords
from sam_tui.core.workflow.refusals import WorkflowRefused
from sam_tui.core.workflow.upkeep import StoreUpkeep
from sam_tui.core.workflow.views import Advanced, Failure, Ticket


class StepClaims:
    """Claims on the open steps of one store."""

    def __init__(self, store: WorkflowStore, transactions: Transactions) -> None:
        self._store = store
        self._transactions = transactions

    def hold(self, execution_id: str) -> AbstractContextManager[bool]:
        """Be the one process that drives an execution; False when another does. Death lets go."""
        return self._store.hold(execution_id)

    def claim(self, execution_id: str, step: str, *, driver: str, conversation: str) -> None:
        """Note who works on a step's open attempt, and in which conversation."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            _claim(case, attempt, driver, conversation)

    def owner(self, execution_id: str, step: str) -> str:
        """The conversation that the open attempt at a step was claimed for, or nothing."""
        attempts = self._store.reader.attempts(execution_id, step=step, status="open")
        return attempts[0].conversation if attempts else ""

    def begin_call(
        self, execution_id: str, step: str, *, driver: str = "", conversation: str = ""
    ) -> Advanced | None:
        """Note that the call of an open tool step is made now. Its driver holds the execution.

        With a ``conversation`` the step is claimed for it as well.

        None: make it. Else an earlier call of the attempt was cut off and may have had its effect,
        so the execution is paused and asks a person: accept, or retry.
        """
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            if not begin_call(case, attempt):
                return settled(case)
            if conversation:
                _claim(case, attempt, driver, conversation)
            return None

    def withdraw_call(self, execution_id: str, step: str) -> None:
        """Note that a call that was begun was refused, and had no effect."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            case.record(WITHDRAWN, step, attempt.id)


def _claim(case: ExecutionCase, attempt: AttemptRow, driver: str, conversation: str) -> None:
    case.unit.save_attempt(replace(attempt, driver=driver, conversation=conversation))
    case.record("step_claimed", attempt.step, attempt.id, driver=driver)


class Workflows:
    """The verbs on executions, each one transaction that checks, changes and opens what follows.

    ``catalog`` has the definitions, ``records`` what is stored of executions, ``notes`` adds
    artifacts, findings and evidence, ``claims`` says who works on what, ``upkeep`` looks after the
    store. ``tools`` are the descriptions of what can be called, by name. ``announce`` hears each
    event after its commit.
    """

    def __init__(
        self,
        store: WorkflowStore,
        source: DefinitionSource,
        clock: Clock,
        announce: Callable[[EventRow], None] = lambda _: None,
        tools: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        self._transactions = Transactions(store, clock, announce)
        self._tools = tools
        self.catalog = WorkflowCatalog(source)
        self.records = WorkflowRecords(store.reader)
        self.notes = WorkflowNotes(self._transactions)
        self.claims = StepClaims(store, self._transactions)
        self.upkeep = StoreUpkeep(store, self.catalog, clock)

    # -- verbs ---------------------------------------------------------------------------------

    def start(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        execution_id: str = "",
        conversation: str = "",
        hold: bool = False,
    ) -> Advanced:
        """Begin an execution and open its first steps, each with a token.

        ``conversation`` makes it the one that conversation drives (its gate and reminder follow it);
        ``hold`` creates it ``idle``, for ``resume`` to begin. Codes: ``workflow_unknown``,
        ``workflow_invalid``, ``persona_unknown``, ``params_invalid``, ``execution_exists``,
        ``execution_id_invalid``, ``conversation_busy``.
        """
        definition = self.catalog.find(name).definition
        capabilities = capabilities_json(self.capabilities()) if definition.plans else ""
        order = Order(definition, self.catalog.personas(), params or {}, capabilities)
        with self._transactions.begin() as transaction:
            case = create(transaction, order, execution=execution_id, conversation=conversation)
            if hold:
                return advanced(case, "waiting")
            begin(case)
            return advanced(case, "started")

    def capabilities(self) -> tuple[Capability, ...]:
        """The worker roles with their tools, as far as the registry of this program has them."""
        return capabilities_of(self.catalog.roles(), self._tools() if self._tools else None)

    def advance(self, token: str, output: object, *, execution_id: str = "") -> Advanced:
        """Finish the step that ``token`` was given for, and open what follows: one transaction.

        ``output`` is ``{"summary": str, ...}`` as the step's schema says, with optional
        ``artifacts``, ``findings``, ``suggested_findings`` and ``next_step_recommendation``; plain
        text counts as the summary. With ``execution_id`` a token of another is refused. Codes:
        ``token_malformed``, ``token_forged``, ``token_foreign``, ``token_replayed``,
        ``token_revoked``, ``token_expired``, ``execution_paused``, ``execution_closed``,
        ``step_not_running``, ``phase_mismatch``, ``output_invalid`` (the token stays good). A step
        that is over its deadline is timed out instead: its ``on_fail`` decides, see ``outcome``.
        The output of a human step must come from a person: who serves a model asks one first.
        """
        parts = read_token(token)
        with (
            self._transactions.refusals(parts.execution_id, parts.step_name),
            self._transactions.begin() as transaction,
        ):
            case, attempt = redeem(transaction, token, execution_id)
            if overdue(case, attempt):
                return time_out(case, attempt)
            read = read_output(case.spec(attempt.step), output)
            if not case.unit.spend_token(token_hash(token), case.now):
                raise refused_token("token_replayed", "That token was used already.", attempt.step)
            case.record("token_validated", attempt.step, attempt.id)
            finish(case, attempt, read)
            return settled(case)

    def peek(self, token: str, *, execution_id: str = "") -> Ticket:
        """The step that a token was given for, if ``advance`` would take it. It stays unused.

        Who serves a model looks before it asks the person of a human step, or runs a tool step.
        """
        parts = read_token(token)
        with (
            self._transactions.refusals(parts.execution_id, parts.step_name),
            self._transactions.begin() as transaction,
        ):
            return describe(*redeem(transaction, token, execution_id))

    def submit(
        self,
        execution_id: str,
        step: str,
        output: object,
        *,
        calls: Sequence[RecordedCall] = (),
        minted: bool = True,
    ) -> Advanced:
        """As ``advance``, for a driver in this process that holds no token.

        ``calls`` are stored as evidence in the same transaction, unless the output is refused. Without
        ``minted`` no tokens are made for the steps that open. Codes: those of states and outputs,
        ``execution_unknown``, and ``phase_mismatch`` with ``expected`` (the open steps) and ``got``.
        """
        with (
            self._transactions.refusals(execution_id, step),
            self._transactions.open_step(execution_id, step) as (case, attempt),
        ):
            if overdue(case, attempt):
                return time_out(case, attempt)
            keep_evidence(case, calls)
            finish(case, attempt, read_output(case.spec(attempt.step), output))
            return settled(case, minted=minted)

    def fail_step(self, execution_id: str, step: str, error: str) -> Advanced:
        """The open attempt at a step failed: its ``on_fail`` decides what follows."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            fail_step(case, attempt, (Failure("driver", error or "failed", {}),))
            return settled(case)

    def pause(self, execution_id: str, reason: str = "") -> Advanced:
        """Stop handing out work. Open attempts stay open; their tokens are refused meanwhile."""
        with self._transactions.case(execution_id) as case:
            case.move("paused", reason)
            return advanced(case, "waiting")

    def resume(self, execution_id: str) -> Advanced:
        """Go on after a pause, or begin an idle one; fresh tokens for every open step.

        A question that waits is withdrawn: the step it was about is tried again. Deadlines move on
        by the time it was paused.
        """
        with self._transactions.case(execution_id) as case:
            if case.row.state == "idle":
                begin(case)
                return advanced(case, "started")
            require_next(execution_id, case.row.state, "running")
            if case.row.state in ENDED:
                raise WorkflowRefused(
                    "execution_closed",
                    f"Execution {execution_id} is {case.row.state}.",
                    hint="Open it again with retry.",
                    details={"execution_id": execution_id, "state": case.row.state},
                )
            if case.row.question_json:
                require_no_plan(case)
                return decide(case, "retry")
            go_on(case)
            return settled(case, reissue=True)

    def abandon(self, execution_id: str, reason: str = "") -> Advanced:
        """End it for good; open attempts are cancelled and their tokens revoked."""
        with self._transactions.case(execution_id) as case:
            require_next(execution_id, case.row.state, "abandoned")
            end(case, "abandoned", reason)
            return advanced(case, "failed")

    def retry(self, execution_id: str, step: str = "") -> Advanced:
        """Set a step and all that depend on it back to pending; without ``step`` the failed one.

        Works on running, paused, failed and diverged executions.
        """
        with self._transactions.case(execution_id) as case:
            target = failed_step(case, step)
            if case.row.state != "running":
                require_next(execution_id, case.row.state, "running")
                case.change(question_json="")
                go_on(case)
            if case.spec(target).each and case.steps[target].status == "completed":
                case.put(replace(case.steps[target], cursor=-1))
            reopen(case, target, error=case.steps[target].error)
            case.record("step_reopened", target)
            done = settled(case)
            return replace(done, target=done.target or target)

    def decide(self, execution_id: str, choice: str) -> Advanced:
        """Answer a paused execution's question: ``retry``, ``accept``, ``abort``, ``rollback:<step>``."""
        with self._transactions.case(execution_id) as case:
            if case.row.state != "paused" or not case.row.question_json:
                raise WorkflowRefused(
                    "nothing_asked",
                    f"Execution {execution_id} has no open question.",
                    details={"execution_id": execution_id, "state": case.row.state},
                )
            return decide(case, choice)

    def steer(self, verb: str, execution_id: str, word: str = "") -> Advanced:
        """Apply one of ``VERBS``; ``word`` is its reason, step or choice."""
        match verb:
            case "pause":
                return self.pause(execution_id, word)
            case "resume":
                return self.resume(execution_id)
            case "abandon":
                return self.abandon(execution_id, word)
            case "retry":
                return self.retry(execution_id, word)
            case "decide":
                return self.decide(execution_id, word)
            case _:
                raise ValueError(verb)

    def replan(self, execution_id: str, step: str, plan: object) -> Advanced:
        """A new revision of a plan step's children. What is done and unchanged stays done.

        A plan that waits for approval is replaced and goes on waiting.
        """
        with self._transactions.case(execution_id) as case:
            return replan(case, step, plan)

    def plan_again(self, execution_id: str, step: str, why: str) -> Advanced:
        """Have a plan step plan again, told ``why``; no budget counts it, and what is done is reused."""
        with self._transactions.case(execution_id) as case:
            return plan_again(case, step, why)

    def expire(self) -> tuple[Advanced, ...]:
        """Time out what is over its deadline, in every running execution."""
        running = self._transactions.reader.executions(state="running", limit=10_000)
        ended = [self._expire(row.id) for row in running]
        return tuple(done for done in ended if done is not None)

    def _expire(self, execution_id: str) -> Advanced | None:
        with self._transactions.case(execution_id) as case:
            if case.row.state != "running":
                return None
            late = next((a for a in case.attempts() if overdue(case, a)), None)
            return time_out(case, late) if late is not None or overdue(case) else None

    def tickets(
        self, execution_id: str, *, mint: bool = True, but: Collection[tuple[str, int]] = ()
    ) -> tuple[Ticket, ...]:
        """A ticket for every open step, none unless it is running; each with a fresh token.

        Earlier tokens of the same attempt stay valid (a few of them): the first that comes finishes it.
        Without ``mint`` nothing is written and ``token`` is empty, for a driver in this process.
        Attempts that ``but`` names, by step and number, are left out.
        """
        with self._transactions.case(execution_id) as case:
            if case.row.state != "running":
                return ()
            ticket = issue if mint else describe
            return tuple(ticket(case, a) for a in case.attempts() if (a.step, a.number) not in but)

    # -- conversations: gate and reminder ------------------------------------------------------

    def gate(self, conversation: str, scope: tuple[str, str] | None = None) -> Gate:
        """The gate of a conversation, for ``Turn`` and ``Executor.plan``; it follows the phases.

        Refusals name the phase, the call and what is allowed. Engine verbs always pass. A
        conversation without a phase is free, unless it was made for its ``scope`` execution and step.
        """
        return conversation_gate(lambda: self.records.phase(conversation), scope)

    def digest(self, conversation: str) -> str:
        """What the reminder says: phase, tools, tasks, last failure, budgets; empty for none."""
        phase = self.records.phase(conversation)
        return "" if phase is None else phase_digest(phase, self.records)
