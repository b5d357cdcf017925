"""Shell text -> the effect of each simple command, and the files that it names.

The result is a service to the person; the kernel limits what a command can reach.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from sam_tui.core.authorization.commands.inspection import Traits, files_of, hides_path, traits
from sam_tui.core.authorization.commands.options import Assignment, operand_path, pathlike
from sam_tui.core.authorization.commands.parts import CommandPart, CommandReading, NamedPath
from sam_tui.core.authorization.commands.programs import at_least, judge
from sam_tui.core.authorization.commands.table import (
    READ_ONLY,
    WORKSPACE_WRITE,
    CommandClass,
    CommandTable,
    Program,
    builtin_table,
)
from sam_tui.core.authorization.commands.wrappers import (
    Inner,
    function_bomb,
    renamed,
    taints,
    unwrap,
)
from sam_tui.core.authorization.network.hosts import host_of_word, hosts_of
from sam_tui.core.ports.policy import (
    Redirection,
    ShellParser,
    ShellText,
    SimpleCommand,
    Word,
)

_PROXY = re.compile(r"(?:https?|ftp|all)_proxy", re.IGNORECASE)
_RUNNABLE = re.compile(r"\$\(|`")
"""A command substitution in the value of a variable, which runs when the shell evaluates that value."""
_NETWORK: frozenset[CommandClass] = frozenset(("network",))
_SOCKETS = ("/dev/tcp/", "/dev/udp/")
_DEEPEST, _MOST_BASES = 6, 8
_SYSTEM_FOLDERS = frozenset((
    "/bin",
    "/usr/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
))
_HARMLESS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"))


class CommandReader:
    """Reads commands with a parser; texts parsed lately are kept.

    ``table`` returns the table of programs, and is called with the first command.
    """

    def __init__(
        self,
        parser: ShellParser,
        *,
        root: str,
        home: str,
        table: Callable[[], CommandTable] = builtin_table,
    ) -> None:
        self._parse = lru_cache(maxsize=256)(parser.parse)
        self._root = root
        self._home = home
        self._table = table

    def read(self, text: str, cwd: str = "") -> CommandReading:
        """The effects of a shell text in the folder ``cwd`` (as passed; empty for the workspace)."""
        base = os.path.join(self._root, _at_home(cwd, self._home)) if cwd else self._root
        return read_command(text, self._parse, self._table(), base=base, home=self._home)


def read_command(
    text: str, parse: Callable[[str], ShellText], table: CommandTable, *, base: str, home: str
) -> CommandReading:
    """The effect of a shell text run in ``base``, as far as the table knows its programs."""
    reading = _TextReader(parse, table, base, home)
    reading.read(text)
    return reading.result(text)


class _TextReader:
    """Reads one text from top to bottom. ``_bases`` are the folders that it may be in by then."""

    def __init__(
        self, parse: Callable[[str], ShellText], table: CommandTable, base: str, home: str
    ) -> None:
        self._parse = parse
        self._table = table
        self._bases: tuple[str, ...] = (base,)
        self._home = home
        self._depth = 0
        self._parts: list[CommandPart] = []
        self._parsed = True
        self._tainted = ""

    def result(self, text: str) -> CommandReading:
        """The reading of ``text``, made of the parts read so far."""
        parts = self._parts
        if self._tainted:
            why = f"{self._tainted} is changed, so a name may mean another program"
            parts = [
                replace(part, classes=WORKSPACE_WRITE, why=why, exact_words=False)
                if part.calm
                else part
                for part in parts
            ]
        return CommandReading(text, tuple(parts), self._parsed, self._tainted)

    def read(self, text: str) -> None:
        """Read a text, and the scripts that it hands to shells."""
        if self._depth > _DEEPEST:
            self._parsed = False
            return
        shell = self._parse(text)
        if function_bomb(shell):
            bomb = traits("destructive", "a function that calls itself without end")
            self._parts.append(CommandPart(("fork bomb",), bomb.classes, bomb.why, exact=False))
        if shell.unparsable:
            self._parsed = False
            self._parts.extend(_suspects(text, self._table))
        if shell.evaluates:
            self._add_unknown("what a variable holds may be run where it is worked out")
        for command in shell.commands:
            self._read_simple(command, shell)

    def _add_unknown(self, why: str, *code: str) -> None:
        self._parts.append(CommandPart((), WORKSPACE_WRITE, why, exact=False, code=code))

    def _read_simple(self, command: SimpleCommand, shell: ShellText) -> None:
        self._tainted = self._tainted or taints(command.assignments, self._table)
        files = tuple(chain.from_iterable(map(self._redirected, command.redirections)))
        if not command.words:
            self._parts.append(self._bare(files, _values(command.assignments)))
            return
        assignments = command.assignments
        for inner in unwrap(command, shell, self._table):
            assignments += inner.assignments
            changed = taints(inner.assignments, self._table) or renamed(inner, self._table)
            self._tainted = self._tainted or changed
            if inner.script is not None:
                before = self._bases
                self._read_script(inner.script)
                self._bases = _joined(self._bases, before)
                if files:
                    self._parts.append(self._bare(files, ()))
            else:
                functions = shell.functions if inner.words == command.words else ()
                self._parts.append(self._part(inner, functions, files, assignments))
                moved = self._moved(inner.words)
                leads = command.leads and inner.words == command.words
                self._bases = moved if leads else _joined(moved, self._bases)

    def _redirected(self, redirection: Redirection) -> list[NamedPath]:
        writes = redirection.writes and redirection.target.text not in _HARMLESS
        named = self._named(redirection.target, writes=writes)
        return [replace(path, redirected=True) for path in named]

    def _bare(self, files: tuple[NamedPath, ...], values: Sequence[Word]) -> CommandPart:
        """An assignment or a redirection without a command."""
        hosts = _reached(files)
        code = tuple(word.text for word in values if not word.static)
        classes = WORKSPACE_WRITE if _stores(files) else READ_ONLY
        why, exact = "a redirection", not code
        if _runnable(values):
            classes, why, exact = WORKSPACE_WRITE, "a variable holds what could be run", False
        elif exact and not files:
            paths = tuple(self._all_named(filter(pathlike, values)))
            return CommandPart((), READ_ONLY, "an assignment", True, True, paths)
        return CommandPart((), _NETWORK if hosts else classes, why, True, exact, files, hosts, code)

    def _read_script(self, script: Word) -> None:
        if script.static and not script.pattern:
            self._depth += 1
            self.read(script.text)
            self._depth -= 1
        else:
            self._add_unknown("a script that is only known when it runs", script.text)

    def _part(
        self,
        inner: Inner,
        functions: Sequence[str],
        files: tuple[NamedPath, ...],
        assignments: Sequence[Assignment],
    ) -> CommandPart:
        name, by_itself = _judged(inner, functions, self._table)
        judged = at_least(name, by_itself, self._table)
        classes, why = _with_files(judged, files)
        operands, program = inner.words[1:], self._table.program(name)
        values = _values(assignments)
        addresses = tuple(chain.from_iterable(hosts_of(word.text) for word in operands))
        addresses += (*_reached(files), *_proxies(assignments))
        bare = _bare_hosts(program, operands, assignments)
        restricts = program.hosts is not None and program.hosts.restricts
        plain = judged.exact and classes != READ_ONLY  # then every word may be a file of the folder
        paths = self._paths(*files_of(program, by_itself, operands), plain=plain)
        paths += self._outputs(program, operands)
        paths += self._all_named(word for word in values if word.static and pathlike(word))
        return CommandPart(
            (name, *(word.text for word in operands)),
            classes,
            why,
            judged.exact,
            inner.exact,
            (*paths, *files),
            addresses if restricts else tuple(dict.fromkeys((*addresses, *bare))),
            tuple(word.text for word in (*operands, *values) if _is_code(word)),
            bare if restricts else (),
        )

    def _paths(self, operands: Sequence[Word], writes: str, *, plain: bool) -> list[NamedPath]:
        """The files that operands name; with ``plain`` every operand that is no option counts as a file."""
        words = [
            path
            for word in operands
            if pathlike(path := operand_path(word)) or (plain and word.text[:1] not in "-+")
        ]
        paths = self._all_named(words, writes=bool(writes))
        if plain and writes == "here":
            paths += self._named(Word("."), writes=True)
        return paths

    def _outputs(self, program: Program, operands: Sequence[Word]) -> list[NamedPath]:
        """The files that options name for output; unknown where one word has an option and a path."""
        options = program.hosts.options if program.hosts else program.options
        named = options.values(operands, program.outputs)
        words = [Word(text) for text in named if text not in (*_HARMLESS, "-")]
        hidden = [word.text for word in operands if program.writes and hides_path((word.text,))]
        return [*self._all_named(words, writes=True), *(NamedPath(t, "", True) for t in hidden)]

    def _all_named(self, words: Iterable[Word], *, writes: bool = False) -> list[NamedPath]:
        return [path for word in words for path in self._named(word, writes=writes)]

    def _moved(self, words: Sequence[Word]) -> tuple[str, ...]:
        """The folders after a ``cd`` that succeeds; unknown ones are empty."""
        if words[0].text not in ("cd", "pushd", "popd", "chdir"):
            return self._bases
        if words[0].text == "popd" or any(word.text == "-" for word in words):
            return ("",)
        target = next((word for word in words[1:] if not word.text.startswith("-")), None)
        if target is None:
            return (self._home,)
        if not target.static or target.pattern:
            return (self._resolved(target.text),)
        below = _at_home(target.text, self._home)
        return tuple(os.path.join(base, below) if base else "" for base in self._bases)

    def _named(self, word: Word, *, writes: bool = False) -> list[NamedPath]:
        """The file of a word in each folder that the command may run in."""
        paths = [self._named_in(base, word, writes=writes) for base in self._bases]
        return list(dict.fromkeys(paths))

    def _named_in(self, base: str, word: Word, *, writes: bool) -> NamedPath:
        text = word.text
        if word.static:
            expanded = _at_home(text, self._home)
            full = os.path.join(base, expanded) if base or expanded.startswith("/") else ""
            if word.pattern:
                return NamedPath(text, os.path.normpath(full) if full else "", writes, True)
            return NamedPath(text, _real(full) if full else "", writes)
        return NamedPath(text, self._resolved(text), writes)

    def _resolved(self, text: str) -> str:
        """A path of known variables alone: ``$HOME/x``, ``"$PWD"/x``."""
        bare = text.replace('"', "").replace("'", "")
        base = self._bases[0] if len(self._bases) == 1 else ""
        for variable, value in (("HOME", self._home), ("PWD", base)):
            for spelling in (f"${variable}", f"${{{variable}}}"):
                after = bare[len(spelling) :]
                if (
                    value
                    and bare.startswith(spelling)
                    and (not after or after[0] == "/")
                    and "$" not in after
                ):
                    return _real(value + after)
        return ""


def _joined(*bases: tuple[str, ...]) -> tuple[str, ...]:
    """All folders that it may be, each once; too many are unknown."""
    every = tuple(dict.fromkeys(chain(*bases)))
    return every if len(every) <= _MOST_BASES else ("",)


def _runnable(values: Sequence[Word]) -> bool:
    """Whether a variable's text could be run as a command once it is evaluated."""
    return any(word.static and _RUNNABLE.search(word.text) for word in values)


