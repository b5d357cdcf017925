"""Whether a change of a git configuration starts a program or leads elsewhere.

Read as git reads it (git-config(1), Syntax). A file that git would refuse in its first line starts nothing.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sam_tui.core.local_files.bounded import UnusableFile, read_bounded

_HASHES = re.compile(rb"\A(?:ref: |[0-9a-f]{40,64}(?:[ \n\t]|\Z))")
"""The content of a file that names a commit: a branch may be called ``config``."""
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_LARGEST = 256 * 1024

Entry = tuple[str, str]
"""A key, with its section and name in lower case, and the value."""

HARMLESS = r"""(?sx)
    core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks
      |autocrlf|eol|safecrlf|whitespace|sharedrepository|abbrev|compression|loosecompression|quotepath
      |preloadindex|untrackedcache|fscache|longpaths|protecthfs|protectntfs|sparsecheckout|trustctime
      |sparsecheckoutcone|commentchar|splitindex|multipackindex|commitgraph|bigfilethreshold|checkstat)
    | extensions\.(?:objectformat|compatobjectformat|worktreeconfig|noop|preciousobjects
      |refstorage|relativeworktrees)
    | (?:user|author|committer)\.\w+ | init\.defaultbranch | pull\.(?:rebase|ff) | push\.(?:default
      |autosetupremote|followtags) | fetch\.(?:prune|prunetags|parallel) | merge\.(?:ff|conflictstyle)
    | receive\.deny\w+ | rebase\.(?:autostash|autosquash|updaterefs)
    | rerere\.(?:enabled|autoupdate) | gc\.(?:auto|autodetach)
    | maintenance\.(?:auto|strategy) | status\.\w+ | color\.[\w.]+ | column\.\w+ | advice\.\w+
    | feature\.\w+ | index\.\w+ | diff\.(?:renames|algorithm|mnemonicprefix|noprefix|colormoved)
    | log\.(?:date|decorate|follow) | http\.postbuffer | lfs\.repositoryformatversion | lfs\..+\.access
    | branch\.(?:sort|autosetupmerge|autosetuprebase)
    | branch\..*\.(?:merge|rebase|description|vscode-merge-base|github-pr-owner-number|gh-merge-base)
    | remote\..*\.(?:fetch|push|tagopt|prune|prunetags|mirror|skipfetchall|skipdefaultupdate
      |partialclonefilter|gh-resolved)
    | submodule\.(?:recurse|active|fetchjobs) | submodule\..*\.(?:active|branch|ignore|shallow
      |fetchrecursesubmodules)
    """
"""Keys that run no program and lead to no file or host, with any value.

