"""The Landlock rulesets of a program, each reused until the files that it was made from change."""

import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sam_tui.adapters.terminal.sandbox.kernel import landlock
from sam_tui.adapters.terminal.sandbox.kernel.devices import SystemLook
from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.adapters.terminal.sandbox.kernel.protected_paths import kept_within, ways
from sam_tui.core.authorization.paths import git_config
from sam_tui.core.errors import ToolError

_LONGEST = 64 * 1024
_POINTER = "gitdir: "


def linked_repositories(roots: Iterable[str]) -> tuple[str, ...]:
    """Real paths of git directories outside of these folders that belong to them.

    A workspace's files may be anybody's, so the repository outside of it must confirm that it belongs to
    the workspace: git records that for a work tree and for a submodule.
    """
    return tuple(dict.fromkeys(repository for root in roots if (repository := _repository(root))))


def _repository(root: str) -> str:
    try:
        pointer = _text(f"{root}/.git")
    except (OSError, ValueError):
        return ""  # a folder, or nothing: the ordinary case
    if not pointer.startswith(_POINTER):
        return ""
    folder = _resolved(root, pointer.removeprefix(_POINTER))
    try:
        repository = _common(folder, root) if os.path.lexists(f"{folder}/commondir") else folder
        if repository == folder and not _is_tree(folder, root):
            return ""
    except (OSError, ValueError):
        return ""
    whole = os.path.isfile(f"{repository}/HEAD") and os.path.isdir(f"{repository}/objects")
    return repository if whole and not f"{root}/".startswith(f"{repository}/") else ""


def _common(folder: str, root: str) -> str:
    """The repository of a linked work tree; empty unless both know each other (gitrepository-layout(5))."""
    tree = _resolved(folder, _text(f"{folder}/gitdir"))
    repository = _resolved(folder, _text(f"{folder}/commondir"))
    mine = tree == f"{root}/.git" and os.path.dirname(folder) == f"{repository}/worktrees"
    return repository if mine else ""


def _is_tree(folder: str, root: str) -> bool:
    """Whether a submodule's repository names a folder as its work tree."""
    for key, value in git_config.entries(_text(f"{folder}/config")):
        if key == "core.worktree":
            return _resolved(folder, value) == root
    return False


def _resolved(folder: str, path: str) -> str:
    return os.path.realpath(os.path.join(folder, path.rstrip("\n")))


def _text(path: str) -> str:
    """The text of a regular file. Raises OSError and ValueError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("no regular file")
        return os.read(handle, _LONGEST).decode()
    finally:
        os.close(handle)


_KEPT = 16
_SEEN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Ruleset:
    """One ruleset of the kernel. Two are the same only when they are one object."""

    descriptor: int


@dataclass(frozen=True, slots=True)
class Rules:
    """The bounds of one run, and the ruleset made of them."""

    bounds: Bounds
    ruleset: Ruleset


class Rulesets:
    """Makes rulesets for a Landlock version, and closes the oldest when there are many."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._kept: dict[tuple[object, ...], Ruleset] = {}
        self._seen: tuple[float, Bounds, tuple[str, ...]] | None = None
        self._within: tuple[float, tuple[str, ...], tuple[str, ...]] | None = None

    def of(self, bounds: Bounds, look: SystemLook) -> Rules:
        """The rules of a run in these bounds, as the files are now. Raises ``ToolError``.

        ``look`` is of this moment: a run's secrets are looked at once, here and for its bounds.

        There are a hundred places of secrets: which of them exist is looked up once a second. A new secret
        beside others is noticed at once, because the listing of its folder has changed.
        """
        now = time.monotonic()
        fresh = self._seen is None or self._seen[0] < now or self._seen[1] != bounds
        if fresh:
            self._seen = (now + _SEEN_SECONDS, bounds, landlock.maskable(bounds, look))
        assert self._seen is not None
        bounds = replace(bounds, masked=self._seen[2])
        return Rules(bounds, self._ruleset(bounds, fresh=fresh))

    def _ruleset(self, bounds: Bounds, *, fresh: bool) -> Ruleset:
        paths = [landlock.identity(path) for path in bounds.writable]
        splits = landlock.splits(bounds.masked)
        listed = [landlock.identity(path, listing=True) for path in splits]
        opened = [landlock.identity(path) for path in bounds.opened]
        listed += [
            landlock.identity(split, listing=True)
            for folder in (bounds.writable if bounds.unwritable else ())
            for split in ways(folder, bounds.unwritable)
        ]
        key = (
            *paths,
            *listed,
            *bounds.masked,
            *opened,
            bounds.unwritable,
            bounds.watched,
            bounds.devices,
            bounds.tcp,
            *map(landlock.identity, bounds.readable or ()),
        )
        cached = self._kept.get(key)
        if cached is not None:
            return cached
        masked = bounds.masked if fresh else landlock.maskable(bounds, SystemLook())
        present = tuple(path for path, _, inode, _ in paths if inode)
        try:
            existing = replace(bounds, writable=present, masked=masked)
            ruleset = Ruleset(landlock.build(self._version, existing))
        except OSError as error:
            raise ToolError(f"The sandbox could not be set up: {error.strerror}.") from error
        while len(self._kept) >= _KEPT:
            os.close(self._kept.pop(next(iter(self._kept))).descriptor)
        self._kept[key] = ruleset
        return ruleset

    def keeps(self, ruleset: Ruleset) -> bool:
        """Whether a ruleset is still open."""
        return any(ruleset is ruleset_kept for ruleset_kept in self._kept.values())

    def secrets_within(
        self, secrets: tuple[str, ...], writable: tuple[str, ...], look: SystemLook
    ) -> tuple[str, ...]:
        """The secrets below writable folders; the list is renewed once a second."""
        now = time.monotonic()
        if self._within is None or self._within[0] < now or self._within[1] != writable:
            self._within = (
                now + _SEEN_SECONDS,
                writable,
                kept_within((*secrets, *look.devices), writable, look),
            )
        return self._within[2]

    def close(self) -> None:
        """Close the descriptors of all rulesets."""
        while self._kept:
            os.close(self._kept.popitem()[1].descriptor)
