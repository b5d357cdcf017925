"""What the terminal around sends: nothing in a paste is a key, and bytes that are no text break nothing."""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from threading import Event

from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.message import Message

from sam_tui.ui.keyboard import ESCAPE_WITHIN

_START, _END, _ESC = "\x1b[200~", "\x1b[201~", "\x1b"
_READ = 4096
_LOOK = 0.1
"""Seconds between two looks at whether reading is to end."""


class Pastes:
    """Passes text on without the escapes within pastes, which Textual's parser takes for keys.

    Terminals leave them out themselves, but not all do, such as tmux with its own buffers.
    """

    def __init__(self) -> None:
        self._pasting = False
        self._seen = ""
        """The end of what was passed on, where the start of a paste may have been cut."""
        self._held = ""
        """The start of a paste's end, which waits for its rest."""

    def tamed(self, text: str) -> str:
        """What the parser may see of a piece of input."""
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
    """What a text ends with that may be the start of a paste's end."""
    at = text.rfind(_ESC, max(0, len(text) - len(_END) + 1))
    return text[at:] if at >= 0 and _END.startswith(text[at:]) else ""


class KeyParser(XTermParser):
    """Textual's parser, which tells of a key behind an escape what came: both are its ``character``.

    Whether that was Alt or the Escape key before another, the terminal around does not say.
    """

    @property
    def waits(self) -> bool:
        """Whether what came may be the start of something longer."""
        return self._timeout_time is not None

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        came = _ESC + sequence if alt else sequence
        for key in super()._sequence_to_key_events(sequence, alt):
            if len(came) == 2 and came.startswith(_ESC):
                yield Key(key.key if key.key.startswith("alt+") else f"alt+{key.key}", came)
            else:
                yield key


def read_input(
    descriptor: int, ended: Event, pass_on: Callable[[Message], None], *, debug: bool
) -> None:
    """Read a terminal until ``ended`` is set, or it goes away, and pass on what it tells."""
    parser, pastes = KeyParser(debug), Pastes()
    # One byte that is none of UTF-8 would end a strict one, and with it the workbench.
    decode = getincrementaldecoder("utf-8")("replace").decode

    def tell(messages: Iterable[Message]) -> None:
        for message in messages:
            pass_on(message)

    with selectors.SelectSelector() as waiting:
        waiting.register(descriptor, selectors.EVENT_READ)
        while not ended.is_set():
            if waiting.select(ESCAPE_WITHIN if parser.waits else _LOOK):
                data = os.read(descriptor, _READ)
                if not data:
                    return
                if text := pastes.tamed(decode(data)):
                    tell(parser.feed(text))
            tell(parser.tick())
