"""A relay for proxies that the person's environment names: it asks about each host before it connects.

HTTP (RFC 9110, CONNECT and absolute addresses), SOCKS 4, 4a and 5 (RFC 1928, 1929). The relay writes each
request anew from what it read, so that the proxy cannot read it differently, and a connection carries one
request only. A request that the relay does not understand is not passed on.
"""

import functools
import re
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit, urlunsplit

from sam_tui.adapters.terminal.sandbox.network.allowed_hosts import Reach
from sam_tui.adapters.terminal.sandbox.network.dns import exactly
from sam_tui.adapters.terminal.sandbox.network.name_answers import aside
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.network.hosts import (
    address_of,
    ends_as_address,
    host_of_text,
    split_port,
    with_port,
)

_PATIENCE = 60.0
"""The most seconds for a request, and for its answer."""
_LONGEST_HEAD = 64 * 1024
_PIECE = 64 * 1024
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_REQUEST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_STATUS = re.compile(rb"HTTP/1\.[01] 2[0-9][0-9][ \r]")
_OF_CONNECTION = frozenset((
    b"host", b"connection", b"proxy-connection", b"keep-alive", b"te", b"trailer", b"upgrade",
    b"expect", b"content-length",
))  # fmt: skip
"""Header fields that concern one connection or are written again, and are therefore not passed on."""
_TO_PROXY = frozenset((b"proxy-authorization", b"user-agent"))
"""The only header fields that are sent with CONNECT."""
_CONNECT = 1
_NO_KEY, _BY_PASSWORD = 0, 2
"""Authentication methods of SOCKS 5: none, and user name with password."""

Connect = Callable[[], socket.socket]
Reachable = Callable[[str, int], bool]
"""Whether a host may be reached on a port. Blocks while the person is asked."""


def relay(client: socket.socket, connect: Connect, may: Reachable) -> None:
    """Serve one connection of a command to its end. Raises OSError and ValueError where that is broken.

    ``connect`` opens the connection to the proxy, once the host was allowed.
    """
    client.settimeout(_PATIENCE)
    speak = {b"\5": _socks5, b"\4": _socks4}.get(client.recv(1, socket.MSG_PEEK), _http)
    speak(client, connect, may)


class Relays:
    """The relays of one run, each on a thread of its own."""

    def __init__(
        self, watch: Watch, reach: Reach, on_loop: Callable[[Callable[[], None]], None]
    ) -> None:
        self._watch = watch
        self._reach = reach
        self._on_loop = on_loop
        self._closed = False
        self._pending: dict[threading.Event, None] = {}
        self._clients: dict[socket.socket, None] = {}

    def serve(self, client: socket.socket, *, connect: Connect, who: Mapping[str, object]) -> None:
        """Serve a connection that was meant for a proxy; ``who`` made it, in words."""

        def work() -> None:
            self._clients[client] = None
            try:
                with client:
                    relay(client, connect, functools.partial(self._may_reach, who))
            finally:
                del self._clients[client]

        if self._closed or not aside(work):
            client.close()

    def close(self) -> None:
        """The run is over."""
        self._closed = True
        for answered in tuple(self._pending):
            answered.set()
        for client in tuple(self._clients):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _may_reach(self, who: Mapping[str, object], host: str, port: int) -> bool:
        """Whether a proxy may be asked for a host; waits for the person."""
        if self._reach.hosts.hold(host, port):
            return True
        answered, answers = threading.Event(), list[bool]()
        wish = OutsideWish("connect", with_port(host, port))

        def answer(allowed: bool) -> None:
            answers.append(allowed)
            if not allowed:
                self._watch.note(who, wish)
            answered.set()

        self._pending[answered] = None
        if not self._closed:
            self._on_loop(lambda: self._watch.decide(who, wish, answer))
            answered.wait()
        del self._pending[answered]
        return answers == [True]


