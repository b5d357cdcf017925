"""What people wrote for the agent, in a recording: how it is named, restored, and when it is compared."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import ReminderMessage
from sam_tui.core.runtime import Runtime

if TYPE_CHECKING:
    from sam_tui.headless.replay.scenario import Change, Scenario

_LINE = re.compile(r"^- (.+?): ", re.MULTILINE)
_FILES = {
    "instructions": re.compile(r'^<fileInstructions of="([^"]*)">$', re.MULTILINE),
    "skills": _LINE,
    "agents": _LINE,
}
"""Reminders of files, and where they name each."""
WORDS = ("pins", "mini_prompts", "user_defined")
"""Reminders of words that a person set down beside the conversation: a recording has these words."""
_MEMORIES, _STORED = "reminder memories", "result memory_operations.store_memory"
_NOTHING_PINNED = "Nothing is pinned any more."
_LONGEST = 8_000
_NAME = "recorded"


def entries_of(reminder: ReminderMessage, change: "Change") -> list[str]:
    """How a recording names a reminder; one of files by each of them."""
    entry = f"reminder {reminder.name}"
    names = _FILES[reminder.name].findall(reminder.text) if reminder.name in _FILES else ()
    return [f"{entry}: {change(name)}" for name in names] or [entry]


class Guidance:
    """Which entries of requests are compared.

    The reminders of files that a replay has in its scratch copy (``supplied``), of words that the
    recording has, and of memories where one was just stored; all others always, unless they are muted.
    """

    def __init__(self, recorded: "Scenario", supplied: Collection[str]) -> None:
        self._supplied = supplied
        self._left_out = {f"reminder {name}" for name in _changed_in_turns(recorded)}
        self._left_out |= {f"reminder {n}" for n, c in recorded.reminders.items() if c == "muted"}
        self.not_compared: dict[str, None] = {}
        """Entries that were left out, in order."""

    def compared(self, request: Sequence[str], *, subagent: bool) -> list[str]:
        """The entries of a request that both sides have, if nothing is wrong."""
        kept = [entry for entry in request if self._counts(entry, request, subagent=subagent)]
        self.not_compared |= dict.fromkeys(entry for entry in request if entry not in kept)
        return kept

    def _counts(self, entry: str, request: Sequence[str], *, subagent: bool) -> bool:
        name = entry.removeprefix("reminder ").partition(":")[0]
        if entry == _MEMORIES:
            return _STORED in request and entry not in self._left_out
        if name in _FILES and entry.startswith("reminder "):
            return entry in self._supplied and f"reminder {name}" not in self._left_out
        return entry not in self._left_out and not (subagent and name in WORDS)


def _changed_in_turns(recorded: "Scenario") -> set[str]:
    """Words that the person changed while a turn ran, or that a recording of an older version lacks."""
    return {
        name
        for turn in recorded.turns
        for number, step in enumerate(turn.steps)
        for name in WORDS
        if f"reminder {name}" in step.request and (number or name not in turn.guidance)
    }


def supplied_by(runtime: Runtime, believed: Collection[str]) -> frozenset[str]:
    """The entries that the files of a scratch copy account for."""
    skills = runtime.parts.skills.listing().skills if runtime.parts.has_skills else ()
    agents = runtime.parts.definitions("agents").definitions
    below = [f"reminder skills: {each.name}" for each in skills if each.source == "project"]
    below += [f"reminder agents: {each.name}" for each in agents if each.source == "project"]
    return frozenset([*(f"reminder instructions: {name}" for name in believed), *below])


def restore(
    runtime: Runtime, conversation: ConversationId, guidance: Mapping[str, str], data: str
) -> None:
    """Set down, ahead of a turn, the words that were due in it; ``data`` is the replay's own folder."""
    if "pins" in guidance:
        text = guidance["pins"]
        runtime.conversations.keep_pins(conversation, () if _NOTHING_PINNED in text else [text])
    mini, due = Path(data, "prompts", "mini"), Path(data, "reminders")
    _set(mini / f"{_NAME}.md", "enabled: false", guidance.get("mini_prompts"))
    _set(due / f"{_NAME}.md", "when: always", guidance.get("user_defined"))
    if "mini_prompts" in guidance:
        runtime.prompts.set_enabled(conversation, f"user:{_NAME}", enabled=True)


def _set(file: Path, head: str, text: str | None) -> None:
    """Write a file of settings, or take it away. Raises ``UsageError``."""
    try:
        if text is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{head}\n---\n{text[:_LONGEST]}\n", "utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}.") from error
