"""The supervisor: answers the waiting system calls of every run, and puts questions to the program.

It runs in a small process of its own, or on a thread where the kernel lets only ancestors look into a
process. It ends with the program: when the control socket closes, every call that waits fails.
"""

import errno
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sam_tui.adapters.terminal.sandbox.judgement.drafts import Drafts
from sam_tui.adapters.terminal.sandbox.judgement.metadata import metadata_handlers
from sam_tui.adapters.terminal.sandbox.judgement.names import name_handlers
from sam_tui.adapters.terminal.sandbox.judgement.process_calls import process_handlers
from sam_tui.adapters.terminal.sandbox.judgement.shared_objects import object_handlers
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine
from sam_tui.adapters.terminal.sandbox.kernel.calls import ProcessMemory, unshare_place
from sam_tui.adapters.terminal.sandbox.kernel.notifications import (
    Notification,
    NotificationListener,
)
from sam_tui.adapters.terminal.sandbox.kernel.protocol import GO, LISTENING, MESSAGE
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import COUNT_SECONDS, system_amounts
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import TRUNCATION_HELD
from sam_tui.adapters.terminal.sandbox.network.connections import connection_handlers
from sam_tui.adapters.terminal.sandbox.network.datagrams import Messages
from sam_tui.adapters.terminal.sandbox.supervised.caller import own_rights
from sam_tui.adapters.terminal.sandbox.supervised.free_reads import Reads
from sam_tui.adapters.terminal.sandbox.supervised.own_objects import Own
from sam_tui.adapters.terminal.sandbox.supervised.places import PlaceHistory
from sam_tui.adapters.terminal.sandbox.supervised.processes import GRACE, ProcessTracker
from sam_tui.adapters.terminal.sandbox.supervised.run import RunTerms, Watch

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.sandbox.network.host_connections import SharedNetwork

Handler = Callable[[Watch, Notification], None]


