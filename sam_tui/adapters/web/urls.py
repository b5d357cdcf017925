"""URLs from outside in the one canonical form that is checked, resolved and requested."""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin

from sam_tui.core.authorization.network.addresses import IPAddress, parse_ipv4
from sam_tui.core.errors import ToolError

DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST = 8192
_FORM = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*):(?P<slashes>[/\\]*)(?P<rest>.*)", re.I | re.S)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_UNESCAPED = "/?:@!$&'()*+,;=~-._%[]|^{}"
"""The characters of a path or query that are not percent-encoded."""


@dataclass(frozen=True, slots=True)
class UrlTarget:
    """A canonical http or https URL. ``host`` is lower-case ASCII without a trailing dot.

    ``address`` is set where the host is an address in any spelling. ``path`` begins with ``/`` and
    holds the query.
    """

    scheme: str
    host: str
    port: int
    path: str
    address: IPAddress | None

    @property
    def shown_host(self) -> str:
        """The host in the form of a URL or a Host header."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def authority(self) -> str:
        """Host, and port where it is not the scheme's own."""
        usual = self.port == DEFAULT_PORTS[self.scheme]
        return self.shown_host if usual else f"{self.shown_host}:{self.port}"

    @property
    def origin(self) -> str:
        """``host:port``, always with the port, as in an allow list."""
        return f"{self.shown_host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def follow(self, location: str) -> "UrlTarget":
        """The target of a redirect from here; raises ``ToolError`` like ``canonical``."""
        try:
            return canonical(urljoin(self.url, location.strip()))
        except ValueError:
            raise ToolError(f"{self.url} redirects to something that is not a URL.") from None


def canonical(url: str) -> UrlTarget:
    """The canonical form of a URL; raises ``ToolError`` for an unusable one."""
    text = url.strip()
    if len(text) > _LONGEST:
        raise ToolError(f"The URL is {len(text)} characters long; the longest is {_LONGEST}.")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c == " " for c in text):
        raise ToolError(
            f"{_brief(text)} contains spaces or control characters.", hint="Encode them."
        )
    form = _FORM.fullmatch(text)
    if form is None:
        raise ToolError(f"{_brief(text)} is not a URL.", hint="Write https://host/path.")
    scheme = form["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise ToolError(f"{scheme}: addresses are not fetched, only http and https.")
    if form["slashes"] != "//":
        raise ToolError(f"{_brief(text)} is not a URL.", hint=f"Write {scheme}://host/path.")
    authority, path = _parted(form["rest"])
    if "@" in authority:
        raise ToolError("A URL with a user name or password in it is not fetched.")
    if "\\" in authority:
        raise ToolError(f"{_brief(text)} has a backslash in its host.")
    host, port = _host_and_port(authority, scheme)
    name, address = _host(host)
    return UrlTarget(scheme, name, port, path, address)


def _brief(text: str) -> str:
    safe = "".join(c if c.isprintable() else "?" for c in text[:120])
    return repr(safe + ("…" if len(text) > 120 else ""))


def _parted(url: str) -> tuple[str, str]:
    """The authority, and path with query; the fragment is the reader's own affair."""
    match = re.search(r"[/?#]", url)
    authority, tail = (url, "") if match is None else (url[: match.start()], url[match.start() :])
    path = tail.partition("#")[0]
    if not path.startswith("/"):
        path = "/" + path
    return authority, quote(path, safe=_UNESCAPED)


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?P<host>\[[^\]]*\]|[^:]*)(:(?P<port>[0-9]{0,5}))?", authority)
    if match is None or not match["host"]:
        raise ToolError(f"{_brief(authority)} is not a host.", hint=f"Write {scheme}://host/path.")
    port = int(match["port"]) if match["port"] else DEFAULT_PORTS[scheme]
    if not 0 < port < 65536:
        raise ToolError(f"There is no port {port}.")
    return match["host"], port


def _host(host: str) -> tuple[str, IPAddress | None]:
    if host.startswith("["):
        try:
            six = ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            raise ToolError(f"{_brief(host)} is not an IPv6 address.") from None
        return str(six), six
    # Encoded and full-width spellings of a host mean the host: decode before anything is judged.
    plain = unicodedata.normalize("NFKC", unquote(host)).lower().replace("。", ".")
    name = (plain if plain.isascii() else _international(plain)).removesuffix(".")
    try:
        four = parse_ipv4(name)
    except ValueError:
        raise ToolError(f"{_brief(host)} is neither an address nor a name.") from None
    if four is not None:
        return str(four), four
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ToolError(f"{_brief(host)} is not a host name.")
    return name, None


def _international(host: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise ToolError(f"{_brief(host)} is not a host name.") from None
