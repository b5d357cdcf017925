"""Names the skills and agents there are; what they say is read when one fits."""

from collections.abc import Callable

from sam_tui.core.ports.prompts import DefinitionListing
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.prompt.skills import TOOL, OfferedSkills
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.neutralization import neutralise

LONGEST = 300
"""Characters of a description that are told."""
MOST = 60
OfferedAgents = Callable[[], DefinitionListing]
_BRACKETS = str.maketrans("<>", "‹›")


class SkillsReminder:
    """Names and descriptions, told at the beginning and when they changed."""

    name = "skills"

    def __init__(self, skills: OfferedSkills) -> None:
        self._skills = skills

    def content(self, view: TurnView) -> str | None:
        """One line a skill between ``<skills>`` tags; None where the model read the same before."""
        offered = self._skills()
        skills = offered.listing().skills if offered is not None else ()
        lines = [f"- {skill.name}: {_quiet(skill.description)}" for skill in skills[:MOST]]
        if len(skills) > MOST:
            lines.append(f"and {len(skills) - MOST} more: {TOOL} lists them all")
        return _news(self.name, _head(lines), lines, view)


class AgentsReminder:
    """Names and descriptions of the agents that ``run_subagent`` can send, told as skills are."""

    name = "agents"

    def __init__(self, agents: OfferedAgents) -> None:
        self._agents = agents

    def content(self, view: TurnView) -> str | None:
        """One line an agent between ``<agents>`` tags; None where the model read the same before."""
        agents = self._agents().definitions
        lines = [f"- {_quiet(agent.name)}: {_quiet(agent.description)}" for agent in agents[:MOST]]
        head = "Agents for tasks of a kind: name one in `agent` of run_subagent."
        return _news(self.name, [head if lines else "There are no agents any more."], lines, view)


def _news(name: str, head: list[str], lines: list[str], view: TurnView) -> str | None:
    text = neutralise("\n".join([f"<{name}>", *head, *lines, f"</{name}>"]))
    last = view.tally.last(name)
    if last is not None:
        return None if last == text else text
    return text if lines else None


def _head(lines: list[str]) -> list[str]:
    if not lines:
        return ["There are no skills any more."]
    return [
        "Skills: what the person wants known for a kind of task. Where one fits, read it with"
        f" {TOOL} before you begin."
    ]


def _quiet(text: str) -> str:
    """Somebody's own words: one short line that can be no tag."""
    line = one_line(text)
    return (line if len(line) <= LONGEST else line[: LONGEST - 1] + "…").translate(_BRACKETS)
