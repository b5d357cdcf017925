"""Results and decisions without secrets, for the model and for people alike."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sam_tui.core.accesses import LocatedAccess, Type
from sam_tui.core.display import Diff, Display, Table, Terminal, Text
from sam_tui.core.redaction.assignments import telling
from sam_tui.core.redaction.forms import DUMP_BEGUN
from sam_tui.core.redaction.key_blocks import open_at
from sam_tui.core.redaction.shield import Shield
from sam_tui.core.tooling.contract import ToolResult
from sam_tui.core.verdict import Decision

_HIDDEN_KEYS = "keys (hidden input)"


def masked_decision(
    decision: Decision, accesses: Sequence[LocatedAccess], shield: Shield
) -> Decision:
    """A decision for storage and display, without secrets and hidden keys."""
    hidden = [
        f"keys {located.access.keys!r}"
        for located in accesses
        if isinstance(located.access, Type) and located.access.hidden
    ]

    def clean(text: str) -> str:
        for keys in hidden:
            text = text.replace(keys, _HIDDEN_KEYS)
        return shield.redact(text)

    return replace(
        decision,
        reason=clean(decision.reason),
        scope=clean(decision.scope),
        comment=clean(decision.comment),
        targets=tuple(map(clean, decision.targets)),
    )


def masked(result: ToolResult, shield: Shield) -> ToolResult:
    """Return the result with secrets replaced in its text, its displays, and its data for programs.

    Data repeats the content of the text and is read by few programs. It is masked when it is first
    read, or at once where a name in it gives a secret away that the shield then knows for all later
    texts.
    """
    text = result.text
    if result.mime_type == "application/json":
        text = _masked_json(text, shield)
    text = shield.redact(text)
    displays = tuple(_masked_display(display, shield) for display in result.display)
    data = MaskedData(result.data, shield)
    return replace(
        result, text=text, display=displays, data=data.now if tells(result.data) else data
    )


class MaskedData(Mapping[str, object]):
    """Data whose secrets are masked at the first read."""

    def __init__(self, data: Mapping[str, object], shield: Shield) -> None:
        self._unmasked: Mapping[str, object] = data
        self._shield: Shield | None = shield
        self._masked: Mapping[str, object] = {}

    @property
    def now(self) -> Mapping[str, object]:
        """The data with its secrets masked."""
        if self._shield is not None:
            self._masked = self._shield.mask_data(self._unmasked)
            self._shield, self._unmasked = None, {}
        return self._masked

    def __getitem__(self, key: str) -> object:
        return self.now[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)

    def __repr__(self) -> str:
        return repr(self.now)


def tells(data: object) -> bool:
    """Whether data holds a text that is secret by the name it has there."""
    if isinstance(data, Mapping):
        pairs = cast("Mapping[Any, Any]", data).items()
        return any(
            telling(name, value)
            if isinstance(name, str) and isinstance(value, str)
            else tells(value)
            for name, value in pairs
        )
    return isinstance(data, list | tuple) and any(map(tells, cast("Sequence[Any]", data)))


def _masked_json(text: str, shield: Shield) -> str:
    """JSON in which each text was looked at by itself: escapes hide where words begin and end."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    clean = shield.mask_data(data)
    if clean == data:
        return text
    return json.dumps(clean, ensure_ascii=False, indent=2 if text[1:2] == "\n" else None)


def _masked_display(display: Display, shield: Shield) -> Display:
    match display:
        case Text(text=text):
            return replace(display, text=shield.redact(text))
        case Diff(path=path, unified=unified):
            return replace(display, path=shield.redact(path), unified=shield.redact(unified))
        case Terminal(command=command, output=output):
            return replace(display, command=shield.redact(command), output=shield.redact(output))
        case Table(rows=rows):
            cells = tuple(tuple(shield.redact(cell) for cell in row) for row in rows)
            return replace(display, rows=cells)
        case _:
            return display


