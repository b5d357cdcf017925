"""What draws a screen as it is on another terminal."""

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import CellRun
from sam_tui.core.text.underlines import codes

_SGR = {
    **{"bold": "1", "dim": "2", "italic": "3", "underline": "4", "blink": "5"},
    **{"reverse": "7", "hidden": "8", "strike": "9"},
}


def drawn(screen: EmulatedScreen, *, underlines: bool = True) -> str:
    """Sequences that draw a screen, with its cursor.

    Without ``underlines`` all of them are plain, for a terminal that draws no others.
    """
    rows = (
        f"\x1b[{number};1H" + "".join(_styled(run, underlines) for run in row)
        for number, row in enumerate(screen.all_rows(), 1)
        if any(run.text.strip() or run.background is not None for run in row)
    )
    cursor = screen.cursor
    cursor_sequence = "\x1b[?25l" if cursor is None else f"\x1b[{cursor[1] + 1};{cursor[0] + 1}H"
    return f"\x1b[m\x1b[H\x1b[2J{''.join(rows)}\x1b[m{cursor_sequence}"


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
