"""Detects the format of a document: by its bytes first, because names and content types lie."""

import re
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import PurePosixPath

from sam_tui.core.errors import ToolError

_TYPES: Mapping[str, str] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/rss+xml": "feed",
    "application/atom+xml": "feed",
    "application/rdf+xml": "feed",
    "application/feed+json": "json",
    "application/json": "json",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "text/markdown": "markdown",
}
_NAMES: Mapping[str, str] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".rss": "feed",
    ".atom": "feed",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
}
_MAGIC = (
    (b"%PDF-", "pdf"),
    (b"{\\rtf", "rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
)
_BINARY = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (image, sound or video)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_PAGE = re.compile(rb"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_FEED = re.compile(rb"<(rss|feed|rdf:RDF)[\s>]", re.IGNORECASE)


def detect(data: bytes, name: str, media_type: str) -> str:
    """One of pdf, docx, pptx, xlsx, epub, rtf, html, feed, json, csv, markdown, txt.

    Raises ``ToolError`` naming type and size for anything else.
    """
    head = data[:1024]
    for magic, format_ in _MAGIC:
        if _bears(head, magic, format_):
            return _known(format_)
    if head.startswith(b"PK\x03\x04"):
        return _packed(data)
    for magic, what in _BINARY:
        if head.startswith(magic):
            raise _not_text(what, data)
    plain_type = media_type.partition(";")[0].strip().lower()
    if _looks_binary(data, plain_type):
        raise _not_text(_binary_words(plain_type), data)
    return _TYPES.get(plain_type) or _by_name(name, plain_type) or _by_look(head, plain_type)


def _bears(head: bytes, magic: bytes, format_: str) -> bool:
    """Whether a format's mark stands at the start; a PDF may have other bytes before it."""
    at = head.find(magic)
    return at == 0 or (at > 0 and format_ == "pdf" and not head.lstrip().startswith(b"<"))


def _binary_words(plain_type: str) -> str:
    if plain_type.startswith("text/"):
        return f"a binary file that calls itself {plain_type}"
    return plain_type or "a binary file"


def sized(count: int) -> str:
    """Bytes for people: ``12 bytes``, ``3.4 kB``, ``5.6 MB``."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _known(format_: str) -> str:
    if format_ == "ole":
        raise ToolError(
            "This is an Office file that is encrypted, or older than 2007 (.doc, .xls, .ppt).",
            hint="Save it without a password as docx, xlsx or pptx.",
        )
    return format_


def _packed(data: bytes) -> str:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = set(archive.namelist())
            kind = (
                archive.read("mimetype")[:40]
                if "mimetype" in names and len(names) < 50_000
                else b""
            )
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        raise ToolError(
            "The file is a broken archive (docx, xlsx, pptx and epub are archives).",
            hint="Check that it was saved or downloaded in full.",
        ) from None
    if kind.startswith(b"application/epub+zip") or "META-INF/container.xml" in names:
        return "epub"
    for member, format_ in (
        ("word/document.xml", "docx"),
        ("ppt/presentation.xml", "pptx"),
        ("xl/workbook.xml", "xlsx"),
    ):
        if member in names:
            return format_
    raise _not_text("a zip archive", data)


def _looks_binary(data: bytes, media_type: str) -> bool:
    if media_type.startswith(("image/", "audio/", "video/", "font/")) and "svg" not in media_type:
        return True
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return b"\0" in data[:8192]


def _by_name(name: str, media_type: str) -> str:
    specific = media_type not in (
        "",
        "text/plain",
        "application/octet-stream",
        "binary/octet-stream",
    )
    return "" if specific else _NAMES.get(PurePosixPath(name).suffix.lower(), "")


def _by_look(head: bytes, media_type: str) -> str:
    if media_type == "text/plain":
        return "txt"
    if _FEED.search(head):
        return "feed"
    if _PAGE.search(head):
        return "html"
    if "json" in media_type:
        return "json"
    return "txt"


def _not_text(what: str, data: bytes) -> ToolError:
    return ToolError(f"This is {what} of {sized(len(data))}, which contains no text.")
