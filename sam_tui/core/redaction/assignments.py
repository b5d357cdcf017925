"""Values that are assigned to a name which tells that they are secret."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from sam_tui.core.redaction.forms import (
    TAIL,
    drawn,
    entropy,
    hinted,
    is_generated,
    is_interspersed,
    is_punctuated,
    is_random,
)

_KEYWORDS = ("passw", "_pass", "passphrase", "secret", "token", "credential", "_pwd", "key")
_TELLING = re.compile(
    r"passw|_pass(?![a-z])|passphrase|secret|token|credential|_pwd|(?:api|access|private|encryption|signing|auth|account"
    r"|master|client|license|service|storage|deploy|webhook)[_.-]?key",
    re.IGNORECASE,
)
_OPERATOR = (
    r"""\\{0,3}["']?(?:\s?:\s?[A-Za-z_&][\w.\[\] |&']{0,40}?\s?(?==)|\s{0,3})"""
    r"""(?:=>|:=|\?=|=|:|(?P<escaped>%3[AaDd]))"""
)
"""An assignment after a name, which may have a type."""
_LINE_END = r"(?:[|>][+-]?|\\)?[ \t]{0,8}\r?\n[ \t]{0,80}"
"""Between a name and its value on the next line: of YAML, of a formatter, or continued by a shell."""
_ASSIGNED = re.compile(
    rf"""(?P<name>[A-Za-z0-9_.-]{{1,80}}){_OPERATOR}(?:[ \t]{{0,3}}(?P<below>{_LINE_END})|\s{{0,3}})"""
    r"""(?:[bBfFrRuU]{1,2}(?=["']))?(?:(?P<list>[\[(]|(?=-[ \t]))|(?:(?:""(?=")|''(?='))\\{0,3})?"""
    r"""(?P<quote>\\{0,3}["'`])(?:\\?\r?\n)?(?P<quoted>"""
    # A backslash is read in one way only, so that a long row of them takes no longer than other text.
    r"""(?:(?!(?P=quote))(?:[^\s\\]|\\[\\"'/]|\\(?![\\"'/])|\\(?=(?P=quote)))){8,256})(?:\\?\r?\n)?(?P=quote)"""
    r"""|(?P<bare>[^\s"'`<>,;&]{1,256}))"""
)
_UNENDED = re.compile(
    rf"""[A-Za-z0-9_.-]{{1,80}}{_OPERATOR}[ \t]{{0,3}}(?:[bBfFrRuU]{{1,2}}(?=["']))?\\{{0,3}}["'`]{{0,3}}"""
    r"""[^\s"'`<>]{1,256}"""
)
_LONG_LINE = 60
"""From how many characters on a line may be one that its program or a terminal broke."""
_UNCLOSED = r"\\\r?\n|^[^\"]*\"[^\"]*$|^[^']*'[^']*$"
"""At the end of a line that goes on on the next: a backslash, or a single quote of its kind."""
_BRACKET = re.compile(r"[()\[\]{}|]")
"""In a value without quotes: code ends it, but a password may have it."""
_WHOLE = re.compile(r"[^\s\"'`<>][^\s`<>]{7,255}")
"""A value without quotes up to the end of its line."""
_CALL = re.compile(r"[\w.]{0,80}[A-Za-z]{3}[\w.]{0,80}[(\[]")
_ITEM = re.compile(
    r"""(?:[\s,]{0,80}(?:[bBfFrRuU]{1,2})?(?P<quote>\\{0,3}["'`])(?P<quoted>[^\s"'`\\]{1,256})(?P=quote)"""
    r"""|\s{0,80}-[ \t]{1,8}(?P<bare>[^\s"'`<>,;&]{1,256})(?<!:)(?=\s|$))"""
)
"""A value of a list: in quotes, or behind a dash as in YAML."""
_MARGIN = " \t+-|:0123456789"
"""Before a line: its indentation, a dash, a number, a sign of a difference."""
_MOST_ITEMS, _OF_NAMES = 100, frozenset("/._-")
_NAMED_VALUE = (
    r"""(?i:name|key)\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?(?P<name>[A-Za-z0-9_.-]{1,80})\\{0,3}["']?"""
    r"""[\s,;]{1,40}\\{0,3}["']?(?i:value)\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?"""
    r"""(?P<value>[^\s"'`<>,;()\[\]{}|&\\]{8,256})"""
)
"""A name and its value as two neighbouring entries."""
_NAME_ENDS = re.compile(
    r"(?:name|ref|id|ids|path|file|url|uri|type|arn|version|count|length|size|limit|tokens|hash|digest|pub"
    r"|public|public_key|expiry|expires|ttl|policy|field|label|header|prefix|suffix|class|regex|pattern"
    r"|izer|manager|provider|store|service|namespace|at|in|endpoint|algorithm|format|index|usage)$",
    re.IGNORECASE,
)
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_ASSIGNS = re.compile(rf"[A-Za-z0-9_.-]{{1,80}}{_OPERATOR}")


