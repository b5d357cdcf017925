"""A small MCP server over HTTP on loopback, which keeps what it was sent and can misbehave."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL = {"name": "echo", "description": "Say it back.", "inputSchema": {"type": "object"}}


class Site(ThreadingHTTPServer):
    """What came, and what is to happen. ``/moved`` redirects to ``elsewhere``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.headers: list[dict[str, str]] = []
        self.elsewhere = ""
        self.session = "first"
        self.encoding = ""
        self.flood = b""
        """What a call is answered with, over and over, as a stream of events."""
        self.flooded = 0
        self.lists: dict[str, list[Any]] = {"tools/list": [TOOL]}

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/mcp"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Site  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        """A message."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        given = self.headers.get("mcp-session-id", "")
        if self.path == "/moved":
            self._send(307, None, {"Location": self.server.elsewhere})
        elif self.path == "/closed":
            self._send(401, None)
        elif given and given != self.server.session:
            self._send(404, None)
        elif message["method"] == "tools/call" and self.server.flood:
            self._flood()
        elif "id" not in message:
            self._send(202, None)
        else:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)}
            self._send(200, answer, {"Mcp-Session-Id": self.server.session})

    def do_GET(self) -> None:
        """There is no stream of events."""
        self._send(405, None)

    def do_DELETE(self) -> None:
        """The end of a session."""
        self._send(200, None)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                about = {"name": "http", "version": "1"}
                offered: dict[str, Any] = {name.split("/")[0]: {} for name in self.server.lists}
                common: dict[str, Any] = {"capabilities": offered, "serverInfo": about}
                return {"protocolVersion": "2025-11-25", **common}
            case method if method in self.server.lists:
                kind = method.split("/")[-2].replace("templates", "resourceTemplates")
                return {kind: self.server.lists[method]}
            case _:
                text = json.dumps(message["params"].get("arguments") or {})
                return {"content": [{"type": "text", "text": text}]}

    def _flood(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            while self.server.flooded < 200_000_000:
                self.wfile.write(self.server.flood)
                self.server.flooded += len(self.server.flood)
        except OSError:
            pass
        self.close_connection = True

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if data:
            self.send_header("Content-Type", "application/json")
        if self.server.encoding:
            self.send_header("Content-Encoding", self.server.encoding)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving() -> Generator[Site]:
    """One that serves."""
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