@dataclass(frozen=True, slots=True)
class _Request:
    """The head of a request, and the headers that go on."""

    method: bytes
    target: str
    headers: Sequence[tuple[bytes, bytes]]

    @classmethod
    def of(cls, head: bytes) -> "_Request":
        """Read a request head. Raises ValueError if two readers could read it differently."""
        first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        request = _REQUEST.fullmatch(first)
        headers = [_HEADER.fullmatch(line) for line in lines]
        if request is None or None in headers:
            raise ValueError("it is not a plain request")
        pairs = [(header[1].lower(), header[2].strip()) for header in headers if header]
        return cls(request[1], request[2].decode("ascii"), pairs)

    def body(self) -> int:
        """Return how many bytes follow. Raises ValueError."""
        lengths = [value for name, value in self.headers if name == b"content-length"]
        coded = any(name == b"transfer-encoding" for name, _ in self.headers)
        if coded or len(lengths) > 1 or not all(re.fullmatch(rb"[0-9]{1,18}", n) for n in lengths):
            raise ValueError("it has no plain length")
        return int(lengths[0]) if lengths else 0

    def written(self, target: str, host: str, keep: Callable[[bytes], bool], *more: bytes) -> bytes:
        """Return the request in the form that is sent on."""
        lines = [self.method + b" " + target.encode() + b" HTTP/1.1", b"Host: " + host.encode()]
        lines += [name + b": " + value for name, value in self.headers if keep(name)]
        return b"\r\n".join((*lines, *more, b"", b""))


@dataclass(frozen=True, slots=True)
class _Onward:
    """A request as it goes on to the proxy. ``size`` is that of its body; a tunnel has none."""

    host: str
    port: int
    head: bytes
    size: int = 0
    tunnel: bool = False

    @classmethod
    def of(cls, request: _Request) -> "_Onward":
        """Read a request to a proxy. Raises ValueError for any other."""
        if request.method == b"CONNECT":
            host, port = _where(*split_port(request.target))
            target = with_port(host, port)
            head = request.written(target, target, _TO_PROXY.__contains__)
            return cls(host, port, head, tunnel=True)
        parts = urlsplit(request.target)
        if parts.scheme != "http" or parts.username is not None or parts.fragment:
            raise ValueError("it is not an address for a proxy")
        host, port = _where(parts.hostname or "", parts.port or 80)
        where = with_port(host, port).removesuffix(":80")
        target = urlunsplit(("http", where, parts.path or "/", parts.query, ""))
        size = request.body()
        more = (b"Content-Length: %d" % size, b"Connection: close")
        head = request.written(target, where, lambda name: name not in _OF_CONNECTION, *more)
        return cls(host, port, head, size)


def _http(client: socket.socket, connect: Connect, may: Reachable) -> None:
    try:
        head, more = _head(client)
        onward = _Onward.of(_Request.of(head))
    except ValueError:
        _answer(client, b"400 Bad Request", "This request to a proxy cannot be read.")
        return
    if not may(onward.host, onward.port):
        _answer(client, b"403 Forbidden", f"{onward.host} was not allowed.")
        return
    with connect() as server:
        server.sendall(onward.head)
        if onward.tunnel:
            _tunnel(client, server, more)
            return
        server.sendall(more[: onward.size])
        _copy(client, server, onward.size - len(more[: onward.size]))
        _pump(server, client, both=False)


def _tunnel(client: socket.socket, server: socket.socket, more: bytes) -> None:
    """Pass on the proxy's answer first; pass bytes both ways only once the tunnel is open."""
    answer, begun = _head(server)
    client.sendall(answer + begun)
    opened = _STATUS.match(answer) is not None
    if opened:
        server.sendall(more)
    _pump(server, client, both=opened)


def _socks5(client: socket.socket, connect: Connect, may: Reachable) -> None:
    key = _key(client)
    command, host, port = _request_of_socks5(client)
    if command != _CONNECT or not may(host, port):
        client.sendall((b"\5\2" if command == _CONNECT else b"\5\7") + b"\0\1" + bytes(6))
        return
    with connect() as server:
        server.sendall(bytes((5, 2, _NO_KEY, _BY_PASSWORD)) if key else bytes((5, 1, _NO_KEY)))
        if exactly(server, 2)[1] == _BY_PASSWORD and key:
            server.sendall(key)
            exactly(server, 2)
        server.sendall(b"\5\1\0" + _packed(host) + struct.pack(">H", port))
        answer = exactly(server, 4)
        address = _address(server, answer[3])[0]
        client.sendall(answer + address + exactly(server, 2))
        _pump(server, client, both=answer[1] == 0)


def _key(client: socket.socket) -> bytes:
    """The name and password of a SOCKS 5 client, as it sent them; empty without any."""
    if _BY_PASSWORD not in exactly(client, exactly(client, 2)[1]):
        client.sendall(bytes((5, _NO_KEY)))
        return b""
    client.sendall(bytes((5, _BY_PASSWORD)))
    name = exactly(client, 2)
    name += exactly(client, name[1] + 1)
    key = name + exactly(client, name[-1])
    client.sendall(b"\1\0")
    return key


