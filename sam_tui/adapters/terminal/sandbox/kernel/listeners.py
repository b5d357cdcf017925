"""The sockets of this machine that listen on a TCP port, or have an abstract name: asked of the kernel."""

import socket
import struct
from collections.abc import Iterator

_DIAG = 4
_BY_FAMILY = 20
_REQUEST_AND_DUMP = 0x301
_ERROR, _DONE = 2, 3
_LISTEN = 10
_HEADER = struct.Struct("=IHHII")
_WANTED = struct.Struct("=4BI48x")
_ALIGNED = 4
_PORT_AT, _INODE_AT = 4, 68
"""Offsets in struct inet_diag_msg (linux/inet_diag.h): of the local port, and of the inode."""
_UNIX_WANTED = struct.Struct("=BBHIIIII")
"""struct unix_diag_req (linux/unix_diag.h)."""
_ANY_STATE, _SHOW_NAME, _NAME = 0xFFFFFFFF, 1, 0
_UNIX_MESSAGE, _UNIX_INODE_AT = 16, 4
_ATTRIBUTE = struct.Struct("=HH")
_READ = 65_536
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = b"0A"


def listening(port: int) -> frozenset[int]:
    """Return the inodes of all sockets that listen on a port, at any address."""
    try:
        return frozenset(_asked(socket.AF_INET, port) | _asked(socket.AF_INET6, port))
    except OSError:
        return _read(port)


def bearer(name: bytes) -> int:
    """The inode of the unix socket with an abstract name, its leading NUL included; 0 without one."""
    query = _UNIX_WANTED.pack(socket.AF_UNIX, 0, 0, _ANY_STATE, 0, _SHOW_NAME, 0, 0)
    try:
        for body in _dumped(query):
            at = _UNIX_MESSAGE
            while at + _ATTRIBUTE.size <= len(body):
                size, kind = _ATTRIBUTE.unpack_from(body, at)
                if kind == _NAME and body[at + _ATTRIBUTE.size : at + size] == name:
                    return int(struct.unpack_from("=I", body, _UNIX_INODE_AT)[0])
                at += max(_ATTRIBUTE.size, _up(size))
    except OSError:
        pass  # without this interface of the kernel, listeners are unknown
    return 0


def _asked(family: int, port: int) -> set[int]:
    """By sock_diag(7), which walks the listening sockets alone. Raises OSError."""
    query = _WANTED.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _LISTEN)
    return {
        struct.unpack_from("=I", body, _INODE_AT)[0]
        for body in _dumped(query)
        if struct.unpack_from(">H", body, _PORT_AT)[0] == port
    }


def _dumped(query: bytes) -> Iterator[bytes]:
    """The kernel's answer (sock_diag(7)) for each requested socket. Raises OSError."""
    header = _HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST_AND_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _DIAG) as kernel:
        kernel.send(header + query)
        while True:
            data = kernel.recv(_READ)
            at = 0
            while at + _HEADER.size <= len(data):
                size, kind, *_ = _HEADER.unpack_from(data, at)
                if kind == _DONE:
                    return
                body = data[at + _HEADER.size : at + size]
                if kind == _ERROR:
                    raise OSError(-struct.unpack_from("=i", body)[0], "sock_diag")
                yield body
                at += _up(size)


def _up(size: int) -> int:
    return (size + _ALIGNED - 1) // _ALIGNED * _ALIGNED


def _read(port: int) -> frozenset[int]:
    """By tables that list every connection as well."""
    inodes: set[int] = set()
    port_text = b":%04X" % port
    for table in _TABLES:
        try:
            with open(table, "rb") as lines:
                for line in lines:
                    words = line.split()
                    if len(words) > 9 and words[3] == _LISTENING and words[1].endswith(port_text):
                        inodes.add(int(words[9]))
        except OSError:
            continue
    return frozenset(inodes)
