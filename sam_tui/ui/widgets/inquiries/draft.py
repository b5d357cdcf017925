"""The content that a call would write, changed by the person before they allow it."""

from typing import cast

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import TextArea

from sam_tui.core.inquiry import Draft
from sam_tui.ui import programs
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.inquiries.card import CardWidth
from sam_tui.ui.widgets.key_frame import KeyFrame

_AROUND_TITLE = 4
"""The columns of the edge beside a path, minus those that ``CardWidth`` leaves free."""


class DraftScreen(ModalScreen[str | None]):
    """The whole proposed file. The result is the edited text; None leaves the proposal unchanged."""

    DEFAULT_CSS = """
    DraftScreen { align: center middle; background: $background 60%; }
    DraftScreen > Vertical { width: 94%; height: 90%; border: round $border; background: $surface; }
    DraftScreen TextArea { height: 1fr; border: none; padding: 0; background: $surface; }
    DraftScreen TextArea:focus { border: none; }
    """
    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+s", "keep", "Keep", show=False, priority=True),
        Binding("ctrl+g", "editor", "Editor", show=False, priority=True),
        Binding("escape,ctrl+c,ctrl+q", "leave", "Close", show=False, priority=True),
    ]

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self._draft = draft
        self._area = TextArea(draft.text, soft_wrap=False, show_line_numbers=True)

    def compose(self) -> ComposeResult:
        """The text in a frame."""
        with KeyFrame() as frame:
            room = self.screen.size.width * 9 // 10 - _AROUND_TITLE
            path = CardWidth(room).path(one_line(self._draft.path, 1000))
            frame.border_title = Content(f"change {path}")
            frame.say_keys("Ctrl+S saves it · Ctrl+G your editor · Esc drops it")
            yield self._area

    def on_mount(self) -> None:
        """Begin at the top."""
        self.set_focus(self._area)

    def action_keep(self) -> None:
        """Use the present text."""
        self.dismiss(self._area.text)

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(None)

    def action_editor(self) -> None:
        """Go on in the person's own editor."""
        self.run_worker(self._in_editor(), group="reader", exclusive=True)

    async def _in_editor(self) -> None:
        app = cast("App[None]", self.app)  # pyright: ignore[reportUnknownMemberType]
        text, trouble = await programs.edit(app, self._area.text)
        if trouble:
            self.notify(trouble, severity="warning", markup=False)
        else:
            self._area.text = text
