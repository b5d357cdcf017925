"""The table of programs, ``programs.toml``, with the entries that policy files add to it.

Each ``[[program]]`` says for one or more names what class a command is, which options leave it so, which
make it heavier, and whether it runs another program. docs/guard.md describes the keys for people.
"""

import functools
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from sam_tui.core.authorization.commands.options import HostWords, Options

CommandClass = Literal["read-only", "workspace-write", "network", "destructive", "privileged"]
COMMAND_CLASSES: tuple[CommandClass, ...] = (
    "read-only",
    "workspace-write",
    "network",
    "destructive",
    "privileged",
)
"""All classes, from the least to the most dangerous."""
READ_ONLY: frozenset[CommandClass] = frozenset(("read-only",))
WORKSPACE_WRITE: frozenset[CommandClass] = frozenset(("workspace-write",))


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The form of a wrapper program: its options, and the number of arguments before the wrapped command.

    ``joins``: it hands all words after to a shell. ``writes``: it may write a file of its own.
    """

    options: Options
    before: int = 0
    joins: bool = False
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """The table's entry for a program or a subcommand. Keys of the file have the same names."""

    classes: frozenset[CommandClass] = frozenset()
    """Its command classes; empty if it writes and may also do anything else."""
    options: Options = field(default_factory=Options)
    heavier: Mapping[CommandClass, frozenset[str]] = field(
        default_factory=dict[CommandClass, frozenset[str]]
    )
    """Options that raise the program to a class, by class."""
    words: Mapping[CommandClass, re.Pattern[str]] = field(
        default_factory=dict[CommandClass, re.Pattern[str]]
    )
    """Patterns of arguments, without a leading dash, that raise the program to a class."""
    subcommands: Mapping[str, "Program"] = field(default_factory=dict[str, "Program"])
    stands_for: str = ""
    """The program that this subcommand runs: the words after it are judged as those of that program."""
    writes: Literal["", "named", "here"] = ""
    """Empty, or what alone it writes: the paths in its words, or with ``here`` also the present folder."""
    outputs: frozenset[str] = frozenset()
    """Options whose value is a file or folder that it writes."""
    runs: frozenset[str] = frozenset()
    """Options with which it runs another program; ``*`` if any word may do so."""
    inspect: str = ""
    """The name in ``INSPECTIONS`` of the function that judges its arguments; empty for none."""
    wraps: Wrapping | None = None
    hosts: HostWords | None = None
    version: bool = False
    """Whether ``--version`` as the only argument runs nothing of the present folder."""
    shell: bool = False
    interpreter: bool = False
    copies: bool = False
    """Whether it reads all files of a folder."""
    prefix: int | None = None
    """How many leading words name what it does, for a grant by prefix; None for one word."""
    scripts: frozenset[str] = frozenset()
    """Subcommands such as ``run`` whose next word belongs to the prefix as well."""
    lists: frozenset[str] = frozenset()
    """Options with which a git subcommand only prints a list."""
    alone: bool = False
    """Whether a git subcommand without arguments only prints a list."""

    @property
    def starts_another(self) -> bool:
        """Whether the program is a shell or runs the program named in its words."""
        return self.shell or self.wraps is not None


@dataclass(frozen=True, slots=True)
class GitTable:
    """The options of git before its subcommands, and its subcommands."""

    options: Options
    code: frozenset[str]
    """Options before the subcommand with which git may run a program."""
    runs: frozenset[str]
    """Options of subcommands with which git runs a program or writes a file."""
    commands: Mapping[str, Program]


