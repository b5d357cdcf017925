"""A server over HTTP that wants a login, with its authorization server beside it on the same port."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.proof_checks import ProofChecks

TOOL = {"name": "echo", "description": "Say it back.", "inputSchema": {"type": "object"}}


class LoginSite(ThreadingHTTPServer):
    """``valid`` are the access tokens that count; ``forms`` is what came to the token endpoint."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), LoginHandler)
        self.valid: set[str] = set()
        self.forms: list[dict[str, str]] = []
        self.registered: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.lasts = 3600
        self.refresh = ""
        """The one token that is good for a refresh."""
        self.resource = ""
        """What the metadata say this is; empty for the truth."""
        self.challenged_scope = ""
        """The scope that a refused message asks for."""
        self.call_scope = ""
        """The scope that a call of a tool requires."""
        self.scopes: dict[str, str] = {}
        """What each access token was granted."""
        self.authorization = ""
        """Another server that they send a person to."""
        self.about: dict[str, Any] = {}
        """What the metadata of the server itself say otherwise."""
        self.metadata: dict[str, Any] = {}
        """What the metadata of the authorization server say otherwise."""
        self.refusal = ""
        """Why nobody is registered."""
        self.over = threading.Event()
        self.drips = ""
        """How metadata begin that come a byte at a time and never end."""
        self.token = ""
        """The access token that is handed out in place of a good one."""
        self.anonymous = False
        """Whether all but calls of tools is answered without a login."""
        self.at_token: Callable[[], None] | None = None
        """What happens while tokens are requested."""
        self.at_call: Callable[[], object] | None = None
        """What happens when a call of a tool comes."""
        self.call_status = 0
        """What calls of tools are refused with."""
        self.streams: list[BufferedIOBase] = []
        """Where answers go to messages that come over the transport of before 2025."""
        self.calls = 0
        """Calls of tools that came, refused ones, too."""
        self.checks: ProofChecks | None = None
        """What it checks where it accepts nothing but tokens that are bound to a key."""
        self.proofs: list[str] = []
        """Every proof that came, to whatever address."""
        self.clients: list[str] = []
        """How clients authenticated at the token endpoint."""
        self.issued: dict[str, str] = {}
        """What answers with tokens say otherwise."""

    @property
    def base(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        """Where the protocol is spoken."""
        return f"{self.base}/mcp"


class LoginHandler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: LoginSite  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        """Metadata, and the page, whose person agrees at once."""
        target, site = urlsplit(self.path), self.server
        if site.drips:
            self._drip(site.drips)
        elif target.path.startswith("/.well-known/oauth-protected-resource"):
            servers = [site.authorization or site.base]
            resource = {"resource": site.resource or site.url, "authorization_servers": servers}
            self._send(200, {**resource, **site.about})
        elif target.path.startswith("/.well-known/"):
            self._send(200, self._metadata())
        elif target.path == "/sse":
            self._stream()
        elif target.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(target.query).items()}
            site.queries.append(query)
            answer = urlencode({"code": "the-code", "state": query["state"], "iss": site.base})
            self._send(302, None, Location=f"{query['redirect_uri']}?{answer}")
        else:
            self._send(405, None)

    def do_POST(self) -> None:
        """A message, a registration, or a wish for tokens."""
        body, site = self.rfile.read(int(self.headers["content-length"])), self.server
        site.proofs += self.headers.get_all("dpop", [])
        match self.path:
            case "/register" if site.refusal:
                self._send(400, {"error": "invalid_client_metadata", "reason": site.refusal})
            case "/register":
                client = json.loads(body)
                site.registered.append(client)
                manages = {"registration_client_uri": f"{site.base}/register/made-for-us"}
                token = {"registration_access_token": "manages-a1B2c3D4e5F6"}
                self._send(201, {**client, "client_id": "made-for-us", **manages, **token})
            case "/token":
                form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                site.clients.append(self.headers.get("authorization", ""))
                if self._proof_refused(f"{site.base}/token"):
                    return
                site.forms.append(form)
                if site.at_token is not None:
                    site.at_token()
                number = len(site.forms)
                if form.get("refresh_token", site.refresh) != site.refresh:
                    self._send(400, {"error": "invalid_grant"})  # each is good for one refresh
                    return
                token = site.token or f"access-token-{number}-a1B2c3D4e5F6"
                site.valid = {token}
                asked = form.get("scope") or (site.queries[-1:] or [{}])[0].get("scope", "")
                site.scopes[token] = asked
                site.refresh = f"refresh-token-{number}-a1B2c3D4e5F6"
                kind = "Bearer"
                if site.checks is not None and site.checks.binds:
                    site.checks.bound[token], kind = site.checks.keys[-1], "DPoP"
                self._send(200, {"access_token": token, "token_type": kind, "expires_in": site.lasts,
                                 "refresh_token": site.refresh, **site.issued})  # fmt: skip
            case _:
                self._speak(json.loads(body))

    def do_DELETE(self) -> None:
        """The end of a session, or of a registration."""
        if self.path.startswith("/register/"):
            self.server.deleted.append(self.headers.get("authorization", ""))
        self._send(200, None)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _speak(self, message: dict[str, Any]) -> None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        calls = message["method"] == "tools/call"
        self.server.calls += calls
        if calls and self.server.at_call is not None:
            self.server.at_call()
        binds = self.server.checks is not None and self.server.checks.binds
        valid = token in self.server.valid and scheme == ("DPoP" if binds else "Bearer")
        if valid and self._proof_refused(self.server.url, token):
            return
        if calls and self.server.call_status:
            self._send(self.server.call_status, None)
        elif not valid and (calls or not self.server.anonymous):
            self._challenge()
        elif "id" not in message:
            self._send(202, None)
        elif calls and not self._reaches(token):
            error = f'Bearer error="insufficient_scope", scope="{self.server.call_scope}"'
            self._send(403, None, **{"WWW-Authenticate": error})
        else:
            self._answer({"jsonrpc": "2.0", "id": message["id"], **_answer(message)})

    def _answer(self, answer: dict[str, Any]) -> None:
        _, named, stream = self.path.partition("/messages/")
        if not named:
            self._send(200, answer)
            return
        self._send(202, None)
        self.server.streams[int(stream)].write(f"data: {json.dumps(answer)}\n\n".encode())

    def _stream(self) -> None:
        """The answers to messages, as events."""
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.server.anonymous and token not in self.server.valid:
            self._challenge()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.server.streams.append(self.wfile)
        place = f"/messages/{len(self.server.streams) - 1}"
        self.wfile.write(f"event: endpoint\ndata: {place}\n\n".encode())
        self.server.over.wait()
        self.close_connection = True

    def _challenge(self) -> None:
        metadata = f"{self.server.base}/.well-known/oauth-protected-resource/mcp"
        scope = f', scope="{self.server.challenged_scope}"' if self.server.challenged_scope else ""
        named = self.server.checks is not None and not self.server.about
        scheme = 'Bearer realm="x", DPoP' if named else "Bearer"
        challenge = {"WWW-Authenticate": f'{scheme} resource_metadata="{metadata}"{scope}'}
        self._send(401, None, **challenge)

    def _proof_refused(self, url: str, token: str = "") -> bool:
        """Whether the request was answered because of its proof."""
        checks = self.server.checks
        if checks is None or not checks.binds:
            return False
        fault = checks.fault(self.headers, "POST", url, token)
        if not fault:
            return False
        headers = {"DPoP-Nonce": checks.nonce} if checks.nonce else {}
        if token:
            headers["WWW-Authenticate"] = f'DPoP error="{fault}"'
        self._send(401 if token else 400, {"error": fault}, **headers)
        return True

    def _reaches(self, token: str) -> bool:
        granted = self.server.scopes.get(token, "").split()
        return set(self.server.call_scope.split()) <= set(granted)

    def _metadata(self) -> dict[str, Any]:
        base = self.server.base
        return {
            "issuer": base, "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token", "registration_endpoint": f"{base}/register",
            "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True, **self.server.metadata,
        }  # fmt: skip

    def _drip(self, head: str) -> None:
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + head.encode())
            while not self.server.over.wait(0.05):
                self.wfile.write(b"x")
        self.close_connection = True

    def _send(self, status: int, body: Any, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            about = {"name": "login", "version": "1"}
            common: dict[str, Any] = {"capabilities": {"tools": {}}, "serverInfo": about}
            return {"result": {"protocolVersion": "2025-11-25", **common}}
        case "tools/list":
            return {"result": {"tools": [TOOL]}}
        case "tools/call":
            text = json.dumps(message["params"].get("arguments") or {})
            return {"result": {"content": [{"type": "text", "text": text}]}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


@contextmanager
def login_site() -> Generator[LoginSite]:
    """One that serves."""
    with LoginSite() as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.over.set()
            site.shutdown()
            thread.join()
