"""Commands inside commands: ``sudo``, ``env``, ``xargs``, ``find -exec``, ``sh -c``, ``eval``."""

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sam_tui.core.authorization import shell_table as table
from sam_tui.core.authorization.programs import Traits, traits
from sam_tui.core.ports.policy import ShellText, SimpleCommand, Word

_MOST_LAYERS = 8
_LATER = Word("{}", static=False)
"""A word that is only known when it runs."""
_EXECUTES = ("-exec", "-execdir", "-ok", "-okdir")


@dataclass(frozen=True, slots=True)
class Inner:
    """A program that a simple command runs, or a ``script`` that it hands to a shell.

    ``verdict`` is set where the words alone do not tell what it does.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    script: Word | None = None
    verdict: Traits | None = None


def unwrap(command: SimpleCommand, shell: ShellText) -> Iterator[Inner]:
    """Every program that a simple command runs, the wrapper itself where it has a say."""
    words = command.words
    for _ in range(_MOST_LAYERS):
        name = _name(words)
        if name in table.SHELLS:
            yield from _shell(words, command, shell)
            return
        if name in ("eval", "trap"):
            yield from _evaluated(name, words)
            return
        if name in ("find", "gfind", "fd", "fdfind"):
            yield Inner(words)
            yield from _executed(words)
            return
        if name not in table.WRAPPERS or _only_asks(name, words):
            yield _interpreted(name, words, command, shell)
            return
        inner, assignments, script = _stripped(name, words)
        if name in table.PRIVILEGED:
            yield Inner(words, verdict=traits("privileged", f"{name} runs with other rights"))
        elif name in ("strace", "ltrace", "flock", "parallel"):
            yield Inner(words, verdict=traits("workspace-write", f"{name} may write a file"))
        if assignments:
            yield Inner((Word("env"),), tuple(assignments), verdict=_calm("env sets variables"))
        if script is not None:
            yield Inner((), script=script)
        if not inner:
            yield Inner(words[:1], verdict=_calm(f"{name} alone only reads"))
            return
        words = inner
    yield Inner(
        words, verdict=traits("workspace-write", "wrapped too deep to be read", known=False)
    )


def taints(assignments: Sequence[tuple[str, Word]]) -> str:
    """The first variable set that lets a program run something else than its name says."""
    for name, _ in assignments:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in table.DANGEROUS_VARIABLES):
            return name
    return ""


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


def _stripped(
    name: str, words: Sequence[Word]
) -> tuple[tuple[Word, ...], list[tuple[str, Word]], Word | None]:
    """The words after a wrapper, the variables it sets, and a script it splits (``env -S``)."""
    valued, before = table.WRAPPERS[name]
    takes_value = valued.split()
    assignments: list[tuple[str, Word]] = []
    script: Word | None = None
    index = 1
    while index < len(words):
        text = words[index].text
        if text == "--":
            index += 1
            break
        variable, equals, value = text.partition("=")
        if name == "env" and text.startswith(("-S", "--split-string")):
            attached = (equals and value) or text[2:] if text != "-S" else ""
            script = Word(attached) if attached else (words[index + 1 : index + 2] or (None,))[0]
            return (), assignments, script
        if text.startswith("-") and len(text) > 1:
            index += 2 if text in takes_value else 1
        elif name in ("env", "sudo", "doas") and equals and variable.isidentifier():
            assignments.append((variable, Word(value, words[index].static)))
            index += 1
        elif before:
            before -= 1
            index += 1
        else:
            break
    inner = tuple(words[index:])
    if name in ("xargs", "parallel") and inner:
        inner = (*inner, _LATER)
    return inner, assignments, script


def _shell(words: Sequence[Word], command: SimpleCommand, shell: ShellText) -> Iterator[Inner]:
    """``bash -c TEXT`` is read as text; a script file, or standard input, is not known."""
    index, reads_text = 1, False
    while index < len(words) and words[index].text[:1] in ("-", "+"):
        text = words[index].text
        if text == "--":
            index += 1
            break
        reads_text = reads_text or (not text.startswith("--") and "c" in text[1:])
        index += 2 if text in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
    if reads_text and index < len(words):
        yield Inner((), script=words[index])
        return
    if len(words) == 2 and words[1].text == "--version":
        yield Inner(tuple(words), verdict=_calm("it tells its version"))
        return
    yield _fed(tuple(words), command, shell, "a script that is not read here")


def _interpreted(
    name: str, words: tuple[Word, ...], command: SimpleCommand, shell: ShellText
) -> Inner:
    if name in table.WRAPPERS:
        return Inner(words, verdict=_calm(f"{name} only says what a name means"))
    if name in table.INTERPRETERS and len(words) <= 2 and not _asks(words):
        return _fed(words, command, shell, f"{name} may write")
    return Inner(words)


def _asks(words: Sequence[Word]) -> bool:
    return len(words) == 2 and words[1].text in ("--version", "-V", "--help")


def _fed(words: tuple[Word, ...], command: SimpleCommand, shell: ShellText, why: str) -> Inner:
    """An interpreter; fed by a download it runs what nobody has seen."""
    feeder = command.fed_by
    seen = 0
    while feeder is not None and seen < _MOST_LAYERS:
        source = shell.commands[feeder]
        if _name(source.words) in ("curl", "wget", "http", "fetch", "aria2c"):
            why = "it runs what it downloads"
            return Inner(words, verdict=traits("destructive", why, "network", known=False))
        feeder, seen = source.fed_by, seen + 1
    return Inner(words, verdict=traits("workspace-write", why, known=False))


def _evaluated(name: str, words: tuple[Word, ...]) -> Iterator[Inner]:
    operands = [word for word in words[1:] if word.text != "--"]
    if name == "trap":
        operands = operands[:1]
        if not operands or operands[0].text in ("-", "") or operands[0].text.startswith("-"):
            yield Inner(words, verdict=_calm("trap resets"))
            return
    if not operands:
        yield Inner(words, verdict=_calm("nothing is evaluated"))
        return
    static = all(word.static for word in operands)
    yield Inner((), script=Word(" ".join(word.text for word in operands), static))


def _executed(words: Sequence[Word]) -> Iterator[Inner]:
    """What ``find -exec`` and ``fd -x`` run for each file."""
    inner: list[Word] | None = None
    stops: tuple[str, ...] = (";", "+")
    for word in words[1:]:
        if inner is None:
            if word.text in (*_EXECUTES, "-x", "-X", "--exec", "--exec-batch"):
                inner = []
            continue
        if word.text in stops:
            yield from _each(inner)
            inner = None
        else:
            inner.append(_LATER if "{}" in word.text else word)
    if inner:
        yield from _each(inner)


def _each(words: Sequence[Word]) -> Iterator[Inner]:
    if words:
        command = SimpleCommand((*words, _LATER) if _LATER not in words else tuple(words))
        yield from unwrap(command, ShellText(()))