def _request_of_socks5(client: socket.socket) -> tuple[int, str, int]:
    """Command, host and port; the command is 0 where they name no host."""
    _, command, _, kind = exactly(client, 4)
    host = _address(client, kind)[1]
    port = int.from_bytes(exactly(client, 2), "big")
    try:
        return command, *_where(host, port)
    except ValueError:
        return 0, "", 0


def _address(stream: socket.socket, kind: int) -> tuple[bytes, str]:
    """Read an address of SOCKS 5: its bytes, and as text. Raises OSError for an unknown kind."""
    if kind == 3:
        size = exactly(stream, 1)
        name = exactly(stream, size[0])
        return size + name, name.decode("ascii", "replace")
    family = {1: socket.AF_INET, 4: socket.AF_INET6}.get(kind)
    if family is None:
        raise ConnectionResetError("it is not an address")
    packed = exactly(stream, 4 if kind == 1 else 16)
    return packed, socket.inet_ntop(family, packed)


def _socks4(client: socket.socket, connect: Connect, may: Reachable) -> None:
    _, command, port, packed = struct.unpack(">BBH4s", exactly(client, 8))
    user = _until_zero(client)
    named = packed[:3] == bytes(3) and packed[3] != 0
    try:
        text = _until_zero(client).decode("ascii") if named else socket.inet_ntoa(packed)
        host, port = _where(text, port)
    except ValueError:
        command = 0
        host = ""
    if command != _CONNECT or not may(host, port):
        client.sendall(b"\0\x5b" + bytes(6))
        return
    with connect() as server:
        name = host.encode() + b"\0" if named else b""
        server.sendall(struct.pack(">BBH4s", 4, 1, port, packed) + user + b"\0" + name)
        answer = exactly(server, 8)
        client.sendall(answer)
        _pump(server, client, both=answer[1] == 0x5A)


def _packed(host: str) -> bytes:
    """A host as SOCKS 5 has it."""
    address = address_of(host)
    if address is None:
        return bytes((3, len(host))) + host.encode()
    return bytes((1 if address.version == 4 else 4,)) + address.packed


def _where(host: str, port: int | None) -> tuple[str, int]:
    """A host in canonical form, and its port. Raises ValueError for no such."""
    address = address_of(host)
    name = str(address) if address is not None else host_of_text(host)
    if port is None or not 0 < port < 65536 or (address is None and ends_as_address(name)):
        raise ValueError("it names no host")
    return name, port


def _answer(client: socket.socket, status: bytes, why: str) -> None:
    body = f"sam-tui: {why}\n".encode()
    client.sendall(
        b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
        % (status, len(body), body)
    )


def _head(stream: socket.socket) -> tuple[bytes, bytes]:
    """The head of a message with its empty line, and the bytes after it. Raises ValueError."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = stream.recv(_PIECE)
        received += piece
        if not piece or len(received) > _LONGEST_HEAD:
            raise ValueError("it has no head")
    head, end, more = received.partition(b"\r\n\r\n")
    return head + end, more


def _copy(source: socket.socket, target: socket.socket, size: int) -> None:
    while size > 0 and (piece := source.recv(min(size, _PIECE))):
        target.sendall(piece)
        size -= len(piece)


def _until_zero(stream: socket.socket) -> bytes:
    text = b""
    while (byte := exactly(stream, 1)) != b"\0":
        text += byte
        if len(text) > 255:
            raise ConnectionResetError("it is too long")
    return text


def _pump(server: socket.socket, client: socket.socket, *, both: bool) -> None:
    """Pass on bytes until both sides have ended; without ``both`` only from the server to the client."""
    to = {server: client, client: server}
    with selectors.DefaultSelector() as open_streams:
        for stream in to:
            stream.settimeout(None)
            open_streams.register(stream, selectors.EVENT_READ)
        while open_streams.get_map():
            for key, _ in open_streams.select():
                source = cast("socket.socket", key.fileobj)
                piece = source.recv(_PIECE)
                if piece and source is client and not both:
                    return
                if piece:
                    to[source].sendall(piece)
                    continue
                open_streams.unregister(source)
                if both:
                    with suppress(OSError):
                        to[source].shutdown(socket.SHUT_WR)
                elif source is server:
                    return
