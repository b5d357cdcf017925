"""The ``McpServers`` port over the servers of a runtime: started, awaited, reported, their tools joined."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.adapters.mcp_client.servers.server_files import ServerFiles
from sam_tui.core.bus import Bus
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Noticed
from sam_tui.core.ids import NO_CONVERSATION, ConversationId
from sam_tui.core.redaction.settings_files import secrets_of_environment
from sam_tui.core.redaction.shield import Shield

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.connection_context import ServerSurroundings
    from sam_tui.adapters.mcp_client.pool import ServerPool
    from sam_tui.core.accesses import Access
    from sam_tui.core.ports.servers import ServerNames, ServerReport, TypedValue
    from sam_tui.core.tooling.offer import Offer
    from sam_tui.core.tooling.registry import Registry

_GLANCE, _PATIENCE = 2.0, 3600.0
"""Seconds that a message waits for starting servers: while a person watches, and unattended."""


class GuardedServers:
    """The ``McpServers`` port. Without a file that names a server nothing is loaded."""

    def __init__(
        self,
        files: ServerFiles,
        surroundings: "Callable[[], ServerSurroundings]",
        registry: "Registry",
        shield: Shield,
        bus: Bus,
        *,
        attended: bool,
    ) -> None:
        self._files = files
        self._surroundings = surroundings
        self._registry = registry
        self._shield = shield
        self._bus = bus
        self._pool: ServerPool | None = None
        self._noticed: set[str] = set()
        self._joined: tuple[Offer, ...] = ()
        self._over_context7: tuple[Offer, ...] = ()
        self._patience = _GLANCE if attended else _PATIENCE
        files.require_named()
        if files.context7:
            self._joined = self._documentation()
            registry.join(self._joined)

    async def arrive(self, conversation: ConversationId = NO_CONVERSATION) -> None:
        """Add the tools of servers that have started meanwhile, before a person's message is answered."""
        self.begin()
        if self._pool is None:
            return
        await self._pool.settled(self._patience, unknown=True)
        self._tell(conversation)
        offers = (*await self._pool.offers(conversation), *self._documentation())
        if offers != self._joined:
            self._joined = offers
            self._registry.join(offers)

    def begin(self, name: str = "") -> None:
        """Start the server of this name, or every server that may start, in the background."""
        pool = self._any()
        if pool is not None:
            pool.begin(name)
            self.learn_secrets()

    def learn_secrets(self) -> None:
        """Add the secrets in all servers' settings to the shield; starts none."""
        pool = self._any()
        if pool is not None:
            from sam_tui.adapters.mcp_client.settings import secrets_of

            pool.look()
            self._shield.learn(secrets_of_environment(dict(secrets_of(pool.settings))))

    async def settled(self, seconds: float) -> bool:
        """Wait until none is starting; False when the time was too short."""
        return self._pool is None or await self._pool.settled(seconds)

    def reports(self) -> "Sequence[ServerReport]":
        """The state of every server that a file names."""
        pool = self._any()
        if pool is None:
            return ()
        pool.look()
        logins = {settings.name for settings in pool.settings if pool.logins.has(settings)}
        return tuple(
            replace(self._masked(report), login=report.name in logins) for report in pool.reports()
        )

    async def close(self) -> None:
        """End every server."""
        if self._pool is not None:
            await self._pool.close()

    async def names(self) -> "ServerNames":
        """The resources and prompts that messages may name, of running servers; starts none."""
        from sam_tui.core.ports.servers import ServerNames

        return await self._pool.names() if self._pool is not None else ServerNames()

    async def complete(self, typed: "TypedValue") -> Sequence[str]:
        """Return the server's proposals for the typed text. No secret is sent to it."""
        hide = self._shield.without_known
        sent = replace(typed, value=hide(typed.value), others=hide(typed.others))
        return await self._pool.complete(sent) if self._pool is not None else ()

    def accesses(self, name: str) -> "Sequence[Access]":
        """Return the accesses of a call, by the server's last tool list; starts no server."""
        pool = self._any()
        return pool.accesses(name) if pool is not None else ()

    async def log_in(self, name: str, browse: Callable[[str], None]) -> None:
        """Have the person log in at a server, and connect to it. Raises ``ToolError``."""
        pool = self._any()
        if pool is None:
            raise ToolError(f"No server {name} may be used.")
        await pool.log_in(name, browse)

    def forget_login(self, name: str) -> bool:
        """Delete the login at a server; whether there was one. Raises ``ToolError``."""
        pool = self._any()
        connection = pool.connection(name) if pool is not None else None
        if pool is None or connection is None:
            raise ToolError(f"No server {name} may be used.")
        try:
            return pool.logins.forget(connection.settings)
        except OSError as error:
            raise ToolError(f"The login at {name} cannot be deleted: {error.strerror}.") from None

    def _masked(self, report: "ServerReport") -> "ServerReport":
        """Return a report without secrets: a server may print everything that it was given."""
        redact = self._shield.redact
        target, error, log = redact(report.target), redact(report.error), redact(report.log)
        instructions, left_out = redact(report.instructions), tuple(map(redact, report.left_out))
        return replace(
            report,
            target=target,
            error=error,
            log=log,
            instructions=instructions,
            left_out=left_out,
        )

    def _tell(self, conversation: ConversationId) -> None:
        """Report once for each unusable server why it cannot be used."""
        for report in self.reports():
            if report.standing == "untrusted":
                level, why = "info", f"not loaded, because {report.file} is not trusted"
            elif report.standing == "failed":
                level, why = "warning", report.error
            else:
                continue
            notice = f"MCP server {report.name}: {why}"
            if notice not in self._noticed:
                self._noticed.add(notice)
                self._bus.publish(Noticed(conversation, level, notice))

    def _any(self) -> "ServerPool | None":
        """The pool, once there is something that may name servers."""
        if self._pool is None and self._files.any():
            from sam_tui.adapters.mcp_client.pool import ServerPool

            files, named = self._files.files(), self._files.named()
            self._pool = ServerPool(files, self._surroundings(), named)
        return self._pool

    def _documentation(self) -> "tuple[Offer, ...]":
        """The tool over Context7, as long as such a server is named and comes up: the same each time."""
        pool = self._any()
        if pool is None:
            return ()
        from sam_tui.adapters.mcp_client.servers.documentation import SERVER, documentation_offer

        connection = pool.connection(SERVER)
        if connection is None or connection.lost:
            return ()
        if not self._over_context7:
            self._over_context7 = (documentation_offer(lambda: pool.connection(SERVER)),)
        return self._over_context7
