"""Instructions of files, exactly in their trusted form, without links and imports."""

import os
import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache

from sam_tui.core.accesses import Location
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.errors import SamError, StorageError
from sam_tui.core.local_files.cache import Unchanged
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.prompts import DefinitionListing, Instruction
from sam_tui.folders import FURTHER_INSTRUCTIONS, INSTRUCTION_FILES

LARGEST = 1_000_000
"""The most bytes of an instruction file; a larger one is not read."""
TOO_LARGE = f"[left out: this file has more than {LARGEST:,} bytes; tell the person so]"
LONGEST = 32_000
"""The most characters of a file that the model gets."""
MOST_NESTED = 20
"""The most folders below the workspace whose instructions are read."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of instructions, and checks of them.

    ``trust`` is the trust in the workspace; ``clean`` replaces the secrets in a text.
    """

    files: Files
    trust: FolderTrust
    clean: Callable[[str], str]
    rules: Callable[[], DefinitionListing] = DefinitionListing
    """Files of ``rules`` folders. One with ``paths`` in its front matter applies to these paths alone."""


def add_note(config_dir: str, text: str) -> str:
    """Add a line to the person's own instructions; returns their path. Raises ``StorageError``."""
    path = os.path.realpath(os.path.join(config_dir, INSTRUCTION_FILES[0]))
    try:
        os.makedirs(config_dir, mode=0o700, exist_ok=True)
        line = f"- {' '.join(text.split())}\n"
        with open(path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            if end := os.fstat(file.fileno()).st_size:
                file.seek(end - 1)
                line = line if file.read() == b"\n" else f"\n{line}"
            file.write(line.encode("utf-8", "replace"))
    except OSError as error:
        raise StorageError(f"It could not be written: {error.strerror}.") from error
    return path


def why_unread(path: str, *, personal: bool) -> str:
    """Return why the agent does not get an existing instruction file; empty for one that it gets.

    Only the ``personal`` one may be a link.
    """
    folder, name = os.path.split(path)
    if not personal:
        if os.path.islink(path):
            return "a link, and no link is followed"
        if name in INSTRUCTION_FILES and (used := _used_in(folder)) not in ("", name):
            return f"{used} beside it is used"
    large = os.path.isfile(path) and os.path.getsize(path) > LARGEST
    return f"over {LARGEST:,} bytes: shorten it" if large else ""


class FileInstructions:
    """The ``Instructions`` of a settings folder and a workspace. Files are read when they changed."""

    def __init__(self, config_dir: str, sources: Sources) -> None:
        self._own = os.path.realpath(os.path.join(config_dir, INSTRUCTION_FILES[0]))
        self._sources = sources
        self._trust = sources.trust
        self._workspace = self._trust.folder
        self._read: Unchanged[Instruction | None] = Unchanged()

    def standing(
        self, touched: Callable[[], Collection[str]], delivered: Collection[str]
    ) -> Sequence[Instruction]:
        """The instructions in force, from the widest to the narrowest."""
        instructions = [self._instruction(self._own, "")]
        if self._trust.trusted:
            names = [
                self._first(""),
                FURTHER_INSTRUCTIONS,
                *self._below(lambda: {*touched(), *delivered}),
            ]
            instructions += [self._instruction(self._place(name), name) for name in names if name]
        instructions += self._rules(touched, delivered)
        return [
            instruction
            for instruction in instructions
            if instruction is not None and instruction.text
        ]

    def _rules(
        self, touched: Callable[[], Collection[str]], delivered: Collection[str]
    ) -> list[Instruction]:
        """Rules for all files, and rules for the paths that the agent worked on."""
        instructions: list[Instruction] = []
        listing = self._sources.rules()
        paths = [self._relative(path) for path in touched()] if listing.definitions else []
        for rule in listing.definitions:
            globs = rule.globs
            personal = rule.source == "user"
            name = rule.file if personal else self._relative(rule.file)
            if name not in delivered and not _about(globs, paths):
                continue
            about = Instruction(
                name, rule.text, personal=personal and not globs, folder=" ".join(globs)
            )
            instructions.append(_shortened(about))
        instructions += [
            Instruction(problem.file, f"[left out: {problem.reason}; tell the person so]")
            for problem in listing.problems
            if problem.faulty
        ]
        return instructions

    def _relative(self, path: str) -> str:
        whole = posixpath.normpath(posixpath.join(self._workspace, path))
        return posixpath.relpath(whole, self._workspace)

    def _below(self, touched: Callable[[], Collection[str]]) -> list[str]:
        """The instruction files of folders below in which the agent worked, the outermost first."""
        nested = set(self._trust.nested())
        if not nested:
            return []
        folders: set[str] = set()
        for path in touched():
            whole = posixpath.normpath(posixpath.join(self._workspace, path))
            above = whole
            while above.startswith(self._workspace.rstrip("/") + "/"):
                folders.add(posixpath.relpath(above, self._workspace))
                above = posixpath.dirname(above)
        ordered = sorted(folders, key=lambda folder: (folder.count("/"), folder))
        names = [self._first(folder) for folder in ordered]
        return [name for name in names if name in nested][:MOST_NESTED]

    def _first(self, folder: str) -> str:
        """The instruction file of a folder, or empty; a link does not count."""
        name = _used_in(self._place(folder))
        return posixpath.join(folder, name) if name else ""

    def _place(self, name: str) -> str:
        return os.path.join(self._workspace, name)

    def _instruction(self, path: str, name: str) -> Instruction | None:
        """The text of a file; None if it is missing or differs from its trusted content.

        A refusal is not cached: the person may trust the very same file later.
        """
        return self._read.get(path, lambda: self._fresh(path, name)) if _is_file(path) else None

    def _fresh(self, path: str, name: str) -> Instruction | None:
        where = Location(path, path, self._workspace if name else None)
        try:
            data = self._sources.files.read(where, limit=LARGEST + 1)
        except SamError:
            return None
        if len(data) > LARGEST:
            # Named in its place: its author relies on it.
            return Instruction(name or path, TOO_LARGE, personal=not name)
        if name and not self._trust.vouches(name, data):
            return None
        text = self._sources.clean(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        text = text.replace("\0", "").strip()
        instruction = Instruction(
            name or path, text, personal=not name, folder=posixpath.dirname(name) if name else ""
        )
        if name == FURTHER_INSTRUCTIONS:
            instruction = replace(instruction, folder="")
        return _shortened(instruction)


def _shortened(instruction: Instruction) -> Instruction:
    text = instruction.text
    if len(text) <= LONGEST:
        return instruction
    cut = text.rfind("\n", 0, LONGEST)
    cut = cut if cut > 0 else LONGEST
    return replace(instruction, text=text[:cut], left=len(text) - cut)


_WILD = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}")


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """A glob as an expression: ``**`` crosses folders, one without a slash means a file anywhere."""
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}

    def expression(mark: str) -> str:
        if mark in wild:
            return wild[mark]
        return f"(?:{'|'.join(map(re.escape, mark[1:-1].split(',')))})"

    glob = glob if "/" in glob else f"**/{glob}"
    parts = (re.escape(text) for text in _WILD.split(glob))
    marks = [expression(mark) for mark in _WILD.findall(glob)]
    return re.compile("".join(a + b for a, b in zip(parts, [*marks, ""], strict=True)))


def _about(globs: Sequence[str], paths: Sequence[str]) -> bool:
    """Whether a rule with these patterns matches one of the paths; without patterns it always does."""
    return not globs or any(_matches(glob, path) for glob in globs for path in paths)


def _matches(glob: str, path: str) -> bool:
    return _pattern(glob.removeprefix("/").removeprefix("./")).fullmatch(path) is not None


def _used_in(folder: str) -> str:
    """The name of a folder's instruction file, or empty; a link does not count."""
    return next((name for name in INSTRUCTION_FILES if _is_file(os.path.join(folder, name))), "")


def _is_file(path: str) -> bool:
    """Whether a path is a regular file, and no link to one."""
    return os.path.isfile(path) and not os.path.islink(path)