def _lowered(text: str) -> str:
    """The text in small letters, as long as before."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if c.isascii() else c for c in text)  # some letters grow


def assignments(text: str) -> list[int]:
    """Where a name with the word of a secret in it is assigned something, each at that word."""
    lowered = _lowered(text)
    offsets: list[int] = []
    for keyword in _KEYWORDS:
        at = lowered.find(keyword)
        while at != -1:
            if _ASSIGNS.match(text, at):
                offsets.append(at)
            at = lowered.find(keyword, at + len(keyword))
    return offsets


def unended(text: str, offsets: Iterable[int]) -> Iterator[int]:
    """Those of these assignments whose value the end of its line may cut off."""
    for at in offsets:
        match = _UNENDED.match(text, at)
        if match and TAIL.match(text, match.end()):
            yield at


def assigned_secrets(text: str, offsets: Iterable[int]) -> list[tuple[str, int, int]]:
    """(name, start, end) of values that are assigned at these offsets and look like a secret."""
    secrets: dict[int, tuple[str, int, int]] = {}
    for at in offsets:
        for span in _assigned_at(text, at):
            secrets.setdefault(span[1], span)
    for span in _named_values(text):
        secrets.setdefault(span[1], span)
    outermost: list[tuple[str, int, int]] = []
    for span in sorted(secrets.values(), key=lambda item: item[1]):
        if not outermost or span[1] >= outermost[-1][2]:
            outermost.append(span)
    return outermost


def goes_on(line: str) -> bool:
    """Whether a line may have the first part of a secret at its end."""
    starts = [at for hint, form in hinted(line) for at in form.unended(line, hint)]
    if any(not line[at - 1 : at].isalnum() and line[at] != ":" for at in starts):
        return True
    unclosed = len(line) >= _LONG_LINE or re.search(_UNCLOSED, line)
    return bool(unclosed and list(unended(line, assignments(line))))


def telling(name: str, value: str) -> bool:
    """Whether a value that has a name of its own, as in an object, is a secret by both."""
    named = bool(_TELLING.search(name)) and not _NAME_ENDS.search(name)
    return named and len(value) >= 8 and not re.search(r"\s", value) and drawn(value)


def with_texts(data: object, change: Callable[[str], str], *, names: bool = True) -> Any:
    """Lists and objects with each text in them changed, and with ``names`` also those of fields."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, list):
        return [with_texts(item, change, names=names) for item in cast("list[object]", data)]
    if isinstance(data, Mapping):
        items = cast("Mapping[object, object]", data).items()
        return {
            with_texts(key, change) if names else key: with_texts(value, change, names=names)
            for key, value in items
        }
    return data


