"""The guard's judgement about MCP servers: how to start or reach one, and the questions to the person."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from sam_tui.adapters.mcp_client.servers.server_files import bundle_of
from sam_tui.core.accesses import CommandAccess, Fetch, LocatedAccess
from sam_tui.core.authorization.guard import Request
from sam_tui.core.authorization.outside_access import OutsideRun
from sam_tui.core.errors import ToolError
from sam_tui.core.inquiry import Question, Reply

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.connection_context import Caller, Callers, ServerTerms
    from sam_tui.adapters.mcp_client.settings import ServerSettings
    from sam_tui.core.authorization.guard import Guard
    from sam_tui.core.inquiries import Inquiries
    from sam_tui.core.ports.processes.sandbox import AskOutside, OutsideAccess, OutsideAnswer
    from sam_tui.core.ports.web import UrlGuard
    from sam_tui.core.tooling.executor import Executor

START = "mcp.start_server"
"""The operation of starting a server's program, as rules for it name it."""
CONNECT = "mcp.connect_server"


class UrlGuards(Protocol):
    """Makes the URL guard that lets requests reach these origins of this machine and of the web."""

    def __call__(
        self, *, allowed: frozenset[str] = ..., named: frozenset[str] = ...
    ) -> "UrlGuard": ...


@dataclass(frozen=True, slots=True)
class Admission:
    """Judges every server by the guard's policy.

    ``local`` are the origins of this machine that the person's policy opens. ``reads`` lists the
    files that a program reads to start, by its words and its folder.
    """

    guard: "Guard"
    executor: "Executor"
    inquiries: "Inquiries"
    local: frozenset[str]
    url_guards: UrlGuards
    reads: Callable[[Sequence[str], str], tuple[str, ...]]
    root: str

    def url_guard(self, settings: "ServerSettings") -> "UrlGuard":
        """Return the guard of a server's addresses; only own files and ``local`` permit private ones."""
        from sam_tui.adapters.mcp_client.transports.http_transport import names_address, origin_of

        own = settings.source in ("user", "flag")
        named = frozenset({origin_of(settings.url)} if own else ())
        if names_address(settings.url):
            return self.url_guards(allowed=self.local | named)
        return self.url_guards(allowed=self.local, named=named)

    def confines(self) -> bool:
        """Whether programs are held now."""
        return self.guard.policy.mode != "bypass"

    async def admit(self, settings: "ServerSettings", callers: "Callers") -> "ServerTerms":
        """Return the terms for starting a server. Raises ``ToolError`` if the guard refuses."""
        from sam_tui.adapters.mcp_client.connection_context import ServerTerms

        guard, handed_in = self.guard, settings.source == "client"
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
        return ServerTerms(self.confines(), guard.writable, network, asks, self._readable(settings))

    async def ask(self, caller: "Caller", question: Question) -> str | None:
        """Return the person's answer to a server's question; None if nobody answers."""
        outcome = await self.inquiries.ask(caller.conversation, caller.call, question)
        return outcome.answer.text if isinstance(outcome.answer, Reply) else None

    def _readable(self, settings: "ServerSettings") -> tuple[str, ...]:
        """The paths that a server of the person's, or of a bundle, reads to start."""
        if settings.source == "bundle":
            return (bundle_of(settings),)
        if settings.source not in ("user", "flag"):
            return ()
        words = (settings.command, *settings.args, *settings.env.values())
        return self.reads(words, settings.cwd or self.root)

    async def _confirm(
        self, settings: "ServerSettings", caller: "Caller", access: LocatedAccess
    ) -> None:
        """Ask the person at each start of a server that a client handed in: no file of theirs names it."""
        if self.guard.policy.mode == "bypass":
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
        decision = await self.guard.confirm(request, why, "handed-in")
        self.executor.record(caller.conversation, caller.call, decision, (access,))
        if not decision.allowed:
            raise ToolError(f"it may not be used: {decision.reason} (rule {decision.rule})")

    async def _allow(
        self, settings: "ServerSettings", caller: "Caller", access: LocatedAccess
    ) -> None:
        """Judge the command line of a server like any other command. Plan mode lets a confined server
        start, and refuses its tools."""
        policy = self.guard.policy
        if policy.mode == "plan" and policy.confined:
            unplanned = replace(policy, mode="ask")
            if unplanned.judge(access, START).outcome == "allow":
                return
        decision = await self.executor.decide(
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
        executor = self.executor
        last: list[tuple[Caller, Callable[[OutsideAccess], Awaitable[OutsideAnswer]]]] = []

        async def ask(access: "OutsideAccess") -> "OutsideAnswer":
            caller = callers()
            if not last or last[0][0] != caller:
                run = OutsideRun(
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
