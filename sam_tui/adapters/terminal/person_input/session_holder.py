"""The holder of a session, and the person's input while they held it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sam_tui.adapters.terminal.person_input.decoder import (
    TypedLine,
    characters,
    moved,
    without_releases,
)
from sam_tui.adapters.terminal.person_input.redaction import Known, TypedRedaction
from sam_tui.core.ports.processes.terminals import Handover, Holder

NOT_RECORDED = "\r\n[the person typed here; what happened meanwhile is not recorded]\r\n"
"""Replaces all output of the session while the person held it."""
_MOST_TYPED = 16 * 1024
"""The most characters of typed text that are passed to the process of the session."""
_ENDS = re.compile(rb"[\r\n\x03]")
"""Enter and Ctrl+C, which end a line."""
_KILLS = b"\x15\x17"
"""Ctrl+U and Ctrl+W, which delete typed text; that is recorded before."""
_PASTE = re.compile(rb"(\x1b\[20[01]~)")
_PASTED, PASTE_OVER = b"\x1b[200~", b"\x1b[201~"


@dataclass(frozen=True, slots=True)
class Hold:
    """The part of a hand-over that outlives the program.

    The holder, the reason, the texts to redact, whether typed text may be in an unfinished line, and the
    line that was set aside for the person.
    """

    holder: Holder = "agent"
    reason: str = ""
    typed: tuple[str, ...] = ()
    unfinished: bool = False
    aside: str = ""

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Hold":
        """The hold that the holder process returned; with unknown data the agent is the holder."""
        return cls(
            data.get("holder", "agent"),
            data.get("reason", ""),
            tuple(data.get("typed", ())),
            bool(data.get("unfinished")),
            str(data.get("aside", "")),
        )


class SessionHolder:
    """One session's holder, and the person's input while they held an agent's session.

    The text stays in memory only, to redact it in the agent's later reads.
    """

    def __init__(self, *, personal: bool) -> None:
        self.holder: Holder = "person" if personal else "agent"
        self.reason = ""
        self.handover: Handover | None = None
        self.open = False
        """Whether the unfinished line may contain keys of the person."""
        self.touched = False
        """Whether the person has typed since taking the session, or since their text was gone."""
        self.aside = ""
        """The line that the person left unfinished, until they take the session again."""
        self._personal = personal
        self._redaction = TypedRedaction()
        self._known: Known | None = None
        self._line = TypedLine()
        self._pasting = False
        self._typed: dict[str, None] = {}
        self._count = 0

    @property
    def withheld(self) -> bool:
        """Whether the session is the agent's, and the person holds it now."""
        return not self._personal and self.holder == "person"

    @property
    def hold(self) -> Hold:
        """The state for the holder process and the next program; of much typed text the newest part."""
        typed: list[str] = []
        left = _MOST_TYPED
        for line in reversed([*self._typed, *self._line.readings()]):
            if left <= 0:
                break
            typed.append(line[:left])
            left -= len(typed[-1])
        lines = tuple(reversed(typed))
        return Hold(self.holder, self.reason, lines, self.touched, self.aside)

    def resume(self, hold: Hold) -> None:
        """Restore the state of an earlier program."""
        for line in hold.typed:
            self.redact_line(line)
        self.holder, self.reason = hold.holder, hold.reason
        self.open = self.touched = hold.unfinished
        self.aside = hold.aside

    def take(self, reason: str, printed: str) -> None:
        """Make the person the holder; ``printed`` is the text that the agent may have read before."""
        if not self.withheld:
            self._known = Known(printed)
            self.open = self.touched = False
        self.holder, self.reason = "person", reason

    def watch_only(self) -> None:
        """Make nobody the holder."""
        self.holder, self.reason = "watch", ""

    def hand_back(self, changed: str) -> None:
        """Make the agent the holder; ``changed`` are the new lines of the screen that it may see."""
        if self.withheld:
            self._end_line()
            self._count += 1
            self.handover = Handover(self._count, self.reason, self.redacted(changed))
        self.holder, self.reason = "agent", ""

    def typed(self, data: bytes) -> None:
        """Note the person's input while they hold the session."""
        if not self.withheld:
            return
        for part in _PASTE.split(data):
            if part in (_PASTED, PASTE_OVER):
                self._pasting = part == _PASTED
            elif without_releases(part):
                self._part(part)

    def end_paste(self) -> bool:
        """End an unfinished paste of the person; whether there was one."""
        pasting, self._pasting = self._pasting, False
        return pasting

    def _part(self, data: bytes) -> None:
        """Note keys, or pasted text, in which an Enter does not end the line."""
        keys = characters(moved(data))
        end = (
            None
            if self._pasting
            else max(keys.rfind(b"\r"), keys.rfind(b"\n"), keys.rfind(b"\x03"))
        )
        self.touched = True
        self.open = end is None or end < len(keys) - 1
        for at, piece in enumerate(_ENDS.split(keys)):
            if at:
                self._end_line()
            for byte in piece:
                if byte in _KILLS:
                    self._note()
                self._line.key(byte)

    def saw(self, line: str) -> None:
        """Redact a line that the screen or the shell showed while the person was the holder."""
        self.redact_line((self._known.without(line) if self._known is not None else line).strip())

    def redact_line(self, line: str) -> None:
        """Redact a text in all that the agent reads from now on."""
        if line and line not in self._typed:
            self._typed[line] = None
            self._redaction.add(line, self._known)

    def redacted(self, text: str, part: tuple[int, int] | None = None) -> str:
        """Return text, or a part of it, without the person's input."""
        for line in self._line.readings():
            self._redaction.add(line, self._known)
        return self._redaction.over(text, part)

    def _note(self) -> None:
        for line in self._line.readings():
            self.redact_line(line)

    def _end_line(self) -> None:
        self._note()
        self._line = TypedLine()
