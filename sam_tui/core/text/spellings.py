"""The spellings of a text in JSON, addresses, markup, shells, source, base64 and hex."""

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST_ENCODED = 8
_ESCAPED_NOWHERE = re.compile(r"[A-Za-z0-9_.-]*")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_JSON_SIGNS = (
    ("&<>", r"\u{:04x}"),
    ("&<>", r"\u{:04X}"),
    ("&'<=>", r"\u{:04x}"),
    ("&'+<>`", r"\u{:04X}"),
    ("/", r"\/"),
)
"""Signs that Go and Rails, PHP for pages, Gson, .NET and PHP escape in JSON, and how."""


def spellings(value: str) -> set[str]:
    """The value, and how it looks in JSON, addresses, markup, shells and source, base64 and hex.

    Of base64 only the characters that do not depend on the text before and after the value.
    """
    data = value.encode("utf-8", "surrogatepass")
    forms = {value, *_escaped(value), repr(data)[2:-1], data.hex(), data.hex().upper()}
    if len(value) >= _SHORTEST_ENCODED:
        forms.update(_encoded(data))
    return forms


def _escaped(value: str) -> Iterator[str]:
    if _ESCAPED_NOWHERE.fullmatch(value):
        return  # as most values
    once, readable = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (once, readable, json.dumps(once)[1:-1], json.dumps(readable)[1:-1])
    for signs, form in _JSON_SIGNS:
        escapes = {ord(sign): form.format(ord(sign)) for sign in signs}
        for text in (once.translate(escapes), readable.translate(escapes)):
            yield from (text, json.dumps(text)[1:-1])
    for address in _addresses(value):
        yield address
        yield _PERCENT.sub(lambda match: match[0].lower(), address)
    markup = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = markup.replace('"', "&quot;")
    yield from (markup, quoted, quoted.replace("'", "&#x27;"), quoted.replace("'", "&#39;"))
    yield quoted.replace("'", "&apos;")
    yield from (repr(value)[1:-1], ascii(value)[1:-1])
    yield from (value.replace("'", other) for other in ("'\"'\"'", "'\\''", "''"))
    yield value.replace('"', '\\"')
    yield from (re.sub(signs, r"\\\g<0>", value) for signs in (r'["$`\\]', r"[^\w@%+=:,./-]"))


def _addresses(value: str) -> tuple[str, ...]:
    try:
        return quote(value, safe=""), quote(value), quote_plus(value)
    except UnicodeEncodeError:  # half of a character
        return ()


def _encoded(data: bytes) -> Iterator[str]:
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + data).decode()
        inner = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))
