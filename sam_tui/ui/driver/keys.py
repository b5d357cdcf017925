"""Reads the input of the terminal around as keys.

A paste never contains a key, and bytes that are no UTF-8 break nothing. Terminals without the kitty
protocol send a key with Alt as an escape before the key: Textual reads some of them as others (Alt+B as
Ctrl+Left, Alt+1 as ``¡``) and loses the Alt of most keys that are no letters.
"""

import importlib
import os
import re
import selectors
import string
import unicodedata
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

from textual._xterm_parser import XTermParser
from textual.events import CursorPosition, Key
from textual.keys import Keys
from textual.message import Message

_OPENERS = frozenset("[]OPX^_\\")
"""Characters that begin a control sequence after an escape, and therefore are no keys there."""
ESCAPE_WITHIN = 0.025
"""Seconds for which an escape may begin a sequence, unless ``$ESCDELAY`` (milliseconds) is set."""
_NAMED = {
    "\x7f": "backspace",
    "\r": "enter",
    "\t": "tab",
    " ": "space",
    "-": "minus",
    "+": "plus",
} | {
    "@": "at",
    "/": "slash",
}
_HIGHER_KEYS = {
    f"{number}~": f"f{13 + place}" for place, number in enumerate((25, 26, 28, 29, 31, 32, 33, 34))
}
"""F13 to F20, as consoles and rxvt send Shift with F1 to F8. Textual would read the number as a character:
29 as Ctrl+]."""
_HELD_BITS = ((2, "alt"), (4, "ctrl"), (1, "shift"))
_MOUSE = re.compile(r"\x1b\[<([0-9]+);")
_SIDE_BUTTON = 128
_NUMBERED = re.compile(r"\x1b\[([0-9]+)(?:;[0-9]*)?~")
_DETAILED = re.compile(
    r"\x1b\[([0-9]*)(?::[0-9:]*)?(?:;([0-9]*)(?::([0-9]*)[0-9:]*)?)?([0-9:;]*[u~A-HPQRS])"
)
"""A key of the kitty protocol: number, alternative numbers, modifiers, event type, and the rest."""
_RELEASE = "3"


@dataclass(frozen=True, slots=True)
class _Key:
    """A key as the parser's table holds it."""

    value: str


