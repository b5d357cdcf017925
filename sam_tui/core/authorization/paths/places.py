"""Places that later run or instruct: files that the person's own programs start or obey.

One list for file tools, commands, terminals, tasks, rehearsals and the supervisor of the sandbox. Where
a place has a grammar its content is judged. Build files (Makefile, package.json, conftest.py, build.rs)
are not places: the person who runs a build runs what was just written.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from sam_tui.core.authorization.paths import git_config
from sam_tui.core.authorization.paths.folding import folded
from sam_tui.core.authorization.paths.place_names import (
    BY_DIRENV,
    FILES,
    FOLDERS,
    GIT_CONFIG,
    GIT_HEAD,
    GIT_HOOK,
    GIT_POINTER,
    GIT_REMOTE,
    GIT_STRATEGY,
    GIT_TODO,
    IN_USER_SITE,
    INSTALLED,
    INTERPRETER,
    OF_ENVIRONMENTS,
    SUFFIXES,
    TOOLS,
    UNHEEDED,
    USER_SITE,
    VERSIONS,
    Grammar,
    Place,
)

_NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
_GIT_FREE = ("objects", "refs", "logs", "lfs", "rr-cache")
_PLAIN_IN_GIT = re.compile(r"(?:^|/)\.git(?:$|/(?!modules(?:/|$)))")
_STRATEGIES = {"rebase-merge": "strategy", "sequencer": "opts"}
"""Folders of an unfinished git operation, each with the file that names its merge strategy."""
_REPOSITORIES = frozenset(("hooks", "modules", "worktrees", *_STRATEGIES))
"""Folders of a git repository in which a link can lead git to a program that it runs."""
_CONFIGS = ("config", "config.worktree")
_REMOTES = ("remotes", "branches")
"""Folders of files that each define a remote: an old format that git still reads."""


def _beginnings(parts: Sequence[str]) -> Iterator[str]:
    """A path's first part, its first two, and so on to the whole."""
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


_LINKING = frozenset(
    beginning
    for path in (*FOLDERS, *(os.path.dirname(path) for path in FILES if path.startswith(".")))
    for beginning in _beginnings(path.split("/"))
    if beginning
) | {".git", "hooks"}

_HUSKY_HOOK = re.compile(
    rb'#!/usr/bin/env sh\n\. "\$(?:\(dirname "\$0"\)|\{0%/\*\})/h"\n?|', re.DOTALL
)
_HUSKY_FILES = frozenset((
    "548990e1c11285694096184993d907b258d41235461a7ca2551e3b53ff9d3a38",  # 9.0: h
    "70200b200ca709b0622784f93839a5b2872333a917a09afddefd7dc2d8cdc680",  # 9.1: h
    "21122903fca7209a13c991e5be68780636e28f1b8f0ae7ea07ed0065dfe37268",  # 9.1: husky.sh
    "c1641b48a19909e308e8f203af9e945932a7a28dedc22d87f1ac070337cfdadb",  # 8.0: husky.sh
))  # fmt: skip
"""SHA-256 digests of the files that husky's installer writes below ``.husky/_``."""
_EXECUTES = re.compile(rb"^\s*(?:exec|x)\s.*$", re.MULTILINE)


def place_of(real: str, root: str, *, disk: str = "") -> Place | None:
    """The place that a real path below a real folder is; None for ordinary work.

    Looks at the disk only for names that a repository under any name would have: at ``disk``, too,
    where that is where it lies before it is moved.
    """
    folder, _, name = folded(_below(real, root)).rpartition("/")
    matching = _named(folder, name)
    if matching is not None or name in UNHEEDED or _PLAIN_IN_GIT.search(folder):
        return matching
    if (configured := _configured_place(folder, name, root)) is not None:
        return configured
    if _on_search_path(folder, root):
        return TOOLS
    return _of_repository(real, name, folder) or (
        _of_repository(disk, name, folder) if disk else None
    )


def _configured_place(folder: str, name: str, root: str) -> Place | None:
    """The place of a file that the configuration of the workspace's repository names."""
    configured, path = git_config.configured_paths(root), f"{folder}/{name}".lstrip("/")
    if path in configured.included:
        return GIT_CONFIG
    hooks = configured.hooks
    is_hook = hooks and f"{folder}/".startswith(f"{hooks}/") and not name.endswith(".sample")
    return GIT_HOOK if is_hook or path in configured.programs else None


def _on_search_path(relative: str, root: str) -> bool:
    """Whether a path is or lies in ``bin`` of the home folder, which a usual ``.profile`` puts on PATH."""
    in_bin = f"{relative}/".startswith("bin/")
    return in_bin and root == os.path.realpath(os.path.expanduser("~"))


def _below(real: str, root: str) -> str:
    """A path relative to a folder; below a repository's own folder it begins with that folder's name."""
    return real[_start(root) :]


@lru_cache(64)
def _start(root: str) -> int:
    match = re.search(r"/\.git(?=/|$)", root)
    return match.start() + 1 if match else len(root.rstrip("/")) + 1