A pattern as text, as those below: ``re`` compiles it, and stores it, when a configuration has changed.
"""
HARMLESS_VALUES = (
    (r"core\.fsmonitor", r"true|false|"),
    (r"core\.hookspath", r"\.husky(?:/_)?/?|/dev/null"),
    (r"remote\..*\.promisor", r"false|"),
    (r"submodule\..*\.url", r"(?!.*::).*"),
    (r"submodule\..*\.update", r"checkout|rebase|merge|none"),
    (r"filter\.lfs\.clean", r"git-lfs clean -- %f"),
    (r"filter\.lfs\.smudge", r"git-lfs smudge -- %f"),
    (r"filter\.lfs\.process", r"git-lfs filter-process"),
    (r"filter\.lfs\.required", r"true|false"),
)
"""Keys that can do so, each with the values with which they do not. `.husky` is judged by itself."""
PROGRAMS = r"""(?sx)
    core\.(?:fsmonitor|editor|pager|sshcommand|askpass|gitproxy|alternaterefscommand) | pager\..*
    | diff\.external | diff\..*\.(?:command|textconv) | (?:diff|merge)tool\..*\.cmd | merge\..*\.driver
    | filter\..*\.(?:clean|smudge|process) | credential\.(?:.*\.)?helper | alias\..* | hook\..*\.command
    | gpg\.(?:.*\.)?program | sequence\.editor | interactive\.difffilter | trailer\..*\.(?:cmd|command)
    | remote\..*\.(?:uploadpack|receivepack)
    """
"""Keys whose values are commands that git runs."""
_INCLUDE = re.compile(r"include\.path|includeif\..*\.path", re.DOTALL)
_MOST_INCLUDED = 16
_FILE = re.compile(r"(?!-).*(?:/|\w\.\w)")
_STRATEGIES = ("ort", "recursive", "resolve", "octopus", "ours", "subtree")
_URL = re.compile(r"remote\..*\.url", re.DOTALL)
_BRANCH = re.compile(r"(branch\..*\.)(?:remote|pushremote)", re.DOTALL)
_REMOTE = re.compile(r"\.|[\w][\w./-]*")
_ADDRESS = re.compile(r"remote\..*\.(?:push)?url", re.DOTALL)
_LEADING = re.compile(f"{_URL.pattern}|{_BRANCH.pattern}", re.DOTALL)
_WORKTREE = "core.worktree"
_ESCAPES = {"\n": "", '"': '"', "\\": "\\", "n": "\n", "t": "\t", "b": "\b"}


def entries(text: str) -> list[Entry]:
    """Return all entries in their order. Raises ``ValueError`` for a text that git cannot read."""
    settings: list[Entry] = []
    section, at = "", 0
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "#;":
            at = (text.find("\n", at) + 1) or len(text)
        elif match := _SECTION.match(text, at):
            below = match[2]
            section = match[1].lower()
            if below is not None:
                section += "." + re.sub(r"\\(.)", r"\1", below)
            at = match.end()
        elif section and (match := _NAME.match(text, at)):
            value, at = _value(text, match.end())
            settings.append((f"{section}.{match[0].lower()}", value))
        else:
            raise ValueError("not a git configuration")
    return settings


def merges_by_a_program(name: str, content: bytes) -> bool:
    """Whether git's note of how it merges (``strategy``, or options of a cherry-pick) names a program."""
    text = content.decode(errors="replace")
    try:
        given = entries(text) if name == "opts" else [("options.strategy", text.strip())]
    except ValueError:
        return True
    return any(k == "options.strategy" and v not in _STRATEGIES for k, v in given)


def _value(text: str, at: int) -> tuple[str, int]:
    """The value after a name, and the offset of the next line; a name alone means true."""
    while at < len(text) and text[at] in " \t":
        at += 1
    if at == len(text) or text[at] in "\n#;":
        return "true", (text.find("\n", at) + 1) or len(text)
    if text[at] != "=":
        raise ValueError("not a git configuration")
    return _quoted_value(text, at + 1)


def _quoted_value(text: str, at: int) -> tuple[str, int]:
    """The same from behind the ``=``: quotes and escapes resolved, blanks around it taken off."""
    parts: list[str] = []
    quoted, solid = False, 0
    while at < len(text) and (quoted or text[at] not in "\n#;"):
        letter = text[at]
        if letter == "\\":
            at += 1
            escape = text[at : at + 1]
            if escape not in _ESCAPES:
                raise ValueError("not a git configuration")
            parts.append(_ESCAPES[escape])
            solid = len(parts)
        elif letter == '"':
            quoted = not quoted
        elif letter == "\n":
            raise ValueError("not a git configuration")
        elif quoted or not letter.isspace():
            parts.append(letter)
            solid = len(parts)
        elif parts:
            parts.append(letter)
        at += 1
    return "".join(parts[:solid]), (text.find("\n", at) + 1) or len(text)


FileIdentity = tuple[int, int, int] | None
"""The inode, size and time of change of a file; None for a file that is not there."""


@dataclass(frozen=True, slots=True)
class ConfiguredPaths:
    """What a repository's configuration names below its work tree: paths relative to it, in lower case.

    ``hooks`` is the folder of ``core.hooksPath``, empty for none; ``included`` are further configurations,
    ``programs`` the files in commands that git runs. ``read`` are the files that say so, as they were.
    """

    hooks: str = ""
    included: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    read: tuple[tuple[str, FileIdentity], ...] = ()


