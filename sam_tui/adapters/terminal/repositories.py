"""Repositories of linked work trees and submodules: the folder beside a workspace that git keeps for it."""

import os
import stat
from collections.abc import Iterable

from sam_tui.core.authorization import git_config

_LONGEST = 64 * 1024
_POINTER = "gitdir: "


def linked_repositories(roots: Iterable[str]) -> tuple[str, ...]:
    """Real folders in which git keeps what belongs to these real folders, where that is elsewhere.

    What a workspace says of itself may be somebody else's text, so the repository, which lies outside of
    it, must say that it is its own: git notes that for a work tree, and for a submodule.
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
    """What a regular file says. Raises OSError and ValueError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("no regular file")
        return os.read(handle, _LONGEST).decode()
    finally:
        os.close(handle)
