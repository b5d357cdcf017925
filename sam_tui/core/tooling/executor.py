"""The only path a tool call takes: parse, locate, guard, run, clip, report. One result per call."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sam_tui.core.accesses import LocatedAccess, Read, by_parameter
from sam_tui.core.authorization.guard import Guard, Request
from sam_tui.core.authorization.message_calls import MessageCalls
from sam_tui.core.authorization.outside_access import OutsideRun as CommandRun
from sam_tui.core.authorization.request import ShownPreview
from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock
from sam_tui.core.errors import SamError, ToolError
from sam_tui.core.events import DecisionMade, ToolFinished, ToolProgressed, ToolStarted
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import Image, ToolCall
from sam_tui.core.ports.policy import DecisionLog
from sam_tui.core.ports.storage import ResultStore
from sam_tui.core.tooling.checkpoints import CallCheckpoints
from sam_tui.core.tooling.contract import (
    CONTENT_CHANGED,
    INLINE_LIMIT,
    CallPlan,
    Gate,
    Permit,
    Schedule,
    ToolContext,
    ToolResult,
    amended_plan,
    draft_of,
    operation_key,
    preview_of,
    rehearsable,
    with_change,
)
from sam_tui.core.tooling.contract import unread as unread
from sam_tui.core.tooling.neutralization import mended, neutralise
from sam_tui.core.tooling.questions import HostQuestions, OutsideQuestions
from sam_tui.core.tooling.redaction import MaskedStream, masked, masked_decision
from sam_tui.core.tooling.registry import Registry
from sam_tui.core.tooling.results import clip_result, with_ignored
from sam_tui.core.tooling.short_list import meant, parse_arguments
from sam_tui.core.verdict import Decision, denial

if TYPE_CHECKING:
    from sam_tui.core.tooling.hooks import HookedCall, Hooking

logger = logging.getLogger(__name__)

OUTPUT_KEPT = 30_000
"""How many of the last characters of its output the result of a cancelled call contains."""

Gates = Callable[[ConversationId], Gate]
"""Returns the gate of a conversation."""

OfferedHooks = Callable[[], "Hooking | None"]
"""Returns the hooks; None if there are none."""


def open_gate(_: str) -> str:
    """The gate of a conversation without a workflow phase."""
    return ""


def no_gates(_: ConversationId) -> Gate:
    """The gates where there are no workflows."""
    return open_gate


def no_hooks() -> "Hooking | None":
    """The hooks of a runtime that has none."""
    return None


@dataclass(frozen=True, slots=True)
class CallSurroundings:
    """The parts that an executor shares with its narrowed copies.

    ``gates`` are asked when a call runs: one before it may have ended its phase; ``hooks`` at each
    call: there may be some by then. ``broken`` are look-alikes of reminders and turns as they were
    shown; in arguments they mean the original. ``prepare`` is called before a call gets its permit.
    """

    guard: Guard
    results: ResultStore
    log: DecisionLog
    bus: Bus
    clock: Clock
    gates: Gates = no_gates
    hooks: OfferedHooks = no_hooks
    broken: set[str] = field(default_factory=set[str])
    checkpoints: CallCheckpoints = field(default_factory=CallCheckpoints)
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Executed:
    """The result of a call: the event that was published, the decision, and the data for programs."""

    finished: ToolFinished
    decision: Decision | None
    data: Mapping[str, Any]
    mime_type: str
    notes: tuple[str, ...] = ()
    """Texts of hooks for the model."""
    images: tuple[Image, ...] = ()
    halt: str = ""
    """Why a hook ends the turn after this call; empty if none does."""


class Executor:
    """Runs calls of one runtime. Front ends, loops and workflows all come through here."""

    def __init__(
        self, registry: Registry, surroundings: CallSurroundings, *, asker: str = ""
    ) -> None:
        self.registry = registry
        self.asker = asker
        self.shield = surroundings.guard.shield
        """Replaces secrets by placeholders in results, and placeholders by secrets in arguments."""
        self.gates = surroundings.gates
        self.hooks = surroundings.hooks
        self._surroundings = surroundings
        self._broken = surroundings.broken
        self._broken_off: dict[CallId, str] = {}
        """The output of cancelled calls, until their results are made."""
        self._guard = surroundings.guard
        self._log, self._bus = surroundings.log, surroundings.bus
        self._clock = surroundings.clock

    @property
    def workspace(self) -> str:
        """The real path of the workspace that calls work in."""
        return self._guard.workspace.root

    def locate(self, path: str) -> tuple[LocatedAccess, ...]:
        """The location of a file to be read. Raises ``ToolError`` for an unusable path."""
        return self._guard.locate((Read(path, "filePath"),))

    @property
    def results(self) -> ResultStore:
        """The store that has the whole text of results that were cut."""
        return self._surroundings.results

    def narrowed(self, withheld: Collection[str], *, asker: str) -> "Executor":
        """The same path for fewer tools; approvals say that ``asker`` asks."""
        return Executor(self.registry.without(withheld), self._surroundings, asker=asker)

    def plan(self, call: ToolCall, gate: Gate | None = None) -> CallPlan:
        """Resolve and parse a call. Never raises: a fault is part of the plan."""
        from sam_tui.core.tooling.registry import validate_arguments  # no call, no pydantic

        key, named = call.name, False
        try:
            call = meant(call)
            key = call.name
            resolved = self.registry.resolve(call.name)
            fields = mended(parse_arguments(call.arguments), self._broken)
            operation = resolved.operation
            if operation is None:
                operation = self.registry.chosen(resolved.tool, fields)
            stays = resolved.tool.local and not operation.sends
            fields = self.shield.unmask_data(fields) if stays else self.shield.without_known(fields)
            key, named = operation_key(resolved.tool, operation), True
            arguments, ignored = validate_arguments(resolved.tool, operation, fields)
        except SamError as fault:
            return CallPlan(
                call, key, Schedule.PARALLEL, call.name, fault=fault, gate=gate, named=named
            )
        summary = self.shield.redact(operation.summary(arguments))
        return CallPlan(
            call, key, operation.schedule, summary, operation, arguments, gate=gate, ignored=ignored
        )

    async def run(self, plan: CallPlan, conversation: ConversationId) -> Executed:
        """Run a planned call to its one result. Raises nothing but ``CancelledError``."""
        started = self._clock.monotonic()
        decision: Decision | None = None
        hooked: HookedCall | None = None
        permit: Permit | None = None
        try:
            self._require_open(plan, conversation)
            plan, request, hooked, decision = await self._decided(plan, conversation)
            if not decision.allowed:
                raise ToolError(denial(decision))
            self._require_open(plan, conversation)  # it may have ended meanwhile
            request.require_unchanged()
            permit = self._permit(plan, request, decision)
            async with self._surroundings.checkpoints.around(request, permit):
                result = await self._hand(plan, conversation, permit)
            decision = with_change(decision, plan, self.shield)
            if hooked is not None:
                await hooked.after(result)
        except SamError as fault:
            if permit is not None and permit.host is not None:
                decision = permit.host.refusal or decision
            result = ToolResult(f"ERROR: {fault.explain()}", ok=False)
        except Exception as fault:
            logger.exception("%s failed", plan.key)
            text = f"ERROR: {plan.key} failed: {type(fault).__name__}: {fault}"
            result = ToolResult(text, ok=False)
        executed = self._finish(plan, conversation, result, decision, started)
        if hooked is None:
            return executed
        return replace(executed, notes=tuple(hooked.notes), halt=hooked.halt)

    async def _decided(
        self, plan: CallPlan, conversation: ConversationId
    ) -> "tuple[CallPlan, Request, HookedCall | None, Decision]":
        """Return the decision on a call after hooks and the person, and the request that it is about."""
        remark, waited = "", 0.0
        while True:
            request = self._request(plan, conversation, remark)
            # No hook is asked about a call that the person has denied already.
            hooked = None if request.denied_ahead() else self._hooked(plan, request)
            if hooked is not None and (text := await hooked.rewritten()):
                call = replace(plan.call, name=plan.key, arguments=text)
                rewritten = self.plan(call, plan.gate)
                plan = replace(rewritten, proposed=plan.proposed, message=plan.message)
                request = self._request(plan, conversation, remark)
                hooked.judge(request)
            decision = await self.decide(request, hooked)
            if decision.outcome != "amended":
                return plan, request, hooked, replace(decision, elapsed=waited + decision.elapsed)
            remark, waited = decision.comment, waited + decision.elapsed
            # The person's version is another call: hooks and guard judge it from the beginning.
            plan = amended_plan(plan, request.accesses, decision.amendment, self.shield)

    async def execute(self, call: ToolCall, conversation: ConversationId) -> Executed:
        """Plan and run one call."""
        return await self.run(self.plan(call), conversation)

    def cancelled(self, plan: CallPlan, conversation: ConversationId, why: str) -> Executed:
        """The result of a call that will not run, or did not end."""
        output = self._broken_off.pop(plan.call.id, "").strip()
        text = f"ERROR: {why}" + (f"\nIts output until then:\n{output}" if output else "")
        result = ToolResult(text, ok=False)
        return self._finish(plan, conversation, result, None, self._clock.monotonic())

    def foresee(self, plan: CallPlan, conversation: ConversationId) -> Request | None:
        """The request that a call would make to the guard as things stand; None if it would make none."""
        try:
            self._require_open(plan, conversation)
            return self._request(plan, conversation, "")
        except SamError:
            return None

    def _require_open(self, plan: CallPlan, conversation: ConversationId) -> None:
        gate = plan.gate or self.gates(conversation)
        if plan.named and (refusal := gate(plan.key)):
            raise ToolError(refusal)

    def _request(self, plan: CallPlan, conversation: ConversationId, remark: str) -> Request:
        if plan.operation is None or plan.arguments is None:
            raise plan.fault or ToolError("The call could not be read.")
        accesses = self._guard.locate(plan.operation.accesses(plan.arguments))
        preview = ShownPreview(lambda: preview_of(plan, accesses))
        return Request(
            conversation,
            plan.call.id,
            plan.key,
            plan.summary,
            accesses,
            preview,
            self.asker,
            then=CONTENT_CHANGED if plan.proposed is not None else "",
            rehearsable=rehearsable(plan),
            draft=lambda: draft_of(plan, accesses),
            require_unchanged=preview.require_unchanged,
            remark=remark,
            arguments=plan.call.arguments,
            message=plan.message or MessageCalls[Request](),
        )

    def _hooked(self, plan: CallPlan, request: Request) -> "HookedCall | None":
        """Run the hooks of a call. They see its arguments as they were read, without secrets."""
        hooking = self.hooks()
        if hooking is None or plan.arguments is None:
            return None
        exact = plan.arguments.model_dump(mode="json", exclude_unset=True)
        return hooking.call(request, self.shield.mask_data(exact))

    async def decide(self, request: Request, hooked: "HookedCall | None" = None) -> Decision:
        """Put something to the guard, and the decision on record."""
        conversation, call = request.conversation, request.call
        decide = self._guard.decide(request) if hooked is None else hooked.decide()
        try:
            decision = await decide
        except asyncio.CancelledError:
            reason = "the call was cancelled before it was answered"
            cancelled = Decision(request.operation, "cancelled", "user", "cancelled", reason)
            self._log.record(conversation, call, replace(cancelled, workspace=self.workspace))
            raise
        self.record(conversation, call, replace(decision, amendment=""), request.accesses)
        return decision

    def questions(
        self, run: CommandRun, accesses: Sequence[LocatedAccess] = ()
    ) -> OutsideQuestions:
        """Return the questions for a program's outside accesses; every decision is recorded."""

        def record(decision: Decision) -> None:
            self.record(run.conversation, run.call, decision, accesses)

        return OutsideQuestions(self._guard, run, record)

    def record(
        self,
        conversation: ConversationId,
        call: CallId,
        decision: Decision,
        accesses: Sequence[LocatedAccess] = (),
    ) -> None:
        """Put a decision on record, without secrets."""
        decision = masked_decision(
            replace(decision, workspace=self.workspace), accesses, self.shield
        )
        self._log.record(conversation, call, decision)
        self._bus.publish(DecisionMade(conversation, call, decision))

    def _permit(self, plan: CallPlan, request: Request, decision: Decision) -> Permit:
        """The accesses that the call may make, and how its commands ask for more."""
        conversation, accesses = request.conversation, request.accesses
        call, guard = plan.call.id, self._guard
        self._surroundings.prepare()
        lasting = plan.operation is not None and plan.operation.lasting
        run = CommandRun(conversation, call, plan.key, plan.summary, self.asker, lasting)
        questions, rehearsed = self.questions(run, accesses), guard.rehearsed(decision, accesses)
        return Permit(
            by_parameter(accesses),
            confined=guard.policy.mode != "bypass",
            writable=guard.writable,
            granted=guard.granted(conversation),
            ask_outside=questions.ask,
            ask_again=questions.again,
            network=lambda: guard.network_of(accesses, lasting=lasting),
            host=HostQuestions(
                guard, request, lambda decision: self.record(conversation, call, decision, accesses)
            ),
            ask_rehearsed=questions.confirm_rehearsal if rehearsed else None,
        )

    async def _hand(
        self, plan: CallPlan, conversation: ConversationId, permit: Permit
    ) -> ToolResult:
        assert plan.operation is not None
        call = plan.call
        self._bus.publish(
            ToolStarted(conversation, call.id, plan.key, plan.summary, call.arguments)
        )
        output = ""

        def publish(text: str) -> None:
            nonlocal output
            output = (output + text)[-OUTPUT_KEPT:]
            self._bus.publish(ToolProgressed(conversation, call.id, text))

        progress = MaskedStream(self.shield, publish)
        root = self._guard.workspace.root
        context = ToolContext(conversation, call.id, root, permit, progress.add)
        try:
            return await plan.operation.run(plan.arguments, context)
        except asyncio.CancelledError:
            progress.end()
            self._broken_off[call.id] = output
            raise
        finally:
            progress.end()

    def _finish(
        self,
        plan: CallPlan,
        conversation: ConversationId,
        result: ToolResult,
        decision: Decision | None,
        started: float,
    ) -> Executed:
        limit = plan.operation.inline_limit if plan.operation else INLINE_LIMIT
        self.shield.refresh()  # a command may have written the very file that it printed
        result = with_ignored(result, plan.ignored, key=plan.key, limit=limit)
        result = masked(result, self.shield)
        text = neutralise(result.text, self._broken)
        text = clip_result(self.results, conversation, plan.call.id, text, limit)
        asked = decision.elapsed if decision is not None else 0.0
        finished = ToolFinished(
            conversation,
            plan.call.id,
            plan.key,
            plan.summary,
            result.ok,
            text,
            result.display,
            max(0.0, self._clock.monotonic() - started - asked),
            resolved=plan.named,
        )
        self._bus.publish(finished)
        return Executed(finished, decision, result.data, result.mime_type, images=result.images)
