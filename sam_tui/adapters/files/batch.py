"""Several changes as one: made in order, and undone in reverse if one of them fails.

A replaced or deleted file gets another name in its folder until all is done, so that undoing needs no
space and cannot lose a byte.
"""

import os
import secrets
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial

from sam_tui.adapters.files.descent import OpenedEntry, entry_of
from sam_tui.adapters.files.exclusive import link, rename_new, rename_over
from sam_tui.adapters.files.refusals import explained
from sam_tui.adapters.files.replacement import filled, replaceable
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Drop, EditStep, Move, Put, Snapshot, Stamp
from sam_tui.core.text.plain import printable

_Rename = Callable[[Location, Location], None]


class Batch:
    """The steps of one edit while they are made. ``rename`` moves a file or folder."""

    def __init__(self, rename: _Rename, *, alone: bool) -> None:
        self._rename = rename
        self._alone = alone
        """Whether there is only one step, so that no entry has to be set aside."""
        self._held = ExitStack()
        self._back: list[Callable[[], None]] = []
        self._aside: list[OpenedEntry] = []
        self._emptied: list[OpenedEntry] = []
        """Folders that a file replaces; they contain only entries that were set aside."""

    def run(self, steps: Sequence[EditStep]) -> None:
        """Do all steps or none. Raises ``ToolError``."""
        with self._held:
            try:
                for step in steps:
                    self._step(step)
            except BaseException as error:
                stuck = self._take_back()
                if stuck and isinstance(error, ToolError):
                    raise ToolError(
                        f"{error} Not everything could be put back: {'; '.join(stuck)}.",
                        hint=error.hint,
                    ) from error
                raise
            for entry in self._aside:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=entry.folder)
            for entry in self._emptied:
                with suppress(OSError):
                    for _, folders, _, above in os.fwalk(
                        entry.name, topdown=False, dir_fd=entry.folder
                    ):
                        for name in folders:
                            os.rmdir(name, dir_fd=above)
                    os.rmdir(entry.name, dir_fd=entry.folder)
            _prune(steps)

    def _step(self, step: EditStep) -> None:
        if not isinstance(step, Drop):
            above = _missing_above(step.target if isinstance(step, Move) else step.where)
            self._back += [partial(_remove_folder, folder) for folder in reversed(above)]
        match step:
            case Put():
                self._put(step)
            case Drop():
                self._drop(step)
            case Move(source=source, target=target):
                self._rename(source, target)
                self._back.append(lambda: self._rename(target, source))

    def _put(self, step: Put) -> None:
        with explained(step.where, "written"), _insist_absent(step.where):
            entry = self._held.enter_context(entry_of(step.where, make=True))
            if step.before is None:
                self._make_room(entry)
            if step.link:
                os.symlink(step.data, os.fsencode(entry.name), dir_fd=entry.folder)
                self._back.append(lambda: os.unlink(entry.name, dir_fd=entry.folder))
                return
            old = replaceable(entry, step.where, replace=step.before is not None)
            mode = _mode_after(step, old)
            usual = 0o777 if step.executable else 0o666
            with filled(entry, (step.data,), old, mode=mode, usual=usual) as temporary:
                if step.before is None:
                    rename_new(temporary, entry)
                    self._back.append(lambda: os.unlink(entry.name, dir_fd=entry.folder))
                    return
                insist_unchanged(entry, step.where, step.before)
                self._keep(entry)
                rename_over(temporary, entry)

    def _make_room(self, entry: OpenedEntry) -> None:
        """Rename a folder away from which earlier steps have removed all files."""
        try:
            if not stat.S_ISDIR(entry.stat().st_mode):
                return
        except FileNotFoundError:
            return
        files = [
            name
            for _, folders, names, above in os.fwalk(entry.name, dir_fd=entry.folder)
            for name in (*folders, *names)
            if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
        ]
        if files and {aside.name for aside in self._aside}.issuperset(files):
            away = _beside(entry)
            rename_over(entry, away)
            self._emptied.append(away)
            self._back.append(lambda: rename_over(away, entry))

    def _drop(self, step: Drop) -> None:
        with explained(step.where, "deleted"):
            entry = self._held.enter_context(entry_of(step.where))
            if stat.S_ISDIR(entry.stat().st_mode):
                raise ToolError(
                    f"{printable(step.where.display_path)} cannot be deleted: is a folder.",
                    hint="Delete the files in it one by one.",
                )
            if step.before is not None:
                insist_unchanged(entry, step.where, step.before)
            if self._alone:
                os.unlink(entry.name, dir_fd=entry.folder)
                return
            aside = _beside(entry)
            rename_over(entry, aside)
            self._aside.append(aside)
            self._back.append(lambda: self._restore(aside, entry))

    def _keep(self, entry: OpenedEntry) -> None:
        """Give a file that will be replaced a second name; with a hard link it always has the first."""
        if self._alone:
            return
        aside = _beside(entry)
        try:
            link(entry, aside)
        except OSError:  # a file system without hard links
            rename_over(entry, aside)
        self._aside.append(aside)
        self._back.append(lambda: self._restore(aside, entry))

    def _restore(self, aside: OpenedEntry, entry: OpenedEntry) -> None:
        rename_over(aside, entry)
        self._aside.remove(aside)

    def _take_back(self) -> list[str]:
        """Undo all steps, the last one first; return failures in words."""
        stuck: list[str] = []
        for back in reversed(self._back):
            try:
                back()
            except (OSError, ToolError) as error:
                stuck.append(str(error))
        return stuck


