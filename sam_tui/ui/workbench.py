"""The program with its runtime: every controller, every action by its name, every message."""

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from textual.message import Message
from textual.worker import Worker

from sam_tui.core.text import charsets
from sam_tui.settings.values import missing_program
from sam_tui.ui import slash
from sam_tui.ui.bridge import Bridge
from sam_tui.ui.controllers.authorization import Authorization
from sam_tui.ui.controllers.background import Background
from sam_tui.ui.controllers.completion import Completion
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.conversation.beside import BesideTurns
from sam_tui.ui.controllers.conversation.block_files import BlockEditor
from sam_tui.ui.controllers.conversation.drafts import PromptDrafts
from sam_tui.ui.controllers.conversation.exports import Exports
from sam_tui.ui.controllers.conversation.forks import Forks
from sam_tui.ui.controllers.conversation.review import ConversationReview
from sam_tui.ui.controllers.conversation.tabs import ConversationTabs
from sam_tui.ui.controllers.conversation_actions import ConversationActions
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.inquiries import InquiryQueue
from sam_tui.ui.controllers.models import ModelChoice
from sam_tui.ui.controllers.rewind import Rewind
from sam_tui.ui.controllers.screen.status_command import StatusCommand
from sam_tui.ui.controllers.servers import pick_server
from sam_tui.ui.controllers.terminals.actions import TerminalActions
from sam_tui.ui.controllers.terminals.escape import ShellEscape
from sam_tui.ui.controllers.terminals.requests import TerminalRequests
from sam_tui.ui.controllers.terminals.shells import Shells
from sam_tui.ui.controllers.terminals.status import TerminalStatus
from sam_tui.ui.controllers.turns import TurnRunner
from sam_tui.ui.controllers.window.calls import show_calls
from sam_tui.ui.controllers.window.compaction import CompactionActions
from sam_tui.ui.controllers.window.reminders import show_reminders
from sam_tui.ui.controllers.window.settings import welcome
from sam_tui.ui.controllers.workflows import WorkflowRuns
from sam_tui.ui.driver.keys import TerminalTold
from sam_tui.ui.front import Front, Invocation
from sam_tui.ui.messages import ActionAsked, InquiryAnswered, PictureWanted, PromptSubmitted
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import Returned
from sam_tui.ui.slash import SlashCommand
from sam_tui.ui.widgets.terminal.messages import (
    RestartAsked,
    SessionChanged,
    ShellDropped,
    TerminalAsked,
)
from sam_tui.ui.widgets.terminal.panel import ShellWanted
from sam_tui.ui.widgets.terminal.view import TerminalView
from sam_tui.ui.widgets.todo_panel import TodoEditAsked

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime
    from sam_tui.ui.controllers.screen.pictures import TerminalPictures


