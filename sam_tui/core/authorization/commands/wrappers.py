"""Commands inside commands: ``sudo``, ``env``, ``xargs``, ``find -exec``, ``sh -c``, ``eval``."""

import fnmatch
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sam_tui.core.authorization.commands.inspection import Traits, traits, variables_set
from sam_tui.core.authorization.commands.table import CommandTable, Program, Wrapping
from sam_tui.core.ports.policy import ShellText, SimpleCommand, Word

_SHELL_VALUED = ("--rcfile", "--init-file")
_MOST_LAYERS = 8
_LATER = Word("{}", static=False)
"""Stands for a word that is known only when the command runs."""
_ARGUMENT = Word('"$1"')
"""The same in the text of a shell command."""
_FINDERS = ("find", "gfind", "fd", "fdfind")
_EXECUTES = ("-exec", "-execdir", "-ok", "-okdir")


@dataclass(frozen=True, slots=True)
class Inner:
    """A program that a simple command runs, or a ``script`` that it hands to a shell.

    ``verdict`` is set if the words alone do not show its effect.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    script: Word | None = None
    verdict: Traits | None = None

    @property
    def exact(self) -> bool:
        """Whether every word is known before it runs, and the first is the name of one program."""
        return all(word.static for word in self.words) and not self.words[0].pattern


def unwrap(command: SimpleCommand, shell: ShellText, table: CommandTable) -> Iterator[Inner]:
    """Every program that a simple command runs, the wrapper itself where it has a say."""
    words = command.words
    for _ in range(_MOST_LAYERS):
        name = _name(words)
        program = table.program(name)
        if name in table.least and program.starts_another:
            yield Inner(words, verdict=_calm(f"{name} runs another program"))
        if program.shell:
            yield from _shell(program, words, command, shell)
            return
        if program.wraps is None:
            yield from _unwrapped(words, command, shell, table)
            return
        if _only_asks(name, words):
            yield Inner(words, verdict=_calm(f"{name} only looks up what a name means"))
            return
        stripped = _stripped(name, words, program.wraps)
        yield from _wrapper(words, stripped, program, program.wraps)
        if stripped.script is not None:
            yield Inner((), script=stripped.script)
        elif not stripped.words:
            yield Inner(words[:1], verdict=_calm(f"{name} without a command only reads"))
        if not stripped.words:
            return
        words = stripped.words
    yield Inner(words, verdict=traits("workspace-write", "nested too deep to be read", exact=False))


def _unwrapped(
    words: tuple[Word, ...], command: SimpleCommand, shell: ShellText, table: CommandTable
) -> Iterator[Inner]:
    """A program that wraps no other: itself, and what its words have the shell or itself run."""
    name = _name(words)
    if name in ("eval", "trap"):
        yield from _evaluated(name, words)
    elif name in _FINDERS:
        yield Inner(words)
        yield from _executed(words, table)
    elif table.program(name).interpreter and len(words) <= 2 and not _asks(words):
        yield _fed(words, command, shell, f"{name} may write")
    else:
        yield Inner(words)


def _wrapper(
    words: tuple[Word, ...], stripped: "_Stripped", program: Program, wraps: Wrapping
) -> Iterator[Inner]:
    """The effects of the wrapper itself, if it has any."""
    name = _name(words)
    if "privileged" in program.classes:
        yield Inner(words, verdict=traits("privileged", f"{name} runs with other rights"))
    elif wraps.writes:
        yield Inner(words, verdict=traits("workspace-write", f"{name} may write a file"))
    elif not stripped.exact:
        why = f"{name} with unknown options"
        yield Inner(words, verdict=traits("workspace-write", why, exact=False))
    if stripped.assignments:
        verdict = _calm("env sets variables")
        yield Inner((Word("env"),), stripped.assignments, verdict=verdict)


def taints(assignments: Sequence[tuple[str, Word]], table: CommandTable) -> str:
    """The first variable set that lets a program run something else than its name says."""
    for name, _ in assignments:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in table.variables):
            return name
    return ""


def renamed(inner: Inner, table: CommandTable) -> str:
    """The variable that a builtin changes so that names mean other programs; empty if it changes none."""
    if not inner.words or table.program(inner.words[0].text).inspect != "builtin":
        return ""
    name, *arguments = inner.words
    return taints([(v, name) for v in variables_set(name.text, arguments)], table)


def function_bomb(shell: ShellText) -> bool:
    """Whether a function feeds itself, as ``:(){ :|:& };:`` does."""
    if not shell.functions:
        return False
    names = [command.words[0].text if command.words else "" for command in shell.commands]
    return any(
        command.fed_by is not None
        and names[index] in shell.functions
        and names[command.fed_by] == names[index]
        for index, command in enumerate(shell.commands)
    )


def _name(words: Sequence[Word]) -> str:
    if not words or not words[0].static:
        return ""
    return words[0].text.rpartition("/")[2]


def _calm(why: str) -> Traits:
    return traits("read-only", why)


def _only_asks(name: str, words: Sequence[Word]) -> bool:
    """``command -v x`` and ``sudo --version`` run nothing."""
    second = words[1].text if len(words) > 1 else ""
    if name == "command" and second in ("-v", "-V"):
        return True
    return name == "coproc" and len(words) == 1


@dataclass(frozen=True, slots=True)
class _Stripped:
    """A command without its wrapper: the words after it, its variables, and its shell text (``env -S``,
    ``watch``). ``exact`` is False where an option may mean something else."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    script: Word | None
    exact: bool


