"""The accesses of a call: declared by its operation, located once, judged by the guard."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Read:
    """A file or folder that is read. ``parameter`` is the argument that names it."""

    path: str
    parameter: str
    kind: Literal["read"] = "read"


@dataclass(frozen=True, slots=True)
class Write:
    """A file or folder that is made, changed, renamed or deleted.

    With ``follow`` false a link at the end of the path is itself the target: rename and delete.
    ``planted`` is a change whose content would later run or instruct, as the sandbox's supervisor
    judged.
    """

    path: str
    parameter: str
    follow: bool = True
    planted: bool = False
    kind: Literal["write"] = "write"


@dataclass(frozen=True, slots=True)
class CommandAccess:
    """A shell command. ``cwd`` is its working directory as passed; empty for the workspace."""

    command: str
    cwd: str = ""
    kind: Literal["run"] = "run"


@dataclass(frozen=True, slots=True)
class Type:
    """Keys sent to a terminal session; ``hidden`` if it echoes nothing: they are stored nowhere."""

    session: str
    keys: str
    hidden: bool = False
    kind: Literal["type"] = "type"


@dataclass(frozen=True, slots=True)
class Fetch:
    """A web address. ``parameter`` is the argument that names it.

    A ``configured`` one the person named in their settings: it goes through a URL guard of its own.
    """

    url: str
    parameter: str
    kind: Literal["fetch"] = "fetch"
    configured: bool = False


@dataclass(frozen=True, slots=True)
class Connect:
    """A connection that a confined command wants to make.

    ``where`` is the real path of a socket, ``@name`` of an abstract one, or what ``OutsideAccess``
    calls the network.
    """

    where: str
    kind: Literal["connect"] = "connect"


@dataclass(frozen=True, slots=True)
class Use:
    """A tool of an MCP server. The guard cannot see what the server touches."""

    server: str
    tool: str
    """The tool's name on the server."""
    destructive: bool = False
    """Whether the server declares the tool destructive."""
    kind: Literal["use"] = "use"


Access = Read | Write | CommandAccess | Type | Fetch | Connect | Use


@dataclass(frozen=True, slots=True)
class Location:
    """A path after resolution. Files are opened through this and through nothing else.

    ``argument`` is the caller's text; ``real`` is absolute, with every link of its existing part
    resolved; ``root`` is the allowed folder that holds it, or None if no allowed folder does.
    """

    argument: str
    real: str
    root: str | None

    @property
    def inside(self) -> bool:
        """Whether it lies in the workspace or an added folder."""
        return self.root is not None

    @property
    def display_path(self) -> str:
        """The path as results and cards print it: relative to its root, or absolute if it has none."""
        if self.root is None:
            return self.real
        relative = self.real[len(self.root) :].lstrip("/")
        return relative or "."


@dataclass(frozen=True, slots=True)
class LocatedAccess:
    """An access together with the location its path resolved to (None where it has no path)."""

    access: Access
    location: Location | None


def by_parameter(accesses: tuple[LocatedAccess, ...]) -> dict[str, Location]:
    """The locations a tool may use, by the parameter that named them."""
    return {
        a.access.parameter: a.location
        for a in accesses
        if isinstance(a.access, Read | Write) and a.location is not None
    }