def _named(folder: str, name: str) -> Place | None:
    for path, folder_place, installed in _folders_in(folder):
        if path == ".git":
            return _in_git(f"{folder}/{name}".rpartition(".git/")[2])
        if not installed and name not in UNHEEDED:
            return folder_place
    if name == ".git":
        return GIT_POINTER
    if _installed(folder):
        return INTERPRETER if IN_USER_SITE.fullmatch(f"{folder}/{name}") else None
    return _by_file_name(folder, name)


def _by_file_name(folder: str, name: str) -> Place | None:
    """The place by a file's name, or by its name and its folder's."""
    last = folder.rpartition("/")[2]
    by_suffix = SUFFIXES.get(os.path.splitext(name)[1])
    if matching := FILES.get(name) or FILES.get(f"{last}/{name}") or by_suffix:
        return matching
    if name == "config.toml" and folder.endswith(".jj/repo"):
        return VERSIONS
    return TOOLS if OF_ENVIRONMENTS.fullmatch(name) else None


@lru_cache(4096)
def _folders_in(folder: str) -> tuple[tuple[str, Place, bool], ...]:
    """The folders of places that a folder is or lies in, git's first."""
    parts = folder.split("/")
    if ".git" in parts:
        return ((".git", GIT_CONFIG, False),)
    folders: list[tuple[str, Place, bool]] = []
    for at in range(len(parts)):
        path = next((p for p in _beginnings(parts[at : at + 3]) if p in FOLDERS), "")
        if path:
            folders.append((path, FOLDERS[path], _installed("/".join(parts[:at]))))
    return tuple(folders)


@lru_cache(4096)
def _installed(folder: str) -> bool:
    return not INSTALLED.isdisjoint(folder.split("/"))


def _in_git(below: str) -> Place | None:
    """Return the kind of a path below a repository's own folder; hooks of modules have a HEAD beside."""
    *folders, name = below.split("/")
    if folders and folders[0] in _GIT_FREE:
        return None
    if name in _CONFIGS:
        return GIT_CONFIG
    if name == "commondir":
        return GIT_POINTER
    if name == "git-rebase-todo":
        return GIT_TODO
    if folders and _STRATEGIES.get(folders[-1]) == name:
        return GIT_STRATEGY
    return _in_folder_of_git(folders, name) if folders else None


def _in_folder_of_git(folders: Sequence[str], name: str) -> Place | None:
    if folders[-1] in _REMOTES:
        return GIT_REMOTE
    return GIT_HOOK if folders[0] == "hooks" and not name.endswith(".sample") else None


def _of_repository(real: str, name: str, folder: str) -> Place | None:
    """Return it for a repository under another name, known by its HEAD, and for files of an `.envrc`."""
    above = os.path.dirname(real)
    if name in BY_DIRENV:
        return TOOLS if os.path.lexists(f"{above}/.envrc") else None
    if name == "git-rebase-todo":
        return GIT_TODO
    if _STRATEGIES.get(folder.rpartition("/")[2]) == name:
        return GIT_STRATEGY
    if name in (*_CONFIGS, "commondir") and os.path.lexists(f"{above}/HEAD"):
        return GIT_POINTER if name == "commondir" else GIT_CONFIG
    if name == "head":
        return None if os.path.isfile(real) else GIT_HEAD
    return _in_folder_of_repository(above, name, folder)


def _in_folder_of_repository(above: str, name: str, folder: str) -> Place | None:
    if folder.rpartition("/")[2] in _REMOTES and os.path.lexists(f"{os.path.dirname(above)}/HEAD"):
        return GIT_REMOTE
    if "hooks" in folder.split("/") and not name.endswith(".sample"):
        return _of_hooks(above)
    return None


def _of_hooks(folder: str) -> Place | None:
    """The place of a file at any depth below a folder ``hooks``, if that is in a git repository."""
    while folder and folded(os.path.basename(folder)) != "hooks":
        folder = os.path.dirname(folder)
    return GIT_HOOK if os.path.lexists(f"{os.path.dirname(folder)}/HEAD") else None


def leads_to_places(real: str, root: str, text: str = "/") -> bool:
    """Whether a link at this path would count as a place for a program, whatever its target.

    ``text`` is the target. One beside the link in a repository's own folder is judged by itself.
    """
    relative = folded(_below(real, root))
    parts = relative.split("/")
    if parts[-1] == "head" or place_of(real, root) is not None or _of_programs(relative, root):
        return True
    if ".git" in parts[:-1]:
        below = parts[parts.index(".git") + 1 :]
        beside = "/" not in text and text not in (".", "..") and below[-1] not in _REPOSITORIES
        return not beside and not _REPOSITORIES.isdisjoint(below)
    if parts[-1] in (*_CONFIGS, "commondir", "hooks", *_STRATEGIES):
        return os.path.lexists(f"{os.path.dirname(real)}/HEAD")
    linking = any("/".join(parts[-count:]) in _LINKING for count in (1, 2, 3))
    return linking and not _installed(relative)