def configured_paths(root: str) -> ConfiguredPaths:
    """What the configuration names of the repository whose work tree is the real path ``root``."""
    config = _config_of(root)
    if (identity := _identity(config)) is None:
        return ConfiguredPaths()
    configured = _configured_paths(root, config, identity)
    if any(_identity(path) != before for path, before in configured.read):
        _configured_paths.cache_clear()
        configured = _configured_paths(root, config, identity)
    return configured


def _identity(path: str) -> FileIdentity:
    """What changes with a file; None where there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


def _config_of(root: str) -> str:
    """The configuration of the repository with this work tree; of a linked one that of its repository."""
    git = f"{root.rstrip('/')}/.git"
    if not os.path.isfile(git):
        return f"{git}/config"
    folder = os.path.join(root, _small(git).removeprefix("gitdir:").strip())
    return os.path.join(folder, _small(f"{folder}/commondir").strip(), "config")


def remotes(root: str) -> tuple[str, ...]:
    """The addresses of the remotes of the repository that the real path ``root`` belongs to.

    Like git, it reads no repository above that belongs to somebody else.
    """
    folder = root
    while not os.path.lexists(f"{folder}/.git") and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    config = _config_of(folder)
    try:
        if os.stat(config).st_uid not in (os.geteuid(), os.stat(root).st_uid):
            return ()
        return tuple(value for key, value in entries(_small(config)) if _ADDRESS.fullmatch(key))
    except (OSError, ValueError):
        return ()


@lru_cache(16)
def _configured_paths(root: str, config: str, identity: FileIdentity) -> ConfiguredPaths:
    files, hooks, programs = {config: identity}, "", set[str]()
    waiting = [config]
    for file in waiting:
        for key, value in _readable_entries(file):
            if key == "core.hookspath":
                hooks = value or hooks
            elif _INCLUDE.fullmatch(key) and len(waiting) < _MOST_INCLUDED:
                path = os.path.join(os.path.dirname(file), os.path.expanduser(value))
                files[path] = _identity(path)
                waiting.append(path)
            elif re.fullmatch(PROGRAMS, key):
                programs.update(_files_in(root, key, value))
    return ConfiguredPaths(
        _inside(root, hooks),
        frozenset(_inside(root, file) for file in waiting[1:]) - {""},
        frozenset(_inside(root, path) for path in programs) - {""},
        tuple(files.items()),
    )


def _readable_entries(path: str) -> list[Entry]:
    """The entries of a configuration; none of one that git cannot read."""
    try:
        return entries(_small(path))
    except ValueError:
        return []


def _files_in(root: str, key: str, command: str) -> list[str]:
    """The words of a command that may be files of the work tree; a program without a slash is none.

    A word that has the form of a file need not exist yet.
    """
    if key.startswith("alias.") and not command.startswith("!"):
        return []
    first, *others = [word.strip("\"'") for word in command.lstrip("!").split()] or [""]
    words = [first, *others] if "/" in first else others
    return [word for word in words if _FILE.match(word) or os.path.isfile(f"{root}/{word}")]


def _inside(root: str, path: str) -> str:
    """A path from ``root``, relative to it and in lower case; empty if it really lies elsewhere."""
    base = f"{root.rstrip('/')}/"
    real = os.path.realpath(os.path.join(base, os.path.expanduser(path)))
    return real.removeprefix(base).lower() if real.startswith(base) else ""


def _small(path: str) -> str:
    try:
        data = read_bounded(path, most=_LARGEST)
    except UnusableFile:
        return ""
    return data.decode("utf-8", "surrogateescape")


def leads(content: bytes) -> dict[str, tuple[str, ...]]:
    """Return the targets of a configuration's remotes, and which its branches use: values by key."""
    try:
        values = _values_by_key(content) if len(content) <= _LARGEST else {}
    except ValueError:
        return {}
    return {key: tuple(entries) for key, entries in values.items() if _LEADING.fullmatch(key)}


