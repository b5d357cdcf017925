"""The model asks the person something and waits for the answer (seed 004, user_collaboration)."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sam_tui.core.display import Text
from sam_tui.core.inquiries import Inquiries, Outcome
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.todos import one_line, visible_text
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult

_OPERATION = re.compile(r"[a-z][a-z0-9_]{0,63}(?:\.[a-z][a-z0-9_]{0,63})?")
_SUMMARY = 80


def _asked(text: str) -> str:
    prompt = visible_text(text)
    if not prompt:
        raise PydanticCustomError("empty", "is empty: write down the question")
    return prompt


class Collaboration(Arguments):
    """The arguments of ``user_collaboration``."""

    prompt: Annotated[str, AfterValidator(_asked)]
    context: Annotated[str, AfterValidator(visible_text)] = Field(
        default="", description="shown beside the question"
    )
    authorize_operation: str = Field(
        default="", description="tool.operation you hope to call; grants nothing"
    )


class UserCollaboration:
    """user_collaboration: one question, one answer, and never a grant.

    In the seed a yes to this question granted whatever operation the model named. Here approvals
    are asked by the guard, which words them from the blocked call itself (``spec/sam.md`` S1, S3).
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
        return Tool(
            "user_collaboration",
            "Ask the person a question and wait for the answer: for a choice only they can make, or"
            " facts you cannot find out. Do not ask for permission: call the operation, and the"
            " workbench asks for an approval where one is needed.",
            (operation,),
            consolidated=False,
        )

    async def _ask(self, arguments: Collaboration, context: ToolContext) -> ToolResult:
        question = Question(arguments.prompt, arguments.context)
        outcome = await self._inquiries.ask(context.conversation, context.call, question)
        data: dict[str, Any] = {
            "toolCallId": context.call,
            "waitTimeSeconds": round(outcome.elapsed, 3),
        }
        if not isinstance(outcome.answer, Reply):
            return ToolResult(_unanswered(arguments, outcome), ok=False, data=data)
        reply = outcome.answer.text
        lines = [f"User response: {reply}" if reply.strip() else "User response: (empty)"]
        lines += ["", "Go on with the work according to this answer."]
        lines += _about_approval(arguments.authorize_operation)
        return ToolResult(
            "\n".join(lines), display=(Text(reply),), data={**data, "userResponse": reply}
        )


def _unanswered(arguments: Collaboration, outcome: Outcome) -> str:
    lines = [f"USER_INPUT_REQUIRED: {arguments.prompt}"]
    if arguments.context:
        lines += ["", arguments.context]
    why = {
        "unattended": "Nobody is there who could answer now.",
        "expired": "Nobody answered in time.",
        "withdrawn": "The question was taken back before it was answered.",
        "answered": "The question was closed without an answer.",
    }[outcome.closed]
    lines += [
        "",
        f"{why} Go on without the answer where you safely can, and say what is left open.",
    ]
    return "\n".join([*lines, *_about_approval(arguments.authorize_operation)])


def _about_approval(operation: str) -> list[str]:
    """What to do about an operation the model hoped to have allowed; nothing if it is no name."""
    if not _OPERATION.fullmatch(operation.strip()):
        return []
    return [
        f"Nothing was granted for {operation.strip()}: approvals are asked by the workbench itself."
        " Just call it; if it needs one, the person is asked then."
    ]


def _short(prompt: str) -> str:
    line = one_line(prompt)
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + "…"
