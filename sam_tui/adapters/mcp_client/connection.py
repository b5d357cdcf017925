"""One server: started in the background, called while it lives, started again when it has died."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sam_tui.adapters.mcp_client.connection_context import (
    Caller,
    Refusal,
    ServerSurroundings,
    agrees_to_change,
    load_lifetime,
    program_request,
)
from sam_tui.adapters.mcp_client.logins.refusals import Browse, CallLogins, LoginRequired
from sam_tui.adapters.mcp_client.reports import report_of
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.tool_descriptions import FittedServer, RawTool, fitted, plain
from sam_tui.core.accesses import Access, Fetch, Use
from sam_tui.core.agent.drivers.sampling import Sampled, SamplingRequest
from sam_tui.core.errors import SamError, ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Question
from sam_tui.core.ports.processes.piped import PipedProgram
from sam_tui.core.ports.servers import ServerNames, ServerReport, ServerStanding, TypedValue
from sam_tui.core.tooling.contract import ToolContext, ToolResult

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.lifetime import Life

STARTS, WITHIN = 4, 300.0
"""The most starts of a server's program, and the seconds in which they are counted."""
AGAIN_AFTER, AT_MOST = 60.0, 960.0
"""Seconds until the next message repeats a failed start; they double each time up to ``AT_MOST``."""
_END_SECONDS = 8.0
_INSTRUCTIONS = 4_000
_LOG = 16_000
"""The most characters of standard error that are stored: the last ones."""
_MODES = ("auto", "legacy")
"""The SDK's modes, in the order of attempts: ``legacy`` if a program ended at once on the newer one."""
_NO_CALLER = Caller(ConversationId("mcp"), CallId("mcp"))
"""The caller of a start that no conversation requested."""


