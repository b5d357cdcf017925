"""Decodes text, and removes characters that hide, reorder or control it."""

import codecs
import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_BREAKS = re.compile("\r\n?|[\x0b\x0c\u2028\u2029]")
_BLANK = re.compile(r"[ \t\u00a0]+(?=\n|\Z)")
_GAPS = re.compile(r"\n{4,}")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_UNSAFE = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"})


def clean(text: str) -> str:
    """Text without control, direction and invisible characters, with at most two empty lines."""
    text = _HIDDEN.sub("", _BREAKS.sub("\n", text))
    return _GAPS.sub("\n\n\n", _BLANK.sub("", text)).strip("\n")


def charset_of(media_type: str) -> str:
    """The charset of a content type; empty if it names none that Python can decode as text."""
    match = _CHARSET.search(media_type)
    if match is None:
        return ""
    try:
        codec = codecs.lookup(match[1])
    except LookupError:
        return ""
    usable = getattr(codec, "_is_text_encoding", True) and codec.name not in _UNSAFE
    return codec.name if usable else ""


def decode(data: bytes, media_type: str = "") -> str:
    """Bytes as text: by byte order mark, by content type, as UTF-8, else as Windows-1252."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    named = charset_of(media_type)
    if named:
        return data.decode(named, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
