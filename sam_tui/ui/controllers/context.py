"""The objects that every controller uses, and how controllers inform and ask the person."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from textual.app import App
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from sam_tui.core.errors import SamError
from sam_tui.settings.user import UserSettings
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker, Preview

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime
    from sam_tui.ui.transcript.ledger import Block

T = TypeVar("T")
Option = tuple[Choice, Callable[[], object]]
"""A choice in a list, and the action that runs when the person picks it."""
_CLOSE_WITHIN = 10.0
_SHORT = 48
"""A notice of at most so many characters is shown in the status bar, if that has room for it."""
_NOTHING_MARKED = "Select a block with Tab first."


@dataclass(frozen=True, slots=True)
class Context:
    """The app, its screen, and the runtime."""

    app: App[None]
    screen: ChatScreen
    runtime: "Runtime"
    settings: UserSettings

    def notice(self, text: str, level: str = "info") -> None:
        """Show a notice in the transcript; ``level`` is ``info``, ``warning`` or ``error``."""
        self.screen.transcript.add_notice(level, text)

    def notify(self, text: str, *, warning: bool = False) -> None:
        """Show a notification over the screen for a while."""
        self.app.notify(text, severity="warning" if warning else "information", markup=False)

    def notify_briefly(self, text: str) -> None:
        """Show a short text in the status bar for a moment; a long one as a notification."""
        if len(text) <= min(_SHORT, self.app.size.width - 2):
            self.screen.status.flash(text)
        else:
            self.notify(text)

    def attempt(self, action: Callable[[], object]) -> None:
        """Do something; an error is reported in the transcript."""
        try:
            action()
        except SamError as error:
            self.screen.transcript.add_error(error)

    def work(
        self, work: Callable[[], Coroutine[None, None, None]], name: str, *, exclusive: bool = False
    ) -> None:
        """Run something in the background; an error is reported in the transcript."""

        async def attempt() -> None:
            try:
                await work()
            except SamError as error:
                self.screen.transcript.add_error(error)

        self.app.run_worker(attempt, name=name, group=name, exclusive=exclusive)

    def marked_block(self) -> "Block | None":
        """The last of the blocks that are selected; None, and a hint how to select, without one."""
        blocks, _ = self.screen.transcript.marked()
        if not blocks:
            self.notify_briefly(_NOTHING_MARKED)
        return blocks[-1] if blocks else None

    def pick(
        self, title: str, options: Sequence[Option], *, empty: str = "", hint: str = ""
    ) -> None:
        """Let the person pick one of the options, and run its action.

        ``empty`` says what to do if there is no option, ``hint`` is a remark below the list.
        """

        async def load() -> Sequence[Choice]:
            return [choice for choice, _ in options]

        def chosen(index: int) -> None:
            options[index][1]()

        self.pick_loaded(title, load, chosen, empty=empty, hint=hint)

    def pick_loaded(
        self,
        title: str,
        load: Callable[[], Awaitable[Sequence[Choice]]],
        chosen: Callable[[int], object],
        *,
        empty: str,
        hint: str = "",
        preview: Preview | None = None,
    ) -> Picker:
        """Pick from choices that load slowly; ``chosen`` gets the index of the picked one."""

        def picked(index: int | None) -> None:
            if index is not None:
                self.attempt(lambda: chosen(index))

        picker = Picker(title, load, empty=empty, hint=hint, preview=preview)
        self.app.push_screen(picker, picked)
        return picker


async def ended(worker: Worker[T]) -> None:
    """Wait until a worker is done, however it ends; not for ever."""
    try:
        async with asyncio.timeout(_CLOSE_WITHIN):
            await worker.wait()
    except (WorkerCancelled, WorkerFailed, TimeoutError):
        return
