"""Zip archives from outside: bounded before anything is unpacked, and no XML with a DTD."""

import zipfile
from io import BytesIO

from sam_tui.core.errors import ToolError

_MOST_MEMBERS = 10_000
_MOST_UNPACKED = 300_000_000
_MOST_MEMBER = 150_000_000
_MOST_RATIO = 400
"""Times its size that a member may unpack to, once it is larger than a megabyte."""


def inspect(data: bytes, *, office: bool) -> None:
    """Refuse a bomb, an encrypted archive and, with ``office``, XML that declares entities.

    Declared sizes are checked first and read sizes again: a lying header gains nothing, because
    ``zipfile`` stops at the declared size.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise ToolError(
                f"The archive holds {len(members)} files; at most {_MOST_MEMBERS} are read."
            )
        if any(member.flag_bits & 1 for member in members):
            raise ToolError("The document is encrypted.", hint="Save it without a password.")
        if sum(member.file_size for member in members) > _MOST_UNPACKED or any(map(_bomb, members)):
            raise ToolError("The document unpacks to far more than it says: not opened.")
        if office:
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                    _refuse_dtd(archive, member)


def _bomb(member: zipfile.ZipInfo) -> bool:
    if member.file_size > _MOST_MEMBER:
        return True
    large = member.file_size > 1_000_000
    return large and member.file_size > _MOST_RATIO * max(member.compress_size, 1)


def _refuse_dtd(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Office Open XML has no use for a DTD (ECMA-376 part 2, 8.1.4 forbids it)."""
    with archive.open(member) as source:
        head = source.read(4096)
    # In UTF-16 every second byte of the markup is zero.
    if b"<!DOCTYPE" in head.replace(b"\0", b"").upper():
        raise ToolError(
            "The document declares XML entities, which documents have no use for: not opened."
        )
