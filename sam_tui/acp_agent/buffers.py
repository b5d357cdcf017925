"""Files as the client has them open: their text, and edits that it saves."""

import asyncio
import concurrent.futures
import threading
from typing import Final

from acp import RequestError, schema
from acp.connection import Connection
from pydantic import ValidationError

from sam_tui.acp_agent.requests import ask, begin
from sam_tui.core.todos.item import one_line

_BUFFER_SECONDS: Final = 5.0
"""Seconds that the client has to send a file. After one timeout it is asked for no more files."""
_SAVE_SECONDS: Final = 30.0
"""Seconds that the client has to save a file, formatter included. After one timeout it saves no more."""
_LAST_SECONDS: Final = 5.0
"""Seconds to wait for the answer to a running save after its call was cancelled."""
_LARGEST_BUFFER: Final = 10_000_000
_LONGEST_REASON: Final = 200


class ClientBuffers:
    """The ``EditorBuffers`` port over one client; create it on the connection's event loop."""

    def __init__(
        self, connection: Connection, client: schema.ClientCapabilities, *, saves: bool
    ) -> None:
        self._connection = connection
        self._offers = bool(client.fs and client.fs.read_text_file)
        self._saves = saves and bool(client.fs and client.fs.write_text_file)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._session = ""

    def begin(self, session: str) -> None:
        """Request files for this session from now on."""
        self._session = session

    @property
    def reachable(self) -> bool:
        """Whether this thread can request files of the client: any but the event loop's."""
        return self._offers and bool(self._session) and threading.get_ident() != self._thread

    @property
    def writes(self) -> bool:
        """Whether the client saves edits, and this is the event loop's thread."""
        offers = self._offers and self._saves and bool(self._session)
        return offers and threading.get_ident() == self._thread

    def read(self, path: str) -> str | None:
        """The text of a file as the editor has it; None where it does not say."""
        answer = asyncio.run_coroutine_threadsafe(self._read(path), self._loop)
        try:
            return answer.result(_BUFFER_SECONDS)
        except concurrent.futures.TimeoutError:
            self._offers = False
            answer.cancel()
        except (RequestError, ValidationError, OSError, concurrent.futures.CancelledError):
            pass
        return None

    async def fetch(self, path: str) -> str | None:
        """The same, on the event loop."""
        try:
            async with asyncio.timeout(_BUFFER_SECONDS):
                return await self._read(path)
        except TimeoutError:
            self._offers = False
        except (RequestError, ValidationError, OSError):
            pass
        return None

    async def write(self, path: str, text: str) -> str:
        """Have the editor change its buffer and save it; why it did not, empty when it says it did."""
        request = schema.WriteTextFileRequest(session_id=self._session, path=path, content=text)
        saving = begin(ask(self._connection, "fs_write_text_file", request), "acp-saves")
        try:
            await asyncio.wait({saving}, timeout=_SAVE_SECONDS)
        except asyncio.CancelledError:
            await asyncio.wait({saving}, timeout=_LAST_SECONDS)
            raise
        finally:
            saving.cancel()
        if not saving.done():
            self._saves = False
            return f"no answer within {_SAVE_SECONDS:g} seconds"
        error = saving.exception()
        return "" if error is None else one_line(str(error))[:_LONGEST_REASON] or "an error"

    async def _read(self, path: str) -> str | None:
        request = schema.ReadTextFileRequest(session_id=self._session, path=path)
        reply = await ask(self._connection, "fs_read_text_file", request)
        content = schema.ReadTextFileResponse.model_validate(reply).content
        return content if len(content) <= _LARGEST_BUFFER else None
