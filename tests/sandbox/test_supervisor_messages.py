"""What the program and a supervisor say to each other, message by message, over a real socket."""

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any

import pytest

from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.supervision import Held, Supervision
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.sandbox import (
    HostTerms,
    OutsideAccess,
    OutsideAnswer,
    PlantedChange,
)

BOUNDS = Bounds(
    ("/ws",), ("/dev/null",), ("/s",), opened=("/o",), unwritable=("/k",), watched=("/w",)
)
ACCESS: dict[str, Any] = {
    "kind": "write", "path": "/out/x", "process": "tee", "pid": 7, "syscall": "openat", "to": "",
    "place": False,
}  # fmt: skip
WRITE = OutsideAccess("write", "/out/x", "tee", 7, "openat")


class Peer:
    """The other end: a supervisor that only says what a test has it say."""

    def __init__(self) -> None:
        self.supervision, self.socket = Supervision.apart(5)
        self.socket.setblocking(False)
        self.ruleset = os.open("/", os.O_RDONLY)

    def hold(self, ask: Any = None, **terms: Any) -> tuple[int, Held]:
        """A run that the program enrols."""
        return self.supervision.hold(BOUNDS, self.ruleset, b"filter", ask, **terms)

    def heard(self) -> list[dict[str, Any]]:
        """What the program has said; the descriptors with it are closed."""
        messages: list[dict[str, Any]] = []
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self.socket, MESSAGE, 4)
            except BlockingIOError:
                return messages
            for descriptor in descriptors:
                os.close(descriptor)
            if not data:
                return [*messages, {"tell": "nothing more"}]
            messages.append(json.loads(data))

    def say(self, **message: Any) -> None:
        """Say something, and have it taken in."""
        self.socket.send(json.dumps(message).encode())
        self.supervision.receive()

    def close(self) -> None:
        """Both ends."""
        self.supervision.close()
        self.socket.close()
        os.close(self.ruleset)


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A peer with a supervision."""
    with closing(Peer()) as made:
        yield made


def is_open(descriptor: int) -> bool:
    """Whether a descriptor leads anywhere."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.mark.requirement("sandbox:supervisor-gone")
def test_a_run_is_enrolled_with_all_its_terms_and_its_end_of_the_connection(peer: Peer) -> None:
    hosts = HostTerms(lists=(("a.org",),), local=("b",))
    number, held = peer.hold(print, hosts=hosts, limits={"processes": 9})
    second, other = peer.hold()
    terms = {
        "tell": "run", "roots": ["/ws"], "kept": ["/k"], "watched": ["/w"], "devices": ["/dev/null"],
        "reads": json.loads(json.dumps(asdict(BOUNDS.reads) | BOUNDS.hidden)), "landlock": 5,
    }  # fmt: skip
    first_terms = {"run": 1, "asking": True, "limits": {"processes": 9}}
    assert (number, second) == (1, 2)
    assert peer.heard() == [
        terms | first_terms | {"hosts": json.loads(json.dumps(asdict(hosts)))},
        terms | {"run": 2, "asking": False, "limits": {}, "hosts": None},
    ]
    assert (held.attended, other.attended, peer.supervision.attended) == (True, False, True)
    assert is_open(held.descriptor) and not os.get_inheritable(held.descriptor)
    with socket.socket(fileno=os.dup(held.descriptor)) as entering:
        data, descriptors, _, _ = socket.recv_fds(entering, 99, 2)
        assert data == b"\1filter"
        (ruleset,) = descriptors
        assert os.path.samestat(os.fstat(ruleset), os.stat("/"))
        os.close(ruleset)
    peer.supervision.begin(2, 77)
    assert peer.heard() == [{"tell": "began", "run": 2, "session": 77}]


