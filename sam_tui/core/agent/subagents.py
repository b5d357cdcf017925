"""Subagents: a task of its own history, budget and fewer tools; only its summary comes back.

Seed 004, run_subagent; corrections of spec/sam.md C26: a separate, binding budget; limits of depth
and number; tools limited where they run; its cost counts for its parent too.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from sam_tui.core.agent.budget import Budget, Budgets
from sam_tui.core.agent.history import History
from sam_tui.core.agent.turn import Turn, TurnEngine
from sam_tui.core.bus import Bus, Subscription
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Event, StopReason, SubagentStarted, ToolStarted, TurnFinished
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.messages import AssistantMessage, calls_of
from sam_tui.core.ports.model import Model
from sam_tui.core.ports.storage import ConversationStore
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.usage import Usage

DEFAULT_STEPS = 15
"""The default limit of model calls of a subagent (seed 004)."""
AT_ONCE = 4
"""The most subagents that work at the same time; the others wait."""

_NEVER = frozenset({"run_subagent"})
_TERMINAL = frozenset({"terminal_operations", "build_and_version_control"})
_RESULTS = frozenset({"read_tool_result"})
_DYNAMIC = frozenset({"increase_max_iterations"})


@dataclass(frozen=True, slots=True)
class SubagentAssignment:
    """The work of a subagent. Empty ``model`` and None mean the parent's own."""

    task: str
    instructions: str = ""
    _: KW_ONLY
    model: str = ""
    max_steps: int = DEFAULT_STEPS
    terminal: bool = False
    dynamic: bool = False
    options: Mapping[str, object] | None = None
    """Further fields of its model requests, such as ``temperature``."""
    system_prompt: str = ""
    """The id of its system prompt; empty for the one in use."""
    guidance: str = ""
    """The text of a system prompt to use instead."""
    tools: frozenset[str] = frozenset()
    """The tools, or ``tool.operation``, that it may call; empty for all that subagents get.

    If one of them is a tool of the terminal, the subagent may run commands."""
    topic: str = ""
    """The shared topic whose memory it uses; empty for none."""
    fallback: str = ""
    """The model to use if no turn of the sender runs, as for a call from the command line or over MCP."""
    workflow_mode: bool | None = None
    """Whether an answer may request another step; None for the sender's setting."""
    prepare: "Prepare | None" = None
    """Called with the subagent's conversation before its first step; returns the gate of its calls."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The call that sends an assignment; ``report`` gets its progress, a line a step."""

    conversation: ConversationId
    call: CallId
    report: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an assignment. ``answer`` is the subagent's last answer."""

    conversation: ConversationId
    reason: StopReason
    answer: str
    error: str
    steps: int
    usage: Usage
    tools: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Functions of the host for assignments: ``system`` raises ``UsageError`` for an unknown prompt.

    ``engine`` is called when an assignment begins: assignments share its tools, prompts and bus.
    """

    engine: Callable[[], TurnEngine]
    open_model: "OpenModel"
    model_host: Callable[[str], str]
    """Returns the host of a model by its name; for an empty name that of the person's model."""
    system: Callable[[str, str], str]
    """The text of a system prompt, from its id and, in place of it, a text."""
    join_topic: Callable[[ConversationId, str], None]


Prepare = Callable[[ConversationId], Gate]
OpenModel = Callable[[str, Mapping[str, object]], Model]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The parts with which an assignment's turn runs."""

    engine: TurnEngine
    model: Model
    opened: bool
    """Whether the model was opened for this assignment, and must be closed after it."""
    gate: Gate | None
    prompt: str


