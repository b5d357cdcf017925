"""Who types into a session, and what the person typed while it was theirs."""

import difflib
import re

from sam_tui.core.ports.terminals import Handover, Holder

_KEYS = re.compile(rb"\x1b\[200~|\x1b\[201~|\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")
_SHORTEST_VEILED = 3
_MOST_TYPED = 64 * 1024
VEIL = "[typed by the person]"
"""Stands for what the person typed wherever the agent would read it."""


class Baton:
    """One session's holder. What is typed while the person holds an agent's session stays here.

    It is kept in memory alone, so that it can be taken out of what the screen still shows of it.
    """

    def __init__(self, *, personal: bool) -> None:
        self.holder: Holder = "person" if personal else "agent"
        self.reason = ""
        self.handover: Handover | None = None
        self._personal = personal
        self._before = ""
        self._line = bytearray()
        self._typed: set[str] = set()
        self._count = 0

    @property
    def withheld(self) -> bool:
        """Whether what happens now is the person's business in a session of the agent."""
        return not self._personal and self.holder == "person"

    def take(self, reason: str, screen: str) -> None:
        """The person types from now on; ``screen`` is what they found."""
        self.holder, self.reason, self._before = "person", reason, screen

    def watch_only(self) -> None:
        """Nobody types from now on."""
        self.holder, self.reason = "watch", ""

    def hand_back(self, screen: str) -> None:
        """The agent types again; ``screen`` is what it finds."""
        if self.withheld:
            self._end_line()
            self._count += 1
            self.handover = Handover(self._count, self.reason, self._difference(screen))
        self.holder, self.reason = "agent", ""

    def typed(self, data: bytes) -> None:
        """The person typed this while they held it."""
        if not self.withheld:
            return
        for byte in _KEYS.sub(b"", data):
            if byte in b"\r\n":
                self._end_line()
            elif byte in b"\x08\x7f":
                del self._line[-1:]
            elif byte >= 0x20 and len(self._line) < _MOST_TYPED:
                self._line.append(byte)

    def veiled(self, text: str) -> str:
        """Text without what the person typed."""
        pending = self._line.decode(errors="replace").strip()
        lines = [*self._typed, pending] if len(pending) >= _SHORTEST_VEILED else [*self._typed]
        for line in sorted(lines, key=len, reverse=True):
            text = text.replace(line, VEIL)
        return text

    def _end_line(self) -> None:
        line = self._line.decode(errors="replace").strip()
        self._line.clear()
        if len(line) >= _SHORTEST_VEILED:
            self._typed.add(line)

    def _difference(self, screen: str) -> str:
        """The lines of a screen that were not there before, without what the person typed."""
        before = [line.rstrip() for line in self._before.splitlines()]
        after = [line.rstrip() for line in screen.splitlines()]
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        new: list[str] = []
        for tag, _, _, start, end in matcher.get_opcodes():
            if tag in ("insert", "replace"):
                new += [line for line in after[start:end] if line]
        return self.veiled("\n".join(new))
