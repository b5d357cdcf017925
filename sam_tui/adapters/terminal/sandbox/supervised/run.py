"""One supervised run: its terms, its open questions, and the answers to its waiting system calls."""

import errno
import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Protocol

from sam_tui.adapters.terminal.sandbox.kernel.calls import ProcessMemory
from sam_tui.adapters.terminal.sandbox.kernel.notifications import (
    Notification,
    NotificationListener,
)
from sam_tui.adapters.terminal.sandbox.kernel.protected_paths import carved
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights, Target, own_rights
from sam_tui.adapters.terminal.sandbox.supervised.free_reads import Reads
from sam_tui.adapters.terminal.sandbox.supervised.own_objects import Own
from sam_tui.adapters.terminal.sandbox.supervised.places import (
    Inside,
    PlaceChange,
    PlaceHistory,
    WatchedPlaces,
)
from sam_tui.adapters.terminal.sandbox.supervised.processes import ProcessTracker
from sam_tui.core.clock import expiry_seconds

MOST_REFUSALS = 200
"""The most different refused accesses of one run that are reported; further ones are only refused."""
_MOST_ANSWERS = 10_000
"""The most answers of one run that are remembered; about other accesses the person is asked again."""

SupervisedAction = Callable[[], None]
"""Performs a system call for its caller and answers it. Raises OSError, which the caller gets."""


@dataclass(frozen=True, slots=True)
class OutsideWish:
    """An outside access that a call needs. ``to`` is the second path of a rename.

    ``content`` identifies the bytes if a yes covers only those that were shown.
    """

    kind: str
    path: str
    to: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class RunTerms:
    """The terms of a run: ``roots`` are writable real folders without ``kept``; in ``watched`` the
    supervisor makes the changes; ``devices`` are write-only; ``asking``: a person can be asked."""

    number: int
    roots: tuple[str, ...]
    kept: tuple[str, ...]
    watched: tuple[str, ...]
    devices: tuple[str, ...]
    asking: bool
    landlock: int
    """The version of Landlock that confines the run; the supervisor enforces the rules it lacks."""
    limits: Mapping[str, int]
    """The limits of all processes of the run together, by the names of the policy file."""


class Hosts(Protocol):
    """Decides about network calls where the network is limited to hosts. All methods raise OSError."""

    def connect(self, call: Notification, rights: Rights, address: bytes) -> None:
        """Connect to an address that is no file."""
        ...

    def listen(self, call: Notification) -> None:
        """Become a server."""
        ...

    def datagrams(self, call: Notification) -> None:
        """Make a socket for datagrams."""
        ...

    def serves(self, inode: int) -> bool:
        """Whether a command of this program listens on a socket."""
        ...

    def close(self) -> None:
        """The run is over."""
        ...


