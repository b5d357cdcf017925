"""Transactions on executions: one is loaded, changed and committed; then its events are announced."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from sam_tui.core.clock import Clock, boot
from sam_tui.core.ports.workflows import AttemptRow, EventRow, WorkflowReader, WorkflowStore
from sam_tui.core.workflow.execution.case import ExecutionCase, Transaction, require_running
from sam_tui.core.workflow.execution.tickets import not_running
from sam_tui.core.workflow.refusals import WorkflowRefused


class Transactions:
    """Write transactions of one store. ``announce`` hears each event after its commit."""

    def __init__(
        self, store: WorkflowStore, clock: Clock, announce: Callable[[EventRow], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce

    @property
    def reader(self) -> WorkflowReader:
        """Reads the committed state."""
        return self._store.reader

    @contextmanager
    def begin(self) -> Generator[Transaction]:
        """A transaction that is committed where the block ends without an error."""
        with self._store.unit() as unit:
            now = self._clock.now()
            unit.follow_clock(now, self._clock.monotonic(), boot())
            transaction = Transaction(unit, now)
            yield transaction
        for event in transaction.events:
            self._announce(event)

    @contextmanager
    def case(self, execution_id: str) -> Generator[ExecutionCase]:
        """A stored execution to change. Raises ``WorkflowRefused`` (``execution_unknown``)."""
        with self.begin() as transaction:
            yield ExecutionCase.load(transaction, execution_id)

    @contextmanager
    def open_step(
        self, execution_id: str, step: str
    ) -> Generator[tuple[ExecutionCase, AttemptRow]]:
        """The open attempt at a step of a running execution. Raises ``WorkflowRefused``."""
        with self.case(execution_id) as case:
            require_running(execution_id, case.row.state)
            attempts = case.attempts(step=step)
            if not attempts:
                raise not_running(case, step)
            yield case, attempts[0]

    @contextmanager
    def refusals(self, execution_id: str, step: str) -> Generator[None]:
        """Record what the block refuses, in a transaction of its own: nothing else is left behind."""
        try:
            yield
        except WorkflowRefused as refusal:
            with self.begin() as transaction:
                row = transaction.unit.execution(execution_id)
                if row is not None:
                    kind = "token_expired" if refusal.code == "token_expired" else "refused"
                    ExecutionCase(transaction, row).record(kind, step, code=refusal.code)
            raise
