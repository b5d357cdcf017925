"""Passes events to the widgets: one subscription, and at most 30 batches a second."""

import asyncio
import time
from collections.abc import Sequence
from typing import assert_never

from sam_tui.core import events
from sam_tui.core.bus import Subscription
from sam_tui.core.ids import CallId
from sam_tui.core.verdict import decision_words
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.conversation.tabs import ConversationTabs
from sam_tui.ui.controllers.current_conversation import ConversationTab, CurrentConversation
from sam_tui.ui.controllers.inquiries import InquiryQueue
from sam_tui.ui.controllers.screen.announcements import Announcer
from sam_tui.ui.controllers.screen.attention import Attention
from sam_tui.ui.controllers.terminals.commands import WatchedCommands
from sam_tui.ui.controllers.window.meter import cache_miss, cache_share, context_share
from sam_tui.ui.controllers.workflows import WorkflowRuns
from sam_tui.ui.plain import one_line
from sam_tui.ui.widgets.todo_panel import done_of

_INTERVAL = 1 / 30

_TurnEvent = (
    events.TurnStarted
    | events.Steered
    | events.RequestSent
    | events.TextStreamed
    | events.ReasoningStreamed
    | events.Answered
    | events.ModelRetried
    | events.TurnFinished
)
_Piece = events.TextStreamed | events.ReasoningStreamed | events.ToolProgressed
_ToolEvent = events.ToolStarted | events.ToolProgressed | events.ToolFinished | events.DecisionMade
_TerminalEvent = events.TerminalOpened | events.TerminalPassed | events.TerminalClosed
_ConversationEvent = (
    _TurnEvent
    | _ToolEvent
    | _TerminalEvent
    | events.HookStarted
    | events.HookFinished
    | events.TodosChanged
    | events.Reminded
    | events.HistoryShortened
    | events.SubagentStarted
)


