"""Files that an editor has open: unsaved text there is read, and never overwritten.

Edits are written on disk, or, if the person chose that, by the editor itself, file by file: it gets the
judged path and the new text, and the file is checked afterwards without following links. An editor follows
links, so it gets no file while a command runs that could exchange one.
"""

import asyncio
import codecs
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from sam_tui.adapters.files.batch import stamp_of
from sam_tui.adapters.files.descent import entry_of
from sam_tui.adapters.files.local import LocalFiles
from sam_tui.adapters.files.replacement import replaceable
from sam_tui.core.accesses import Location
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Drop, EditStep, Move, Put, Snapshot
from sam_tui.core.ports.files import EditorBuffers
from sam_tui.core.text.plain import printable

_LARGEST = 10_000_000
"""The largest file, in bytes, that the editor is asked for."""


class BufferedFiles(LocalFiles):
    """Asks the editor for a file of the workspace when the agent reads it or plans an edit of it.

    It never asks for files with secret names. If the editor does not answer, the file on disk counts.
    """

    def __init__(self, buffers: EditorBuffers, commands_run: Callable[[], bool]) -> None:
        self._buffers = buffers
        self._commands_run = commands_run
        self._secrets = Secrets("")
        self._unsaved: set[str] = set()
        """Files whose buffer in the editor differed from the disk at the last check."""
        self._editing = asyncio.Lock()

    def snapshot(self, where: Location, *, limit: int) -> Snapshot:
        """The file on disk, with the editor's text if it has the file open."""
        snapshot = super().snapshot(where, limit=limit)
        if not (self._buffers.reachable and self._is_shared(where, snapshot)):
            return snapshot
        try:
            text = snapshot.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return snapshot
        buffer = self._buffers.read(where.real)
        if buffer is None or _same(buffer, text):
            self._unsaved.discard(where.real)
            return snapshot
        self._unsaved.add(where.real)
        data = _like(snapshot.data, buffer)
        return replace(snapshot, data=data[:limit], unsaved_size=len(data))

    def apply(self, steps: Sequence[EditStep]) -> None:
        """All changes, unless one is of a file with unsaved changes."""
        for step in steps:
            self._insist_saved(step.source if isinstance(step, Move) else step.where)
        super().apply(steps)

    async def edit(self, steps: Sequence[EditStep]) -> str:
        """All changes or none: the editor saves the texts that it can, the rest is written on disk."""
        if not self._buffers.writes:
            return await super().edit(steps)
        async with self._editing:
            return await self._edit(steps)

    async def _edit(self, steps: Sequence[EditStep]) -> str:
        sent: list[Put] = []
        left: list[EditStep] = []
        remarks: list[str] = []
        try:
            for step in steps:
                saved, remark = await self._pass_on(step, sent)
                left += [] if saved else [step]
                remarks += [f"\n({remark})"] if remark else []
            self.apply(left)
        except BaseException as error:
            stuck = [words for step in reversed(sent) if (words := self._take_back(step))]
            if stuck and isinstance(error, ToolError):
                raise ToolError(f"{error} {' '.join(stuck)}", hint=error.hint) from error
            raise
        return "".join(remarks)

    def write(self, where: Location, data: bytes, *, replace: bool) -> None:
        """Write as on the disk, but refuse a file with unsaved changes."""
        self._insist_saved(where)
        super().write(where, data, replace=replace)

    def delete(self, where: Location) -> None:
        """Delete as on the disk, but refuse a file with unsaved changes."""
        self._insist_saved(where)
        super().delete(where)

    def _is_shared(self, where: Location, snapshot: Snapshot) -> bool:
        if where.root is None or not snapshot.whole or snapshot.stamp.size > _LARGEST:
            return False
        return not self._secrets.named(where.real, inside=True)

    def _insist_saved(self, where: Location) -> None:
        if where.real in self._unsaved:
            raise ToolError(
                f"{printable(where.display_path)} has changes in the editor that are not saved.",
                hint="Have the person save or drop them, then read it and edit it again.",
            )

    # ---- the editor's part of an edit

    async def _pass_on(self, step: EditStep, sent: list[Put]) -> tuple[bool, str]:
        """Have the editor save a file, if it can be sent. Returns whether it did, and a remark.

        ``sent`` gets the step first. Raises ``ToolError`` if going on would lose the person's unsaved
        text.
        """
        text = _text_of(step)
        if not isinstance(step, Put) or text is None or not self._may_send(step):
            return False, ""
        if not await self._is_as_read(step) or not self._may_send(step):
            return False, ""
        sent.append(step)
        refusal = await self._buffers.write(step.where.real, text)
        try:
            now = self._on_disk(step.where)
        except ToolError as error:
            why = f"{error} The editor was sent the new text of it, and may have written elsewhere."
            raise ToolError(why, hint=error.hint) from error
        if not _untouched(step, now):
            self._unsaved.discard(step.where.real)
            saved = not refusal or (now is not None and now.data == step.data)
            return saved, _other_content(step, now, text) if saved else ""
        if step.where.real in self._unsaved:
            await self._insist_taken(step, text, refusal)
        return False, _not_saved(printable(step.where.display_path), refusal)

    def _may_send(self, step: Put) -> bool:
        """Whether the editor can write a file now.

        A command could exchange a folder for a link while it writes.
        """
        secret = self._secrets.named(step.where.real, inside=True)
        return not secret and not self._commands_run() and _as_planned(step)

    async def _is_as_read(self, step: Put) -> bool:
        """Whether the editor still has the text that the edit was made from; False where it does not say.

        Raises ``ToolError`` when it has another.
        """
        buffer = await self._buffers.fetch(step.where.real)
        before = b"" if step.before is None else step.before.data
        if buffer is not None and not _same(buffer, before.decode("utf-8", "replace")):
            raise ToolError(
                f"{printable(step.where.display_path)} was changed in the editor meanwhile;"
                " nothing was written.",
                hint="Read it again and repeat the edit.",
            )
        return buffer is not None or step.before is None

    async def _insist_taken(self, step: Put, text: str, refusal: str) -> None:
        """Raise ``ToolError`` unless the editor now has the new text of a file that was unsaved there."""
        buffer = await self._buffers.fetch(step.where.real)
        if buffer is None or not _same(buffer, text):
            name = printable(step.where.display_path)
            raise ToolError(
                f"The editor did not write {name}{refusal and f': {refusal}'}.",
                hint="It has unsaved changes: have the person save or drop them, then read it again.",
            )
        self._unsaved.discard(step.where.real)

    def _take_back(self, step: Put) -> str:
        """Restore a file that the editor may have saved; return in words what could not be restored."""
        words = f"{printable(step.where.display_path)} could not be put back."
        try:
            now = self._on_disk(step.where)
            if _untouched(step, now):
                return ""
            if now is None or now.data != step.data:
                return words
            back = Put(step.where, step.before.data, now) if step.before else Drop(step.where, now)
            super().apply([back])
        except ToolError as error:
            return f"{words} {error}"
        return ""

    def _on_disk(self, where: Location) -> Snapshot | None:
        """The file on disk, no link followed; None if there is none. Raises ``ToolError``."""
        if self.stat(where) is None:
            return None
        return super().snapshot(where, limit=_LARGEST + 1)


