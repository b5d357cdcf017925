"""Policy: the guard's sources: shell text, rule files, trust and its own history."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.verdict import Decision

TrustState = Literal["untrusted", "trusted", "changed"]
"""``changed``: the person trusted the folder, but its policy or instruction files have changed since."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command as the shell will see it, as far as this is known without running it.

    With ``static`` false ``text`` is the source text, expansions and all. ``pattern`` says that
    unquoted ``*``, ``?`` or ``[`` will be expanded.
    """

    text: str
    static: bool = True
    pattern: bool = False


@dataclass(frozen=True, slots=True)
class Redirection:
    """A file that a command reads (``<``) or writes; descriptors among themselves are left out."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the file is made or changed."""
        return ">" in self.operator


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command: words, assignments before it, redirections and pipe.

    ``words`` is empty for a bare assignment. ``fed_by`` names the command whose output it reads,
    as an index into ``ShellText.commands``.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    fed_by: int | None = None
    text: str = ""
    """The source text of the command."""
    leads: bool = False
    """Whether the whole rest of the text runs in the same shell, and only if this command succeeded."""


@dataclass(frozen=True, slots=True)
class ShellText:
    """Every simple command of a shell text, in order, those of substitutions and bodies included."""

    commands: tuple[SimpleCommand, ...]
    unparsable: bool = False
    functions: tuple[str, ...] = ()
    """Names that the text certainly defines as functions before it uses them."""
    evaluates: bool = False
    """Whether the shell evaluates the content of a variable, which may run a command: ``$((x))``."""


class ShellParser(Protocol):
    """Reads shell text without running it."""

    def parse(self, text: str) -> ShellText:
        """The simple commands in ``text``; never raises, ``unparsable`` says that it gave up."""
        ...


@dataclass(frozen=True, slots=True)
class Believed:
    """A file of a folder that counts once the folder is trusted.

    ``meaning`` is its effect in words, ``text`` its beginning, empty for binary content.
    """

    name: str
    meaning: str
    size: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state of a folder in one read: the files that would count in it, and their digests.

    ``digests`` are None where there is too much of it.
    """

    believed: tuple[Believed, ...]
    digests: Mapping[str, str] | None


class TrustStore(Protocol):
    """The folders that the person trusts, and the content of their files at that time."""

    def state(self, folder: str) -> TrustState:
        """The trust in a folder; ``folder`` is a real path."""
        ...

    def changes(self, folder: str) -> tuple[str, ...]:
        """Return what differs from when it was trusted, in words; empty unless its state is ``changed``."""
        ...

    def believed(self, folder: str, *, deep: bool = False) -> tuple[Believed, ...]:
        """Return the files of a folder that trust covers, by name; the longest lists are cut.

        ``deep`` looks for instructions in the folders below, too.
        """
        ...

    def inspect(self, folder: str) -> Inspection:
        """Read the files that would count, to show them and to trust them exactly as shown."""
        ...

    def vouches(self, folder: str, name: str, data: bytes) -> bool:
        """Whether the file of this name in the folder had exactly this content when the folder was
        trusted."""
        ...

    def nested(self, folder: str) -> tuple[str, ...]:
        """The instruction files of the folders below that were trusted with it."""
        ...

    def trust(self, folder: str, shown: Inspection | None = None) -> None:
        """Trust a folder in its present state, or in the one that was shown.

        Raises ``ConfigurationError`` when it cannot be stored.
        """
        ...

    def revoke(self, folder: str) -> bool:
        """Trust it no longer; False when it was not trusted."""
        ...

    def folders(self) -> tuple[str, ...]:
        """The real paths of all trusted folders."""
        ...


class RuleStore(Protocol):
    """The store of permanent permissions: the person's own policy file, nothing else."""

    def add(self, grant: "SavedGrant") -> str:
        """Write it down; its id. Raises ``ConfigurationError`` when the file cannot be written."""
        ...

    def withdrawn(self, identifiers: Collection[str]) -> frozenset[str]:
        """Return the ids of rules (``user:…``) that are no longer in the file."""
        ...


@dataclass(frozen=True, slots=True)
class SavedGrant:
    """A permission to keep: ``workspace`` is the folder it holds in, empty for everywhere.

    At most one of ``path`` (real, with everything below), ``command`` (words of a prefix) and ``host``
    is set; none for the tool of an MCP server, which its operation names.
    """

    operation: str
    workspace: str = ""
    path: str = ""
    command: tuple[str, ...] = ()
    host: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class LiveGrant:
    """A grant of a running process. ``expires`` as ``expiry_seconds`` counts, None without an end."""

    id: str
    conversation: str
    operation: str
    target: str
    expires: float | None
    uses: int | None
    process: int = 0


class GrantLedger(Protocol):
    """Publishes live grants to other processes, and receives their revocations."""

    def publish(self, grants: Sequence[LiveGrant]) -> None:
        """Publish the present grants; never raises."""
        ...

    def revoked(self) -> frozenset[str]:
        """Ids of grants that were taken back elsewhere."""
        ...


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """One entry of the decision log. ``made_at`` in seconds since the epoch; ``seal`` chains it."""

    number: int
    made_at: float
    conversation: ConversationId
    call: CallId
    decision: Decision
    seal: str = ""


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """A filter on decisions; empty fields do not restrict.

    ``workspace`` is the real path of a folder, whose conversations count; ``refused`` leaves out
    allowed calls; every word of ``text`` must occur in the decision, in any case.
    """

    workspace: str = ""
    conversation: str = ""
    refused: bool = False
    text: str = ""


class DecisionLog(Protocol):
    """Every decision of the guard."""

    def record(self, conversation: ConversationId, call: CallId, decision: Decision) -> None: ...


class DecisionHistory(Protocol):
    """Past decisions, in pieces; any thread may ask. Raises ``StorageError``."""

    def past(self, workspace: str, operation: str, *, limit: int) -> Sequence[DecisionEntry]:
        """The last decisions on one operation in a folder's conversations, newest first."""
        ...

    def page(
        self, decision_filter: DecisionFilter, *, limit: int, before: int | None = None
    ) -> Sequence[DecisionEntry]:
        """The newest entries that fit, below the number ``before``; newest first."""
        ...

    def first_broken(self, *, last: int | None = None) -> int | None:
        """The number of the first entry that was altered, or whose predecessor is missing.

        With ``last`` only so many at the end are looked at.
        """
        ...


@dataclass(frozen=True, slots=True)
class BundleFolder:
    """A trusted bundle. ``folder`` is its real path; ``name`` prefixes the names of its content."""

    name: str
    folder: str
    vouches: Callable[[str, bytes], bool]
    """Whether a file, by its name in the folder, had this content when it was trusted."""
    intact: Callable[[], bool]
    """Whether the folder contains exactly what was trusted."""
