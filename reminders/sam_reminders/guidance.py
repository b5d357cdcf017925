"""People's instructions to the agent: instruction files, mini prompts, reminders of their own, pins,
and the skills and agents that files define."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sam_tui.core.errors import InvalidArguments
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message, calls_of
from sam_tui.core.ports.prompts import DefinitionListing, PromptLibrary, UserReminder, UserReminders
from sam_tui.core.prompt.reminders import TurnView, quoted_line
from sam_tui.core.prompt.skills import TOOL, OfferedSkills
from sam_tui.core.prompt.tally import Tally
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.short_list import meant, parse_arguments

if TYPE_CHECKING:
    from sam_tui.core.ports.prompts import Instruction, Instructions

GONE = "What this file said holds no longer."
_QUOTES = str.maketrans({"<": "‹", ">": "›", '"': "'"})
_TAG = re.compile(r"<(/?\s*(?:file)?instructions)", re.IGNORECASE)
_DELIVERED = re.compile(r'<fileInstructions of="([^"]*)">\n(.*?)\n</fileInstructions>', re.DOTALL)
_PATHS = ("path", "cwd", "directory", "folder", "file")

Offered = Callable[[], "Instructions | None"]
"""Returns the instructions; None if there are no instruction files."""


class InstructionsReminder:
    """Sends each instruction file once, again after a change, and names files that no longer apply."""

    name = "instructions"
    trigger = "a file of instructions changes"

    def __init__(self, instructions: Offered) -> None:
        self._instructions = instructions

    def content(self, view: TurnView) -> str | None:
        """New or changed instructions between ``<instructions>`` tags; None if the model has read all of
        them.

        The text stays in the history; after a compaction removed it, it is sent again."""
        tally = view.tally
        delivered = _delivered(tally.reminders(self.name))
        instructions = self._instructions()
        if instructions is None and not delivered:
            return None
        standing = (
            instructions.standing(lambda: tally.collect(self.name, _paths_of), delivered)
            if instructions
            else ()
        )
        due = _undelivered(
            {_file_name(instruction.file): _body(instruction) for instruction in standing},
            delivered,
        )
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


def _undelivered(now: dict[str, str], delivered: dict[str, str]) -> dict[str, str]:
    """Return the text on each file that the model has not read in this form, or that no longer holds."""
    due = {name: body for name, body in now.items() if delivered.get(name) != body}
    gone_files = delivered.keys() - now.keys()
    return due | {
        name: GONE for name, body in delivered.items() if name in gone_files and body != GONE
    }


def _body(instruction: "Instruction") -> str:
    whose = "The person's own, for all work." if instruction.personal else "For this project."
    if instruction.folder:
        whose = f"For work in {_file_name(instruction.folder)}."
    text = _TAG.sub(r"<\\\1", instruction.text)
    cut = (
        f"\n[… {instruction.left} more characters: read the file for the rest]"
        if instruction.left
        else ""
    )
    return neutralise(f"{whose}\n\n{text}{cut}")


def _delivered(texts: Iterable[str]) -> dict[str, str]:
    """Return the text that the model read last of each file."""
    return {match[1]: match[2] for text in texts for match in _DELIVERED.finditer(text)}


def _paths_of(message: Message) -> Iterable[str]:
    """Every path that a call of the message named."""
    for call in calls_of((message,)):
        try:
            arguments = parse_arguments(meant(call).arguments)
        except InvalidArguments:
            continue
        yield from _path_arguments(arguments)


def _path_arguments(arguments: dict[str, object]) -> Iterable[str]:
    for key, value in arguments.items():
        if key.lower().rstrip("s").endswith(_PATHS):
            values = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]
            yield from (v for v in values if isinstance(v, str) and "\0" not in v)  # pyright: ignore[reportUnknownVariableType]


def _file_name(text: str) -> str:
    """A file's name: one line that can be no tag."""
    return one_line(text).translate(_QUOTES)


MOST_NAMED = 60
"""The most skills, or agents, that are listed with their descriptions."""
OfferedAgents = Callable[[], DefinitionListing]


class SkillsReminder:
    """Names and descriptions of skills, at the beginning and after a change."""

    name = "skills"
    trigger = "skills come or go"

    def __init__(self, skills: OfferedSkills) -> None:
        self._skills = skills

    def content(self, view: TurnView) -> str | None:
        """One line a skill between ``<skills>`` tags; None where the model read the same before."""
        offered = self._skills()
        skills = offered.listing().skills if offered is not None else ()
        lines = [
            f"- {skill.name}: {quoted_line(skill.description)}" for skill in skills[:MOST_NAMED]
        ]
        if len(skills) > MOST_NAMED:
            lines.append(f"and {len(skills) - MOST_NAMED} more: {TOOL} lists them all")
        return _news(self.name, _skills_head(lines), lines, view)


