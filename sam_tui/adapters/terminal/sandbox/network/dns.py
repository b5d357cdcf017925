"""DNS messages (RFC 1035): reading a question, answering it, and asking name servers."""

import os
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

A, CNAME, AAAA, SVCB, HTTPS = 1, 5, 28, 64, 65
NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NO_NAME, REFUSED = 0, 1, 2, 3, 5
INTERNET = 1
PORT = 53
LONGEST = 65_535
_HEADER = struct.Struct(">6H")
_RECORD = struct.Struct(">HHIH")
_ANSWER, TRUNCATED, _WANTED, _AVAILABLE = 0x8000, 0x0200, 0x0100, 0x0080
_PATIENCE = 3.0
"""Seconds to wait for a name server before the next one is asked."""
_ROUNDS = 2
_MOST_ALIASES = 16
_POINTS_TO_NAME = 0xC00C
"""A compressed name: a pointer to the name in the question."""

Server = tuple[str, int]


@dataclass(frozen=True, slots=True)
class DnsQuestion:
    """The question of a DNS client. ``query`` is its bytes in the message."""

    id: int
    name: str
    kind: int
    query: bytes
    message: bytes

    @classmethod
    def read(cls, message: bytes) -> "DnsQuestion":
        """Read the one question of a message. Raises ValueError for anything else."""
        number, flags, questions, *_ = _header(message)
        if flags & _ANSWER or questions != 1:
            raise ValueError("it is not a question")
        name, end = _name(message, _HEADER.size)
        kind, group = _pair(message, end)
        if group != INTERNET:
            raise ValueError("it does not ask about the internet")
        return cls(number, name, kind, message[_HEADER.size : end + 4], message)

    def answer(self, code: int, addresses: Sequence[bytes] = (), *, seconds: int = 0) -> bytes:
        """The whole answer: an error, or addresses of the wanted kind."""
        flags = _ANSWER | _WANTED | _AVAILABLE | code
        records = b"".join(
            struct.pack(">H", _POINTS_TO_NAME)
            + _RECORD.pack(self.kind, INTERNET, seconds, len(address))
            + address
            for address in addresses
        )
        return _HEADER.pack(self.id, flags, 1, len(addresses), 0, 0) + self.query + records


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The answer of name servers about a name: a code, addresses as bytes, and seconds of validity."""

    code: int
    addresses: tuple[bytes, ...] = ()
    seconds: int = 0


def look_up(name: str, kind: int, servers: Sequence[Server]) -> LookupResult:
    """Return the addresses of a name, aliases followed. Waits; ``SERVER_FAILURE`` if nobody answers."""
    question = _question(name, kind)
    message = ask(question, servers)
    return LookupResult(SERVER_FAILURE) if message is None else _found(message, name, kind)


def ask(question: bytes, servers: Sequence[Server]) -> bytes | None:
    """The answer to a whole message, by UDP, or by TCP where it is too long; None without one."""
    for _ in range(_ROUNDS):
        for server in servers:
            try:
                answer = _by_datagram(question, server)
                if _header(answer)[1] & TRUNCATED:
                    answer = _by_stream(question, server)
                if _header(answer)[1] & 0xF in (NO_ERROR, NO_NAME):
                    return answer
            except (OSError, ValueError):
                continue
    return None


def system_servers() -> tuple[Server, ...]:
    """The name servers of this system; the local one if none is named."""
    servers: list[Server] = []
    try:
        with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                if len(words) > 1 and words[0] == "nameserver":
                    servers.append((words[1], PORT))
    except OSError:
        pass
    return tuple(servers) or (("127.0.0.1", PORT),)


def framed(message: bytes) -> bytes:
    """A message as it goes over a stream."""
    return struct.pack(">H", len(message)) + message


def unframed(stream: socket.socket) -> bytes:
    """The next message of a stream. Raises OSError at its end."""
    (size,) = struct.unpack(">H", exactly(stream, 2))
    return exactly(stream, size)


def _by_datagram(question: bytes, server: Server) -> bytes:
    with socket.socket(_family(server), socket.SOCK_DGRAM) as client:
        client.settimeout(_PATIENCE)
        client.connect(server)
        client.send(question)
        while True:
            answer = client.recv(LONGEST)
            if _belongs(answer, question):
                return answer


def _by_stream(question: bytes, server: Server) -> bytes:
    with socket.create_connection(server, _PATIENCE) as client:
        client.sendall(framed(question))
        answer = unframed(client)
    if not _belongs(answer, question):
        raise ValueError("the answer belongs to another question")
    return answer


def _belongs(answer: bytes, question: bytes) -> bool:
    if len(answer) < _HEADER.size or answer[:2] != question[:2] or not answer[2] & 0x80:
        return False
    try:
        name, end = _name(question, _HEADER.size)
        named, ended = _name(answer, _HEADER.size)
    except ValueError:
        return False
    return (name, question[end : end + 4]) == (named, answer[ended : ended + 4])


def _question(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.split("."))
    header = _HEADER.pack(int.from_bytes(os.urandom(2), "big"), _WANTED, 1, 0, 0, 0)
    return header + labels + b"\0" + struct.pack(">HH", kind, INTERNET)


def _found(message: bytes, name: str, kind: int) -> LookupResult:
    """The records of an answer for a name. Raises ValueError for an invalid answer."""
    _, flags, questions, answers, *_ = _header(message)
    at = _HEADER.size
    for _ in range(questions):
        at = _name(message, at)[1] + 4
    records: list[tuple[str, bytes, int]] = []
    aliases: dict[str, str] = {}
    for _ in range(answers):
        owner, at = _name(message, at)
        if at + _RECORD.size > len(message):
            raise ValueError("the answer is cut off")
        its_kind, group, seconds, size = _RECORD.unpack_from(message, at)
        at += _RECORD.size
        if group == INTERNET and its_kind == CNAME:
            aliases[owner] = _name(message, at)[0]
        elif group == INTERNET and its_kind == kind and size == (4 if kind == A else 16):
            records.append((owner, message[at : at + size], seconds))
        at += size
    names = _with_aliases(name, aliases)
    mine = [(address, seconds) for owner, address, seconds in records if owner in names]
    shortest = min((seconds for _, seconds in mine), default=0)
    return LookupResult(flags & 0xF, tuple(address for address, _ in mine), shortest)


def _with_aliases(name: str, aliases: Mapping[str, str]) -> set[str]:
    names = {name}
    for _ in range(_MOST_ALIASES):
        name = aliases.get(name, "")
        names.add(name)
    return names


def _header(message: bytes) -> tuple[int, ...]:
    if len(message) < _HEADER.size:
        raise ValueError("the message is cut off")
    return _HEADER.unpack_from(message)


def _pair(message: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(message):
        raise ValueError("the message is cut off")
    first, second = struct.unpack_from(">HH", message, at)
    return first, second


def _name(message: bytes, at: int) -> tuple[str, int]:
    """(the name at a place in lower case, the place behind it). Raises ValueError."""
    labels: list[str] = []
    end = 0
    for _ in range(128):
        if at >= len(message):
            break
        size = message[at]
        if size >= 0xC0:
            end = end or at + 2
            at = (size & 0x3F) << 8 | message[at + 1] if at + 1 < len(message) else len(message)
        elif size == 0:
            return ".".join(labels), end or at + 1
        elif size > 63:
            break
        else:
            labels.append(message[at + 1 : at + 1 + size].decode("latin-1").lower())
            at += 1 + size
    raise ValueError("it contains no name")


def _family(server: Server) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in server[0] else socket.AF_INET


def exactly(stream: socket.socket, size: int) -> bytes:
    """Read that many bytes of a stream. Raises ``ConnectionResetError`` if it ends before."""
    received = bytearray()
    while len(received) < size:
        piece = stream.recv(size - len(received))
        if not piece:
            raise ConnectionResetError("the stream ended")
        received += piece
    return bytes(received)
