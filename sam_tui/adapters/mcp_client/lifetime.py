"""One run of a server from start to end, and the conversion of its answers to results."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sam_tui.adapters.mcp_client import resources
from sam_tui.adapters.mcp_client import session as mcp_session
from sam_tui.adapters.mcp_client.connection_context import NO_OUTPUT, ServerSurroundings
from sam_tui.adapters.mcp_client.logins.authorization import LOGIN_SECONDS
from sam_tui.adapters.mcp_client.logins.refusals import LoginRequired
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool, plain
from sam_tui.adapters.mcp_client.transports.http_transport import CheckedTransport, http_streams
from sam_tui.adapters.mcp_client.transports.stdio_transport import piped_streams
from sam_tui.core.agent.drivers.sampling import Sampled, SamplingRequest
from sam_tui.core.display import Text
from sam_tui.core.errors import ToolError
from sam_tui.core.inquiry import Question
from sam_tui.core.messages import Image
from sam_tui.core.ports.processes.piped import PipedProgram
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.servers import ServerNames, TypedValue
from sam_tui.core.prompt.images import image_of
from sam_tui.core.tooling.contract import ToolResult

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.client.client import ConnectMode
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        TextResourceContents,
    )


Result = TypeVar("Result")
MOST_CHARACTERS = 4_000_000
MOST_IMAGE = 8_000_000
"""The most base64 characters of an image that is passed on to programs."""


def result_of(
    answer: "CallToolResult", refused: Sequence[OutsideAccess], *, server: str
) -> ToolResult:
    """Return an answer as a result. Images and sound are named; ``refused`` are the sandbox's denials
    meanwhile."""
    parts = [_in_words(block) for block in answer.content]
    structured = answer.structured_content
    spoken = any(block.type in ("text", "resource") for block in answer.content)
    if structured is not None and not spoken:
        parts.append(json.dumps(structured, ensure_ascii=False, indent=1, default=str))
    text = _bounded("\n".join(parts))
    if answer.is_error:
        text = f"ERROR: {text or f'{server} gave no reason.'}"
    if refused:
        text = "\n".join([text, "", *(f"The sandbox refused to {r.words}." for r in refused)])
    text = text or NO_OUTPUT
    return ToolResult(
        text,
        ok=not answer.is_error,
        display=(Text(text),),
        data=_data(answer, server),
        images=tuple(_images(answer)),
    )


def _bounded(text: str) -> str:
    """A text cut to ``MOST_CHARACTERS``, with the number of dropped characters."""
    dropped = len(text) - MOST_CHARACTERS
    return f"{text[:-dropped]}\n[{dropped} more characters dropped]" if dropped > 0 else text


def _in_words(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image":
            return f"[image, {block.mime_type}, {_size(block.data)}]"
        case "audio":
            return f"[{block.type}, {block.mime_type}, {_size(block.data)}: not shown to you]"
        case "resource_link":
            about = (block.title or block.name, block.mime_type, block.description)
            return f"[resource {block.uri}: {', '.join(filter(None, about))}]"
        case "resource":
            return _embedded(block.resource)


def _embedded(resource: "TextResourceContents | BlobResourceContents") -> str:
    """An embedded resource as text; of a binary resource its type and size."""
    if (text := getattr(resource, "text", None)) is not None:
        return f"[resource {resource.uri}]\n{text}"
    blob = getattr(resource, "blob", "")
    return f"[resource {resource.uri}, {resource.mime_type or 'unknown type'}, {_size(blob)}]"


def _images(answer: "CallToolResult") -> Iterator[Image]:
    """The images of an answer that can be decoded; others are left out."""
    for block in answer.content:
        if block.type == "image" and len(block.data) <= MOST_IMAGE:
            with suppress(ValueError):
                if image := image_of("image", b64decode(block.data, validate=True)):
                    yield image


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4 / 1000:,.1f} kB"


def _data(answer: "CallToolResult", server: str) -> Mapping[str, Any]:
    data: dict[str, Any] = {"server": server}
    if answer.structured_content is not None:
        data["structuredContent"] = answer.structured_content
    images = [
        {"mimeType": block.mime_type, "data": block.data}
        for block in answer.content
        if block.type == "image" and len(block.data) <= MOST_IMAGE
    ]
    if images:
        data["images"] = images
    links = [block.uri for block in answer.content if block.type == "resource_link"]
    if links:
        data["links"] = links
    return data


_LAST_WORDS = 400
_LIST_SECONDS = 10.0
_MOST_PROGRESS = 500
_MOST_WAITING = 8
"""The most questions of one server that may wait for the person; further ones are refused."""


class Lost(Exception):  # callers handle it; it has no message of its own
    """The server went away in the middle of a call."""


class Life:
    """One run of a server. ``program`` is a started program, None over HTTP; setting ``over`` ends the run.

    ``mode`` is how it is spoken to: ``auto`` tries discovery, ``legacy`` the older handshake alone.
    """

    def __init__(
        self,
        settings: ServerSettings,
        around: ServerSurroundings,
        handlers: mcp_session.ClientHandlers,
        over: asyncio.Event,
        program: PipedProgram | None,
        *,
        mode: "ConnectMode" = "auto",
    ) -> None:
        self._settings = settings
        self._mode: ConnectMode = mode
        self._around = around
        self._program = program
        self._timed_handlers = replace(
            handlers, ask=self._ask, sample=self._sample if handlers.sample is not None else None
        )
        self._handlers = handlers
        self._asked = 0.0
        self._idle = asyncio.Event()
        self._idle.set()
        self._asking = asyncio.Lock()
        self._waiting = 0
        self._over = over
        self._died = False
        self._protocol_fault = ""
        self._login_refused, self._mark = False, ""
        self.login_required: LoginRequired | None = None  # why it did not start
        self._client: Client | None = None
        self._transport: CheckedTransport | None = None

    @property
    def greeting(self) -> tuple[str, str]:
        """The protocol version, and the server's instructions."""
        client = self._client
        return ("", "") if client is None else (client.protocol_version, client.instructions or "")

    @property
    def died(self) -> bool:
        """Whether the server ended without being asked to."""
        return self._died and not self._protocol_fault

    @property
    def ready(self) -> bool:
        """Whether the server can be called."""
        return self._client is not None

    async def run(self, came: Callable[[Sequence[RawTool]], None]) -> str:
        """Serve until the end; returns the cause, empty if asked for. ``came`` receives the tools."""
        watch: asyncio.Task[None] | None = None
        why = ""
        try:
            streams = self._streams()
            async with asyncio.timeout(None) as limit:
                watch = asyncio.get_running_loop().create_task(self._limit(limit))
                async with mcp_session.opened(streams, self._timed_handlers, self._mode) as client:
                    tools = await mcp_session.listed(client, self._settings.name)
                    watch.cancel()
                    self._client = client
                    came(tools)
                    await self._stay(client)
                    self._client = None
        except TimeoutError:
            why = f"it did not start within {self._settings.start_seconds:g} s"
        except mcp_session.FAULTS as error:
            why = mcp_session.fault_of(error)
            data = mcp_session.data_of(error)
            self.login_required = LoginRequired.of(self._settings, data, self._mark)
            self._login_refused = mcp_session.refuses_login(error)
        finally:
            self._client = None
            await self._end(watch)
        return self._in_words(why)

    async def _stay(self, client: "Client") -> None:
        """Wait for the end; announcements of changed tools are taken meanwhile."""
        listener = asyncio.get_running_loop().create_task(
            mcp_session.watched(client, self._timed_handlers.changed)
        )
        try:
            await self._over.wait()
        finally:
            listener.cancel()
            await asyncio.wait([listener])

    async def listed(self) -> list[RawTool] | None:
        """The server's tools, requested now; None if it does not answer."""
        return await self._soon(lambda client: mcp_session.listed(client, self._settings.name))

    async def names(self) -> ServerNames | None:
        """The resources and prompts that a message may name; None if the server does not answer."""
        return await self._soon(lambda client: resources.names(client, self._settings.name))

    async def complete(self, typed: TypedValue) -> list[str] | None:
        """The server's proposals for a half-typed value; None if it does not answer."""
        return await self._soon(lambda client: resources.completed(client, typed))

    async def _soon(self, ask: "Callable[[Client], Awaitable[Result]]") -> Result | None:
        """An answer within ``_LIST_SECONDS``; None if the server fails or takes longer."""
        if self._client is None:
            return None
        with suppress(TimeoutError, *mcp_session.FAULTS):
            async with asyncio.timeout(_LIST_SECONDS):
                return await ask(self._client)
        return None

    async def call(
        self, tool: str, arguments: Mapping[str, Any], emit: Callable[[str], None]
    ) -> ToolResult:
        """Call a tool. Raises ``ToolError``, and ``Lost`` when the server is gone."""
        loop = asyncio.get_running_loop()
        seconds = self._settings.call_seconds
        work = loop.create_task(self._called(tool, arguments, emit))
        late = loop.create_task(self._overdue(seconds))
        try:
            await asyncio.wait([work, late], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            raise ToolError(
                f"The MCP server {self._settings.name} did not answer within {seconds:g} s, so the"
                " call was cancelled.",
                hint="Set a longer “timeout” (milliseconds) in the file that names it.",
            )
        finally:
            for task in (work, late):
                task.cancel()
            await asyncio.wait([work, late])

    async def _called(
        self, tool: str, arguments: Mapping[str, Any], emit: Callable[[str], None]
    ) -> ToolResult:
        if self._client is None:
            raise Lost
        before = len(self._refused)
        try:
            answer = await mcp_session.call(self._client, tool, arguments, _progress(emit))
        except mcp_session.FAULTS as error:
            if mcp_session.lost(error):
                self._died = True
                self._over.set()
                raise Lost from None
            if required := LoginRequired.of(self._settings, mcp_session.data_of(error), self._mark):
                raise required from None
            fault = self._transport.fault if self._transport is not None else ""
            if not fault or mcp_session.refuses_login(error):
                fault = mcp_session.fault_of(error)
            raise ToolError(f"The MCP server {self._settings.name}: {fault}") from None
        return result_of(answer, self._refused[before:], server=self._settings.name)

    def _streams(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        settings = self._settings
        if self._program is None:
            self._transport = CheckedTransport(settings.name, self._around.url_guard(settings))
            self._mark = self._transport.mark
            return http_streams(settings, self._transport, self._around.logins)
        return piped_streams(self._program, self._silent)

    def _silent(self, why: str) -> None:
        """End the run: the server's output can no longer be read."""
        self._protocol_fault, self._died = why, True
        self._over.set()

    @property
    def _refused(self) -> Sequence[OutsideAccess]:
        return () if self._program is None else self._program.refused

    async def _limit(self, limit: asyncio.Timeout) -> None:
        page = LOGIN_SECONDS if self._program is None and self._around.logins.browse else 0.0
        await self._overdue(self._settings.start_seconds + page)
        limit.reschedule(asyncio.get_running_loop().time())

    async def _overdue(self, seconds: float) -> None:
        """Wait so many seconds; time in which the person is asked does not count."""
        program = self._program
        while seconds > 0:
            before = self._asked
            await (asyncio.sleep(seconds) if program is None else program.overdue(seconds))
            await self._idle.wait()
            seconds = self._asked - before

    async def _ask(self, question: Question) -> str | None:
        """Put a question of the server to the person; None if too many wait."""
        return await self._apart(lambda: self._handlers.ask(question))

    async def _sample(self, sampling: SamplingRequest) -> Sampled:
        """Have the model answer the server. Raises ``SamError``."""
        assert self._handlers.sample is not None
        sample = self._handlers.sample
        answer = await self._apart(lambda: sample(sampling))
        if answer is None:
            raise ToolError(f"{_MOST_WAITING} questions of this server are waiting already.")
        return answer

    async def _apart(self, work: Callable[[], Awaitable[Result]]) -> Result | None:
        """Run one question at a time, off the server's clock; None if ``_MOST_WAITING`` wait."""
        if self._waiting == _MOST_WAITING:
            return None
        loop = asyncio.get_running_loop()
        self._waiting += 1
        try:
            async with self._asking:
                began = loop.time()
                self._idle.clear()
                try:
                    return await work()
                finally:
                    self._asked += loop.time() - began
                    self._idle.set()
        finally:
            self._waiting -= 1

    async def _end(self, watch: asyncio.Task[None] | None) -> None:
        if watch is not None:
            watch.cancel()
            await asyncio.wait([watch])
        if self._program is not None:
            await self._program.stop()

    def _in_words(self, why: str) -> str:
        """The cause of the end for people, with a program's exit code and last output."""
        if self._protocol_fault:
            return f"{self._protocol_fault}, so it was ended"
        if not (why or self._died):
            return ""
        if self._transport is not None:
            return why if self._login_refused else self._transport.fault or why
        if self._program is None:
            return why
        words = plain(self._timed_handlers.last().strip()[-_LAST_WORDS:], _LAST_WORDS)
        if self._died:
            why = f"it ended ({self._program.ended})"
        return f"{why}; it said: {words}" if words else why


def _progress(emit: Callable[[str], None]) -> mcp_session.ProgressFnT:
    """A callback that reports the progress of a call, at most ``_MOST_PROGRESS`` times."""
    reports = 0

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        nonlocal reports
        reports += 1
        if reports <= _MOST_PROGRESS:
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            emit(f"{share} {plain(message or '', 200)}".rstrip() + "\n")

    return tell
