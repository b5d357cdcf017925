"""The bytes of one response on their way in: counted, in whole lines, mended where they are no text."""

from collections.abc import Mapping

from sam_tui.core.errors import AnswerTooLarge, ModelRejected
from sam_tui.core.ports.model import AnswerLimits

WIRE_FACTOR = 8
"""Bytes of a response for one byte of the answer in it: every piece has an envelope of its own."""
_BLANK = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""What ends an event."""


class Intake:
    """Takes what a server sends, whatever it is; ``where`` names the server in errors.

    A line is handed on once it is whole: who reads it need not look at its beginning again with every
    piece of it. One event is no longer than an answer may be: it is parsed at once. Bytes that are
    no UTF-8 become the replacement character. What is no ``text``, such as a binary event stream, is
    counted only.
    """

    def __init__(self, limits: AnswerLimits, where: str, *, text: bool = True) -> None:
        self._limits = limits
        self._where = where
        self._text = text
        self._pieces: list[bytes] = []
        self._size = 0
        self._event = 0
        self._last = b""

    def take(self, data: bytes) -> bytes:
        """The lines that these bytes complete. Raises ``AnswerTooLarge``."""
        self._size += len(data)
        most = self._limits.size * WIRE_FACTOR
        if self._size > most:
            raise AnswerTooLarge(
                f"{self._where} sent more than {most:,} bytes for one answer.",
                setting="answer_bytes",
            )
        if not self._text:
            return data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        lines = b"".join((*self._pieces, data[:end])) if end else b""
        if end:
            self._pieces.clear()
        self._pieces.append(data[end:])
        self._count_event(data)
        return _mended(lines)

    def remainder(self) -> bytes:
        """What was left without the end of a line when the response ended."""
        remainder = b"".join(self._pieces)
        self._pieces.clear()
        return _mended(remainder)

    def _count_event(self, data: bytes) -> None:
        near = self._last + data
        ends = [near.rfind(blank) + len(blank) for blank in _BLANK if blank in near]
        self._event = len(near) - max(ends) if ends else self._event + len(data)
        self._last = near[-3:]
        if self._event > self._limits.size:
            raise AnswerTooLarge(
                f"{self._where} sent a piece of more than {self._limits.size:,} bytes.",
                setting="answer_bytes",
            )


def require_plain(headers: Mapping[str, str], where: str) -> None:
    """Raises ``ModelRejected`` for a compressed answer, whose size nobody knows before it is read."""
    coding = headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise ModelRejected(
            f"{where} answered with compressed data that nobody asked for ({coding[:20]}).",
            hint="Have the server, or the proxy before it, leave event streams as they are.",
        )


def _mended(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data
