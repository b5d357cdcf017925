"""Formats that are text already: plain, Markdown, CSV, JSON, RTF and feeds."""

import codecs
import csv
import json
import re
from io import BytesIO
from typing import Any, cast

from sam_tui.adapters.documents.limits import MOST_CHARACTERS, understood
from sam_tui.adapters.documents.readers.containers import MarkupError, html_fragment
from sam_tui.adapters.documents.readers.text import clean, decode
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DocumentText

_MOST_ENTRIES = 100
_MOST_SUMMARY = 2_000
_RTF = re.compile(
    r"\\(?P<word>[a-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<sign>[^a-z])"
    r"|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)"
)
_RTF_SILENT = frozenset(
    {
        "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "fldinst",
        "themedata", "listtable", "listoverridetable", "generator",
    }
)  # fmt: skip
"""Names of RTF groups that contain no text of the document."""
_RTF_WORDS = {"par": "\n", "line": "\n", "tab": "\t", "cell": "\t", "row": "\n", "page": "\n",
              "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’",
              "ldblquote": "“", "rdblquote": "”"}  # fmt: skip


def read_text(data: bytes, media_type: str, format_: str) -> DocumentText:
    """Return the text unchanged; a Markdown document's first heading is its title."""
    text, notes = _cut(clean(decode(data, media_type)))
    heading = re.search(r"^# +(.+)$", text, re.M) if format_ == "markdown" else None
    return DocumentText(text, format_, heading[1].strip() if heading else "", {}, notes)


def read_csv(data: bytes, media_type: str) -> DocumentText:
    """Return the table unchanged, with its size and delimiter."""
    text, notes = _cut(clean(decode(data, media_type)))
    with understood("table"):
        try:
            dialect = csv.Sniffer().sniff(text[:20_000], ",;\t|")
        except csv.Error:
            dialect = csv.excel
        rows = [row for row in csv.reader(text.splitlines(), dialect) if row]
    width = max(map(len, rows), default=0)
    properties = {
        "rows": str(len(rows)),
        "columns": str(width),
        "delimiter": repr(dialect.delimiter),
    }
    return DocumentText(text, "csv", "", properties, notes)


def read_json(data: bytes, media_type: str) -> DocumentText:
    """Return JSON, indented; text that is no JSON is unchanged."""
    text = decode(data, media_type)
    try:
        pretty = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        pretty = text
    pretty, notes = _cut(clean(pretty))
    return DocumentText(pretty, "json", "", {}, notes)


def read_rtf(data: bytes) -> DocumentText:
    """The words of a rich text file, without its looks."""
    with understood("rich text file"):
        code_page = _code_page(data)
        text, notes = _cut(clean(_rtf_text(data.decode("latin-1"), code_page or "cp1252")))
    if not code_page:
        notes = (*notes, "its code page is not known: read as Western (1252)")
    return DocumentText(text, "rtf", "", {}, notes)


def read_feed(data: bytes) -> DocumentText:
    """The entries of an RSS or Atom feed: title, date, address, summary."""
    with understood("feed"):
        import feedparser  # pyright: ignore[reportMissingTypeStubs]  # it has no types

        library = cast("Any", feedparser)
        # A stream, because feedparser takes text for an address or a file name first.
        feed: Any = library.parse(BytesIO(data))
        listed: list[Any] = list(feed.entries)
        title = _words(feed.feed.get("title", ""))
        about = _words(feed.feed.get("subtitle", ""))
        if not listed and not title:
            raise ToolError("The feed holds nothing that could be read.")
        body = clean("\n\n".join(_entry(entry) for entry in listed[:_MOST_ENTRIES]))
    notes = (f"only the first {_MOST_ENTRIES} of {len(listed)} entries are shown",)
    properties = {"entries": str(len(listed)), **({"description": about} if about else {})}
    return DocumentText(body, "feed", title, properties, notes * (len(listed) > _MOST_ENTRIES))


def _entry(entry: Any) -> str:
    contents: list[Any] = list(entry.get("content") or [])
    body: Any = entry.get("summary") or (contents[0].get("value", "") if contents else "")
    lines = [
        f"## {_words(entry.get('title', '')) or '(no title)'}",
        _words(entry.get("published") or entry.get("updated") or ""),
        _words(entry.get("link", "")),
        _words(body)[:_MOST_SUMMARY],
    ]
    return "\n".join(filter(None, lines))


def _words(markup: Any) -> str:
    """Text of a value that may hold markup, on one line."""
    text = clean(str(markup))
    if "<" in text:
        try:
            text = str(html_fragment(text).text_content())
        except (MarkupError, ValueError):
            text = re.sub(r"<[^<>]*>", " ", text)
    return " ".join(text.split())


def _code_page(data: bytes) -> str:
    """The codec of the code page that a rich text file names, or Windows 1252; empty if unknown."""
    named = re.search(rb"\\ansicpg0*(\d{1,5})", data[:4_096])
    codec = f"cp{named[1].decode()}" if named and named[1] != b"0" else "cp1252"
    try:
        return codec if "{".encode(codec) == b"{" else ""
    except LookupError:
        return ""


def _rtf_text(source: str, code_page: str) -> str:
    """The text of a file whose bytes are the characters of ``source``."""
    decoder = codecs.getincrementaldecoder(code_page)("replace")
    out: list[str] = []
    silent: list[bool] = [False]
    fallback = 1  # bytes behind each ``\u`` for programs without Unicode
    skip = 0  # how many of them are still to come
    for token in _RTF.finditer(source):
        word = token["word"]
        if token["brace"] == "{":
            silent.append(silent[-1])
        elif token["brace"] == "}":
            silent.pop()
            silent = silent or [False]
        elif word in _RTF_SILENT or token["sign"] == "*":
            silent[-1] = True
        elif silent[-1]:
            continue
        elif word == "uc" and token["number"]:
            fallback = int(token["number"])
        elif word == "u" and token["number"]:
            out.append(chr(int(token["number"]) % 65536))
            skip = fallback
        elif coded := token["text"] or (token["hex"] and chr(int(token["hex"], 16))):
            out.append(decoder.decode(coded[max(skip, 0) :].encode("latin-1")))
            skip -= len(coded)
        else:
            out.append(_rtf_characters(token))
    # Characters beyond the first plane came as two halves.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _rtf_characters(token: re.Match[str]) -> str:
    """The characters of a control word or a control symbol."""
    if token["word"]:
        return _RTF_WORDS.get(token["word"], "")
    sign = token["sign"] or ""
    return {"~": " ", "_": "-"}.get(sign, sign)


def _cut(text: str) -> tuple[str, tuple[str, ...]]:
    if len(text) <= MOST_CHARACTERS:
        return text, ()
    return text[:MOST_CHARACTERS], (f"cut after {MOST_CHARACTERS} characters",)
