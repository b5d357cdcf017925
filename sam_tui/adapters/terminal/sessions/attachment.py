"""Shows a held session, or a recording, in the terminal in which a command was started."""

import asyncio
import os
import re
import signal
import sys
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager, suppress

from sam_tui.adapters.terminal.holders.client import HeldProcess, Holders, KeptSession
from sam_tui.adapters.terminal.person_input.decoder import (
    QUESTION,
    without_releases,
    without_replies,
)
from sam_tui.adapters.terminal.person_input.session_holder import NOT_RECORDED, SessionHolder
from sam_tui.adapters.terminal.recordings.asciicast import Recording, Stage, play
from sam_tui.adapters.terminal.sessions.safe_output import SafeOutput
from sam_tui.adapters.terminal.shell_integration.log import told_command
from sam_tui.adapters.terminal.shell_integration.marks import Mark, MarkStream, lost_mark
from sam_tui.core.text.underlines import drawn_by

_LEAVE = re.compile(rb"\x1d|\x1b\[93(?::\d*)*;(?:5|69|133|197)(?::[12]?)?(?:;\d*)?u|\x1b\[27;5;93~")
"""Ctrl+] as a byte, in kitty's protocol (also with Caps Lock or Num Lock), and in modifyOtherKeys. Pressed
twice it detaches, as in the workbench, and the session continues."""
_WITHIN = 0.6
"""Seconds in which the second Ctrl+] must follow, as in the workbench."""
_OPENING = b"\x1b[?1049h\x1b[22;0t\x1b]2;sam-tui: Ctrl+] twice leaves\a\x1b[H\x1b[2J"
"""Switches to the alternate screen, so that no output of the session remains, and stores the title."""
_CLOSING = b"\x1b[<99u\x1b[23;0t"
"""Drops keyboard modes that programs pushed on the alternate screen's stack, and restores the title."""
_MODES = re.compile(rb"\x1b\[\?([\d;]+)([hl])|\x1bc")
_SCREENS = (b"47", b"1047", b"1049")
"""Modes that switch between the two screens."""
_CUT = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]?)?\Z")
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_READ = 64 * 1024
_LAST_READS = 256
_UNREAD_LIMIT = 1024 * 1024
_CLEAR = (
    b"\x1b[!p\x1b[r\x1b[4;20l\x1b[?1;5;6;66l\x1b[?7h\x1b>\x0f\x1b(B\x1b[=0;1u\x1b[?1049l\x1b[?9;1000;1002;1003;1004;1005;1006;1015;1016;2004;2026;2031;2048l"
    b"\x1b[>4m\x1b[0 q\x1b[?25h\x1b[m"
)
"""Resets what a program may have changed: modes, keyboard modes, the cursor's shape, attributes."""


async def attach(holders: Holders, terminal: KeptSession) -> int | None:
    """Stay attached to a held session until it ends, Ctrl+] is pressed twice, or input ends. Returns its
    exit code, None while it runs.

    From the first key until they leave, the person is the holder; the agent sees nothing of that.
    Raises ``ToolError`` if another program has the session.
    """
    process = await holders.attach(terminal)
    loop = asyncio.get_running_loop()
    keys = sys.stdin.fileno()
    attachment = _Attachment(process, terminal.origin.nonce)
    # Before this terminal is changed: a signal that ends the program would leave it so.
    for ending in _ENDINGS:
        loop.add_signal_handler(ending, attachment.over.set)
    try:
        with _raw():
            attachment.begin()
            loop.add_reader(process.fd, attachment.on_message)
            loop.add_reader(keys, attachment.typed)
            loop.add_signal_handler(signal.SIGWINCH, attachment.fit)
            try:
                await attachment.over.wait()
            finally:
                loop.remove_reader(process.fd)
                loop.remove_reader(keys)
                loop.remove_writer(process.fd)
                loop.remove_signal_handler(signal.SIGWINCH)
                # The last output is drawn before this terminal is restored.
                ended = attachment.ended
                attachment.leave()
                attachment.draw(_CLOSING + _CLEAR)
    finally:
        for ending in _ENDINGS:
            loop.remove_signal_handler(ending)
    return process.reap() if ended else None


