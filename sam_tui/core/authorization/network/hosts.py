"""Hosts that commands may reach: how a list names them, and what a name covers."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sam_tui.core.authorization.network.addresses import IPAddress, parse_ipv4, refusal

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_PORT = re.compile(r":(?P<port>[0-9]{1,5})\Z")
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
ANY = "*"
"""The name that matches every host."""
CONNECTION = "connect to "
"""The prefix of the target of a connection."""
_SHARED = frozenset((
    "github.io", "gitlab.io", "pages.dev", "workers.dev", "web.app", "firebaseapp.com", "appspot.com",
    "vercel.app", "netlify.app", "herokuapp.com", "amazonaws.com", "cloudfront.net",
    "azurewebsites.net", "azureedge.net", "blogspot.com", "fly.dev", "onrender.com", "ngrok.io",
    "ngrok.app", "ngrok-free.app", "trycloudflare.com", "readthedocs.io", "surge.sh", "glitch.me",
))  # fmt: skip
"""Domains below which anybody can register a name."""
_SECOND_LEVELS = frozenset((
    "ac", "co", "com", "edu", "gov", "go", "mil", "ne", "net", "nom", "or", "org", "sch",
))  # fmt: skip
"""Labels that form a public suffix with a country's domain: ``co.uk``, ``com.au``."""


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One entry of a list: a name, ``*.name`` for all below it, or an address; with a port or any.

    An address is in its one canonical spelling, an IPv4 one in IPv6 clothes is the IPv4 one.
    """

    host: str
    port: int | None = None

    @classmethod
    def of(cls, text: str) -> "HostEntry":
        """From ``example.org``, ``*.example.org:443``, ``127.0.0.1:80``, ``[::1]:80``.

        Raises ``ValueError`` for what names no host.
        """
        name = text.strip().lower()
        port: int | None = None
        tail = _PORT.search(name)
        if tail is not None and (name.startswith("[") or name.count(":") == 1):
            name, port = name[: tail.start()], int(tail["port"])
            if not 0 < port < 65536:
                raise ValueError(f"there is no port {port}")
        address = address_of(name)
        if address is not None:
            return cls(str(address), port)
        if name == ANY:
            return cls(ANY, port)
        bare = name.removeprefix("*.").removesuffix(".")
        if not _NAME.fullmatch(bare):
            raise ValueError("it is not a host (write international names as xn--…)")
        if ends_as_address(bare):
            raise ValueError("it is neither an address nor a name")
        return cls("*." + bare if name.startswith("*.") else bare, port)

    def covers(self, host: str, port: int | None = None) -> bool:
        """Whether the entry covers a host (in canonical form) on a port; a port of None means any."""
        if None not in (self.port, port) and self.port != port:
            return False
        if self.host == ANY:
            return True
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and len(host) > len(self.host) - 1
        return host == self.host or (self.host == "localhost" and loopback(host))


class HostLists:
    """Lists of hosts that may be reached unasked: hosts in every list that the guard does not decide."""

    def __init__(
        self, lists: Iterable[Iterable[str]], local: Iterable[str], judged: Iterable[str]
    ) -> None:
        self._lists = tuple(_entries(entries) for entries in lists)
        self._local = _entries(local)
        self._judged = _entries(judged)

    def hold(self, host: str, port: int | None = None) -> bool:
        """Whether a name or address in canonical form may be reached."""
        if any(entry.covers(host) for entry in self._judged):
            return False
        return all(any(e.covers(host, port) for e in entries) for entries in self._lists)

    def keep(self, name: str, address: str) -> bool:
        """Whether a name may have an address: a public one, or one in a list."""
        if any(entry.covers(name) for entry in self._local) or self.hold(address):
            return True
        if name == "localhost" or name.endswith(".localhost"):
            return loopback(address)
        return not refusal(ipaddress.ip_address(address))


def _entries(texts: Iterable[str]) -> tuple[HostEntry, ...]:
    return tuple(HostEntry.of(text) for text in texts)


def entries_of(pattern: str) -> tuple[str, ...]:
    """Return a rule's host as entries of a list; none if it names no host."""
    bare = f"*{pattern}" if pattern.startswith(".") else pattern
    try:
        HostEntry.of(bare)
    except ValueError:
        return ()
    return (bare,)