def _remove_folder(where: Location) -> None:
    """Remove a folder that this batch made, unless it is no longer empty."""
    with suppress(OSError, ToolError), entry_of(where) as entry:
        os.rmdir(entry.name, dir_fd=entry.folder)


def _prune(steps: Sequence[EditStep]) -> None:
    """Remove folders that have become empty, up to the allowed one, for steps that ask for it."""
    for step in steps:
        if isinstance(step, Put) or not step.prune:
            continue
        where = step.source if isinstance(step, Move) else step.where
        path = os.path.dirname(where.real)
        with suppress(OSError, ToolError):
            while path not in (where.root, "/"):
                with entry_of(replace(where, real=path)) as entry:
                    os.rmdir(entry.name, dir_fd=entry.folder)
                path = os.path.dirname(path)


def _missing_above(where: Location) -> list[Location]:
    """The folders that have to be made for it, the innermost first."""
    missing: list[Location] = []
    path = os.path.dirname(where.real)
    while path not in (where.root, "/") and not os.path.lexists(path):
        missing.append(replace(where, real=path))
        path = os.path.dirname(path)
    return missing


def stamp_of(status: os.stat_result) -> Stamp:
    """Inode, size and modification time, which tell a changed file."""
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def insist_unchanged(entry: OpenedEntry, where: Location, before: Snapshot) -> None:
    """Raise ``ToolError`` if the file changed since it was read."""
    try:
        same = stamp_of(entry.stat()) == before.stamp
    except FileNotFoundError:
        same = False
    if not same:
        raise ToolError(
            f"{printable(where.display_path)} was changed meanwhile by something else;"
            " nothing was written.",
            hint="Read it again and repeat the edit.",
        )


@contextmanager
def _insist_absent(where: Location) -> Generator[None, None, None]:
    """Turn the refusal to replace a file into the ``ToolError`` of an edit that was made from none."""
    try:
        yield
    except FileExistsError as error:
        raise ToolError(
            f"{printable(where.display_path)} already exists: something else created it meanwhile;"
            " nothing was written.",
            hint="Read it, then edit it or write it again.",
        ) from error


def _mode_after(step: Put, old: os.stat_result | None) -> int | None:
    """The mode bits to set; None for those of the old file, or the usual ones."""
    if step.mode is not None:
        return stat.S_IMODE(step.mode)
    if step.executable is None or old is None:
        return None
    bits = stat.S_IMODE(old.st_mode)
    # Every class of users that may read the file may execute it.
    return bits | (bits & 0o444) >> 2 if step.executable else bits & ~0o111


def _beside(entry: OpenedEntry) -> OpenedEntry:
    return OpenedEntry(entry.folder, f".{secrets.token_hex(12)}.tmp")
