"""Handles sequences that the emulation library ignores, at their places in the output.

Soft reset, tab stops that survive a new size, saved titles, reports and settings that terminals of this
kind answer, modes with further effects, the cursor's left margin, and requests for the clipboard.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from sam_tui.adapters.terminal.emulator.colours import SpecialColours
from sam_tui.adapters.terminal.emulator.ghostty import (
    copied,
    protects,
    set_option,
    string,
    underline_colour,
)
from sam_tui.adapters.terminal.emulator.line_drawing import DRAW_LINES, LineDrawing
from sam_tui.adapters.terminal.emulator.modes import MARGINS, PrivateModes
from sam_tui.adapters.terminal.emulator.rectangles import Rectangles
from sam_tui.adapters.terminal.emulator.scanner import following, unfinished

_WRAP, _BACK_OVER_WRAPS = 7, (45, 1045)
_TITLES = 10
_LEVEL = b"62;1"
"""The conformance level in DECRQSS reports: that of a VT220."""
_SETTING = re.compile(rb"\x1bP1\$r([^\x1b]*)\x1b\\")
_SOFT_RESET = (
    b'\x1b[?25h\x1b[4l\x1b[?6l\x1b[?7h\x1b[?45l\x1b[?1045l\x1b[?1l\x1b>\x1b[?69l\x1b[r\x1b[m\x1b[0"q'
    b"\x0f\x1b(B\x1b)B\x1b*B\x1b+B\x1b[H\x1b7"
)
"""VT510 DECSTR, except that autowrap stays on as in xterm. The cursor is restored afterwards."""
_FULL_RESET = b"\x1bc\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\"
"""RIS, and resets of the colours that programs set, which the library leaves at RIS."""
_REPORTS = {
    b"[?15n": b"[?13n",  # DSR: no printer
    b"[?62n": b"[0*{",  # no room for macros
    b"[?25n": b"[?20n",  # keys are not locked
    b"[?26n": b"[?27;1;0;0n",  # a keyboard
    b"[?53n": b"[?50n",  # no locator
    b"[?55n": b"[?50n",
    b"[?56n": b"[?57;0n",
    b"[?75n": b"[?70n",  # nothing is wrong
    b"[?85n": b"[?83n",  # one session
    b"[11t": b"[1t",  # XTWINOPS: no icon
    b"[13t": b"[3;0;0t",
    b"[13;2t": b"[3;0;0t",
    b"[x": b"[2;1;1;128;128;1;0x",  # DECREQTPARM
    b"[0x": b"[2;1;1;128;128;1;0x",
    b"[1x": b"[3;1;1;128;128;1;0x",
}
"""Queries with a constant answer."""
Act = Callable[[bytes], None]


class Sequences:
    """Passes one terminal's output to the library, and carries out sequences that the library lacks.

    Its replies go to ``answers``. ``size`` is the terminal's, in cells and pixels.
    """

    def __init__(self, terminal: Any, answers: list[bytes], size: Any) -> None:
        self.clipboard: list[str] = []
        """The clipboards that programs want to read, oldest first; the reader empties the list."""
        self._terminal = terminal
        self._answers = answers
        self._size = size
        self._titles: list[bytes] = []
        self._extent = b"1"
        self._level = _LEVEL
        self._stops: dict[int, bool] = {}
        self._no_stops = False
        self._margins = False
        self._modes = PrivateModes(terminal)
        self._rest = b""
        self._drawing = LineDrawing()
        self._colours = SpecialColours(terminal.feed, self._say)
        self.rectangles = Rectangles(terminal, self._setting, self._drawn_sets)

    def feed(self, data: bytes) -> None:
        """Process output. The incomplete beginning of a sequence of ours waits for its rest."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        if b"\x7f" in data:
            data = data.replace(b"\x7f", b"")  # no character, but the library would show one
        drawing = self._drawing
        if b"\x1b" not in data and not (self._margins or drawing.active):
            self._terminal.feed(data)
            return
        self.rectangles.renew()
        cut = unfinished(data)
        blanked = drawing.active
        if blanked:
            cut = min(cut, drawing.unfinished(data))
        if cut < len(data):
            data, self._rest = data[:cut], data[cut:]
        if blanked:
            data = drawing.blanked(data)
        done = at = 0
        while match := following(data, at, margins=self._margins):
            at = match.end()
            body = match[0].removeprefix(b"\x1b")
            if body in DRAW_LINES and not blanked:
                self._terminal.feed(data[done : match.start()])
                drawing.blanked(match[0])  # the set is active from here on
                data, self._rest = data[match.start() :] + self._rest, b""
                self.feed(data)
                return
            act = self._act(body)
            if act is not None:
                self._terminal.feed(data[done : match.start()])
                done = at
                act(body)
        self._terminal.feed(data[done:] if done else data)

    def refit(self) -> None:
        """Restore the tab stops after a change of width, at which the library resets them."""
        if not (self._stops or self._no_stops):
            return
        column, _ = self._terminal.cursor
        stops = b"".join(
            b"\x1b[%dG%s" % (at + 1, b"\x1bH" if stop else b"\x1b[0g")
            for at, stop in self._stops.items()
            if at < self._size.columns
        )
        clear = b"\x1b[3g" if self._no_stops else b""
        self._terminal.feed(clear + stops + b"\x1b[%dG" % (column + 1))

    # ---- actions

    def _act(self, body: bytes) -> Act | None:
        """Return the action for a sequence (without its ESC); None leaves it to the library."""
        if body.endswith((b"h", b"l")):
            return self._switch if self._modes.changes_more(body) else None
        if body in _REPORTS:
            return self._report
        if body.endswith(b"$p"):
            return self._say_mode if self._mode_state(body) is not None else None
        handler = _HANDLERS.get(body)
        if handler is None:
            handler = next((candidate for form, candidate in _FORMS if form.fullmatch(body)), None)
        return None if handler is None else lambda body: handler(self, body)

    def count_once(self, body: bytes) -> None:
        """Treat a count of 0 as 1, where the library does nothing."""
        self._terminal.feed(b"\x1b[" + body[2:])

    def _say(self, answer: bytes) -> None:
        self._answers.append(b"\x1b" + answer)

    def _report(self, body: bytes) -> None:
        self._say(_REPORTS[body])

    def report_size(self, body: bytes) -> None:
        """Report the size of the screen in characters or of the text area in pixels: both are those of the
        pane."""
        size = self._size
        if body == b"[19t":
            self._say(b"[9;%d;%dt" % (size.rows, size.columns))
        else:
            kind = 5 if body == b"[15t" else 4
            height, width = size.rows * size.cell_height, size.columns * size.cell_width
            self._say(b"[%d;%d;%dt" % (kind, height, width))

    def report_cursor(self, _body: bytes) -> None:
        """DECXCPR, which counts as the library's own report does, from the region in origin mode."""
        self._terminal.feed(b"\x1b[6n")
        self._say(b"[?" + self._answers.pop().removeprefix(b"\x1b["))

    def _own_setting(self, name: bytes) -> bytes:
        """DECRQSS: the value of a setting that the library lacks or reports wrongly; empty for others."""
        size = self._size
        settings = {
            b'"p': self._level + b'"p',
            b"$|": b"%d$|" % size.columns,
            b"*|": b"%d*|" % size.rows,
            b"t": b"%dt" % size.rows,
            b"*x": self._extent + b"*x",
            b"$}": b"0$}",  # there is no status line
            b"$~": b"0$~",
        }
        if not self._terminal.mode(MARGINS):
            settings[b"s"] = b"1;%ds" % size.columns
        return settings.get(name, b"")

    def tell_setting(self, body: bytes) -> None:
        """DECRQSS. The answer never repeats any part of an unknown question."""
        setting = self._setting(body[3:-2])
        self._say((b"P1$r" + setting if setting else b"P0$r") + b"\x1b\\")

    def _setting(self, name: bytes) -> bytes:
        """The value of a setting as DECRQSS reports it; empty for an unknown one."""
        if reported := self._own_setting(name):
            return reported
        if name == b'"q':
            return b'%d"q' % protects(self._terminal)
        before = len(self._answers)
        self._terminal.feed(b"\x1bP$q" + name + b"\x1b\\")
        match = _SETTING.fullmatch(self._answers.pop()) if len(self._answers) > before else None
        setting = match[1] if match else b""
        colour = underline_colour(self._terminal).encode() if name == b"m" else b""
        return setting[:-1] + b";" + colour + b"m" if colour else setting

    def _mode_state(self, body: bytes) -> int | None:
        """DECRQM's answer where the library has none; 0 sends none: a VT100 does not know the question."""
        return self._modes.state(body) if self._level == _LEVEL else 0

    def _say_mode(self, body: bytes) -> None:
        if state := self._mode_state(body):
            self._say(body[:-2] + b";%d$y" % state)

    def report_checksum(self, body: bytes) -> None:
        """Report the checksum of macros (DECCKSR): there are none."""
        self._say(b"P" + (body[4:-1].partition(b";")[2] or b"0") + b"!~0000\x1b\\")

    def set_level(self, body: bytes) -> None:
        """DECSCL, which resets like DECSTR; a level above a VT220's has no effect."""
        if (level := body[1:-2].partition(b";")[0]) in (b"61", b"62"):
            self.reset_softly(body)
            self._level = level if level == b"61" else _LEVEL

    def special_colour(self, body: bytes) -> None:
        """Set, tell or set back colours that the library does not keep."""
        self._colours.act(body, self._plain_colour)

    def _plain_colour(self, number: int) -> bytes:
        """Return the library's colour of text (10) or ground (11)."""
        self._terminal.feed(b"\x1b]%d;?\x07" % number)
        return self._answers.pop()[len(b"\x1b]10;") : -1]

    def _drawn_sets(self) -> bytes:
        return self._drawing.designations if self._drawing.active else b""

    def tell_capabilities(self, body: bytes) -> None:
        """XTGETTCAP: answer for unknown names, too: the library would not, and the program would wait."""
        for name in body[3:-2].split(b";"):
            before = len(self._answers)
            self._terminal.feed(b"\x1bP+q" + name + b"\x1b\\")
            if len(self._answers) == before:
                self._say(b"P0+r\x1b\\")

    def ask_clipboard(self, body: bytes) -> None:
        """OSC 52 with a question."""
        self.clipboard.append(body.split(b";")[1].decode())

    def leave_icon(self, _body: bytes) -> None:
        """XTWINOPS: the icon has no title, and its stack is not the window's."""

    def set_extent(self, body: bytes) -> None:
        """Set whether attributes change in a rectangle or along lines (DECSACE), which is only reported."""
        self._extent = b"2" if body == b"[2*x" else b"1"

    def keep_title(self, body: bytes) -> None:
        """XTWINOPS: save the window's title, or restore the last one."""
        if body.startswith(b"[22"):
            title = copied(self._terminal.get("title", "GhosttyString"))
            self._titles = [*self._titles[1 - _TITLES :], title]
        elif self._titles:
            set_option(self._terminal, "TITLE", string(self._titles.pop()))

    def reset(self, _body: bytes) -> None:
        """RIS."""
        self._stops, self._no_stops = {}, False
        self._margins = False
        self._modes = PrivateModes(self._terminal)
        self._extent, self._level = b"1", _LEVEL
        self._colours = SpecialColours(self._terminal.feed, self._say)
        self._terminal.feed(_FULL_RESET)

    def reset_softly(self, _body: bytes) -> None:
        """DECSTR."""
        column, row = self._terminal.cursor
        self._margins = False
        self._terminal.feed(_SOFT_RESET + b"\x1b[%d;%dH" % (row + 1, column + 1))

    def set_stop(self, body: bytes) -> None:
        """HTS and TBC: set or clear the tab stop at the cursor."""
        column = self._terminal.cursor[0]
        self._stops[column] = body == b"H"
        # The library accepts the other spelling only with its parameter.
        self._terminal.feed(b"\x1bH" if self._stops[column] else b"\x1b[0g")

    def clear_stops(self, body: bytes) -> None:
        """TBC 3 and DECST8C: no tab stops, or those at every eighth column."""
        self._stops, self._no_stops = {}, body == b"[3g"
        self._terminal.feed(b"\x1b" + body)

    def _switch(self, body: bytes) -> None:
        """DECSET and DECRST."""
        self._modes.switch(body)
        self._margins = self._terminal.mode(MARGINS)

    # ---- left and right margins

    def go_back(self, body: bytes) -> None:
        """Backspace and CUB, which stop at the left margin; the library goes on to the edge."""
        count = int(body[1:-1] or 1) or 1 if body != b"\b" else 1
        left = self._left_margin()
        column = self._terminal.cursor[0]
        if 0 < left <= column and not self._goes_back_over_wraps():
            count = min(count, column - left)
        if count:
            self._terminal.feed(b"\b" if body == b"\b" else b"\x1b[%dD" % count)

    def _goes_back_over_wraps(self) -> bool:
        """Reverse wrap, in which the library knows of the margin."""
        mode = self._terminal.mode
        return mode(_WRAP) and any(map(mode, _BACK_OVER_WRAPS))

    def _left_margin(self) -> int:
        """The first column within the margins, from 0."""
        if not self._terminal.mode(MARGINS):
            return 0
        return int(self._setting(b"s").partition(b";")[0] or 1) - 1


