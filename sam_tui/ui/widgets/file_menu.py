"""The files that fit what was typed after an ``@``."""

from collections.abc import Sequence

from textual.content import Content

from sam_tui.ui.plain import visible_line
from sam_tui.ui.widgets.hint_menu import HintMenu


class FileMenu(HintMenu[str]):
    """Paths in the workspace, the name of each in front of its folder."""

    def __init__(self) -> None:
        super().__init__(_file_row, id="file-hints")


def _file_row(path: str, entries: Sequence[str], marked: bool) -> Content:
    folder, _, name = path.rpartition("/")
    return Content.assemble(
        (visible_line(name), "bold $primary" if marked else "$primary"),
        (f"  {visible_line(folder)}", "$text-muted"),
    )