@dataclass(frozen=True, slots=True)
class CommandTable:
    """The table of all known programs."""

    programs: Mapping[str, Program]
    git: GitTable
    variables: tuple[str, ...]
    """Patterns of names of variables that change which program a name runs."""
    regenerable: frozenset[str]
    """Names of folders whose content a build makes again."""
    least: Mapping[str, CommandClass] = field(default_factory=dict[str, CommandClass])
    """The least class of programs, by name, as the project's policy sets it."""

    def program(self, name: str) -> Program:
        """Return the entry of a program by its bare name."""
        return (
            self.programs.get(name) or self.programs.get(f"{name.partition('.')[0]}.*") or _UNKNOWN
        )

    def named(self, key: Literal["shell", "interpreter", "copies", "wraps"]) -> frozenset[str]:
        """The programs for which a key is set."""
        return frozenset(name for name, entry in self.programs.items() if getattr(entry, key))

    def extended(
        self, entries: Mapping[str, Program], least: Mapping[str, CommandClass]
    ) -> "CommandTable":
        """The table with a person's entries, and the least classes that a project sets.

        A person's entry is added to that of the same program; its class replaces the other one."""
        programs = dict(self.programs)
        for name, entry in entries.items():
            programs[name] = _joined(programs[name], entry) if name in programs else entry
        return replace(self, programs=programs, least=least)


_UNKNOWN = Program()


def _joined(known: Program, added: Program) -> Program:
    heavier = dict(known.heavier)
    for kind, options in added.heavier.items():
        heavier[kind] = heavier.get(kind, frozenset()) | options
    return replace(
        known,
        classes=added.classes or known.classes,
        options=known.options | added.options,
        heavier=heavier,
        words={**known.words, **added.words},
        subcommands={**known.subcommands, **added.subcommands},
    )


_OWN_KEYS = ("names", "class", "flags", "valued", "options", "words", "subcommand")
"""The keys of a program in a person's policy."""
_KEYS = (*_OWN_KEYS, "stands_for", "writes", "outputs", "runs", "inspect", "wraps", "hosts", "version",
         "shell", "interpreter", "copies", "prefix", "scripts", "lists", "alone")  # fmt: skip


class EntryError(ValueError):
    """An unusable entry of the table; ``key`` names the faulty key."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


def own_entry(entry: object) -> dict[str, Program]:
    """A table of a person's policy, by the names of its programs. Raises ``EntryError``."""
    return _entries(entry, _OWN_KEYS)


def least_classes(entry: object) -> dict[str, CommandClass]:
    """The least class that a table of a project's policy asks for. Raises ``EntryError``."""
    programs = _entries(entry, ("names", "class"))
    heavy = [sorted(p.classes - READ_ONLY, key=COMMAND_CLASSES.index) for p in programs.values()]
    if not all(heavy):
        raise EntryError("class", "a project can only make a program heavier")
    return {name: classes[-1] for name, classes in zip(programs, heavy, strict=True)}


def _entries(entry: object, keys: Collection[str]) -> dict[str, Program]:
    """One table as programs by their names."""
    if not isinstance(entry, dict):
        raise EntryError("", "a program is a table")
    fields = cast("dict[str, object]", entry)
    for key in fields:
        if key not in keys:
            raise EntryError(key, f"unknown key “{key}” of a program; known: {', '.join(keys)}")
    names = _text(fields, "names").split()
    if not names:
        raise EntryError("names", "a program needs “names”")
    inner = {key for key in keys if key != "subcommand"}
    subcommands: dict[str, Program] = {}
    for subcommand in cast("list[object]", _typed(fields, "subcommand", list, [])):
        subcommands.update(_entries(subcommand, inner))
    program = Program(
        classes=_classes(_text(fields, "class"), "class"),
        options=Options.of(_text(fields, "flags"), _text(fields, "valued")),
        heavier={
            kind: frozenset(text.split()) for kind, text in _by_class(fields, "options").items()
        },
        words={kind: _pattern(text) for kind, text in _by_class(fields, "words").items()},
        subcommands=subcommands,
        stands_for=_text(fields, "stands_for"),
        writes=cast("Literal['', 'named', 'here']", _text(fields, "writes")),
        outputs=frozenset(_text(fields, "outputs").split()),
        runs=frozenset(_text(fields, "runs").split()),
        inspect=_text(fields, "inspect"),
        wraps=_wrapping(fields),
        hosts=_host_words(fields),
        version=bool(fields.get("version")),
        shell=bool(fields.get("shell")),
        interpreter=bool(fields.get("interpreter")),
        copies=bool(fields.get("copies")),
        prefix=cast("int | None", fields.get("prefix")),
        scripts=frozenset(_text(fields, "scripts").split()),
        lists=frozenset(_text(fields, "lists").split()),
        alone=bool(fields.get("alone")),
    )
    return dict.fromkeys(names, program)