def _of_programs(relative: str, root: str) -> bool:
    """Whether git, a shell or Python takes programs from a folder at this path."""
    in_site = USER_SITE.fullmatch(relative) is not None
    return in_site or _on_search_path(relative, root) or bool(_about_configured(relative, root))


def _about_configured(relative: str, root: str) -> str:
    """What the repository's configuration names, if a path leads to it or lies in it."""
    configured, path = git_config.configured_paths(root), f"{relative}/"
    files = configured.included | configured.programs
    named = [f"{target}/" for target in (configured.hooks, *files) if target]
    return next((to for to in named if path.startswith(to) or to.startswith(path)), "")


def higher(real: str, root: str) -> Iterator[str]:
    """The paths that the same file would have in each folder above; an entry for one of them holds for this
    path too."""
    base = root.rstrip("/")
    parts = real[len(base) + 1 :].split("/")
    special = [at for at, part in enumerate(parts) if folded(part) in _LINKING]
    start = special[0] if special else len(parts) - 1
    tail = "/".join(parts[start:])
    if folded(parts[start]) == "hooks":
        tail = f".git/{tail}"
        yield f"{base}/{tail}"
    for depth in range(start):
        yield "/".join((base, *parts[:depth], tail))


def surroundings(folder: str, root: str) -> str:
    """Return the parts of a folder's path that decide about the places below it."""
    parts = folded(_below(folder, root)).split("/")
    special = INSTALLED | _LINKING | _STRATEGIES.keys() | {"repo"}
    first = next((at for at, part in enumerate(parts) if part in special), None)
    if first is None:
        relative = "/".join(parts)
        return _about_configured(relative, root) or (
            "bin" if _on_search_path(relative, root) else ""
        )
    if parts[first] in INSTALLED and not any(part in _LINKING for part in parts[first:]):
        return "installed"
    return "/".join(parts[first:])


def founding(folder: str) -> tuple[str, ...]:
    """The files that count once a folder is a repository."""
    files = [f"{folder}/{name}" for name in (*_CONFIGS, "commondir")]
    try:
        files += [f"{folder}/hooks/{name}" for name in sorted(os.listdir(f"{folder}/hooks"))]
    except OSError:
        pass
    return tuple(path for path in files if os.path.lexists(path) and not path.endswith(".sample"))


def reason(
    kind: Place,
    real: str,
    before: bytes | None,
    after: bytes,
    *,
    roots: Sequence[str],
    leads: Mapping[str, Sequence[str]] = _NOTHING,
) -> str:
    """Return why the person is asked before a place gets new content; empty if it starts nothing.

    ``roots`` are the real folders of the workspace; ``leads`` is where a git configuration led before
    (``git_config.leads``), also if what said so was removed. What makes a repository of a folder is
    judged with the files that ``founding`` names, by who can read them.
    """
    if before == after or not (after or kind.removal):
        return ""  # an empty file starts nothing
    words = f"{real} {kind.what}"
    if kind.grammar == "git config":
        why = git_config.harm(before, after, real=real, inside=roots, earlier=leads)
        return f"{words}: {why}" if why else ""
    starts = not kind.grammar or _starts(kind.grammar, real, before or b"", after, roots)
    return words if starts else ""


def _starts(grammar: Grammar, real: str, before: bytes, after: bytes, roots: Sequence[str]) -> bool:
    match grammar:
        case "git pointer":
            return not _leads_home(real, after, roots)
        case "git todo":
            return bool(set(_EXECUTES.findall(after)) - set(_EXECUTES.findall(before)))
        case "git strategy":
            return git_config.merges_by_a_program(folded(os.path.basename(real)), after)
        case "husky":
            below = os.path.basename(os.path.dirname(real)) == "_"
            return not (below and _is_husky(after))
        case "hook":
            return re.fullmatch(rb"[0-9a-f]{40,64}\n", after) is None
        case _:  # a head: the files beside it are judged by themselves
            return False


def _is_husky(content: bytes) -> bool:
    if _HUSKY_HOOK.fullmatch(content):
        return True
    import hashlib  # imported late: few callers need it

    return hashlib.sha256(content).hexdigest() in _HUSKY_FILES


def _leads_home(real: str, content: bytes, roots: Sequence[str]) -> bool:
    """Whether it leads to a folder in a repository's own, in the workspace, where everything is judged."""
    text = os.fsdecode(content)
    if folded(os.path.basename(real)) == ".git":
        if not text.startswith("gitdir: "):
            return re.fullmatch(r"[0-9a-f]{40,64}\n|", text) is not None
        text = text.removeprefix("gitdir: ")
    target = os.path.realpath(os.path.join(os.path.dirname(real), text.rstrip("\n")))
    if real.startswith(f"{target}/"):
        return True  # a work tree's folder in its repository
    return any(
        target.startswith(f"{root.rstrip('/')}/")
        and re.search(r"/\.git/(?:worktrees|modules)/", target[len(root.rstrip("/")) :])
        for root in roots
    )
