"""Commands held to a list of hosts: what they run, the servers they meet, and who is asked."""

import socket
import threading
from collections.abc import Callable, Coroutine

from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandResult

Held = Callable[..., Coroutine[None, None, CommandResult]]


PRELUDE = """
import ctypes, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def reach(host, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(20)
        s.connect((host, port))
        return s.recv(9).decode()
def said(what):
    try:
        print(what())
    except OSError as error:
        print(type(error).__name__)
def question(name, kind=1):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">6H", 7, 256, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">HH", kind, 1)
given = sys.argv[1:]
"""


class Answerer:
    """A server of the person's on loopback that says hello to whoever connects."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.accepted = 0
        self._server = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client:
                self.accepted += 1
                client.sendall(b"hello")
                client.shutdown(socket.SHUT_WR)
                while client.recv(999):
                    pass  # what was sent must have been read, or the end is a reset

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.close()


class Person:
    """Answers questions, no to a path with ``refuses`` in it, and remembers them."""

    def __init__(self, *, says: bool = True, refuses: str = "\0") -> None:
        self.asked: list[OutsideAccess] = []
        self._says = says
        self._refuses = refuses

    async def __call__(self, access: OutsideAccess) -> bool:
        self.asked.append(access)
        return self._says and self._refuses not in access.path

    @property
    def kinds(self) -> list[str]:
        return [access.kind for access in self.asked]

    @property
    def hosts(self) -> list[str]:
        return [access.path for access in self.asked]


def paths(result: CommandResult) -> list[str]:
    """What a command was refused."""
    return [access.path for access in result.refused]
