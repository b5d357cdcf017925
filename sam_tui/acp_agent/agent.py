"""The methods of the protocol, and the sessions they speak of."""

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar, cast

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.connection import Connection
from acp.meta import AGENT_METHODS
from pydantic import BaseModel, ValidationError

from sam_tui.acp_agent.buffers import ClientBuffers
from sam_tui.acp_agent.session import EditorSession, TerminalUse, iso_time
from sam_tui.core.errors import SamError, UsageError, WorkspaceError
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiry import Inquiry, Question
from sam_tui.core.ports.files import EditorBuffers
from sam_tui.core.runtime import Opening, Runtime
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.todos.item import one_line
from sam_tui.json_rpc import MessageWire
from sam_tui.line_pipes import LinePipes
from sam_tui.stop_signals import signals_stop, until_stopped

Request = TypeVar("Request", bound=BaseModel)
_Opening = (
    schema.NewSessionRequest
    | schema.LoadSessionRequest
    | schema.ResumeSessionRequest
    | schema.ForkSessionRequest
)
Handler = Callable[[object], Awaitable[BaseModel]]
_INVALID_PARAMS: Final = -32602
_INTERNAL: Final = -32603
_PAGE: Final = 50
_MOST_LISTED: Final = 10_000
_MOST_FAULTS: Final = 5


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """The client's choices for a session: its folders and servers. No root is the program's own."""

    root: str = ""
    others: tuple[str, ...] = ()
    servers: str = ""
    """MCP servers as the JSON text of a server file; empty if the client names none."""
    buffers: EditorBuffers | None = None
    """Reads and saves files in the client's editor, also unsaved text; None: the disk is used."""


Openers = Callable[[SessionTerms, Callable[[Inquiry], bool]], Runtime]
"""Opens the runtime of a session. The second argument says whether somebody can answer an inquiry."""


@dataclass(frozen=True, slots=True)
class ClientUse:
    """The client's abilities that the person permits: save edits, and show commands in terminals."""

    saves: bool
    terminals: bool


async def serve(source: int, sink: int, opens: Openers, version: str, use: ClientUse) -> None:
    """Serve one client on two descriptors until it closes its end or a signal comes."""
    agent = EditorAgent(opens, version, use)
    with signals_stop() as stopped:
        connection = Connection(
            agent.handle, MessageWire(LinePipes(source, sink, "acp")), listening=False
        )
        agent.connect(connection)
        try:
            await until_stopped(connection.main_loop(), stopped)
        finally:
            await agent.close()
            await connection.close()


