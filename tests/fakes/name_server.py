"""A name server on loopback, by UDP and TCP, that answers what a test wants and keeps what it heard."""

import ipaddress
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from types import TracebackType

_KINDS = {1: 4, 28: 6}


class NameServer:
    """Answers from ``names``: a name without an address does not exist. Each may be a function."""

    def __init__(self, names: Mapping[str, str | Callable[[], str]] | None = None) -> None:
        self.names = dict(names or {})
        self.heard: list[str] = []
        self.by_stream: list[str] = []
        self.shortened: set[str] = set()
        """Names whose answer by UDP is cut off."""
        self._stream = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._stream.getsockname()[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        self._threads = [
            threading.Thread(target=self._serve_datagrams),
            threading.Thread(target=self._serve_streams),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """Where it answers."""
        return "127.0.0.1", self.port

    def __enter__(self) -> "NameServer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.address)
        self._stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._stream.close()
        self._datagrams.close()

    def _serve_datagrams(self) -> None:
        while True:
            question, sender = self._datagrams.recvfrom(65_535)
            if not question:
                return
            self._datagrams.sendto(self._answer(question, self.heard, short=True), sender)

    def _serve_streams(self) -> None:
        while True:
            try:
                client, _ = self._stream.accept()
            except OSError:
                return
            with client:
                size = client.recv(2)
                if len(size) == 2:
                    question = client.recv(struct.unpack(">H", size)[0])
                    answer = self._answer(question, self.by_stream, short=False)
                    client.sendall(struct.pack(">H", len(answer)) + answer)

    def _answer(self, question: bytes, heard: list[str], *, short: bool) -> bytes:
        name, at = "", 12
        while size := question[at]:
            name += "." + question[at + 1 : at + 1 + size].decode()
            at += 1 + size
        name, (kind,) = name[1:].lower(), struct.unpack(">H", question[at + 1 : at + 3])
        asked = question[12 : at + 5]
        heard.append(name)
        held = self.names.get(name)
        if held is None:
            return question[:2] + struct.pack(">5H", 0x8183, 1, 0, 0, 0) + asked
        if short and name in self.shortened:
            return question[:2] + struct.pack(">5H", 0x8380, 1, 0, 0, 0) + asked
        address = ipaddress.ip_address(held() if callable(held) else held)
        records = b""
        if _KINDS.get(kind) == address.version:
            # By an alias, as large sites answer.
            alias = b"\x05alias\xc0\x0c"
            place = 12 + len(asked) + 12
            records = b"\xc0\x0c" + struct.pack(">HHIH", 5, 1, 60, len(alias)) + alias
            records += struct.pack(">H", 0xC000 | place)
            records += struct.pack(">HHIH", kind, 1, 60, len(address.packed)) + address.packed
        count = 2 if records else 0
        return question[:2] + struct.pack(">5H", 0x8180, 1, count, 0, 0) + asked + records
