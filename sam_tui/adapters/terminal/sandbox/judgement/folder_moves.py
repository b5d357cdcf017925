"""Moving a folder: files in it that become places are judged, and written anew, so that nobody has them
open."""

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping

from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights
from sam_tui.adapters.terminal.sandbox.supervised.places import PlaceChange, change_of, digest_of
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch
from sam_tui.core.authorization.paths.places import leads_to_places, place_of, reason, surroundings

_MOST_ENTRIES = 20_000
_EXCHANGE = 2


def move_folder(
    watch: Watch, call: Notification, paths: tuple[str, str], flags: int, rights: Rights
) -> None:
    """Rename a folder. Raises OSError."""
    old, new = paths
    pairs = (paths, (new, old)) if flags & _EXCHANGE else (paths,)
    watch.later_run.remotes.note_moved(paths)
    becoming = [
        item for pair in pairs if not _alike(watch, *pair) for item in _becoming(watch, *pair)
    ]
    changes = [change for _, _, change in becoming if change is not None]
    if flags & _EXCHANGE and becoming:
        raise OSError(errno.EINVAL, "Invalid argument")

    def move() -> None:
        _move(old, new, flags, {path: digest for path, digest, _ in becoming})

    for pair in pairs:
        changes += _redirected(watch, *pair)
    changes += _gone(watch, old)
    if not changes:
        watch.do(call, rights, move)
        return
    whole = hashlib.sha256("".join(change.digest for change in changes).encode()).hexdigest()
    first = changes[0]
    if len(changes) > 1:
        why = f"{first.why} ({len(changes) - 1} more like it)"
        text = "\n".join(f"{change.why}\n{change.difference}" for change in changes)[:16_000]
        first = PlaceChange(why, text, sum(c.added for c in changes), 0, whole)
    watch.ask(call, OutsideWish("rename", old, new, content=whole), first, rights, move)


def _redirected(watch: Watch, old: str, new: str) -> Iterator[PlaceChange]:
    """The changes by git configurations that would replace others and have other remotes."""
    for path in watch.later_run.remotes.below(new):
        moved = old + path[len(new) :]
        kind = watch.later_run.at(path)
        if kind is None or not os.path.isfile(moved):
            continue
        if change := watch.later_run.judge(path, kind, _content(moved)):
            yield change


def _alike(watch: Watch, old: str, new: str) -> bool:
    """Whether the files below mean the same at both paths, so that none becomes a place."""
    before, after = watch.later_run.root_of(old), watch.later_run.root_of(new)
    if not after:
        return True  # nothing is judged where it goes
    return bool(before) and surroundings(old, before) == surroundings(new, after)


def _becoming(watch: Watch, old: str, new: str) -> Iterator[tuple[str, str, PlaceChange | None]]:
    """The paths of a moved folder that become places: where each is now, the digest of its content, and the
    change to ask about."""
    root, before = watch.later_run.root_of(new), watch.later_run.root_of(old)
    for count, (path, is_link) in enumerate(_entries(old)):
        moved = new + path[len(old) :]
        if count >= _MOST_ENTRIES:
            raise OSError(
                errno.EXDEV,
                "The folder is too large to check at once; if it is copied "
                "instead, each file is judged",
            )
        if is_link:
            if leads_to_places(moved, root) and not (before and leads_to_places(path, before)):
                text = _content(path)
                why = f"{moved} is where programs look for what they start"
                yield path, digest_of(text), change_of(why, None, text)
            continue
        kind = place_of(moved, root, disk=path)
        if kind is None or (before and place_of(path, before) == kind):
            continue
        content = _content(path)
        why = reason(kind, moved, None, content, roots=(root,))
        yield path, digest_of(content), change_of(why, None, content) if why else None


def _content(path: str) -> bytes:
    """The content of a file, or where a link leads."""
    return os.fsencode(os.readlink(path)) if os.path.islink(path) else file_calls.read_file(path)[0]


def _entries(folder: str) -> Iterator[tuple[str, bool]]:
    """Every file and link below a folder, and whether it is a link."""
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path, entry.is_symlink()


def _gone(watch: Watch, old: str) -> Iterator[PlaceChange]:
    """The question to ask before a folder may be moved away; none if it may."""
    root = watch.later_run.root_of(old)
    kind = place_of(f"{old}/x", root) if root else None
    if kind is not None and kind.removal:
        yield change_of(f"{old} {kind.what}, and would be removed", None, b"")


def _move(old: str, new: str, flags: int, judged: Mapping[str, str]) -> None:
    """Move a folder. One with judged files is first moved to a name that nobody else can open, where
    these files are written anew."""
    if not judged:
        file_calls.rename(old, new, flags)
        return
    aside = f"{os.path.dirname(new)}/{file_calls.RESERVED}{os.urandom(8).hex()}"
    file_calls.rename(old, aside, 0)
    try:
        for path, agreed in judged.items():
            moved_path = aside + path[len(old) :]
            content = _content(moved_path)
            if digest_of(content) != agreed:
                raise PermissionError(errno.EACCES, "It is another file by now")
            if not os.path.islink(moved_path):
                file_calls.put_file(moved_path, content, os.stat(moved_path).st_mode)
        file_calls.rename(aside, new, flags)
    except OSError:
        file_calls.rename(aside, old, 0)
        raise
