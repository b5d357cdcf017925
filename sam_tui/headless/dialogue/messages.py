"""Messages on standard input while a run works, a JSON object a line (``--input-format stream-json``).

A line is a message of the person, or belongs to the control protocol of ``claude -p``: the other
program interrupts a turn, or answers a question.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.errors import UsageError
from sam_tui.core.ids import mint
from sam_tui.core.messages import Image
from sam_tui.core.prompt.images import image_of_text
from sam_tui.line_pipes import LinePipes

LARGEST = 10 * 1024 * 1024
"""The most bytes of a line; a longer one is refused."""
MOST_WAITING = 1000
"""The most messages that wait to be answered."""
_FORM = '{"type": "user", "message": {"role": "user", "content": "what to do"}}'
_IGNORED = ("keep_alive", "system", "assistant", "result")
Answer = dict[str, object]


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """One message of the person: text and images."""

    text: str
    images: tuple[Image, ...] = ()


class MessageInput:
    """The messages on standard input. ``send`` writes a line of standard output."""

    def __init__(self, lines: LinePipes, send: Callable[[dict[str, object]], None]) -> None:
        self._lines = lines
        self._send = send
        self._messages: deque[ReceivedMessage] = deque()
        self._open: dict[str, asyncio.Future[Answer | None]] = {}
        self._changed = asyncio.Event()
        self._ended = False
        self._fault: UsageError | None = None
        self._interrupt: Callable[[], object] | None = None
        self._number = 0

    async def next(self) -> ReceivedMessage | None:
        """The next message, or None once the input has ended. Raises ``UsageError`` for a wrong line."""
        while not self._messages:
            if self._fault is not None:
                raise self._fault
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._messages.popleft()

    def waiting(self) -> Iterable[str]:
        """Take the messages that arrived, for the running turn; stops before one with images."""
        while self._messages and not self._messages[0].images:
            yield self._messages.popleft().text

    def interrupt_with(self, cancel: Callable[[], object] | None) -> None:
        """Set the function that cancels the running turn; None if no turn runs."""
        self._interrupt = cancel

    async def ask(self, request: dict[str, object]) -> Answer | None:
        """Ask the program on the other side; None where it is gone, or cannot answer."""
        identifier = mint("ask")
        if self._ended:
            return None
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._open[identifier] = answer
        self._send({"type": "control_request", "request_id": identifier, "request": request})
        try:
            return await answer
        finally:
            del self._open[identifier]

    async def read(self) -> None:
        """Take line by line to the end of the input, or to the first that is wrong."""
        try:
            while (line := await self._lines.read()) is not None:
                self._number += 1
                self._take(line)
                self._changed.set()
        except UsageError as fault:
            self._fault = fault
        self._ended = True
        self._changed.set()
        for answer in self._open.values():
            _settle(answer, None)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        fields = _object(self._parsed(line))
        match fields.get("type"):
            case "user":
                if len(self._messages) >= MOST_WAITING:
                    raise self._wrong(f"more than {MOST_WAITING} messages wait")
                self._messages.append(self._message(fields))
            case "control_response":
                self._answered(_object(fields.get("response")))
            case "control_request":
                self._control(fields.get("request_id"), _object(fields.get("request")))
            case kind if kind not in _IGNORED:
                raise self._wrong(f"its type is {json.dumps(kind)[:40]}")
            case _:
                pass

    def _parsed(self, line: bytes) -> object:
        if len(line) > LARGEST:
            raise self._wrong("it is longer than 10 MB")
        try:
            value: object = json.loads(line.decode("utf-8-sig"))
            json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise self._wrong("it is not JSON in UTF-8") from None
        if not isinstance(value, dict):
            raise self._wrong("it is not an object")
        return cast("Any", value)

    def _message(self, fields: dict[str, object]) -> ReceivedMessage:
        """Text and images of a message. Raises ``UsageError``."""
        message = _object(fields.get("message"))
        content: Any = message.get("content")
        if message.get("role", "user") != "user":
            raise self._wrong(f"the role of its message is {json.dumps(message['role'])[:40]}")
        blocks: list[Any] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        if not isinstance(content, str | list):
            raise self._wrong("its message has no content")
        texts: list[str] = []
        images: list[Image] = []
        for block in map(_object, blocks):
            if block.get("type") == "image":
                images.append(self._image(f"image {len(images) + 1}", _object(block.get("source"))))
            elif block.get("type") == "text" and isinstance(words := block.get("text"), str):
                texts.append(words)
            else:
                kind = json.dumps(block.get("type"))[:40]
                raise self._wrong(f"content of the type {kind} is neither text nor an image")
        text = "\n".join(texts)
        if not text.strip():
            raise self._wrong("its message is empty" if not images else "its images have no words")
        return ReceivedMessage(text, tuple(images))

    def _image(self, name: str, source: dict[str, object]) -> Image:
        """The image of a block. Nothing is fetched: an address is refused. Raises ``UsageError``."""
        if source.get("type") != "base64":
            raise self._wrong(f"{name} is not in the line itself (source.type base64)")
        image = image_of_text(name, source.get("data"))
        if image is None:
            raise self._wrong(f"{name} is not a PNG, JPEG, GIF or WebP of up to 3.75 MB in Base64")
        return image

    def _answered(self, response: dict[str, object]) -> None:
        answer = self._open.get(str(response.get("request_id")))
        if answer is not None:
            success = response.get("subtype") == "success"
            _settle(answer, _object(response.get("response")) if success else None)

    def _control(self, identifier: object, request: dict[str, object]) -> None:
        response: dict[str, object] = {
            "subtype": "success",
            "request_id": identifier,
            "response": {},
        }
        match request.get("subtype"):
            case "interrupt":
                if self._interrupt is not None:
                    self._interrupt()
            case "initialize":
                pass
            case subtype:
                fault = f"{json.dumps(subtype)[:40]} is not supported"
                response = {"subtype": "error", "request_id": identifier, "error": fault}
        self._send({"type": "control_response", "response": response})

    def _wrong(self, why: str) -> UsageError:
        text = f"Line {self._number} of standard input cannot be used: {why}."
        return UsageError(text, hint=f"Each line must be an object such as {_FORM}")


@asynccontextmanager
async def reading(
    descriptor: int, send: Callable[[dict[str, object]], None]
) -> AsyncGenerator[MessageInput]:
    """The messages of a descriptor, read meanwhile."""
    messages = MessageInput(LinePipes(descriptor, descriptor, "messages"), send)
    async with beside(messages.read()):
        yield messages


@asynccontextmanager
async def beside(work: Coroutine[object, object, None]) -> AsyncGenerator[None]:
    """Run work beside a block and end it with the block; a fault of either is raised unchanged."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            try:
                yield
            finally:
                task.cancel()
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None


def _settle(answer: "asyncio.Future[Answer | None]", value: Answer | None) -> None:
    if not answer.done():
        answer.set_result(value)


def _object(value: object) -> dict[str, object]:
    """The object, or an empty one in place of anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
