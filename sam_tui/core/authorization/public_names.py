"""Which names are none of the public internet, going by the name alone.

Sources: RFC 6761, 6762, 7686, 8375 and ICANN's reservation of ``internal``; the names under which clouds
serve metadata; and names that carry an address, which wildcard DNS services answer with it.
"""

import ipaddress
import re

from sam_tui.core.authorization.addresses import IPAddress, refusal

_LOCAL = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan",
    "home.arpa", "onion",
)  # fmt: skip
_METADATA = ("metadata", "metadata.goog", "instance-data")
_DOTTED = re.compile(r"(?:^|[.-])(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?=\.)")
_DASHED = re.compile(r"(?:^|[.-])(\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})(?=[.-])")
_DASHED_SIX = re.compile(r"(?:^|\.)(?=[^.]*--|(?:[^.-]+-){7})([0-9a-f-]{2,39})(?=\.)")


def not_public(host: str) -> str:
    """Why a name, in lower case and without a dot at its end, is not a public one; empty for others."""
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
    """The addresses that stand in a name, dotted or dashed."""
    texts = [
        *_overlapping(_DOTTED, host),
        *(t.replace("-", ".") for t in _overlapping(_DASHED, host)),
    ]
    texts += [text.replace("-", ":") for text in _overlapping(_DASHED_SIX, host)]
    addresses: list[IPAddress] = []
    for text in texts:
        try:
            addresses.append(ipaddress.ip_address(text))
        except ValueError:
            continue
    return addresses


def _overlapping(form: re.Pattern[str], host: str) -> list[str]:
    """Every match, also one that begins within another."""
    return [match[1] for at in range(len(host)) if (match := form.match(host, at))]
