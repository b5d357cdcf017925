"""Writes blocks of the transcript and whole conversations to files that the person names."""

import os
from collections.abc import Callable
from functools import partial

from sam_tui.core.errors import SamError, UsageError
from sam_tui.core.ports.storage import export_form
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.plain import visible_line
from sam_tui.ui.transcript.blocks import Block, Card, Reasoning, User
from sam_tui.ui.transcript.render.safe_text import clean

_NUMBERS = 1_000


class Exports:
    """Writes only new files, redacted, through the port that follows no link."""

    def __init__(self, context: Context, current: CurrentConversation) -> None:
        self._context = context
        self._runtime = context.runtime
        self._current = current

    def block(self) -> None:
        """Ask where to write the source of the marked block."""
        block = self._context.marked_block()
        if block is None:
            return
        # A copy: an answer that is still being written continues to grow.
        text = clean(self._context.screen.transcript.source_of(block)).rstrip("\n") + "\n"
        self._ask("export this block to", _name_of(block), lambda _: self._masked(text))

    def conversation(self, target: str) -> None:
        """Write the conversation on show to a file; without one named, ask for it."""
        conversation = self._current.id
        if conversation is None:
            self._context.notify("There is no conversation yet: send a first prompt.")
            return

        def text(path: str) -> str:
            form = export_form(path)
            document = self._runtime.document(conversation)
            return self._runtime.conversation_files.write(document, form)

        if target.strip():
            if trouble := self._written(text, target.strip()):
                self._context.notify(trouble, warning=True)
        else:
            self._ask("export this conversation to", "conversation.md", text)

    def _masked(self, text: str) -> str:
        return self._runtime.executor.shield.redact(text)

    def _ask(self, title: str, name: str, text: Callable[[str], str]) -> None:
        from sam_tui.ui.screens.forms import FileForm

        form = FileForm(title, self._free(name), partial(self._written, text))
        self._context.app.push_screen(form)

    def _free(self, name: str) -> str:
        """A file name that is free in the workspace."""
        stem, ending = os.path.splitext(name)
        names = (name, *(f"{stem}-{number}{ending}" for number in range(2, _NUMBERS)))
        root = self._runtime.workspace.root
        return next((n for n in names if not os.path.lexists(os.path.join(root, n))), name)

    def _written(self, text: Callable[[str], str], path: str) -> str:
        """Write the file and report where; the error as text, or empty."""
        try:
            where = self._runtime.workspace.locate(path, follow=False)
            named_below = not path.startswith(("/", "~")) and ".." not in path.split("/")
            if named_below and not where.inside:
                raise UsageError(
                    f"{path} leads outside this folder: use {where.real} if you mean that."
                )
            data = text(path).encode(errors="replace")
            self._runtime.files.write(where, data, replace=False)
        except SamError as error:
            return error.explain()
        self._context.notify(f"Written: {visible_line(where.real)}")
        return ""


def _name_of(block: Block) -> str:
    match block.content:
        case User():
            return "prompt.md"
        case Card(operation=operation):
            return f"{operation}.txt" if operation.isidentifier() else "result.txt"
        case Reasoning():
            return "reasoning.md"
        case _:
            return "answer.md"
