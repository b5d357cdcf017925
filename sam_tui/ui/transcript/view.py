"""The conversation pane: messages, answers and calls as blocks of one scroll view."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic, thread_time
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.notifications import SeverityLevel

from sam_tui.core.errors import SamError
from sam_tui.core.ids import CallId
from sam_tui.ui.timers import after
from sam_tui.ui.transcript import blocks
from sam_tui.ui.transcript.cursor import CursorPane

if TYPE_CHECKING:
    from sam_tui.core.display import Display
    from sam_tui.core.events import ToolFinished
    from sam_tui.core.messages import Image, Message
    from sam_tui.core.ports.storage import CallDisplay, StoredNotice
    from sam_tui.ui.transcript.render.rows import Row
    from sam_tui.ui.transcript.stream import LiveAnswer

FRAME = 1 / 16
"""The least seconds between two drawings of streaming text."""
SHARE = 4
"""After a frame that took t seconds, none is drawn for ``SHARE * t``, so that keys are handled first."""
OUTPUT_KEPT = 64_000
"""The most characters of a running call's output that are stored: the last ones."""
_LATER = 1 << 24
"""Orders reserved after an unfinished answer for its parts."""

_SEVERITIES: Mapping[str, SeverityLevel] = {"warning": "warning", "error": "error"}


