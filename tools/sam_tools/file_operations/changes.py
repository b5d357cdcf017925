"""The difference between two texts, and ``Commits``, which writes every edit so that it can be undone."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from sam_tools.file_operations.document import line_count
from sam_tui.core.display import Diff, Text
from sam_tui.core.errors import StorageError, ToolError
from sam_tui.core.ports.code import EditableFiles, EditJournal, EditStep
from sam_tui.core.tooling.contract import ToolContext


class Commits:
    """Writes edits, all or none, and records them in the journal; without one they cannot be undone."""

    def __init__(self, files: EditableFiles, journal: EditJournal | None) -> None:
        self._files = files
        self._journal = journal

    async def make(self, operation: str, steps: Sequence[EditStep], context: ToolContext) -> str:
        """Do all steps or none; returns remarks for the model, which may be empty.

        It runs on the loop's own thread, so that a cancelled call writes nothing later.
        """
        entry, remark = self._keep(operation, steps, context)
        try:
            return remark + await self._files.edit(steps)
        except (ToolError, asyncio.CancelledError):
            self._discard(entry)
            raise

    def _keep(
        self, operation: str, steps: Sequence[EditStep], context: ToolContext
    ) -> tuple[int | None, str]:
        if self._journal is None:
            return None, ""
        try:
            entry = self._journal.record(context.conversation, context.call, operation, steps)
        except StorageError as error:
            return None, f"\n(It cannot be undone: {error})"
        return entry, "" if entry is not None else "\n(It cannot be undone: too large, or no file)"

    def _discard(self, entry: int | None) -> None:
        if self._journal is None or entry is None:
            return
        try:
            self._journal.discard(entry)
        except StorageError:
            return  # the entry stays: an undo compares it with the files, which differ, and refuses


def noted(remark: str) -> tuple[Text, ...]:
    """Return remarks on an edit for people, in addition to the changes."""
    return (Text(remark.strip()),) if remark else ()


_CONTEXT = 3
_MOST_MIDDLE = 1_000_000
_MOST_MATCHED = 3_000
_MOST_SHOWN = 800
_LONGEST_LINE = 400

_Opcode = tuple[str, int, int, int, int]


def difference(path: str, old: str, new: str) -> Diff:
    """Return the changes from ``old`` to ``new``, line by line.

    Where more than 1 MB changed, a summary replaces the hunks. More than 3000 changed lines count as
    one replacement of the whole. The hunks end after 800 lines.
    """
    if old == new:
        return Diff(path, "", 0, 0)
    begin, end = _changed_span(old, new)
    before, after = old[begin : len(old) - end], new[begin : len(new) - end]
    if len(before) + len(after) > _MOST_MIDDLE:
        removed, added = line_count(before), line_count(after)
        return Diff(path, f"@@ {removed} lines removed, {added} lines added @@", added, removed)
    a, b = _lines(before), _lines(after)
    opcodes = _opcodes(a, b)
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in opcodes if tag != "equal")
    added = sum(j2 - j1 for tag, _, _, j1, j2 in opcodes if tag != "equal")
    shift = old.count("\n", 0, begin)
    printed: list[str] = []
    for line in _hunks(opcodes, a, b, shift):
        if len(printed) == _MOST_SHOWN:
            printed.append("@@ the rest is not shown @@")
            break
        printed.append(line)
    return Diff(path, "\n".join(printed), added, removed)


def lf(text: str) -> str:
    """The text with line ends as LF: edits do not change line ends, so a difference ignores them."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _changed_span(old: str, new: str) -> tuple[int, int]:
    """The lengths of the common beginning and end of two texts, in whole lines, less three lines of
    context each."""
    shortest = min(len(old), len(new))
    begin = _agreement(shortest, lambda n: old[:n] == new[:n])
    begin = old.rfind("\n", 0, begin) + 1
    for _ in range(_CONTEXT):
        begin = old.rfind("\n", 0, max(begin - 1, 0)) + 1
    room = shortest - begin
    end = _agreement(room, lambda n: n == 0 or old[-n:] == new[-n:])
    at = len(old) - end
    for _ in range(_CONTEXT + 1):
        line_end = old.find("\n", at)
        if line_end < 0:
            return begin, 0
        at = line_end + 1
    return begin, len(old) - at


def _agreement(most: int, agree: Callable[[int], bool]) -> int:
    """The largest length up to ``most`` for which ``agree`` is true, by binary search."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if agree(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    ended = [line + "\n" for line in lines]
    return [*ended, last] if last else ended


def _opcodes(a: Sequence[str], b: Sequence[str]) -> list[_Opcode]:
    if len(a) <= _MOST_MATCHED and len(b) <= _MOST_MATCHED:
        return list(SequenceMatcher(None, a, b).get_opcodes())
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    tail = 0
    while tail < most - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    at, bt = len(a) - tail, len(b) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, at, head, bt),
        ("equal", at, len(a), bt, len(b)),
    ]


def _hunks(
    opcodes: Sequence[_Opcode], a: Sequence[str], b: Sequence[str], shift: int
) -> Iterator[str]:
    for group in _grouped(opcodes):
        first, last = group[0], group[-1]
        spans = _span(first[1], last[2], shift), _span(first[3], last[4], shift)
        yield f"@@ -{spans[0]} +{spans[1]} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _marked(" ", a[i1:i2])
                continue
            yield from _marked("-", a[i1:i2])
            yield from _marked("+", b[j1:j2])


def _grouped(opcodes: Sequence[_Opcode]) -> Iterator[list[_Opcode]]:
    """Changes with three lines around them; those closer than six lines share a hunk."""
    group: list[_Opcode] = []
    for index, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        last = index == len(opcodes) - 1
        if group and (last or i2 - i1 > 2 * _CONTEXT):
            n = min(i2 - i1, _CONTEXT)
            yield [*group, (tag, i1, i1 + n, j1, j1 + n)]
            group = []
        elif group:
            group.append((tag, i1, i2, j1, j2))
        if not group and not last:
            n = min(i2 - i1, _CONTEXT)
            group = [(tag, i2 - n, i2, j2 - n, j2)]
    if any(op[0] != "equal" for op in group):
        yield group


def _span(begin: int, end: int, shift: int) -> str:
    length = end - begin
    start = begin + shift + (1 if length else 0)
    return str(start) if length == 1 else f"{start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        text = line.rstrip("\r\n")
        yield mark + (text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
