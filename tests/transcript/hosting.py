"""A tiny host for the transcript."""

from itertools import groupby

from textual.app import App, ComposeResult
from textual.widgets import Input

from sam_tui.ui.transcript import Transcript
from sam_tui.ui.transcript.blocks import User


class Host(App[None]):
    """A transcript over an input line."""

    CSS = "Transcript { height: 1fr; } Input { dock: bottom; }"

    def __init__(self) -> None:
        super().__init__()
        self.pane = Transcript()
        self.messages: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.pane
        yield Input()

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False
        self.pane.focus()

    def on_cursor_pane_card_toggled(self, message: Transcript.CardToggled) -> None:
        self.messages.append(message)

    def on_cursor_pane_block_copied(self, message: Transcript.BlockCopied) -> None:
        self.messages.append(message)

    def seen(self) -> list[str]:
        """The rows on the screen, without the spaces at their ends."""
        height = self.pane.size.height
        strips = self.pane.render_lines(self.pane.size.region)
        assert len(strips) == height
        return [strip.text.rstrip() for strip in strips]

    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.seen())

    def everything(self) -> list[str]:
        """All rows of the conversation, drawn for the purpose."""
        rows: list[str] = []
        index = 0
        while index < len(self.pane.ledger):
            self.pane.open_answer(index)
            rows += [""] * self.pane.ledger[index].gap
            rows += [row.text.rstrip() for row in self.pane.rows_of(index)]
            index += 1
        return rows


def source_text(pane: Transcript) -> str:
    """The whole conversation as plain text: a message of the person's with ``>`` before its lines."""
    parts: list[str] = []
    for _, blocks in groupby(pane.ledger, key=lambda block: block.group):
        block = next(blocks)
        source = pane.source_of(block)
        if isinstance(block.content, User):
            source = "\n".join(f"> {line}" for line in source.split("\n"))
        parts.append(source.rstrip("\n"))
    return "\n\n".join(parts) + "\n" if parts else ""
