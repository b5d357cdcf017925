"""Functions that judge programs by their arguments; the table names them as ``inspect``."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sam_tui.core.authorization.commands.options import Options, has_flag, known_words
from sam_tui.core.authorization.commands.table import (
    READ_ONLY,
    CommandClass,
    CommandTable,
    Program,
)
from sam_tui.core.ports.policy import Word

_SED_SAFE = re.compile(
    r"(?:\s*+(?:[\d$]+|/(?:[^/\\]|\\.)*/)?(?:,(?:[\d$+~]+|/(?:[^/\\]|\\.)*/))?\s*+(?:!\s*+)?"
    r"(?:[pdq=lnNDPgGhHx]|s([|/#,@:!])(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1[gpiI0-9]*+)"
    r"[^\S\n]*+(?:;|$|\n))+"
)
"""A sed script that only edits text. It has one reading at most, and runs of spaces are possessive, so that
matching stays linear. Groups are not: Python 3.11.2 never matches a possessive one that has a reference."""


_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_LOOKING_AT_NETWORKS = ("show", "list", "ls", "get")
_TAR_ACTIONS = "-x -c -r -u -A"


@dataclass(frozen=True, slots=True)
class Traits:
    """The effects of a program; with ``exact`` it touches nothing but the paths named in its words."""

    classes: frozenset[CommandClass]
    why: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a program: its bare name, its arguments, and its entry in the table."""

    name: str
    words: Sequence[Word]
    program: Program
    table: CommandTable

    @property
    def texts(self) -> list[str]:
        """The words as texts."""
        return [word.text for word in self.words]

    def knows(self, options: str = "") -> bool:
        """Whether every argument is known text, and every option listed in the table."""
        known = self.program.options | Options.of(options)
        return known_words(self.words) and known.know(self.words)

    def has(self, kind: CommandClass) -> bool:
        """Whether an option gives the program this class."""
        flags = self.program.heavier.get(kind, frozenset())
        return any(has_flag(text, flags) for text in self.texts)


def traits(kind: CommandClass, why: str, *more: CommandClass, exact: bool = True) -> Traits:
    """Traits of one or more classes."""
    return Traits(frozenset((kind, *more)), why, exact)


def unknown_words(name: str) -> Traits:
    """Traits of a program whose words are only known when it runs."""
    return traits(
        "workspace-write", f"{name} with words that are only known when it runs", exact=False
    )


def hides_path(texts: Sequence[str]) -> bool:
    """Whether a short option has a path for its value in one word with it: ``-C/etc``."""
    return any(
        text[:1] == "-" and text[1:2] != "-" and any(c in text for c in "/.~") for text in texts
    )


def files_of(
    program: Program, judged: Traits, operands: Sequence[Word]
) -> tuple[Sequence[Word], str]:
    """The words that may be files, and what the use writes of them (as ``Program.writes``)."""
    edits = judged.exact and program.classes == READ_ONLY != judged.classes
    if edits and program.inspect == "sed":
        scripts = _sed_scripts([word.text for word in operands])
        operands = [word for word in operands if word.text not in scripts]
    return operands, program.writes or ("named" if edits else "")


def _may_write(name: str) -> Traits:
    return traits(
        "workspace-write", f"{name} with these words may write or run something", exact=False
    )


def _reads(name: str) -> Traits:
    return traits("read-only", f"{name} only reads")


def _sed(use: Use) -> Traits:
    """``sed`` reads unless it edits in place, or its script writes or runs something."""
    if any(word.static and has_flag(word.text, ("--in-place", "-i")) for word in use.words):
        return traits("workspace-write", "sed edits in place", exact=known_words(use.words))
    if not use.knows():
        return _may_write("sed")
    if all(_SED_SAFE.fullmatch(script.strip()) for script in _sed_scripts(use.texts)):
        return _reads("sed")
    return traits("workspace-write", "the sed script may write or run something", exact=False)


def _sed_scripts(texts: Sequence[str]) -> list[str]:
    """The scripts of ``-e`` in any spelling; without any, the first word that is no option."""
    scripts: list[str] = []
    for index, text in enumerate(texts):
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            if name == "--expression":
                scripts += [value] if equals else texts[index + 1 : index + 2]
        elif text.startswith("-") and "e" in text:
            attached = text.partition("e")[2]
            scripts += [attached] if not text.endswith("e") else texts[index + 1 : index + 2]
    return scripts or [text for text in texts if not text.startswith("-")][:1]


