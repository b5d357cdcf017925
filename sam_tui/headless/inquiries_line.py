"""Inquiries over a descriptor, for a program that started this one and answers for the person.

Each question goes out as one JSON line (``id``, ``title``, ``summary``, ``targets``, ``why``,
``change``, ``choices``), each answer comes in as one (``id``, ``reply``); a reply is as in an answers
file. When the other end is gone the run ends: nobody waits for it any more.
"""

import asyncio
import json
import os
import re
import signal
import socket
import stat
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from sam_tui.core.errors import UsageError
from sam_tui.core.events import InquiryOpened
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import ApprovalRequest, Inquiry
from sam_tui.core.runtime import Runtime
from sam_tui.headless.answers import AnswerEntry

_LONGEST = 4000
_LONGEST_CHANGE = 60_000
_MOST_TARGETS = 50


def require_socket(descriptor: int) -> None:
    """Raise ``UsageError`` for a descriptor that is none, or is no socket."""
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return
    except (OSError, OverflowError):
        pass
    raise UsageError(
        f"--inquiries-fd {descriptor} is not an open socket.",
        hint="It is for a program that starts this one and answers for the person.",
    )


@asynccontextmanager
async def inquiries_over(runtime: Runtime, descriptor: int) -> AsyncGenerator[None]:
    """Have the other end of a socket answer this runtime's inquiries meanwhile."""
    os.set_inheritable(descriptor, False)
    line = socket.socket(fileno=descriptor)
    reader, writer = await asyncio.open_connection(sock=line, limit=1_000_000)
    async with asyncio.TaskGroup() as group:
        tasks = (
            group.create_task(_ask(runtime, writer), name="inquiries-out"),
            group.create_task(_answer(runtime, reader), name="inquiries-in"),
        )
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            writer.close()


async def _ask(runtime: Runtime, writer: asyncio.StreamWriter) -> None:
    events = runtime.bus.subscribe()
    try:
        while True:
            for event in await events.batch():
                if isinstance(event, InquiryOpened):
                    writer.write(json.dumps(question_of(event.inquiry)).encode() + b"\n")
    finally:
        events.close()


async def _answer(runtime: Runtime, reader: asyncio.StreamReader) -> None:
    while text := await reader.readline():
        with suppress(ValueError, KeyError, TypeError):  # no answer at all
            answer: dict[str, str] = json.loads(text)
            give_answer(runtime.inquiries, answer["id"], answer["reply"])
    os.kill(os.getpid(), signal.SIGTERM)


def give_answer(inquiries: Inquiries, id: str, reply: str) -> None:
    """Answer the inquiry of that id, where it waits, as an entry of a file of answers would."""
    for inquiry in inquiries.pending():
        if inquiry.id == id:
            inquiries.answer(inquiry.id, AnswerEntry(re.compile(""), reply).answer(inquiry))


def question_of(inquiry: Inquiry) -> dict[str, object]:
    """An inquiry as data; of long texts the middle is left out."""
    request = inquiry.request
    if isinstance(request, ApprovalRequest):
        return {
            "id": inquiry.id,
            "title": request.operation[:500],
            "summary": shortened(request.summary),
            "targets": _targets(request.targets),
            "why": shortened(" ".join((request.why, *request.letters))),
            "change": shortened(request.difference, _LONGEST_CHANGE),
            "choices": ["approve", "deny"],
        }
    return {
        "id": inquiry.id,
        "title": request.prompt[:500],
        "summary": request.context[:_LONGEST],
        "choices": [choice[:_LONGEST] for choice in request.choices[:50]],
    }


def shortened(text: str, most: int = _LONGEST) -> str:
    """A text with its beginning and end, and in words how much is left out between them."""
    if len(text) <= most:
        return text
    half = most // 2 - 50
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters are not shown …]\n{text[-half:]}"


def _targets(targets: Sequence[str]) -> list[str]:
    more = len(targets) - _MOST_TARGETS
    listed = [shortened(target) for target in targets[: _MOST_TARGETS - (more > 0)]]
    return [*listed, f"and {more + 1} more, which are not shown"] if more > 0 else listed
