"""The addresses and names that the agent may reach: the public internet, not its look-alikes.

Sources: IANA special-purpose address registries (RFC 6890 and successors) and spec/orchestration.md
A20, E1. What ``ipaddress`` calls global in one Python release it may not in the next, and it takes
forms that carry a second address (mapped, 6to4, NAT64) at their word; so both tables stand here.
For names: RFC 6761, 6762, 7686, 8375 and ICANN's reservation of ``internal``; the names under which
clouds serve metadata; and names that carry an address, which wildcard DNS services answer with it.
"""

import contextlib
import ipaddress
import re
from collections.abc import Iterator

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_REFUSED_4 = tuple(
    (ipaddress.IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "link-local, where clouds keep their metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_REFUSED_6 = tuple(
    (ipaddress.IPv6Network(network), why)
    for network, why in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("::ffff:0:0:0/96", "IPv4-translated"),
        ("::/96", "IPv4-compatible"),
        ("64:ff9b:1::/48", "local-use NAT64"),
        ("fc00::/7", "unique local"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3ffe::/16", "reserved"),
        ("3fff::/20", "documentation"),
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = 0x5EFE


def refusal(address: IPAddress) -> str:
    """Return why an address may not be reached; empty for a public one.

    The well-known NAT64 prefix is judged by the IPv4 address it carries, because behind DNS64 every
    IPv4 site looks like that; all other forms that carry an address are refused.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return _listed_4(address)
    if address.scope_id is not None:
        return "bound to one network interface"
    if address in _NAT64:
        inner = _listed_4(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        return f"NAT64 of: {inner}" if inner else ""
    for network, why in _REFUSED_6:
        if address in network:
            return why
    if (int(address) >> 32) & 0xFCFFFFFF == _ISATAP:
        return "ISATAP"
    return "" if address in _UNICAST_6 and address.is_global else "reserved"


def _listed_4(address: ipaddress.IPv4Address) -> str:
    for network, why in _REFUSED_4:
        if address in network:
            return why
    return "" if address.is_global else "reserved"


def parse_ipv4(host: str) -> ipaddress.IPv4Address | None:
    """A host as browsers and C libraries read it: ``0x7f.1``, ``2130706433``, ``0177.0.0.1``.

    None where it is a name. Raises ``ValueError`` where it ends in a number but is no address
    (WHATWG URL, "ends in a number checker" and "IPv4 parser").
    """
    parts = host.removesuffix(".").split(".")
    if not _numeric(parts[-1]):
        return None
    if len(parts) > 4:
        raise ValueError("too many parts")
    *front, last = [_number(part) for part in parts]
    room = 256 ** (4 - len(front))
    if any(number > 255 for number in front) or last >= room:
        raise ValueError("a part is too large")
    value = last
    for position, number in enumerate(front):
        value += number * 256 ** (3 - position)
    return ipaddress.IPv4Address(value)


def _numeric(part: str) -> bool:
    return part.isascii() and (part.isdigit() or _is_hex(part))


def _is_hex(part: str) -> bool:
    head, digits = part[:2].lower(), part[2:]
    return head == "0x" and all(d in "0123456789abcdefABCDEF" for d in digits)


def _number(part: str) -> int:
    if len(part) > 40 or not _numeric(part):
        raise ValueError("a part is not a number")
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    if len(part) > 1 and part[0] == "0":
        return int(part, 8)  # ValueError for 08 and 09: browsers refuse them too
    return int(part)


_LOCAL = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan",
    "home.arpa", "onion",
)  # fmt: skip
_METADATA = ("metadata", "metadata.goog", "instance-data")
_NUMBER = r"(?:0x[0-9a-f]{1,8}|[0-9]{1,4})"
_SPELLED = re.compile(rf"(?:^|[.-])({_NUMBER}([.-]){_NUMBER}\2{_NUMBER}\2{_NUMBER})(?=[.-])")
_WHOLE = re.compile(r"(?:^|[.-])((?:0x)?[0-9a-f]{8}|[0-9]{9,12})(?=[.-])")
_UNICAST_4 = range(1 << 24, 224 << 24)
_DASHED_SIX = re.compile(r"(?:^|\.)(?=[^.]*--|(?:[^.-]+-){7})([0-9a-f-]{2,39})(?=\.)")


def not_public(host: str) -> str:
    """Return why a name, in lower case and without a dot at its end, is not public; empty if it is."""
    if any(_lies_in(host, name) for name in _METADATA):
        return "a cloud's metadata service"
    if any(_lies_in(host, name) for name in _LOCAL):
        return "a name of this machine or its network"
    if "." not in host:
        return "a name without a domain"
    for address in _carried(host):
        if why := refusal(address):
            return f"its name carries {address}, which is {why}"
    return ""


def _lies_in(host: str, name: str) -> bool:
    return host == name or host.endswith(f".{name}")


def _carried(host: str) -> list[IPAddress]:
    """The addresses that stand in a name: dotted, dashed, or as one number."""
    fours = [text.replace("-", ".") for text in _overlapping(_SPELLED, host)]
    addresses: list[IPAddress] = []
    for text in fours:
        for decimal in (text, ".".join(part.lstrip("0") or "0" for part in text.split("."))):
            with contextlib.suppress(ValueError):
                addresses += filter(None, [parse_ipv4(decimal)])
    for text in _overlapping(_DASHED_SIX, host):
        with contextlib.suppress(ValueError):
            addresses.append(ipaddress.IPv6Address(text.replace("-", ":")))
    return [*addresses, *_numbers(host)]


def _numbers(host: str) -> Iterator[IPAddress]:
    """Unicast addresses that a name carries as one number; other numbers are taken for digests and ids.

    Where eight digits may be hexadecimal or decimal both are meant.
    """
    for text in _overlapping(_WHOLE, host):
        spellings = (text, f"0x{text}") if len(text) == 8 else (text,)
        for spelling in spellings:
            with contextlib.suppress(ValueError):
                address = parse_ipv4(spelling)
                if address is not None and int(address) in _UNICAST_4:
                    yield address


def _overlapping(form: re.Pattern[str], host: str) -> list[str]:
    """Every match in a host name, overlapping ones included."""
    return [match[1] for at in range(len(host)) if (match := form.match(host, at))]
