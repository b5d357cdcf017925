"""The block cursor: keys and clicks that scroll, open, close and copy blocks."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, cast

from textual import events
from textual.actions import SkipAction
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message

from sam_tui.ui.messages import ActionAsked
from sam_tui.ui.transcript.blocks import Block, expanded
from sam_tui.ui.transcript.pane import BlockPane


class CursorPane(BlockPane):
    """A pane whose blocks the keyboard and the mouse can reach."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", "up", show=False),
        Binding("down", "scroll_down", "down", show=False),
        Binding("pageup", "page_up", "page up", show=False),
        Binding("pagedown", "page_down", "page down", show=False),
        Binding("home,ctrl+home", "scroll_home", "top", show=False),
        Binding("end,ctrl+end", "scroll_end", "end", show=False),
        Binding("tab", "cursor(1)", "next block", show=False),
        Binding("shift+tab", "cursor(-1)", "previous block", show=False),
        Binding("enter", "fold", "open or close", show=False),
        Binding("alt+c", "copy_block", "copy block", show=False),
        Binding("alt+f", "fork_block", "fork here", show=False),
        Binding("alt+e", "edit_block", "open in the editor", show=False),
        Binding("alt+s", "export_block", "write to a file", show=False),
    ]

    class CardToggled(Message):
        """A card was opened or closed; ``group`` names it."""

        def __init__(self, pane: "CursorPane", group: int, *, opened: bool) -> None:
            super().__init__()
            self.pane = pane
            self.group = group
            self.opened = opened

        @property
        def control(self) -> "CursorPane":
            """The transcript."""
            return self.pane

    class BlockCopied(Message):
        """A block's source was put on the clipboard."""

        def __init__(self, pane: "CursorPane", text: str) -> None:
            super().__init__()
            self.pane = pane
            self.text = text

        @property
        def control(self) -> "CursorPane":
            """The transcript."""
            return self.pane

    @abstractmethod
    def source_of(self, block: Block) -> str:
        """The source of the whole group that a block belongs to."""

    def action_scroll_up(self) -> None:
        """Scroll up by one row."""
        self.move(-1)

    def action_scroll_down(self) -> None:
        """Scroll down by one row."""
        self.move(1)

    def action_page_up(self) -> None:
        """One screen up, less two rows."""
        self.move(2 - self.size.height)

    def action_page_down(self) -> None:
        """One screen down, less two rows."""
        self.move(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """To the beginning."""
        self.scroll_to(y=0, animate=False)

    def action_scroll_end(self) -> None:
        """To the end, and stay there."""
        self.jump_to_end()

    def action_cursor(self, step: int) -> None:
        """Move the block cursor; beyond the last block the key goes on to the screen."""
        index = self._next_group(step)
        if index is None:
            raise SkipAction
        self.cursor = self.ledger[index].group
        self._show_block(index)
        self.refresh()

    def _next_group(self, step: int) -> int | None:
        """The first block of the next group; from no cursor, the last seen or first seen block."""
        count = len(self.ledger)
        index = self._cursor_index()
        if not count:
            return None
        if index is None:
            edge = self.scroll_offset.y + (self.size.height - 1 if step < 0 else 0)
            index = self.ledger.at(edge)[0]
        else:
            group = self.cursor
            while 0 <= index < count and self.ledger[index].group == group:
                index += step
        if not 0 <= index < count:
            return None
        while index and self.ledger[index - 1].group == self.ledger[index].group:
            index -= 1
        return index

    def _cursor_index(self) -> int | None:
        """The first block of the cursor's group."""
        if self.cursor is None:
            return None
        return next((i for i, b in enumerate(self.ledger) if b.group == self.cursor), None)

    def _show_block(self, index: int) -> None:
        """Scroll as little as it takes to see the block's first rows."""
        top = self.ledger.top(index)
        view, height = self.scroll_offset.y, self.size.height
        bottom = top + min(self.ledger.height(index), height)
        if top < view:
            self.move(top - view)
        elif bottom > view + height:
            self.move(bottom - view - height)

    def action_fold(self) -> None:
        """Open or close the block under the cursor: of an answer, its large tables."""
        parts = [n for n, b in enumerate(self.ledger) if b.group == self.cursor and b.foldable]
        if self.cursor is None or not parts:
            raise SkipAction
        opened = not expanded(self.ledger[parts[0]])
        for index in reversed(parts):
            if expanded(self.ledger[index]) != opened:
                self.toggle_block(index)

    def toggle_block(self, index: int) -> None:
        """Open or close a block; its first row stays where it is."""
        block = self.ledger[index]
        opened = not expanded(block)
        screen_row = self.ledger.top(index) - self.scroll_offset.y
        self.ledger.update(index, replace(block, expanded=opened))
        if not 0 <= screen_row < self.size.height:
            self.settle()
        else:
            self.hold(index, screen_row)
        self.post_message(self.CardToggled(self, block.group, opened=opened))

    def action_copy_block(self) -> None:
        """Copy the source of the block under the cursor."""
        index = self._cursor_index()
        if index is None:
            raise SkipAction
        from sam_tui.ui.transcript.render.safe_text import clean

        text = clean(self.source_of(self.ledger[index]))
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType]
        app.copy_to_clipboard(text)
        self.post_message(self.BlockCopied(self, text))

    def action_fork_block(self) -> None:
        """Ask for a copy of the conversation that ends at the block under the cursor."""
        self.post_message(ActionAsked("fork_block"))

    def action_edit_block(self) -> None:
        """Ask for the file of the block under the cursor, or its text, in the editor."""
        self.post_message(ActionAsked("edit_block"))

    def action_export_block(self) -> None:
        """Ask for a file to write the block under the cursor to."""
        self.post_message(ActionAsked("export_block"))

    def marked(self) -> tuple[list[Block], list[Block]]:
        """The first block of each group: up to the cursor's, and behind it, in order."""
        first: dict[int, Block] = {}
        for block in self.ledger:
            first.setdefault(block.group, block)
        order = list(first)
        end = order.index(self.cursor) + 1 if self.cursor in first else 0
        blocks = list(first.values())
        return blocks[:end], blocks[end:]

    def on_click(self, event: events.Click) -> None:
        """Jump to the end on the marker of unread lines; open or close a card on its head."""
        if self.text_selection is not None:
            return
        if self.hint_at(event.x, event.y):
            self.jump_to_end()
            return
        hit = self.locate(event.y)
        if hit is None or hit[1] < 0:
            return
        index, row = hit
        block = self.ledger[index]
        self.cursor = block.group
        extract = self.rows_of(index)[row].text.strip().startswith("… ")
        if block.foldable and (row == 0 or extract):
            self.toggle_block(index)
        self.refresh()