def host_of_text(text: str) -> str:
    """Return a name in lower case without a dot at the end. Raises ``ValueError`` for no name."""
    name = text.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise ValueError("it is not a host")
    return name


def address_of(text: str) -> IPAddress | None:
    """The address in any spelling (``0x7f.1``, ``[::1]``, mapped forms), None where it is a name."""
    bare = text.removeprefix("[").removesuffix("]")
    if ":" in bare:
        try:
            return plain(ipaddress.IPv6Address(bare))
        except ValueError:
            return None
    try:
        return parse_ipv4(bare)
    except ValueError:
        return None


def ends_as_address(name: str) -> bool:
    """Whether a name ends as an address does, so that it is read as one somewhere."""
    last = name.rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def plain(address: IPAddress) -> IPAddress:
    """The IPv4 address where one is only dressed up as an IPv6 one (RFC 4291, 2.5.5.2)."""
    if isinstance(address, ipaddress.IPv6Address) and address in _MAPPED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def loopback(host: str) -> bool:
    """Whether an address in canonical form is this machine's own (``0.0.0.0`` leads there, too)."""
    return host in ("::1", "::", "0.0.0.0") or (host.startswith("127.") and host.count(".") == 3)


def with_port(host: str, port: int) -> str:
    """``host:port`` as people write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_port(where: str) -> tuple[str, int | None]:
    """The host and port of ``host:port``; brackets go, a port that is missing is None."""
    host, colon, port = where.rpartition(":")
    if colon and port.isdecimal() and (host.startswith("[") or ":" not in host):
        return host.strip("[]"), int(port)
    return where.strip("[]"), None


def family(host: str) -> str:
    """Return ``*.domain`` for the siblings of a host, if one owner has them all; else empty."""
    if address_of(host) is not None or "." not in host:
        return ""
    parent = host.partition(".")[2]
    base = host if shared(parent) else parent
    return "" if shared(base) else f"*.{base}"


def shared(domain: str) -> bool:
    """Whether names directly below a domain belong to different people."""
    labels = domain.split(".")
    country = len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _SECOND_LEVELS
    return len(labels) < 2 or country or domain in _SHARED


def host_of(text: str) -> str:
    """The host of an address with a scheme, in lower case; empty for other text."""
    scheme, separator, remainder = text.partition("://")
    if not separator or not scheme.isascii() or not scheme.rpartition("=")[2].isalnum():
        return ""
    authority = remainder.replace("\\", "/").partition("/")[0].partition("?")[0].partition("#")[0]
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0][1:].lower()
    return host.partition(":")[0].rstrip(".").lower()


def hosts_of(text: str) -> tuple[str, ...]:
    """The hosts of an address with a scheme: several where commas divide them, as databases permit."""
    host = host_of(text)
    if "," not in text or not host:
        return (host,) if host else ()
    scheme, _, remainder = text.partition("://")
    authority = re.split(r"[/\\?#]", remainder, maxsplit=1)[0].rpartition("@")[2]
    return tuple(filter(None, (host_of(f"{scheme}://{part}") for part in authority.split(","))))


def host_of_word(text: str) -> str:
    """The host of an address whose scheme may be missing: ``u@a.org:80/x``, ``::1``."""
    address = address_of(text)
    return str(address) if address is not None else host_of(text) or host_of(f"x://{text}")


def connected(target: str) -> tuple[str, int | None]:
    """The host and port of ``connect to host:port``, or the host of an address; empty for all else."""
    if target.startswith(CONNECTION):
        host, port = split_port(target.removeprefix(CONNECTION))
        return (host, port) if port is not None and not host.startswith(("/", "@")) else ("", None)
    return host_of(target), None