def _awk(use: Use) -> Traits:
    """``awk`` reads unless its program writes, pipes, or runs something."""
    if not use.knows():
        return _may_write("awk")
    programs = [text for text in use.texts if not text.startswith("-")]
    if any(re.search(r"system|\||>|getline|@|close\s*\(", program) for program in programs):
        return traits("workspace-write", "the awk program may write or run something", exact=False)
    return _reads("awk")


def _find(use: Use) -> Traits:
    """``find`` itself; the command of ``-exec`` is judged separately."""
    texts = set(use.texts)
    if texts & use.program.heavier["destructive"]:
        return traits("destructive", "find -delete deletes everything it finds")
    if not known_words(use.words):
        return unknown_words("find")
    if texts & use.program.heavier["workspace-write"]:
        return traits("workspace-write", "find writes its list")
    if any(
        _expression(text) and text not in use.program.options.flags for text in _tests(use.texts)
    ):
        return _may_write("find")
    return _reads("find")


def _tests(texts: Sequence[str]) -> list[str]:
    """The words of ``find`` without the commands that it runs."""
    tests: list[str] = []
    inner = False
    for at, text in enumerate(texts):
        if inner:
            inner = text != ";" and not (text == "+" and texts[at - 1] == "{}")
        else:
            tests.append(text)
            inner = text in ("-exec", "-execdir", "-ok", "-okdir")
    return tests


def _expression(text: str) -> bool:
    """Whether a word of ``find`` is an option or a test, and no number such as ``-7``."""
    return (text.startswith("-") and text[1:2].isalpha()) or text.startswith("--")


def _uniq(use: Use) -> Traits:
    """``uniq IN OUT`` and ``xxd IN OUT`` write their second operand."""
    operands = [text for text in use.texts if not text.startswith("-") or text == "-"]
    unsure = any(word.pattern or not word.static for word in use.words)
    if len(operands) > 1 or "--" in use.texts or unsure:
        return traits("workspace-write", "the second file is written")
    return _reads("it") if use.program.options.know(use.words) else _may_write(use.name)


def _dashed(use: Use) -> Use:
    """The same with a ``-`` before the letters that ``tar`` takes without one."""
    first = use.words[0] if use.words else Word("")
    if first.text[:1] == "-":
        return use
    words = (Word(f"-{first.text}", first.static), *use.words[1:])
    return Use(use.name, words, use.program, use.table)


def _tar(use: Use) -> Traits:
    """``tar`` only reads with ``-t``, if no option runs a program or connects to another machine."""
    dashed = _dashed(use)
    texts = dashed.texts
    listing = any(has_flag(text, ("-t", "--list")) for text in texts)
    elsewhere = any(":" in text for text in texts)
    if listing and not elsewhere and dashed.knows():
        return traits("read-only", "tar lists an archive")
    exact = dashed.knows(_TAR_ACTIONS) and not elsewhere and not hides_path(texts)
    return traits("workspace-write", "tar writes", exact=exact)


def _unzip(use: Use) -> Traits:
    first = use.texts[0] if use.words else ""
    if has_flag(first, ("-l", "-Z", "-v")) and use.knows():
        return traits("read-only", "unzip lists an archive")
    return traits("workspace-write", "unzip writes", exact=not hides_path(use.texts))


def _less(use: Use) -> Traits:
    """``less +!cmd`` runs a command, and a file of key bindings may do so too."""
    commanded = any(text.startswith("+") for text in use.texts)
    return _reads("less") if use.knows() and not commanded else _may_write("less")


def _ip(use: Use) -> Traits:
    """``ip addr`` shows; with another verb it changes."""
    words = [text for text in use.texts if not text.startswith("-")]
    options = [text for text in use.texts if text.startswith("-")]
    shows = len(words) < 2 or words[1] in _LOOKING_AT_NETWORKS
    if known_words(use.words) and shows and set(options) <= use.program.options.flags:
        return _reads("ip")
    return traits("privileged", "ip changes the network")


def _tmux(use: Use) -> Traits:
    """A ``;`` among its words begins another of its commands, and formats run programs."""
    if len(use.words) == 1 and use.texts[0] in ("ls", "list-sessions"):
        return _reads("tmux")
    return traits("privileged", "tmux reaches programs that the sandbox does not hold")


