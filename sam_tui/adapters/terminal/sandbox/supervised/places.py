"""Places that later run, in one run's folders: their paths, content and open descriptors."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target
from sam_tui.core.authorization.paths import git_config
from sam_tui.core.authorization.paths.places import Place, founding, higher, place_of, reason

_REMEMBERED_SECONDS = 1.0
_REMEMBERED_FOLDERS = 512


class Inside:
    """The folders that a command may change without a question, except for ``kept`` paths."""

    def __init__(self, roots: Sequence[str], secret_paths: Sequence[str] = ()) -> None:
        self._kept = tuple(f"{path}/" for path in secret_paths)
        self._exact = frozenset(roots)
        self._beneath = tuple(f"{root.rstrip('/')}/" for root in roots)
        self._folders: dict[str, tuple[float, str]] = {}

    def holds(self, real: str) -> bool:
        """Whether a real path is one of these folders or lies below one."""
        if self._kept and f"{real}/".startswith(self._kept):
            return False
        return real.startswith(self._beneath) or real in self._exact

    @property
    def keeps(self) -> bool:
        """Whether paths below are excepted."""
        return bool(self._kept)

    def leads(self, real: str) -> bool:
        """Whether a real path is a parent folder of a kept path, which must not be moved or exchanged."""
        return any(path.startswith(f"{real.rstrip('/')}/") for path in self._kept)

    def surely(self, target: Target, directory: int, path: str, *, follow: bool) -> bool:
        """A quick yes for a path that leads inside; False means that it has to be looked at.

        Folders are remembered for a second. A wrong yes costs a question that is not put, never a
        write: Landlock decides all that is let through on it.
        """
        absolute = target.absolute(directory, path)
        folder, _, name = absolute.rpartition("/")
        if not name or name in (".", ".."):
            return False
        real = self._folder(target, folder or "/")
        if not (real + "/").startswith(self._beneath) or real.startswith("/proc/"):
            return False
        if not follow:
            return True
        try:
            os.readlink(f"{real}/{name}")
        except OSError:
            return True
        return False

    def likely(self, target: Target, directory: int, path: str) -> str:
        """The probable real path, for an open without links whose result is checked again."""
        absolute = target.absolute(directory, path)
        folder, _, name = absolute.rpartition("/")
        if not name or name in (".", ".."):
            return ""
        return f"{self._folder(target, folder or '/').rstrip('/')}/{name}"

    def _folder(self, target: Target, folder: str) -> str:
        now = time.monotonic()
        cached = self._folders.get(folder)
        if cached is not None and now < cached[0]:
            return cached[1]
        target_path = target.resolve(-1, folder, follow=True)
        if target_path.by_proc:
            return target_path.real  # means another folder for each process
        if len(self._folders) >= _REMEMBERED_FOLDERS:
            self._folders.clear()
        self._folders[folder] = (now + _REMEMBERED_SECONDS, target_path.real)
        return target_path.real


_MOST_SHOWN = 16_000
"""The most characters of a difference that are reported; the rest is counted."""
_MOST_STOOD = 10_000


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """New content of a place: the reason for the question, and the difference."""

    why: str
    difference: str
    added: int
    removed: int
    digest: str

    def as_object(self) -> dict[str, object]:
        """Return the JSON object that is sent to the program."""
        return {
            "why": self.why,
            "difference": self.difference,
            "added": self.added,
            "removed": self.removed,
        }


def change_of(why: str, before: bytes | None, after: bytes) -> PlaceChange:
    """Return a change in lines, cut to a size that can be shown."""
    import difflib  # needed by few runs

    old, new = (
        (side or b"").decode("utf-8", "backslashreplace").splitlines() for side in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    unified = "\n".join(lines)
    if len(unified) > _MOST_SHOWN:
        unified = f"{unified[:_MOST_SHOWN]}\n[{len(unified) - _MOST_SHOWN} more characters]"
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return PlaceChange(why, unified, added, removed, digest_of(after))


def digest_of(content: bytes) -> str:
    """Return a digest that distinguishes contents."""
    return hashlib.sha256(content).hexdigest()


class RemoteAddresses:
    """The addresses of git remotes that this program's runs have seen, by the configuration's path.

    A remote that a command removes and another adds again keeps its address here.
    """

    def __init__(self) -> None:
        self._by_path: dict[str, dict[str, tuple[str, ...]]] = {}
        self._read: dict[str, tuple[int, int, int]] = {}

    def note(self, real: str) -> None:
        """Remember the remotes of a configuration, unless it is unchanged since the last time."""
        try:
            about = os.stat(real)
        except OSError:
            return
        state = (about.st_ino, about.st_size, about.st_mtime_ns)
        if self._read.get(real) == state or len(self._by_path) >= _MOST_STOOD:
            return
        self._read[real] = state
        if led := git_config.leads(_content(real) or b""):
            self._by_path.setdefault(real, {}).update(led)

    def note_moved(self, folders: Sequence[str]) -> None:
        """Remember the remotes of folders that may be a repository's own, or contain one."""
        for folder in folders:
            self.note(f"{folder}/config")
            self.note(f"{folder}/.git/config")

    def of(self, real: str) -> Mapping[str, Sequence[str]]:
        """Return the remembered addresses of a configuration."""
        return self._by_path.get(real, {})

    def below(self, folder: str) -> tuple[str, ...]:
        """The configurations that are remembered below a folder."""
        return tuple(path for path in self._by_path if path.startswith(f"{folder}/"))


@dataclass(frozen=True, slots=True)
class PlaceHistory:
    """The records that all runs of a program share. ``copies`` are paths and digests of places that a
    run made like the same place in a folder above."""

    remotes: RemoteAddresses = field(default_factory=RemoteAddresses)
    copies: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


