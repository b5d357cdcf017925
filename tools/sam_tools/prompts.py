"""list_system_prompts and list_mini_prompts (seed 004), and read_skill."""

from collections.abc import Sequence

from pydantic import Field

from sam_tui.core.display import Table
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.prompts import FileProblem, Prompt, PromptLibrary, Skill, Skills
from sam_tui.core.prompt.skills import TOOL
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments, NoArguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single

INLINE_LIMIT = 40_000
"""The most characters of a skill that are read at once, because half a skill would mislead."""


class SkillName(Arguments):
    """The name of a skill."""

    name: str = Field(default="", description="The skill to read; empty to list them all.")


class ReadSkill:
    """Reads skills: the person's own, and those of a trusted folder."""

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
        return single(operation, about)

    async def _read(self, arguments: SkillName, context: ToolContext) -> ToolResult:
        listing = self._skills.listing()
        if not arguments.name:
            return _listed(listing.skills)
        for skill in listing.skills:
            if skill.name == arguments.name.removeprefix("/"):
                return self._skill_report(skill)
        names = ", ".join(skill.name for skill in listing.skills) or "none"
        raise ToolError(f"There is no skill {arguments.name!r}.", hint=f"There are: {names}.")

    def _skill_report(self, skill: Skill) -> ToolResult:
        files = self._skills.files(skill)
        beside = f"\nBeside it: {', '.join(files)}" if files else ""
        text = f"Skill {skill.name}, in {skill.folder}{beside}\n\n{skill.text}"
        return ToolResult(text, data={"name": skill.name, "folder": skill.folder})


def _listed(skills: tuple[Skill, ...]) -> ToolResult:
    lines = [f"- {skill.name}: {one_line(skill.description)}" for skill in skills]
    text = "\n".join(lines) or "There are no skills."
    return ToolResult(text, data={"names": [skill.name for skill in skills]})


_UNTRUSTED = "not active: this folder is not trusted yet"


class ListSystemPrompts:
    """list_system_prompts: id, name and description of each."""

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    def tool(self) -> Tool:
        """The tool, ready to register."""
        return single(
            Operation(
                "list_system_prompts",
                "list them",
                NoArguments,
                self._list,
                lambda _: "Listing system prompts",
            ),
            "List the system prompts a conversation can be started with.",
        )

    async def _list(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        listing = self._library.list_system()
        lines = [f"{_number(listing.prompts, 'system prompt')}:"]
        for prompt in listing.prompts:
            lines += ["", *_head(prompt)]
            if prompt.description:
                lines.append(f"  {one_line(prompt.description)}")
        voices = self._library.list_personalities()
        if voices.prompts:
            lines += ["", "Personalities, to speak with whatever the system prompt:"]
        for prompt in voices.prompts:
            lines += ["", *_head(prompt), f"  {one_line(prompt.description)}"]
        return _result(
            lines,
            [*listing.prompts, *voices.prompts],
            [*listing.problems, *voices.problems],
        )


class ListMiniPrompts:
    """list_mini_prompts: id, name and content of each, and whether it is on."""

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    def tool(self) -> Tool:
        """The tool, ready to register."""
        return single(
            Operation(
                "list_mini_prompts",
                "list them",
                NoArguments,
                self._list,
                lambda _: "Listing mini prompts",
            ),
            "List the mini prompts: instructions the person can keep before your eyes.",
        )

    async def _list(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        listing = self._library.list_mini()
        enabled = {prompt.id for prompt in self._library.enabled_mini(context.conversation)}
        if not listing.prompts:
            lines = ["There are no mini prompts. The person can add some as Markdown files."]
            return _result(lines, (), listing.problems)
        lines = [f"{_number(listing.prompts, 'mini prompt')}:"]
        for prompt in listing.prompts:
            lines += ["", *_head(prompt, state="on" if prompt.id in enabled else "off")]
            # A folder without trust: its prompts are named, not quoted.
            if prompt.active:
                lines += [f"  {line}" for line in prompt.content.splitlines()]
        return _result(lines, listing.prompts, listing.problems)


def _head(prompt: Prompt, *, state: str = "") -> list[str]:
    notes = [note for note in (prompt.source, state) if note]
    if not prompt.active:
        notes = [prompt.source, _UNTRUSTED]
    return [f"- {prompt.name} ({', '.join(notes)})", f"  ID: {prompt.id}"]


def _result(
    lines: Sequence[str], prompts: Sequence[Prompt], problems: Sequence[FileProblem]
) -> ToolResult:
    text = list(lines)
    if problems:
        text += ["", "Files that could not be used:"]
        text += [f"- {problem.file}: {problem.reason}" for problem in problems]
    rows = tuple((prompt.id, prompt.name, prompt.description) for prompt in prompts)
    return ToolResult(
        "\n".join(text),
        display=(Table(("id", "name", "description"), rows),) if rows else (),
        data={"ids": [prompt.id for prompt in prompts], "problems": len(problems)},
    )


def _number(prompts: Sequence[Prompt], what: str) -> str:
    return f"{len(prompts)} {what}{'' if len(prompts) == 1 else 's'}"