class EditorAgent:
    """Answers one client. Each session has a runtime of its own: folder, mode and servers are its."""

    def __init__(self, opens: Openers, version: str, use: ClientUse) -> None:
        self._opens = opens
        self._use = use
        self._version = version
        self._connection: Connection | None = None
        self._client: schema.ClientCapabilities | None = None
        self._sessions: dict[str, EditorSession] = {}
        self._opening = asyncio.Lock()
        names = AGENT_METHODS
        self._requests: Mapping[str, Handler] = {
            names["initialize"]: _reads(schema.InitializeRequest, self._initialize),
            names["authenticate"]: _reads(schema.AuthenticateRequest, self._authenticate),
            names["session_new"]: _reads(schema.NewSessionRequest, self._new),
            names["session_load"]: _reads(schema.LoadSessionRequest, self._load),
            names["session_resume"]: _reads(schema.ResumeSessionRequest, self._resume),
            names["session_fork"]: _reads(schema.ForkSessionRequest, self._fork),
            names["session_list"]: _reads(schema.ListSessionsRequest, self._list),
            names["session_close"]: _reads(schema.CloseSessionRequest, self._close),
            names["session_prompt"]: _reads(schema.PromptRequest, self._prompt),
            names["session_set_mode"]: _reads(schema.SetSessionModeRequest, self._set_mode),
            names["session_set_config_option"]: _reads(
                schema.SetSessionConfigOptionSelectRequest, self._set_option
            ),
        }

    def connect(self, connection: Connection) -> None:
        """Set the connection for messages to the client."""
        self._connection = connection

    async def handle(self, method: str, params: object, is_notification: bool) -> BaseModel | None:
        """Answer one message. Raises ``RequestError``."""
        if is_notification:
            if method == AGENT_METHODS["session_cancel"]:
                with suppress(RequestError):  # nothing depends on the answer
                    note = _read(schema.CancelNotification, params)
                    if note.session_id in self._sessions:
                        self._sessions[note.session_id].cancel()
            return None
        handler = self._requests.get(method)
        if handler is None:
            raise RequestError.method_not_found(method[:100])
        if self._client is None and method != AGENT_METHODS["initialize"]:
            raise RequestError(-32600, "Invalid request: initialize comes first")
        try:
            return await handler(params)
        except UsageError as error:
            raise RequestError(_INVALID_PARAMS, error.explain()) from error
        except WorkspaceError as error:
            why, details = f"{error.title}: {error.explain()}", {"errors": [str(error)]}
            raise RequestError(_INVALID_PARAMS, why, details) from error
        except SamError as error:
            raise RequestError(_INTERNAL, f"{error.title}: {error.explain()}") from error

    async def close(self) -> None:
        """Close all sessions at the same time."""
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)

    # ---- the connection

    async def _initialize(self, request: schema.InitializeRequest) -> schema.InitializeResponse:
        """Only version 1 exists: a client that asks for another gets this answer, and may hang up."""
        self._client = request.client_capabilities or schema.ClientCapabilities()
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(
                name="sam-tui", title="sam-tui", version=self._version
            ),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                mcp_capabilities=schema.McpCapabilities(http=True, sse=False),
                prompt_capabilities=schema.PromptCapabilities(
                    image=True, audio=False, embedded_context=True
                ),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def _authenticate(self, request: schema.AuthenticateRequest) -> BaseModel:
        raise UsageError(f"There is no way {request.method_id[:50]!r} to log in: none is needed.")

    # ---- sessions

    async def _new(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        session = await self._open(_terms(request))
        session.introduce()
        return schema.NewSessionResponse(
            session_id=session.id, modes=session.modes, config_options=session.options
        )

    async def _load(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        terms = _terms(request)
        session = await self._open(terms, request.session_id)
        await session.replay()
        session.introduce()
        return schema.LoadSessionResponse(modes=session.modes, config_options=session.options)

    async def _resume(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        terms = _terms(request)
        session = await self._open(terms, request.session_id)
        session.introduce()
        return schema.ResumeSessionResponse(modes=session.modes, config_options=session.options)

    async def _fork(self, request: schema.ForkSessionRequest) -> schema.ForkSessionResponse:
        terms = _terms(request)
        session = await self._open(terms, request.session_id, "fork")
        session.introduce()
        return schema.ForkSessionResponse(
            session_id=session.id, modes=session.modes, config_options=session.options
        )

    async def _list(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        start = _cursor(request.cursor)
        folder = _real(request.cwd) if request.cwd else None
        runtime = self._opens(SessionTerms(), _nobody)
        try:
            records = runtime.conversations.recent(folder, start + _PAGE + 1)[start:]
        finally:
            await runtime.close()
        sessions = [
            schema.SessionInfo(
                session_id=record.id,
                cwd=record.workspace,
                title=one_line(record.title),
                updated_at=iso_time(record.updated_at),
            )
            for record in records[:_PAGE]
        ]
        more = str(start + _PAGE) if len(records) > _PAGE else None
        return schema.ListSessionsResponse(sessions=sessions, next_cursor=more)

    async def _close(self, request: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        session = self._session(request.session_id)
        del self._sessions[session.id]
        await session.close()
        return schema.CloseSessionResponse()

    # ---- one session

    async def _prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        return await self._session(request.session_id).prompt(request.prompt)

    async def _set_mode(self, request: schema.SetSessionModeRequest) -> BaseModel:
        session = self._session(request.session_id)
        session.use_mode(request.mode_id)
        await session.tell_mode()
        return schema.SetSessionModeResponse()

    async def _set_option(
        self, request: schema.SetSessionConfigOptionSelectRequest
    ) -> schema.SetSessionConfigOptionResponse:
        session = self._session(request.session_id)
        match request.config_id:
            case "mode":
                session.use_mode(request.value)
                await session.tell_mode()
            case "model":
                await session.use_model(request.value)
            case _:
                raise UsageError(f"There is no option {request.config_id[:50]!r}.")
        return schema.SetSessionConfigOptionResponse(config_options=session.options)

    def _session(self, identifier: str) -> EditorSession:
        session = self._sessions.get(identifier)
        if session is None:
            raise UsageError(
                f"There is no open session {identifier[:100]!r}.", hint="Open it: session/load."
            )
        return session

    async def _open(
        self, terms: SessionTerms, identifier: str | None = None, how: Opening = "continue"
    ) -> EditorSession:
        """Open a session in its own runtime; an open one is opened again."""
        assert self._connection is not None
        assert self._client is not None
        async with self._opening:
            buffers = ClientBuffers(self._connection, self._client, saves=self._use.saves)
            runtime = self._opens(replace(terms, buffers=buffers), self._attends)
            try:
                conversation = None if identifier is None else ConversationId(identifier)
                if conversation is not None and _is_of_folder(runtime, conversation):
                    await self._set_aside(conversation if how == "continue" else "")
                session = runtime.open_session(conversation, how=how)
            except BaseException:
                await runtime.close()
                raise
            opened = EditorSession(runtime, session, self._connection, self._terminal_use())
            self._sessions[opened.id] = opened
            buffers.begin(opened.id)
            if terms.servers:
                runtime.servers.begin()
            return opened

    def _terminal_use(self) -> TerminalUse:
        client = self._client
        if client is not None and client.terminal and self._use.terminals:
            return "client"
        live = client is not None and (client.field_meta or {}).get("terminal_output")
        return "output" if live else ""

    async def _set_aside(self, identifier: str) -> None:
        session = self._sessions.get(identifier)
        if session is None:
            return
        if session.busy:
            raise UsageError("A turn is running in that session.", hint="Cancel it first.")
        del self._sessions[identifier]
        await session.close()

    def _attends(self, inquiry: Inquiry) -> bool:
        """Whether the client can be asked: always for an approval, with forms for a question."""
        if not isinstance(inquiry.request, Question):
            return True
        elicitation = self._client.elicitation if self._client else None
        return elicitation is not None and elicitation.form is not None


def _is_of_folder(runtime: Runtime, conversation: ConversationId) -> bool:
    """Whether it may be opened in the runtime's folder. Raises ``UsageError`` where there is none."""
    record = runtime.conversations.find(conversation)
    if record is None:
        raise UsageError(f"There is no conversation {conversation[:100]!r}.")
    return record.workspace == runtime.workspace.root


def _nobody(_inquiry: Inquiry) -> bool:
    return False


def _terms(request: _Opening) -> SessionTerms:
    folders = [_absolute(folder) for folder in request.additional_directories or ()]
    servers = dict(map(_entry, request.mcp_servers or ()))
    text = json.dumps({"mcpServers": servers}) if servers else ""
    return SessionTerms(_absolute(request.cwd), tuple(folders), text)


def _absolute(folder: str) -> str:
    if not os.path.isabs(folder) or "\0" in folder:
        raise UsageError(f"{folder[:200]!r} is not an absolute path.")
    return folder


def _entry(server: BaseModel) -> tuple[str, Mapping[str, object]]:
    """Return a server in the form of files. Editors choose names freely: they are made to fit."""
    match server:
        case schema.McpServerStdio(name=name, command=command, args=args, env=env):
            variables = {variable.name: variable.value for variable in env}
            entry: Mapping[str, object] = {"command": command, "args": args, "env": variables}
        case schema.HttpMcpServer(name=name, url=url, headers=headers):
            entry = {"type": "http", "url": url, "headers": {h.name: h.value for h in headers}}
        case _:
            raise UsageError(
                "Such an MCP server cannot be used.", hint="Those on stdio and http can."
            )
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:32] or "server", entry


def _real(folder: str) -> str:
    """A folder as conversations name it."""
    return os.path.realpath(_absolute(folder))


def _cursor(text: str | None) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < _MOST_LISTED):
        raise UsageError(f"{text[:50]!r} is not a cursor of this agent.")
    return int(text)


def _read(model: type[Request], params: object) -> Request:
    """Return the parameters of a method. Raises ``RequestError``, which quotes nothing of the request."""
    try:
        request = model.model_validate({} if params is None else params)
        _insist_whole(request, params)
        return request
    except ValidationError as error:
        details = {"errors": faults_of(error)[:_MOST_FAULTS]}
        raise RequestError(_INVALID_PARAMS, "Invalid params", details) from error


def _insist_whole(request: BaseModel, params: object) -> None:
    """Raises ``RequestError`` where the schema left entries of a list out that it could not read."""
    fields = cast("Mapping[str, object]", params or {})
    for name, field in type(request).model_fields.items():
        sent, read = fields.get(field.alias or name), getattr(request, name)
        if isinstance(sent, list) and len(cast("list[object]", sent)) != len(read or ()):
            details = {"errors": [f"{field.alias or name}: an entry is not of a known form"]}
            raise RequestError(_INVALID_PARAMS, "Invalid params", details)


def _reads(model: type[Request], answer: Callable[[Request], Awaitable[BaseModel]]) -> Handler:
    async def handler(params: object) -> BaseModel:
        return await answer(_read(model, params))

    return handler
