"""New lines of a hunk that was written with another indentation than the file has."""

from collections.abc import Sequence
from dataclasses import replace

from sam_tools.file_operations.patch.pieces import Line


def reindented(current: Sequence[str], lines: Sequence[Line]) -> tuple[Line, ...] | None:
    """The hunk's lines, new ones indented as the file does; the same ones where nothing differs.

    ``current`` are the file's lines in the place of the old ones. None where it cannot be told how
    deep a new line belongs.
    """
    old = [line for line in lines if line.mark != "+"]
    rows = [
        (_indent(line.text), _indent(row), line.mark == "-")
        for line, row in zip(old, current, strict=True)
        if line.text.strip()
    ]
    pairs = {(patch, file) for patch, file, _ in rows}
    new = {_indent(line.text) for line in lines if line.mark == "+" and line.text.strip()}
    # One line that is right says that new ones are as well: only context was written carelessly.
    if not new or not any(a != b for a, b in pairs) or any(a == b != "" for a, b in pairs):
        return tuple(lines)
    replaced = [(patch, file) for patch, file, old_indent in rows if old_indent] or list(pairs)
    least = min(replaced, key=lambda pair: len(pair[0]))
    if min(new, key=len) == least[1] != least[0]:
        return tuple(lines)  # what is new is right already
    patch_base, file_base = min(pairs, key=lambda pair: len(pair[0]))
    meant = dict(pairs) if len({patch for patch, _ in pairs}) == len(pairs) else {}
    if all(file == file_base + patch[len(patch_base) :] for patch, file in pairs):
        meant |= {i: file_base + i[len(patch_base) :] for i in new if i.startswith(patch_base)}
    if not new <= meant.keys():
        return None
    return tuple(
        replace(line, text=meant[_indent(line.text)] + line.text.lstrip(" \t"))
        if line.mark == "+" and line.text.strip()
        else line
        for line in lines
    )


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]
