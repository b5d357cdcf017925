"""Answers a run's questions to name servers, where its network is limited to hosts."""

import ipaddress
import socket
import struct
import threading
from collections.abc import Callable

from sam_tui.adapters.terminal.sandbox.network import dns
from sam_tui.adapters.terminal.sandbox.network.allowed_hosts import Reach
from sam_tui.core.authorization.network.hosts import host_of_text

_ADDRESSES = (dns.A, dns.AAAA)
_HINTS = (dns.SVCB, dns.HTTPS)
"""Record types with further addresses. The answer has none of these, and clients do without."""
_STAND_IN_SECONDS = 60
_UNRESOLVED_DOMAINS = ("invalid", "onion", "arpa")
"""Top-level domains for which no name server is asked."""
_LONGEST_DATAGRAM = 1232
_READ = 4096
_PKTINFO_4, _PKTINFO_6 = 8, 50
_MOST_THREADS = 64
_PATIENCE = 120.0

Refused = Callable[[str], None]
"""Called with a host that was refused."""
_busy = threading.BoundedSemaphore(_MOST_THREADS)


class Naming:
    """The name server of one run. ``asking`` says whether somebody can be asked for a name."""

    def __init__(self, reach: Reach, asking: Callable[[], bool]) -> None:
        self._reach = reach
        self._asking = asking

    def at_once(self, question: dns.DnsQuestion, refused: Refused) -> bytes | None:
        """The answer where no name server is needed for it, else None."""
        try:
            name = host_of_text(question.name)
        except ValueError:
            return question.answer(dns.NO_NAME)
        if name == "localhost" or name.endswith(".localhost"):
            local = ipaddress.ip_address("127.0.0.1" if question.kind == dns.A else "::1").packed
            served = question.kind in _ADDRESSES
            return question.answer(dns.NO_ERROR, (local,) if served else ())
        if name.rpartition(".")[2] in _UNRESOLVED_DOMAINS:
            return question.answer(dns.NO_NAME)
        if self._reach.hosts.hold(name):
            return question.answer(dns.NO_ERROR) if question.kind in _HINTS else None
        if not self._asking():
            refused(name)
            return question.answer(dns.NO_NAME)
        address = self._reach.stand_in(name, question.kind) if question.kind in _ADDRESSES else b""
        if not address and question.kind not in _HINTS:
            refused(name)
        return question.answer(
            dns.NO_ERROR, (address,) if address else (), seconds=_STAND_IN_SECONDS
        )

    def later(self, question: dns.DnsQuestion, refused: Refused) -> bytes:
        """The answer of name servers, for a name that is listed. Waits for them."""
        name = host_of_text(question.name)
        if question.kind not in _ADDRESSES:
            answer = dns.ask(question.message, self._reach.servers)
            return question.answer(dns.SERVER_FAILURE) if answer is None else answer
        code, addresses, seconds = self._reach.look_up(name, question.kind)
        if code == dns.REFUSED:
            refused(f"{name} at {', '.join(addresses)}" if addresses else name)
            return question.answer(dns.NO_NAME)
        if code != dns.NO_ERROR:
            return question.answer(code)
        self._reach.learn(name, addresses, seconds)
        packed = tuple(ipaddress.ip_address(address).packed for address in addresses)
        return question.answer(dns.NO_ERROR, packed, seconds=int(seconds))


def answer_datagram(
    server: socket.socket, naming: Naming, refused: Callable[[int], Refused]
) -> None:
    """Answer one datagram. ``refused`` gets the port that asked."""
    try:
        message, ancillary, _, sender = server.recvmsg(_READ, 128, socket.MSG_DONTWAIT)
        question = dns.DnsQuestion.read(message)
    except (OSError, ValueError):
        return
    verdict = refused(sender[1])
    answer = naming.at_once(question, verdict)
    if answer is not None:
        _reply(server, answer, question, ancillary, sender)
        return

    def work() -> None:
        _reply(server, naming.later(question, verdict), question, ancillary, sender)

    aside(work)


def converse(client: socket.socket, naming: Naming, refused: Refused) -> None:
    """Answer a stream on a thread of its own, until it ends."""

    def work() -> None:
        with client:
            client.settimeout(_PATIENCE)
            while True:
                question = dns.DnsQuestion.read(dns.unframed(client))
                answer = naming.at_once(question, refused) or naming.later(question, refused)
                client.sendall(dns.framed(answer))

    if not aside(work):
        client.close()


def _reply(
    server: socket.socket,
    answer: bytes,
    question: dns.DnsQuestion,
    ancillary: list[tuple[int, int, bytes]],
    sender: tuple[str, int],
) -> None:
    if len(answer) > _LONGEST_DATAGRAM:
        answer = question.answer(dns.NO_ERROR | dns.TRUNCATED)
    try:
        server.sendmsg([answer], [_from(item) for item in ancillary], 0, sender)
    except OSError:
        return  # the program that asked is gone


def _from(item: tuple[int, int, bytes]) -> tuple[int, int, bytes]:
    """Answer from the address that was asked: struct in_pktinfo, struct in6_pktinfo."""
    level, kind, data = item
    if kind == _PKTINFO_4:
        return level, kind, struct.pack("=I4s4s", 0, data[8:12], data[8:12])
    return level, kind, data[:16] + bytes(4)


def aside(work: Callable[[], None]) -> bool:
    """Run ``work``, which waits, on a thread; False if too many are running."""
    if not _busy.acquire(blocking=False):
        return False

    def run() -> None:
        try:
            work()
        except (OSError, ValueError):
            pass  # the client is gone, or its question makes no sense
        finally:
            _busy.release()

    threading.Thread(target=run, name="names", daemon=True).start()
    return True
