"""Which sockets of this machine listen on a TCP port: asked of the kernel, else read from its tables."""

import socket
import struct

_DIAG = 4
_BY_FAMILY = 20
_REQUEST_AND_DUMP = 0x301
_ERROR, _DONE = 2, 3
_LISTEN = 10
_HEADER = struct.Struct("=IHHII")
_WANTED = struct.Struct("=4BI48x")
_ALIGNED = 4
_PORT_AT, _INODE_AT = 4, 68
"""In struct inet_diag_msg (linux/inet_diag.h): of the own port, and of the inode."""
_READ = 65_536
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = b"0A"


def listening(port: int) -> frozenset[int]:
    """The inodes of all that listen on a port, whatever their address."""
    try:
        return frozenset(_asked(socket.AF_INET, port) | _asked(socket.AF_INET6, port))
    except OSError:
        return _read(port)


def _asked(family: int, port: int) -> set[int]:
    """By sock_diag(7), which walks the listening sockets alone. Raises OSError."""
    found: set[int] = set()
    wanted = _WANTED.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _LISTEN)
    header = _HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _REQUEST_AND_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _DIAG) as kernel:
        kernel.send(header + wanted)
        while True:
            data = kernel.recv(_READ)
            at = 0
            while at + _HEADER.size <= len(data):
                size, kind, *_ = _HEADER.unpack_from(data, at)
                if kind == _DONE:
                    return found
                if kind == _ERROR:
                    raise OSError(
                        -struct.unpack_from("=i", data, at + _HEADER.size)[0], "sock_diag"
                    )
                body = at + _HEADER.size
                if struct.unpack_from(">H", data, body + _PORT_AT)[0] == port:
                    found.add(struct.unpack_from("=I", data, body + _INODE_AT)[0])
                at += (size + _ALIGNED - 1) // _ALIGNED * _ALIGNED


def _read(port: int) -> frozenset[int]:
    """By tables that list every connection as well."""
    found: set[int] = set()
    wanted = b":%04X" % port
    for table in _TABLES:
        try:
            with open(table, "rb") as lines:
                for line in lines:
                    words = line.split()
                    if len(words) > 9 and words[3] == _LISTENING and words[1].endswith(wanted):
                        found.add(int(words[9]))
        except OSError:
            continue
    return frozenset(found)