def _name(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character.isalnum():
        return character
    return unicodedata.name(character).lower().replace(" ", "_").replace("-", "_")


def with_alt() -> dict[str, str]:
    """The names of keys with Alt, by the bytes that terminals send for them."""
    plain = [c for c in string.punctuation + string.digits if c not in _OPENERS]
    names = {f"\x1b{c}": f"alt+{_name(c)}" for c in (*plain, *_NAMED)}
    for letter in string.ascii_lowercase:
        names[f"\x1b{letter}"] = f"alt+{letter}"
        if letter.upper() not in _OPENERS:
            names[f"\x1b{letter.upper()}"] = f"alt+shift+{letter}"
        # Tab and Enter are the control characters of these, and mean themselves.
        if letter not in "imj":
            names[f"\x1b{chr(ord(letter) & 0x1F)}"] = f"alt+ctrl+{letter}"
    return names


def name_alt_keys() -> None:
    """Teach Textual's key parser these keys."""
    if not os.environ.get("ESCDELAY", "").isdecimal():
        constants: Any = importlib.import_module("textual.constants")
        constants.ESCAPE_DELAY = ESCAPE_WITHIN
    table: Any = importlib.import_module("textual._ansi_sequences").ANSI_SEQUENCES_KEYS
    for sequence, name in with_alt().items():
        table[sequence] = (_Key(name),)
    _function_keys().update(_HIGHER_KEYS)


def _function_keys() -> dict[str, str]:
    """The parser's table of numbered keys, which changes as keys are added to it."""
    parser: Any = importlib.import_module("textual._xterm_parser")
    return parser.FUNCTIONAL_KEYS


def pressed(message: Message) -> Message:
    """The message, or F3 with its modifiers, which looks like a cursor position in the first row.

    Only for terminals that were not asked where their cursor is.
    """
    if isinstance(message, CursorPosition) and message.y == 0 and 1 <= message.x <= 7:
        held = "".join(f"{name}+" for bit, name in _HELD_BITS if message.x & bit)
        return Key(f"{held}f3", None)
    return message


_START, _END, _ESC = "\x1b[200~", "\x1b[201~", "\x1b"
_READ = 4096
_REST_WITHIN = 0.1
"""Seconds for which the rest of an incomplete answer of the terminal is waited for."""


class Pastes:
    """Removes the escapes within pastes, which Textual's parser would read as keys.

    Most terminals remove them themselves; some, such as tmux with its own buffers, do not.
    """

    def __init__(self) -> None:
        self._pasting = False
        self._seen = ""
        """The end of the input that was passed on, which may begin the mark before a paste."""
        self._held = ""
        """The first part of the mark that ends a paste, until the rest arrives."""

    def tamed(self, text: str) -> str:
        """A piece of input, without the escapes within a paste."""
        return "".join(self._parts(text))

    def _parts(self, text: str) -> Iterator[str]:
        while text:
            if self._pasting:
                inside, end, text = (self._held + text).partition(_END)
                self._held = "" if end else _begun(inside)
                yield inside[: len(inside) - len(self._held)].replace(_ESC, "") + end
                self._pasting = not end
            else:
                before, start, remainder = (self._seen + text).partition(_START)
                yield text[: len(text) - len(remainder)] if start else text
                self._seen = "" if start else before[1 - len(_START) :]
                self._pasting, text = bool(start), remainder


def _begun(text: str) -> str:
    """The end of a text, if it may be the beginning of the sequence that ends a paste; else empty."""
    at = text.rfind(_ESC, max(0, len(text) - len(_END) + 1))
    return text[at:] if at >= 0 and _END.startswith(text[at:]) else ""


_GROUND = re.compile(
    r"\x1b\]11;(?:rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]{0,8})?"
    r"(?:\x07|\x1b\\)"
)
_GROUND_BEGUN = re.compile(r"\x1b\]11;[^\x07\x1b]{0,32}\x1b?\Z")


class GroundTold(Message):
    """The terminal reported the colour of its background."""

    def __init__(self, *, light: bool) -> None:
        super().__init__()
        self.light = light


class GroundAnswers:
    """Removes answers to the question for the background colour (OSC 11) from the input."""

    def __init__(self, pass_on: Callable[[Message], None]) -> None:
        self._pass_on = pass_on
        self._partial = ""

    def without(self, text: str) -> str:
        """The piece of input without answers; an incomplete answer waits for its end."""
        text, self._partial = self._partial + text, ""
        if "\x1b]11;" not in text:
            return text
        text = _GROUND.sub(self._answer, text)
        if start := _GROUND_BEGUN.search(text):
            self._partial, text = start[0], text[: start.start()]
        return text

    def _answer(self, match: re.Match[str]) -> str:
        if match[1]:
            red, green, blue = (int(g, 16) / (16 ** len(g) - 1) for g in match.groups())
            self._pass_on(GroundTold(light=0.299 * red + 0.587 * green + 0.114 * blue > 0.5))
        return ""


_ANSWER = re.compile(r"\x1bP>\|([^\x07\x1b]{0,99})(?:\x07|\x1b\\)|\x1b\[\?([0-9;]{1,99})c")
_BEGUN = re.compile(r"\x1b(?:P>\|[^\x07\x1b]{0,99}\x1b?|\[\?[0-9;]{0,99}|P>?|\[)\Z")
_SHORT = 3
"""The most characters of an incomplete answer that may as well be keys."""


class TerminalTold(Message):
    """The terminal reported its name, empty where it did not, and its attributes."""

    def __init__(self, name: str, attributes: frozenset[str]) -> None:
        super().__init__()
        self.name = name
        self.attributes = attributes


class TerminalAnswers:
    """Removes the terminal's answers about itself, also late ones, from the input."""

    def __init__(self, pass_on: Callable[[Message], None]) -> None:
        self._pass_on = pass_on
        self._partial = ""
        self._name = ""
        self.expected = False
        """Whether the terminal was asked, so that the start of an answer waits for its rest."""

    def without(self, text: str) -> str:
        """The piece of input without answers."""
        text, self._partial = self._partial + text, ""
        if not self.expected or "\x1b" not in text:
            return text
        text = _ANSWER.sub(self._answer, text)
        if partial := _BEGUN.search(text):
            self._partial, text = partial[0], text[: partial.start()]
        return text

    @property
    def waits(self) -> bool:
        """Whether an incomplete answer is keys unless its rest comes soon."""
        return 0 < len(self._partial) <= _SHORT

    def overdue(self) -> str:
        """The incomplete answer that waited: without a continuation it was keys."""
        if not self.waits:
            return ""
        keys, self._partial = self._partial, ""
        return keys

    def _answer(self, match: re.Match[str]) -> str:
        if match[2] is None:
            self._name = match[1]
        else:
            self._pass_on(TerminalTold(self._name, frozenset(match[2].split(";"))))
        return ""


class KeyParser(XTermParser):
    """Textual's parser, which puts both keys, the escape and the key behind it, into ``character``.

    The terminal does not say whether that was Alt, or the Escape key and then another one.
    """

    @property
    def waits(self) -> bool:
        """Whether the input so far may be the start of a longer sequence."""
        return self._timeout_time is not None

    def parse_mouse_code(self, code: str) -> Message | None:
        """The event behind a report of the mouse; none for buttons 8 to 11, which would pass for 1 to 3."""
        if not (self.terminal_size and self.terminal_pixel_size):
            # A terminal that does not know its size in pixels reports cells.
            self.mouse_pixels = False
        if (report := _MOUSE.match(code)) and int(report[1]) & _SIDE_BUTTON:
            return None
        return super().parse_mouse_code(code)

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        came = _ESC + sequence if alt else sequence
        numbered = _NUMBERED.fullmatch(sequence)
        if numbered and f"{numbered[1]}~" not in _function_keys():
            yield Key(Keys.Ignore, sequence)  # else the number is taken for a character
            return
        for key in self._keys_of(sequence, alt=alt):
            if len(came) == 2 and came.startswith(_ESC):
                yield Key(key.key if key.key.startswith("alt+") else f"alt+{key.key}", came)
            else:
                yield key

    def _keys_of(self, sequence: str, *, alt: bool) -> Iterable[Key]:
        """The keys that Textual reads in a sequence, without kinds of events; a release is no key."""
        if ":" in sequence and (detailed := _DETAILED.fullmatch(sequence)):
            number, modifiers, kind, remainder = detailed.groups(default="")
            if kind == _RELEASE:
                return [Key(Keys.Ignore, sequence)]
            sequence = f"{_ESC}[{number}{modifiers and ';'}{modifiers}{remainder}"
        try:
            return list(super()._sequence_to_key_events(sequence, alt))
        except ValueError:  # no number, or of no character
            return [Key(Keys.Ignore, sequence)]


class Ending(Event):
    """The end of reading: setting it wakes the thread that waits for its descriptor, too."""

    def __init__(self) -> None:
        super().__init__()
        self._reading, self._writing = os.pipe()

    def fileno(self) -> int:
        """Readable while it is set."""
        return self._reading

    def set(self) -> None:
        """Have reading end."""
        if not self.is_set():
            super().set()
            os.write(self._writing, b".")

    def clear(self) -> None:
        """Let reading begin again, once the thread has ended."""
        if self.is_set():
            super().clear()
            os.read(self._reading, 1)

    def __del__(self) -> None:
        os.close(self._reading)
        os.close(self._writing)


def read_input(
    descriptor: int,
    ended: Ending,
    pass_on: Callable[[Message], None],
    answers: TerminalAnswers,
    *,
    debug: bool,
) -> None:
    """Read a terminal until ``ended`` is set, or it goes away, and pass on its input and reports."""
    parser, pastes, grounds = KeyParser(debug), Pastes(), GroundAnswers(pass_on)
    # One byte that is none of UTF-8 would end a strict one, and with it the workbench.
    decode = getincrementaldecoder("utf-8")("replace").decode

    def deliver(messages: Iterable[Message]) -> None:
        for message in messages:
            pass_on(message)

    with selectors.SelectSelector() as waiting:
        waiting.register(descriptor, selectors.EVENT_READ)
        waiting.register(ended, selectors.EVENT_READ)
        while True:
            within = ESCAPE_WITHIN if parser.waits else _REST_WITHIN if answers.waits else None
            ready = waiting.select(within)
            if ended.is_set():
                return
            if ready:
                try:
                    data = os.read(descriptor, _READ)
                except OSError:  # some systems say so of a terminal that is gone
                    return
                if not data:
                    return
                if text := answers.without(grounds.without(pastes.tamed(decode(data)))):
                    deliver(parser.feed(text))
            elif keys := answers.overdue():
                deliver(parser.feed(keys))
            deliver(parser.tick())