def _is_code(word: Word) -> bool:
    """Whether a word is anything but a plain path."""
    return not word.static or any(mark in word.text for mark in " ;(\n")


def _judged(inner: Inner, functions: Sequence[str], table: CommandTable) -> tuple[str, Traits]:
    """The bare name of a program, and the traits of its use."""
    first = inner.words[0]
    if not first.static or first.pattern:
        why = "which program runs is only known when it runs"
        return first.text, traits("workspace-write", why, exact=False)
    if inner.verdict is not None:
        return first.text.rpartition("/")[2], inner.verdict
    folder, _, name = first.text.rpartition("/")
    if folder and folder not in _SYSTEM_FOLDERS:
        return first.text, traits("workspace-write", f"{first.text} may write", exact=False)
    judged = judge(name, inner.words, table)
    if name in functions and judged.classes == WORKSPACE_WRITE and not judged.exact:
        return name, traits("read-only", "a function whose body is judged by itself")
    return name, judged


def _real(path: str) -> str:
    """The real path; if the kernel refuses to resolve it, the normalised text."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)


def _at_home(text: str, home: str) -> str:
    if text == "~" or text.startswith("~/"):
        return (home or "~") + text[1:]
    return os.path.expanduser(text)


def _with_files(judged: Traits, files: Sequence[NamedPath]) -> tuple[frozenset[CommandClass], str]:
    """Return the class of a command, and why, with its output and input redirected to these files."""
    classes, why = judged.classes, judged.why
    if _stores(files) and classes == READ_ONLY:
        classes, why = WORKSPACE_WRITE, "its output goes to a file"
    if reached := _reached(files):
        classes, why = (classes - READ_ONLY) | _NETWORK, f"it speaks to {reached[0]}"
    return classes, why


def _bare_hosts(
    program: Program, operands: Sequence[Word], assignments: Sequence[Assignment]
) -> tuple[str, ...]:
    """The hosts that operands and variables name without a scheme, each once."""
    texts = program.hosts.of(operands, assignments) if program.hosts else []
    return tuple(dict.fromkeys(host for host in map(host_of_word, texts) if host))


def _proxies(assignments: Sequence[Assignment]) -> list[str]:
    """The hosts of variables such as ``https_proxy``."""
    texts = [word.text for name, word in assignments if _PROXY.fullmatch(name)]
    return [host for host in map(host_of_word, texts) if host]


def _values(assignments: Sequence[Assignment]) -> tuple[Word, ...]:
    return tuple(word for _, word in assignments)


def _reached(files: Sequence[NamedPath]) -> tuple[str, ...]:
    """The hosts of redirections that the shell turns into connections: ``/dev/tcp/host/80``."""
    parts = [file.text.split("/") for file in files if file.text.startswith(_SOCKETS)]
    return tuple(part[3].lower() for part in parts)


def _stores(files: Sequence[NamedPath]) -> bool:
    return any(file.writes for file in files)


def _suspects(text: str, table: CommandTable) -> Iterator[CommandPart]:
    """Heavy programs named anywhere in a text that could not be parsed."""
    words = [Word(word.strip("\"'`();&|{}")) for word in text.replace("\\\n", "").split()]
    for index, word in enumerate(words):
        name = word.text.rpartition("/")[2]
        judged = judge(name, words[index : index + 12], table)
        if judged.classes & {"destructive", "privileged"} and name != "open":
            yield CommandPart((name,), judged.classes, judged.why, exact=False)
    yield CommandPart((), frozenset(("workspace-write",)), "it could not be parsed", exact=False)