def _named_values(text: str) -> Iterator[tuple[str, int, int]]:
    lowered = _lowered(text)
    at = lowered.find("value")
    while at != -1:
        match = None
        if _ASSIGNS.match(text, at) and _TELLING.search(text, max(0, at - 160), at):
            match = re.compile(_NAMED_VALUE).search(text, max(0, at - 160), at + 300)
        if match and match.start("value") > at and telling(match["name"], match["value"]):
            yield match["name"], *match.span("value")
        at = lowered.find("value", at + 5)


def _assigned_at(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    start = at
    while start > 0 and at - start < 48 and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    match = _ASSIGNED.match(text, start)
    if match is None or at >= match.end("name") or text[start - 8 : start] == "<secret:":
        return
    name, listed = match["name"], match["list"] is not None
    if text[start - 1 : start] == "<" or not _tells(name, listed=listed):
        return
    if not listed and (span := _interspersed(match)):
        yield name.strip(".-"), *span
        return
    spans = _listed(text, match.end()) if listed else [_value_of(match)]
    for first, last in spans:
        if _looks_secret(name, text[first:last], quoted=match["bare"] is None):
            yield name.strip(".-"), first, last


def _tells(name: str, *, listed: bool) -> bool:
    about = name.lower().removesuffix("tokens") if listed else name  # those of a list are no count
    return bool(_TELLING.search(name)) and not _NAME_ENDS.search(about)


def _interspersed(match: re.Match[str]) -> tuple[int, int] | None:
    """The span of a value without quotes that has brackets and signs as only passwords have them."""
    whole = _WHOLE.match(match.string, match.start("bare")) if match["bare"] else None
    if whole and _opens_line(match, whole.end()):
        secret = is_interspersed(whole[0]) or is_punctuated(whole[0])
        return whole.span() if secret else None
    return None


def _value_of(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of an assignment's value; without quotes it ends at a bracket, unless generated."""
    if match["quoted"]:
        return match.span("quoted")
    start, bare = match.start("bare"), match["bare"].rstrip(")]}|")
    if match["below"] and _is_statement(match["below"], bare):
        return start, start
    if match["escaped"]:
        bare = bare.partition("%26")[0]
    bracket = _BRACKET.search(bare)
    if bracket is None or (
        _opens_line(match, match.end()) and drawn(bare) and not _CALL.match(bare)
    ):
        return start, start + len(bare)
    return start, start + bracket.start()


def _is_statement(before: str, line: str) -> bool:
    """Whether a line below a name is code: a colon opens a block, or it is indented by more than two."""
    indentation = before.rpartition("\n")[2]
    return line.endswith(":") or (len(indentation) > 2 and not is_random(line))


def _opens_line(match: re.Match[str], end: int) -> bool:
    """Whether an assignment begins its line and its value ends it, as in settings and scripts."""
    text, start = match.string, match.start()
    before = text[max(0, start - 24) : start].rpartition("\n")
    begins = (before[1] or start <= 24) and before[2].strip(_MARGIN) in ("", "export", "set", "ENV")
    return bool(begins) and text[end : end + 1] in ("", "\r", "\n")


def _listed(text: str, at: int) -> list[tuple[int, int]]:
    """Return the spans of a list's values; of several values, none that may be a name or a path."""
    spans: list[tuple[int, int]] = []
    while len(spans) < _MOST_ITEMS and (item := _ITEM.match(text, at)):
        spans.append(item.span("bare" if item["quoted"] is None else "quoted"))
        at = item.end()
    values = [(span, text[slice(*span)]) for span in spans]
    return [
        span
        for span, value in values
        if is_generated(value)
        or (any(map(str.isdigit, value)) and (len(values) == 1 or not set(value) & _OF_NAMES))
    ]


def _looks_secret(name: str, value: str, *, quoted: bool) -> bool:
    """High entropy, digits among letters, and nothing that is code, a path, or a stand-in."""
    if len(value) < 8 or not drawn(value):
        return False
    if not quoted and not name.isupper() and value.replace("_", "").replace(".", "").isidentifier():
        digits = any(map(str.isdigit, value))
        return digits and entropy(value) > 3.5 and "_" not in value.strip("_") and "." not in value
    return True