class _Attachment:
    """A person's connection to a held session."""

    def __init__(self, process: HeldProcess, nonce: str) -> None:
        # The library takes a tenth of a second to load, and recordings are played without.
        from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen

        self.over = asyncio.Event()
        self.ended = False
        self._process = process
        self._nonce = nonce
        self._marks = MarkStream(nonce)
        self._safe = SafeOutput()
        self._cut = b""
        self._unwritten = bytearray()
        size = os.get_terminal_size(sys.stdin.fileno())
        self._screen = EmulatedScreen(size.columns, size.lines)
        self._underlines = drawn_by(os.environ)
        self._first = b""
        """The first Ctrl+], while the second one is awaited."""
        self._timer: asyncio.TimerHandle | None = None
        self._at_prompt = False
        """Whether the shell reads a command line."""
        self._before = process.earlier_hold.holder
        self._session_holder = SessionHolder(personal=False)
        self._session_holder.resume(process.earlier_hold)

    def begin(self) -> None:
        """Draw the earlier output on the alternate screen, and give the session this terminal's size."""
        self.draw(_OPENING)
        # Questions in earlier output get no answer, which would be typed into the session.
        self._show(QUESTION.sub(b"", self._process.ring.content()))
        self.fit()

    def _show(self, data: bytes) -> None:
        """Draw output of the session without the marks of shell integration."""
        for part in self._marks.split(data):
            if not isinstance(part, Mark):
                self._draw(self._safe(part))
                continue
            if part.kind in "BCD":
                self._at_prompt = part.kind != "C"
            if self._session_holder.withheld and part.kind == "C":
                self._session_holder.saw(told_command(part.text))

    def _draw(self, data: bytes) -> None:
        """Draw output here, where both screens of the session are on one."""
        data, self._cut = self._cut + data, b""
        if (cut := _CUT.search(data)) is not None:
            data, self._cut = data[: cut.start()], data[cut.start() :]
        drawn_data = _MODES.sub(_on_one_screen, data)
        self._screen.feed(data)
        self.draw(drawn_data)
        if drawn_data != data:
            self._redraw()

    def _redraw(self) -> None:
        from sam_tui.adapters.terminal.recordings.picture import drawn

        self.draw(drawn(self._screen, underlines=self._underlines).encode())

    def draw(self, data: bytes) -> None:
        """Write to this terminal; if it is gone, detach."""
        try:
            _write(data)
        except OSError:
            self.over.set()

    def on_message(self) -> bool:
        """The session printed something, or ended; False when there is no more now."""
        try:
            data = os.read(self._process.fd, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.ended = True
            self.over.set()
            return False
        if not self._session_holder.withheld:
            self._process.on_output(data)
        self._show(data)
        return True

    def typed(self) -> None:
        """The person typed something."""
        try:
            data = os.read(sys.stdin.fileno(), _READ)
        except OSError:
            data = b""  # this terminal is gone
        at = 0
        for match in _LEAVE.finditer(data):
            self._pass_on(data[at : match.start()])
            at = match.end()
            if self._first:
                self._first = b""
                self.over.set()
                return
            self._first = match[0]
            self._timer = asyncio.get_running_loop().call_later(_WITHIN, self._stands_alone)
        self._pass_on(data[at:])
        if not data:
            self.over.set()

    def _pass_on(self, data: bytes) -> None:
        """Type keys, and pass on the terminal's own messages, which do not complete a Ctrl+] chord."""
        if without_releases(without_replies(data)):
            self._release(followed=True)
        if data:
            self._type(data)

    def _stands_alone(self) -> None:
        self._release(followed=False)

    def _release(self, *, followed: bool) -> None:
        """A Ctrl+] was not the first of two: another key followed, or none in time.

        A line editor would search for the next character, so it gets it as in the workbench: only where
        that was waited for, and a shell's never.
        """
        if self._timer is not None:
            self._timer.cancel()
        first, self._first = self._first, b""
        if first and (self._screen.alternate or not (followed or self._at_prompt)):
            self._type(first)

    def _type(self, data: bytes) -> None:
        if keys := without_replies(data):
            self._take()
            self._session_holder.typed(keys)
            self._process.hold(self._session_holder.hold)
        # More than a program that reads nothing will ever take is lost, as in a terminal.
        if len(self._unwritten) + len(data) <= _UNREAD_LIMIT:
            self._unwritten += data
            self._write_on()

    def _write_on(self) -> None:
        """Type the waiting input as far as the session accepts it; the rest when its program reads."""
        loop, handle = asyncio.get_running_loop(), self._process.fd
        try:
            del self._unwritten[: os.write(handle, self._unwritten)]
        except BlockingIOError:
            pass
        except OSError:
            self._unwritten.clear()  # it is ending, which is reported elsewhere
        if self._unwritten:
            loop.add_writer(handle, self._write_on)
        else:
            loop.remove_writer(handle)

    def leave(self) -> None:
        """Detach from a running session, and return it to its former holder."""
        if self.ended:
            return
        if self._session_holder.withheld and self._before != "person":
            self._catch_up()
            self._process.on_output(lost_mark(self._nonce))
            self._session_holder.hand_back("")
            if self._before == "watch":
                self._session_holder.watch_only()
            self._process.hold(self._session_holder.hold)
        self._process.leave()

    def _take(self) -> None:
        """Make the person the holder; output until now stays visible to the agent."""
        if not self._session_holder.withheld:
            self._catch_up()
            self._process.on_output(NOT_RECORDED.encode())
            self._session_holder.take("", "")

    def _catch_up(self) -> None:
        for _ in range(_LAST_READS):
            if not self.on_message():
                break

    def fit(self) -> None:
        """Give the session the size of this terminal."""
        size = os.get_terminal_size(sys.stdin.fileno())
        self._process.resize(size.columns, size.lines)
        self._screen.resize(size.columns, size.lines)
        self._redraw()


def _on_one_screen(match: re.Match[bytes]) -> bytes:
    """The sequence without modes that switch screens, as a full reset does, which empties both."""
    if match[1] is None:
        return _CLEAR.replace(b"\x1b[?1049l", b"\x1b[H\x1b[2J")
    left = [mode for mode in match[1].split(b";") if mode not in _SCREENS]
    return b"\x1b[?%s%s" % (b";".join(left), match[2]) if left else b""


async def show(recording: Recording, *, speed: float, longest_pause: float) -> None:
    """Play a recording here. On a terminal a space pauses and goes on, and q ends it."""
    running = asyncio.Event()
    running.set()
    loop = asyncio.get_running_loop()
    interactive = sys.stdin.isatty()
    safe = SafeOutput()
    # Questions are left out: their program is gone, and the answers would be typed here.
    stage = Stage(lambda data: _write(QUESTION.sub(b"", safe(data))), lambda _columns, _rows: None)
    playing = loop.create_task(
        play(recording, stage, speed=speed, longest_pause=longest_pause, running=running)
    )

    def typed() -> None:
        # Only a key by itself: a terminal's answers to the recording come here too.
        match os.read(sys.stdin.fileno(), _READ):
            case b" ":
                running.clear() if running.is_set() else running.set()
            case b"q" | b"\x03" | b"":
                playing.cancel()
            case _:
                pass

    with _raw(when=interactive):
        if interactive:
            loop.add_reader(sys.stdin.fileno(), typed)
        try:
            await asyncio.wait([playing])
        finally:
            if interactive:
                loop.remove_reader(sys.stdin.fileno())
            playing.cancel()
            if sys.stdout.isatty():
                _write(_CLEAR)
    if not playing.cancelled() and (fault := playing.exception()) is not None:
        raise fault


def _write(data: bytes) -> None:
    handle = sys.stdout.fileno()
    while data:
        data = data[os.write(handle, data) :]


@contextmanager
def _raw(*, when: bool = True) -> Generator[None]:
    """Put the terminal into raw mode during a block, if ``when``."""
    if not when:
        yield
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    tty.setraw(handle, termios.TCSANOW)
    try:
        yield
    finally:
        with suppress(termios.error):  # it may be gone
            termios.tcsetattr(handle, termios.TCSADRAIN, before)
