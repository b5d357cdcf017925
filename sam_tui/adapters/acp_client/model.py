"""Another agent in place of a model, by the Agent Client Protocol, as its client.

Its text and reasoning are the answer; its calls and its plan are displayed. Its requests for files,
terminals and permissions are calls or questions like any other here.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, cast

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.connection import Connection
from acp.meta import AGENT_METHODS, CLIENT_METHODS

from sam_tui.adapters.acp_client.host import AgentHost
from sam_tui.adapters.acp_client.requests import AgentRequests, form, read
from sam_tui.core import events
from sam_tui.core.display import Text
from sam_tui.core.errors import ModelRejected, SamError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.model import Delta, ModelRequest, ReasoningDelta, TextDelta
from sam_tui.core.ports.processes.piped import PipedProgram
from sam_tui.core.todos.item import Todo, TodoStatus, one_line
from sam_tui.json_rpc import MessageWire
from sam_tui.line_pipes import LONGEST

_START_SECONDS: Final = 60.0
_LOG: Final = 2000
_MOST_REFUSALS: Final = 5
_ALLOWING: Final = "If the agent needs that, allow it by a rule of your policy.toml that names it."
_OVERLONG: Final = (
    f"\n[A message of the agent was longer than {LONGEST:,} bytes and could not be read:"
    " a part of its answer is missing.]"
)
_STATUSES: Final[dict[str, TodoStatus]] = {
    "pending": "not-started",
    "in_progress": "in-progress",
    "completed": "completed",
}


@dataclass
class _Turn:
    """A prompt that the agent works on, and its open calls by our ids."""

    conversation: ConversationId
    deltas: asyncio.Queue[Delta | None] = field(default_factory=asyncio.Queue[Delta | None])
    calls: dict[CallId, tuple[str, str]] = field(default_factory=dict[CallId, tuple[str, str]])


class _ProgramLines:
    """The streams of a program in lines."""

    def __init__(self, program: PipedProgram) -> None:
        self._program = program
        self._buffer = bytearray()
        self._writing = asyncio.Lock()
        self.overlong = False
        """Whether a line was too long to be read; reset once that has been reported."""

    async def read(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        while end < 0 and len(self._buffer) <= LONGEST:
            piece = await self._program.read()
            if not piece:
                return None
            size = len(self._buffer)
            self._buffer += piece
            end = self._buffer.find(b"\n", size)
        line = bytes(self._buffer[:end]) if end >= 0 else bytes(self._buffer)
        self.overlong = self.overlong or len(line) > LONGEST
        del self._buffer[: len(line) + 1]
        return line

    async def write(self, line: bytes) -> None:
        async with self._writing:
            await self._program.write(line + b"\n")


class AgentModel:
    """The ``Model`` port over an agent; it is started by the first prompt, and anew where it ended."""

    context_tokens: int | None = None

    def __init__(self, host: AgentHost) -> None:
        self.name = f"agent {host.words[0].rpartition('/')[2]}"
        self.host = ""
        self._side = host
        self._program: PipedProgram | None = None
        self._lines: _ProgramLines | None = None
        self._connection: Connection | None = None
        self._listening: asyncio.Task[None] | None = None
        self._sessions: dict[ConversationId, str] = {}
        self._turns: dict[str, _Turn] = {}
        self._requests = AgentRequests(self.name, host)
        self._log = ""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        """Prompt the agent with the last message. Raises ``ModelRejected``, which is not tried again."""
        conversation = self._side.conversation(self)
        texts = [m.text for m in request.messages if isinstance(m, UserMessage)]
        if conversation is None or not texts:
            raise ModelRejected("Another agent answers messages of a conversation only.")
        connection, session = await self._session(conversation)
        turn = self._turns[session] = _Turn(conversation)
        prompt = schema.PromptRequest(
            session_id=session, prompt=[schema.TextContentBlock(type="text", text=texts[-1])]
        )
        answer = asyncio.get_running_loop().create_task(
            connection.send_request(AGENT_METHODS["session_prompt"], form(prompt)), name="acp-turn"
        )
        answer.add_done_callback(lambda _: turn.deltas.put_nowait(None))
        silent = True
        try:
            while (delta := await turn.deltas.get()) is not None:
                silent = silent and not isinstance(delta, TextDelta)
                yield delta
            ended = read(schema.PromptResponse, answer.result()).stop_reason
            if self._lines is not None and self._lines.overlong:
                self._lines.overlong = False
                yield TextDelta(_OVERLONG)
            elif silent:
                yield TextDelta(f"[The agent ended without text: {ended}.]")
        except (RequestError, OSError, TimeoutError) as error:
            raise self._fault(str(error)) from error
        finally:
            await self._end(session, turn, answer)

    async def close(self) -> None:
        """End the agent's program, its connection and its commands."""
        await self._requests.close()
        if self._connection is not None and self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
            await self._connection.close()
        if self._program is not None:
            await self._program.stop()
        self._program, self._lines, self._connection = None, None, None
        self._sessions.clear()

    # ---- the connection

    async def _session(self, conversation: ConversationId) -> tuple[Connection, str]:
        try:
            async with asyncio.timeout(_START_SECONDS):
                connection = await self._connected(conversation)
                if conversation not in self._sessions:
                    new = schema.NewSessionRequest(
                        cwd=self._side.executor.workspace, mcp_servers=[]
                    )
                    reply = await connection.send_request(AGENT_METHODS["session_new"], form(new))
                    opened = read(schema.NewSessionResponse, reply)
                    self._sessions[conversation] = opened.session_id
        except (RequestError, OSError, SamError) as error:
            raise self._fault(str(error)) from error
        return connection, self._sessions[conversation]

    async def _connected(self, conversation: ConversationId) -> Connection:
        if self._connection is not None and self._program is not None and not self._program.ended:
            return self._connection
        await self.close()
        self._log = ""
        program = self._program = await self._side.start(conversation, self._hear)
        self._lines = _ProgramLines(program)
        wire = MessageWire(self._lines, strays=True)
        connection = self._connection = Connection(self._handle, wire, listening=False)
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(connection.main_loop(), name="acp-client")
        first = schema.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(
                fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
                terminal=True,
            ),
        )
        reply = await connection.send_request(AGENT_METHODS["initialize"], form(first))
        version = read(schema.InitializeResponse, reply).protocol_version
        if version != PROTOCOL_VERSION:
            raise self._fault(
                f"it speaks version {version} of the protocol, not {PROTOCOL_VERSION}"
            )
        return connection

    def _hear(self, text: str) -> None:
        self._log = (self._log + text)[-_LOG:]

    def _fault(self, why: str) -> ModelRejected:
        ended = self._program.ended if self._program is not None else ""
        words = f"{self.name}: {why or 'no answer in time'}{f' ({ended})' if ended else ''}"
        hint = "\n".join(filter(None, (*self._refused(), self._log.strip())))
        return ModelRejected(self._side.executor.shield.redact(words), hint=hint)

    def _refused(self) -> tuple[str, ...]:
        """The accesses that the sandbox refused to its program, and how to allow them."""
        refused = self._program.refused if self._program is not None else ()
        lines = dict.fromkeys(f"The sandbox refused to {a.kind} {a.path}." for a in refused)
        return (*list(lines)[:_MOST_REFUSALS], _ALLOWING) if lines else ()

    async def _end(self, session: str, turn: _Turn, answer: "asyncio.Task[object]") -> None:
        """Close everything that a turn left open, and cancel a turn that is not over."""
        self._turns.pop(session, None)
        if not answer.done() and self._connection is not None:
            answer.cancel()
            note = schema.CancelNotification(session_id=session)
            with suppress(OSError):
                await self._connection.send_notification(
                    AGENT_METHODS["session_cancel"], form(note)
                )
        for call in list(turn.calls):
            self._finished(turn, call, "It did not end.", ok=False)

    async def _handle(self, method: str, params: object, is_notification: bool) -> object:
        if is_notification:
            if method == CLIENT_METHODS["session_update"]:
                self._update(read(schema.SessionNotification, params))
            return None
        fields = cast("dict[str, object]", params or {})
        turn = self._turns.get(str(fields.get("sessionId")))
        if turn is None:
            raise RequestError.invalid_params({"session": "no prompt is running"})
        return await self._requests.answer(turn.conversation, method, fields)

    # ---- what it says

    def _update(self, note: schema.SessionNotification) -> None:
        turn = self._turns.get(note.session_id)
        if turn is None:
            return
        match note.update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                turn.deltas.put_nowait(TextDelta(text))
            case schema.AgentThoughtChunk(content=schema.TextContentBlock(text=text)):
                turn.deltas.put_nowait(ReasoningDelta(text))
            case schema.ToolCallStart() | schema.ToolCallProgress() as update:
                self._called(turn, update)
            case schema.AgentPlanUpdate(entries=entries):
                items = tuple(
                    Todo(number, one_line(entry.content), status=_STATUSES[entry.status])
                    for number, entry in enumerate(entries, 1)
                )
                self._side.publish(events.TodosChanged(turn.conversation, items))
            case _:
                pass

    def _called(self, turn: _Turn, update: schema.ToolCallStart | schema.ToolCallProgress) -> None:
        """Show a call that the agent makes by itself, in its words."""
        call = CallId(f"agent-{update.tool_call_id}")
        redact = self._side.executor.shield.redact
        if call not in turn.calls:
            kind, title = (
                f"agent.{update.kind or 'other'}",
                redact(one_line(update.title or "call")),
            )
            turn.calls[call] = (kind, title)
            arguments = redact(json.dumps(update.raw_input, default=str))
            self._side.publish(events.ToolStarted(turn.conversation, call, kind, title, arguments))
        words = "\n".join(
            part.content.text
            for part in update.content or ()
            if isinstance(part, schema.ContentToolCallContent)
            and isinstance(part.content, schema.TextContentBlock)
        )
        if update.status in ("completed", "failed"):
            self._finished(turn, call, redact(words), ok=update.status == "completed")

    def _finished(self, turn: _Turn, call: CallId, words: str, *, ok: bool) -> None:
        operation, title = turn.calls.pop(call)
        display = (Text(words),) if words else ()
        self._side.publish(
            events.ToolFinished(
                turn.conversation, call, operation, title, ok, words, display, seconds=0.0
            )
        )