class Watch:
    """One run in the supervisor: its terms, questions and answers."""

    def __init__(
        self,
        terms: RunTerms,
        memory: ProcessMemory,
        publish: Callable[[Mapping[str, object]], None],
        history: PlaceHistory,
    ):
        self.number = terms.number
        self.inside = Inside(terms.roots, terms.kept)
        free = [root for root in terms.roots if root not in terms.watched]
        whole = [path for root in free for path in carved(root, terms.kept)]
        self.granted = Inside(whole, terms.kept)
        """The folders in which the kernel allows writes; in others the supervisor opens files itself."""
        self.later_run = WatchedPlaces(terms.watched, free, terms.kept, history)
        self.devices = frozenset(terms.devices)
        self.created = Own()
        self.asking = terms.asking
        self.landlock = terms.landlock
        self.tracker = ProcessTracker(terms.limits, filtered=True)
        self.memory = memory
        self.listener: NotificationListener | None = None
        self.names: Mapping[int, str] = {}
        self.rights_changed = False
        """Whether a process of the run may have other rights than the supervisor."""
        self.reads = Reads()
        """Paths that the run reads without a question."""
        self.hosts: Hosts | None = None
        """The hosts to which its network is limited; None without a limit."""
        self.datagram_sockets: Set[int] = frozenset()
        """The inodes of the unix sockets for datagrams of all runs."""
        self._tell = publish
        self._answers: dict[OutsideWish, tuple[bool, float]] = {}
        """Answers, each with the time until which it is valid (monotonic seconds)."""
        self._waiting: dict[int, tuple[OutsideWish, list[Callable[[bool], None]]]] = {}
        self._serial = 0
        self._refusals: set[OutsideWish] = set()

    def own_socket(self, inode: int) -> bool:
        """Whether a command of this program made a socket."""
        served = self.hosts is not None and self.hosts.serves(inode)
        return inode != 0 and (served or inode in self.datagram_sockets)

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

    def add(self, call: Notification, descriptor: int, flags: int) -> int:
        """Give the caller a copy of a descriptor before its call returns; returns its number there."""
        assert self.listener is not None
        return self.listener.add(call.id, descriptor, flags=flags)

    def rights(self, call: Notification, *, make: bool = False) -> Rights:
        """The rights with which to change names or open files; the umask is valid only with ``make``.

        Raises OSError. Nothing is read while all processes have the rights of the person.
        """
        if make or self.rights_changed:
            return Target(call.thread, self.memory).rights()
        return own_rights()

    def waits(self, call: Notification) -> bool:
        """Whether the caller is still there and waiting."""
        return self.listener is not None and self.listener.waits(call.id)

    def settle(
        self,
        call: Notification,
        wish: OutsideWish,
        action: SupervisedAction,
        change: PlaceChange | None = None,
    ) -> None:
        """Carry an outside call out, refuse it, or ask first, as the answers so far say."""

        def answered(allowed: bool) -> None:
            if allowed:
                self.carry_out(call, action)
            else:
                self.note(self.who(call), wish)
                self.refuse(call)

        self.decide(self.who(call), wish, answered, change)

    def do(self, call: Notification, rights: Rights, act: SupervisedAction) -> None:
        """Carry a call out as its caller, and let it succeed. Raises OSError."""
        if self.waits(call):
            with file_calls.acting_as(rights):
                act()
            self.succeed(call)

    def ask(
        self,
        call: Notification,
        wish: OutsideWish,
        change: PlaceChange,
        rights: Rights,
        act: SupervisedAction,
    ) -> None:
        """Carry a call out as its caller after the person agreed to the change."""

        def agreed() -> None:
            with file_calls.acting_as(rights):
                act()
            self.succeed(call)

        self.settle(call, wish, agreed, change)

    def decide(
        self,
        who: Mapping[str, object],
        wish: OutsideWish,
        answered: Callable[[bool], None],
        change: PlaceChange | None = None,
    ) -> None:
        """Call ``answered`` with whether a wish is allowed, at once or after a question to the person."""
        granted = self._known(wish)
        if granted is None and self.asking and len(self._refusals) < MOST_REFUSALS:
            self._ask(who, wish, answered, change)
        else:
            answered(bool(granted))

    def carry_out(self, call: Notification, action: SupervisedAction) -> None:
        """Carry out an action while the caller still waits; its OSError becomes the call's result."""
        if not self.waits(call):
            return
        try:
            action()
        except OSError as error:
            if error.errno == errno.ENOENT and not self.waits(call):
                return
            self.refuse(call, error.errno or errno.EACCES)

    def answer(self, serial: int, *, allowed: bool, seconds: float | None = None) -> None:
        """Apply an answer to every call that waits for it, and to later ones, for some seconds or to the
        run's end."""
        entry = self._waiting.pop(serial, None)
        if entry is None:
            return
        wish, calls = entry
        until = math.inf if seconds is None else expiry_seconds() + seconds
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        self._answers[wish] = (allowed, until)
        for answered in calls:
            try:
                answered(allowed)
            except OSError:
                continue  # the caller is gone

    def stop_asking(self) -> None:
        """Refuse everything outside from now on, and all calls that wait for an answer."""
        self.asking = False
        for serial in tuple(self._waiting):
            self.answer(serial, allowed=False)

    def _known(self, wish: OutsideWish) -> bool | None:
        """An earlier answer that covers a wish: one to write a file also covers metadata and reading."""
        answer = self._answered(wish)
        if not answer and wish.kind in ("metadata", "read"):
            writes = [w for w in self._answers if (w.kind, w.path) == ("write", wish.path)]
            return any(self._answered(w) for w in writes) or answer
        return answer

    def _answered(self, wish: OutsideWish) -> bool | None:
        allowed, until = self._answers.get(wish, (None, 0.0))
        return allowed if expiry_seconds() < until else None

    def _ask(
        self,
        who: Mapping[str, object],
        wish: OutsideWish,
        answered: Callable[[bool], None],
        change: PlaceChange | None,
    ) -> None:
        for waiting_wish, calls in self._waiting.values():
            if waiting_wish == wish:
                calls.append(answered)
                return
        self._serial += 1
        self._waiting[self._serial] = (wish, [answered])
        details = {} if change is None else {"change": change.as_object()}
        self._tell({"tell": "ask", "serial": self._serial, **self._words(who, wish), **details})

    def report(self, message: Mapping[str, Any]) -> None:
        """Send a message about this run to the program."""
        self._tell({**message, "run": self.number})

    def note(self, who: Mapping[str, object], wish: OutsideWish) -> None:
        """Report once that an access was refused."""
        if wish not in self._refusals and len(self._refusals) < MOST_REFUSALS:
            self._refusals.add(wish)
            self._tell({"tell": "refused", **self._words(who, wish)})

    def _words(self, who: Mapping[str, Any], wish: OutsideWish) -> dict[str, Any]:
        return {
            "run": self.number,
            "kind": wish.kind,
            "path": wish.path,
            "to": wish.to,
            "place": bool(wish.content),
            **who,
        }

    def who(self, call: Notification) -> Mapping[str, Any]:
        """The process behind a call and the name of the call."""
        target = Target(call.thread, self.memory)
        try:
            pid = target.process
        except (OSError, KeyError):
            pid = call.thread
        syscall = self.names.get(call.number, str(call.number))
        return {"process": target.name, "pid": pid, "syscall": syscall}

    def finish(self) -> None:
        """Report to the program once all writes to places that later run are answered."""
        self.later_run.when_settled(lambda: self._tell({"tell": "finished", "run": self.number}))

    def drafting(self) -> None:
        """Tell the program that the run writes to a place that later runs, so that it waits for the
        outcome."""
        if not self.later_run.drafted:
            self.later_run.drafted = True
            self._tell({"tell": "drafting", "run": self.number})
