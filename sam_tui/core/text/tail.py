"""The newest characters of a text that grows."""

from collections import deque

_PIECE = 4096


class Tail:
    """A ring of so many characters. An index counts from the very first one."""

    def __init__(self, limit: int) -> None:
        self.end = 0
        """The index after the last character."""
        self._limit = limit
        self._pieces: deque[str] = deque()
        self._size = 0

    def add(self, text: str) -> None:
        """Add a piece of text."""
        if not text:
            return
        self._size += len(text)
        self.end += len(text)
        if self._pieces and len(self._pieces[-1]) < _PIECE:
            self._pieces[-1] += text
        else:
            self._pieces.append(text)
        while (surplus := self._size - self._limit) > 0:
            oldest = self._pieces.popleft()
            if len(oldest) > surplus:
                self._pieces.appendleft(oldest[surplus:])
                self._size -= surplus
            else:
                self._size -= len(oldest)

    def since(self, start: int, end: int | None = None) -> tuple[str, int, int]:
        """Return the kept text between two indexes, with both indexes clipped to it."""
        first = min(max(start, self.end - self._size), self.end)
        last = self.end if end is None else min(max(end, first), self.end)
        # Most reads are of the newest text, and must not cost as much as the whole.
        begin, pieces = self.end, deque[str]()
        for piece in reversed(self._pieces):
            if begin <= first:
                break
            pieces.appendleft(piece)
            begin -= len(piece)
        return "".join(pieces)[max(0, first - begin) : last - begin], first, last