class Connection:
    """The ``Host`` of a server's tools. Starts the server on ``begin`` or a call."""

    def __init__(self, settings: ServerSettings, around: ServerSurroundings) -> None:
        self.settings = settings
        self.fitted = FittedServer()
        self.caller = _NO_CALLER
        """The last conversation that sent a message or made a call."""
        self._around = around
        self._error = settings.fault
        self._standing: ServerStanding = "failed" if settings.fault else "waiting"
        self._log = ""
        self._greeting = ("", "")
        self._stale = False
        self._refreshing = asyncio.Lock()
        self._free = False
        self._life: Life | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._settled = asyncio.Event()
        self._calls: list[Caller] = []
        self._starts: list[float] = []
        self._came_once = False
        self._failures = 0
        """The number of failed starts since the last successful one."""
        recalled = around.remembered.recall(settings) if self.usable else None
        self.tools_known = recalled is not None
        """Whether the tools are known: from this start of the server or from an earlier one."""
        if recalled is not None:
            self.fitted = fitted(settings.name, recalled)
        self._logins = CallLogins(settings.name, self.log_in)
        self._login_required: LoginRequired | None = None
        self._approved = around.remembered.approved(settings) if self.usable else {}

    @property
    def name(self) -> str:
        """The server's name."""
        return self.settings.name

    @property
    def url(self) -> str:
        """The scheme, host and port of a server over HTTP; else empty. The rest of a URL may hold a
        token."""
        return self.settings.site

    @property
    def usable(self) -> bool:
        """Whether the settings are without fault and do not disable the server."""
        return not (self.settings.disabled or self.settings.fault)

    @property
    def busy(self) -> bool:
        """Whether a call is running."""
        return bool(self._calls)

    @property
    def started(self) -> bool:
        """Whether a task runs or ran that ``close`` has to end."""
        return self._task is not None

    @property
    def lost(self) -> bool:
        """Whether the server failed to start and never ran."""
        return self._standing == "failed" and not self._came_once

    @property
    def offered(self) -> FittedServer:
        """The server's tools, also while it starts; none after a first start that failed."""
        return FittedServer() if self.lost or not self.usable else self.fitted

    @property
    def tool_names(self) -> frozenset[str]:
        """The server's tools by the names that it gives them; empty before it listed them."""
        return frozenset(tool.raw for tool in self.offered.tools)

    def accesses(self, *tools: str) -> tuple[Access, ...]:
        """Return the accesses of calls of these tools, by the server's present description of them."""
        destructive = {tool.raw for tool in self.fitted.tools if tool.destructive}
        used = [Use(self.name, tool, tool in destructive) for tool in tools]
        return (*used, Fetch(self.url, "server", configured=True)) if self.url else tuple(used)

    def _digest(self, tool: str) -> str:
        """The digest of a tool as the server describes it now; empty without one."""
        return next((t.digest for t in self.fitted.tools if t.raw == tool), "")

    @property
    def due(self) -> bool:
        """Whether to start the server: for the first time, or again some time after a failed start."""
        if not self.usable or self._standing not in ("waiting", "failed"):
            return False
        pause = min(AGAIN_AFTER * 2 ** max(0, self._failures - 1), AT_MOST)
        return not self._starts or self._around.monotonic() - self._starts[-1] > pause

    @property
    def report(self) -> ServerReport:
        """The server's state, tools, log and last error for lists of servers."""
        standing = "disabled" if self.settings.disabled else self._standing
        report = report_of(self.settings, standing, fitted=self.offered, error=self._error)
        return replace(
            report, log=self._log, version=self._greeting[0], instructions=self._greeting[1]
        )

    def begin(self) -> None:
        """Start the server in the background unless it runs, is disabled or its settings are faulty."""
        if not self.usable or (self._task is not None and not self._task.done()):
            return
        self._over, self._settled = asyncio.Event(), asyncio.Event()
        self._standing, self._error, self._login_required = "starting", "", None
        self._stale = False
        self._failures += 1  # until it has come up
        self._starts.append(self._around.monotonic())
        self._task = asyncio.get_running_loop().create_task(self._live())

    async def settled(self) -> None:
        """Wait until the server is no longer starting."""
        if self._task is not None:
            await self._settled.wait()

    async def introduced(self) -> None:
        """Wait for the server's tools, unless they are known or its start failed twice."""
        if not self.tools_known and len(self._starts) < 2:
            await self.settled()

    async def refresh(self) -> None:
        """Request the list of tools again if the server announced a change since the last one."""
        async with self._refreshing:  # a call beside this one is judged by the new list, too
            if not self._stale or self._life is None:
                return
            self._stale = False  # a change that is announced from now on is another one
            tools = await self._life.listed()
            if tools is not None:
                self._take(tools)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolResult:
        """Call a tool; a server that died is started first. Raises ``ToolError``."""
        if not self._around.believes(self.settings):
            raise ToolError(f"{self.settings.file}, which names {self.name}, is no longer trusted.")
        caller = Caller(context.conversation, context.call)
        self.caller, judged = caller, self._digest(tool)
        self._calls.append(caller)
        logins = self._logins.count
        try:
            try:
                return await self._called(tool, judged, arguments, context)
            except LoginRequired as refused:
                ask = partial(self._around.ask, caller)
                await self._logins.obtain(required := refused, logins, ask)
                self._stale = True  # it may offer more now
            result = await self._called(tool, judged, arguments, context)
            self._logins.settle(required)
            return result
        finally:
            self._calls.remove(caller)

    async def _called(
        self, tool: str, judged: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolResult:
        life = await self._alive()
        from sam_tui.adapters.mcp_client.lifetime import Lost

        await self._insist_unchanged(tool, judged, context)
        try:
            return await life.call(tool, arguments, context.emit)
        except Lost:
            await self._gone()
            why = self._error or "its connection broke"
            raise ToolError(
                f"The MCP server {self.name} ended during the call: {why}.",
                hint="Whether the call took effect is not known. The next call starts the "
                "server again.",
            ) from None

    async def log_in(self, browse: Browse, refusal: Refusal | None = None) -> None:
        """Have the person log in over a separate connection, as ``refusal`` or the stored one requires.
        Raises ``ToolError``."""
        logins = replace(self._around.logins, browse=browse, refusal=refusal)
        asking = Connection(self.settings, replace(self._around, logins=logins))
        try:
            asking.begin()
            await asking.settled()
            report = asking.report
        finally:
            await asking.close()
        if report.standing != "ready":
            raise ToolError(report.error or "it ended")

    async def names(self) -> ServerNames:
        """The resources and prompts that a message may name; empty while the server does not run."""
        life = self._life if self._around.believes(self.settings) else None
        return (await life.names() if life is not None else None) or ServerNames()

    async def complete(self, typed: TypedValue) -> Sequence[str]:
        """The server's proposals for a half-typed value; empty while it does not run."""
        life = self._life if self._around.believes(self.settings) else None
        return (await life.complete(typed) if life is not None else None) or ()

    async def _insist_unchanged(self, tool: str, judged: str, context: ToolContext) -> None:
        """Ask the person if a tool changed since it was first allowed, or since this call was ``judged``.
        Raises ``ToolError``."""
        await self.refresh()
        now = self._digest(tool)
        before = self._approved.get(tool, judged or now)
        before = judged if judged.startswith(f"{before}.") else before
        unchanged = before in (now, now.partition(".")[0])  # older files have no hints
        if not unchanged and not await agrees_to_change(self.name, tool, now, context.permit.host):
            raise ToolError(
                f"The MCP server {self.name} changed its tool {plain(tool, 64)} since it was allowed, and"
                " the person did not agree to the change."
            )
        if self._approved.get(tool) != now:
            self._approved[tool] = now
            self._around.remembered.approve(self.settings, self._approved)

    async def close(self) -> None:
        """End the server and every process that it started."""
        task = self._task
        if task is None:
            return
        self._over.set()
        if not self._settled.is_set():
            task.cancel()
        await asyncio.wait([task], timeout=_END_SECONDS)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def _alive(self) -> "Life":
        """The running server, started again after its end at most ``STARTS`` times in ``WITHIN``."""
        await self.settled()
        if self._free and self._around.confines():
            self._over.set()  # it was started when nothing was held
            await self._gone()
        if self._life is None or not self._life.ready:
            await self._gone()
            since = self._around.monotonic() - WITHIN
            self._starts = [at for at in self._starts if at > since]
            if len(self._starts) >= STARTS:
                raise ToolError(
                    f"The MCP server {self.name} was started {len(self._starts)} times within "
                    f"{WITHIN / 60:g} minutes, and is not started again: {self._error}."
                )
            self.begin()
            await self.settled()
        if self._life is None or not self._life.ready:
            raise self._absence
        return self._life

    @property
    def _absence(self) -> ToolError:
        """Return the error for a server that does not run."""
        words = f"The MCP server {self.name} does not run: {self._error}."
        return self._login_required or ToolError(words)

    async def _gone(self) -> None:
        """Wait for the end of the task that serves."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _live(self) -> None:
        """Start, serve and end the server in one task: the SDK's contexts end in the task that entered
        them."""
        ready, program = False, None
        try:
            terms = await self._around.admit(self.settings, self._caller)
            self._free = not terms.confined
            for mode in _MODES:
                if not self.settings.url:
                    self._log = ""  # it comes up while the SDK is loaded
                    program = await self._around.programs().start(
                        program_request(self.settings, terms, self._around.root, self._hear)
                    )
                ended_at_once = await self._lived(mode, program)
                if program is None or not ended_at_once:
                    break
                await program.stop()
                self._over = asyncio.Event()
            ready = not self._error
        except SamError as error:
            self._error = error.explain()
        except OSError as error:
            self._error = f"it could not be started: {error.strerror or error}"
        finally:
            if program is not None:
                await program.stop()
            came = self._standing == "ready"
            self._standing = "ended" if came or ready else "failed"
            self._life = None
            self._settled.set()

    async def _lived(self, mode: str, program: PipedProgram | None) -> bool:
        """Serve from start to end; true if the server ended before it answered."""
        module = await asyncio.to_thread(load_lifetime)
        handlers = module.mcp_session.ClientHandlers(
            self.name,
            self._around.roots,
            self._changed,
            self._ask,
            self._sample if self._around.sample is not None else None,
            self._hear,
            lambda: self._log,
        )
        self._life = life = module.Life(
            self.settings, self._around, handlers, self._over, program, mode=mode
        )
        self._error = await life.run(self._came)
        self._login_required = life.login_required
        return self._standing == "starting" and life.died

    def _came(self, tools: Sequence[RawTool]) -> None:
        assert self._life is not None
        version, instructions = self._life.greeting
        self._greeting = (version, plain(instructions, _INSTRUCTIONS))
        self._take(tools)
        self._came_once, self._failures, self._standing = True, 0, "ready"
        self._settled.set()

    def _take(self, tools: Sequence[RawTool]) -> None:
        """Take a list of tools; the fitted tools are replaced only if the list differs."""
        self.tools_known = True
        tools = self._around.masked(tools)
        tools_fitted = fitted(self.name, tools)
        if tools_fitted != self.fitted:
            self.fitted = tools_fitted
        self._around.remembered.keep(self.settings, tools)

    def _changed(self) -> None:
        """Note that the server announced a change; the next use requests the tools again."""
        self._stale = True

    def _hear(self, text: str) -> None:
        self._log = (self._log + text)[-_LOG:]

    def _caller(self) -> Caller:
        """The conversation for which the server acts: of several calls at once, the latest."""
        return self._calls[-1] if self._calls else self.caller

    async def _ask(self, question: Question) -> str | None:
        """Put a question of the server to the person; None while no call is running."""
        return await self._around.ask(self._calls[-1], question) if self._calls else None

    async def _sample(self, sampling: SamplingRequest) -> Sampled:
        """Have the model answer the server while a call is running. Raises ``SamError``."""
        if not self._calls or self._around.sample is None:
            raise ToolError("No call waits for this server.")
        caller = self._calls[-1]
        return await self._around.sample(caller.conversation, caller.call, sampling)
