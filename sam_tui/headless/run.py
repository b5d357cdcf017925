"""A headless run: one turn, reported on standard output, ended by exactly one result."""

import asyncio
import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from sam_tui.core.agent.session import Session
from sam_tui.core.agent.turn import Steering
from sam_tui.core.bus import Subscription
from sam_tui.core.errors import SamError, UsageError
from sam_tui.core.events import (
    Event,
    TurnFinished,
)
from sam_tui.core.ids import NO_CONVERSATION, ConversationId
from sam_tui.core.local_files.bounded import UnusableFile, write_named
from sam_tui.core.runtime import Runtime
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.ledger import CallLedger, batches, progress_of
from sam_tui.headless.lines import Lines, result_line
from sam_tui.headless.outcome import (
    RunOutcome,
    outcome_of_error,
    outcome_of_fault,
    outcome_of_turn,
)
from sam_tui.headless.output import ClaudeOutput, HeadlessOutput, claude_code
from sam_tui.headless.request import HeadlessRequest

if TYPE_CHECKING:
    from sam_tui.core.agent.drivers.goal import Goal
    from sam_tui.headless.dialogue.messages import MessageInput


TERMINALS_SECONDS = 5.0
"""Seconds that open terminals have to end before the result is printed."""
SERVER_SECONDS = 60.0
"""Seconds to wait for the server whose tool answers approvals."""


async def run_headless(
    runtime: Runtime,
    request: HeadlessRequest,
    out: TextIO,
    *,
    err: TextIO | None = None,
    interrupts: Interrupts | None = None,
) -> int:
    """Run one prompt and return the exit code, one of ``outcome.EXIT_CODES``.

    ``out`` receives the contract of ``request.format`` and nothing else, ``err`` remarks for people.
    ``interrupts`` are signals to obey. An unexpected exception is raised again after its result was
    written.
    """
    streams = _output(request, out), HeadlessOutput(err or sys.stderr)
    return await _Run(runtime, request, streams, interrupts or Interrupts()).run()


def report_failure(request: HeadlessRequest, outcome: RunOutcome, out: TextIO) -> int:
    """Tell of a run that never began, in the form that was asked for, and return its exit code."""
    streams = _output(request, out), HeadlessOutput(sys.stderr)
    line = result_line(request.conversation or "", CallLedger(), outcome)
    return _tell(request, outcome, line, streams)


def _output(request: HeadlessRequest, out: TextIO) -> HeadlessOutput:
    """Standard output, in the names that were asked for."""
    return ClaudeOutput(out) if request.compat else HeadlessOutput(out)


