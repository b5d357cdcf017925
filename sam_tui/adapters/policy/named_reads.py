"""What a program that the person configured reads to start: itself, its interpreter, what it names."""

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sam_tui.adapters.policy.reading import PROGRAMS

_MARKS = (
    ".git", "package.json", "pyproject.toml", "setup.py", "pyvenv.cfg", "go.mod", "Cargo.toml",
    "deno.json", "Gemfile", "composer.json", "pom.xml", "build.gradle",
)  # fmt: skip
"""What stands in the folder of a project."""
_HOME = ("~/", "$HOME/", "${HOME}/")
_LONGEST_LINE = 4096
"""Of a script, in which its interpreter is named."""


@dataclass(frozen=True, slots=True)
class NamedReads:
    """``home`` is the person's, ``roots`` are the workspace's: what stands there was named by others,
    so nothing is followed from it."""

    home: str
    roots: tuple[str, ...]

    def of(self, words: Sequence[str], cwd: str) -> tuple[str, ...]:
        """Real paths of what a command line names and what belongs to it, each once."""
        named = [os.path.join(cwd, word) for word in self._words(words)]
        if words and (program := shutil.which(words[0], path=os.environ.get("PATH"))):
            named.insert(0, os.path.join(cwd, program))
        paths = [real for path in named for real in self._needed(os.path.normpath(path))]
        return tuple(dict.fromkeys(paths))

    def of_line(self, line: str, cwd: str) -> tuple[str, ...]:
        """The same of a line for a shell."""
        return self.of(_split(line), cwd)

    def _words(self, words: Iterable[str]) -> Iterator[str]:
        for word in words:
            yield from (self._expanded(word) for word in (word, word.partition("=")[2]) if word)
            if any(mark in word for mark in " ;|&"):
                yield from (self._expanded(part) for part in _split(word))

    def _expanded(self, word: str) -> str:
        for spelled in _HOME:
            if self.home and word.startswith(spelled):
                return os.path.join(self.home, word[len(spelled) :])
        return word

    def _needed(self, path: str, *, starts: bool = False) -> Iterator[str]:
        """A file or folder, where its links lead, and the project or installation around it."""
        if not _exists(path) or self._of_workspace(path):
            return
        real = os.path.realpath(path)
        if os.path.isdir(real):
            if not self._holds_home(real):
                yield real
            return
        for folder_path in (path, real):
            yield os.path.realpath(folder_path)
            around = self._around(os.path.dirname(folder_path))
            if not self._wide(around):
                yield os.path.realpath(around)
        if not starts and (interpreter := _interpreter(real)):
            yield from self._needed(os.path.normpath(interpreter), starts=True)

    def _around(self, folder: str) -> str:
        """The project that a folder belongs to, or where programs are installed, or itself."""
        above = os.path.dirname(folder) if os.path.basename(folder) in PROGRAMS else folder
        directory = folder
        while not self._wide(directory):
            if any(os.path.lexists(os.path.join(directory, mark)) for mark in _MARKS):
                return directory
            directory = os.path.dirname(directory)
        return folder if self._wide(above) else above

    def _wide(self, folder: str) -> bool:
        """Whether it is the home folder as a whole, or one that many programs share."""
        return os.path.dirname(folder) == "/" or self._holds_home(folder)

    def _holds_home(self, folder: str) -> bool:
        real = os.path.realpath(folder).rstrip("/")
        return f"{os.path.realpath(self.home)}/".startswith(f"{real}/") if self.home else not real

    def _of_workspace(self, path: str) -> bool:
        """Whether the way to a path leads through the workspace."""
        while True:
            real = os.path.realpath(path)
            if any(f"{real}/".startswith(f"{root.rstrip('/')}/") for root in self.roots):
                return True
            if path == os.path.dirname(path):
                return False
            path = os.path.dirname(path)


def _split(line: str) -> list[str]:
    """The words of a line for a shell, as far as it can be read."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return list(words)
    except ValueError:
        return line.split()


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False  # no path has such characters


def _interpreter(script: str) -> str:
    """The program that the first line of a script names; empty where there is none."""
    try:
        with open(script, "rb", opener=_unwaiting) as file:
            line = file.readline(_LONGEST_LINE)
    except OSError:
        return ""
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    return words[0] if words and os.path.isabs(words[0]) else ""


def _unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