def _stripped(name: str, words: Sequence[Word], wraps: Wrapping) -> _Stripped:
    before, exact, index, options = wraps.before, True, 1, True
    assignments: list[tuple[str, Word]] = []
    while index < len(words):
        word = words[index]
        text = word.text
        if (handed := _handed_over(name, words[index:], before)) is not None:
            return _Stripped((), tuple(assignments), handed[0], exact)
        if options and text == "--":
            options = False
        elif options and _is_option(text, wraps.options.flags):
            exact = exact and _keeps_meaning(name, word, wraps)
            index += _takes_next(text, wraps.options.valued)
        elif (variable := _assignment(name, word)) is not None:
            assignments.append(variable)
        elif before:
            before -= 1
        else:
            break
        index += 1
    inner, variables = tuple(words[index:]), tuple(assignments)
    if not inner:
        return _Stripped((), variables, None, exact)
    if name == "parallel":
        inner = (*_until_arguments(inner), _ARGUMENT)
    if wraps.joins:
        return _Stripped((), variables, _joined(inner), exact)
    if name == "xargs":
        inner = _with_arguments(inner, words)
    return _Stripped(inner, variables, None, exact)


def _is_option(text: str, flags: Collection[str]) -> bool:
    """Whether a word is an option: one of ``env`` alone is ``-``."""
    return text.startswith("-") and (text != "-" or text in flags)


def _keeps_meaning(name: str, option: Word, wraps: Wrapping) -> bool:
    """Whether an option is known, and the program behind it runs in the same folder."""
    moves = name == "env" and option.text.startswith(("-C", "--ch"))
    return _understood(option, wraps.options.valued, wraps.options.flags) and not moves


def _with_arguments(inner: Sequence[Word], words: Sequence[Word]) -> tuple[Word, ...]:
    """The command that ``xargs`` runs; unknown words stand where it inserts or appends its input."""
    return (*(_LATER if _replaced(word.text, words) else word for word in inner), _LATER)


def _handed_over(name: str, words: Sequence[Word], before: int) -> tuple[Word | None] | None:
    """The text that ``env -S`` and ``flock FILE -c`` hand over; None where these words are no such
    option, a tuple of None where its text is missing."""
    text = words[0].text
    if name == "env" and (split := _SPLIT.match(text)) is not None:
        # The split text has options and variables of env before its program, and env's own escapes.
        parts = [Word(split[1], words[0].static), *words[1:]] if split[1] else [*words[1:]]
        plain = not parts or "\\" not in parts[0].text
        return (_joined([Word(name, plain), *parts]) if parts else None,)
    if name == "flock" and not before and text in ("-c", "--command"):
        return (_joined(words[1:]),)
    return None


_SPLIT = re.compile(r"(?:-[iv0]*S|--s[a-z-]*(?:=|$))(.*)", re.DOTALL)
"""``-S TEXT``, ``-STEXT`` or ``--split-string=TEXT``, also shortened or after options without a value."""


def _assignment(name: str, word: Word) -> tuple[str, Word] | None:
    """The variable that a word before a program sets."""
    variable, equals, value = word.text.partition("=")
    if name in ("env", "sudo", "doas") and equals and variable.isidentifier():
        return variable, Word(value, word.static)
    return None


def _until_arguments(words: Sequence[Word]) -> Sequence[Word]:
    """The words before the ``:::`` of ``parallel``."""
    ends = (at for at, word in enumerate(words) if word.text.startswith(":::"))
    return words[: next(ends, len(words))]


def _replaced(text: str, words: Sequence[Word]) -> bool:
    """Whether ``xargs`` puts its input into a word, as with ``-I NAME``."""
    texts = [word.text for word in words]
    names = ["{}", *(value for option, value in pairwise(texts) if option == "-I")]
    return any(name in text for name in names if name)