class Transcript(CursorPane):
    """The conversation. Texts are shown literally, never parsed as markup."""

    def __init__(
        self, *, name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._order = 0
        self._groups = 0
        self._answer: LiveAnswer | None = None
        self._thought: tuple[int, list[str]] | None = None
        self._thought_dirty = False
        self._calls: dict[CallId, int] = {}
        self._outputs: dict[CallId, str] = {}
        self._dirty_calls: set[CallId] = set()
        self._sources: dict[int, str] = {}
        self._step: set[int] = set()
        self._rest = 0.0
        """The time before which no frame is drawn."""
        self.printed: set[int] = set()
        """Groups of which a part is already in the terminal's scrollback."""
        self.at_rest = True
        """Whether no frame is due."""
        self.notice_stores: list[Callable[[str, str], object]] = []
        """Called with level and text of each notice."""

    # -- what happens ----------------------------------------------------------------------------

    def add_user(self, text: str) -> None:
        """Show the person's message at the end."""
        self.end_answer()
        self.following = True
        self._append(blocks.User(text))

    def begin_step(self) -> None:
        """A request was sent: its streamed text may still be dropped."""
        self.end_answer()
        self._step = set()

    def void_step(self) -> None:
        """Drop everything streamed since ``begin_step``: the request is tried again."""
        self.end_answer()
        for index in range(len(self.ledger) - 1, -1, -1):
            if self.ledger[index].group in self._step:
                self.remove_block(index)
        for group in self._step:
            self._sources.pop(group, None)
        if self._step & self.printed:
            self.add_remark("The answer above was cut off and starts again.")
        self._step = set()
        self.settle()

    def stream_text(self, text: str) -> None:
        """Add a piece of the answer; the next frame draws it."""
        if not text:
            return
        if self._answer is None:
            self._end_thought()
            from sam_tui.ui.transcript.stream import LiveAnswer

            self._answer = LiveAnswer(self._new_group(), self._new_order())
            self._order += _LATER
            self._step.add(self._answer.group)
        self._answer.put(text)
        self._wake()

    def stream_reasoning(self, text: str) -> None:
        """Add a piece of the model's reasoning."""
        if not text:
            return
        if self._thought is None:
            self._end_text()
            block = self._append(blocks.Reasoning("", finished=False))
            self._step.add(block.group)
            self._thought = (block.order, [])
        self._thought[1].append(text)
        self._thought_dirty = True
        self._wake()

    def end_answer(self) -> None:
        """Freeze the open block: answer and reasoning are complete."""
        self._end_thought()
        self._end_text()

    def start_tool(self, call: CallId, operation: str, summary: str, arguments: str) -> None:
        """Add a card for a call that runs."""
        self.end_answer()
        card = blocks.Card(call, operation, summary, arguments)
        self._calls[call] = self._append(card).order

    def add_command(self, call: CallId, summary: str) -> None:
        """Add a card for the person's own command, below the streaming answer."""
        self._calls[call] = self._append(blocks.Card(call, "shell", summary, "")).order

    def tool_output(self, call: CallId, text: str) -> None:
        """Add output of a running call; the next frame draws it."""
        if call in self._calls:
            self._outputs[call] = (self._outputs.get(call, "") + text)[-OUTPUT_KEPT:]
            self._dirty_calls.add(call)
            self._wake()

    def finish_tool(self, event: "ToolFinished") -> None:
        """Show the result of a call; a call without a card gets one now."""
        order = self._calls.pop(event.call, None)
        self._dirty_calls.discard(event.call)
        output = self._outputs.pop(event.call, "")
        index = None if order is None else self.ledger.find(order)
        if index is None:
            self.end_answer()
        content = None if index is None else self.ledger[index].content
        card = (
            content
            if isinstance(content, blocks.Card)
            else blocks.Card(event.call, event.operation, "", "")
        )
        card = replace(
            card,
            summary=event.summary or card.summary,
            state="done" if event.ok else "failed",
            output=output,
            displays=event.display or _as_text(event.text),
            seconds=event.seconds,
        )
        if index is None:
            self._append(card)
            return
        self.update_block(index, replace(self.ledger[index], content=card))

    def add_notice(self, level: str, text: str) -> None:
        """Show a message of the program and store it; ``level`` is ``info``, ``warning`` or ``error``."""
        self.add_remark(text, level)
        for store in self.notice_stores:
            store(level, text)

    def add_remark(self, text: str, level: str = "info") -> None:
        """Show a message of the program without storing it.

        While the side column covers the transcript, the message also appears as a notification.
        """
        self._append(blocks.Notice(level, text))
        if self.is_attached and not (self.display or self.has_class("-said")):
            self.notify(text, severity=_SEVERITIES.get(level, "information"), markup=False)

    def add_error(self, error: SamError) -> None:
        """Add an error: its subject, its reason, and the next thing to do."""
        self.add_notice("error", f"{error.title}\n{error.explain()}")

    def add_reminder(self, name: str, text: str, images: "Sequence[Image]" = ()) -> None:
        """Show a reminder; adjacent ones are folded into one line.

        ``images`` were shown with it.
        """
        reminder, last = blocks.ReminderContent(name, text), len(self.ledger) - 1
        above = self.ledger[last] if last >= 0 else None
        if above is not None and isinstance(above.content, blocks.ReminderContent):
            self.update_block(last, replace(above, content=above.content.joined(reminder)))
        else:
            self._append(reminder)
        for image in images:
            self._append(blocks.Picture(image))

    def add_decision(self, text: str, allowed: bool | None) -> None:
        """A decision of the guard, such as ``allowed once by you: /etc/x``."""
        self._append(blocks.Decided(text, allowed))

    def load(
        self,
        messages: "Sequence[Message]",
        displays: "Mapping[CallId, CallDisplay]" = MappingProxyType({}),
        notices: "Sequence[StoredNotice]" = (),
    ) -> None:
        """Show a stored conversation from its end, calls as they looked; only the visible part is drawn."""
        from sam_tui.ui.transcript.history import stored_blocks  # the first frame has none

        self.clear()
        for content, gap, span in stored_blocks(messages, displays, notices):
            group, order = self._new_group(), self._new_order()
            self._order += span
            block = blocks.Block(order, group, content, gap)
            self.ledger.insert(len(self.ledger), block, self.estimate_height(block))
        self.settle()

    def clear(self) -> None:
        """Forget everything."""
        self._answer = self._thought = None
        self._calls, self._outputs, self._sources = {}, {}, {}
        self._dirty_calls, self._step, self.cursor = set(), set(), None
        self.asked_pictures.clear()
        self.forget_blocks()
        self.settle()

    def source_of(self, block: blocks.Block) -> str:
        """Return the source of the block's group: of an answer, the model's own text."""
        answer = self._answer
        if answer is not None and answer.group == block.group:
            return "".join(answer.source)
        return self._sources.get(block.group) or blocks.plain(block.content)

    @property
    def first_open(self) -> int:
        """The order of the first block that may still change."""
        orders = [*self._calls.values(), self._order + 1]
        orders += [order for order, waiting in self.asked_pictures.items() if waiting]
        orders += [part.order for part in (self._answer,) if part is not None]
        orders += [part[0] for part in (self._thought,) if part is not None]
        return min(orders)

    # -- blocks ----------------------------------------------------------------------------------

    def _new_group(self) -> int:
        self._groups += 1
        return self._groups

    def _new_order(self) -> int:
        self._order += 1
        return self._order

    def _append(self, content: blocks.Content) -> blocks.Block:
        count = len(self.ledger)
        above = self.ledger[count - 1].content if count else None
        block = blocks.Block(
            self._new_order(), self._new_group(), content, blocks.gap_between(above, content)
        )
        self.insert_block(count, block)
        self.settle()
        return block

    # -- frames ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Schedule a frame: at once, or when the pause after the last one is over."""
        if self.at_rest and self.is_running:
            self.at_rest = False
            after(self, self._rest - monotonic(), self._frame)

    def on_mount(self) -> None:
        """Draw everything that came before the widget could draw."""
        self._wake()

    def _frame(self) -> None:
        """Draw everything new since the last frame."""
        self.at_rest = True
        began, spent = monotonic(), thread_time()
        if self.flush():
            self._rest = max(began + FRAME, monotonic() + SHARE * (thread_time() - spent))

    def flush(self) -> bool:
        """Draw now everything that waits for the next frame; False if nothing did."""
        answer = self._answer
        text = answer is not None and answer.waiting
        if not (text or self._thought_dirty or self._dirty_calls):
            return False
        if self._thought_dirty:
            self._show_thought(finished=False)
        for call in self._dirty_calls:
            self._show_output(call)
        self._dirty_calls.clear()
        if answer is not None and text:
            pieces, opened = answer.take()
            self._show_answer(answer, pieces, opened)
        return True

    def _show_answer(
        self, answer: "LiveAnswer", pieces: Sequence[blocks.Piece], opened: blocks.Piece | None
    ) -> None:
        """Replace the open block by the finished pieces, followed by the new open one."""
        index = self.ledger.from_order(answer.order)
        top, total = self.ledger.top(index), self.ledger.total
        present = self.ledger.find(answer.order) is not None
        before = self.rows_of(index) if present and self.ledger.measured(index) else []
        for piece in [*pieces, *([opened] if opened else [])]:
            chosen = self.ledger[index].expanded if present else None
            block = blocks.Block(answer.order, answer.group, piece.content, piece.gap, chosen)
            if present:
                self.ledger.update(index, block)
                present = False
                if before:
                    self.exact_height(index)  # before what follows: open code continues by lines
            else:
                self.insert_block(index, block)
            answer.order += 1
            index += 1
        if opened:
            answer.order -= 1
        elif present:
            self.remove_block(index)
        self.place_view()
        self.refresh_rows(top + self._unchanged(top, before), total)

    def _unchanged(self, top: int, before: "list[Row]") -> int:
        """Return how many rows from ``top`` on are the same as before."""
        if not before or not len(self.ledger):
            return 0
        index, inside = self.ledger.at(top)
        if inside or not self.ledger.measured(index):
            return 0
        same = self.ledger[index].gap
        for old, new in zip(before, self.rows_of(index), strict=False):
            if old.text != new.text or old.strip != new.strip:
                break
            same += 1
        return same

    def draw_block(self, block: blocks.Block, width: int) -> "list[Row]":
        """Code of the open answer grows row by row; all else is drawn whole."""
        answer = self._answer
        if answer is not None and block.group == answer.group:
            rows = answer.draw_code(block, width, self.palette)
            if rows is not None:
                return rows
        return super().draw_block(block, width)

    def _end_text(self) -> None:
        answer = self._answer
        if answer is None:
            return
        self._show_answer(answer, answer.finish(), None)
        self._answer = None
        self._sources[answer.group] = "".join(answer.source)

    def _end_thought(self) -> None:
        if self._thought is not None:
            self._show_thought(finished=True)
            self._thought = None

    def _show_thought(self, *, finished: bool) -> None:
        self._thought_dirty = False
        assert self._thought is not None
        order, parts = self._thought
        index = self.ledger.find(order)
        if index is not None:
            content = blocks.Reasoning("".join(parts), finished)
            self.update_block(index, replace(self.ledger[index], content=content))

    def _show_output(self, call: CallId) -> None:
        index = self.ledger.find(self._calls[call]) if call in self._calls else None
        if index is None:
            return
        block = self.ledger[index]
        if isinstance(block.content, blocks.Card):
            card = replace(block.content, output=self._outputs[call])
            self.update_block(index, replace(block, content=card))


def _as_text(text: str) -> "tuple[Display, ...]":
    from sam_tui.core.display import Text

    return (Text(text),) if text.strip() else ()
