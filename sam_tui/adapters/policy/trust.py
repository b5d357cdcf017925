"""Folders that the person trusts: their real paths, and digests of the files that trust covers."""

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import MissingFile, UnusableFile, open_regular
from sam_tui.core.local_files.private_files import exclusive, replace_file
from sam_tui.core.ports.policy import Believed, Inspection, TrustState
from sam_tui.core.text.plain import printable
from sam_tui.folders import FURTHER_INSTRUCTIONS, INSTRUCTION_FILES

TRUST_FILE = "trust.json"
DEFINITIONS = (".claude/commands", ".claude/agents", ".claude/rules")
FOLDERS = (".sam", ".agents", *DEFINITIONS)
"""Folders that are trusted with all their files: policy, hooks, skills, prompts and definitions."""
FILES = (".mcp.json", *INSTRUCTION_FILES, FURTHER_INSTRUCTIONS)
"""Files that are trusted by themselves. Instruction files in folders below are trusted with them."""
MOST_NESTED, MOST_LOOKED_AT, DEEPEST = 100, 20_000, 8
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "vendor", "dist", "build", "target"})
MOST_FILES, MOST_BYTES = 2_000, 32_000_000
_SHOWN_FILES, _SHOWN_BYTES, _SHOWN_ODD = 200, 4_000, 5
_PIECE = 1 << 20
INSTRUCTIONS = "instructions for the model"
_MEANINGS = (
    (".sam/policy.toml", "rules of the guard"),
    (".sam/settings.toml", "settings for work in it"),
    (".sam/prompts/", "prompts"),
    (".sam/hooks", "programs that run at events"),
    (".sam/bundles.json", "bundles that are active in it once they are trusted"),
    (".sam/skills/", "a skill"),
    (".sam/workflows/", "a workflow"),
    (".sam/personas/", "a persona of workflows"),
    (".agents/skills/", "a skill"),
    *((f"{top}/commands/", "a command") for top in (".sam", ".claude")),
    *((f"{top}/agents/", "an agent") for top in (".sam", ".claude")),
    (".mcp.json", "servers whose programs are started"),
    (".sam/", "settings"),
    (".agents/", "settings"),
    ("", INSTRUCTIONS),
)
"""The purpose of a file, by the beginning of its path; the first match counts."""
_IN_MARKDOWN = frozenset(("a workflow", "a persona of workflows", "a command", "an agent"))


