"""One turn: ask the model and run its calls, until an answer has none."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sam_tui.core.agent.answer import Fold, Meter, StreamedText, receive, writes_call
from sam_tui.core.agent.budget import Budget, Budgets
from sam_tui.core.agent.context_window import Room, opening
from sam_tui.core.agent.endings import TOLD, Endings, status_of
from sam_tui.core.agent.history import History
from sam_tui.core.agent.retry import Mending, RetryPolicy
from sam_tui.core.agent.schedule import CallRunner
from sam_tui.core.agent.tokens import text_tokens
from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock
from sam_tui.core.errors import (
    AnswerTooLarge,
    BudgetExhausted,
    ContextExceeded,
    ConversationTakenOver,
    ModelAuthError,
    ModelError,
    SamError,
    StoppedByHook,
)
from sam_tui.core.events import (
    Answered,
    ModelRetried,
    Noticed,
    ReasoningStreamed,
    Reminded,
    RequestSent,
    Steered,
    StopReason,
    TextStreamed,
    TurnFinished,
    TurnStarted,
)
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.model import AnswerLimits, Model
from sam_tui.core.prompt.reminders import digest, reminder_of
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.tooling.executor import Executed, Executor, Gate
from sam_tui.core.tooling.neutralization import scrub_echoes
from sam_tui.core.tooling.results import call_display, remarks
from sam_tui.core.usage import Usage

if TYPE_CHECKING:
    from sam_tui.core.agent.calls.recorder import CallRecorder
    from sam_tui.core.agent.notes.notetaker import Notetaker
    from sam_tui.core.agent.turn_hooks import HookedTurn
    from sam_tui.core.prompt.attachments import Attachments

Steering = Callable[[], Iterable[str]]
"""Returns and removes the prompts that were typed meanwhile, to be added after the calls of a step."""
Arrivals = Callable[[ConversationId], Awaitable[None]]
"""Adds tools that have become available to the registry, before a prompt is answered."""


@dataclass(frozen=True, slots=True)
class TurnEngine:
    """The parts that all turns of a runtime share."""

    executor: Executor
    requests: RequestBuilder
    bus: Bus
    clock: Clock
    retry: RetryPolicy
    budgets: Budgets
    room: Room
    workflow_mode: bool = False
    """Whether an answer that contains ``{"status": "continue"}`` is followed by another step."""
    arrivals: Arrivals | None = None
    """None if the tools cannot change."""
    worded: Callable[[str], str] = lambda text: text
    """Rewrites a prompt for the model: one that names a skill or command becomes its text."""
    answers: AnswerLimits = field(default_factory=AnswerLimits)
    """The limits of one answer's size."""
    mending: Mending = field(default_factory=Mending)
    """Gets another key if a provider refuses one."""
    notetaker: "Notetaker | None" = None
    """Lets models write notes on messages that leave the context; None if a summary is made by rules."""
    recorder: "CallRecorder | None" = None
    """Stores the request and the answer of each model call; None if they are not stored."""
    attachments: "Callable[[], Attachments] | None" = None
    """Reads the files that a prompt names; None for prompts that no person wrote."""

    def narrowed(self, withheld: Collection[str], *, asker: str, system: str = "") -> "TurnEngine":
        """The same engine without some tools; ``asker`` is named in its questions."""
        executor = self.executor.narrowed(withheld, asker=asker)
        requests = self.requests.narrowed(executor.registry.schemas_json, system=system)
        return replace(self, executor=executor, requests=requests, arrivals=None, attachments=None)


