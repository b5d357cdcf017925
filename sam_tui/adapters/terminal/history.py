"""What a session printed, by absolute character index, with the oldest let go."""

import codecs
from collections import deque

from sam_tui.core.ports.processes.terminals import SessionOutput

KEPT_CHARACTERS = 1_000_000
_PIECE = 4096


class OutputHistory:
    """A ring of decoded output. An index counts characters since the session began."""

    def __init__(self, limit: int = KEPT_CHARACTERS) -> None:
        self._limit = limit
        self._pieces: deque[str] = deque()
        self._kept = 0
        self._end = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    @property
    def end(self) -> int:
        """The index behind the last character."""
        return self._end

    def add(self, data: bytes, *, final: bool = False) -> str:
        """Take in bytes; a sequence cut at their end waits for its rest. Returns what was decoded."""
        text = self._decoder.decode(data, final)
        self.append(text)
        return text

    def append(self, text: str) -> None:
        """Take in text that is decoded already."""
        if not text:
            return
        self._kept += len(text)
        self._end += len(text)
        if self._pieces and len(self._pieces[-1]) < _PIECE:
            self._pieces[-1] += text
        else:
            self._pieces.append(text)
        while (surplus := self._kept - self._limit) > 0:
            oldest = self._pieces.popleft()
            if len(oldest) > surplus:
                self._pieces.appendleft(oldest[surplus:])
                self._kept -= surplus
            else:
                self._kept -= len(oldest)

    def since(self, start: int, end: int | None = None) -> SessionOutput:
        """What is kept from an index on, up to another; a negative one counts as 0."""
        first = min(max(start, self._end - self._kept), self._end)
        last = self._end if end is None else min(max(end, first), self._end)
        # Reads are mostly of the newest, and must not cost what is kept.
        begin, pieces = self._end, deque[str]()
        for piece in reversed(self._pieces):
            if begin <= first:
                break
            pieces.appendleft(piece)
            begin -= len(piece)
        return SessionOutput("".join(pieces)[max(0, first - begin) : last - begin], first, last)
