"""Connections of runs whose network is limited to hosts: reachable addresses, servers, and datagrams.

Every connection is judged by its address: one that belongs to a listed name, a listed address, or a
server that a command of this program started. Any other is asked about, by its name if it has one.
Datagrams never leave this machine; names are looked up here (``naming``).
"""

import errno
import functools
import ipaddress
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sam_tui.adapters.terminal.sandbox.judgement.paths import signed
from sam_tui.adapters.terminal.sandbox.kernel.calls import checked, libc
from sam_tui.adapters.terminal.sandbox.kernel.listeners import listening
from sam_tui.adapters.terminal.sandbox.kernel.network_namespace import NetworkNamespaces
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.network import dns
from sam_tui.adapters.terminal.sandbox.network.allowed_hosts import Reach
from sam_tui.adapters.terminal.sandbox.network.connections import copy_of, in_its_own_time
from sam_tui.adapters.terminal.sandbox.network.name_answers import (
    Naming,
    Refused,
    answer_datagram,
    converse,
)
from sam_tui.adapters.terminal.sandbox.network.proxies import Relays
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights, Target
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.network.hosts import loopback, plain, with_port

_BIND_TO_DEVICE = 25
_KINDS = 0xF
_PLAIN_FAMILIES = (socket.AF_UNSPEC, getattr(socket, "AF_NETLINK", 16))
"""Address families without hosts: AF_UNSPEC ends a connection, and AF_NETLINK leads to the kernel."""
_LONGEST_FOUR, _LONGEST_SIX = 16, 24
_BACKLOG = 128
_MOST_CALLERS = 4096
_MOST_SERVERS = 50_000

Hear = Callable[[int, Callable[[], None] | None], None]


class SharedNetwork:
    """The network parts that all runs of one supervisor share: name servers, namespaces, own servers."""

    def __init__(self, listen_to: Hear) -> None:
        self.listen_to = listen_to
        self.namespaces = NetworkNamespaces()
        self.servers: set[int] = set()
        """The inodes of sockets on which commands listen."""
        self._streams: dict[int, socket.socket] = {}
        self._callers: dict[int, Callable[[socket.socket], None]] = {}
        """The function that handles a connection, by the connection's source port."""
        self._waker, self._woken = socket.socketpair()
        self._actions: deque[Callable[[], None]] = deque()
        listen_to(self._woken.fileno(), self._act)

    def connections_of(self, watch: Watch, terms: dict[str, Any]) -> "Reaching":
        """The connections of a new run."""
        return Reaching(watch, Reach(terms), self)

    def on_loop(self, action: Callable[[], None]) -> None:
        """Run ``action`` on the supervisor's own thread; any thread may call this."""
        self._actions.append(action)
        self._waker.send(b".")

    def own_server(self, family: int) -> tuple[str, int]:
        """The address of our server for names and proxies by stream. Raises OSError."""
        server = self._streams.get(family)
        if server is None:
            local = "127.0.0.1" if family == socket.AF_INET else "::1"
            server = socket.create_server(
                (local, 0), family=socket.AddressFamily(family), backlog=_BACKLOG
            )
            server.setblocking(False)
            self._streams[family] = server
            self.listen_to(server.fileno(), lambda: self._accept(server))
        return server.getsockname()[:2]

    def expect(self, port: int, serve: Callable[[socket.socket], None]) -> None:
        """Have ``serve`` handle the connection that will come from this port."""
        if len(self._callers) >= _MOST_CALLERS:
            self._callers.clear()
        self._callers[port] = serve

    def served(self, inode: int) -> None:
        """Note the inode of a socket on which a command listens."""
        if len(self.servers) >= _MOST_SERVERS:
            self.servers.clear()
        self.servers.add(inode)

    def close(self) -> None:
        """Stop answering."""
        for server in self._streams.values():
            server.close()
        self.namespaces.close()
        self._waker.close()
        self._woken.close()

    def _act(self) -> None:
        self._woken.recv(_BACKLOG)
        while self._actions:
            self._actions.popleft()()

    def _accept(self, server: socket.socket) -> None:
        try:
            client, sender = server.accept()
        except OSError:
            return
        serve = self._callers.pop(sender[1], None)
        if serve is None:
            client.close()  # not of ours
        else:
            serve(client)