@pytest.mark.requirement("sandbox:supervisor-gone")
def test_each_message_changes_its_own_run_and_those_of_unknown_runs_none(peer: Peer) -> None:
    number, held = peer.hold()
    _, other = peer.hold()
    peer.heard()
    change: dict[str, Any] = {"why": "it would run", "difference": "+x", "added": 1, "removed": 0}
    peer.say(tell="refused", run=number, **ACCESS)
    peer.say(tell="refused", run=number, **ACCESS | {"place": True, "to": "/y", "change": change})
    planted = OutsideAccess(
        "write", "/out/x", "tee", 7, "openat", "/y", planted=True, change=PlantedChange(**change)
    )
    assert held.refused == [WRITE, planted]
    peer.say(tell="session", run=number, session=5, since=123)
    peer.say(tell="session", run=number, session=6, since=124)
    assert held.sessions == {5: 123, 6: 124}
    peer.say(tell="limit", run=number, limit="memory")
    assert held.exceeded == {"memory"}
    peer.socket.send(json.dumps({"tell": "limit", "run": number, "limit": "processes"}).encode())
    held.receive()
    assert held.exceeded == {"memory", "processes"}
    assert not held.drafting and held.idle.is_set()
    peer.say(tell="drafting", run=number)
    assert held.drafting
    descriptor = held.descriptor
    peer.say(tell="enrolled", run=number)
    assert (held.descriptor, is_open(descriptor)) == (-1, False)
    held.shut()
    assert held.lives and not held.finished.is_set()
    peer.say(tell="finished", run=number)
    assert held.lives and held.finished.is_set()
    assert peer.heard() == []
    peer.say(tell="ask", run=number, serial=4, **ACCESS)  # nobody is there
    peer.say(tell="ask", run=99, serial=8, **ACCESS)
    for tell in ("refused", "limit", "finished", "ended"):
        peer.say(tell=tell, run=99, limit="memory", **ACCESS)
    no = {"tell": "answer", "allowed": False, "seconds": None}
    assert peer.heard() == [no | {"run": number, "serial": 4}, no | {"run": 99, "serial": 8}]
    descriptor = other.descriptor
    peer.say(tell="ended", run=2)
    assert (other.lives, other.abandoned, is_open(descriptor)) == (False, False, False)
    peer.say(tell="ask", run=2, serial=9, **ACCESS)
    assert peer.heard() == [no | {"run": 2, "serial": 9}]
    assert (other.refused, other.exceeded, held.lives) == ([], set(), True)


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_a_question_is_answered_as_it_was_said_and_for_as_long(peer: Peer) -> None:
    answers: dict[str, object] = {
        "/yes": True, "/no": False, "/a while": OutsideAnswer(True, 2.5), "/for good": OutsideAnswer(True),
    }  # fmt: skip

    asked, every, go_on = list[str](), asyncio.Event(), asyncio.Event()

    async def ask(access: OutsideAccess) -> Any:
        asked.append(access.path)
        if len(asked) == 4:
            every.set()
        await go_on.wait()
        return answers[access.path]

    number, held = peer.hold(ask)
    assert (held.asking, held.asked_seconds) == (False, 0.0)
    peer.heard()
    for serial, path in enumerate(answers):
        # What comes while the loop runs is taken in by itself.
        peer.socket.send(
            json.dumps({
                "tell": "ask",
                "run": number,
                "serial": serial,
                **ACCESS,
                "path": path,
            }).encode()
        )
    await every.wait()
    assert held.asking and not held.idle.is_set()
    go_on.set()
    await held.idle.wait()
    assert not held.asking
    told = [(m["serial"], m["allowed"], m["seconds"]) for m in peer.heard()]
    assert told == [(0, True, None), (1, False, None), (2, True, 2.5), (3, True, None)]
    answers.clear()
    peer.say(tell="ask", run=number, serial=9, **ACCESS)  # the question itself fails
    await held.idle.wait()
    (no,) = peer.heard()
    assert (no["serial"], no["allowed"]) == (9, False)


