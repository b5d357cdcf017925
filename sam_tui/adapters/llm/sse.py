"""Server-sent events out of bytes that may be cut anywhere (HTML standard, 9.2.6)."""

import json


class EventParser:
    """Takes bytes as they come and gives the data of each event, still as bytes.

    Text is only decoded in whole lines, so a character cut in two does no harm. ``failed`` is set
    once an event named ``error`` came.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self.failed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that this chunk completes. Cheap where chunks end with lines, as ``Intake`` has
        them."""
        text = self._rest + chunk if self._rest else chunk
        if b"\r" in text:
            split = text.endswith(b"\r")
            body = text[:-1] if split else text
            text = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + (b"\r" if split else b"")
        *lines, self._rest = text.split(b"\n")
        events: list[bytes] = []
        for line in lines:
            self._line(line, events)
        return events

    def close(self) -> list[bytes]:
        """What was left when the stream ended: servers forget the last empty line."""
        events: list[bytes] = []
        self._line(self._rest.rstrip(b"\r"), events)
        self._line(b"", events)
        self._rest = b""
        return events

    def _line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            if len(self._data) == 1 and _whole(self._data[0]):
                # A server that leaves out the empty line between events.
                self._emit(events)
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif not line:
            if self._data:
                self._emit(events)
        elif line.startswith(b"event:"):
            self.failed = self.failed or line[6:].strip() == b"error"

    def _emit(self, events: list[bytes]) -> None:
        events.append(b"\n".join(self._data))
        self._data.clear()


def _whole(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return data == b"[DONE]"
    return True
