"""Who types into a session, and what the person typed while it was theirs."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sam_tui.adapters.terminal.typed import characters
from sam_tui.core.ports.terminals import Handover, Holder

NOT_RECORDED = "\r\n[the person typed here; what happened meanwhile is not recorded]\r\n"
"""Stands in a session's output for all that was printed while the person held it."""
_SHORTEST_VEILED = 3
_MOST_TYPED = 64 * 1024
_MOST_TOLD = 16 * 1024
"""Characters of what was typed that are told to whoever keeps the session."""
_BACK = b"\x08\x7f"
_KILLS = b"\x03\x15\x17"
"""Ctrl+C, Ctrl+U, Ctrl+W: what was typed before them stands no longer beside what follows."""
VEIL = "[typed by the person]"
"""Stands for what the person typed wherever the agent would read it."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What of a baton has to outlive the program: who holds it, why, and what is to be veiled."""

    holder: Holder = "agent"
    reason: str = ""
    typed: tuple[str, ...] = ()

    @classmethod
    def told(cls, data: Mapping[str, Any]) -> "Hold":
        """From what the keeper of the session gave back; nothing known is the agent's."""
        return cls(
            data.get("holder", "agent"), data.get("reason", ""), tuple(data.get("typed", ()))
        )


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
        self._unfinished = ""
        self._typed: dict[str, None] = {}
        self._count = 0

    @property
    def withheld(self) -> bool:
        """Whether what happens now is the person's business in a session of the agent."""
        return not self._personal and self.holder == "person"

    @property
    def hold(self) -> Hold:
        """What has to outlive this program; of much that was typed the newest."""
        typed: list[str] = []
        left = _MOST_TOLD
        for line in reversed(self._veils()):
            typed.append(line[:left])
            left -= len(typed[-1])
            if left < _SHORTEST_VEILED:
                break
        return Hold(self.holder, self.reason, tuple(reversed(typed)))

    def resume(self, hold: Hold, screen: str) -> None:
        """Go on where an earlier program stopped; ``screen`` is what there is to see now."""
        self._typed |= dict.fromkeys(hold.typed)
        self.holder, self.reason, self._before = hold.holder, hold.reason, screen

    def take(self, reason: str, screen: str) -> None:
        """The person types from now on; ``screen`` is what they found."""
        self.holder, self.reason, self._before = "person", reason, screen

    def watch_only(self) -> None:
        """Nobody types from now on."""
        self.holder, self.reason = "watch", ""

    def hand_back(self, screen: str) -> None:
        """The agent types again; ``screen`` is what it finds."""
        if self.withheld:
            self._unfinished = self._pending()
            self._end_line()
            self._count += 1
            self.handover = Handover(self._count, self.reason, self._difference(screen))
        self.holder, self.reason = "agent", ""

    def typed(self, data: bytes) -> None:
        """The person typed this while they held it."""
        if not self.withheld:
            return
        for byte in characters(data):
            if byte in b"\r\n" or byte in _KILLS:
                self._end_line()
            elif byte in _BACK:
                self._line = bytearray(self._line.decode(errors="ignore")[:-1].encode())
            elif byte >= 0x20 and len(self._line) < _MOST_TYPED:
                self._line.append(byte)

    def veiled(self, text: str) -> str:
        """Text without what the person typed."""
        for line in sorted(self._veils(), key=len, reverse=True):
            text = text.replace(line, VEIL)
        return text

    def without_unfinished(self, text: str) -> str:
        """Output without the line that the person left unfinished: a shell may draw it again."""
        if len(self._unfinished) < _SHORTEST_VEILED:
            return text
        return text.replace(self._unfinished, VEIL)

    def _veils(self) -> list[str]:
        """What was typed, oldest first, with the line that has no end yet."""
        pending = self._pending()
        return [*self._typed, pending] if len(pending) >= _SHORTEST_VEILED else [*self._typed]

    def _pending(self) -> str:
        return self._line.decode(errors="replace").strip()

    def _end_line(self) -> None:
        line = self._pending()
        self._line.clear()
        if len(line) >= _SHORTEST_VEILED:
            self._typed[line] = None

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
