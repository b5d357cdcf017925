"""Texts that people write as files, and who hands them out: prompts, reminders, skills, instructions, and
definitions of commands, agents, rules, workflows and personas."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sam_tui.core.ids import ConversationId

PromptKind = Literal["system", "personality", "mini"]
PromptSource = Literal["built-in", "user", "workspace"]
Origin = Literal["package", "user", "project"]
"""Where the definition of a workflow or a persona comes from."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt, a personality to speak with, or a mini prompt that is repeated to the model.

    ``id`` is stable: it comes from the source and the file's name, such as ``user:tests-first``.
    ``active`` is false for a workspace's prompt until the person trusts the folder. ``enabled`` is the
    file's own default; ``PromptLibrary.enabled_mini`` knows the person's choice.
    """

    id: str
    kind: PromptKind
    name: str
    description: str
    content: str
    order: int
    source: PromptSource
    active: bool = True
    enabled: bool = False


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that could not be used, and why, in words for people."""

    file: str
    reason: str
    faulty: bool = False
    """Whether the file itself has to be corrected; else another one or its kind is the reason."""


@dataclass(frozen=True, slots=True)
class PromptListing:
    """The prompts of one kind by order, then name, and the files that could not be used."""

    prompts: tuple[Prompt, ...]
    problems: tuple[FileProblem, ...] = ()


class PromptLibrary(Protocol):
    """Every prompt there is. A broken file is a problem in the listing, never an error."""

    def list_system(self) -> PromptListing:
        """The system prompts."""
        ...

    def list_personalities(self) -> PromptListing:
        """The personalities: ways in which an agent speaks, with any system prompt."""
        ...

    def list_mini(self) -> PromptListing:
        """The mini prompts."""
        ...

    def enabled_mini(self, conversation: ConversationId) -> Sequence[Prompt]:
        """The active mini prompts that are on in a conversation, by order."""
        ...

    def set_enabled(self, conversation: ConversationId, prompt_id: str, enabled: bool) -> None:
        """Turn a mini prompt on or off. Raises ``UsageError`` for an unknown or inactive one."""
        ...

    def get(self, prompt_id: str) -> Prompt | None:
        """The prompt of an id, or of a bare name that exactly one prompt has."""
        ...


class PromptChoices(Protocol):
    """The mini prompts that the person turned on or off, by conversation; stored at once."""

    def chosen(self, conversation: ConversationId) -> Mapping[str, bool]:
        """Prompt id -> on or off, for those that were chosen."""
        ...

    def choose(self, conversation: ConversationId, prompt_id: str, enabled: bool) -> None:
        """Remember a choice."""
        ...


@dataclass(frozen=True, slots=True)
class UserReminder:
    """A reminder that the person wrote.

    ``every`` is how often it is put before a user message: 1 for always, N for every Nth, 0 for the
    first only.
    """

    name: str
    text: str
    every: int


@dataclass(frozen=True, slots=True)
class UserReminderListing:
    """The person's reminders by file name, and the files that could not be used."""

    reminders: tuple[UserReminder, ...]
    problems: tuple[FileProblem, ...] = ()


class UserReminders(Protocol):
    """The person's own reminders in their present form."""

    def read(self) -> UserReminderListing:
        """All of them; a broken file is a problem, never an error."""
        ...


SkillSource = Literal["user", "project", "bundle"]


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. ``folder`` is its real path; ``text`` is its file below the front matter."""

    name: str
    description: str
    text: str
    folder: str
    source: SkillSource


@dataclass(frozen=True, slots=True)
class SkillListing:
    """The skills that count, the person's own first, then by name; and the files that do not."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[FileProblem, ...] = ()


class Skills(Protocol):
    """Every skill that counts now: the person's, and those of a trusted folder."""

    def listing(self) -> SkillListing:
        """All of them. A broken file is a problem in the listing, never an error."""
        ...

    def files(self, skill: Skill) -> Sequence[str]:
        """The other files in a skill's folder, relative to it; a long list is cut."""
        ...


DefinitionKind = Literal["commands", "agents", "rules"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A command, an agent or a rule of a file (``file`` is its path); ``values`` stand at its top.

    ``globs`` are the patterns of the paths that a rule is about, empty for all.
    """

    name: str
    description: str
    text: str
    source: SkillSource
    file: str
    values: Mapping[str, str]
    globs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefinitionListing:
    """The definitions of one kind that count, the person's own first, and the files that do not."""

    definitions: tuple[Definition, ...] = ()
    problems: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction file. ``file`` is its name for people, ``folder`` the folder it applies to (empty for
    all).

    ``left`` counts the characters that did not fit.
    """

    file: str
    text: str
    personal: bool = False
    """Whether it is from the person's own files."""
    folder: str = ""
    left: int = 0


class Instructions(Protocol):
    """The instruction files of a conversation."""

    def standing(
        self, touched: Callable[[], Collection[str]], delivered: Collection[str]
    ) -> Sequence[Instruction]:
        """The instructions in force, widest first: the person's, the folder's, then those of subfolders.

        ``touched`` gives the paths that were worked on, for the last of them; ``delivered`` are names of
        files that the model read as instructions before, which go on to hold.
        """
        ...


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A workflow or a persona as read. ``lines`` maps the place of a value to its line, from 1.

    A place is the keys and indexes that lead to it: ``("steps", 0, "needs")``. ``fault`` says why
    the file could not be read, with ``fault_line``. One that is not ``trusted`` was not parsed.
    """

    origin: Origin
    kind: Literal["workflow", "persona"]
    path: str
    stem: str
    sha256: str
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    body: str = ""
    lines: Mapping[tuple[str | int, ...], int] = field(
        default_factory=dict[tuple[str | int, ...], int]
    )
    fault: str = ""
    fault_line: int = 1
    trusted: bool = True

    def line(self, path: Sequence[str | int]) -> int:
        """The line of a place, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            line = self.lines.get(tuple(path[:end]))
            if line is not None:
                return line
        return 1


class DefinitionSource(Protocol):
    """The files of workflows and personas."""

    def files(self) -> Sequence[DefinitionFile]:
        """Every workflow and persona file: package, then user, then project, each by path."""
        ...

    def read(self, path: str) -> DefinitionFile:
        """Read one file as a workflow of the project; ``fault`` says what is wrong with it."""
        ...

    def create(self, name: str) -> str:
        """Make a workflow file of the project to start from; raises ``UsageError`` when it exists."""
        ...
