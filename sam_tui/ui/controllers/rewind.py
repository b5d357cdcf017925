"""Returns to the state before a message, of the conversation, the files, or both; and forward again."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.errors import SamError
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.checkpoints import files_untouched
from sam_tui.ui.controllers.context import Context, Option
from sam_tui.ui.controllers.conversations import Conversations, age
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.checkpoints import RewindPlan
    from sam_tui.core.ports.storage import UserPrompt

_MOST_PATHS = 3
"""The most files that a notice names."""


@dataclass(frozen=True, slots=True)
class _Return:
    """The way back from a rewind: the conversation as it was, and the checkpoint of its files."""

    conversation: "ConversationId | None" = None
    checkpoint: int = 0


class Rewind:
    """Lets the person pick a message, shows the changes of a rewind to it, and does it."""

    def __init__(
        self, context: Context, current: CurrentConversation, conversations: Conversations
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._current = current
        self._conversations = conversations
        self._return: _Return | None = None

    def choose(self) -> None:
        """Let the person pick a message; rewinding keeps the messages before it."""
        conversation, now = self._current.id, time.time()
        options: list[Option] = []
        if conversation is not None:
            for prompt in reversed(self._runtime.conversations.user_prompts(conversation)):
                choice = Choice(one_line(prompt.text, 60), age(now - prompt.at))
                options.append((choice, partial(self._ask_what, conversation, prompt)))
        if self._return is not None:
            again = Choice("Redo", "as it was before the last rewind")
            options.insert(0, (again, partial(self._redo, self._return)))
        empty = "This conversation has no message to go back to."
        self._context.pick("go back to before a message", options, empty=empty)

    def _ask_what(self, conversation: "ConversationId", prompt: "UserPrompt") -> None:
        """Let the person choose whether to restore the conversation, the files that would change, or
        both."""
        options: list[Option] = []

        async def load() -> Sequence[Choice]:
            fault = ""
            try:
                plan = await self._runtime.rewinder.plan(conversation, prompt.at)
            except SamError as error:
                plan, fault = None, str(error)
            options.extend(self._options(conversation, prompt, plan, fault))
            return [choice for choice, _ in options]

        title = f"go back to before: {one_line(prompt.text, 40)}"
        self._context.pick_loaded(title, load, lambda index: options[index][1](), empty="")

    def _options(
        self,
        conversation: "ConversationId",
        prompt: "UserPrompt",
        plan: "RewindPlan | None",
        fault: str,
    ) -> list[Option]:
        talk = partial(self._rewind_conversation, conversation, prompt)
        if plan is None or not plan.changes:
            why = fault or "calls have changed no file since"
            return [(Choice("Conversation", why), talk)]
        restore = partial(self._restore, plan, plan.safe)
        words = files_in_words(plan)
        options: list[Option] = [
            (Choice("Look at the changes", "each file, and what cannot be undone"),
             partial(self._look, plan, partial(self._ask_what, conversation, prompt))),
            (Choice("Conversation and files", words), lambda: restore(then=talk)),
            (Choice("Conversation", "the files stay as they are"), talk),
            (Choice("Files", words), restore),
            (Choice("One file", "choose which"), partial(self._choose_file, plan)),
        ]  # fmt: skip
        if plan.foreign:
            everything = (*plan.safe, *plan.foreign)
            detail = f"also the {len(plan.foreign)} that something else changed"
            options.append((Choice("All files", detail), partial(self._restore, plan, everything)))
        return options

    def _look(self, plan: "RewindPlan", back: Callable[[], None]) -> None:
        from sam_tui.ui.screens.reader import Reader, whole

        text = plan_in_words(plan, self._runtime.executor.shield.redact)
        self._context.app.push_screen(
            Reader("changes when you go back", whole(text)), lambda _: back()
        )

    def _choose_file(self, plan: "RewindPlan") -> None:
        options: list[Option] = [
            (
                Choice(printable(change.path), change.fate + (_FOREIGN if change.foreign else "")),
                partial(self._restore, plan, (change.path,)),
            )
            for change in plan.changes
        ]
        self._context.pick("restore one file", options)

    def _rewind_conversation(
        self, conversation: "ConversationId", prompt: "UserPrompt", checkpoint: int = 0
    ) -> None:
        """Go on in a copy that ends before the message, and put the message into the prompt again."""
        self._conversations.open(conversation, "fork", at=prompt.position)
        if self._current.id == conversation:
            return  # what went wrong was said
        self._return = _Return(conversation, checkpoint)
        self._context.screen.prompt.area.put(prompt.text)
        self._context.notice(
            "This is a copy that ends here. /rewind redoes it until you close the program; /resume "
            "opens the original."
        )

    def _restore(
        self,
        plan: "RewindPlan",
        paths: Collection[str],
        then: Callable[[int], None] = lambda _: None,
    ) -> None:
        async def restore() -> None:
            checkpoint = await self._runtime.checkpoints.restore(plan, paths)
            self._return = _Return(None, checkpoint)
            then(checkpoint)
            names = ", ".join(map(printable, sorted(paths)[:_MOST_PATHS]))
            more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
            self._context.notice(f"Files restored: {names}{more}")
            left = [path for path in plan.foreign if path not in paths]
            if left:
                some = ", ".join(map(printable, left[:_MOST_PATHS]))
                words = f"Not restored, because something else changed them too: {some}"
                self._context.notice(words, "warning")

        self._context.work(restore, "rewind")

    def _redo(self, forth: _Return) -> None:
        async def redo() -> None:
            self._return = None
            words = ""
            if forth.checkpoint:
                plan = await self._runtime.rewinder.plan_of(forth.checkpoint)
                await self._runtime.checkpoints.restore(plan, plan.safe)
                words = f"Files as before the rewind: {files_in_words(plan)}"
            if forth.conversation is not None:
                self._conversations.open(forth.conversation)
            if words:  # after the conversation, which begins with an empty screen
                self._context.notice(words)

        self._context.work(redo, "rewind")


_FOREIGN = " · something else changed it, too"


def files_in_words(plan: "RewindPlan") -> str:
    """Return how many files a plan changes: ``2 restored, 1 deleted; 1 left alone``."""
    safe = [change.fate for change in plan.changes if not change.foreign]
    counts = [f"{safe.count(fate)} {fate}" for fate in ("restored", "created", "deleted")]
    words = ", ".join(count for count in counts if not count.startswith("0 ")) or "nothing"
    return f"{words}; {len(plan.foreign)} not restored" if plan.foreign else words


def plan_in_words(plan: "RewindPlan", redact: Callable[[str], str]) -> str:
    """Return every file of a plan with its lines, and the parts that a restore does not bring back."""
    parts = [f"cannot be undone: {words}\n" for words in plan.beyond]
    parts += [f"not stored: {words}\n" for words in plan.omitted]
    if plan.untouched:
        parts.append(f"{files_untouched(plan)}\n")
    for change in plan.changes:
        parts.append(
            f"\n{change.fate}  {printable(change.path)}{_FOREIGN if change.foreign else ''}\n"
        )
        if change.modes:
            parts.append(f"mode {change.modes}\n")
        parts.append(redact(change.difference))
    return "".join(parts).lstrip("\n")
