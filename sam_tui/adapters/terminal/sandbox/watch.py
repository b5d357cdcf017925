"""One supervised run: what it may do, what was asked for it, and how its waiting calls are answered."""

import errno
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sam_tui.adapters.terminal.sandbox.census import Census
from sam_tui.adapters.terminal.sandbox.keeping import carved
from sam_tui.adapters.terminal.sandbox.kernel import Memory
from sam_tui.adapters.terminal.sandbox.notifications import Listener, Notification
from sam_tui.adapters.terminal.sandbox.own import Own
from sam_tui.adapters.terminal.sandbox.rules import Inside
from sam_tui.adapters.terminal.sandbox.targets import Rights, Target

MOST_REFUSALS = 200
"""Different outside accesses of one run that are told; of more only the refusal is left."""
_MOST_ANSWERS = 10_000
"""More than that are asked for anew."""

Deed = Callable[[], None]
"""Carries a call out and answers it. Raises OSError, which becomes the call's own error."""


@dataclass(frozen=True, slots=True)
class Wish:
    """An access outside that a call makes. ``to`` is the second path of a rename."""

    kind: str
    path: str
    to: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run may do: real folders that it may change, what is kept of them, devices that it may
    only write to, and whether the person can be asked."""

    number: int
    roots: tuple[str, ...]
    kept: tuple[str, ...]
    devices: tuple[str, ...]
    asking: bool
    landlock: int
    """The version of Landlock beneath; what it leaves open the supervisor decides."""
    processes: int = 0
    """How many it may have at once; 0 is any number."""


class Hosts(Protocol):
    """Decides the calls that matter where the network is held to hosts. All raise OSError."""

    def connect(self, call: Notification, rights: Rights, given: bytes) -> None:
        """Connect to an address that is no file."""
        ...

    def listen(self, call: Notification) -> None:
        """Become a server."""
        ...

    def datagrams(self, call: Notification) -> None:
        """Make a socket for datagrams."""
        ...

    def close(self) -> None:
        """The run is over."""
        ...


class Watch:
    """The state of one run in the supervisor."""

    def __init__(self, terms: Terms, memory: Memory, tell: Callable[[Mapping[str, Any]], None]):
        self.number = terms.number
        self.inside = Inside(terms.roots, terms.kept)
        self.granted = self.inside
        """What of it the kernel lets through; the supervisor opens the rest itself."""
        if terms.kept:
            whole = [path for root in terms.roots for path in carved(root, terms.kept)]
            self.granted = Inside(whole, terms.kept)
        self.devices = frozenset(terms.devices)
        self.own = Own()
        self.asking = terms.asking
        self.landlock = terms.landlock
        self.census = Census(terms.processes, held=True)
        self.objects: set[tuple[str, int]] = set()
        """The System V objects that the run made: kind and number."""
        self.memory = memory
        self.listener: Listener | None = None
        self.names: Mapping[int, str] = {}
        self.hosts: Hosts | None = None
        """Where its network is held to a list of hosts."""
        self._tell = tell
        self._answers: dict[Wish, tuple[bool, float]] = {}
        """What was answered, and until when that holds (monotonic seconds)."""
        self._waiting: dict[int, tuple[Wish, list[tuple[Notification, Deed]]]] = {}
        self._serial = 0
        self._refusals: set[Wish] = set()

    def proceed(self, call: Notification) -> None:
        """Leave a call to the kernel, and so to Landlock."""
        assert self.listener is not None
        self.listener.proceed(call.id)

    def succeed(self, call: Notification) -> None:
        """Return 0 from a call that was carried out."""
        assert self.listener is not None
        self.listener.succeed(call.id)

    def returned(self, call: Notification, number: int) -> None:
        """Return a number from a call that was carried out."""
        assert self.listener is not None
        self.listener.succeed(call.id, number)

    def refuse(self, call: Notification, error: int = errno.EACCES) -> None:
        """Let a call fail."""
        assert self.listener is not None
        self.listener.refuse(call.id, error)

    def give(self, call: Notification, descriptor: int, flags: int) -> None:
        """Return a copy of a descriptor from a call."""
        assert self.listener is not None
        self.listener.give(call.id, descriptor, flags=flags)

    def waits(self, call: Notification) -> bool:
        """Whether the caller is still there and waiting."""
        return self.listener is not None and self.listener.waits(call.id)

    def settle(self, call: Notification, wish: Wish, deed: Deed) -> None:
        """Carry an outside call out, refuse it, or ask first, by what is known of such a wish."""
        known = self._known(wish)
        if known is None and self.asking and len(self._refusals) < MOST_REFUSALS:
            self._ask(call, wish, deed)
        elif known:
            self.carry_out(call, deed)
        else:
            self.note(call, wish)
            self.refuse(call)

    def carry_out(self, call: Notification, deed: Deed) -> None:
        """Do it while the caller still waits; an error becomes the call's own."""
        if not self.waits(call):
            return
        try:
            deed()
        except OSError as error:
            if error.errno == errno.ENOENT and not self.waits(call):
                return
            self.refuse(call, error.errno or errno.EACCES)

    def answer(self, serial: int, *, allowed: bool, seconds: float | None = None) -> None:
        """The answer to a question: for every call that waits on it, and for those to come within
        some seconds, or to the end."""
        entry = self._waiting.pop(serial, None)
        if entry is None:
            return
        wish, calls = entry
        until = math.inf if seconds is None else time.monotonic() + seconds
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        self._answers[wish] = (allowed, until)
        for call, deed in calls:
            try:
                if allowed:
                    self.carry_out(call, deed)
                else:
                    self.note(call, wish)
                    self.refuse(call)
            except OSError:
                continue  # the caller is gone

    def stop_asking(self) -> None:
        """From now on everything outside is refused, also what waits for an answer."""
        self.asking = False
        for serial in tuple(self._waiting):
            self.answer(serial, allowed=False)

    def _known(self, wish: Wish) -> bool | None:
        """An answer that covers a wish: its own, or for metadata that for writing the same file."""
        answer = self._answered(wish)
        if not answer and wish.kind == "metadata":
            return self._answered(Wish("write", wish.path)) or answer
        return answer

    def _answered(self, wish: Wish) -> bool | None:
        allowed, until = self._answers.get(wish, (None, 0.0))
        return allowed if time.monotonic() < until else None

    def _ask(self, call: Notification, wish: Wish, deed: Deed) -> None:
        for known, calls in self._waiting.values():
            if known == wish:
                calls.append((call, deed))
                return
        self._serial += 1
        self._waiting[self._serial] = (wish, [(call, deed)])
        self._tell({"tell": "ask", "serial": self._serial, **self._words(call, wish)})

    def tell(self, message: Mapping[str, Any]) -> None:
        """Tell the program something of this run."""
        self._tell({**message, "run": self.number})

    def note(self, call: Notification, wish: Wish) -> None:
        """Tell once that something was refused."""
        if wish not in self._refusals and len(self._refusals) < MOST_REFUSALS:
            self._refusals.add(wish)
            self._tell({"tell": "refused", **self._words(call, wish)})

    def _words(self, call: Notification, wish: Wish) -> dict[str, Any]:
        target = Target(call.thread, self.memory)
        try:
            pid = target.process
        except (OSError, KeyError):
            pid = call.thread
        return {
            "run": self.number,
            "kind": wish.kind,
            "path": wish.path,
            "to": wish.to,
            "process": target.name,
            "pid": pid,
            "syscall": self.names.get(call.number, str(call.number)),
        }
