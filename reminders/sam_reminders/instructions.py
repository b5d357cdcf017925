"""Keeps the instructions of the person and of a trusted folder before the model's eyes."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sam_tui.core.errors import InvalidArguments
from sam_tui.core.messages import Message, calls_of
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.short_list import meant, parse_arguments

if TYPE_CHECKING:
    from sam_tui.core.ports.prompts import Instruction, Instructions

GONE = "What this file said holds no longer."
_BRACKETS = str.maketrans({"<": "‹", ">": "›", '"': "'"})
_TAG = re.compile(r"<(/?\s*(?:file)?instructions)", re.IGNORECASE)
_TOLD = re.compile(r'<fileInstructions of="([^"]*)">\n(.*?)\n</fileInstructions>', re.DOTALL)
_PATHS = ("path", "cwd", "directory", "folder", "file")

Offered = Callable[[], "Instructions | None"]
"""The instructions there are; None where there is no file of any."""


class InstructionsReminder:
    """Each file once, and again when it changed; what no longer holds is said, too."""

    name = "instructions"

    def __init__(self, instructions: Offered) -> None:
        self._instructions = instructions

    def content(self, view: TurnView) -> str | None:
        """What the model has not read yet as it is now, between ``<instructions>`` tags, or None.

        What was said stays in the history; a compaction takes it away, and it is said anew.
        """
        tally = view.tally
        delivered = _told(tally.reminders(self.name))
        instructions = self._instructions()
        if instructions is None and not delivered:
            return None
        standing = (
            instructions.standing(lambda: {*tally.collect(self.name, _named_by), *delivered})
            if instructions
            else ()
        )
        now = {_quiet(instruction.file): _body(instruction) for instruction in standing}
        due = {name: body for name, body in now.items() if delivered.get(name) != body}
        due |= {name: GONE for name, body in delivered.items() if name not in now and body != GONE}
        if not due:
            return None
        blocks = [
            f'<fileInstructions of="{name}">\n{body}\n</fileInstructions>'
            for name, body in due.items()
        ]
        return "\n".join([
            "<instructions>",
            "How the person wants work to be done, from files that they believe. A later file is about"
            " less and goes before an earlier one; what the person says themselves goes before all.",
            *blocks,
            "</instructions>",
        ])


def _body(instruction: "Instruction") -> str:
    whose = "The person's own, for all work." if instruction.personal else "For this project."
    if instruction.folder:
        whose = f"For work in {_quiet(instruction.folder)}."
    text = _TAG.sub(r"<\\\1", instruction.text)
    cut = (
        f"\n[… {instruction.left} more characters: read the file for the rest]"
        if instruction.left
        else ""
    )
    return neutralise(f"{whose}\n\n{text}{cut}")


def _told(texts: Iterable[str]) -> dict[str, str]:
    """What the model read last of each file."""
    return {match[1]: match[2] for text in texts for match in _TOLD.finditer(text)}


def _named_by(message: Message) -> Iterable[str]:
    """Every path that a call of the message named."""
    for call in calls_of((message,)):
        try:
            arguments = parse_arguments(meant(call).arguments)
        except InvalidArguments:
            continue
        yield from _named(arguments)


def _named(arguments: dict[str, object]) -> Iterable[str]:
    for key, value in arguments.items():
        if key.lower().rstrip("s").endswith(_PATHS):
            values = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]
            yield from (v for v in values if isinstance(v, str) and "\0" not in v)  # pyright: ignore[reportUnknownVariableType]


def _quiet(text: str) -> str:
    """A file's name: one line that can be no tag."""
    return one_line(text).translate(_BRACKETS)
