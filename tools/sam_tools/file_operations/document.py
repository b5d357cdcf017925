"""A file as text, with its encoding, byte order mark and line ends, so that these survive an edit.

Whole files are read here, through the ``Files`` port.
"""

import codecs
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches

from sam_tools.file_operations.names import sized
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditableFiles, Snapshot
from sam_tui.core.text.plain import printable

_PROBE = 8192
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or Office document, jar, wheel)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "ELF program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\xca\xfe\xba\xbe", "Mach-O program or Java class"),
    (b"MZ", "Windows program"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\x00asm", "WebAssembly module"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"RIFF", "RIFF media (WAV, AVI, WebP)"),
)
_IMPORTED = (".pdf", ".docx", ".pptx", ".xlsx", ".epub")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Document:
    """Decoded text with its newlines, encoding and byte order mark."""

    text: str
    encoding: str
    mark: bytes

    @property
    def separator(self) -> str:
        """The character that ends lines: ``\\n``, or ``\\r`` in files of old Macs."""
        return "\r" if "\n" not in self.text and "\r" in self.text else "\n"

    @property
    def newline(self) -> str:
        """The usual line end: ``\\n``, ``\\r\\n`` or ``\\r``."""
        if self.separator == "\r":
            return "\r"
        pairs = self.text.count("\r\n")
        return "\r\n" if pairs and pairs * 2 >= self.text.count("\n") else "\n"

    @property
    def lines(self) -> int:
        """The number of lines; a newline at the end begins no further one."""
        return line_count(self.text, self.separator)

    @property
    def traits(self) -> str:
        """Unusual traits in words; empty for UTF-8 with LF."""
        names = {"\r\n": "CRLF", "\r": "CR", "\n": ""}
        encoding = "" if self.encoding == "utf-8" else self.encoding.upper()
        mark = "BOM" if self.mark and not encoding else ""
        return ", ".join(part for part in (encoding, mark, names[self.newline]) if part)

    def spelt(self) -> "Document":
        """The same document with its byte order mark as the first character of the text."""
        return Document("\ufeff" + self.text, self.encoding, b"") if self.mark else self

    def encode(self, text: str) -> bytes:
        """Encode another text the same way. Raises ``ToolError`` for characters that the encoding lacks."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise ToolError(
                f"The file is {self.encoding} and cannot hold {error.object[error.start]!a}.",
                hint="Use characters of that encoding, or create the file anew as UTF-8.",
            ) from error


def line_count(text: str, separator: str = "\n") -> int:
    """Return the number of lines of a text."""
    return text.count(separator) + bool(text and not text.endswith(separator))


def decoded(data: bytes, *, whole: bool = True) -> Document | None:
    """Bytes as text, or None when they are none. ``whole`` false allows a cut last character.

    UTF-8, UTF-16 and UTF-32 with byte order mark, else Latin-1 where nothing speaks against text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, mark, whole=whole)
    if b"\0" in data[:_PROBE] or kind_of(data):
        return None
    document = _strictly(data, "utf-8", b"", whole=whole)
    if document is not None:
        return document
    if len(_CONTROL.findall(data[:_PROBE])) * 50 > len(data[:_PROBE]):
        return None
    return Document(data.decode("latin-1"), "latin-1", b"")


def kind_of(data: bytes) -> str:
    """The name of a well-known binary format that the bytes begin as; empty for others."""
    return next((kind for magic, kind in _MAGIC if _begins(data, magic)), "")


def _begins(data: bytes, magic: bytes) -> bool:
    """Whether bytes begin with a magic number; a short one needs control characters, too."""
    return data.startswith(magic) and (len(magic) > 4 or bool(_CONTROL.search(data[:512])))


def _strictly(data: bytes, encoding: str, mark: bytes, *, whole: bool) -> Document | None:
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except UnicodeDecodeError:
        return None
    return Document(text, encoding, mark)


MOST_READ = 10_000_000
"""The most bytes of a file that are held in memory."""
_MOST_NAMES = 5_000
_WRAPPING = " \t\"'`@"


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a read: the text, and the file it was read from."""

    document: Document
    snapshot: Snapshot

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return max(self.snapshot.stamp.size, len(self.snapshot.data))

    @property
    def whole(self) -> bool:
        """Whether the text is the complete file."""
        return len(self.snapshot.data) <= MOST_READ


def text_of(files: EditableFiles, where: Location, name: str, *, whole: bool) -> Content:
    """A file decoded. Raises ``ToolError`` for a binary one, and with ``whole`` for a longer one.

    Without ``whole`` only the first 10 MB of a longer file are there.
    """
    return text_in(snapshot_of(files, where), name, whole=whole)


def snapshot_of(files: EditableFiles, where: Location) -> Snapshot:
    """The file's metadata and its first ``MOST_READ`` bytes and one more. Raises ``ToolError``."""
    try:
        return files.snapshot(where, limit=MOST_READ + 1)
    except ToolError as error:
        raise ToolError(str(error), hint=_alike(files, where) or error.hint) from error


def text_in(snapshot: Snapshot, name: str, *, whole: bool) -> Content:
    """The decoded text of a snapshot, as ``text_of`` returns it."""
    data, complete = snapshot.data, len(snapshot.data) <= MOST_READ
    if not complete:
        if whole:
            raise ToolError(
                f"{name} is {sized(snapshot.stamp.size)} long; files over {sized(MOST_READ)} are "
                "not edited.",
                hint="Change it with a command in the terminal.",
            )
        data = data[:MOST_READ]
    document = decoded(data, whole=complete)
    if document is None:
        kind = kind_of(data) or "unknown kind"
        size = max(snapshot.stamp.size, len(data))
        hint = "Look at it with a command in the terminal, such as `file` or `xxd`."
        if name.lower().endswith(_IMPORTED):
            hint = "document_operations.document_import reads its text."
        raise ToolError(f"{name} is a binary file ({kind}, {sized(size)}), not text.", hint=hint)
    return Content(document, snapshot)


def _alike(files: EditableFiles, where: Location) -> str:
    """Names in the same folder that a missing one may have been meant as; empty for none."""
    if where.root is None or where.real == where.root:
        return ""
    folder, _, name = where.real.rpartition("/")
    try:
        if files.stat(where) is not None:
            return ""
        beside = files.list(replace(where, real=folder))
    except ToolError:
        return ""
    names = [entry.name for entry in beside[:_MOST_NAMES] if entry.kind != "directory"]
    close = get_close_matches(name.strip(_WRAPPING), names, n=3)
    shown_names = [
        printable(replace(where, real=f"{folder}/{name}").display_path) for name in close
    ]
    return f"Did you mean {' or '.join(shown_names)}?" if shown_names else ""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The content that a write would replace. ``text`` is empty for binary or too large files."""

    text: str
    snapshot: Snapshot


def standing(files: EditableFiles, where: Location) -> Replaced | None:
    """The file that a write would replace, or None. Raises ``ToolError`` unless it is a regular one."""
    entry = files.stat(where)
    if entry is None:
        return None
    if entry.kind == "directory":
        raise ToolError(f"{printable(where.display_path)} is a folder.", hint="Name a file.")
    snapshot = files.snapshot(where, limit=MOST_READ + 1)
    document = decoded(snapshot.data) if len(snapshot.data) <= MOST_READ else None
    return Replaced(document.text if document else "", snapshot)
