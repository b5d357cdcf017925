"""Commands in terminals of the client, where the person chose that.

A command runs in our sandbox. The client starts ``display`` in its terminal, which prints the command's
masked output as it comes and ends with the command's exit code.
"""

import asyncio
import inspect
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from acp import RequestError, schema
from acp.connection import Connection
from pydantic import BaseModel, ValidationError

from sam_tui.acp_agent import display
from sam_tui.acp_agent.requests import ask, begin
from sam_tui.core.display import Terminal
from sam_tui.core.events import ToolFinished, ToolStarted
from sam_tui.core.local_files.temporary_folders import ACP, Scratch
from sam_tui.core.text.nesting import json_object

_SECONDS: Final = 10.0
"""Seconds that the client has for each answer about a terminal; after one timeout it is not asked again."""
_LAST_SECONDS: Final = 1.0
_MOST_WAITING: Final = 1_000_000
"""Bytes that may wait for a terminal to read them; output beyond that is not displayed."""
_MOST_DISPLAYED: Final = 10_000_000
"""Bytes of one terminal's output that the client is asked to keep."""
_FAILED: Final = 1
_RUNS: Final = frozenset({
    "terminal_operations.run_command",
    "build_and_version_control.run_task",
    "build_and_version_control.create_and_run_task",
})
"""Operations that wait until the command they run has ended."""


@dataclass
class _Terminal:
    """A terminal of the client, and the connection of the program in it."""

    call: str
    id: str = ""
    writer: asyncio.StreamWriter | None = None
    waiting: bytearray = field(default_factory=bytearray)
    ended: bool = False
    """Whether the command has ended or is being ended."""
    exit: "asyncio.Task[None] | None" = None
    """Waits for the end of the program in the terminal; None before the client has created it."""

    def send(self, data: bytes) -> None:
        """Pass bytes on, or let them wait for the program's connection."""
        if self.writer is None:
            self.waiting += data
        else:
            self.writer.write(data)

    @property
    def full(self) -> bool:
        """Whether so much waits that nothing more is taken."""
        writer = self.writer
        waits = len(self.waiting) if writer is None else writer.transport.get_write_buffer_size()
        return waits > _MOST_WAITING


def runs_to_its_end(event: ToolStarted) -> bool:
    """Whether a call is a command whose end it waits for."""
    if event.operation not in _RUNS:
        return False
    arguments = json_object(event.arguments)
    return arguments is not None and not arguments.get("isBackground")


