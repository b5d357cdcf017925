"""Access to a workbench: an invitation makes a login, and a login a ticket for each page.

An invitation is in the address that a person opens, and browsers keep addresses: it is good once.
A login is two secrets. The cookie is ``HttpOnly``, but a browser sends the cookies of 127.0.0.1 to every
port of it, so to any other server of this machine as well, such as one that the agent started. The key
lies in the page's storage, which belongs to this port alone, and no script of another page reads it.
Both together make a ticket, good once and for half a minute, and a ticket with the same cookie opens
a workbench.
"""

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Middleware

from sam_tui.loopback.access import Addresses, has_secret

INVITATION = "/invitation"
UNINVITED = "Open the newest address that sam-tui serve printed: each works once."
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), clipboard-read=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self';"
    " img-src data:; connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
"""Allows no content of other origins. The page's terminal puts its colours into style elements."""
MOST_LOGINS = 64
"""The most invitations, logins or tickets at the same time; the oldest is dropped for a new one."""
TICKET_SECONDS = 30.0

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HasSecret = Callable[[str], bool]
"""Whether a request contains a secret."""


@dataclass(frozen=True, slots=True)
class Login:
    """The two secrets of a browser that was invited."""

    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class PageLogins:
    """The logins of pages, in this process alone. ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._invitations: OrderedDict[str, None] = OrderedDict()
        self._logins: OrderedDict[str, Login] = OrderedDict()
        self._tickets: OrderedDict[str, tuple[Login, float]] = OrderedDict()

    def invitation(self) -> str:
        """A new invitation, good for one login."""
        invitation = secrets.token_urlsafe(32)
        self._invitations[invitation] = None
        while len(self._invitations) > MOST_LOGINS:
            self._invitations.popitem(last=False)
        return invitation

    def login(self, has_secret: HasSecret) -> Login | None:
        """A new login for an invitation, which is used with that."""
        invitation = next(filter(has_secret, self._invitations), None)
        if invitation is None:
            return None
        del self._invitations[invitation]
        login = Login()
        self._logins[login.cookie] = login
        while len(self._logins) > MOST_LOGINS:
            self._logins.popitem(last=False)
        return login

    def ticket(self, cookie: str, has_secret: HasSecret) -> str | None:
        """Return a ticket for the login of this cookie, if its key is given as well."""
        login = self._login_of(cookie)
        if login is None or not has_secret(login.key):
            return None
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = login, self._clock() + TICKET_SECONDS
        while len(self._tickets) > MOST_LOGINS:
            self._tickets.popitem(last=False)
        return ticket

    def admits(self, ticket: str, cookie: str) -> bool:
        """Whether a ticket is good with this cookie; it is not a second time."""
        login, until = self._tickets.pop(ticket, (None, 0.0))
        return login is not None and self._clock() <= until and login is self._login_of(cookie)

    def _login_of(self, cookie: str) -> Login | None:
        for login in self._logins.values():
            if hmac.compare_digest(login.cookie.encode(), cookie.encode("utf-8", "replace")):
                return login
        return None


class PageAccess:
    """The same over HTTP: checks of every request, and the answers that make invitations and logins.

    ``token`` makes invitations. ``on_invitation`` gets one, and another whenever one was used.
    """

    def __init__(
        self, addresses: Addresses, token: str, on_invitation: Callable[[str], None], cookie: str
    ) -> None:
        self._addresses = addresses
        self._token = token
        self._on_invitation = on_invitation
        self._cookie = cookie
        self._logins = PageLogins()

    def announce(self) -> None:
        """Make an invitation and tell of it."""
        self._on_invitation(self._logins.invitation())

    def guard(self, files: frozenset[str]) -> Middleware:
        """Refuses a request to another host name or from another page, before it is processed.

        ``files`` are paths that are served without a page that asks for them.
        """

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            from_page = request.path not in (*files, INVITATION)
            refusal = self._addresses.refusal(request.raw_headers, from_page=from_page)
            if refusal is not None:
                return refused(*refusal)
            try:
                response = await handler(request)
            except web.HTTPException as error:
                return refused(error.status, error.reason)
            if not response.prepared:
                response.headers.update(_HEADERS)
                response.headers["Content-Security-Policy"] = _POLICY.format(host=request.host)
            return response

        return check

    async def invite(self, request: web.Request) -> web.Response:
        """The token for an address to open."""
        if not has_secret(request.raw_headers, self._token):
            return refused(401, "Send the token of this server as Authorization: Bearer.")
        return web.json_response({"path": f"/#{self._logins.invitation()}"})

    async def login(self, request: web.Request) -> web.Response:
        """An invitation for a cookie and a key."""
        login = self._logins.login(partial(has_secret, request.raw_headers))
        if login is None:
            return refused(401, UNINVITED)
        self.announce()
        response = web.json_response({"key": login.key})
        secure = request.headers["Origin"].lower().startswith("https:")
        response.set_cookie(
            self._cookie, login.cookie, httponly=True, samesite="Strict", secure=secure
        )
        return response

    def ticket(self, request: web.Request) -> str | None:
        """A ticket for a page with both secrets of a login."""
        return self._logins.ticket(
            self._cookie_of(request), partial(has_secret, request.raw_headers)
        )

    def admits(self, request: web.Request) -> bool:
        """Whether a request has a good ticket, which is used with that."""
        return self._logins.admits(request.match_info["ticket"], self._cookie_of(request))

    def _cookie_of(self, request: web.Request) -> str:
        return request.cookies.get(self._cookie, "")


def refused(status: int, why: str) -> web.Response:
    """A response with the reason of a refusal."""
    return web.json_response({"error": why}, status=status, headers=_HEADERS)