def _rsync(use: Use) -> Traits:
    if any(":" in text and not text.startswith("-") for text in use.texts):
        return traits("network", "rsync reaches the network", exact=False)
    if any(text.startswith("--del") for text in use.texts):
        return traits("destructive", "rsync deletes what is not at the source", exact=False)
    return traits("workspace-write", "rsync may write", exact=False)


def _mode(use: Use) -> Traits:
    recursive = any(
        text == "--recursive" or (text[:1] == "-" and text[1:2] != "-" and "R" in text)
        for text in use.texts
    )
    if recursive:
        return traits("destructive", f"{use.name} -R changes everything below")
    return traits("workspace-write", f"{use.name} writes", exact=not hides_path(use.texts))


def _builtin(use: Use) -> Traits:
    """A builtin of the shell that puts values into variables, or looks at one.

    A subscript of the name that it is given is evaluated, and what that holds may be a command.
    """
    name = use.name
    if name == "let" or use.has("workspace-write") or not use.program.options.know(use.words):
        return _may_write(name)
    if name == "test":
        reads = not any(word.text.startswith("$") for word in use.words if not word.static)
    else:
        reads = _prints(use) or _names_plainly(use)
    return _reads(name) if reads else _may_write(name)


def _prints(use: Use) -> bool:
    """Whether it is a ``printf`` that puts nothing into a variable."""
    first = next(iter(use.words), None)
    if use.name != "printf" or first is None:
        return False
    return first.static and not first.text.startswith("-v")


def _names_plainly(use: Use) -> bool:
    """Whether every variable named in the words is known and none has a subscript."""
    named = [word for word in use.words if not _NAMED.match(word.text)]
    return known_words(named) and not any("[" in text.partition("=")[0] for text in use.texts)


def variables_set(name: str, arguments: Sequence[Word]) -> list[str]:
    """The variables that a builtin may put something into, by their bare names."""
    if name == "printf":
        spelled = [word.text for word in arguments[:2]]
        if spelled[:1] == ["-v"]:
            return spelled[1:]
        return [text[2:] for text in spelled[:1] if text.startswith("-v")]
    return [
        re.split(r"[=+\[]", word.text)[0] for word in arguments if not word.text.startswith("-")
    ]


def _remove(use: Use) -> Traits:
    """Return the effect of ``rm``: destructive if it is recursive, but not for a build folder."""
    if "--no-preserve-root" in use.texts:
        return traits("destructive", "rm would delete everything there")
    if not any(has_flag(text, ("-r", "-R", "--recursive")) for text in use.texts):
        return traits("workspace-write", "rm deletes files")
    targets = [word for word in use.words if not word.text.startswith("-")]
    if any(map(_everything, targets)):
        return traits("destructive", "rm would delete everything there")
    if not all(_regenerable(word, use.table.regenerable) for word in targets):
        return traits("destructive", "rm -r deletes whole folders")
    return traits("workspace-write", "rm deletes files")


def _everything(word: Word) -> bool:
    """A target that means a whole folder: ``.``, ``*``, ``/``, ``~`` and what goes up."""
    text = word.text.rstrip("/") or "/"
    last = text.rpartition("/")[2]
    return (
        text in ("/", "~")
        or last in ("..", "*", ".*", ".git", ".")
        or (not word.static and not word.text.strip("\"'").rpartition("/")[2].strip("${}"))
    )


def _regenerable(word: Word, folders: frozenset[str]) -> bool:
    text = word.text.rstrip("/")
    parts = text.split("/")
    if not word.static or text.startswith(("/", "~")) or ".." in parts:
        return False
    last = parts[-1]
    return last in folders or last.endswith((".egg-info", ".pyc", ".tmp", ".log"))


INSPECTIONS: dict[str, Callable[[Use], Traits]] = {
    "awk": _awk,
    "builtin": _builtin,
    "find": _find,
    "ip": _ip,
    "less": _less,
    "mode": _mode,
    "rm": _remove,
    "rsync": _rsync,
    "sed": _sed,
    "tar": _tar,
    "tmux": _tmux,
    "uniq": _uniq,
    "unzip": _unzip,
}
"""The functions that judge arguments, by the names that the table uses."""
