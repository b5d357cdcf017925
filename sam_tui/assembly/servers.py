"""The MCP servers of a runtime: which files count, and how what they start is guarded."""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.assembly.models import Providers
from sam_tui.assembly.server_files import ServerFiles, bundle_of
from sam_tui.core.accesses import CommandAccess, Fetch, LocatedAccess
from sam_tui.core.authorization.guard import Request
from sam_tui.core.authorization.outside_access import OutsideRun as CommandRun
from sam_tui.core.errors import ToolError
from sam_tui.core.events import Noticed
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.redaction.shield import secrets_of_environment

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client import (
        Caller,
        Callers,
        Logins,
        ServerPool,
        ServerSettings,
        ServerSurroundings,
        ServerTerms,
    )
    from sam_tui.core.agent.drivers.sampling import Sampler
    from sam_tui.core.ports.processes.sandbox import AskOutside, OutsideAccess, OutsideAnswer
    from sam_tui.core.ports.servers import ServerNames, ServerReport, TypedValue
    from sam_tui.core.ports.web import UrlGuard
    from sam_tui.core.tooling.executor import Executor
    from sam_tui.core.tooling.offer import Offer

START = "mcp.start_server"
"""The operation of starting a server's program: what rules for it name."""
CONNECT = "mcp.connect_server"
_CONTEXT7 = "CONTEXT7_SERVER_URL"
_GLANCE, _PATIENCE = 2.0, 3600.0
"""Seconds a message waits for servers that are starting: while somebody watches, and without."""