def _untouched(step: Put, now: Snapshot | None) -> bool:
    """Whether a file is in its state before an edit."""
    if step.before is None or now is None:
        return step.before is None and now is None
    return now.stamp == step.before.stamp


def _text_of(step: EditStep) -> str | None:
    """The new text of a file of the workspace; None for everything else."""
    if not isinstance(step, Put) or step.link or step.where.root is None:
        return None
    if (step.mode, step.executable) != (None, None) or len(step.data) > _LARGEST:
        return None
    if b"\0" in step.data or step.data.startswith(codecs.BOM_UTF8):
        return None
    with suppress(UnicodeDecodeError):
        return step.data.decode("utf-8")
    return None


def _as_planned(step: Put) -> bool:
    """Whether the file is unchanged since it was read, under no other name, with no link in its path."""
    with suppress(OSError, ToolError), entry_of(step.where) as entry:
        old = replaceable(entry, step.where, replace=step.before is not None)
        if old is None or step.before is None:
            return old is None and step.before is None
        return old.st_nlink == 1 and stamp_of(old) == step.before.stamp
    return False


def _not_saved(name: str, refusal: str) -> str:
    """A remark on a file that the editor did not save."""
    if refusal:
        return f"The editor did not write {name} ({refusal}): it was written on disk."
    return (
        f"The editor reported that it wrote {name}, but the file was unchanged, so it was written"
        " on disk. If a folder was exchanged for a link meanwhile, the editor wrote elsewhere."
    )


def _other_content(step: Put, now: Snapshot | None, text: str) -> str:
    """A remark on a file that the editor saved differently; none where only line ends differ."""
    if now is not None and _same(now.data.decode("utf-8", "replace"), text):
        return ""
    return (
        f"The editor saved {printable(step.where.display_path)} with other content than the edit has,"
        " for example formatted or with what the person typed meanwhile: read it before you go on."
    )


def _like(data: bytes, buffer: str) -> bytes:
    """A buffer as bytes, with the byte order mark and the line ends of the file."""
    text = buffer.removeprefix("\ufeff")
    if b"\r\n" in data and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode("utf-8", "replace")


def _same(buffer: str, text: str) -> bool:
    """Whether both say the same; editors have line ends and a byte order mark of their own."""
    return _plain(buffer) == _plain(text)


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
