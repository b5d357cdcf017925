"""Encodes keys, mouse, focus and pastes for a terminal program, in the modes that it chose."""

from dataclasses import replace
from typing import Any

from sam_tui.adapters.terminal.emulator.ghostty import check, create, ffi, lib
from sam_tui.adapters.terminal.emulator.host import CELL_HEIGHT, CELL_WIDTH
from sam_tui.adapters.terminal.emulator.keys import ALT, CTRL, SHIFT, Stroke, control_byte, stroke
from sam_tui.core.ports.processes.screens import KeyPress, MouseInput, MouseMode

_BYTES = 128
_PASTE_BRACKETS = 16
_WHEEL_LINES = 3
_BUTTONS = {"left": "LEFT", "right": "RIGHT", "middle": "MIDDLE", "wheel_up": "FOUR"} | {
    "wheel_down": "FIVE",
    "wheel_left": "SIX",
    "wheel_right": "SEVEN",
}
_ACTIONS = {"press": "PRESS", "release": "RELEASE", "motion": "MOTION"}
_ALTERNATE_SCROLL = 1007
_MOUSE_MODES: tuple[tuple[int, MouseMode], ...] = (
    (1003, "motion"),
    (1002, "drag"),
    (1000, "click"),
    (9, "click"),
)
_FOCUS_EVENTS = 1004
_NEW_LINE = 20
_OTHER_KEY = b"\x1b[27;"
"""The beginning of Enter, Tab and the like with a modifier (modifyOtherKeys). The library always uses
this form, but only programs that requested it understand it."""
_ALT_A = Stroke("A", ALT, "a", ord("a"), 0)
"""Encoded in modifyOtherKeys only if the program requested it, and therefore used as a test."""
_F3_HELD = b"\x1b[13;"
"""The beginning of F3 with a modifier in kitty's protocol, which the library uses; terminfo: ``R``."""
_ESCAPE = Stroke("ESCAPE", 0, "", 0, 0)
"""Encoded in kitty's protocol only if the program requested it, and therefore used as a test."""
_CONTROLS = dict.fromkeys(range(0x80, 0xA0), " ")
_BRACKETED_PASTE = 2004