_HANDLERS: Mapping[bytes, Callable[[Sequences, bytes], None]] = {
    b"c": Sequences.reset,
    b"[!p": Sequences.reset_softly,
    b"[?6n": Sequences.report_cursor,
    b"[14;2t": Sequences.report_size,
    b"[15t": Sequences.report_size,
    b"[19t": Sequences.report_size,
    b"6": lambda sequences, body: sequences.rectangles.shift(body),
    b"9": lambda sequences, body: sequences.rectangles.shift(body),
    b"H": Sequences.set_stop,
    b"[g": Sequences.set_stop,
    b"[0g": Sequences.set_stop,
    b"[3g": Sequences.clear_stops,
    b"[?5W": Sequences.clear_stops,
}
"""Handlers by the whole sequence; not in the terminal, so that its last reference frees it."""


def _act_in_rectangle(sequences: Sequences, body: bytes) -> None:
    sequences.rectangles.act(body)


_FORMS: tuple[tuple[re.Pattern[bytes], Callable[[Sequences, bytes], None]], ...] = tuple(
    (re.compile(form, re.DOTALL), handler)
    for form, handler in (
        (rb"\[0[LMPSTIZae]", Sequences.count_once),
        (rb"\]52;.*", Sequences.ask_clipboard),
        (rb"\](?:5|105|1[3-9]|11[3-9])[;\x07\x1b].*", Sequences.special_colour),
        (rb"\]4;(?:.*;)?(?:25[6-9]|260);.*", Sequences.special_colour),
        (rb"P\+q.*", Sequences.tell_capabilities),
        (rb"P\$q.*", Sequences.tell_setting),
        (rb"\[\d{0,5}(?:'[}~]| [@A])", _HANDLERS[b"6"]),
        (rb"\[[012]?\*x", Sequences.set_extent),
        (rb"\[\?63(?:;\d+)?n", Sequences.report_checksum),
        (rb'\[[0-9;]*"p', Sequences.set_level),
        (rb"\[[0-9;]*\$[xz{v]", _act_in_rectangle),
        (rb"\[2[23](?:;[02]?(?:;\d*)?)?t", Sequences.keep_title),
        (rb"\[2[23];1(?:;\d*)?t", Sequences.leave_icon),
        (rb"\x08|\[\d*D", Sequences.go_back),
    )
)
"""Handlers by the pattern of other sequences."""
