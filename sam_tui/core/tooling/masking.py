"""Results without secrets, for the model and for people alike."""

from dataclasses import replace

from sam_tui.core.display import Diff, Display, Table, Terminal, Text
from sam_tui.core.shield import Shield
from sam_tui.core.tooling.contract import ToolResult


def masked(result: ToolResult, shield: Shield) -> ToolResult:
    """The result with secrets replaced in its text and in what is shown; data for programs stays."""
    text = shield.mask(result.text)
    if not text.count and not result.display:
        return replace(result, text=text.text)
    shown = tuple(_masked_display(display, shield) for display in result.display)
    return replace(result, text=text.text, display=shown)


def _masked_display(display: Display, shield: Shield) -> Display:
    match display:
        case Text(text=text):
            return replace(display, text=shield.mask(text).text)
        case Diff(unified=unified):
            return replace(display, unified=shield.mask(unified).text)
        case Terminal(command=command, output=output):
            return replace(
                display, command=shield.mask(command).text, output=shield.mask(output).text
            )
        case Table(rows=rows):
            cells = tuple(tuple(shield.mask(cell).text for cell in row) for row in rows)
            return replace(display, rows=cells)
        case _:
            return display