def harm(
    before: bytes | None,
    after: bytes,
    *,
    real: str,
    inside: Sequence[str],
    earlier: Mapping[str, Sequence[str]],
) -> str:
    """Return what a change of the file ``real`` starts or leads to, in words; empty if nothing.

    ``inside`` are the real folders that a work tree may lie in; ``earlier`` is where its remotes and
    branches led before (see ``leads``) and counts as if it stood there still.
    """
    if _HASHES.match(after):
        return ""
    if len(after) > _LARGEST:
        return "it is too large to be judged"
    try:
        new = _values_by_key(after)
    except ValueError:
        return "it cannot be read as a configuration"
    try:
        old = _values_by_key(before or b"")
    except ValueError:
        old = {}
    old = {key: list(values) for key, values in earlier.items()} | old
    different = [key for key, values in new.items() if values != old.get(key, [])]
    reasons = (_harm_of(key, old, new, real, inside) for key in different)
    return next(filter(None, reasons), "")


def _harm_of(
    key: str,
    old: Mapping[str, list[str]],
    new: Mapping[str, list[str]],
    real: str,
    inside: Sequence[str],
) -> str:
    """The harm of one changed key."""
    if branch := _BRANCH.fullmatch(key):
        return _uses_another(key, branch[1], old, new)
    return _starts(key, new[key], old.get(key, []), real, inside)


def _uses_another(
    key: str, branch: str, old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]
) -> str:
    """Return why a branch would be fetched from or pushed to a new address; empty if it would not.

    A branch that used none is free to use any; where it only is pushed to another it would be told apart
    from where it comes from.
    """
    if not all(_REMOTE.fullmatch(value) for value in new[key]):
        return f"{key} = {', '.join(new[key])[:200]} leads elsewhere"
    used = old.get(key) or old.get(f"{branch}remote") or new.get(f"{branch}remote") or new[key]
    before, now = used[-1], new[key][-1]
    if before in (now, ".") or _address(before, old, new) == _address(now, new, old):
        return ""
    return f"{key} leads elsewhere: {now} in place of {before}"


def _address(
    remote: str, first: Mapping[str, Sequence[str]], second: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """The URLs of a remote; its name if neither configuration has any."""
    key = f"remote.{remote}.url"
    return tuple(first.get(key) or second.get(key) or (remote,))


def _values_by_key(text: bytes) -> dict[str, list[str]]:
    """The values of each key in their order. Raises ``ValueError`` for an invalid configuration."""
    values: dict[str, list[str]] = {}
    for key, value in entries(text.decode("utf-8", "surrogateescape")):
        values.setdefault(key, []).append(value)
    return values


def _starts(
    key: str, values: list[str], before: list[str], real: str, inside: Sequence[str]
) -> str:
    """Return why these values of a key, in place of those before, may start a program or lead elsewhere."""
    if re.fullmatch(HARMLESS, key) or _has_harmless_values(key, values):
        return ""
    if _URL.fullmatch(key):
        return _leads_elsewhere(key, values, before)
    if key == _WORKTREE and all(_is_own_tree(value, real, inside) for value in values):
        return ""
    return f"{key} = {', '.join(values)[:200]} may start a program or lead elsewhere"


def _leads_elsewhere(key: str, values: list[str], before: list[str]) -> str:
    added = ", ".join(value for value in values if value not in before)[:200]
    if before:
        return f"{key} leads elsewhere: {added} in place of {', '.join(before)[:200]}"
    return f"{key} leads elsewhere: {added}" if "::" in added else ""


def _has_harmless_values(key: str, values: list[str]) -> bool:
    return any(
        re.fullmatch(keys, key, re.DOTALL)
        and all(re.fullmatch(harmless, value) for value in values)
        for keys, harmless in HARMLESS_VALUES
    )


def _is_own_tree(path: str, real: str, inside: Sequence[str]) -> bool:
    """Whether a work tree is where git puts it by itself: the folder of a repository or of a submodule.

    Any other one could be exchanged for a link, and git would write to the link's target.
    """
    folder = os.path.dirname(real)
    above, _, below = f"{folder}/".partition("/.git/")
    expected = os.path.join(above, *(name for name in below.split("/") if name != "modules"))
    tree = os.path.realpath(os.path.join(folder, path))
    within = any(tree == root or tree.startswith(f"{root.rstrip('/')}/") for root in inside)
    return within and tree == expected.rstrip("/")