class WatchedPlaces:
    """The places of one run. ``watched`` are folders whose changes the supervisor makes, except those
    ``free`` or ``content`` below them."""

    def __init__(
        self,
        watched: Sequence[str],
        free: Sequence[str],
        unwritable: Sequence[str],
        history: PlaceHistory,
    ) -> None:
        self.remotes = history.remotes
        self._copies = history.copies
        for root in watched:
            self.remotes.note(f"{root}/.git/config")
        self._roots = tuple(sorted(watched, key=len, reverse=True))
        self._free = tuple(f"{path.rstrip('/')}/" for path in (*free, *unwritable))
        self._below = tuple(f"{root.rstrip('/')}/" for root in self._roots)
        self._stood: set[tuple[str, str]] = set()
        self._asked: dict[str, list[Callable[[], None]]] = {}
        self._settled: list[Callable[[], None]] = []
        self.drafted = False
        """Whether the program knows that places are being written."""

    def root_of(self, real: str) -> str:
        """The watched folder that a real path is or lies in; empty for none."""
        if f"{real}/".startswith(self._free):
            return ""
        for root, below in zip(self._roots, self._below, strict=True):
            if real == root or real.startswith(below):
                return root
        return ""

    def ordinary(self, real: str) -> bool:
        """Whether a path is in a watched folder, and not a place that later runs."""
        root = self.root_of(real)
        return bool(root) and (real == root or place_of(real, root) is None)

    def at(self, real: str) -> Place | None:
        """The entry of the table of places for a real path; None if it is not such a place."""
        root = self.root_of(real)
        return place_of(real, root) if root and real != root else None

    def runs(self, real: str) -> bool:
        """Whether the file would be run if it were executable."""
        kind = self.at(real)
        if kind is None or kind.grammar not in ("hook", "husky"):
            return False
        return bool(reason(kind, real, None, _content(real) or b"", roots=self._roots))

    def judge(self, real: str, kind: Place, after: bytes) -> PlaceChange | None:
        """The change that a person has to approve; None if the new content starts nothing new.

        Raises OSError if the old content cannot be read.
        """
        before = _content(real)
        if (real, digest_of(after)) in self._stood:
            return None
        if self._is_above(real, after):
            return None
        self.remotes.note(real)
        leads = self.remotes.of(real)
        why = reason(kind, real, before, after, roots=self._roots, leads=leads)
        if kind.grammar == "git head" and before is None:
            return self._founded(os.path.dirname(real))
        return change_of(why, before, after) if why else None

    def _is_above(self, real: str, content: bytes) -> bool:
        """Whether the same place in a folder above has this content."""
        return any(_content(path) == content for path in higher(real, self.root_of(real)))

    def is_copy(self, real: str) -> bool:
        """Whether a run made this place like one above it, and it still is: it allows nothing new then."""
        content = _content(real)
        return content is not None and (real, digest_of(content)) in self._copies

    def _founded(self, folder: str) -> PlaceChange | None:
        """The change that making this folder a repository would be, by the files in it."""
        for path in founding(folder):
            kind = place_of(path, self.root_of(path)) or place_of(f"{folder}/.git/config", folder)
            named = place_of(f"{folder}/.git{path[len(folder) :]}", folder) or kind
            if named is None:
                continue
            content = _content(path)
            if os.path.islink(path) or content is None:
                return change_of(f"{path} would be git's own", None, b"")
            if self._is_above(path, content):
                continue
            if why := reason(named, path, None, content, roots=self._roots):
                return change_of(why, None, content)
        return None

    def put(self, real: str, kind: Place, after: bytes, mode: int) -> None:
        """Make exactly this the content of a place. Raises OSError."""
        self.leaves(real)
        new = kind.removal and not os.path.lexists(real) and len(self._copies) < _MOST_STOOD
        if new and self._is_above(real, after):
            self._copies.add((real, digest_of(after)))
        if kind.grammar == "git head" and not os.path.lexists(real):
            for path in founding(os.path.dirname(real)):
                file_calls.put_file(
                    path, *file_calls.read_file(path)
                )  # a new file: others may have it open
        file_calls.put_file(real, after, mode)

    def leaves(self, real: str) -> None:
        """Remember the content of a place before it changes: restoring it needs no question."""
        if os.path.basename(real) == "config":
            self.remotes.note(real)
        content = _content(real)
        if content is not None and len(self._stood) < _MOST_STOOD:
            self._stood.add((real, digest_of(content)))

    @property
    def asking(self) -> bool:
        """Whether a question about a place is open."""
        return bool(self._asked)

    def note_question(self, real: str) -> None:
        """Somebody is asked about new content of a place."""
        self._asked.setdefault(real, [])

    def answered(self, real: str) -> None:
        """Continue the calls that wait for the answer about this path."""
        for go_on in self._asked.pop(real, []):
            go_on()
        if not self._asked:
            waiting, self._settled = self._settled, []
            for go_on in waiting:
                go_on()

    def waits(self, real: str, go_on: Callable[[], None]) -> bool:
        """Whether a question about the place is open; then ``go_on`` is called after the answer."""
        if real not in self._asked:
            return False
        self._asked[real].append(go_on)
        return True

    def when_settled(self, go_on: Callable[[], None]) -> None:
        """Call ``go_on`` once no question is open."""
        if self._asked:
            self._settled.append(go_on)
        else:
            go_on()


def _content(real: str) -> bytes | None:
    """The content of a file; None if there is none, or it is no file."""
    try:
        return file_calls.read_file(real)[0]
    except OSError:
        return None
