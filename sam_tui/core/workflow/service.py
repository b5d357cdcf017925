"""Workflows of one data folder: every front end, tool, server and runner comes through ``Workflows``.

    workflows = Workflows(store, source, clock, announce)
    done = workflows.start("fix-bug", params={"objective": "..."})
    done = workflows.advance(done.opened[0].token, {"summary": "..."})     # any driver, by token
    done = workflows.submit(done.execution_id, "fix", {"summary": "..."})  # a driver in this process
    view = workflows.records.execution(done.execution_id)

All of it is synchronous and returns after the commit. A refusal raises ``WorkflowRefused`` with a
``code`` and ``details``; nothing has changed then, except for the event that reports it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from sam_tui.core.clock import Clock
from sam_tui.core.ports.prompts import DefinitionSource
from sam_tui.core.ports.workflows import EventRow, WorkflowStore
from sam_tui.core.workflow.catalog import WorkflowCatalog
from sam_tui.core.workflow.definitions.stages import Capability, capabilities_json, capabilities_of
from sam_tui.core.workflow.execution.case import CAPABILITIES
from sam_tui.core.workflow.execution.completion import RecordedCall, finish, keep_evidence
from sam_tui.core.workflow.execution.output import read_output
from sam_tui.core.workflow.execution.progress import advanced, begin, overdue, settled, time_out
from sam_tui.core.workflow.execution.recovery import fail_step
from sam_tui.core.workflow.execution.tickets import describe, issue, refused_token, token_hash
from sam_tui.core.workflow.execution.verbs import (
    STEERING,
    checked_params,
    create,
    needed_personas,
    plan_again,
    replan,
)
from sam_tui.core.workflow.records import WorkflowRecords
from sam_tui.core.workflow.store import StepClaims, StoreUpkeep, Transactions, WorkflowNotes
from sam_tui.core.workflow.views import Advanced, Failure, Ticket, VerbName


class Workflows:
    """The verbs on executions, each one transaction that checks, changes and opens what follows.

    ``catalog`` has the definitions, ``records`` the stored executions, ``notes`` adds artifacts,
    findings and evidence, ``claims`` maps conversations to steps, ``upkeep`` looks after the store.
    ``tools`` are descriptions of callable tools, by name. ``announce`` gets each event after its commit.
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
        self.claims = StepClaims(self._transactions)
        self.upkeep = StoreUpkeep(store, self.catalog, clock)

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

        ``conversation`` is the one that drives it (its gate and reminder follow the execution);
        ``hold`` creates it ``idle``, for ``resume`` to begin. Codes: ``workflow_unknown``,
        ``workflow_invalid``, ``persona_unknown``, ``params_invalid``, ``execution_exists``,
        ``execution_id_invalid``, ``conversation_busy``.
        """
        definition = self.catalog.view(name).definition
        values = checked_params(definition, params or {})
        texts = needed_personas(definition, self.catalog.personas(), values)
        if definition.plans:
            texts[CAPABILITIES] = capabilities_json(self.capabilities())
        with self._transactions.begin() as transaction:
            case = create(
                transaction, definition, values, texts,
                execution=execution_id, conversation=conversation,
            )  # fmt: skip
            if hold:
                return advanced(case, "waiting")
            begin(case)
            return advanced(case, "started")

    def capabilities(self) -> tuple[Capability, ...]:
        """The worker roles with their tools, as far as the registry of this program has them."""
        return capabilities_of(self.catalog.roles(), self._tools() if self._tools else None)

    def advance(self, token: str, output: object, *, execution_id: str = "") -> Advanced:
        """Finish the step of ``token``, and open the next steps: one transaction.

        ``output`` is a ``StepOutput`` as the step's schema says; plain text counts as the summary. With
        ``execution_id`` a token of another is refused. Codes: those of docs/workflows.md, "Tokens".
        A step that is over its deadline is timed out instead: its ``on_fail`` decides, see
        ``outcome``. The output of a human step must come from a person: who serves a model asks one
        first.
        """
        with self._transactions.redeemed(token, execution_id) as (case, attempt):
            if overdue(case, attempt):
                return time_out(case, attempt)
            read = read_output(case.spec(attempt.step), output)
            if not case.unit.spend_token(token_hash(token), case.now):
                raise refused_token(
                    "token_replayed", "That token was used already.", step=attempt.step
                )
            case.record("token_validated", attempt.step, attempt.id)
            finish(case, attempt, read)
            return settled(case)

    def peek(self, token: str, *, execution_id: str = "") -> Ticket:
        """The step that a token was given for, if ``advance`` would take it. It stays unused.

        Who serves a model looks before it asks the person of a human step, or runs a tool step.
        """
        with self._transactions.redeemed(token, execution_id) as (case, attempt):
            return describe(case, attempt)

    def submit(
        self,
        execution_id: str,
        step: str,
        output: object,
        *,
        calls: Sequence[RecordedCall] = (),
        minted: bool = True,
    ) -> Advanced:
        """Hand in an output as ``advance`` does, for a driver in this process that holds no token.

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
        """Fail the open attempt at a step: its ``on_fail`` decides the next action."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            fail_step(case, attempt, (Failure("driver", error or "failed", {}),))
            return settled(case)

    def steer(self, verb: VerbName, execution_id: str, word: str = "") -> Advanced:
        """Apply one of ``VERBS``, as ``STEERING`` says; ``word`` is its reason, step or choice."""
        with self._transactions.case(execution_id) as case:
            return STEERING[verb](case, word)

    def replan(self, execution_id: str, step: str, plan: object) -> Advanced:
        """Store a new revision of a plan step's children. Finished, unchanged steps stay done.

        A plan that waits for approval is replaced and goes on waiting.
        """
        with self._transactions.case(execution_id) as case:
            return replan(case, step, plan)

    def plan_again(self, execution_id: str, step: str, why: str) -> Advanced:
        """Have a plan step plan again, told ``why``; no budget counts it, and finished steps are reused."""
        with self._transactions.case(execution_id) as case:
            return plan_again(case, step, why)

    def expire(self) -> tuple[Advanced, ...]:
        """Time out attempts over their deadline, in every running execution."""
        ended: list[Advanced] = []
        for row in self.records.reader.executions(state="running", limit=10_000):
            with self._transactions.case(row.id) as case:
                late = next((a for a in case.attempts() if overdue(case, a)), None)
                if case.row.state == "running" and (late is not None or overdue(case)):
                    ended.append(time_out(case, late))
        return tuple(ended)

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
