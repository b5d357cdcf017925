"""The reading of a shell text: its simple commands, their classes, and the files and hosts they name."""

from dataclasses import dataclass

from sam_tui.core.authorization.commands.table import (
    COMMAND_CLASSES,
    READ_ONLY,
    CommandClass,
)


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A file that a command names. ``real`` is empty where it is only known when it runs.

    ``redirected`` says that the shell opens it for any program.
    """

    text: str
    real: str
    writes: bool = False
    pattern: bool = False
    redirected: bool = False


@dataclass(frozen=True, slots=True)
class CommandPart:
    """One simple command of a text. ``words`` begin with the program, by its bare name.

    ``exact`` says that all words are known, so that a rule may match them. ``exact_words`` says that it
    touches nothing but ``paths``. ``code`` are words that are no plain paths.
    """

    words: tuple[str, ...]
    classes: frozenset[CommandClass]
    why: str
    exact_words: bool = False
    exact: bool = True
    paths: tuple[NamedPath, ...] = ()
    hosts: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    """Hosts that restricting rules alone are about, as that of ``ssh host``."""

    @property
    def heaviest(self) -> CommandClass:
        """The class that counts most."""
        return max(self.classes, key=COMMAND_CLASSES.index)

    @property
    def calm(self) -> bool:
        """Whether this part only reads."""
        return self.classes == READ_ONLY


@dataclass(frozen=True, slots=True)
class CommandReading:
    """A shell text, read. ``parsed`` is False where the parser gave up on any of it."""

    text: str
    parts: tuple[CommandPart, ...]
    parsed: bool = True
    tainted: str = ""
    """The variable that the command changes so that names mean other programs; empty if it changes none."""

    @property
    def heaviest(self) -> CommandPart | None:
        """The part that counts most."""
        return max(self.parts, key=lambda part: COMMAND_CLASSES.index(part.heaviest), default=None)

    def holds(self, kind: CommandClass) -> bool:
        """Whether any part of the command has this class."""
        return any(kind in part.classes for part in self.parts)

    @property
    def calm(self) -> bool:
        """Whether the whole command certainly only reads."""
        return self.parsed and not self.tainted and all(part.calm for part in self.parts)

    @property
    def saveable(self) -> bool:
        """Whether a rule could be made of it, and whether rules may allow it."""
        return self.parsed and not self.tainted and all(part.exact for part in self.parts)