def _joined(words: Sequence[Word]) -> Word:
    """Several words as one text, as a shell receives them."""
    text = " ".join(word.text for word in words)
    return Word(text, all(word.static for word in words), any(word.pattern for word in words))


def _takes_next(option: str, valued: Collection[str]) -> bool:
    """Whether the next word is the value of an option: ``-n 5``, or combined with others ``-dn 5``."""
    if option.startswith("--"):
        return option in valued
    ends = (at for at, letter in enumerate(option[1:], 2) if f"-{letter}" in valued)
    return next(ends, 0) == len(option)


def _understood(word: Word, valued: Collection[str], flags: Collection[str]) -> bool:
    """Whether the meaning of a wrapper's option is certain: alone, attached, or among short ones."""
    text = word.text
    if not word.static:
        return False
    if text.startswith("--"):
        return text.partition("=")[0] in (*valued, *flags)
    for letter in text[1:]:
        if f"-{letter}" in valued:
            return True
        if f"-{letter}" not in flags and not text[1:].isdigit():
            return False
    return True


def _after_shell_options(words: Sequence[Word]) -> tuple[int, bool]:
    """Return the index of the first word after a shell's options, and whether ``-c`` is among these."""
    index, reads_text = 1, False
    while index < len(words) and words[index].text[:1] in ("-", "+"):
        text = words[index].text
        if text == "--":
            return index + 1, reads_text
        reads_text = reads_text or (not text.startswith("--") and "c" in text[1:])
        valued = text in _SHELL_VALUED or (text[1:2] != "-" and text[-1] in "oO")
        index += 2 if valued else 1
    return index, reads_text


def _shell(
    program: Program, words: Sequence[Word], command: SimpleCommand, shell: ShellText
) -> Iterator[Inner]:
    """``bash -c TEXT`` is read as text; a script file, or standard input, is not known.

    A shell that has a class reads texts in a way of its own, and options may change how one is read.
    """
    index, reads_text = _after_shell_options(words)
    if reads_text and index < len(words):
        options, pattern = words[1:index], program.words.get("workspace-write")
        changed = pattern and any(pattern.fullmatch(word.text) for word in options)
        if program.classes or changed or not program.options.know(options):
            why = f"{_name(words)} may run more than its text shows"
            yield Inner(tuple(words), verdict=traits("workspace-write", why, exact=False))
        yield Inner((), script=words[index])
        return
    if len(words) == 2 and words[1].text == "--version":
        yield Inner(tuple(words), verdict=_calm("it prints its version"))
        return
    yield _fed(tuple(words), command, shell, "a script that is not inspected")


def _asks(words: Sequence[Word]) -> bool:
    return len(words) == 2 and words[1].text in ("--version", "-V", "--help")


def _fed(words: tuple[Word, ...], command: SimpleCommand, shell: ShellText, why: str) -> Inner:
    """An interpreter that reads its program from a pipe; destructive if that program is downloaded."""
    feeder = command.fed_by
    seen = 0
    while feeder is not None and seen < _MOST_LAYERS:
        source = shell.commands[feeder]
        if _name(source.words) in ("curl", "wget", "http", "fetch", "aria2c"):
            why = "it runs what it downloads"
            return Inner(words, verdict=traits("destructive", why, "network", exact=False))
        feeder, seen = source.fed_by, seen + 1
    return Inner(words, verdict=traits("workspace-write", why, exact=False))


def _evaluated(name: str, words: tuple[Word, ...]) -> Iterator[Inner]:
    operands = [word for word in words[1:] if word.text != "--"]
    if name == "trap":
        operands = operands[:1]
        if not operands or operands[0].text in ("", "-", "-l", "-p"):
            yield Inner(words, verdict=_calm("trap resets"))
            return
    if not operands:
        yield Inner(words, verdict=_calm("nothing is evaluated"))
        return
    yield Inner((), script=_joined(operands))


def _executed(words: Sequence[Word], table: CommandTable) -> Iterator[Inner]:
    """Yield the commands that ``find -exec`` and ``fd -x`` run for each file."""
    inner: list[Word] | None = None
    for word in words[1:]:
        if inner is None:
            if word.text in (*_EXECUTES, "-x", "-X", "--exec", "--exec-batch"):
                inner = []
            continue
        if word.text == ";" or (word.text == "+" and inner[-1:] == [_LATER]):
            yield from _each(inner, table)
            inner = None
        else:
            inner.append(_LATER if "{}" in word.text else word)
    if inner:
        yield from _each(inner, table)


def _each(words: Sequence[Word], table: CommandTable) -> Iterator[Inner]:
    if words:
        command = SimpleCommand((*words, _LATER) if _LATER not in words else tuple(words))
        yield from unwrap(command, ShellText(()), table)