@pytest.mark.requirement("outside:asked")
async def test_the_time_in_which_questions_are_open_is_summed_up(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, gates = [100.0], [asyncio.Event() for _ in range(3)]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])

    async def ask(access: OutsideAccess) -> bool:
        await gates[int(access.path)].wait()
        return True

    number, held = peer.hold(ask)
    for serial in (0, 1):
        peer.say(tell="ask", run=number, serial=serial, **ACCESS | {"path": str(serial)})
        now[0] += 3
    assert held.asked_seconds == 6.0
    gates[0].set()
    for _ in range(4):
        await asyncio.sleep(0)
    assert held.asking
    now[0] += 1
    gates[1].set()
    await held.idle.wait()
    now[0] = 200.0
    assert (held.asking, held.asked_seconds) == (False, 7.0)
    peer.say(tell="ask", run=number, serial=2, **ACCESS | {"path": "2"})
    now[0] += 2
    assert held.asked_seconds == 9.0
    gates[2].set()
    await held.idle.wait()
    assert held.asked_seconds == 9.0


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_questions_that_are_open_end_with_their_run_and_are_refused(peer: Peer) -> None:
    async def ask(_: OutsideAccess) -> bool:
        await asyncio.Event().wait()
        return True

    number, held = peer.hold(ask)
    descriptor = held.descriptor
    peer.say(tell="ask", run=number, serial=1, **ACCESS)
    peer.heard()
    await asyncio.sleep(0)
    assert held.asking
    peer.socket.send(json.dumps({"tell": "limit", "run": number, "limit": "processes"}).encode())
    peer.supervision.release(number)  # which first takes in what was said
    assert held.exceeded == {"processes"}
    assert (held.lives, is_open(descriptor)) == (False, False)
    await held.idle.wait()
    assert [(m["tell"], m.get("allowed")) for m in peer.heard()] == [
        ("stop", None),
        ("answer", False),
    ]
    held.attend(ask)
    assert held.attended
    peer.supervision.release(99)
    assert peer.heard() == []


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_the_end_of_a_run_is_waited_for_only_where_it_wrote_to_a_place(peer: Peer) -> None:
    number, held = peer.hold()
    peer.heard()
    await peer.supervision.finish(number)
    await peer.supervision.finish(99)
    assert peer.heard() == []
    peer.say(tell="drafting", run=number)
    waiting = asyncio.ensure_future(peer.supervision.finish(number))
    await asyncio.sleep(0)
    assert peer.heard() == [{"tell": "finish", "run": number}]
    assert not waiting.done()
    peer.say(tell="finished", run=number)
    await waiting
    peer.say(tell="ended", run=number)
    await peer.supervision.finish(number)
    assert (peer.heard(), held.lives) == ([], False)


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_where_the_supervisor_goes_each_run_is_abandoned_and_no_other_begins(
    peer: Peer,
) -> None:
    runs = [peer.hold()[1] for _ in range(2)]
    ended: list[int] = []
    runs[1].when_abandoned = lambda: ended.append(1)
    descriptors = [held.descriptor for held in runs]
    peer.socket.shutdown(socket.SHUT_RDWR)
    await runs[0].finished.wait()  # the loop hears of it
    assert [(held.abandoned, held.lives) for held in runs] == [(True, False)] * 2
    assert (ended, [is_open(d) for d in descriptors]) == ([1], [False, False])
    peer.supervision.receive()
    peer.supervision.send({"tell": "nobody"})
    with pytest.raises(ToolError, match="supervisor of the sandbox does not answer"):
        peer.hold()


@pytest.mark.requirement("sandbox:supervisor-gone")
def test_what_is_closed_ends_all_runs_and_tells_the_supervisor_by_its_silence(peer: Peer) -> None:
    runs = [peer.hold()[1] for _ in range(2)]
    descriptors = [held.descriptor for held in runs]
    peer.heard()
    peer.supervision.close()
    assert [(held.abandoned, held.lives) for held in runs] == [(False, False)] * 2
    assert [is_open(d) for d in descriptors] == [False, False]
    assert peer.heard() == [{"tell": "nothing more"}]
    peer.supervision.close()


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_a_run_that_was_taken_over_asks_nobody_until_somebody_is_there() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def ask(_: OutsideAccess) -> bool:
        return True

    with closing(Supervision.adopted(ours)) as supervision, theirs:
        assert (supervision.fileno(), supervision.attended) == (ours.fileno(), False)
        asked = json.dumps({"tell": "ask", "run": 1, "serial": 3, **ACCESS}).encode()
        for allowed in (False, True):
            theirs.send(asked)
            supervision.receive()
            for _ in range(3):
                await asyncio.sleep(0)
            assert json.loads(theirs.recv(MESSAGE)) == {
                "tell": "answer", "run": 1, "serial": 3, "allowed": allowed, "seconds": None,
            }  # fmt: skip
            supervision.attend(ask)
            assert supervision.attended
    assert not Supervision("kept", 5).attended


@pytest.mark.requirement("sandbox:supervisor-gone")
def test_a_ruleset_that_is_none_enrols_nothing_and_says_why(peer: Peer) -> None:
    with pytest.raises(ToolError, match="could not be set up: Bad file descriptor"):
        peer.supervision.hold(BOUNDS, 9_999, b"filter", None)
    assert peer.heard() == []
    assert peer.hold()[0] == 1
