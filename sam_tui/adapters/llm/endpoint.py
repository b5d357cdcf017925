"""Where an OpenAI-compatible model is, and how it wants to be spoken to."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from sam_tui.adapters.llm.failures import FailureSource
from sam_tui.adapters.llm.wire import Dialect
from sam_tui.core.errors import ModelAuthError, UsageError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address.

    ``model`` is the name the server knows, ``name`` the one people see. ``base`` ends before
    ``/chat/completions`` and has no slash at its end. ``timeout`` is in seconds between bytes.
    ``priced``: whether public prices hold there. ``options`` are further fields of the request.
    """

    model: str
    base: str
    name: str
    key: str = field(default="", repr=False)
    key_variable: str = ""
    timeout: float = 300.0
    connect_timeout: float = 10.0
    priced: bool = False
    dialect: Dialect = field(default_factory=Dialect)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        parts = split(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{self.base!r} is not an address of a model's server.",
                hint="Give one such as http://127.0.0.1:11434/v1 as --api-base.",
            )
        if not all("!" <= c <= "~" for c in self.key):
            # Caught here, because the HTTP library would show the header, and the key in it.
            raise ModelAuthError(
                "The API key has a space, a line break or a letter that keys do not have.",
                hint=f"Check {self.key_variable or '--api-key'}.",
            )

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine."""
        return is_loopback(self.base)

    @property
    def secure(self) -> bool:
        """Whether the address is https."""
        return split(self.base).scheme == "https"

    @property
    def url(self) -> str:
        """Where chat completions are asked for."""
        return f"{self.base}/chat/completions"

    @property
    def source(self) -> FailureSource:
        """This endpoint, for error messages."""
        where = host_of(self.base)
        return FailureSource(self.name, where, self.key, self.key_variable, self.loopback)


def host_of(base: str) -> str:
    """Host and port of an address, without what else may stand in it."""
    parts = split(base)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else f"{parts.hostname}"
    return f"{host}:{parts.port}" if parts.port else host


def is_loopback(base: str) -> bool:
    """Whether an address names this machine: ``localhost`` or a loopback address."""
    host = (split(base).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def split(base: str) -> SplitResult:
    """The parts of an address; UsageError when it is none."""
    try:
        parts = urlsplit(base)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{base!r} is not an address: {error}.") from error
    return parts
