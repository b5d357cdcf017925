"""Calls that a server refuses until a person logs in, and the questions that offer the login."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from sam_tui.adapters.mcp_client.connection_context import Refusal
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.core.errors import ToolError
from sam_tui.core.inquiry import Question

LOG_IN, NOT_NOW, GIVE_UP = "log in", "not now", "give up"
_MOST_OFFERS = 3
"""The most different refusals of one server for which the person is asked to log in."""
_LONGEST_SCOPES = 300
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x5f\x61-\x7e]+")
"""A scope (RFC 6749, 3.3) without backticks, because questions put scopes in backticks."""

Browse = Callable[[str], None]
"""Gets the address of a login page, in a thread other than the event loop's."""
Ask = Callable[[Question], Coroutine[Any, Any, str | None]]
"""Asks the person a question on behalf of one call."""


def login_words(server: str) -> str:
    """Return how the person logs in at a server, in words."""
    return f"sam-tui mcp login {server}, or /mcp in the workbench"


def scopes_of(text: str) -> tuple[str, ...]:
    """Return the scopes that a server names, as far as they can be shown; “…” stands for the rest."""
    whole = text if len(text) <= _LONGEST_SCOPES else text[:_LONGEST_SCOPES].rpartition(" ")[0]
    names = tuple(dict.fromkeys(_SCOPE.findall(whole)))
    return names if whole == text else (*names, "…")


class LoginRequired(ToolError):
    """A server refused a call until the person logs in; ``scopes`` are those that it named.

    ``wider`` says that the login has too few scopes. ``fixed`` is the scope of the server's entry:
    where there is one, no login brings more.
    """

    title = "The server requires a login"

    def __init__(self, server: str, refusal: dict[str, Any], *, fixed: str = "") -> None:
        self.refusal = Refusal(int(refusal["status"]), str(refusal["header"]))
        self.wider = self.refusal.status == 403
        self.scopes = scopes_of(str(refusal.get("scope", "")))
        self.fixed = fixed if self.wider else ""
        named = f" ({' '.join(self.scopes)})" if self.scopes else ""
        what = f"more scopes than this login has{named}" if self.wider else "a login"
        change = f"change “scope” ({fixed}) of its entry, then " if self.fixed else ""
        super().__init__(f"The MCP server {server} requires {what}: {change}{login_words(server)}")

    @property
    def key(self) -> tuple[bool, tuple[str, ...]]:
        """Equal for refusals that one login settles."""
        return self.wider, self.scopes

    @classmethod
    def of(cls, settings: ServerSettings, data: object, mark: str) -> "LoginRequired | None":
        """The refusal in an error that the transport made, recognised by ``mark``, which no server knows.
        None for any other error, and if a person's login would not help."""
        refusal = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        signed = any(name.lower() == "authorization" for name in settings.headers)
        forged = not mark or refusal.get("mark") != mark
        if forged or signed or settings.oauth.by_itself:
            return None
        return cls(settings.name, refusal, fixed=settings.oauth.scope)


class CallLogins:
    """Has the person log in at one server while calls wait for that; each refusal is offered once, and
    again after a login that settled it."""

    def __init__(
        self,
        server: str,
        log_in: Callable[[Browse, Refusal], Awaitable[None]],
    ) -> None:
        self._server = server
        self._log_in = log_in
        self._lock = asyncio.Lock()
        self._offered: set[tuple[bool, tuple[str, ...]]] = set()
        self.count = 0
        """The number of logins that were made because of refusals."""

    async def obtain(self, required: LoginRequired, count: int, ask: Ask) -> None:
        """Return once there is a login later than ``count``. Raises ``ToolError`` if there is none."""
        async with self._lock:
            if self.count != count:
                return  # made for another call, meanwhile
            refusal = required.key
            if required.fixed or refusal in self._offered or len(self._offered) >= _MOST_OFFERS:
                raise required
            self._offered.add(refusal)
            try:
                if await ask(self._question(required)) != LOG_IN:
                    raise required
                await self._logged_in(required, ask)
            except asyncio.CancelledError:
                self.settle(required)  # unanswered: a call that waits here may ask
                raise
            self.count += 1

    def settle(self, required: LoginRequired) -> None:
        """Have the refusal offered when it comes again: a login may end."""
        self._offered.discard(required.key)

    def _question(self, required: LoginRequired) -> Question:
        scopes = " ".join(f"`{scope}`" for scope in required.scopes)
        more = f"more scopes than your login has: {scopes}" if required.wider else "a login"
        named = f" with the scopes {scopes}" if scopes and not required.wider else ""
        return Question(
            f"The MCP server {self._server} refused a call: it requires {more}{named}. Log in now?",
            f"“{LOG_IN}” shows the address of its login page. After the login the call is repeated, once.",
            (LOG_IN, NOT_NOW),
        )

    async def _logged_in(self, required: LoginRequired, ask: Ask) -> None:
        """Log in, with each page shown until the next one or the end. Raises ``ToolError``."""
        pages: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def browse(page: str) -> None:
            loop.call_soon_threadsafe(pages.put_nowait, page)

        async with asyncio.TaskGroup() as group:
            login = group.create_task(_failure(self._log_in(browse, required.refusal)))
            pages_open = group.create_task(self._show(pages, ask))
            await asyncio.wait((login, pages_open), return_when=asyncio.FIRST_COMPLETED)
            login.cancel()
            pages_open.cancel()
        if login.cancelled():
            raise required
        if (failure := login.result()) is not None:
            raise failure

    async def _show(self, pages: "asyncio.Queue[str]", ask: Ask) -> None:
        """Show the newest page until the person gives up."""
        page = await pages.get()
        while True:
            async with asyncio.TaskGroup() as group:
                question = group.create_task(ask(self._page_question(page)))
                following = group.create_task(pages.get())
                await asyncio.wait((question, following), return_when=asyncio.FIRST_COMPLETED)
                question.cancel()
                following.cancel()
            if not question.cancelled():
                return
            page = following.result()

    def _page_question(self, page: str) -> Question:
        scope = " ".join(parse_qs(urlsplit(page).query).get("scope", ()))
        scopes = " ".join(f"`{name}`" for name in scopes_of(scope))
        words = f"The page asks for the scopes {scopes}. " if scopes else ""
        return Question(
            f"Log in at the MCP server {self._server} on this page:",
            f"{page}\n\n{words}The call goes on when you have logged in.",
            (GIVE_UP,),
            page=page,
        )


async def _failure(work: Awaitable[None]) -> ToolError | None:
    """Return the error of some work; None if it succeeded."""
    try:
        await work
    except ToolError as error:
        return error
    return None