class AgentsReminder:
    """Names and descriptions of the agents that ``run_subagent`` can send, at the same times as skills."""

    name = "agents"
    trigger = "agents come or go"

    def __init__(self, agents: OfferedAgents) -> None:
        self._agents = agents

    def content(self, view: TurnView) -> str | None:
        """One line an agent between ``<agents>`` tags; None where the model read the same before."""
        agents = self._agents().definitions
        lines = [
            f"- {quoted_line(agent.name)}: {quoted_line(agent.description)}"
            for agent in agents[:MOST_NAMED]
        ]
        head = "Agents for tasks of a kind: name one in `agent` of run_subagent."
        return _news(self.name, [head if lines else "There are no agents any more."], lines, view)


def _news(name: str, head: list[str], lines: list[str], view: TurnView) -> str | None:
    text = neutralise("\n".join([f"<{name}>", *head, *lines, f"</{name}>"]))
    last = view.tally.last(name)
    if last is not None:
        return None if last == text else text
    return text if lines else None


def _skills_head(lines: list[str]) -> list[str]:
    if not lines:
        return ["There are no skills any more."]
    return [
        "Skills: what the person wants known for a kind of task. Where one fits, read it with"
        f" {TOOL} before you begin."
    ]


class MiniPromptsReminder:
    """The mini prompts that are on, from the second user message on."""

    name = "mini_prompts"
    trigger = "the mini prompts that are on change"

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    def content(self, view: TurnView) -> str | None:
        """Return all enabled prompts, by their order, between ``<miniPromptReminder>`` tags, or None."""
        if _first_turn(view):
            return None
        texts = [prompt.content for prompt in self._library.enabled_mini(view.conversation)]
        if not texts:
            return None
        body = neutralise("\n\n".join(texts))
        body = body.replace("</miniPromptReminder", "<\\/miniPromptReminder")
        return (
            "<miniPromptReminder>\nThe person's standing instructions. They hold for this message as"
            f" for every other:\n\n{body}\n\nFollow them exactly, before any habit of your own.\n"
            "</miniPromptReminder>"
        )


def _first_turn(view: TurnView) -> bool:
    """Whether the message being answered is the conversation's first; a new one is not stored yet."""
    tally = view.tally
    return not tally.compacted and tally.prompts + view.new_message <= 1


_PINS_HEAD = "What the person pinned. It holds until they take it back:"


class PinsReminder:
    """The pins of a conversation, in their order. They are the person's own words."""

    name = "pins"
    trigger = "you pin words or take them back"

    def __init__(self, pins: Callable[[ConversationId], Sequence[str]]) -> None:
        self._pins = pins

    def content(self, view: TurnView) -> str | None:
        """All pins between ``<pinned>`` tags; None if the model has read the same before.

        The text stays in the history; after a compaction removed it, it is sent again."""
        last = view.tally.last(self.name)
        pins = [
            neutralise(pin).replace("</pinned", "<\\/pinned")
            for pin in self._pins(view.conversation)
        ]
        if not pins:
            return (
                "<pinned>\nNothing is pinned any more.\n</pinned>"
                if last and _PINS_HEAD in last
                else None
            )
        text = "\n".join(["<pinned>", _PINS_HEAD, *(f"- {pin}" for pin in pins), "</pinned>"])
        return None if text == last else text


LONGEST_DUE = 16_384
"""The most characters of the person's reminders that are sent at once; the others are only named."""


class UserDefinedReminder:
    """The reminders due before a user message. The files are read once per turn, at its beginning."""

    name = "user_defined"
    trigger = "a reminder of yours is due"

    def __init__(self, reminders: UserReminders) -> None:
        self._reminders = reminders
        self._said: dict[str, str | None] = {}

    def content(self, view: TurnView) -> str | None:
        """Return what is due, in the order of the files; in a tool loop what was due at its beginning."""
        if view.new_message:
            tally = view.tally
            due = [
                reminder
                for reminder in self._reminders.read().reminders
                if _is_due(reminder, tally)
            ]
            self._said[view.conversation] = _joined(due)
        return self._said.get(view.conversation)


def _is_due(reminder: UserReminder, tally: Tally) -> bool:
    """Counted in user messages before this one; a compaction begins the count anew."""
    if reminder.every == 1:
        return True
    if reminder.every == 0:
        return tally.prompts == 0 and not tally.compacted
    return tally.prompts % reminder.every == 0


def _joined(due: Sequence[UserReminder]) -> str | None:
    parts: list[str] = []
    left_out: list[str] = []
    size = 0
    for reminder in due:
        size += len(reminder.text)
        if size > LONGEST_DUE:
            left_out.append(reminder.name)
            size -= len(reminder.text)
        else:
            parts.append(neutralise(reminder.text))
    if left_out:
        parts.append(f"(Too long to be sent here: {', '.join(left_out)}.)")
    return "\n\n".join(parts) or None