class GuardedServers:
    """The ``McpServers`` port. Without a file that names a server nothing is loaded."""

    def __init__(
        self,
        parts: Providers,
        executor: "Executor",
        inquiries: Inquiries,
        sampling: "Sampler | None",
    ) -> None:
        options = parts.configuration.options
        self._parts = parts
        self._options = options
        self._folders = parts.configuration.folders
        self._files = ServerFiles(parts)
        self._executor = executor
        self._inquiries = inquiries
        self._sampling = sampling
        self._guard = parts.guard
        self._pool: ServerPool | None = None
        self._told: set[str] = set()
        self._joined: tuple[Offer, ...] = ()
        self._over_context7: tuple[Offer, ...] = ()
        self._patience = _GLANCE if options.attended else _PATIENCE
        if options.mcp_config:
            self._files.require_named()
        if self._context7:
            self._joined = self._documentation()
            executor.registry.join(self._joined)

    async def arrive(self, conversation: ConversationId) -> None:
        """Before a message of a person is answered, tools of servers that have come join the others."""
        self.begin()
        if self._pool is None:
            return
        await self._pool.settled(self._patience, unknown=True)
        self._tell(conversation)
        offers = (*await self._pool.offers(conversation), *self._documentation())
        if offers != self._joined:
            self._joined = offers
            self._executor.registry.join(offers)

    def begin(self, name: str = "") -> None:
        """Start the server of this name, or every server that may start, in the background."""
        pool = self._pool or self._made()
        if pool is not None:
            pool.begin(name)
            from sam_tui.adapters.mcp_client import secrets_of

            self._parts.shield.learn(secrets_of_environment(dict(secrets_of(pool.settings))))

    async def settled(self, seconds: float) -> bool:
        """Wait until none is starting; False when the time was too short."""
        return self._pool is None or await self._pool.settled(seconds)

    def reports(self) -> "Sequence[ServerReport]":
        """The state of every server that a file names."""
        pool = self._pool or self._made()
        if pool is None:
            return ()
        pool.look()
        logins = {settings.name for settings in pool.settings if self._logins().has(settings)}
        return tuple(
            replace(self._masked(report), login=report.name in logins) for report in pool.reports()
        )

    async def close(self) -> None:
        """End every server."""
        if self._pool is not None:
            await self._pool.close()

    def _masked(self, report: "ServerReport") -> "ServerReport":
        """A report without secrets: a server may print whatever it was given."""

        redact = self._parts.shield.redact
        target, error, log = redact(report.target), redact(report.error), redact(report.log)
        instructions = redact(report.instructions)
        return replace(report, target=target, error=error, log=log, instructions=instructions)

    async def names(self) -> "ServerNames":
        """The resources and prompts that messages may name, of running servers; starts none."""
        from sam_tui.core.ports.servers import ServerNames

        return await self._pool.names() if self._pool is not None else ServerNames()

    async def complete(self, typed: "TypedValue") -> Sequence[str]:
        """The values that the server proposes for what was typed."""
        return await self._pool.complete(typed) if self._pool is not None else ()

    async def log_in(self, name: str, browse: Callable[[str], None]) -> None:
        """Have the person log in at a server, and connect to it. Raises ``ToolError``."""
        pool = self._pool or self._made()
        if pool is None:
            raise ToolError(f"No server {name} may be used.")
        await pool.log_in(name, browse)

    def forget_login(self, name: str) -> bool:
        """Delete the login at a server; whether there was one. Raises ``ToolError``."""
        pool = self._pool or self._made()
        connection = pool.connection(name) if pool is not None else None
        if connection is None:
            raise ToolError(f"No server {name} may be used.")
        try:
            return self._logins().forget(connection.settings)
        except OSError as error:
            raise ToolError(f"The login at {name} cannot be deleted: {error.strerror}.") from None

    def _tell(self, conversation: ConversationId) -> None:
        """Say of each server that cannot be used why that is, once."""
        for report in self.reports():
            if report.standing == "untrusted":
                level, why = "info", f"not loaded, because {report.file} is not trusted"
            elif report.standing == "failed":
                level, why = "warning", report.error
            else:
                continue
            notice = f"MCP server {report.name}: {why}"
            if notice not in self._told:
                self._told.add(notice)
                self._parts.publish(Noticed(conversation, level, notice))

    def _made(self) -> "ServerPool | None":
        """The pool, once there is a file that may name servers."""
        handed_in = self._options.client_servers
        if not (self._context7 or handed_in or self._files.any()):
            return None
        from sam_tui.adapters.mcp_client import ServerPool, SettingsReader
        from sam_tui.adapters.mcp_client.documentation import named_by_variable

        named = named_by_variable(self._context7) if self._context7 else ()
        if handed_in:  # variables are the client's to fill in
            named += SettingsReader("client", {}).parse(handed_in.encode(), "the editor")
        self._pool = ServerPool(self._files.files(), self._surroundings(), named)
        return self._pool

    def _logins(self) -> "Logins":
        """Where logins are kept."""
        from sam_tui.adapters.mcp_client import Logins
        from sam_tui.settings.keys import PrivateTexts

        folder = os.path.join(self._folders.data_dir, "mcp-logins")
        return Logins(folder, self._options.browse, self._parts.shield.learn, PrivateTexts())

    @property
    def _context7(self) -> str:
        """The address of Context7 in the environment; not where only named files count."""
        url = self._parts.environ.get(_CONTEXT7, "").strip()
        return "" if self._options.strict_mcp_config else url

    def _documentation(self) -> "tuple[Offer, ...]":
        """The tool over Context7, as long as such a server is named and comes up: the same each time."""
        pool = self._pool or self._made()
        if pool is None:
            return ()
        from sam_tui.adapters.mcp_client.documentation import SERVER, documentation_offer

        connection = pool.connection(SERVER)
        if connection is None or connection.lost:
            return ()
        if not self._over_context7:
            self._over_context7 = (documentation_offer(lambda: pool.connection(SERVER)),)
        return self._over_context7

    def _surroundings(self) -> "ServerSurroundings":
        from sam_tui.adapters.mcp_client import RememberedTools, ServerSurroundings

        parts = self._parts
        return ServerSurroundings(
            RememberedTools(os.path.join(self._folders.data_dir, "mcp-tools")),
            parts.workspace.root,
            parts.workspace.roots,
            lambda: parts.piped,
            self._url_guard,
            self._admit,
            self._ask,
            self._sampling and self._sampling.answer,
            self._files.believes,
            lambda: self._guard.policy.mode != "bypass",
            parts.clock.monotonic,
            self._logins(),
        )

    def _url_guard(self, settings: "ServerSettings") -> "UrlGuard":
        """What a person's own file names may be on this machine; all else is public, or in ``local``."""
        from sam_tui.adapters.mcp_client.http_transport import names_address, origin_of
        from sam_tui.adapters.web import GuardedWeb

        own = settings.source in ("user", "flag")
        named = frozenset({origin_of(settings.url)} if own else ())
        local = frozenset(self._parts.configuration.layers.local)
        if names_address(settings.url):
            return GuardedWeb(allowed=local | named)
        return GuardedWeb(allowed=local, named=named)

    async def _admit(self, settings: "ServerSettings", callers: "Callers") -> "ServerTerms":
        """How a server may be started. Raises ``ToolError`` where the guard refuses."""
        from sam_tui.adapters.mcp_client import ServerTerms

        guard, handed_in = self._guard, settings.source == "client"
        if settings.url:
            access = LocatedAccess(Fetch(settings.url, "url", configured=True), None)
            judged = guard.policy.judge(access, CONNECT)
            if judged.outcome == "deny":
                raise ToolError(f"it may not be reached: {judged.reason} (rule {judged.rule})")
            if handed_in:
                await self._confirm(settings, callers(), access)
            return ServerTerms(True, (), "on", None)
        access = LocatedAccess(CommandAccess(settings.line), None)
        if handed_in and guard.policy.judge(access, START).outcome != "deny":
            await self._confirm(settings, callers(), access)
        else:
            await self._allow(settings, callers(), access)
        network = guard.network_of((access,), lasting=False)
        asks = self._asks(settings.name, callers)
        readable = self._named(settings) if settings.source in ("user", "flag", "bundle") else ()
        return ServerTerms(guard.policy.mode != "bypass", guard.writable, network, asks, readable)

    def _named(self, settings: "ServerSettings") -> tuple[str, ...]:
        """What a server of the person's has to read to start, or one of a bundle."""
        if settings.source == "bundle":
            return (bundle_of(settings),)
        from sam_tui.adapters.policy.readable_paths import NamedReads

        words, workspace = (settings.command, *settings.args), self._parts.workspace
        named = NamedReads(self._folders.home, workspace.roots)
        return named.of((*words, *settings.env.values()), settings.cwd or workspace.root)

    async def _confirm(
        self, settings: "ServerSettings", caller: "Caller", access: LocatedAccess
    ) -> None:
        """No file of the person's names what a client hands in: they are asked at each start."""
        if self._guard.policy.mode == "bypass":
            return
        request = Request(
            caller.conversation,
            caller.call,
            CONNECT if settings.url else START,
            f"use the MCP server {settings.name}, which the editor passes in",
            (access,),
            tuple,
            once="this server, until it ends",
        )
        why = "it would run with the agent, and the model could call its tools"
        decision = await self._guard.confirm(request, why, "handed-in")
        self._executor.record(caller.conversation, caller.call, decision, (access,))
        if not decision.allowed:
            raise ToolError(f"it may not be used: {decision.reason} (rule {decision.rule})")

    async def _allow(
        self, settings: "ServerSettings", caller: "Caller", access: LocatedAccess
    ) -> None:
        """Judge the command line of a server like any other command. Plan mode lets a confined server
        start, and refuses its tools."""
        policy = self._guard.policy
        if policy.mode == "plan" and policy.confined:
            unplanned = replace(policy, mode="ask")
            if unplanned.judge(access, START).outcome == "allow":
                return
        decision = await self._executor.decide(
            Request(
                caller.conversation,
                caller.call,
                START,
                f"start the MCP server {settings.name} ({settings.file})",
                (access,),
                tuple,
                then="The guard asks about its tools one by one.",
            )
        )
        if not decision.allowed:
            remark = f": {decision.comment}" if decision.comment else ""
            raise ToolError(
                f"it may not be started: {decision.reason}{remark} (rule {decision.rule})"
            )

    def _asks(self, name: str, callers: "Callers") -> "AskOutside":
        """Asks the person about a server's accesses outside, in the name of the call that it works on."""
        executor = self._executor
        last: list[tuple[Caller, Callable[[OutsideAccess], Awaitable[OutsideAnswer]]]] = []

        async def ask(access: "OutsideAccess") -> "OutsideAnswer":
            caller = callers()
            if not last or last[0][0] != caller:
                run = CommandRun(
                    caller.conversation,
                    caller.call,
                    START,
                    f"MCP server {name}",
                    lasting=True,
                    lasts="the server",
                )
                last[:] = [(caller, executor.questions(run).ask)]
            return await last[0][1](access)

        return ask

    async def _ask(self, caller: "Caller", question: Question) -> str | None:
        outcome = await self._inquiries.ask(caller.conversation, caller.call, question)
        return outcome.answer.text if isinstance(outcome.answer, Reply) else None
