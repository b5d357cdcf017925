"""One program with its arguments -> the class of command, and the reason."""

from collections.abc import Sequence
from dataclasses import replace

from sam_tui.core.authorization.commands.git import judge_git
from sam_tui.core.authorization.commands.inspection import (
    INSPECTIONS,
    Traits,
    Use,
    hides_path,
    traits,
    unknown_words,
)
from sam_tui.core.authorization.commands.options import has_flag, known_words
from sam_tui.core.authorization.commands.table import (
    COMMAND_CLASSES,
    READ_ONLY,
    WORKSPACE_WRITE,
    CommandClass,
    CommandTable,
)
from sam_tui.core.ports.policy import Word

_IRREVERSIBLE: frozenset[CommandClass] = frozenset(("network", "destructive"))
"""The classes of a program that changes something on another machine irreversibly."""
_VERSION = ("--version", "-V", "--help")
_WHY: dict[CommandClass, str] = {
    "read-only": "only reads",
    "workspace-write": "may write",
    "network": "reaches the network",
    "destructive": "overwrites",
    "privileged": "changes the system or leaves the sandbox",
}
_WHY_WITH: dict[CommandClass, str] = {
    "workspace-write": "writes or runs something",
    "network": "reaches the network",
    "destructive": "overwrites",
    "privileged": "changes the system",
}


def judge(name: str, words: Sequence[Word], table: CommandTable) -> Traits:
    """Judge the program ``name`` with these ``words`` (the first is its name), without what it wraps."""
    return _judged(Use(name, words[1:], table.program(name), table))


def at_least(name: str, judged: Traits, table: CommandTable) -> Traits:
    """The traits, raised to the class that a project sets for the program."""
    least = table.least.get(name.rpartition("/")[2])
    if least is None or any(_weight(kind) >= _weight(least) for kind in judged.classes):
        return judged
    why = f"{name} counts as {least} in this project"
    return replace(judged, classes=judged.classes - READ_ONLY | {least}, why=why)


def _weight(kind: CommandClass) -> int:
    return COMMAND_CLASSES.index(kind)


def _judged(use: Use) -> Traits:
    name, program = use.name, use.program
    if program.version and len(use.words) == 1 and use.texts[0] in _VERSION:
        return traits("read-only", f"{name} tells its version")
    if name == "git":
        return judge_git(use.words, use.table.git)
    if program.inspect:
        return INSPECTIONS[program.inspect](use)
    if (by_subcommand := _by_subcommand(use)) is not None:
        return by_subcommand
    if (program.heavier or program.words) and (by_words := _by_words(use)) is not None:
        return by_words
    return _by_class(use)


def _by_class(use: Use) -> Traits:
    """The traits of a program whose class is the same for all arguments."""
    name, program = use.name, use.program
    if program.classes == READ_ONLY:
        if program.options.know(use.words):
            return traits("read-only", f"{name} only reads")
        return unknown_options(name)
    if program.writes and program.classes == WORKSPACE_WRITE:
        return _writes(use)
    return _plain(use)


def unknown_options(name: str) -> Traits:
    """Traits of a program with an option that the table does not have."""
    why = f"{name} with options that are not known here"
    return traits("workspace-write", why, exact=False)


def _by_subcommand(use: Use) -> Traits | None:
    """The traits of a subcommand; a read-only one must be the first word, with known options alone."""
    first = use.words[0] if use.words else Word("")
    entry = use.program.subcommands.get(first.text)
    arguments = use.words[1:]
    if entry is not None and entry.stands_for:
        program = use.table.program(entry.stands_for)
        return _judged(Use(f"{use.name} {first.text}", arguments, program, use.table))
    if entry is not None and entry.classes == READ_ONLY:
        if known_words(arguments) and entry.options.know(arguments):
            return traits("read-only", f"{use.name} {first.text} only looks")
        return None
    return _by_heavy_subcommand(use)


def _by_heavy_subcommand(use: Use) -> Traits | None:
    """The traits of a subcommand that changes something, found behind any options."""
    sub = next((text for text in use.texts if not text.startswith("-")), "")
    entry = use.program.subcommands.get(sub)
    if entry is None or entry.classes <= READ_ONLY:
        return None
    if "destructive" in entry.classes:
        why = f"{use.name} {sub} changes something elsewhere for good"
    else:
        why = f"{use.name} {sub} {_WHY[max(entry.classes, key=_weight)]}"
    return Traits(entry.classes, why, exact=False)


def _by_words(use: Use) -> Traits | None:
    """The traits that an option or an argument gives a program; None if none does."""
    name, program = use.name, use.program
    if not known_words(use.words):
        return unknown_words(name)
    for kind in reversed(COMMAND_CLASSES):
        flags, pattern = program.heavier.get(kind), program.words.get(kind)
        with_flag = flags is not None and any(has_flag(text, flags) for text in use.texts)
        with_word = pattern is not None and any(
            pattern.fullmatch(text) for text in use.texts if not text.startswith("-")
        )
        if with_flag or with_word:
            why = f"{name} with these options {_WHY_WITH.get(kind, _WHY[kind])}"
            return traits(kind, why, exact=kind != "network")
    return None


def _writes(use: Use) -> Traits:
    """Return the effect of a program that writes named files, and runs something with some options."""
    runs, texts = use.program.runs, use.texts
    exact = not hides_path(texts) and "*" not in runs and not any(has_flag(t, runs) for t in texts)
    return traits("workspace-write", f"{use.name} writes", exact=exact)


def _plain(use: Use) -> Traits:
    """The effect of a program whose classes do not depend on its words."""
    classes, name = use.program.classes, use.name or "it"
    if not classes:
        return traits("workspace-write", f"{name} may write", exact=False)
    if classes == _IRREVERSIBLE:
        sub = next((text for text in use.texts if not text.startswith("-")), "")
        return Traits(classes, f"{name} {sub} changes something elsewhere for good", exact=False)
    heaviest = max(classes, key=_weight)
    return Traits(classes, f"{name} {_WHY[heaviest]}", exact="network" not in classes)
