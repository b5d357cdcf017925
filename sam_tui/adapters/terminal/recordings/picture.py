"""Escape sequences that draw a screen unchanged on another terminal."""

import re

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import CellRun
from sam_tui.core.text.underlines import codes

_SGR = {
    **{"bold": "1", "dim": "2", "italic": "3", "underline": "4", "blink": "5"},
    **{"reverse": "7", "hidden": "8", "strike": "9"},
}
_PLAIN = "\x0f\x1b(B\x1b[4l\x1b[?6;69l\x1b[r\x1b[m"
"""Resets character sets, insert mode, margins and colours, which would change the picture."""
_NOT_SET = re.compile(r"\x1b\[\?(?:47|1047|1049|2026)h")
"""Modes that are not restored: the caller selects the screen, and a picture is drawn at once."""
_TOP, _LEFT = re.compile(r"\x1b\[(\d+);\d+r"), re.compile(r"\x1b\[(\d+);\d+s")


def drawn(screen: EmulatedScreen, *, underlines: bool = True) -> str:
    """Sequences that draw a screen and set its modes, margins, pen, character sets and cursor.

    Without ``underlines`` all of them are plain, for a terminal that draws no others.
    """
    rows = (
        f"\x1b[{number};1H" + "".join(_styled(run, underlines) for run in row)
        for number, row in enumerate(screen.all_rows(), 1)
        if any(run.text.strip() or run.background is not None for run in row)
    )
    settings = _NOT_SET.sub("", screen.settings())
    return f"{_PLAIN}\x1b[H\x1b[2J{''.join(rows)}\x1b[m{settings}{_cursor(screen, settings)}"


def _cursor(screen: EmulatedScreen, settings: str) -> str:
    """The sequences that place the cursor; origin mode (DECOM) counts from the margins."""
    if screen.cursor is None:
        return "\x1b[?25l"
    column, row = screen.cursor
    if "\x1b[?6h" in settings:
        top, left = _TOP.search(settings), _LEFT.search(settings)
        row -= int(top[1]) - 1 if top is not None else 0
        column -= int(left[1]) - 1 if left is not None else 0
    return f"\x1b[{row + 1};{column + 1}H"


def _styled(run: CellRun, underlines: bool) -> str:
    parameters = [_SGR[name] for name in sorted(run.attributes) if name in _SGR]
    for base, colour in (("38", run.foreground), ("48", run.background)):
        if isinstance(colour, int):
            parameters.append(f"{base};5;{colour}")
        elif colour is not None:
            parameters.append(";".join((base, "2", *map(str, colour))))
    if underlines:
        parameters.extend(codes(run.attributes, run.underline))
    return f"\x1b[{';'.join(('0', *parameters))}m{run.text}"
