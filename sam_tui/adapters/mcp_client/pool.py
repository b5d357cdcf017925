"""All servers of a runtime: read from files, started together, their tools collected."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from sam_tui.adapters.mcp_client.connection import Connection
from sam_tui.adapters.mcp_client.connection_context import Caller, Logins, ServerSurroundings
from sam_tui.adapters.mcp_client.reports import report_of
from sam_tui.adapters.mcp_client.server_tools import offer_of
from sam_tui.adapters.mcp_client.settings import ServerSettings, SettingsReader, data_of, merged
from sam_tui.core.accesses import Access
from sam_tui.core.errors import ConfigurationError, ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.servers import ServerNames, ServerReport, TypedValue
from sam_tui.core.tooling.offer import Offer

_REFRESH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ServerFile:
    """A file that may name servers.

    ``trusted`` says whether its servers count, as far as is known; ``vouches`` checks again, and whether
    this was the file's content when it was trusted. A project's file is below its ``root``. ``text``
    replaces the file if the command line has the content itself.
    """

    path: str
    reader: SettingsReader
    trusted: Callable[[], bool] = lambda: True
    vouches: Callable[[bytes], bool] = lambda _: True
    root: str = ""
    text: str = ""

    def data(self) -> bytes | None:
        """The content of the file, None without a file. Raises ``ConfigurationError``."""
        return self.text.encode() if self.text else data_of(self.path, root=self.root)

    def read(self) -> tuple[Sequence[ServerSettings], bool]:
        """The servers of the file, and whether it is trusted. Raises ``ConfigurationError``."""
        data = self.data()
        servers = () if data is None else self.reader.parse(data, self.path)
        if data is None or not servers:
            return servers, True
        # The content that was read is judged, not the file at a later moment.
        return servers, self.trusted() and self.vouches(data)


class ServerPool:
    """The ``McpServers`` port. An earlier file's entry wins; ``named`` come after the files."""

    def __init__(
        self,
        files: Sequence[ServerFile],
        around: ServerSurroundings,
        named: Sequence[ServerSettings] = (),
    ) -> None:
        self._files = tuple(files)
        self._named = tuple(named)
        self._around = around
        self._connections: dict[str, Connection] = {}
        self._untrusted: tuple[ServerSettings, ...] = ()
        self._faults: tuple[ServerSettings, ...] = ()
        self._seen: object = None
        self._ending: set[asyncio.Task[None]] = set()
        self._offers: dict[str, tuple[object, tuple[Offer, ...]]] = {}

    @property
    def settings(self) -> Sequence[ServerSettings]:
        """The settings of all servers from trusted files."""
        return tuple(connection.settings for connection in self._connections.values())

    @property
    def logins(self) -> Logins:
        """The store of the logins at servers."""
        return self._around.logins

    def look(self) -> None:
        """Read the files again if they or the trust in their project changed."""
        seen = [(_identity(file.path), file.trusted()) for file in self._files]
        if seen == self._seen:
            return
        self._seen = seen
        believed: list[Sequence[ServerSettings]] = []
        untrusted: list[Sequence[ServerSettings]] = []
        faults: list[ServerSettings] = []
        for file in self._files:
            try:
                settings_read, counts = file.read()
            except ConfigurationError as error:
                name, source = os.path.basename(file.path), file.reader.source
                faults.append(ServerSettings(name, source, file.path, fault=error.explain()))
                continue
            (believed if counts else untrusted).append(settings_read)
        believed.append(self._named)
        servers = {settings.name: settings for settings in merged(believed)}
        self._untrusted = tuple(s for s in chain.from_iterable(untrusted) if s.name not in servers)
        self._faults = tuple(faults)
        self._settle_on(servers)

    def connection(self, name: str) -> Connection | None:
        """The connection of a server that may be used, by its name."""
        self.look()
        connection = self._connections.get(name)
        return connection if connection is not None and connection.usable else None

    def accesses(self, name: str) -> tuple[Access, ...]:
        """Return the accesses of a call, by the server's last tool list; empty for an unknown tool."""
        self.look()
        for connection in self._connections.values():
            for tool in connection.offered.tools:
                if tool.name == name:
                    return connection.accesses(tool.raw)
        return ()

    def begin(self, name: str = "") -> None:
        """Start the idle servers that may run, or the named one, in the background."""
        self.look()
        for connection in self._connections.values():
            if name in ("", connection.name) and connection.due:
                connection.begin()

    async def log_in(self, name: str, browse: Callable[[str], None]) -> None:
        """Log in over a separate connection, then reconnect with the login. Raises ``ToolError``.

        The lasting connection cannot ask: no page opens in the middle of a turn.
        """
        connection = self.connection(name)
        if connection is None or not connection.url:
            raise ToolError(f"There is no server {name} that takes a login.")
        if connection.busy:
            raise ToolError(f"The server {name} is working on a call: log in when it has finished.")
        await connection.log_in(browse)
        if self._connections.get(name) is not connection:
            return  # its file says something else by now
        await connection.close()
        self._offers.pop(name, None)
        self._connections[name] = again = Connection(connection.settings, self._around)
        again.begin()

    async def settled(self, seconds: float, *, unknown: bool = False) -> bool:
        """Wait until no server is starting; False on timeout. ``unknown``: only for servers with unknown
        tools."""
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                for connection in self._connections.values():
                    group.create_task(connection.introduced() if unknown else connection.settled())
        except TimeoutError:
            return False
        return True

    async def offers(self, conversation: ConversationId) -> tuple[Offer, ...]:
        """The tools of all servers known so far, collected before a message of a conversation."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_REFRESH_SECONDS), asyncio.TaskGroup() as group:
                for connection in self._connections.values():
                    connection.caller = Caller(conversation, connection.caller.call)
                    group.create_task(connection.refresh())
        return tuple(offer for name in sorted(self._connections) for offer in self._offers_of(name))

    async def names(self) -> ServerNames:
        """The resources and prompts of all running servers that a message may name."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(c.names()) for c in self._connections.values()]
        answers = [task.result() for task in tasks]
        return ServerNames(
            tuple(chain.from_iterable(names.resources for names in answers)),
            tuple(chain.from_iterable(names.templates for names in answers)),
            tuple(chain.from_iterable(names.prompts for names in answers)),
        )

    async def complete(self, typed: TypedValue) -> Sequence[str]:
        """The proposals of a value's server for its completion."""
        connection = self._connections.get(typed.server)
        return await connection.complete(typed) if connection is not None else ()

    def reports(self) -> Sequence[ServerReport]:
        """The states of all servers in any file by name; unreadable files first."""
        rows = [connection.report for connection in self._connections.values()]
        rows += [report_of(settings, "untrusted") for settings in self._untrusted]
        faulty = [report_of(settings, "failed", error=settings.fault) for settings in self._faults]
        return (*faulty, *sorted(rows, key=lambda report: report.name))

    async def close(self) -> None:
        """End all servers at the same time."""
        connections, self._connections = self._connections, {}
        async with asyncio.TaskGroup() as group:
            for connection in connections.values():
                group.create_task(connection.close())
            for task in self._ending:
                group.create_task(_awaited(task))

    def _offers_of(self, name: str) -> tuple[Offer, ...]:
        """The offers of a server; the same objects as long as its list of tools is the same."""
        connection = self._connections[name]
        cached = self._offers.get(name)
        fitted = connection.offered
        if cached is None or cached[0] != fitted:
            cached = self._offers[name] = (
                fitted,
                tuple(offer_of(connection, tool) for tool in fitted.tools),
            )
        return cached[1]

    def _settle_on(self, servers: dict[str, ServerSettings]) -> None:
        """Keep unchanged servers, end removed ones, and add new ones."""
        connections: dict[str, Connection] = {}
        for name, connection in self._connections.items():
            if servers.get(name) == connection.settings:
                connections[name] = connection
            else:
                self._offers.pop(name, None)
                self._end(connection)
        for name, settings in servers.items():
            if name not in connections:
                connections[name] = Connection(settings, self._around)
        self._connections = {name: connections[name] for name in sorted(connections)}

    def _end(self, connection: Connection) -> None:
        if not connection.started:
            return
        task = asyncio.get_running_loop().create_task(connection.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


async def _awaited(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


def _identity(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)