def _typed(fields: Mapping[str, object], key: str, kind: type, default: object) -> object:
    value = fields.get(key, default)
    if not isinstance(value, kind):
        words = {str: "a text", list: "written as [[program.subcommand]]", dict: "a table"}[kind]
        raise EntryError(key, f"“{key}” must be {words}")
    return value


def _text(fields: Mapping[str, object], key: str) -> str:
    return cast("str", _typed(fields, key, str, ""))


def _classes(text: str, key: str) -> frozenset[CommandClass]:
    for word in text.split():
        if word not in COMMAND_CLASSES:
            raise EntryError(key, f"{word!r} is not a class; one of: {', '.join(COMMAND_CLASSES)}")
    return frozenset(cast("list[CommandClass]", text.split()))


def _by_class(fields: Mapping[str, object], key: str) -> dict[CommandClass, str]:
    table = cast("dict[str, object]", _typed(fields, key, dict, {}))
    return {kind: _text(table, name) for name in table for kind in _classes(name, key)}


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise EntryError("words", f"{text!r} is not a pattern: {error}") from None


def _wrapping(program: Mapping[str, object]) -> Wrapping | None:
    """The wrapper form in a table entry, None if the program wraps no other."""
    if "wraps" not in program:
        return None
    fields = cast("dict[str, object]", program["wraps"])
    return Wrapping(
        Options.of(_text(fields, "flags"), _text(fields, "valued")),
        cast("int", fields.get("before", 0)),
        bool(fields.get("joins")),
        bool(fields.get("writes")),
    )


def _host_words(program: Mapping[str, object]) -> HostWords | None:
    """Return which words name hosts, by a table entry; None if only addresses do."""
    if "hosts" not in program:
        return None
    fields = cast("dict[str, object]", program["hosts"])
    return HostWords(
        cast("Literal['all', 'first']", fields["words"]),
        Options.of(_text(fields, "flags"), _text(fields, "valued")),
        _pattern(_text(fields, "within") or "(?s:.+)"),
        _pattern(_text(fields, "skips")),
        frozenset(_text(fields, "named").split()),
        frozenset(_text(fields, "variables").split()),
        frozenset(_text(fields, "mapped").split()),
        _pattern(_text(fields, "mapping") or "(?s:.*)"),
        bool(fields.get("restricts")),
    )


@functools.cache
def builtin_table() -> CommandTable:
    """The table that comes with the program; read with the first command."""
    text = Path(__file__).with_name("programs.toml").read_text("utf-8")
    table = cast("dict[str, list[object]]", tomllib.loads(text))
    git = cast("dict[str, object]", table["git"])
    commands: dict[str, Program] = {}
    for entry in cast("list[object]", git["command"]):
        commands.update(_entries(entry, _KEYS))
    programs: dict[str, Program] = {}
    for entry in table["program"]:
        programs.update(_entries(entry, _KEYS))
    return CommandTable(
        programs,
        GitTable(
            Options.of(_text(git, "flags"), _text(git, "valued")),
            frozenset(_text(git, "code").split()),
            frozenset(_text(git, "runs").split()),
            commands,
        ),
        tuple(cast("str", table["variables"]).split()),
        frozenset(cast("str", table["regenerable"]).split()),
    )
