"""What a confined command may reach outside of its folders, and how a person is asked for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

OutsideKind = Literal["write", "delete", "rename", "metadata", "connect"]
Network = Literal["on", "off"]
"""Whether confined commands reach the internet, loopback included."""
Shield = Literal["writes", "metadata", "signals", "sockets", "network", "secrets", "kernel"]


@dataclass(frozen=True, slots=True)
class OutsideAccess:
    """One thing that a confined command tried outside of what it may change.

    ``path`` is real and absolute; for a connection the socket's path, ``@name`` of an abstract one,
    or ``the network``. ``to`` is the new path of a rename. ``process``, ``pid`` and ``syscall`` say
    who tried and how; they are empty or 0 where that is only guessed from what was printed.
    """

    kind: OutsideKind
    path: str
    process: str = ""
    pid: int = 0
    syscall: str = ""
    to: str = ""


AskOutside = Callable[[OutsideAccess], Awaitable[bool]]
"""Asks for exactly one access, while the system call waits. True lets it happen.

Cancelled when the command ended meanwhile. The same access is not asked for twice in one run.
"""


@dataclass(frozen=True, slots=True)
class Protection:
    """One of the things that can be protected, whether it is here, and how or why not."""

    shield: Shield
    held: bool
    detail: str
