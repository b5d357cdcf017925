"""Zip archives, HTML and XML from outside: bounded, without DTD, entities or the network."""

import zipfile
from io import BytesIO
from typing import Any, cast

import lxml.etree  # pyright: ignore[reportMissingTypeStubs]
import lxml.html  # pyright: ignore[reportMissingTypeStubs]

from sam_tui.core.errors import ToolError

_MOST_MEMBERS = 10_000
_MOST_UNPACKED = 300_000_000
_MOST_MEMBER = 150_000_000
_MOST_RATIO = 400
"""The largest ratio of unpacked to packed size that a member over a megabyte may have."""


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
            "The document declares XML entities, which documents do not need: not opened."
        )


_etree = cast("Any", lxml.etree)  # pyright: ignore[reportUnknownMemberType]
_html = cast("Any", lxml.html)

MarkupError: type[Exception] = _etree.LxmlError
"""The base class of lxml's errors; it also raises ``ValueError``."""


def html_tree(data: bytes, encoding: str) -> Any:
    """The tree of an HTML document in a known encoding, comments left out."""
    parser = _html.HTMLParser(encoding=encoding, remove_comments=True, no_network=True)
    return _html.document_fromstring(data, parser=parser)


def html_fragment(text: str) -> Any:
    """A fragment of HTML as one element."""
    return _html.fromstring(f"<div>{text}</div>")


def xml_tree(data: bytes) -> Any:
    """The tree of an XML document, or None; entities stay unresolved and no DTD is loaded."""
    parser = _etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    return _etree.fromstring(data, parser)
