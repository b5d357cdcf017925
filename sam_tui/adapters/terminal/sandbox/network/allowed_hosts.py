"""The hosts that one run may reach: its lists, and stand-in addresses for other names.

A listed name is looked up, and connections to its addresses are allowed for a while. Any other name gets a
stand-in address from a block that leads nowhere: the question comes with the connection to it, so that the
system call waits for the person, and no name leaves this machine before the answer.
"""

import ipaddress
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from sam_tui.adapters.terminal.sandbox.network import dns
from sam_tui.core.authorization.network.hosts import HostLists, loopback
from sam_tui.core.clock import expiry_seconds

_STAND_INS_4 = int(ipaddress.IPv4Address("198.18.0.0"))
"""The base of stand-in addresses: 198.18.0.0/15, reserved for benchmarks (RFC 2544)."""
_STAND_INS_6 = int(ipaddress.IPv6Address("100::"))
"""The base of IPv6 stand-in addresses: 100::/64, whose packets are discarded (RFC 6666)."""
_MOST_STAND_INS = 1 << 16
_LEAST_SECONDS = 300.0
"""The least seconds for which an address stays allowed: programs use addresses too long."""
_MOST_ADDRESSES = 50_000


class Reach:
    """The hosts that one run may reach. Its methods may be called on any thread."""

    def __init__(self, terms: dict[str, Any]) -> None:
        self.hosts = HostLists(terms["lists"], terms["local"], terms["judged"])
        """The hosts that commands may reach without a question."""
        self._servers = tuple((str(host), int(port)) for host, port in terms["resolvers"])
        self._proxies = frozenset((str(host), int(port)) for host, port in terms["proxies"])
        self._lock = threading.Lock()
        self._learned: dict[str, dict[str, float]] = {}
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}

    @property
    def servers(self) -> tuple[dns.Server, ...]:
        """The name servers to ask."""
        return self._servers or dns.system_servers()

    def proxy(self, hosts: Iterable[str], port: int) -> bool:
        """Whether the person's environment names a proxy at this host and port."""
        named = {host for host, its_port in self._proxies if its_port == port}
        return any(host in named or (loopback(host) and "localhost" in named) for host in hosts)

    def learn(self, name: str, addresses: Sequence[str], seconds: float) -> None:
        """Note the addresses of a name, which stay valid for ``seconds``."""
        now = expiry_seconds()
        until = now + max(seconds, _LEAST_SECONDS)
        with self._lock:
            if len(self._learned) >= _MOST_ADDRESSES:
                self._learned.clear()
            for address in addresses:
                names = self._learned.setdefault(address, {})
                for old in [other for other, end in names.items() if end <= now]:
                    del names[old]
                names[name] = until

    def names_of(self, address: str) -> tuple[str, ...]:
        """Return the names for which an address was learned, or for which it stands in."""
        if name := self._stood_for(address):
            return (name,)
        now = expiry_seconds()
        with self._lock:
            return tuple(n for n, until in self._learned.get(address, {}).items() if now < until)

    def stands_in(self, address: str) -> bool:
        """Whether an address is a stand-in."""
        return bool(self._stood_for(address))

    def stand_in(self, name: str, kind: int) -> bytes:
        """Return the address that stands in for a name, as bytes."""
        with self._lock:
            number = self._numbers.get(name)
            if number is None:
                number = len(self._names) % _MOST_STAND_INS
                if len(self._names) < _MOST_STAND_INS:
                    self._names.append(name)
                else:
                    return b""
                self._numbers[name] = number
        if kind == dns.A:
            return (_STAND_INS_4 + 1 + number).to_bytes(4, "big")
        return (_STAND_INS_6 + 1 + number).to_bytes(16, "big")

    def look_up(self, name: str, kind: int) -> tuple[int, tuple[str, ...], float]:
        """Ask name servers for a name: (code, addresses, seconds for which they are valid). Waits.

        If one address is not allowed for the name, the code is REFUSED: the whole answer is suspect.
        """
        try:
            reply = dns.look_up(name, kind, self.servers)
        except ValueError:
            return dns.SERVER_FAILURE, (), 0.0
        addresses = tuple(str(ipaddress.ip_address(packed)) for packed in reply.addresses)
        if not all(self.hosts.keep(name, address) for address in addresses):
            return dns.REFUSED, addresses, 0.0
        return reply.code, addresses, float(reply.seconds)

    def _stood_for(self, address: str) -> str:
        value = ipaddress.ip_address(address)
        start = _STAND_INS_4 if value.version == 4 else _STAND_INS_6
        number = int(value) - start - 1
        with self._lock:
            return self._names[number] if 0 <= number < len(self._names) else ""