class ClientTerminals:
    """The terminals of one session. ``on_kill`` is called when the client ends one before its command."""

    def __init__(
        self,
        connection: Connection,
        session: str,
        roots: Sequence[str],
        on_kill: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._session = session
        self._on_kill = on_kill
        self._python = os.path.realpath(sys.executable)
        # No program that commands may change is started outside of the sandbox.
        programs = (self._python, os.path.realpath(inspect.getfile(display)))
        self._offers = not any(
            p.startswith(f"{root.rstrip('/')}/") for p in programs for root in roots
        )
        self._opening = asyncio.Lock()
        self._folder: Scratch | None = None
        self._server: asyncio.Server | None = None
        self._by_call: dict[str, _Terminal] = {}
        self._by_token: dict[str, _Terminal] = {}

    async def open(self, call: str) -> str:
        """A terminal for the command of a call: its id, empty where the client makes none."""
        if not self._offers:
            return ""
        try:
            address, text = await self._listen(), inspect.getsource(display)
        except OSError:  # as where the path of the temporary folder is too long for a socket
            self._offers = False
            return ""
        token = secrets.token_hex(16)
        terminal = self._by_call[call] = self._by_token[token] = _Terminal(call)
        request = schema.CreateTerminalRequest(
            session_id=self._session,
            command=self._python,
            args=["-I", "-S", "-c", text, address, token],
            output_byte_limit=_MOST_DISPLAYED,
        )
        reply = await self._asked("terminal_create", request)
        with suppress(ValidationError):
            terminal.id = schema.CreateTerminalResponse.model_validate(reply).terminal_id
        if not terminal.id:
            self._offers = False
            del self._by_call[call]
            self._by_token.pop(token, None)
            return ""
        terminal.exit = begin(self._exited(terminal), "acp-terminal")
        return terminal.id

    def show(self, call: str, text: str) -> None:
        """Print text of a command in its terminal, if it has one."""
        terminal = self._by_call.get(call)
        if terminal is not None and text and not terminal.full:
            data = text.encode("utf-8", "replace")
            terminal.send(display.HEAD.pack(len(data)) + data)

    async def end(self, call: str, finished: ToolFinished) -> bool:
        """End the terminal as the command ended. Whether it displayed everything until then."""
        terminal = self._by_call.get(call)
        if terminal is None:
            return False
        part = next((part for part in finished.display if isinstance(part, Terminal)), None)
        code = part.exit_code if part is not None else None
        terminal.ended = True
        terminal.send(display.HEAD.pack(0) + bytes([_FAILED if code is None else code & 0xFF]))
        if terminal.exit is not None:
            await asyncio.wait({terminal.exit}, timeout=_SECONDS)
            self._offers = self._offers and terminal.exit.done()
        return terminal.writer is not None

    async def release(self, call: str) -> None:
        """Let the client forget a terminal; it may go on displaying it. A running one is ended."""
        terminal = self._by_call.pop(call, None)
        if terminal is None:
            return
        self._by_token = {t: other for t, other in self._by_token.items() if other is not terminal}
        terminal.ended = True
        if terminal.exit is not None:
            terminal.exit.cancel()
        if terminal.writer is not None:
            terminal.writer.close()
        request = schema.ReleaseTerminalRequest(session_id=self._session, terminal_id=terminal.id)
        await self._asked("terminal_release", request)

    async def close(self) -> None:
        """Release all terminals, and listen no more."""
        self._offers = False
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):  # a client that has gone answers nothing
                await asyncio.gather(*map(self.release, tuple(self._by_call)))
        if self._server is not None:
            self._server.close()
        if self._folder is not None:
            self._folder.remove()

    async def _listen(self) -> str:
        """The address where programs in terminals find us: in a folder that is ours alone."""
        async with self._opening:
            if self._folder is None:
                self._folder = await asyncio.to_thread(Scratch, ACP)
            address = f"{self._folder.path}/display"
            if self._server is None:
                self._server = await asyncio.start_unix_server(self._accept, address)
        return address

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):
            token = (await reader.readline()).decode("ascii", "replace").strip()
            terminal = self._by_token.pop(token, None)
            if terminal is not None:
                terminal.writer = writer
                writer.write(bytes(terminal.waiting))
                terminal.waiting.clear()
                await reader.read()
                self._end_command(terminal)
        writer.close()

    async def _exited(self, terminal: _Terminal) -> None:
        """Wait until the program in a terminal has ended: before its command only if somebody ends it,
        or if it does not work there."""
        request = schema.WaitForTerminalExitRequest(
            session_id=self._session, terminal_id=terminal.id
        )
        with suppress(RequestError, OSError, ValidationError):
            reply = await ask(self._connection, "terminal_wait_for_exit", request)
            ended = schema.WaitForTerminalExitResponse.model_validate(reply or {})
            if terminal.writer is not None or ended.signal:
                self._end_command(terminal)
            else:
                self._offers = False

    def _end_command(self, terminal: _Terminal) -> None:
        if not terminal.ended:
            terminal.ended = True
            self._on_kill()

    async def _asked(self, name: str, request: BaseModel) -> object:
        """The client's answer; None if there is none in time, which ends the use of its terminals."""
        try:
            async with asyncio.timeout(_SECONDS):
                return await ask(self._connection, name, request) or {}
        except TimeoutError:
            self._offers = False
        except (RequestError, OSError):
            pass
        return None