@dataclass(frozen=True, slots=True)
class _Peer:
    """The address that a call wants to connect to. ``values`` is it as the call has it."""

    family: int
    host: str
    port: int
    address: bytes

    @classmethod
    def of(cls, address: bytes) -> "_Peer":
        """Read a sockaddr_in or sockaddr_in6. Raises OSError if it is cut off."""
        family = int.from_bytes(address[:2], "little")
        if len(address) < (_LONGEST_FOUR if family == socket.AF_INET else _LONGEST_SIX):
            raise OSError(errno.EINVAL, "Invalid argument")
        packed = address[4:8] if family == socket.AF_INET else address[8:24]
        host = str(plain(ipaddress.ip_address(packed)))
        return cls(family, host, int.from_bytes(address[2:4], "big"), address)

    def at(self, host: str, port: int) -> bytes:
        """The address with another host and port; an IPv4 host becomes ``::ffff:…`` for an IPv6 socket."""
        packed = ipaddress.ip_address(host).packed
        head = self.address[:2] + port.to_bytes(2, "big")
        if self.family == socket.AF_INET:
            return head + packed + bytes(8)
        if len(packed) == 4:
            packed = bytes(10) + b"\xff\xff" + packed
        return head + bytes(4) + packed + bytes(4)


class Reaching:
    """The connections of one run."""

    def __init__(self, watch: Watch, reach: Reach, shared: SharedNetwork) -> None:
        self._watch = watch
        self._reach = reach
        self._shared = shared
        self.naming = Naming(reach, lambda: watch.asking)
        self._namespace: tuple[socket.socket, ...] = ()
        self._callers: dict[int, Notification] = {}
        self._last: Notification | None = None
        self._relays = Relays(watch, reach, shared.on_loop)

    def close(self) -> None:
        """The run is over."""
        self._relays.close()
        for server in self._namespace:
            self._shared.listen_to(server.fileno(), None)
            server.close()
        if self._namespace:
            self._namespace = ()
            with suppress(OSError):
                self._shared.namespaces.drop(self._watch.number)

    def refused_to(self, caller: Notification | None) -> Refused:
        """A function that records which host was refused to the caller."""

        def told(host: str) -> None:
            if caller is not None:
                self._watch.note(self._watch.who(caller), OutsideWish("connect", host))

        return told

    # ---- calls

    def datagrams(self, call: Notification) -> None:
        """Give the caller a socket whose datagrams stay on this machine. Raises OSError if there can be
        none."""
        family, kind = call.arguments[0] & 0xFFFFFFFF, call.arguments[1] & 0xFFFFFFFF
        namespaces = self._shared.namespaces
        if not self._namespace:
            self._namespace = namespaces.make(self._watch.number)
            for server in self._namespace:
                self._serve(server)
        descriptor = namespaces.socket(self._watch.number, family, kind & (_KINDS | os.O_NONBLOCK))
        self._last = call
        try:
            self._watch.give(call, descriptor, kind & os.O_CLOEXEC)
        finally:
            os.close(descriptor)

    def listen(self, call: Notification) -> None:
        """Listen on a caller's socket; an internet socket is reachable only from this machine."""
        target = Target(call.thread, self._watch.memory)

        def listen() -> None:
            with copy_of(target, signed(call.arguments[0])) as copied:
                if copied.family in (socket.AF_INET, socket.AF_INET6):
                    _hear_this_machine(copied)
                checked(libc().listen(copied.fileno(), signed(call.arguments[1])))
                self._shared.served(os.fstat(copied.fileno()).st_ino)
            self._watch.succeed(call)

        self._watch.carry_out(call, listen)

    def serves(self, inode: int) -> bool:
        """Whether a command of this program listens on a socket."""
        return inode in self._shared.servers

    def connect(self, call: Notification, rights: Rights, address: bytes) -> None:
        """Connect a caller's socket, ask first, or refuse."""
        watch = self._watch
        family = int.from_bytes(address[:2], "little")
        if family in _PLAIN_FAMILIES:
            in_its_own_time(watch, call, rights, address)
            return
        if family not in (socket.AF_INET, socket.AF_INET6):
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        peer = _Peer.of(address)
        target = Target(call.thread, watch.memory)
        with copy_of(target, signed(call.arguments[0])) as copied:
            if copied.type == socket.SOCK_DGRAM:
                self._connect_datagrams(call, copied, address)
                return
            family = _served_by(copied)
        if peer.port == dns.PORT:
            refused = self.refused_to(call)
            self._to_own_server(
                call, rights, peer, family, lambda client: converse(client, self.naming, refused)
            )
        elif self._is_proxy(peer):
            connect = functools.partial(self._connect_to_proxy, call, peer)
            serve = functools.partial(self._relays.serve, connect=connect, who=watch.who(call))
            self._to_own_server(call, rights, peer, family, serve)
        else:
            self._judge(call, rights, peer)

    def _is_proxy(self, peer: _Peer) -> bool:
        """Whether an address is the person's proxy, not a server that a command started in its place."""
        if not self._reach.proxy((peer.host, *self._reach.names_of(peer.host)), peer.port):
            return False
        return not loopback(peer.host) or not listening(peer.port) <= self._shared.servers

    def _judge(self, call: Notification, rights: Rights, peer: _Peer) -> None:
        watch, reach = self._watch, self._reach
        local, stood = loopback(peer.host), reach.stands_in(peer.host)
        names = reach.names_of(peer.host)
        listed = any(reach.hosts.hold(name, peer.port) for name in names)

        def go() -> None:
            if stood:
                in_its_own_time(watch, call, rights, lambda _: self._found(call, names[0], peer))
            else:
                in_its_own_time(watch, call, rights, peer.address)

        if listed or (not stood and reach.hosts.hold(peer.host, peer.port)):
            watch.carry_out(call, go)
            return
        if local:
            servers = listening(peer.port)
            if not servers:
                raise OSError(errno.ECONNREFUSED, "Connection refused")
            if servers <= self._shared.servers:
                watch.carry_out(call, go)
                return
        host = peer.host if local or not names else names[0]
        watch.settle(call, OutsideWish("connect", with_port(host, peer.port)), go)

    def _connect_datagrams(self, call: Notification, copied: socket.socket, address: bytes) -> None:
        """Connect such a socket. Any address is allowed: nothing sent through it leaves this machine."""
        if not self._watch.waits(call):
            return
        checked(libc().connect(copied.fileno(), address, len(address)))
        if len(self._callers) >= _MOST_CALLERS:
            self._callers.clear()
        self._callers[int(copied.getsockname()[1])] = call
        self._watch.succeed(call)

    # ---- on a thread of the call's own

    def _found(self, call: Notification, name: str, peer: _Peer) -> bytes:
        """The real address behind a stand-in address. Raises OSError if the run may reach none."""
        kind = dns.A if len(ipaddress.ip_address(peer.host).packed) == 4 else dns.AAAA
        code, addresses, seconds = self._reach.look_up(name, kind)
        if code == dns.REFUSED:
            self.refused_to(call)(f"{name} at {', '.join(addresses)}" if addresses else name)
            raise OSError(errno.EACCES, "Permission denied")
        if not addresses:
            raise OSError(errno.EHOSTUNREACH, "No route to host")
        self._reach.learn(name, addresses, seconds)
        return peer.at(addresses[0], peer.port)

    def _to_own_server(
        self,
        call: Notification,
        rights: Rights,
        peer: _Peer,
        family: int,
        serve: Callable[[socket.socket], None],
    ) -> None:
        """Connect to a server of ours instead, which identifies the run by the connection's port."""
        server = self._shared.own_server(family)

        def address(copied: socket.socket) -> bytes:
            rewritten = peer.at(*server)
            if not copied.getsockname()[1]:
                start = rewritten[:2] + bytes(2) + rewritten[4:]
                checked(libc().bind(copied.fileno(), start, len(start)))
            self._shared.expect(int(copied.getsockname()[1]), serve)
            return rewritten

        in_its_own_time(self._watch, call, rights, address)

    def _connect_to_proxy(self, call: Notification, peer: _Peer) -> socket.socket:
        address = peer.address
        if self._reach.stands_in(peer.host):
            address = self._found(call, self._reach.names_of(peer.host)[0], peer)
        server = socket.socket(socket.AddressFamily(peer.family))
        try:
            checked(libc().connect(server.fileno(), address, len(address)))
        except OSError:
            server.close()
            raise
        return server

    def _serve(self, server: socket.socket) -> None:
        def refused(port: int) -> Refused:
            return self.refused_to(self._callers.get(port, self._last))

        self._shared.listen_to(
            server.fileno(), lambda: answer_datagram(server, self.naming, refused)
        )


def _served_by(copied: socket.socket) -> int:
    """The family in which a socket can reach a name server of this machine."""
    six = copied.family == socket.AF_INET6
    only = six and copied.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    return socket.AF_INET6 if only else socket.AF_INET


def _hear_this_machine(copied: socket.socket) -> None:
    """Bind a socket to the loopback device, at any address. Raises OSError."""
    try:
        copied.setsockopt(socket.SOL_SOCKET, _BIND_TO_DEVICE, b"lo\0")
    except PermissionError:
        bound = copied.getsockopt(socket.SOL_SOCKET, _BIND_TO_DEVICE, 16)
        if bound.rstrip(b"\0") != b"lo":
            raise OSError(errno.EACCES, "Permission denied") from None