class Subagents:
    """Runs assignments."""

    def __init__(
        self, store: ConversationStore, budgets: Budgets, surroundings: Surroundings
    ) -> None:
        self._store = store
        self._budgets = budgets
        self._surroundings = surroundings
        self._room = asyncio.Semaphore(AT_ONCE)
        self._working: dict[ConversationId, asyncio.Task[TurnFinished]] = {}
        self._modes: dict[ConversationId, bool] = {}

    async def run(self, sender: Sender, assignment: SubagentAssignment) -> Report:
        """Carry out an assignment. Cancelling the awaiting task ends it.

        Raises ``ToolError`` when there is no model to give it.
        """
        async with self._room:
            return await self._run(self._surroundings.engine(), sender, assignment)

    def cancel(self, child: ConversationId) -> bool:
        """End one assignment, by its conversation; the others and its sender go on. False: not running."""
        work = self._working.get(child)
        return work is not None and work.cancel()

    @property
    def working(self) -> Collection[ConversationId]:
        """The conversations of the assignments that are being carried out now, oldest first."""
        return tuple(self._working)

    def other_host(
        self, sender: ConversationId, assignment: SubagentAssignment
    ) -> tuple[str, str] | None:
        """The hosts of the sender's model and of the assignment's, where the assignment would change it.

        Raises ``UsageError`` for a model that cannot be meant.
        """
        name = self._name_to_open(sender, assignment)
        if not name:
            return None
        current = self._budgets.model(sender)
        before = current.host if current else self._surroundings.model_host("")
        after = self._surroundings.model_host(name)
        return None if after in ("", before) else (before, after)

    def workflow_mode(self, conversation: ConversationId) -> bool | None:
        """Whether a running assignment uses workflow mode; None if it did not specify that."""
        return self._modes.get(conversation)

    async def _run(
        self, engine: TurnEngine, sender: Sender, assignment: SubagentAssignment
    ) -> Report:
        child = ConversationId(mint("sub"))
        started = engine.clock.monotonic()
        turn = self._prepare(engine, sender, assignment, child)
        sender.report(f"At work as {child}\n")
        parent = self._budgets.get(sender.conversation)
        most = assignment.max_steps if parent is None else min(assignment.max_steps, parent.reach)
        budget = Budget(most, parent=parent)
        history = History(self._store, child)
        gate = both(self._budgets.gate(sender.conversation), engine.executor.gates(child))
        gate = both(turn.gate, gate)
        try:
            with self._budgets.running(child, budget, turn.model, gate):
                work = Turn(turn.engine, turn.model, history, budget, gate).run(turn.prompt)
                ended = await self._watched(engine.bus, sender, child, work)
        finally:
            history.close()
            self._modes.pop(child, None)
            if turn.opened:
                await turn.model.close()
        return Report(
            child,
            ended.reason if ended else "cancelled",
            (ended.answer if ended else "") or _last_words(history),
            ended.error if ended else "It was cancelled.",
            budget.steps,
            budget.usage,
            tuple(sorted({call.name for call in calls_of(history.messages)})),
            engine.clock.monotonic() - started,
        )

    def _prepare(
        self,
        engine: TurnEngine,
        sender: Sender,
        assignment: SubagentAssignment,
        child: ConversationId,
    ) -> "_Prepared":
        """Make the assignment's conversation, and what its turn is run with."""
        task = " ".join(assignment.task.split())
        tools = frozenset(map(engine.executor.registry.whole_name, assignment.tools))
        terminal = assignment.terminal or bool(_TERMINAL & _heads(tools))
        assignment = replace(assignment, tools=tools, terminal=terminal)
        system = (
            self._surroundings.system(assignment.system_prompt, assignment.guidance)
            if assignment.system_prompt or assignment.guidance
            else ""
        )
        model, opened = self._model(sender.conversation, assignment)
        self._store.create(child, engine.executor.workspace, parent=sender.conversation)
        self._store.claim(child)
        if assignment.topic:
            self._surroundings.join_topic(child, assignment.topic)
        engine.bus.publish(SubagentStarted(sender.conversation, sender.call, child, task[:200]))
        narrowed = engine.narrowed(
            _withheld(assignment, engine.executor.registry.names),
            asker=f"subagent: {task[:60]}",
            system=system,
        )
        if assignment.workflow_mode is not None:
            narrowed = replace(narrowed, workflow_mode=assignment.workflow_mode)
            self._modes[child] = assignment.workflow_mode
        gate = assignment.prepare(child) if assignment.prepare else None
        if assignment.tools:
            gate = both(gate, _only(assignment.tools))
        prompt = f"{assignment.task}\n\n{assignment.instructions}".strip()
        return _Prepared(narrowed, model, opened, gate, prompt)

    async def _watched(
        self,
        bus: Bus,
        sender: Sender,
        child: ConversationId,
        turn: Coroutine[object, object, TurnFinished],
    ) -> TurnFinished | None:
        """Run a turn and tell its sender of every step; None when it alone was cancelled."""
        subscription = bus.subscribe()
        try:
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(_tell(subscription, child, sender.report))
                work = self._working[child] = group.create_task(turn)
                try:
                    await asyncio.wait({work})
                finally:
                    listener.cancel()
                    _say(subscription.drain(), child, sender.report)
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None
        finally:
            self._working.pop(child, None)
            subscription.close()
        return None if work.cancelled() else work.result()

    def _model(self, sender: ConversationId, assignment: SubagentAssignment) -> tuple[Model, bool]:
        """The model of an assignment, and whether it was opened for it alone."""
        if name := self._name_to_open(sender, assignment):
            return self._surroundings.open_model(name, assignment.options or {}), True
        current = self._budgets.model(sender)
        if current is None:
            raise ToolError("There is no model to give the subagent.", hint="Name one in `model`.")
        return current, False

    def _name_to_open(self, sender: ConversationId, assignment: SubagentAssignment) -> str:
        """The name of the model to open for an assignment alone; empty where the sender's will do."""
        current = self._budgets.model(sender)
        if assignment.model or (assignment.options and current is not None):
            return assignment.model or (current.name if current else "")
        return assignment.fallback if current is None else ""


def _only(tools: frozenset[str]) -> Gate:
    """A gate for these tools and operations alone."""

    def gate(key: str) -> str:
        if key in tools or key.partition(".")[0] in tools | _RESULTS:
            return ""
        return f"This agent may not call {key}: its definition names {', '.join(sorted(tools))}."

    return gate


def both(outer: Gate | None, inner: Gate) -> Gate:
    """A gate that lets a call through only if both the parent's gate and the assignment's own do."""
    return inner if outer is None else lambda key: outer(key) or inner(key)


async def _tell(
    subscription: Subscription, child: ConversationId, report: Callable[[str], None]
) -> None:
    while True:
        _say(await subscription.batch(), child, report)


def _say(events: Sequence[Event], child: ConversationId, report: Callable[[str], None]) -> None:
    for event in events:
        if isinstance(event, ToolStarted) and event.conversation == child:
            report(f"{event.summary}\n")


def _withheld(assignment: SubagentAssignment, names: Collection[str]) -> frozenset[str]:
    """The tools of these names that an assignment does not get."""
    withheld = _NEVER
    if assignment.tools:
        withheld |= frozenset(names) - _heads(assignment.tools) - _RESULTS
    if not assignment.terminal:
        withheld |= _TERMINAL
    if not assignment.dynamic:
        withheld |= _DYNAMIC
    return withheld


def _heads(names: Collection[str]) -> set[str]:
    """The tools that have these tools or operations."""
    return {name.partition(".")[0] for name in names}


def _last_words(history: History) -> str:
    for message in reversed(history.messages):
        if isinstance(message, AssistantMessage) and message.text.strip():
            return message.text
    return ""
