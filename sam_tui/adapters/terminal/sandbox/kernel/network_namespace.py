"""Network namespaces for datagrams: every address in it is this machine, and no route leads out.

A socket belongs to the namespace in which it was made, so no message sent through it leaves this
machine. A small process holds the namespaces; name servers are asked at port 53 there, at any address.
"""

import fcntl
import json
import os
import socket
import struct
import sys
from typing import Any

from sam_tui.adapters.terminal.sandbox.kernel.calls import call
from sam_tui.folders import IMPORT_ROOT

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_LOOPBACK = 1
"""The index of the first interface of every namespace."""
_NAMES = 53
_MESSAGE = 4096
_PKTINFO_4, _RECEIVE_PKTINFO_6, _FREEBIND_6 = 8, 49, 78
_START = "import sys; sys.path.append(sys.argv[1]); from {module} import main; main()"


class NetworkNamespaces:
    """The process that holds the networks, started with the first. Every method raises OSError."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None
        self._process = 0
        self._failed = False

    def make(self, number: int) -> tuple[socket.socket, ...]:
        """Make a namespace; returns the sockets in it to which questions for names come."""
        return tuple(socket.socket(fileno=fd) for fd in self._ask({"make": number}))

    def socket(self, number: int, family: int, kind: int) -> int:
        """A socket in a network, as a descriptor."""
        return self._ask({"socket": number, "family": family, "kind": kind})[0]

    def drop(self, number: int) -> None:
        """Forget a network; it lives on while sockets in it are open."""
        if self._control is not None:
            self._ask({"drop": number})

    def close(self) -> None:
        """End the process."""
        if self._control is not None:
            self._control.close()
            self._control = None
            os.waitpid(self._process, 0)

    def _ask(self, request: dict[str, object]) -> list[int]:
        if self._control is None:
            if self._failed:
                raise PermissionError(1, "This system gives no networks of one's own")
            self._start()
        assert self._control is not None
        self._control.send(json.dumps(request).encode())
        data, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE, 4)
        code = int.from_bytes(data, "little") if data else 5
        if code:
            self._failed = self._failed or "make" in request
            raise OSError(code, os.strerror(code))
        return descriptors

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            os.set_inheritable(theirs.fileno(), True)
            start = _START.format(module=__name__)
            words = [sys.executable, "-I", "-S", "-c", start, IMPORT_ROOT, str(theirs.fileno())]
            # In a group of its own, so that keys at a terminal do not interrupt it.
            nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
            self._process = os.posix_spawn(
                sys.executable, words, {}, file_actions=nothing, setpgroup=0
            )
        self._control = ours


def has_network_namespaces() -> bool:
    """Whether this system allows network namespaces."""
    namespaces = NetworkNamespaces()
    try:
        for network in namespaces.make(1):
            network.close()
    except OSError:
        return False
    finally:
        namespaces.close()
    return True


def main() -> None:
    """Hold networks until the socket that is named last closes."""
    with socket.socket(fileno=int(sys.argv[-1])) as control:
        networks: dict[int, int] = {}
        started = False
        while data := control.recv(_MESSAGE):
            descriptors: list[int] = []
            try:
                request = json.loads(data)
                if not started:
                    _begin()
                    started = True
                descriptors = _obey(request, networks)
            except OSError as error:
                control.send((error.errno or 1).to_bytes(2, "little"))
            else:
                socket.send_fds(control, [b"\0\0"], descriptors)
            for descriptor in descriptors:
                os.close(descriptor)


def _begin() -> None:
    """Enter a user namespace without rights outside of it, where users may have one; else be root."""
    try:
        call("unshare", _NEW_USER | _NEW_NETWORK)
    except OSError:
        call("unshare", _NEW_NETWORK)


def _obey(request: dict[str, Any], networks: dict[int, int]) -> list[int]:
    if "make" in request:
        networks[request["make"]] = _network()
        return _name_sockets()
    if "drop" in request:
        if (network := networks.pop(request["drop"], -1)) >= 0:
            os.close(network)
        return []
    call("setns", networks[request["socket"]], _NEW_NETWORK)
    return [socket.socket(request["family"], request["kind"]).detach()]


def _network() -> int:
    call("unshare", _NEW_NETWORK)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = bytearray(struct.pack("=16sH22x", b"lo", 0))
        fcntl.ioctl(any_socket, _GET_FLAGS, request)
        (flags,) = struct.unpack_from("=H", request, 16)
        struct.pack_into("=H", request, 16, flags | _UP)
        fcntl.ioctl(any_socket, _SET_FLAGS, request)
    _all_is_here(socket.AF_INET)
    try:
        _all_is_here(socket.AF_INET6)
    except OSError:
        pass  # a system without IPv6
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _all_is_here(family: int) -> None:
    """``ip route add local default dev lo`` (rtnetlink(7))."""
    out = struct.pack("=HHI", 8, 4, _LOOPBACK)  # RTA_OIF
    # In the local table, made by hand, of this host, for local delivery.
    route = struct.pack("=8BI", family, 0, 0, 0, 255, 4, 254, 2, 0) + out
    # RTM_NEWROUTE; a request that creates and is acknowledged.
    header = struct.pack("=IHHII", 16 + len(route), 24, 0x1 | 0x4 | 0x400, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.send(header + route)
        answer = link.recv(_MESSAGE)
    (code,) = struct.unpack_from("=i", answer, 16)
    if code:
        raise OSError(-code, os.strerror(-code))


def _name_sockets() -> list[int]:
    four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    four.setsockopt(socket.IPPROTO_IP, _PKTINFO_4, 1)
    four.bind(("", _NAMES))
    sockets = [four.detach()]
    try:
        six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        six.setsockopt(socket.IPPROTO_IPV6, _RECEIVE_PKTINFO_6, 1)
        six.setsockopt(socket.IPPROTO_IPV6, _FREEBIND_6, 1)  # to answer from any address
        six.bind(("::", _NAMES))
    except OSError:
        return sockets
    return [*sockets, six.detach()]