class Turn:
    """One turn over a history, to be used once. ``gate`` replaces the gate of the conversation."""

    def __init__(
        self,
        engine: TurnEngine,
        model: Model,
        history: History,
        budget: Budget,
        gate: Gate | None = None,
    ) -> None:
        self._engine = engine
        self._model = model
        self._history = history
        self._budget = budget
        self._conversation = history.conversation
        self._gate = gate
        self.opening = ""
        """How the session began (``startup``, ``resume``); empty except in its first turn."""
        self._steering: Steering = tuple
        self._hooks: HookedTurn | None = None
        notetaker = engine.notetaker
        self._room = notetaker and notetaker.room(engine.room, history, self._spend)
        self._fold = Fold()
        self._endings = Endings()
        self._size()

    async def run(self, text: str, steering: Steering = tuple) -> TurnFinished:
        """Run to the end and say how it ended. Re-raises only cancellation, after saying so."""
        self._steering = steering
        try:
            async with self._history.written():
                await self._begin(text)
                answer = await self._loop()
        except asyncio.CancelledError:
            self._keep_partial()
            self._finish("cancelled", scrub_echoes(self._fold.text), exit_code=130)
            raise
        except BudgetExhausted as limit:
            return self._finish("limit", self._endings.answer, error=limit)
        except ConversationTakenOver as takeover:
            return self._finish("failed", "", error=takeover)
        except SamError as fault:
            self._keep_partial()
            return self._finish("failed", "", error=fault)
        finally:
            if self._room is not None:
                await self._room.close()
        return self._finish("finished", answer)

    async def _loop(self) -> str:
        while True:
            message, truncated = await self._ask()
            if message.calls:
                await self._run_calls(message.calls)
                if not await self._steer():
                    self._remind(new_message=False)
            request, why = self._endings.request(
                message, truncated=truncated, writes_call=self._writes_call
            )
            if request:
                self._warn(why)
                self._say(ReminderMessage("continue", request))
            elif message.calls:
                continue
            elif self._engine.workflow_mode and status_of(message.text) == "continue":
                self._history.append(ReminderMessage("continue", "Go on with the task."))
            elif not await self._sent_on(self._endings.answer):
                return self._endings.answer

    def _writes_call(self, text: str) -> bool:
        return writes_call(text, self._engine.executor.registry.knows)

    async def _begin(self, text: str) -> None:
        self._engine.bus.publish(TurnStarted(self._conversation, text))
        await self._gather()
        await self._admit(text, self.opening)

    async def _admit(self, text: str, opening: str = "") -> None:
        """Store the person's message after the reminders that are due. A hook may refuse the message."""
        notes = await hooked.admit(text, opening) if (hooked := self._hooked()) else ()
        attachments = (text[:1] == "/" or "@" in text) and self._engine.attachments
        executor = self._engine.executor
        files = attachments and await attachments().read(executor, self._conversation, text)
        self._remind(new_message=True)
        self._note(notes)
        if files:
            self._say(files)
        shield = executor.shield
        shield.refresh()
        self._history.append(UserMessage(shield.redact(text)))

    async def _steer(self) -> bool:
        """Add messages that the person typed meanwhile to the turn; whether any was added. A hook may
        refuse each."""
        joined = False
        for text in self._steering():
            try:
                await self._admit(self._engine.worded(text))
            except StoppedByHook as refusal:
                self._warn(refusal.explain())
                continue
            joined = True
            self._engine.bus.publish(Steered(self._conversation, text))
        return joined

    def _warn(self, text: str) -> None:
        self._engine.bus.publish(Noticed(self._conversation, "warning", text))

    async def _gather(self) -> None:
        """Add tools that have appeared since the last turn. Until the turn ends the tools then stay the
        same, so that each request begins with the one before it."""
        engine = self._engine
        if engine.arrivals is not None:
            before = self._requests.tools_json
            await engine.arrivals(self._conversation)
            self._size()
            if self._history.tokens and before != self._requests.tools_json:
                engine.bus.publish(Noticed(self._conversation, "info", TOLD["tools"]))

    def _size(self) -> None:
        """Choose system prompt and tools for the context window of the model."""
        engine = self._engine
        context = engine.room.context(self._model)
        self._requests = opening(engine.requests, engine.executor.registry, context)
        self._fixed = text_tokens(self._requests.fixed_text)

    def _hooked(self) -> "HookedTurn | None":
        """The hooks of this turn; None if none are configured."""
        hooking = self._engine.executor.hooks()
        if hooking is not None and self._hooks is None:
            from sam_tui.core.agent.turn_hooks import HookedTurn

            self._hooks = HookedTurn(hooking, self._conversation, self._engine.executor.asker)
        return self._hooks

    async def _sent_on(self, answer: str) -> bool:
        """Whether a hook refuses to let the turn end with this answer."""
        if (hooked := self._hooked()) is None:
            return False
        why, notes = await hooked.sent_on(answer)
        self._note((*notes, why) if why else notes)
        return bool(why)

    async def _ask(self) -> tuple[AssistantMessage, bool]:
        """One answer of the model and whether it was cut off by the length limit; each try is a step of the
        budget."""
        attempt = 1
        while True:
            step = self._budget.take_step()
            self._engine.bus.publish(RequestSent(self._conversation, step))
            try:
                return await self._stream()
            except ContextExceeded as error:
                if not self._step_back(error):
                    raise
                self._remind(new_message=False)
            except ModelAuthError as error:
                self._model = await self._engine.mending.mended(self._model, error)
            except ModelError as error:
                await self._wait_to_retry(attempt, error)
                attempt += 1

    def _step_back(self, error: ContextExceeded) -> bool:
        """Learn the model's limit from its refusal and shorten the history; whether the next request is
        shorter."""
        room, before = self._engine.room, self._fixed
        room.learn(self._model, error, sent=self._history.tokens + before)
        self._size()
        shorter = room.step_back(self._history, self._model, fixed=self._fixed)
        return shorter or self._fixed < before

    async def _stream(self) -> tuple[AssistantMessage, bool]:
        self._fold, text = Fold(), StreamedText(self._tell)
        await self._make_room()
        meter, limits = Meter(self._engine.answers), self._engine.answers
        request = replace(self._requests.build(self._history.messages), limits=limits)
        recorder = self._engine.recorder
        recording = recorder and recorder.begin(self._conversation, self._model, request)
        stream = (recording or self._model).stream(request)
        await receive(stream, (meter, self._fold, text))
        text.end()
        message = self._fold.message(self._history.call_ids, self._engine.executor.registry.knows)
        meter.check(message)
        if message.calls or message.text.strip():
            self._history.append(message)  # providers refuse messages that say nothing
        usage, truncated = self._fold.usage, self._fold.truncated
        self._fold = Fold()
        if recording is not None:
            usage = recording.end(usage, message)
        self._spend(usage)
        answered = Answered(self._conversation, message, usage, recording and recording.prefix)
        self._engine.bus.publish(answered)
        return message, truncated

    def _spend(self, usage: Usage) -> None:
        self._budget.spend(usage)
        self._history.add_usage(usage)

    async def _make_room(self) -> None:
        """Compact the history if the next request would not fit, and add again the reminders that left with
        it."""
        room, shorter = self._engine.room, False
        if (hooked := self._hooked()) is not None:
            share = room.share(self._history, self._model, fixed=self._fixed)
            await hooked.before_compaction(share, self._room and self._room.threshold(self._model))
        if self._room is not None and not self._budget.spent:
            shorter = await self._room.fit(self._model, fixed=self._fixed)
        if room.fit(self._history, self._model, fixed=self._fixed) or shorter:
            self._remind(new_message=False)
            room.fit(self._history, self._model, fixed=self._fixed)

    def _tell(self, kind: type[TextStreamed | ReasoningStreamed], text: str) -> None:
        self._engine.bus.publish(kind(self._conversation, text))

    async def _wait_to_retry(self, attempt: int, error: ModelError) -> None:
        delay = self._engine.retry.delay(attempt, error)
        if delay is None or self._budget.spent:
            raise error
        tries = (attempt, self._engine.retry.attempts(error) - 1)
        why = self._engine.executor.shield.redact(str(error))  # it may have the key in it
        self._engine.bus.publish(ModelRetried(self._conversation, *tries, delay, why, error.status))
        self._fold = Fold()
        await self._engine.clock.sleep(delay)

    async def _run_calls(self, calls: Sequence[ToolCall]) -> None:
        """Run all calls; exactly one result of each is added to the history, in call order."""
        runner = CallRunner(self._engine.executor, self._conversation, self._gate)
        ended = await runner.run(calls, lambda done: self._store(calls, done))
        self._note([note for executed in ended for note in executed.notes])
        self._note(remarks(executed.decision for executed in ended), "approval")
        images = [image for executed in ended for image in executed.images]
        for reminder in reminder_of(images, "Images that the calls above returned", self._model):
            self._say(reminder)
        if halt := next((executed.halt for executed in ended if executed.halt), ""):
            raise StoppedByHook(f"The turn was ended: {halt}")

    def _store(self, calls: Sequence[ToolCall], done: Mapping[int, Executed]) -> None:
        """Append each result once the results of all calls before it are there, so that results stand in
        call order."""
        while (index := self._history.answered_of(calls)) in done:
            finished = done[index].finished
            self._history.append(
                ToolMessage(
                    finished.call,
                    calls[index].name,
                    finished.text,
                    finished.ok,
                    operation=finished.operation,
                    summary=finished.summary,
                ),
                call_display(finished, done[index].decision),
            )

    def _remind(self, *, new_message: bool) -> None:
        for reminder in self._requests.reminders(self._history, new_message=new_message):
            self._say(reminder)

    def _note(self, notes: Sequence[str], source: str = "hooks") -> None:
        """Add notes of hooks or a person's comments to the history as reminders."""
        for note in notes:
            self._say(ReminderMessage(source, note))

    def _say(self, reminder: ReminderMessage) -> None:
        self._history.append(reminder)
        name, text = reminder.name, reminder.text
        event = Reminded(self._conversation, name, text, digest(text), images=reminder.images)
        self._engine.bus.publish(event)

    def _keep_partial(self) -> None:
        """Store the text that had streamed before the turn was stopped, marked as interrupted."""
        partial = scrub_echoes(self._fold.text)
        if partial.strip():
            with suppress(ConversationTakenOver):
                self._history.append(AssistantMessage(f"{partial}\n\n[interrupted]"))

    def _finish(
        self, reason: StopReason, answer: str, *, error: SamError | None = None, exit_code: int = 0
    ) -> TurnFinished:
        finished = TurnFinished(
            self._conversation, reason, answer, self._budget.usage, self._budget.steps,
            self._engine.executor.shield.redact(error.explain()) if error else "",
            error.title if error else "",
            error.exit_code if error else exit_code,
            error.limit if isinstance(error, BudgetExhausted | AnswerTooLarge) else "",
            self._endings.ending if reason == "finished" or self._endings.fault else None,
        )  # fmt: skip
        self._engine.bus.publish(finished)
        return finished
