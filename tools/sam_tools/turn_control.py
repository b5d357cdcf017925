"""Tools that steer the turn itself (seed 004): think, increase_max_iterations, user_collaboration."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from sam_tui.core.agent.budget import MOST_STEPS, Budget
from sam_tui.core.authorization.permission import Response
from sam_tui.core.display import Text
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.events import ClosedAs
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.todos.item import one_line, visible_text
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import (
    Operation,
    Schedule,
    Tool,
    ToolContext,
    ToolResult,
    single,
)
from sam_tui.core.verdict import Decision, denial

_Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]


class Increase(Arguments):
    """The arguments of ``increase_max_iterations``."""

    requested_iterations: int = Field(gt=0, description=f"the new total, at most {MOST_STEPS}")
    reason: _Reason


class IncreaseMaxIterations:
    """increase_max_iterations: changes the budget from which the running turn takes its steps."""

    def __init__(self, budget_of: Callable[[ConversationId], Budget | None]) -> None:
        self._budget_of = budget_of

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "increase_max_iterations",
            "raise the limit",
            Increase,
            self._increase,
            lambda a: f"Raising the limit to {a.requested_iterations} model calls",
            schedule=Schedule.SERIAL,
        )
        about = "Raise how many model calls this turn may take, when the work left needs more."
        return single(operation, about)

    async def _increase(self, arguments: Increase, context: ToolContext) -> ToolResult:
        budget = self._budget_of(context.conversation)
        if budget is None:
            raise ToolError(
                "No turn of an agent runs here whose limit could be raised.",
                hint="A single call has no limit of model calls.",
            )
        requested, before = arguments.requested_iterations, budget.max_steps
        if requested <= before:
            raise InvalidArguments(
                f"requested_iterations {requested} is not more than the present limit of {before}"
                f" ({budget.steps} used).",
                hint="Give the new total, not how many to add.",
            )
        if requested > MOST_STEPS:
            raise InvalidArguments(
                f"requested_iterations {requested} is beyond {MOST_STEPS}, the most that is"
                f" possible; the present limit is {before} ({budget.steps} used).",
            )
        if requested > budget.raised:
            await self._confirmed(budget, requested, context)
        budget.max_steps = requested
        left = requested - budget.steps
        text = (
            f"The limit was raised from {before} to {requested} model calls.\n"
            f"Used: {budget.steps}, remaining: {left}\nReason: {arguments.reason}"
        )
        data = {
            "previousMax": before,
            "newMax": requested,
            "currentIteration": budget.steps,
            "reason": arguments.reason,
        }
        return ToolResult(text, data=data)

    async def _confirmed(self, budget: Budget, requested: int, context: ToolContext) -> None:
        """Ask the person to go beyond their limit for the agent. Raises ``ToolError`` without a yes."""
        why = f"{budget.max_steps} model calls are the limit that was set for this"
        if budget.raised:
            why = f"up to {budget.raised} model calls are left to the agent"
        once = f"up to {requested} model calls for this message"
        host = context.permit.host
        if host is None:
            raise ToolError(f"The limit stays: {why}.")
        decision = await host.confirm(why, once=once, rule="limit:turns")
        if not decision.allowed:
            raise ToolError(denial(decision))


_GIST_LENGTH = 100


def _not_empty(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "is empty: write down what you think")
    return text


def _tool_names(value: object) -> object:
    """A list of names, or nothing at all: a list with anything else in it is ignored."""
    if not isinstance(value, (list, tuple)):
        return ()
    names = [one_line(name) for name in cast("list[Any]", value) if isinstance(name, str)]
    return tuple(filter(None, names)) if len(names) == len(cast("list[object]", value)) else ()


class Thoughts(Arguments):
    """The arguments of ``think``."""

    thoughts: Annotated[str, AfterValidator(_not_empty)]
    requested_tools: Annotated[tuple[str, ...], BeforeValidator(_tool_names)] = Field(
        default=(), description="names of tools wanted next"
    )


class Think:
    """think: returns the thoughts, so that the conversation contains them, and does nothing else."""

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "think", "think before acting", Thoughts, self._think, lambda a: f"Thinking: {_gist(a)}"
        )
        return single(
            operation,
            "Think a step through before acting: weigh ways, plan, check a conclusion. It changes and"
            " finds out nothing, so act on the thought next.",
        )

    async def _think(self, arguments: Thoughts, context: ToolContext) -> ToolResult:
        context.emit(_gist(arguments))
        text = arguments.thoughts
        if arguments.requested_tools:
            text += f"\n\nTOOL_REQUEST: {', '.join(arguments.requested_tools)}"
        return ToolResult(text, display=(Text(arguments.thoughts),))


def _gist(arguments: Thoughts) -> str:
    return one_line(arguments.thoughts)[:_GIST_LENGTH]


_OPERATION = re.compile(r"[a-z][a-z0-9_]{0,63}(?:\.[a-z][a-z0-9_]{0,63})?")
_SUMMARY = 80
_MOST_CHOICES, _LONGEST_CHOICE = 12, 200


def _asked(text: str) -> str:
    prompt = visible_text(text)
    if not prompt:
        raise PydanticCustomError("empty", "is empty: write down the question")
    return prompt


def _offered(text: str) -> str:
    choice = one_line(visible_text(text))
    if not choice:
        raise PydanticCustomError("empty", "is empty: leave it out")
    return choice


_Choice = Annotated[str, StringConstraints(max_length=_LONGEST_CHOICE), AfterValidator(_offered)]


class Collaboration(Arguments):
    """The arguments of ``user_collaboration``."""

    prompt: Annotated[str, AfterValidator(_asked)]
    context: Annotated[str, AfterValidator(visible_text)] = Field(
        default="", description="shown beside the question"
    )
    choices: tuple[_Choice, ...] = Field(
        default=(), max_length=_MOST_CHOICES,
        description="answers to choose from; the person may write another",
    )  # fmt: skip
    several: bool = Field(default=False, description="more than one choice may be taken")
    authorize_operation: str = Field(
        default="", description="tool.operation that was refused and that you ask leave for"
    )


class UserCollaboration:
    """``user_collaboration``: a question to the person, or a grant for a refused call.

    In the seed a yes to this question granted whatever operation the model named. Here the host knows
    the refused calls of this conversation, asks about them in its own words beside the model's, and a
    yes grants exactly these (``spec/sam.md`` S1 to S3).
    """

    def __init__(self, inquiries: Inquiries) -> None:
        self._inquiries = inquiries

    def tool(self) -> Tool:
        """The tool, ready to register. It blocks: later calls wait for the answer."""
        operation = Operation(
            "user_collaboration",
            "ask the person",
            Collaboration,
            self._ask,
            lambda a: f"Asking: {_short(a.prompt)}",
            schedule=Schedule.BLOCKING,
        )
        return single(
            operation,
            "Ask the person a question and wait for the answer: for a choice only they can make, or"
            " facts you cannot find out. Do not ask for permission beforehand: call the operation, and"
            " the workbench asks where an approval is needed. If that was refused and is needed all the"
            " same, name the operation in authorize_operation.",
        )

    async def _ask(self, arguments: Collaboration, context: ToolContext) -> ToolResult:
        operation, host = arguments.authorize_operation.strip(), context.permit.host
        operation = operation if _OPERATION.fullmatch(operation) else ""
        notes: tuple[str, ...] = ()
        data: dict[str, object] = {"toolCallId": context.call}
        if operation and host is not None:
            if host.approves_all:
                return ToolResult(f"Auto-approved: {arguments.prompt}", data=data)
            words = "\n\n".join(filter(None, (arguments.prompt, arguments.context)))
            response = await host.permission(operation, words)
            if response.decisions:
                waited = sum(decision.elapsed for decision in response.decisions)
                data["waitTimeSeconds"] = round(waited, 3)
                return _decided(arguments, response, data)
            notes = response.unasked
        question = Question(
            arguments.prompt,
            arguments.context,
            tuple(dict.fromkeys(arguments.choices)),
            operation,
            several=arguments.several and bool(arguments.choices),
            free=bool(arguments.choices),
        )
        outcome = await self._inquiries.ask(context.conversation, context.call, question)
        data["waitTimeSeconds"] = round(outcome.elapsed, 3)
        about = _about_approval(operation, notes)
        if not isinstance(outcome.answer, Reply):
            why = _WHY[outcome.closed]
            return ToolResult(_unanswered(arguments, why, about), ok=False, data=data)
        reply = outcome.answer.text
        lines = [f"User response: {reply}" if reply.strip() else "User response: (empty)"]
        lines += ["", "Go on with the work according to this answer.", *about]
        return ToolResult(
            "\n".join(lines), display=(Text(reply),), data={**data, "userResponse": reply}
        )


_WHY: Mapping[ClosedAs, str] = {
    "unattended": "Nobody is there who could answer now.",
    "expired": "Nobody answered in time.",
    "withdrawn": "The question was taken back before it was answered.",
    "answered": "The question was closed without an answer.",
}


_EXTENT = {(True, True): "partly", (True, False): "yes", (False, True): "no", (False, False): "no"}
"""The answer to the whole request, by whether anything was granted and whether anything was denied."""


def _outcomes(granted: Sequence[Decision], denied: Sequence[Decision]) -> list[str]:
    lines = [f"Granted: {decision.scope or decision.reason}." for decision in granted]
    if granted:
        lines.append("Call it again.")
    return lines + [f"Not granted: {', '.join(decision.targets)}." for decision in denied]


def _decided(arguments: Collaboration, response: Response, data: dict[str, object]) -> ToolResult:
    """The result for answers to questions about denied accesses."""
    granted = [decision for decision in response.decisions if decision.allowed]
    denied = [decision for decision in response.decisions if not decision.allowed]
    lines = _outcomes(granted, denied) + _not_asked(response.unasked)
    if not granted and all(decision.by == "mode" for decision in denied):
        return ToolResult(_unanswered(arguments, _by_mode(denied), lines), ok=False, data=data)
    comments = filter(None, (decision.comment for decision in response.decisions))
    word = _EXTENT[bool(granted), bool(denied)]
    reply = ". ".join(filter(None, (word, " ".join(comments))))
    text = "\n".join([f"User response: {reply}", "", *lines])
    return ToolResult(text, display=(Text(reply),), data={**data, "userResponse": reply})


def _by_mode(denied: Sequence[Decision]) -> str:
    """The reason why the mode allowed no question."""
    if any(decision.rule == "unattended" for decision in denied):
        return _WHY["unattended"]
    return f"{denied[0].reason}."


def _unanswered(arguments: Collaboration, why: str, about: Sequence[str]) -> str:
    lines = [f"USER_INPUT_REQUIRED: {arguments.prompt}"]
    if arguments.context:
        lines += ["", arguments.context]
    text = f"{why} Go on without the answer where you safely can, and say what is left open."
    return "\n".join([*lines, "", text, *about])


def _not_asked(reasons: Sequence[str]) -> list[str]:
    return [f"Not asked about: {reason}." for reason in reasons]


def _about_approval(operation: str, unasked: Sequence[str]) -> list[str]:
    """A sentence that the answer grants nothing; empty if the call named no operation."""
    if not operation:
        return []
    return [
        *_not_asked(unasked),
        f"Nothing was granted for {operation}: this conversation was refused nothing of it that could be"
        " allowed. Just call it; if it needs an approval, the person is asked then.",
    ]


_EMPHASIS = re.compile(r"(\*\*|`+|(?<!\w)\*)(?=\S)(.+?)(?<=\S)\1")
_LINE_MARK = re.compile(r"^\s*(?:#+ +|[-*>] +)")


def _short(prompt: str) -> str:
    """The first line of a question, without the marks of its Markdown."""
    first = next((line for line in prompt.splitlines() if line.strip()), "")
    line = one_line(_EMPHASIS.sub(r"\2", _LINE_MARK.sub("", first)))
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + "…"