_MOST_HELD = 65_536
_TELLS = re.compile(
    r"passw|passphrase|secret|token|credential|key|pwd|://|bearer|basic|cookie|login"
    r"""|(?:["']name["']|(?m:^)[ \t{(,\[-]{0,80}(?-i:name))\s{0,3}[:=]""",
    re.I,
)
"""What a line of a secret contains: the last ones name a value that follows as another entry."""
_IN_WORD = re.compile(r"[A-Za-z0-9-]")
_DUMP_BEGUN = re.compile(DUMP_BEGUN)
_BLANK, _LINE_END = re.compile(r"\s"), re.compile(r"[\r\n]")
_KEY_END, _KEY_HEAD = re.compile("-"), re.compile("[-\\n]")
"""What the end of a private key has and nothing of its body, and the end of its first line."""
_OPENS = re.compile(
    r"""(?:(?:=>|[:=]|%3A|%3D)[ \t]{0,8}(?:[|>][+-]?|\\|[\[(])?"""
    r"""|(?:name|key)\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?[\w.-]{1,80}\\{0,3}["']?[,;]?"""
    r"""|login \S{1,100})\s{0,8}\Z""",
    re.I,
)
"""The end of a line whose value, or list of values, is below it."""
_LONGEST_END = 240
_ITEM = re.compile(r"""\s*(?:(?:-[ \t]|["'`\\])[^\n]*)?\n""")
"""A line of a list, or an empty one."""
_MOST_ITEMS = 100


class MaskedStream:
    """Text that comes in pieces, passed on without secrets: what may be part of one waits for its rest."""

    def __init__(self, shield: Shield, passed_on: Callable[[str], None]) -> None:
        self._shield = shield
        self._passed_on = passed_on
        self._held = ""
        self._ended = False
        self._awaited: re.Pattern[str] | None = None
        """What has to come before more can be passed on; None where anything may do."""

    def add(self, piece: str) -> None:
        """Take the next piece."""
        text = self._held + piece
        if self._awaited and len(text) <= _MOST_HELD and not self._awaited.search(piece):
            self._held = text
            return
        end = len(text) if self._ended or len(text) > _MOST_HELD else self._safe(text)
        self._held = text[end:]
        if end:
            self._passed_on(self._shield.redact(text[:end]))

    def end(self) -> None:
        """Pass on the withheld text; later text is no longer withheld."""
        self._ended, self._awaited = True, None
        if self._held:
            self.add("")

    def _safe(self, text: str) -> int:
        """Up to where no secret is cut: before a private key without its end, a line that names a
        secret, one that does so for the next, a row of a dump, or a word that may go on."""
        key = end = open_at(text)
        line = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
        start = _start_of_value(text, line)
        if start < line or _TELLS.search(text, line, end) or _DUMP_BEGUN.match(text, line, end):
            self._awaited = _LINE_END if text[line:end].strip() or start < line else None
            end = start
        else:
            begun = _begun_word(text[line:end])
            self._awaited = _BLANK if begun else None
            end -= len(begun)
        if key < len(text):
            self._awaited = _KEY_END if "PRIVATE" in text[key : key + 80] else _KEY_HEAD
        return end - self._shield.length_of_beginning(text[:end])


def _begun_word(line: str) -> str:
    """The word at the end of a line that may go on; empty for none."""
    *_, word = line.rsplit(None, 1) or [""]
    return word if line.endswith(word) and _IN_WORD.search(word) else ""


def _start_of_value(text: str, line: int) -> int:
    """The start of the line that names the value or the list on a line; that line's own if none does."""
    named = start = line
    for _ in range(_MOST_ITEMS):
        before = text.rfind("\n", 0, max(0, start - 1)) + 1
        opens = _TELLS.search(text, before, start) and _OPENS.search(
            text, max(before, start - _LONGEST_END), start
        )
        if opens:
            named = before
        elif start == 0 or not _ITEM.fullmatch(text, before, start):
            break
        start = before
    return named
