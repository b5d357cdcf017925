"""Several conversations in one window: a tab each, and turns that go on while another is on show."""

from collections.abc import Callable, Iterator

from textual.worker import Worker

from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.current_conversation import ConversationTab, CurrentConversation
from sam_tui.ui.controllers.models import ModelChoice
from sam_tui.ui.controllers.prompt_queue import PromptQueue
from sam_tui.ui.controllers.turns import TurnRunner
from sam_tui.ui.plain import one_line
from sam_tui.ui.transcript import Transcript
from sam_tui.ui.widgets.tab_strip import TabLabel

MOST_TABS = 9
_TITLE = 24
_NEW = "new"
_HOW = "/conversation new, next, close or the number of a tab"


class ConversationTabs:
    """Opens, shows and closes tabs. Each has a ``TurnRunner`` of its own."""

    def __init__(
        self,
        context: Context,
        current: CurrentConversation,
        conversations: Conversations,
        models: ModelChoice,
    ) -> None:
        self._context = context
        self._screen = context.screen
        self._current = current
        self._conversations = conversations
        self._models = models
        self._runners: dict[int, TurnRunner] = {}
        self._made = current.tab.number
        current.leaving.watch(self._leave)
        current.arrived.watch(self._arrive)
        self.actions: dict[str, Callable[[str], object]] = {
            "conversation": self._obey,
            "conversation_new": lambda _: self.open_new(),
            "conversation_next": lambda _: self.step(1),
            "conversation_previous": lambda _: self.step(-1),
        }

    # ---- turns

    def turns_of(self, tab: ConversationTab) -> TurnRunner:
        """The runner of a tab's turns."""
        if tab.number not in self._runners:
            self._runners[tab.number] = TurnRunner(
                self._context, tab, self._current, self._conversations, self._models
            )
        return self._runners[tab.number]

    @property
    def turns(self) -> TurnRunner:
        """The runner of the displayed tab's turns."""
        return self.turns_of(self._current.tab)

    def runner_of(self, worker: Worker[object]) -> TurnRunner | None:
        """The runner whose newest turn runs, or ran, in a worker."""
        return next((turns for turns in self._runners.values() if turns.owns(worker)), None)

    @property
    def working(self) -> bool:
        """Whether a turn runs in any tab."""
        return any(turns.running for turns in self._runners.values())

    async def close(self) -> None:
        """Cancel every turn, and wait until each has ended in order."""
        for turns in list(self._runners.values()):
            await turns.close()

    # ---- tabs

    def open_new(self) -> None:
        """Begin a conversation in a new tab; turns in other tabs continue."""
        if self._screen.layout_wish.inline:
            self._context.notify(
                "Tabs need the whole screen: start without --inline.", warning=True
            )
            return
        if len(self._current.tabs) >= MOST_TABS:
            self._context.notify(f"{MOST_TABS} tabs are open: close one.", warning=True)
            return
        self._made += 1
        queue = PromptQueue(self._screen.prompt, on_show=False)
        tab = ConversationTab(self._made, Transcript(), queue)
        tab.activity.end()
        self._conversations.store_notices(tab)
        self._current.tabs.append(tab)
        self._current.switch(tab)

    def step(self, by: int) -> None:
        """Show the next tab, or one so many further, around the ends."""
        tabs = self._current.tabs
        if len(tabs) == 1:
            self._context.notify_briefly("Only one tab is open: Alt+N opens another.")
        self._current.switch(tabs[(tabs.index(self._current.tab) + by) % len(tabs)])

    def close_tab(self) -> None:
        """Close the tab on show; its conversation stays stored."""
        tab, tabs = self._current.tab, self._current.tabs
        if len(tabs) == 1:
            self._context.notify("This is the only tab: Ctrl+Q ends the program.", warning=True)
            return
        if self.turns.running:
            self._context.notify("A turn is running here: Esc cancels it first.", warning=True)
            return
        self.turns.retire()
        at = tabs.index(tab)
        self._current.switch(tabs[at - 1] if at else tabs[1])
        tabs.remove(tab)
        self._conversations.leave(tab)
        del self._runners[tab.number]
        tab.transcript.remove()
        self.draw()

    def _obey(self, words: str) -> None:
        """Carry out the argument of ``/conversation``."""
        match words.strip():
            case "new":
                self.open_new()
            case "" | "next":
                self.step(1)
            case "close":
                self.close_tab()
            case number if number.isdecimal() and 0 < int(number) <= len(self._current.tabs):
                self._current.switch(self._current.tabs[int(number) - 1])
            case _:
                self._context.notify(_HOW, warning=True)

    def _leave(self) -> None:
        """Store the prompt history of the tab that another will replace, and hide its queue."""
        tab, area = self._current.tab, self._screen.prompt.area
        tab.past = list(area.past)
        tab.queue.show(False)

    def _arrive(self) -> None:
        """Display a tab: its transcript, queue and figures replace those of the one before."""
        tab, status, area = self._current.tab, self._screen.status, self._screen.prompt.area
        tab.ended = ""
        self._screen.put_transcript(tab.transcript)
        self._screen.show_conversation()
        status.activity, status.standing.figures = tab.activity, tab.figures
        area.begin_past(tab.past)
        tab.queue.show(True)
        self.turns.steer()
        status.show()
        self.draw()

    def draw(self) -> None:
        """Show the strip of tabs with the state of each; a single tab has no strip."""
        if len(self._current.tabs) > 1 or self._screen.strip is not None:
            self._screen.name_tabs(list(self._labels()))

    def _labels(self) -> Iterator[TabLabel]:
        for tab in self._current.tabs:
            on_show = tab is self._current.tab
            state = "asks" if tab.activity.waiting else "works" if tab.activity.busy else tab.ended
            yield TabLabel(one_line(tab.title, _TITLE) or _NEW, state, on_show)