class Bridge:
    """Applies events to the widgets of the screen: draws those of the displayed conversation."""

    def __init__(
        self,
        context: Context,
        current: CurrentConversation,
        inquiries: InquiryQueue,
        tabs: ConversationTabs,
        workflows: WorkflowRuns,
        attention: Attention,
    ) -> None:
        self._context = context
        self._screen = context.screen
        self._current = current
        self._inquiries = inquiries
        self._tabs = tabs
        self._workflows = workflows
        self._attention = attention
        self._commands = WatchedCommands(context)
        reader = context.screen.layout_wish.reader
        self._announcer = Announcer(context.screen) if reader else None

    async def run(self, subscription: Subscription) -> None:
        """Apply events until cancelled. Waits without a timer while nothing happens."""
        try:
            while True:
                self._take(await subscription.batch())
                await asyncio.sleep(_INTERVAL)
        finally:
            subscription.close()

    def _take(self, batch: Sequence[events.Event]) -> None:
        """Apply a batch of events. Pieces of text alone do not change status bar, tabs and title."""
        phase = self._current.tab.activity.phase
        with self._context.app.batch_update():
            for event in batch:
                self.apply(event)
                if self._announcer is not None:
                    self._announcer.announce(event)
            if phase == self._current.tab.activity.phase and all(
                isinstance(event, _Piece) for event in batch
            ):
                return
            self._screen.status.show()
            self._tabs.draw()
        root = self._context.runtime.workspace.root
        self._attention.title.of_state(self._current.foremost, root)

    def apply(self, event: events.Event) -> None:
        """Apply one event. Of a conversation without a tab, only questions and notices count."""
        match event:
            case events.InquiryOpened() | events.InquiryClosed():
                self._apply_inquiry(event)
            case events.WorkflowMoved():
                self._workflows.moved()
            case events.Noticed():
                key = event.conversation
                tab = self._current.tab_of(key) if key is not None else None
                (tab or self._current.tab).transcript.add_notice(event.level, event.text)
            case _:
                if (tab := self._current.tab_of(event.conversation)) is not None:
                    self._apply_to(tab, event)

    def _apply_to(self, tab: ConversationTab, event: _ConversationEvent) -> None:
        """An event of a conversation of this window."""
        tab.activity.news = time.monotonic()
        match event:
            case (
                events.ToolStarted()
                | events.ToolProgressed()
                | events.ToolFinished()
                | events.DecisionMade()
            ):
                self._apply_tool(tab, event)
            case events.HookStarted() | events.HookFinished():
                _apply_hook(tab, event)
            case events.TodosChanged():
                self._show_todos(tab, event)
            case events.Reminded():
                tab.transcript.add_reminder(event.name, event.text, event.images)
                if event.name == "repeated_calls":
                    words = "The agent repeats a call that changes nothing. Esc ends the turn."
                    self._context.notify(words, warning=True)
            case events.HistoryShortened():
                words = f"{event.dropped} old messages went to the archive"
                sizes = f"{event.before:,} to {event.after:,} tokens"
                tab.transcript.add_notice("info", f"{words} ({sizes})")
            case events.TerminalOpened() | events.TerminalPassed() | events.TerminalClosed():
                self._apply_terminal(tab, event)
            case _ if not isinstance(event, events.SubagentStarted):
                self._apply_turn(tab, event)
            case _:
                return  # its call is on show already, and /agents opens what it does

    def _show_todos(self, tab: ConversationTab, event: events.TodosChanged) -> None:
        tab.figures.todos = done_of(event.items)
        if tab is self._current.tab:
            self._screen.todos.show(event.items)

    def _count(self, tab: ConversationTab, event: events.Answered) -> None:
        """Show a request's usage in the status bar, and a notice if it missed the cache."""
        figures = tab.figures
        figures.usage = figures.usage.plus(event.usage)
        figures.context = context_share(self._context.runtime, tab.session, event.usage)
        figures.cache = cache_share(event.usage)
        if words := cache_miss(event.prefix, event.usage):
            tab.transcript.add_notice("info", words)

    def _apply_turn(self, tab: ConversationTab, event: _TurnEvent) -> None:
        transcript, activity = tab.transcript, tab.activity
        match event:
            case events.TurnStarted():
                tab.begin(event.text)
                activity.begin(time.monotonic())
                transcript.add_user(event.text)
            case events.Steered():
                transcript.end_answer()
                transcript.add_user(event.text)
            case events.RequestSent():
                self._tabs.turns_of(tab).stored()
                activity.turn_to("thinking")
                transcript.begin_step()
            case events.TextStreamed():
                activity.turn_to("streaming")
                transcript.stream_text(event.text)
            case events.ReasoningStreamed():
                activity.turn_to("thinking")
                transcript.stream_reasoning(event.text)
            case events.Answered():
                activity.turn_to("thinking")
                transcript.end_answer()
                self._count(tab, event)
            case events.ModelRetried():
                activity.retry(time.monotonic() + event.delay, event.reason)
                transcript.void_step()
            case events.TurnFinished():
                self._finish(tab, event)
            case _:
                assert_never(event)

    def _finish(self, tab: ConversationTab, event: events.TurnFinished) -> None:
        tab.activity.end()
        if tab is not self._current.tab:
            tab.ended = event.reason
        transcript = tab.transcript
        transcript.end_answer()
        match event.reason:
            case "finished":
                self._attention.call("The turn is done.")
            case "cancelled":
                transcript.add_notice("info", "Cancelled.")
            case "limit" | "failed":
                self._attention.call("The turn could not finish.")
                level = "warning" if event.reason == "limit" else "error"
                parts = [part for part in (event.error_title, event.error) if part]
                transcript.add_notice(level, "\n".join(parts) or "The turn failed.")
            case _:
                assert_never(event.reason)

    def _apply_tool(self, tab: ConversationTab, event: _ToolEvent) -> None:
        transcript, running = tab.transcript, tab.activity.running
        match event:
            case events.ToolStarted():
                running[event.call] = one_line(event.summary or event.operation, 80)
                if tab is self._current.tab:
                    self._commands.started(event)
                transcript.start_tool(event.call, event.operation, event.summary, event.arguments)
            case events.ToolProgressed():
                if tab is self._current.tab:
                    self._commands.progressed(event)
                transcript.tool_output(event.call, event.text)
            case events.ToolFinished():
                running.pop(event.call, None)
                self._commands.finished(event)
                transcript.finish_tool(event)
            case events.DecisionMade():
                words = decision_words(event.decision)
                if words:
                    mark = {"allow": True, "amended": None}.get(event.decision.outcome, False)
                    transcript.add_decision(words, mark)
            case _:
                assert_never(event)

    def _apply_inquiry(self, event: events.InquiryOpened | events.InquiryClosed) -> None:
        """Mark the conversation that asks as waiting; a conversation without a tab counts to the tab on
        show."""
        match event:
            case events.InquiryOpened():
                asking = self._current.tab_of(event.inquiry.conversation) or self._current.tab
                asking.activity.waiting.add(event.inquiry.id)
                self._inquiries.opened(event.inquiry)
            case events.InquiryClosed():
                for tab in self._current.tabs:
                    tab.activity.waiting.discard(event.inquiry)
                self._inquiries.closed(event.inquiry)
            case _:
                assert_never(event)

    def _apply_terminal(self, tab: ConversationTab, event: _TerminalEvent) -> None:
        """An ended session stays on show, with how it ended, until the agent opens another."""
        session = self._context.runtime.terminals.find(event.session)
        if session is None or tab is not self._current.tab:
            return
        if self._screen.terminals.agent.session is not session:
            self._screen.terminals.show_agent(session)


def _apply_hook(tab: ConversationTab, event: events.HookStarted | events.HookFinished) -> None:
    """Show a running hook as the agent's present wait. Its outcome is in the decision."""
    running, run = tab.activity.running, CallId(event.run)
    if isinstance(event, events.HookStarted):
        running[run] = one_line(f"hook: {event.command}", 80)
    else:
        running.pop(run, None)
