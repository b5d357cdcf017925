"""/reminders: shows the text of each reminder to the model, and mutes or pins it."""

import time
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.ui.controllers.context import Context, Option
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice

if TYPE_CHECKING:
    from sam_tui.core.agent.calls.reminder_ledger import LedgerEntry
    from sam_tui.core.agent.session import Session
    from sam_tui.core.prompt.reminders import ReminderChoice


def show_reminders(context: Context, current: CurrentConversation) -> None:
    """Let the person pick a reminder, and read, mute or pin it in this conversation."""
    from sam_tui.core.agent.calls.reminder_ledger import reminder_ledger

    session = current.session
    if session is None:
        context.notice("/reminders needs a conversation: send a first prompt to begin one.")
        return
    injectors = context.runtime.engine.requests.injectors
    moments = context.runtime.conversations.moments(session.conversation)
    entries = reminder_ledger(injectors, session.conversation, session.messages, moments)
    options: list[Option] = [
        (Choice(_line(entry), f"when {entry.trigger}"), partial(_offer, context, session, entry))
        for entry in entries
    ]
    context.pick("reminders to the model", options, hint="Enter: read, mute or pin it")


def _line(entry: "LedgerEntry") -> str:
    """``todo_list  3 times, 420 tokens, last 14:03:10, pinned``."""
    facts = [entry.choice] if entry.choice else []
    if entry.at is None:
        return ", ".join([f"{entry.name:<20}  not sent", *facts])
    last = time.strftime("%H:%M:%S", time.localtime(entry.at))
    times = "once" if entry.times == 1 else f"{entry.times} times"
    return ", ".join([
        f"{entry.name:<20}  {times}",
        f"{entry.tokens:,} tokens",
        f"last {last}",
        *facts,
    ])


def _offer(context: Context, session: "Session", entry: "LedgerEntry") -> None:
    choose = partial(_choose, context, session, entry.name)
    options: list[Option] = []
    if entry.text:
        options.append((Choice("read", "its newest text"), partial(_read, context, entry)))
    if entry.choice != "muted":
        about = "it is no longer sent in this conversation; sent ones stay"
        options.append((Choice("mute", about), partial(choose, "muted")))
    if entry.choice != "pinned":
        about = "in long loops it is sent again even if nothing changed"
        options.append((Choice("pin", about), partial(choose, "pinned")))
    if entry.choice is not None:
        options.append((Choice("as usual", f"no longer {entry.choice}"), partial(choose, None)))
    context.pick(f"reminder {entry.name}", options)


def _choose(
    context: Context, session: "Session", name: str, choice: "ReminderChoice | None"
) -> None:
    choices = context.runtime.engine.requests.injectors.choices
    choices.choose(session.conversation, name, choice)
    context.notice(f"Reminder {name}: {choice or 'as usual'}, from the next request on.")


def _read(context: Context, entry: "LedgerEntry") -> None:
    from sam_tui.ui.screens.reader import Reader, whole

    text = context.runtime.executor.shield.redact(entry.text)
    context.app.push_screen(Reader(f"reminder {one_line(entry.name, 40)}", whole(text)))