class Supervisor:
    """All runs of one program."""

    def __init__(self, control: socket.socket) -> None:
        native = machine()
        self._control = control
        self._unsent: deque[bytes] = deque()
        self._memory = ProcessMemory()
        self._places = PlaceHistory()
        self._poll = select.epoll()
        self._enrolling: dict[int, tuple[socket.socket, Watch]] = {}
        self._listening: dict[int, Watch] = {}
        self._runs: dict[int, Watch] = {}
        self._heard: dict[int, Callable[[], None]] = {}
        self._shared: SharedNetwork | None = None
        self._telling = threading.Lock()
        self._counted: list[Watch] = []
        """The runs whose processes have limits."""
        self._count_next = 0.0
        calls: Mapping[str, int] = native.calls if native else {}
        self._names = {number: name for name, number in calls.items()}
        self._ended: list[Own] = []
        """Objects that ended runs made outside of their folders; they are removed with the session."""
        self._drafts = Drafts(self._listen_to)
        named = name_handlers(self._drafts)
        handlers = named | metadata_handlers() | connection_handlers()
        handlers |= object_handlers() | process_handlers()
        self._messages = Messages()
        handlers |= self._messages.handlers(socket=handlers["socket"])
        self._handlers = {calls[name]: h for name, h in handlers.items() if name in calls}
        self._landlock_decides = frozenset(calls[name] for name in named if name in calls)

    def serve(self) -> ProcessTracker:
        """Answer until the control socket closes; returns the remaining processes of all runs."""
        control = self._control.fileno()
        self._poll.register(control, select.EPOLLIN)
        try:
            while True:
                ready = self._poll.poll(COUNT_SECONDS if self._counted else None)
                if self._counted and time.monotonic() >= self._count_next:
                    self._count()
                for descriptor, events in ready:
                    if descriptor != control:
                        self._take(descriptor, events)
                    elif not self._attend(events):
                        return ProcessTracker.joined(watch.tracker for watch in self._runs.values())
        finally:
            self._end()

    def _take(self, descriptor: int, events: int) -> None:
        """Handle a descriptor of a run that is ready, unless the run has ended meanwhile."""
        if descriptor in self._listening:
            self._hear(descriptor, events)
        elif descriptor in self._enrolling:
            self._enrol(descriptor)
        elif descriptor in self._heard:
            self._heard[descriptor]()

    def _attend(self, events: int) -> bool:
        """Send and read on the control socket; False once it is closed."""
        if events & select.EPOLLOUT:
            with self._telling:
                self._send()
        return not events & ~select.EPOLLOUT or self._obey()

    def _count(self) -> None:
        """End every run whose processes together exceed a limit."""
        self._count_next = time.monotonic() + COUNT_SECONDS
        system = system_amounts()
        for watch in self._counted:
            if limit := watch.tracker.exceeded(system):
                watch.report({"tell": "limit", "limit": limit})
                # Nobody is answered meanwhile, so that no session is begun while they are killed.
                watch.tracker.end_at_once()

    def _end(self) -> None:
        for descriptor in self._listening:
            os.close(descriptor)
        for enrolment, _ in self._enrolling.values():
            enrolment.close()
        for watch in self._runs.values():
            if watch.hosts is not None:
                watch.hosts.close()
        if self._shared is not None:
            self._shared.close()
        self._drafts.close()
        self._memory.close()
        for mine in (*self._ended, *(watch.created for watch in self._runs.values())):
            mine.remove_left()
        self._poll.close()
        self._control.close()

    def _obey(self) -> bool:
        """Handle one message of the program; False once the program is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE, 4)
        except ConnectionResetError:
            return True  # it went with something unread; what it said before is still to come
        except OSError:
            return False
        if not data:
            return False
        message = cast("dict[str, Any]", json.loads(data))
        if message["tell"] == "run":
            self._begin(message, descriptors[0])
        elif (watch := self._runs.get(message["run"])) is not None:
            self._handle_run_message(watch, message)
        return True

    def _begin(self, message: Mapping[str, Any], enrolling: int) -> None:
        """Begin a run, whose command will come by a socket."""
        terms = RunTerms(
            message["run"],
            tuple(message["roots"]),
            tuple(message["kept"]),
            tuple(message["watched"]),
            tuple(message["devices"]),
            message["asking"],
            message["landlock"],
            message["limits"],
        )
        watch = Watch(terms, self._memory, self._tell, self._places)
        watch.names = self._names
        watch.datagram_sockets = self._messages.inodes
        watch.reads = Reads.of(message)
        if message["hosts"] is not None:
            watch.hosts = self._open_shared_network().connections_of(watch, message["hosts"])
        self._runs[terms.number] = watch
        enrolment = socket.socket(fileno=enrolling)
        self._enrolling[enrolment.fileno()] = (enrolment, watch)
        self._poll.register(enrolment.fileno(), select.EPOLLIN)

    def _handle_run_message(self, watch: Watch, message: Mapping[str, Any]) -> None:
        """Handle a message of the program about a run."""
        match message["tell"]:
            case "answer":
                watch.answer(
                    message["serial"], allowed=message["allowed"], seconds=message["seconds"]
                )
            case "began":
                watch.tracker.add(message["session"])
            case "finish":
                self._drafts.finish(watch)
                watch.finish()
            case _:
                watch.stop_asking()

    def _open_shared_network(self) -> "SharedNetwork":
        if self._shared is None:
            from sam_tui.adapters.terminal.sandbox.network.host_connections import SharedNetwork

            self._shared = SharedNetwork(self._listen_to)
        return self._shared

    def _listen_to(self, descriptor: int, on_ready: Callable[[], None] | None) -> None:
        """Call ``on_ready`` when there is something to read; None ends that."""
        if on_ready is None:
            del self._heard[descriptor]
            self._poll.unregister(descriptor)
        else:
            self._heard[descriptor] = on_ready
            self._poll.register(descriptor, select.EPOLLIN)

    def _tell(self, message: Mapping[str, object]) -> None:
        with self._telling:
            self._unsent.append(json.dumps(message).encode())
            if len(self._unsent) == 1:
                self._send()

    def _send(self) -> None:
        """Send the messages that the program accepts now; never wait, as it may wait for an answer."""
        events = select.EPOLLIN
        while self._unsent:
            try:
                self._control.send(self._unsent[0], socket.MSG_DONTWAIT)
            except BlockingIOError:
                events |= select.EPOLLOUT
                break
            except OSError:
                pass  # the program is going, and every answer will be no
            self._unsent.popleft()
        self._poll.modify(self._control.fileno(), events)

    def _enrol(self, descriptor: int) -> None:
        """Take the listener that a starting command hands over, and let it start."""
        enrolment, watch = self._enrolling.pop(descriptor)
        self._poll.unregister(descriptor)
        with enrolment:
            try:
                word, handed, _, _ = socket.recv_fds(enrolment, 16, 1)
            except OSError:
                word, handed = b"", []
            if word[:1] == LISTENING and handed:
                watch.listener = NotificationListener(handed[0])
                self._listening[handed[0]] = watch
                if watch.tracker.limited:
                    self._counted.append(watch)
                self._poll.register(handed[0], select.EPOLLIN)
            else:
                del self._runs[watch.number]
            self._tell({"tell": "enrolled", "run": watch.number})
            if word:
                try:
                    enrolment.send(GO)
                except OSError:
                    pass  # it died on the way

    def _hear(self, descriptor: int, events: int) -> None:
        watch = self._listening[descriptor]
        if events & select.EPOLLIN:
            try:
                assert watch.listener is not None
                call = watch.listener.receive()
            except OSError:
                return  # the caller was killed before it was heard
            self._judge(watch, call)
        elif events & (select.EPOLLHUP | select.EPOLLERR):
            del self._listening[descriptor]
            if watch in self._counted:
                self._counted.remove(watch)
            watch.listener = None
            if watch.hosts is not None:
                watch.hosts.close()
            self._poll.unregister(descriptor)
            os.close(descriptor)
            self._drafts.finish(watch)
            watch.later_run.when_settled(lambda: self._forget(watch))

    def _forget(self, watch: Watch) -> None:
        """Forget an ended run with all its questions."""
        self._runs.pop(watch.number, None)
        if watch.created.left:
            self._ended.append(watch.created)
        self._tell({"tell": "gone", "run": watch.number})

    def _judge(self, watch: Watch, call: Notification) -> None:
        try:
            try:
                self._drafts.settle()  # judge earlier writes first
                self._handlers[call.number](watch, call)
            except OSError as error:
                hidden = error.errno in (errno.EPERM, errno.EACCES)
                decided = (
                    watch.landlock >= TRUNCATION_HELD and call.number in self._landlock_decides
                )
                if hidden and decided:
                    watch.proceed(call)  # its memory is unreadable, so Landlock alone decides
                else:
                    watch.refuse(call, error.errno or errno.EACCES)
            except (ValueError, KeyError, IndexError):
                watch.refuse(call)
        except OSError:
            return  # the caller was killed


def serve(control: socket.socket) -> ProcessTracker:
    """Run the supervisor behind a control socket, on this thread, until the socket closes.

    Returns the remaining processes of all runs: the program closed without ending them, or died.
    """
    if threading.current_thread() is not threading.main_thread():
        # A signal would interrupt the handing over of a descriptor: the caller's open would then return
        # 0, and no descriptor. The program's other threads take it.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    if unshare_place():
        os.umask(0)
    own_rights()
    return Supervisor(control).serve()


def main() -> None:
    """Run the supervisor in this process; the last argument is the number of the control socket."""
    descriptor = int(sys.argv[-1])
    os.chdir("/")
    os.umask(0)
    serve(socket.socket(fileno=descriptor)).end(grace=GRACE)
