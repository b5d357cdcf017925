"""read_skill: what a skill says, when it is needed."""

from pydantic import Field

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.prompts import Skill, Skills
from sam_tui.core.prompt.skills import TOOL
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult

INLINE_LIMIT = 40_000
"""Characters of a skill that are read at once: half of one would mislead."""


class SkillName(Arguments):
    """Which skill."""

    name: str = Field(default="", description="The skill to read; empty to list them all.")


class ReadSkill:
    """The skills of the person and of a trusted folder."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            TOOL,
            "read one",
            SkillName,
            self._read,
            lambda arguments: (
                f"Reading skill: {arguments.name}" if arguments.name else "Listing skills"
            ),
            inline_limit=INLINE_LIMIT,
        )
        about = "Read a skill: how the person wants a kind of task to be done, and with what."
        return Tool(TOOL, about, (operation,), consolidated=False)

    async def _read(self, arguments: SkillName, context: ToolContext) -> ToolResult:
        listing = self._skills.listing()
        if not arguments.name:
            return _listed(listing.skills)
        for skill in listing.skills:
            if skill.name == arguments.name.removeprefix("/"):
                return self._told(skill)
        names = ", ".join(skill.name for skill in listing.skills) or "none"
        raise ToolError(f"There is no skill {arguments.name!r}.", hint=f"There are: {names}.")

    def _told(self, skill: Skill) -> ToolResult:
        files = self._skills.files(skill)
        beside = f"\nBeside it: {', '.join(files)}" if files else ""
        text = f"Skill {skill.name}, in {skill.folder}{beside}\n\n{skill.text}"
        return ToolResult(text, data={"name": skill.name, "folder": skill.folder})


def _listed(skills: tuple[Skill, ...]) -> ToolResult:
    lines = [f"- {skill.name}: {one_line(skill.description)}" for skill in skills]
    text = "\n".join(lines) or "There are no skills."
    return ToolResult(text, data={"names": [skill.name for skill in skills]})