class InputEncoder:
    """Encodes input for one terminal."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._keys = create("GhosttyKeyEncoder", "key_encoder", self)
        self._key = create("GhosttyKeyEvent", "key_event", self)
        self._mouse = create("GhosttyMouseEncoder", "mouse_encoder", self)
        self._click = create("GhosttyMouseEvent", "mouse_event", self)
        self._area = ffi.new("GhosttyMouseEncoderSize*")
        self._area.size = ffi.sizeof("GhosttyMouseEncoderSize")
        self._pressed = ffi.new("bool*")
        self._bytes = ffi.new(f"char[{_BYTES}]")
        self._written = ffi.new("size_t*")
        self._moved: MouseInput | None = None

    @property
    def mouse_mode(self) -> MouseMode:
        """The mouse events that the program requested: none, click, drag or motion."""
        for mode, name in _MOUSE_MODES:
            if self._terminal.mode(mode):
                return name
        return "none"

    def key(self, press: KeyPress) -> bytes:
        """The bytes for a key; none for an unknown one.

        An ambiguous key is passed on as it came: an escape before a key is Alt, or the Escape key and then
        another one, which the program's own form for Alt would lose; ``\\b`` is Ctrl+H or a terminal's
        Backspace.
        """
        came = press.character or ""
        if came == "\b" or (len(came) == 2 and came.startswith("\x1b")):
            return came.encode()
        key_stroke = stroke(press.key, press.character)
        if key_stroke is None:
            return b""
        encoded = self._encoded(key_stroke)
        if encoded.startswith(_OTHER_KEY) and not self._encoded(_ALT_A).startswith(_OTHER_KEY):
            encoded = self._encoded(replace(key_stroke, modifiers=key_stroke.modifiers & ALT))
        if encoded.startswith(_F3_HELD) and not self._encoded(_ESCAPE).endswith(b"u"):
            return encoded.replace(_F3_HELD, b"\x1b[1;").replace(b"~", b"R")
        if encoded == b"\r" and self._terminal.mode(_NEW_LINE, ansi=True):
            return b"\r\n"
        return encoded or control_byte(key_stroke)

    def _encoded(self, key_stroke: Stroke) -> bytes:
        event, text = self._key[0], key_stroke.text.encode()
        # The event keeps the pointer only, so the text has to live until it is encoded.
        buffer = ffi.new("char[]", text) if text else ffi.NULL
        lib.ghostty_key_event_set_action(event, lib.GHOSTTY_KEY_ACTION_PRESS)
        lib.ghostty_key_event_set_key(event, getattr(lib, f"GHOSTTY_KEY_{key_stroke.code}"))
        lib.ghostty_key_event_set_mods(event, key_stroke.modifiers)
        lib.ghostty_key_event_set_consumed_mods(event, key_stroke.consumed)
        lib.ghostty_key_event_set_utf8(event, buffer, len(text))
        lib.ghostty_key_event_set_unshifted_codepoint(event, key_stroke.unshifted)
        lib.ghostty_key_encoder_setopt_from_terminal(self._keys[0], self._terminal._t[0])
        check(
            lib.ghostty_key_encoder_encode(
                self._keys[0], event, self._bytes, _BYTES, self._written
            ),
            "key",
        )
        return bytes(ffi.buffer(self._bytes, self._written[0]))

    def mouse(self, mouse_event: MouseInput) -> bytes:
        """The bytes for a mouse event; none where the program does not want it.

        On the alternate screen the wheel is cursor keys for a program that knows no mouse.
        """
        if self.mouse_mode == "none":
            return self._wheel_keys(mouse_event)
        # A program gets no report of a move within a cell.
        last, self._moved = self._moved, mouse_event if mouse_event.action == "motion" else None
        if last == mouse_event:
            return b""
        encoder, event = self._mouse[0], self._click[0]
        columns, rows = int(self._terminal.get("cols")), int(self._terminal.get("rows"))
        area = self._area
        area.screen_width, area.screen_height = columns * CELL_WIDTH, rows * CELL_HEIGHT
        area.cell_width, area.cell_height = CELL_WIDTH, CELL_HEIGHT
        lib.ghostty_mouse_encoder_setopt_from_terminal(encoder, self._terminal._t[0])
        lib.ghostty_mouse_encoder_setopt(encoder, lib.GHOSTTY_MOUSE_ENCODER_OPT_SIZE, area)
        self._pressed[0] = mouse_event.button is not None and mouse_event.action != "release"
        lib.ghostty_mouse_encoder_setopt(
            encoder, lib.GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED, self._pressed
        )
        action = getattr(lib, f"GHOSTTY_MOUSE_ACTION_{_ACTIONS[mouse_event.action]}")
        lib.ghostty_mouse_event_set_action(event, action)
        if mouse_event.button is None:
            lib.ghostty_mouse_event_clear_button(event)
        else:
            button = getattr(lib, f"GHOSTTY_MOUSE_BUTTON_{_BUTTONS[mouse_event.button]}")
            lib.ghostty_mouse_event_set_button(event, button)
        modifiers = SHIFT * mouse_event.shift | CTRL * mouse_event.ctrl | ALT * mouse_event.alt
        lib.ghostty_mouse_event_set_mods(event, modifiers)
        position = ffi.new("GhosttyMousePosition*")
        column = min(max(mouse_event.column, 0), columns - 1)
        row = min(max(mouse_event.row, 0), rows - 1)
        position.x, position.y = (column + 0.5) * CELL_WIDTH, (row + 0.5) * CELL_HEIGHT
        lib.ghostty_mouse_event_set_position(event, position[0])
        check(
            lib.ghostty_mouse_encoder_encode(encoder, event, self._bytes, _BYTES, self._written),
            "mouse",
        )
        return bytes(ffi.buffer(self._bytes, self._written[0]))

    def focus(self, *, gained: bool) -> bytes:
        """The bytes for gaining or losing the focus; none where the program does not ask."""
        if not self._terminal.mode(_FOCUS_EVENTS):
            return b""
        event = lib.GHOSTTY_FOCUS_GAINED if gained else lib.GHOSTTY_FOCUS_LOST
        check(lib.ghostty_focus_encode(event, self._bytes, _BYTES, self._written), "focus")
        return bytes(ffi.buffer(self._bytes, self._written[0]))

    def paste(self, text: str) -> bytes:
        """The bytes for pasted text, bracketed where the program asked for that.

        Control characters that could end the brackets or act as keys are replaced, those of one byte
        by the library. The two that end a line elsewhere are one Enter.
        """
        data = text.replace("\r\n", "\n").translate(_CONTROLS).encode(errors="replace")
        if not data:
            return b""
        source = ffi.new("char[]", data)  # a copy: it is edited in place
        size = len(data) * 2 + _PASTE_BRACKETS
        target = ffi.new("char[]", size)
        bracketed = self._terminal.mode(_BRACKETED_PASTE)
        check(
            lib.ghostty_paste_encode(source, len(data), bracketed, target, size, self._written),
            "paste",
        )
        return bytes(ffi.buffer(target, self._written[0]))

    def _wheel_keys(self, event: MouseInput) -> bytes:
        key = {"wheel_up": "up", "wheel_down": "down"}.get(event.button or "")
        alternate = self._terminal.get("active_screen", "GhosttyTerminalScreen")
        if key is None or event.action != "press" or not alternate:
            return b""
        if not self._terminal.mode(_ALTERNATE_SCROLL):
            return b""
        return self.key(KeyPress(key, None)) * _WHEEL_LINES
