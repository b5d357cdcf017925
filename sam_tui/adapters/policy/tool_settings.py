"""What the person's own tools are configured to reach: remotes, indexes, and the proxies on the way."""

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sam_tui.core.authorization.network.hosts import HostEntry, address_of, host_of_text
from sam_tui.core.errors import ToolError
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded
from sam_tui.core.ports.processes.terminals import CommandRequest

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import Commands

_SECONDS = 10.0
_MOST = 12
_REMOTES = "git config --get-regexp '^remote[.].*[.](push)?url$'"
"""Of the workspace, which may belong to anybody."""
_INDEXES = (
    "pip config list | grep -E 'index-url|find-links'; pip install --help | grep -oE 'default http[^)]*'",
    "uv pip install --help | grep -oE 'by default: <http[^>]*'",
    "npm config get registry; npm config list | grep -E '^ *@.*:registry'",
    "grep -hE '^ *(index|registry|replace-with)' ~/.cargo/config.toml ~/.cargo/config;"
    " cat ~/.cargo/registry/index/*/config.json ~/.cargo/registry/index/*/.cache/config.json",
)
"""What names the indexes of pip, uv, npm and cargo; run where the person's settings alone count."""
_NPM_SETTINGS = ".npmrc"
"""Of the person's home: no command reads it, for it holds tokens; lines that name a registry are read."""
_LARGEST_SETTINGS = 64 * 1024
_REGISTRY = re.compile(r"\s*(?:@[^:\s]+:)?registry\s*=")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>)]+", re.IGNORECASE)
_SCP = re.compile(r"(?:^|\s)[\w.-]+@([\w.-]+):(?!//)\S", re.MULTILINE)

_PROXY_PORTS = {"http": 80, "https": 443}
_PROXY_PORT = 1080
"""Where none is named: SOCKS has this one, and curl takes it for all."""
_PROXY_SETTINGS = (
    *(".gitconfig", ".config/git/config", "/etc/gitconfig"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", "/etc/npmrc"),
    *(".config/pip/pip.conf", ".pip/pip.conf", "/etc/pip.conf"),
    *(".curlrc", ".config/curlrc", ".wgetrc", "/etc/wgetrc"),
    *(".cargo/config.toml", ".cargo/config"),
)
"""Of git, npm, yarn, pip, curl, wget and cargo: below the person's home, or of the system."""
_PROXY_LINE = re.compile(
    r"[ \t]*(?:\[[^\]\n]*\][ \t]*)?(?!no)(?:--?)?(?:[\w.-]*proxy\d?|x|(?:proxy-?)?socks[\w-]*)[\"']?"
    r"(?:[ \t]*[=:][ \t]*|[ \t]+)[\"']?([^\s\"'#;,]+)",
    re.IGNORECASE,
)
"""How these files name one: ``proxy = http://host:port`` in the many spellings of their programs."""


class PackageSources:
    """Looks once, when the first host is asked for.

    A search path, or a variable of an interpreter, can lead into the workspace, to a program that the
    agent wrote. So every line is held like a command: it writes nothing, reaches nobody, reads no secret.
    """

    def __init__(self, commands: "Callable[[], Commands]", workspace: str, home: str) -> None:
        self._commands = commands
        self._workspace = workspace
        self._home = home
        self._lock = asyncio.Lock()
        self._hosts: tuple[str, ...] | None = None

    async def hosts(self) -> tuple[str, ...]:
        """The hosts, remotes first; empty where nothing is configured."""
        async with self._lock:
            if self._hosts is None:
                self._hosts = await self._look()
            return self._hosts

    async def _look(self) -> tuple[str, ...]:
        if self._commands().confinement.kind == "none":
            return ()  # nothing holds here, and every command is asked for
        printed = [self._print(_REMOTES, self._workspace)]
        if self._home:
            printed += [self._print(line, self._home) for line in _INDEXES]
        settings = await asyncio.to_thread(_registries, os.path.join(self._home, _NPM_SETTINGS))
        return hosts_in("\n".join((*await asyncio.gather(*printed), settings)))[:_MOST]

    async def _print(self, line: str, folder: str) -> str:
        request = CommandRequest(
            f"{{ {line}; }} 2>/dev/null",
            folder,
            True,
            (),
            _SECONDS,
            _nobody,
            network="off",
            variables={"HOME": self._home, "npm_config_userconfig": os.devnull},
        )
        try:
            return (await self._commands().run(request)).output
        except ToolError:
            return ""


def _registries(path: str) -> str:
    """The lines of npm's settings that name a registry; empty without such a file."""
    try:
        with open(path, "rb", opener=_unwaiting) as file:
            text = file.read(_LARGEST_SETTINGS).decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(line for line in text.splitlines() if _REGISTRY.match(line))


def _unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def hosts_in(text: str) -> tuple[str, ...]:
    """The hosts of every URL, and of every ``user@host:path``, in a text; each once."""
    hosts: dict[str, None] = {}
    for host in _named(text):
        try:
            entry = HostEntry.of(host)
        except ValueError:
            continue
        if entry.host != "*":
            hosts[entry.host] = None
    return tuple(hosts)


def _named(text: str) -> Sequence[str]:
    hosts: list[str] = []
    for match in _URL.finditer(text):
        try:
            host = urlsplit(match[0]).hostname
        except ValueError:
            continue
        if host:
            hosts.append(host)
    return [*hosts, *_SCP.findall(text)]


def _nobody(_: str) -> None:
    """What the tools print is read at the end."""


def proxies_of(
    environ: Mapping[str, str], home: str, *, changeable: Sequence[str]
) -> tuple[tuple[str, int], ...]:
    """Hosts and ports of the proxies, as curl and others read them.

    Settings in a ``changeable`` folder (real paths: the workspace and what was added) count for nothing:
    the agent would choose where everything goes.
    """
    values = [
        value
        for name, value in environ.items()
        if name.lower().endswith("_proxy") and name.lower() != "no_proxy"
    ]
    paths = (os.path.join(home, path) for path in _PROXY_SETTINGS)
    below = tuple(f"{folder.rstrip('/')}/" for folder in changeable)
    values += _written(path for path in paths if not os.path.realpath(path).startswith(below))
    return tuple(dict.fromkeys(where for value in values for where in _where(value)))


def _written(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        with suppress(UnusableFile):
            text = read_bounded(path, most=_LARGEST_SETTINGS).decode("utf-8", "replace")
            yield from (
                match[1] for line in text.splitlines() if (match := _PROXY_LINE.match(line))
            )


def _where(value: str) -> Iterator[tuple[str, int]]:
    with suppress(ValueError):
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host = parts.hostname or ""
        named = str(address_of(host) or host_of_text(host))
        for port in (
            (parts.port,)
            if parts.port
            else (_PROXY_PORTS.get(parts.scheme, _PROXY_PORT), _PROXY_PORT)
        ):
            yield named, port