@dataclass(frozen=True, slots=True)
class FileTrust:
    """The ``TrustStore``: ``trust.json`` of the settings folder."""

    config_dir: str

    @property
    def path(self) -> str:
        """The path of the trust file."""
        return os.path.join(self.config_dir, TRUST_FILE)

    def require_sound(self) -> None:
        """Raise ``ConfigurationError`` where the trust file is damaged."""
        self._entries(strict=True)

    def state(self, folder: str) -> TrustState:
        """The trust in a folder. An unreadable trust file trusts nothing."""
        trusted = self._load().get(os.path.realpath(folder))
        if trusted is None:
            return "untrusted"
        return "trusted" if trusted == _digests(folder, _nested_of(trusted)) else "changed"

    def vouches(self, folder: str, name: str, data: bytes) -> bool:
        """Whether the file of this name in the folder had exactly this content when the folder was
        trusted."""
        trusted = self._load().get(os.path.realpath(folder), {}).get(name, "")
        return trusted[:2] in ("-:", "x:") and trusted[2:] == hashlib.sha256(data).hexdigest()

    def nested(self, folder: str) -> tuple[str, ...]:
        """The instruction files below that were trusted with the folder, by their names in it."""
        return _nested_of(self._load().get(os.path.realpath(folder), {}))

    def changes(self, folder: str) -> tuple[str, ...]:
        """Return what was added, removed or changed since the folder was trusted."""
        trusted = self._load().get(os.path.realpath(folder))
        if trusted is None:
            return ()
        now = _digests(folder, _nested_of(trusted))
        if now is None:
            return ("there is too much to look through",)
        names = sorted({*trusted, *now})
        words = {(True, False): "removed", (False, True): "new", (True, True): "changed"}
        return tuple(
            f"{words[name in trusted, name in now]}: {printable(name.removeprefix(_NOT_TEXT))}"
            for name in names
            if trusted.get(name) != now.get(name)
        )

    def believed(self, folder: str, *, deep: bool = False) -> tuple[Believed, ...]:
        """The files that trust would cover, each with its beginning; ``deep``: also in folders below."""
        believed: list[Believed] = []
        for name in _names(folder, _nested(folder) if deep else ()):
            if len(believed) == _SHOWN_FILES:
                break
            item = _believed(folder, name)
            if item is not None:
                believed.append(item)
        return tuple(believed)

    def inspect(self, folder: str) -> Inspection:
        """The files that trust would cover and their digests, from one read of each file."""
        real = os.path.realpath(folder)
        believed: list[Believed] = []

        def show(name: str, head: bytes) -> None:
            if len(believed) < _SHOWN_FILES and (item := _believed(real, name, head)) is not None:
                believed.append(item)

        digests = _digests(real, _nested(real), show)
        return Inspection(tuple(believed), digests)

    def trust(self, folder: str, shown: Inspection | None = None) -> None:
        """Trust a folder with its present files, or with those shown. Raises ``ConfigurationError``."""
        real = os.path.realpath(folder)
        if not os.path.isdir(real):
            raise ConfigurationError(f"{folder} is not a folder.", hint="Name an existing folder.")
        nested = tuple(_nested(real))
        odd = [words for name in _names(real, nested) if (words := _odd(real, name))]
        if odd:
            more = f", and {len(odd) - _SHOWN_ODD} more" if len(odd) > _SHOWN_ODD else ""
            raise ConfigurationError(
                f"{real} is not trusted: {'; '.join(odd[:_SHOWN_ODD])}{more}.",
                hint="Only regular files of a folder can be trusted: remove it, or replace it "
                "by a file.",
            )
        digests = _digests(real, nested) if shown is None else shown.digests
        if digests is None:
            raise ConfigurationError(
                f"{real} has too many or too large files to be trusted: below "
                f"{' and '.join(FOLDERS)}, and in {', '.join(FILES)} together.",
                hint=f"At most {MOST_FILES} files and {MOST_BYTES // 1_000_000} MB.",
            )
        with exclusive(self.path):
            entries = self._entries(strict=True)
            entries[real] = {"files": dict(digests), "trusted_at": int(time.time())}
            self._store(entries)

    def revoke(self, folder: str) -> bool:
        """End the trust in a folder, even a missing one; return whether there was any."""
        real = os.path.realpath(folder)
        if real not in self._load():
            return False
        with exclusive(self.path):
            entries = self._entries(strict=True)
            removed = entries.pop(real, None) is not None
            self._store(entries)
        return removed

    def folders(self) -> tuple[str, ...]:
        """The paths of all trusted folders, sorted."""
        return tuple(sorted(self._load()))

    def _load(self) -> dict[str, dict[str, str]]:
        entries: dict[str, dict[str, str]] = {}
        for folder, entry in self._entries(strict=False).items():
            files = cast("dict[str, Any]", entry).get("files") if isinstance(entry, dict) else None
            if isinstance(files, dict):
                entries[folder] = {str(k): str(v) for k, v in cast("dict[Any, Any]", files).items()}
        return entries

    def _entries(self, *, strict: bool) -> dict[str, Any]:
        """The stored folders. A damaged file trusts nothing; only writing complains about it."""
        try:
            with os.fdopen(open_regular(self.path), encoding="utf-8") as file:
                stored = json.load(file)
            folders = stored["folders"]
            if isinstance(folders, dict):
                return cast("dict[str, Any]", folders)
        except MissingFile:
            return {}
        except (UnusableFile, OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        if strict:
            raise ConfigurationError(
                f"{self.path} is damaged, so nothing is trusted.",
                hint="Move it away, then trust your folders again.",
            )
        return {}

    def _store(self, entries: dict[str, Any]) -> None:
        text = json.dumps({"version": 1, "folders": entries}, indent=2, sort_keys=True)
        replace_file(self.path, text + "\n")


def _believed(folder: str, name: str, head: bytes | None = None) -> Believed | None:
    """One existing file that trust is about, with the start of its content; a link is not followed."""
    path = os.path.join(folder, name)
    meaning = _meaning(name)
    name_shown = printable(name)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            target = printable(os.readlink(path))
            return Believed(name_shown, f"{meaning} (a link to {target})", status.st_size)
        if not stat.S_ISREG(status.st_mode):
            return Believed(name_shown, f"{meaning} (no file)", status.st_size)
        if head is None:
            with os.fdopen(open_regular(path, root=folder), "rb") as file:
                head = file.read(_SHOWN_BYTES)
    except (OSError, UnusableFile):
        return None
    text = "" if b"\0" in head else head.decode("utf-8", "replace")
    return Believed(name_shown, meaning, status.st_size, text)


def _meaning(name: str) -> str:
    meaning = next(words for begin, words in _MEANINGS if name.startswith(begin))
    if meaning in _IN_MARKDOWN and not name.endswith(".md"):
        return f"never read: {meaning} is a .md file"
    return meaning


def _digests(
    folder: str, nested: Iterable[str], show: Callable[[str, bytes], None] | None = None
) -> dict[str, str] | None:
    """Return the digest of each file that trust covers, by relative name; None if there is too much.

    ``show`` gets the name of each existing file, and its first bytes.
    """
    digests: dict[str, str] = {}
    size = 0
    folder = os.path.realpath(folder)
    for name in _names(folder, nested):
        digest, length, head = _digest(folder, name, most=MOST_BYTES - size)
        size += length
        if len(digests) >= MOST_FILES or size > MOST_BYTES:
            return None
        if digest:
            digests[_key(name)] = digest
            if show is not None:
                show(name, head)
    return digests


_NOT_TEXT = "\0"
"""The prefix of the key of a name that is no valid UTF-8, so that it equals no other key."""


def _key(name: str) -> str:
    """Return a name in its stored form."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return text if os.fsencode(text) == os.fsencode(name) else _NOT_TEXT + text


_BELOW = tuple(f"{folder}/" for folder in FOLDERS)


def _nested_of(names: Iterable[str]) -> tuple[str, ...]:
    """The trusted names in folders below."""
    return tuple(
        name for name in names if name not in FILES and not name.startswith((*_BELOW, _NOT_TEXT))
    )


def _nested(folder: str) -> Iterator[str]:
    """Yield instruction files below the folder, as far as they are searched; no folder is listed whole."""
    waiting, looked, count = [("", 0)], 0, 0
    while waiting and looked < MOST_LOOKED_AT:
        below, depth = waiting.pop()
        folders: list[str] = []
        names: set[str] = set()
        with suppress(OSError), os.scandir(os.path.join(folder, below)) as entries:
            for entry in islice(entries, MOST_LOOKED_AT - looked):
                looked += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.name in INSTRUCTION_FILES:
                    names.add(entry.name)
        for name in INSTRUCTION_FILES if depth else ():
            if name in names and count < MOST_NESTED:
                count += 1
                yield os.path.join(below, name)
        if depth < DEEPEST:
            deeper = sorted(filter(_is_looked_into, folders), reverse=True)
            waiting += [(os.path.join(below, name), depth + 1) for name in deeper]


def _is_looked_into(name: str) -> bool:
    return name not in _SKIPPED and not name.startswith(".")


def _names(folder: str, nested: Iterable[str]) -> Iterator[str]:
    yield from FILES
    yield from nested
    for top in FOLDERS:
        path = os.path.join(folder, top)
        if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):
            yield top
            continue
        for parent, folders, files in os.walk(path):
            folders.sort()
            linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
            for name in sorted((*files, *linked)):
                yield os.path.relpath(os.path.join(parent, name), folder)


def _odd(folder: str, name: str) -> str:
    """Return why a name cannot be trusted, in words; empty for a file of the folder, and for a missing one.

    A link within the folder is allowed: it is not followed where files are read.
    """
    path = os.path.join(folder, name)
    try:
        if not os.path.islink(path):
            os.close(open_regular(path, root=folder))
        elif not _is_inside(path, folder):
            return f"{printable(name)} is a link out of it"
        elif not os.path.isdir(path):
            os.close(open_regular(path))
        elif name in FILES:
            return f"{printable(name)} is a link to a folder"
    except MissingFile:
        return f"{printable(name)} is a link to nothing" if os.path.islink(path) else ""
    except UnusableFile as why:
        return f"{printable(name)} {why}"
    return ""


def _is_inside(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder).rstrip("/") + "/")


def _digest(folder: str, name: str, *, most: int) -> tuple[str, int, bytes]:
    """Return a digest of a file's kind, mode and content, or of a link's target; its length, its first
    bytes.

    It reads at most ``most`` bytes and a piece, and nothing outside of the folder.
    """
    path = os.path.join(folder, name)
    try:
        about = os.lstat(path)
        target = os.readlink(path) if stat.S_ISLNK(about.st_mode) else ""
    except OSError:
        return "", 0, b""
    if target:
        inside = _is_inside(path, folder)
        inner, length, _ = _content(os.path.realpath(path), folder, most) if inside else _NOTHING
        return f"link:{hashlib.sha256(os.fsencode(target)).hexdigest()}:{inner}", length, b""
    if not stat.S_ISREG(about.st_mode):
        return f"kind:{stat.S_IFMT(about.st_mode)}", 0, b""
    inner, length, head = _content(path, folder, most)
    return f"{'x' if about.st_mode & 0o111 else '-'}:{inner}", length, head


_NOTHING = ("", 0, b"")


def _content(path: str, folder: str, most: int) -> tuple[str, int, bytes]:
    digest, length, head = hashlib.sha256(), 0, b""
    try:
        with os.fdopen(open_regular(path, root=folder), "rb") as file:
            while length <= most and (piece := file.read(_PIECE)):
                head = head or piece[:_SHOWN_BYTES]
                digest.update(piece)
                length += len(piece)
    except (OSError, UnusableFile):
        return "unreadable", 0, b""
    return digest.hexdigest(), length, head