class _Run:
    """The parts of one run."""

    def __init__(
        self,
        runtime: Runtime,
        request: HeadlessRequest,
        streams: tuple[HeadlessOutput, HeadlessOutput],
        interrupts: Interrupts,
    ) -> None:
        self._runtime = runtime
        self._request = request
        self._out, self._err = streams
        self._interrupts = interrupts
        self._ledger = CallLedger()
        self._lines: Lines | None = None
        self._begun = False
        self._early: list[Event] = []
        """Events before the introduction of the run was printed."""
        self._goal: Goal | None = None
        self._images = request.images
        """The images of the next message, until it is sent."""
        self._value: object = None
        self._fault = ""
        """Why the last answer does not fit the schema; empty if it does."""
        self._code: int | None = None
        """The exit code of the last result; None if another turn has begun since."""

    async def run(self) -> int:
        interrupts = self._interrupts
        session, outcome = self._open()
        if session is None:
            return self._end(outcome, NO_CONVERSATION)
        if not self._runtime.servers.reports():
            self._begin(session)
        events = self._runtime.bus.subscribe()
        loop = asyncio.get_running_loop()
        turn = loop.create_task(self._turns(session, events), name="turn")
        telling = loop.create_task(self._tell_forever(events), name="tell")

        def stop() -> None:
            # Also called from a signal handler, where nothing more than this is safe.
            loop.call_soon_threadsafe(turn.cancel)

        self._out.on_failure(stop)
        interrupts.cancel_with(stop)
        if interrupts.subtype is not None:
            turn.cancel()
        try:
            await asyncio.wait({turn, telling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            fault = await _settle(turn, telling)
            self._begin(session)
            self._runtime.trust.look()
            self._take(events.drain())
            await self._end_terminals()
            events.close()
            interrupts.cancel_with(_nothing)
        code = self._code
        if code is None or fault is not None or interrupts.subtype is not None:
            code = self._end(self._judge(fault), session.conversation)
        if self._request.ephemeral:
            self._runtime.sessions.delete(session.conversation)
        if fault is not None and not isinstance(fault, SamError):
            raise fault
        return code

    def _open(self) -> tuple[Session | None, RunOutcome]:
        try:
            session = self._runtime.open_session(
                self._request.conversation, how=self._request.opening
            )
            self._ledger.conversation = session.conversation
            self._ledger.todos = self._runtime.todos.items(session.conversation)
        except SamError as error:
            return None, outcome_of_error(error)
        return session, RunOutcome("success")

    async def _turns(self, session: Session, events: Subscription) -> None:
        """The turn, or those of all messages that come; where there are servers they are introduced with
        their tools, once they have come."""
        if self._request.permission_tool is not None:
            self._runtime.servers.begin()
            await self._runtime.servers.settled(SERVER_SECONDS)
        if not self._begun:
            await self._runtime.servers.arrive(session.conversation)
        self._begin(session)
        request = self._request
        async with contextlib.AsyncExitStack() as stack:
            messages = None
            if request.messages is not None:
                from sam_tui.headless.dialogue.messages import reading

                beginning = reading(request.messages, self._out.line)
                messages = await stack.enter_async_context(beginning)
            if request.permission_tool is not None:
                from sam_tui.headless.dialogue.permissions import permission_prompts

                prompts = permission_prompts(self._runtime, request.permission_tool, messages)
                await stack.enter_async_context(prompts)
            if messages is None:
                await self._turn(session, request.prompt)
            else:
                await self._dialogue(session, messages, events)

    async def _dialogue(
        self, session: Session, messages: "MessageInput", events: Subscription
    ) -> None:
        """A turn and its result for each message that does not join the turn before."""
        while (message := await messages.next()) is not None:
            self._code = None
            self._images = (*self._images, *message.images)
            try:
                async with asyncio.TaskGroup() as group:
                    turn = group.create_task(self._turn(session, message.text, messages.waiting))
                    messages.interrupt_with(turn.cancel)
            except BaseExceptionGroup as faults:
                raise faults.exceptions[0] from None
            finally:
                messages.interrupt_with(None)
            self._runtime.trust.look()
            self._take(events.drain())
            self._code = self._end(self._judge(None), session.conversation)
            self._ledger.begin_again()
        if self._code is None:
            raise UsageError("There is no message on standard input.")

    async def _turn(self, session: Session, prompt: str, steering: Steering = tuple) -> None:
        """The turn for a message, and where a schema is asked for those in which a wrong answer is asked
        for again."""
        schema = self._request.schema
        images, self._images = self._images, ()
        if schema is None:
            finished = await session.run(prompt, steering, images=images)
            if check := self._request.goal:
                cost = self._runtime.limits.cost
                self._goal = session.goal(check, turns=self._request.goal_turns, cost=cost)
                await self._goal.pursue(session.run, finished)
            return
        from sam_tui.headless.structure import (
            REPAIRS,
            WrongStructure,
            repair,
            structured,
            with_schema,
        )

        self._value, self._fault = None, ""
        finished = await session.run(with_schema(prompt, schema), steering, images=images)
        for left in range(REPAIRS, -1, -1):
            if finished.reason != "finished":
                break
            try:
                self._value, self._fault = structured(finished.answer, schema), ""
                break
            except WrongStructure as fault:
                self._fault = str(fault)
                if left:
                    self._warn(f"The model is asked again: {fault}")
                    finished = await session.run(repair(fault), steering)

    def _warn(self, text: str) -> None:
        if self._lines is not None:
            self._out.line(self._lines.system("notice", level="warning", text=text))
        else:
            self._err.text(f"warning: {text}")

    def _begin(self, session: Session) -> None:
        """Introduce the run, once."""
        if self._begun:
            return
        self._begun = True
        runtime, request = self._runtime, self._request
        model = runtime.model.name if runtime.model else ""
        if request.format == "stream-json":
            self._lines = Lines(session.conversation, model, self._ledger, request)
            self._out.line(
                self._lines.system(
                    "init",
                    model=model,
                    tools=runtime.registry.names,
                    mcp_servers=[
                        {"name": report.name, "status": report.standing}
                        for report in runtime.servers.reports()
                    ],
                    cwd=runtime.workspace.root,
                    permission_mode=runtime.mode,
                    sandbox=runtime.commands.expected.kind,
                    version=request.version,
                )
            )
        for warning in request.warnings:
            self._warn(warning)
        if request.verbose:
            self._err.text(f"conversation {session.conversation}, model {model or 'none'}")
        early, self._early = self._early, []
        for event in early:
            self._tell(event)

    async def _tell_forever(self, events: Subscription) -> None:
        async for batch in batches(events, self._warn):
            self._take(batch)

    def _take(self, batch: list[Event]) -> None:
        for event in batch:
            self._ledger.take(event)
            if self._request.approvals is not None:
                self._request.approvals.take(event)
            if self._begun:
                self._tell(event)
            else:
                self._early.append(event)

    def _tell(self, event: Event) -> None:
        if self._lines is not None:
            for line in self._lines.of(event):
                self._out.line(line)
        if self._lines is None or self._request.verbose:
            self._show(event)

    def _show(self, event: Event) -> None:
        """Print progress for people on standard error, with the name of a subagent."""
        if not self._ledger.concerns(event):
            return
        subagent = self._ledger.subagent(event)
        whose = f"[{subagent.task[:40]}] " if subagent else ""
        for text in progress_of(event, verbose=self._request.verbose):
            self._err.text(f"{whose}{text}")

    async def _end_terminals(self) -> None:
        """End everything that the agent started; the ledger keeps what was open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERMINALS_SECONDS):
                await self._runtime.end_processes()

    def _judge(self, fault: BaseException | None) -> RunOutcome:
        finished, interrupts = self._ledger.finished, self._interrupts
        if isinstance(fault, SamError):
            return outcome_of_error(fault)
        if fault is not None:
            return outcome_of_fault(fault, self._runtime.executor.shield.redact)
        if interrupts.subtype is not None and (finished is None or finished.reason == "cancelled"):
            why = "Interrupted before it finished."
            return RunOutcome(interrupts.subtype, _partial(finished), "Cancelled", why)
        if finished is None:
            return RunOutcome("cancelled", "", "Cancelled", "Interrupted before it began.")
        outcome = outcome_of_turn(finished, unattended=self._ledger.unattended)
        if self._goal is not None and not self._goal.passed and not outcome.is_error:
            why = self._goal.outcome
            return replace(outcome, subtype="error_max_turns", title="No goal", message=why)
        if finished.reason == "finished" and self._fault:
            return replace(
                outcome,
                subtype="error_max_structured_output_retries",
                title="The answer does not match the schema",
                message=f"The answer is not JSON of the schema: {self._fault}",
            )
        return outcome

    def _end(self, outcome: RunOutcome, session: ConversationId) -> int:
        if self._request.approvals is not None and session:
            outcome = self._request.approvals.ending(outcome, session)
        if self._request.last_message:
            outcome = self._keep(outcome)
        line = result_line(session, self._ledger, outcome)
        if self._request.schema is not None:
            line["structured_output"] = self._value
        return _tell(self._request, outcome, line, (self._out, self._err))

    def _keep(self, outcome: RunOutcome) -> RunOutcome:
        """Write the last message to its file; not being able to is an error of the run."""
        try:
            text = outcome.answer or self._ledger.last_text
            write_named(self._request.last_message, text.encode("utf-8", "replace"))
        except UnusableFile as error:
            if outcome.is_error:
                return outcome
            why = f"{self._request.last_message} {error}."
            return replace(
                outcome, subtype="error_during_execution", title="Not saved", message=why
            )
        return outcome


def _tell(
    request: HeadlessRequest,
    outcome: RunOutcome,
    line: dict[str, object],
    streams: tuple[HeadlessOutput, HeadlessOutput],
) -> int:
    """Write the result in the requested form. Returns the exit code, unless nobody could read it."""
    out, err = streams
    if request.format == "text":
        if outcome.answer:
            out.text(outcome.answer)
    else:
        out.line(line)
    if isinstance(out.failure, BrokenPipeError):
        return 0
    if outcome.is_error:
        err.text(f"{outcome.title}: {outcome.message}".replace("\n", "\n  "))
    if out.failure is not None:
        err.text(f"Standard output could not be written: {out.failure.strerror}.")
        return 1
    return claude_code(outcome.subtype) if request.compat else outcome.exit_code


async def _settle(turn: asyncio.Task[None], telling: asyncio.Task[None]) -> BaseException | None:
    """End both tasks and wait for them; the exception of the first that failed, or None."""
    turn.cancel()
    telling.cancel()
    await asyncio.wait({turn, telling})
    for task in (turn, telling):
        if not task.cancelled() and (fault := task.exception()) is not None:
            return fault
    return None


def _partial(finished: TurnFinished | None) -> str:
    return finished.answer if finished is not None else ""


def _nothing() -> None:
    """Ignore a first signal once the result is being written."""
