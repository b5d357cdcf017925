"""The commands that fit what was typed after a slash."""

from collections.abc import Sequence

from textual.content import Content

from sam_tui.ui.actions import WorkbenchAction, spelled_all
from sam_tui.ui.widgets.hint_menu import HintMenu

_WIDEST = 18
"""Columns of commands after which the titles begin, but for longer ones."""


class SlashMenu(HintMenu[WorkbenchAction]):
    """Commands with title and keys, and below them what the marked one does, whole."""

    def __init__(self) -> None:
        super().__init__(_command_row, lambda action: action.help, id="hints")


def _command_row(action: WorkbenchAction, actions: Sequence[WorkbenchAction], marked: bool) -> Content:
    width = min(_WIDEST, max(len(_command(action)) for action in actions))
    keys = f"  {spelled_all(action.keys)}" if action.keys else ""
    return Content.assemble(
        (f"{_command(action):<{width}}  ", "bold $primary" if marked else "$primary"),
        (action.title, "$foreground" if marked else "$text-muted"),
        (keys, "$text-disabled"),
    )


def _command(action: WorkbenchAction) -> str:
    return f"/{action.slash} {action.argument}".strip()
