"""People's instructions to the agent in a recording: their names, restoration, and comparison."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.runtime import Runtime
from sam_tui.headless.replay.scenario import FILES, WORDS, Scenario

_MEMORIES, _STORED = "reminder memories", "result memory_operations.store_memory"
_NOTHING_PINNED = "Nothing is pinned any more."
_LONGEST = 8_000
_NAME = "recorded"


class Guidance:
    """The entries of requests that are compared.

    The reminders of files that a replay has in its scratch copy (``supplied``), of words that the
    recording has, and of memories where one was just stored; all others always, unless they are muted.
    """

    def __init__(self, recorded: Scenario, supplied: Collection[str]) -> None:
        self._supplied = supplied
        self._left_out = {f"reminder {name}" for name in _changed_in_turns(recorded)}
        self._left_out |= {f"reminder {n}" for n, c in recorded.reminders.items() if c == "muted"}
        self.not_compared: dict[str, None] = {}
        """Entries that were left out because only one side has them, in order."""

    def compared(
        self, then: Sequence[str], now: Sequence[str], *, subagent: bool
    ) -> tuple[list[str], list[str]]:
        """The entries of two requests that both have, if nothing is wrong."""
        both = [
            [entry for entry in request if self._counts(entry, request, subagent=subagent)]
            for request in (then, now)
        ]
        dropped = [entry for entry in (*then, *now) if entry not in both[0] + both[1]]
        self.not_compared |= {e: None for e in dropped if (e in then) != (e in now)}
        return both[0], both[1]

    def _counts(self, entry: str, request: Sequence[str], *, subagent: bool) -> bool:
        name = entry.removeprefix("reminder ").partition(":")[0]
        if entry == _MEMORIES:
            return _STORED in request and entry not in self._left_out
        if name in FILES and entry.startswith("reminder "):
            return entry in self._supplied and f"reminder {name}" not in self._left_out
        return entry not in self._left_out and not (subagent and name in WORDS)


def _changed_in_turns(recorded: Scenario) -> set[str]:
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
    skills = runtime.skills.listing().skills if runtime.has_skills else ()
    agents = runtime.definitions("agents").definitions
    below = [f"reminder skills: {skill.name}" for skill in skills if skill.source == "project"]
    below += [f"reminder agents: {agent.name}" for agent in agents if agent.source == "project"]
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
