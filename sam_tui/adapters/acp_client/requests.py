"""The requests of another agent for files, terminals and permissions, as calls and questions here."""

import asyncio
import json
import re
import shlex
from dataclasses import dataclass
from typing import TypeVar

from acp import RequestError, schema
from acp.meta import CLIENT_METHODS
from pydantic import BaseModel, ValidationError

from sam_tui.adapters.acp_client.host import AgentHost
from sam_tui.core.display import Terminal
from sam_tui.core.errors import SamError
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.messages import ToolCall
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.executor import Executed

Request = TypeVar("Request", bound=BaseModel)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NAMES = {method: name for name, method in CLIENT_METHODS.items()}


class AgentRequests:
    """Answers the requests of one agent, each on behalf of the conversation whose prompt it works on."""

    def __init__(self, agent: str, host: AgentHost) -> None:
        self._agent = agent
        self._side = host
        self._terminals: dict[str, _AgentTerminal] = {}

    async def answer(self, conversation: ConversationId, method: str, params: object) -> object:
        """The answer to a request. Raises ``RequestError``."""
        match _NAMES.get(method):
            case "fs_read_text_file":
                return await self._read_file(conversation, read(schema.ReadTextFileRequest, params))
            case "fs_write_text_file":
                return await self._write_file(
                    conversation, read(schema.WriteTextFileRequest, params)
                )
            case "session_request_permission":
                return await self._permission(
                    conversation, read(schema.RequestPermissionRequest, params)
                )
            case "terminal_create":
                return self._create_terminal(
                    conversation, read(schema.CreateTerminalRequest, params)
                )
            case "terminal_output":
                return self._terminal(read(schema.TerminalOutputRequest, params)).output
            case "terminal_wait_for_exit":
                terminal = self._terminal(read(schema.WaitForTerminalExitRequest, params))
                await asyncio.wait({terminal.task})
                return terminal.output.exit_status
            case "terminal_kill":
                self._terminal(read(schema.KillTerminalRequest, params)).task.cancel()
                return schema.KillTerminalResponse()
            case "terminal_release":
                terminal = self._terminal(read(schema.ReleaseTerminalRequest, params))
                terminal.task.cancel()
                del self._terminals[terminal.call]
                return schema.ReleaseTerminalResponse()
            case _:
                raise RequestError.method_not_found(method[:100])

    async def close(self) -> None:
        """Cancel the agent's commands and wait for their end."""
        tasks = [terminal.task for terminal in self._terminals.values()]
        self._terminals.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read_file(
        self, conversation: ConversationId, request: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        try:
            text = await self._side.read(conversation, CallId(mint("call")), request.path)
        except SamError as error:
            raise RequestError(-32603, error.explain()) from error
        lines = text.splitlines(keepends=True)
        first = max((request.line or 1) - 1, 0)
        chosen = lines[first : None if request.limit is None else first + request.limit]
        return schema.ReadTextFileResponse(content="".join(chosen))

    async def _write_file(
        self, conversation: ConversationId, request: schema.WriteTextFileRequest
    ) -> BaseModel:
        """Write through our own agent's tools: guarded, with a checkpoint, and undoable."""
        executed = await self._run(
            conversation,
            "file_operations.create_file",
            filePath=request.path,
            content=request.content,
            overwrite=True,
        )
        if not executed.finished.ok:
            raise RequestError(-32603, executed.finished.text)
        return schema.WriteTextFileResponse()

    async def _run(self, conversation: ConversationId, name: str, **arguments: object) -> Executed:
        call = ToolCall(CallId(mint("call")), name, json.dumps(arguments))
        return await self._side.executor.run(self._side.executor.plan(call), conversation)

    async def _permission(
        self, conversation: ConversationId, request: schema.RequestPermissionRequest
    ) -> BaseModel:
        """Ask the person. A yes is for one call: an option that lasts is never chosen for them."""
        call = CallId(f"agent-{request.tool_call.tool_call_id}")
        once = next((o for o in request.options if o.kind == "allow_once"), None)
        no = next((o for o in request.options if o.kind == "reject_once"), None)
        words = one_line(request.tool_call.title or "a call of its own")
        line = f"let {self._agent} make a call of its own"
        agreed = once is not None and await self._side.confirm(conversation, call, line, words)
        option = once if agreed else no
        if option is None:
            denied = schema.DeniedOutcome(outcome="cancelled")
            return schema.RequestPermissionResponse(outcome=denied)
        chosen = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=chosen)

    def _create_terminal(
        self, conversation: ConversationId, request: schema.CreateTerminalRequest
    ) -> BaseModel:
        variables = request.env or ()
        if not all(_VARIABLE.fullmatch(variable.name) for variable in variables):
            raise RequestError.invalid_params({"env": "a name is not one of a variable"})
        words = [f"{v.name}={shlex.quote(v.value)}" for v in variables]
        # Some agents put a whole line into the command, and leave the arguments out.
        words += [
            request.command if not request.args else shlex.join((request.command, *request.args))
        ]
        arguments = {"command": " ".join(words)}
        if request.cwd:
            arguments["working_directory"] = request.cwd
        run = self._run(conversation, "terminal_operations.run_command", **arguments)
        task = asyncio.get_running_loop().create_task(run, name="acp-terminal")
        identifier = mint("term")
        most = request.output_byte_limit
        self._terminals[identifier] = _AgentTerminal(identifier, request.session_id, task, most)
        return schema.CreateTerminalResponse(terminal_id=identifier)

    def _terminal(
        self,
        request: schema.TerminalOutputRequest
        | schema.WaitForTerminalExitRequest
        | schema.KillTerminalRequest
        | schema.ReleaseTerminalRequest,
    ) -> "_AgentTerminal":
        terminal = self._terminals.get(request.terminal_id)
        if terminal is None or terminal.session != request.session_id:
            raise RequestError.invalid_params({"terminal": "there is none with that id"})
        return terminal


@dataclass(frozen=True, slots=True)
class _AgentTerminal:
    """A command that the agent runs as a terminal; its output is available after its end."""

    call: str
    session: str
    task: "asyncio.Task[Executed]"
    most: int | None
    """The most bytes of output, counted from its end, that the agent wants; None: all of it."""

    @property
    def output(self) -> schema.TerminalOutputResponse:
        """The command's output and exit status; empty while it runs."""
        if not self.task.done():
            return schema.TerminalOutputResponse(output="", truncated=False)
        if self.task.cancelled():
            status = schema.TerminalExitStatus(signal="SIGTERM")
            return schema.TerminalOutputResponse(output="", truncated=False, exit_status=status)
        finished = self.task.result().finished
        ended = next((part for part in finished.display if isinstance(part, Terminal)), None)
        code = ended.exit_code if ended is not None else 1
        output = ended.output if ended is not None else finished.text
        data = output.encode("utf-8", "replace")
        cut = self.most is not None and len(data) > self.most
        if cut:  # its end, from a whole character on
            data = data[len(data) - (self.most or 0) :]
        return schema.TerminalOutputResponse(
            output=data.decode("utf-8", "ignore"),
            truncated=cut,
            exit_status=schema.TerminalExitStatus(exit_code=code),
        )


def form(value: BaseModel) -> dict[str, object]:
    """Return a message in the form in which it is sent."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def read(model: type[Request], value: object) -> Request:
    """A message of the agent. Raises ``RequestError``, which repeats nothing of it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestError(-32602, f"Invalid params: not a {model.__name__}") from error
