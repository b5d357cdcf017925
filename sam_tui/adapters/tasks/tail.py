"""What a task printed, by absolute character index, with the oldest let go."""

from collections import deque

from sam_tui.core.ports.processes.terminals import SessionOutput

KEPT_CHARACTERS = 256 * 1024
_PIECE = 4096


class Tail:
    """The newest characters of a text that grows. An index counts from its very first one."""

    def __init__(self, limit: int = KEPT_CHARACTERS) -> None:
        self._limit = limit
        self._pieces: deque[str] = deque()
        self._kept = 0
        self._end = 0

    def add(self, text: str) -> None:
        """Take in what came next."""
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

    def since(self, start: int) -> SessionOutput:
        """What is kept from an index on; a negative one counts from the end."""
        oldest = self._end - self._kept
        first = self._end + start if start < 0 else start
        first = min(max(first, oldest), self._end)
        return SessionOutput("".join(self._pieces)[first - oldest :], first, self._end)
