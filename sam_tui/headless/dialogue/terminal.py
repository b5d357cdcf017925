"""Approvals and questions that a person at the terminal answers while a command works.

A question is printed on standard error, its answer is a line of standard input. Each line of a text
from outside begins with a bar, so none passes for words of this program, and text typed before the
question was printed answers nothing.
"""

import asyncio
import contextlib
import os
import termios
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from sam_tui.core.events import InquiryClosed, InquiryOpened
from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.core.runtime import Runtime
from sam_tui.headless.dialogue.messages import beside
from sam_tui.headless.output import terminal_safe

_MOST_LINES = 400
"""The most lines of a text; further ones are counted."""
_LONGEST = 4096
PROMPT = "Your answer: "


class TerminalPerson:
    """The person in front of two descriptors of this process. ``write`` puts a text before them."""

    def __init__(self, write: Callable[[str], None], source: int = 0, sink: int = 2) -> None:
        self.unanswered = 0
        """The number of inquiries that ended without a person."""
        self._write = write
        self._source = source
        self._is_there = os.isatty(source) and os.isatty(sink)
        self._one_at_a_time = asyncio.Lock()

    @property
    def is_there(self) -> bool:
        """Whether somebody may be asked at all."""
        return self._is_there

    def attends(self, inquiry: Inquiry) -> bool:
        """Whether they can be asked now: a process in the background would be stopped as it reads."""
        try:
            return self._is_there and os.tcgetpgrp(self._source) == os.getpgrp()
        except OSError:  # no controlling terminal, so nothing is stopped
            return self._is_there

    @asynccontextmanager
    async def answering(self, runtime: Runtime) -> AsyncGenerator[None]:
        """A context in which the person answers the runtime's inquiries, one after the other."""
        async with beside(self._follow(runtime)):
            yield

    async def _follow(self, runtime: Runtime) -> None:
        asking: dict[InquiryId, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            with contextlib.closing(runtime.bus.subscribe()) as events:
                while True:
                    for event in await events.batch():
                        if isinstance(event, InquiryOpened):
                            work = self._ask(runtime, event.inquiry)
                            asking[event.inquiry.id] = group.create_task(work, name="asked")
                        elif isinstance(event, InquiryClosed):
                            self.unanswered += event.outcome == "unattended"
                            _end(asking.pop(event.inquiry, None))

    async def _ask(self, runtime: Runtime, inquiry: Inquiry) -> None:
        async with self._one_at_a_time:
            if inquiry not in runtime.inquiries.pending():
                return
            self._write("\n".join(["", *question_lines(inquiry), ""]))
            with contextlib.suppress(termios.error):
                termios.tcflush(self._source, termios.TCIFLUSH)
            try:
                answer = await self._answer(inquiry)
            except asyncio.CancelledError:
                self._write("\nThis question is closed.\n")
                raise
            if answer is None:
                runtime.inquiries.withdraw(inquiry.request)
            else:
                runtime.inquiries.answer(inquiry.id, answer)

    async def _answer(self, inquiry: Inquiry) -> Answer | None:
        """Their answer; None where they end the input at a question."""
        while True:
            self._write(PROMPT)
            text = await self._line()
            if text is None:
                self._write("\n")
                is_approval = isinstance(inquiry.request, ApprovalRequest)
                return Approval("deny", "They gave no answer.") if is_approval else None
            if answer := answer_of(inquiry, text):
                return answer
            self._write(f"{_help(inquiry)}\n")

    async def _line(self) -> str | None:
        """The next line; None at the end of the input or once the terminal is gone."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            try:
                data = os.read(self._source, _LONGEST)
            except OSError:
                data, self._is_there = b"", False
            if not line.done():
                line.set_result(data)

        loop.add_reader(self._source, read)
        try:
            data = await line
        finally:
            loop.remove_reader(self._source)
        return data.decode(errors="replace").strip() if data else None


def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()


def question_lines(inquiry: Inquiry) -> list[str]:
    """An inquiry as lines for a terminal, with the possible answers."""
    if isinstance(inquiry.request, Question):
        return _words_of_question(inquiry.request)
    return _words_of_approval(inquiry.request)


def answer_of(inquiry: Inquiry, text: str) -> Answer | None:
    """The answer that a line gives; None for a line that answers nothing."""
    request = inquiry.request
    if isinstance(request, Question):
        reply = request.reply(text) or _numbered(text, request.choices)
        return Reply(reply) if reply.strip() else None
    scopes = [choice.id for choice in request.choices]
    first, _, remark = text.partition(" ")
    word = first.casefold().rstrip(",.:")
    if word in ("n", "no"):
        return Approval("deny", remark.strip())
    if scope := _numbered(text, scopes):
        return Approval("scope", scope=scope)
    if word in ("y", "yes") and not remark and _has_once(request):
        return Approval("once")
    return None


def _numbered(text: str, choices: Iterable[str]) -> str:
    """The choice of a number, counted from 1; empty for none."""
    return {str(number): choice for number, choice in enumerate(choices, 1)}.get(text, "")


def _has_once(request: ApprovalRequest) -> bool:
    return not request.choices or any(choice.id == "once" for choice in request.choices)


def _words_of_approval(request: ApprovalRequest) -> list[str]:
    lines = [f"Allow {_line(request.operation)}?"]
    lines += _barred(request.summary)
    for target in request.targets:
        lines += _barred(target)
    lines += [f"letters: {_line(letters)}" for letters in request.letters]
    lines += [f"from: {_line(request.asker)}"] if request.asker else []
    lines += [f"in: {_line(request.cwd)}"] if request.cwd else []
    lines += [f"why: {_line(request.why)}"] if request.why else []
    if request.words:
        lines += ["the agent says:", *_barred(request.words)]
    for change in request.preview:
        lines += [f"change of {_line(change.path)}:", *_barred(change.unified)]
    lines += ["n REASON  deny", *([] if request.choices else ["y  allow this once"])]
    for number, choice in enumerate(request.choices, 1):
        lines.append(f"{'y or ' * (choice.id == 'once')}{number}  allow: {_line(choice.words)}")
    return lines


def _words_of_question(question: Question) -> list[str]:
    lines = ["A question:", *_barred(question.prompt)]
    lines += _barred(question.context) if question.context else []
    lines += [f"{n}  {_line(choice)}" for n, choice in enumerate(question.choices, 1)]
    return [*lines, "Ctrl+D leaves it unanswered."]


def _help(inquiry: Inquiry) -> str:
    if isinstance(inquiry.request, Question):
        return _line(inquiry.request.offered) or "Type an answer."
    return "Answer y, n with a reason, or a number."


def _line(text: str) -> str:
    """Text from outside in one line."""
    return " ".join(terminal_safe(text).split())


def _barred(text: str) -> list[str]:
    """Untrusted text as lines that each begin with a bar, at most ``_MOST_LINES``."""
    lines = terminal_safe(text).splitlines()
    cut = [f"({len(lines) - _MOST_LINES} more lines are hidden)"]
    return [f"  | {line}" for line in lines[:_MOST_LINES]] + cut * (len(lines) > _MOST_LINES)
