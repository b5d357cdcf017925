"""Binary parts of git's patches: base85 lines of a deflated content, or of a delta to the old one."""

import zlib
from base64 import b85decode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1

from sam_tui.core.errors import ToolError

_MOST = 10_000_000
"""The most bytes of one content, as for files that are edited."""
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Binary:
    """A file's new content, or its ``delta`` to the old one, with git's object names of both."""

    data: bytes
    delta: bool
    old: str
    new: str

    def applied(self, content: bytes, name: str) -> bytes:
        """The new content. Raises ``ToolError`` where the old or the new one has another object name."""
        if _object(content) != self.old:
            raise ToolError(
                f"{name} is not the file that the binary patch was made from.",
                hint="Make the patch anew, or replace the file as a whole.",
            )
        try:
            content_new = _followed(self.data, content) if self.delta else self.data
        except (IndexError, ValueError):
            content_new = None
        if content_new is None or _object(content_new) != self.new:
            raise ToolError(f"{name}: the binary patch is damaged.", hint="Make it anew.")
        return content_new


def _object(data: bytes) -> str:
    """git's object name of a blob; empty for no bytes, as for a missing file."""
    if not data:
        return ""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_binary(lines: Sequence[str], at: int, index: str) -> tuple[Binary | None, int]:
    """The part whose line ``GIT binary patch`` is above line ``at``, and the number of the line after it.

    ``index`` is the content of git's ``index`` line. None if the part is incomplete."""
    old, _, new = index.split(" ")[0].partition("..")
    block = lines[at].split(" ") if at < len(lines) else []
    if len(old) != 40 or len(new) != 40 or len(block) != 2 or block[0] not in ("literal", "delta"):
        return None, at
    packed = b""
    at += 1
    try:
        size = int(block[1])
        while at < len(lines) and lines[at]:
            packed += b85decode(lines[at][1:])[: _LENGTHS.index(lines[at][0]) + 1]
            at += 1
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(packed, min(size, _MOST) + 1)
    except (ValueError, zlib.error):
        return None, at
    if len(data) != size or not unpacking.eof:
        return None, at
    names = ["" if name in (_EMPTY, "0" * 40) else name for name in (old, new)]
    return Binary(data, block[0] == "delta", *names), at


_EMPTY = sha1(b"blob 0\0", usedforsecurity=False).hexdigest()


def _followed(delta: bytes, content: bytes) -> bytes:
    """The content that a delta of git's packs makes: two sizes, then pieces to copy and to insert.

    Raises ``IndexError`` or ``ValueError`` for an invalid delta.
    """
    old, at = _size(delta, 0)
    new, at = _size(delta, at)
    output = bytearray()
    if old != len(content) or new > _MOST:
        raise ValueError
    while at < len(delta):
        code = delta[at]
        at += 1
        if not code & 0x80:
            output += delta[at : at + code]
            at += code
            continue
        numbers = [0] * 7
        for bit in range(7):
            if code & 1 << bit:
                numbers[bit] = delta[at]
                at += 1
        start = int.from_bytes(numbers[:4], "little")
        output += content[start : start + (int.from_bytes(numbers[4:], "little") or 0x10000)]
        if len(output) > new:
            raise ValueError
    return bytes(output)


def _size(delta: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        code = delta[at]
        at += 1
        size |= (code & 0x7F) << shift
        shift += 7
        if not code & 0x80:
            return size, at
