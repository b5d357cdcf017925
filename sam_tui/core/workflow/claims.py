"""Who works on open steps: drivers claim them, and one process at a time drives an execution."""

from contextlib import AbstractContextManager
from dataclasses import replace

from sam_tui.core.ports.workflows import WorkflowStore
from sam_tui.core.workflow.execution.progress import settled
from sam_tui.core.workflow.execution.recovery import WITHDRAWN, begin_call
from sam_tui.core.workflow.execution.transactions import Transactions
from sam_tui.core.workflow.views import Advanced


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
            case.unit.save_attempt(replace(attempt, driver=driver, conversation=conversation))
            case.record("step_claimed", step, attempt.id, driver=driver)

    def owner(self, execution_id: str, step: str) -> str:
        """The conversation that the open attempt at a step was claimed for, or nothing."""
        attempts = self._store.reader.attempts(execution_id, step=step, status="open")
        return attempts[0].conversation if attempts else ""

    def begin_call(self, execution_id: str, step: str) -> Advanced | None:
        """Note that the call of an open tool step is made now. Its driver holds the execution.

        None: make it. Else an earlier call of the attempt was cut off and may have had its effect,
        so the execution is paused and asks a person: accept, or retry.
        """
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            return None if begin_call(case, attempt) else settled(case)

    def withdraw_call(self, execution_id: str, step: str) -> None:
        """Note that a call that was begun was refused, and had no effect."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            case.record(WITHDRAWN, step, attempt.id)
