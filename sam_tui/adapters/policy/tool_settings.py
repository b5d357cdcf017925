"""Hosts that the person's tools are configured to reach: remotes, indexes, and proxies."""

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sam_tui.core.authorization.network.hosts import HostEntry, address_of, host_of_text
from sam_tui.core.authorization.paths import git_config
from sam_tui.core.errors import ToolError
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded
from sam_tui.core.ports.processes.terminals import CommandRequest

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import Commands

_SECONDS = 10.0
_MOST = 12
_INDEXES = (
    "pip config list | grep -E 'index-url|find-links'; pip install --help | grep -oE 'default http[^)]*'",
    "uv pip install --help | grep -oE 'by default: <http[^>]*'",
    "npm config get registry; npm config list | grep -E '^ *@.*:registry'",
)
"""Shell lines that print the package indexes of pip, uv and npm; they run in the home folder."""
_SETTINGS = (".npmrc", ".cargo/config.toml", ".cargo/config")
"""Files of npm and cargo, below the home folder; the lines that name a registry are read."""
_CARGO_INDEXES = ".cargo/registry/index"
_LARGEST_SETTINGS = 64 * 1024
_REGISTRY = re.compile(r"\s*(?:(?:@[^:\s]+:)?registry|index|replace-with)\s*=")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>)]+", re.IGNORECASE)
_SCP = re.compile(r"(?:^|\s)[\w.-]+@([\w.-]+):(?!//)\S", re.MULTILINE)

_PROXY_PORTS = {"http": 80, "https": 443}
_PROXY_PORT = 1080
"""The port of a proxy without one: the default of SOCKS, and curl's for every proxy."""
_PROXY_SETTINGS = (
    *(".gitconfig", ".config/git/config", "/etc/gitconfig"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", "/etc/npmrc"),
    *(".config/pip/pip.conf", ".pip/pip.conf", "/etc/pip.conf"),
    *(".curlrc", ".config/curlrc", ".wgetrc", "/etc/wgetrc"),
    *(".cargo/config.toml", ".cargo/config"),
)
"""Files of git, npm, yarn, pip, curl, wget and cargo; relative paths are below the home folder."""
_PROXY_LINE = re.compile(
    r"[ \t]*(?:\[[^\]\n]*\][ \t]*)?(?!no)(?:--?)?(?:[\w.-]*proxy\d?|x|(?:proxy-?)?socks[\w-]*)[\"']?"
    r"(?:[ \t]*[=:][ \t]*|[ \t]+)[\"']?([^\s\"'#;,]+)",
    re.IGNORECASE,
)
"""A line that names a proxy, as ``proxy = http://host:port`` in the spellings of these programs."""


class PackageSources:
    """Reads settings before the agent starts anything, and asks the tools at the first question.

    A search path or an interpreter's variable can lead into the ``workspace`` (its real folders), to a
    program or settings that the agent wrote: such values are removed. Every tool is confined like a
    command: it writes nothing, reaches nobody, reads no secret.
    """

    def __init__(
        self, commands: "Callable[[], Commands]", workspace: Sequence[str], home: str
    ) -> None:
        self._commands = commands
        self._workspace = tuple(workspace)
        self._home = "" if _within(home, self._workspace) else home
        self._lock = asyncio.Lock()
        self._written = ""
        self._hosts: tuple[str, ...] | None = None

    def note(self) -> None:
        """Read the present remotes of the workspace and settings of the home folder."""
        texts = [remote for root in self._workspace for remote in git_config.remotes(root)]
        if self._home:
            texts += _registries(self._home)
        self._written = "\n".join(texts)

    async def hosts(self) -> tuple[str, ...]:
        """The hosts, remotes first; empty where nothing is configured."""
        async with self._lock:
            if self._hosts is None:
                self._hosts = await self._look()
            return self._hosts

    async def _look(self) -> tuple[str, ...]:
        if self._commands().confinement.kind == "none":
            return ()  # nothing confines commands here, and each one is asked about
        lines = _INDEXES if self._home else ()
        printed = await asyncio.gather(*map(self._print, lines))
        return hosts_in("\n".join((self._written, *printed)))[:_MOST]

    async def _print(self, line: str) -> str:
        request = CommandRequest(
            f"{{ {line}; }} 2>/dev/null",
            self._home,
            True,
            (),
            _SECONDS,
            _nobody,
            network="off",
            variables={
                **without_folders(os.environ, self._workspace),
                "HOME": self._home,
                "npm_config_userconfig": os.devnull,
            },
        )
        try:
            return (await self._commands().run(request)).output
        except ToolError:
            return ""


def without_folders(environ: Mapping[str, str], folders: Sequence[str]) -> dict[str, str]:
    """The variables without parts that name something in these real folders: an entry is removed from a
    list of paths, any other value becomes empty."""
    changed: dict[str, str] = {}
    for name, value in environ.items():
        parts = value.split(os.pathsep)
        others = [part for part in parts if not _within(part, folders)]
        remainder = os.pathsep.join(others)
        if any(folder in remainder for folder in folders):
            remainder = ""
        if remainder != value:
            changed[name] = remainder
    return changed


def _within(path: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(path) if os.path.isabs(path) else ""
    return any(real == folder or real.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _registries(home: str) -> Iterator[str]:
    """Yield lines of settings that name a registry, and the registries that cargo has used."""
    for name in _SETTINGS:
        lines = _text(os.path.join(home, name)).splitlines()
        yield from filter(_REGISTRY.match, lines)
    folder = os.path.join(home, _CARGO_INDEXES)
    with suppress(OSError):
        for index in sorted(os.listdir(folder))[:_MOST]:
            for name in ("config.json", ".cache/config.json"):
                yield _text(os.path.join(folder, index, name))


def _text(path: str) -> str:
    try:
        return read_bounded(path, most=_LARGEST_SETTINGS).decode("utf-8", "replace")
    except UnusableFile:
        return ""


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
    """Ignores output while it arrives; the result is read at the end."""


def proxies_of(
    environ: Mapping[str, str], home: str, *, changeable: Sequence[str]
) -> tuple[tuple[str, int], ...]:
    """Hosts and ports of the proxies, as curl and others read them.

    Settings in a ``changeable`` folder (real paths: the workspace and added ones) are ignored, because the
    agent could direct all traffic by them.
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
        lines = _text(path).splitlines()
        yield from (match[1] for line in lines if (match := _PROXY_LINE.match(line)))


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