class Workbench:
    """The workbench over a runtime; ``begin`` starts its background work."""

    def __init__(self, front: Front, runtime: "Runtime") -> None:
        self._front = front
        self._context = context = Context(front.app, front.screen, runtime, front.settings)
        patience = front.keyboard.patience
        self.current = current = front.current
        self._models = ModelChoice(context, self.current, patience, front.preferences)
        self.conversations = conversations = Conversations(context, current, self._models)
        self._tabs = tabs = ConversationTabs(context, current, conversations, self._models)
        self._workflows = WorkflowRuns(context, self.current, self.conversations, patience)
        self._authorization = Authorization(context, patience)
        self._background = Background(context, self.current)
        self._about = ConversationActions(context, self.current, self.conversations)
        self._compaction = CompactionActions(context, self.current)
        self._rewind = Rewind(context, self.current, self.conversations)
        self._review = ConversationReview(context, self.current, self._submit)
        self._forks = Forks(context, self.conversations)
        self._beside = BesideTurns(context, conversations, lambda: tabs.turns)
        self._shells = Shells(context)
        self._requests = TerminalRequests(context, front.attention.title)
        self.terminal_status = TerminalStatus(front.screen)
        self.inquiries = InquiryQueue(front.screen, current, front.keyboard, front.attention)
        self._bridge = Bridge(
            context, current, self.inquiries, tabs, self._workflows, front.attention
        )
        front.screen.prompt.area.offer_from(Completion(context))
        self._drafts = PromptDrafts(context, self.current, front.preferences)
        self._actions = front.actions.table | self._own_actions()

    def _own_actions(self) -> dict[str, Callable[[str], object]]:
        """The actions that need a runtime, by name."""
        screen_actions, conversations = self._front.actions, self.conversations
        authorization, about = self._authorization, self._about
        rewind, exports = self._rewind, Exports(self._context, self.current)
        return {
            "cancel": lambda _: screen_actions.cancel(self.turns.cancel, rewind.choose),
            "interrupt": lambda _: screen_actions.interrupt(partial(self.turns.cancel, once=True)),
            "new": lambda _: self._when_idle(conversations.new),
            "resume": lambda title: self._when_idle(lambda: conversations.choose(title)),
            "fork": lambda _: self._when_idle(self._forks.whole),
            "fork_block": lambda _: self._when_idle(self._forks.at_block),
            "side_question": self._beside.ask,
            "goal": lambda check: self._when_idle(lambda: self._beside.pursue(check)),
            "take_over": lambda _: conversations.take_over(),
            "model": self._choose_model,
            **self._tabs.actions,
            "next_mode": lambda _: authorization.next_mode(),
            "mode": authorization.mode,
            "trust": lambda _: authorization.trust(),
            "grants": lambda _: authorization.grants(),
            "audit": lambda _: authorization.audit(),
            "servers": lambda _: pick_server(self._context),
            "undo": lambda _: self._when_idle(about.undo),
            "search_prompts": lambda _: about.search_prompts(),
            "context": lambda _: about.context(),
            "compact": lambda text: self._when_idle(lambda: self._compaction.compact(text)),
            "xray": lambda _: show_calls(self._context, self.current),
            "reminders": lambda _: show_reminders(self._context, self.current),
            "pin": lambda text: self._context.attempt(lambda: self._compaction.pin(text)),
            "edit_block": lambda _: BlockEditor(self._context).open(),
            "export_block": lambda _: exports.block(),
            "export_conversation": exports.conversation,
            "review": lambda _: self._review.open(),
            "rewind": lambda _: self._when_idle(rewind.choose),
            "agents": lambda _: about.agents(self._when_idle),
            "prompts": lambda _: about.prompts(),
            "topic": about.topic,
            "memories": lambda _: about.memories(),
            "workflow": self._workflows.open,
            "planned_task": self._workflows.plan,
            "fleets": lambda _: self._workflows.show_fleets(),
            "background": lambda _: self._background.release(),
            "jobs": lambda _: self._background.show(),
            "copy": lambda _: self._copy(),
            "shell_command": ShellEscape(self._context, self._shells).run,
            **TerminalActions(self._context, self._requests).table,
        }

    @property
    def turns(self) -> TurnRunner:
        """The runner of the displayed conversation's turns."""
        return self._tabs.turns

    @property
    def actions(self) -> frozenset[str]:
        """The names of all available actions."""
        return frozenset(self._actions)

    def begin(self, invocation: Invocation, commands: Sequence[SlashCommand]) -> None:
        """Listen to events, open the requested conversation, and carry out the keys typed before."""
        runtime, screen = self._context.runtime, self._front.screen
        screen.run_worker(self._bridge.run(runtime.bus.subscribe()), name="bridge")
        runtime.servers.begin()
        screen.status.standing.sandbox = runtime.commands.expected.kind
        self._shells.want_current()
        self._context.notice(invocation.greeting)
        drawn_to = sys.__stderr__
        if drawn_to is not None and not charsets.holds_marks(drawn_to.encoding):
            self._context.notice(charsets.WARNING, "warning")
        self._models.announce()
        self._authorization.announce()
        for report in runtime.plugins:
            if report.fault:
                self._context.notice(report.warning, "warning")
        self._announce_command()
        self._open(invocation)
        for command in commands:
            self.obey(command)
        if runtime.model is None:
            self._models.choose()
        elif not self.current.tab.queue.waiting and not invocation.resume:
            self._authorization.ask_again()
        screen.status.activity.end()
        screen.status.show()
        self.turns.pump()
        self._drafts.begin()
        self._follow_status_command()
        if invocation.first and not self.current.tab.queue.waiting:
            for line in welcome(runtime):
                self._context.notice(line)

    def _announce_command(self) -> None:
        """Name the program for notifications if there is none of this name."""
        command = self._context.settings.settings.text("screen.notify_command")
        if program := missing_program(command):
            fault = f"screen.notify_command runs {program}, which is not installed."
            self._context.notice(fault, "warning")

    def _open(self, invocation: Invocation) -> None:
        """Open the conversation that the invocation names, or a list to choose from."""
        if invocation.conversation is not None:
            self.conversations.open(invocation.conversation)
        elif invocation.resume:
            self.conversations.choose()

    def _follow_status_command(self) -> None:
        """Show the output of the person's status command, if the settings name one."""
        settings, screen = self._context.settings.settings, self._front.screen
        if words := settings.words("status.command"):
            line = StatusCommand(words, settings.number("status.seconds"), screen.status)
            screen.run_worker(line.follow(), name="status command")

    def perform(self, name: str, argument: str = "") -> None:
        """Do an action by its name. An unknown name does nothing; an error appears in the transcript."""
        action = self._actions.get(name)
        if action is not None:
            self._context.attempt(lambda: action(argument))

    def obey(self, command: SlashCommand) -> None:
        """Carry out a slash command; an unknown one stays in the prompt for correction."""
        if command.action is not None:
            self.perform(command.action.name, command.argument)
            return
        text = f"/{command.name} {command.argument}".rstrip()
        if self._context.runtime.engine.worded(f"/{command.name}") != f"/{command.name}":
            self._submit(text)  # a skill
            return
        area = self._front.screen.prompt.area
        if not area.text:
            area.put(text)
        name, near = one_line(command.name, 40), slash.nearest(command.name)
        meant = f"Did you mean /{' or /'.join(near)}? " if near else ""
        self._context.notify(
            f"There is no command /{name}. {meant}F1 lists them all.", warning=True
        )

    def receive(self, event: Message) -> None:
        """Handle the messages of the prompt, questions, todos, dialogs and workers."""
        match event:
            case PromptSubmitted():
                self._take(event.text, later=event.later)
            case InquiryAnswered():
                # An answer to a question that is closed by now changes nothing.
                self._context.runtime.inquiries.answer(event.inquiry, event.answer)
            case ActionAsked():
                self.perform(event.name, event.argument)
            case TodoEditAsked():
                self._about.edit_todos(event)
            case Returned():
                # A dialog closed: a question may be shown again, but ignores keys at first.
                self.inquiries.rearm()
                self.inquiries.consider()
            case PictureWanted():
                self._front.screen.run_worker(self._pictures.show(event), group="pictures")
            case TerminalTold():
                self._pictures.receive(event)
            case Worker.StateChanged():
                self._end_turn(cast("Worker[object]", event.worker))  # pyright: ignore[reportUnknownMemberType]
            case _:
                self._receive_of_terminal(event)

    def _receive_of_terminal(self, event: Message) -> None:
        match event:
            case RestartAsked():
                self._shells.restart(event.view)
            case ShellWanted():
                self._shells.want(event.view)
            case ShellDropped():
                self._shells.end(event.session)
            case SessionChanged(view=TerminalView() as view):
                self.terminal_status.follow(view)
            case TerminalAsked():
                self._requests.handle(event)
            case _:
                return

    @cached_property
    def _pictures(self) -> "TerminalPictures":
        """The drawing of images, made when the first one needs it."""
        from sam_tui.ui.controllers.screen.pictures import TerminalPictures

        decoded = self._context.runtime.pictures
        return TerminalPictures(self._front.app, self._front.settings, decoded)

    def _end_turn(self, worker: Worker[object]) -> None:
        turns = self._tabs.runner_of(worker) if worker.is_finished else None
        if turns is not None:
            self._authorization.look()
            turns.end()
            self._beside.go_on(turns, worker)

    def _take(self, text: str, *, later: bool) -> None:
        command, memory = slash.parse(text), slash.memory(text)
        if command is not None:
            self.obey(command)
        elif memory:
            self._context.attempt(lambda: self._about.remember(memory))
        else:
            self._authorization.look()
            self._submit(text, later=later)

    def _submit(self, text: str, *, later: bool = False) -> None:
        """Submit a prompt: it starts a turn, joins the running one, or waits for its end."""
        self._front.screen.show_conversation()
        self._front.screen.transcript.jump_to_end()
        self.turns.submit(text, later=later)

    def _choose_model(self, name: str) -> None:
        """The model is the window's: no turn of any tab may be amid an answer."""
        if self._tabs.working and not self.turns.running:
            self._context.notify(
                "A turn is running in another tab: wait until it ends.", warning=True
            )
        else:
            self._when_idle(lambda: self._models.choose(name))

    def _when_idle(self, action: Callable[[], None]) -> None:
        if self.turns.running:
            self._context.notify(
                "A turn is running: Esc cancels it first, Alt+N begins another conversation.",
                warning=True,
            )
        else:
            action()

    def _copy(self) -> None:
        text = self.current.last_answer()
        if text:
            self._front.app.copy_to_clipboard(text)
        self._context.notify("Copied." if text else "There is no answer to copy yet.")

    async def close(self) -> None:
        """Let the turn end in order, and stop everything that was started here. The runtime goes on."""
        self._front.attention.title.restore()
        self._drafts.keep()
        self._shells.close()
        await self._tabs.close()
        await self._workflows.close()
