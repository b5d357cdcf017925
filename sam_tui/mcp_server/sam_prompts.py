"""System and mini prompts as MCP prompts: clients show them as commands of the person."""

from collections.abc import Mapping, Sequence

import mcp_types as types

from sam_tui.core.ports.prompts import Prompt, PromptLibrary


class SamPrompts:
    """The prompt library's active prompts; those of a folder that is not trusted stay out."""

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    def listed(self) -> Sequence[types.Prompt]:
        """System prompts first, then mini prompts, each in the library's order."""
        return [
            types.Prompt(
                name=prompt.id,
                title=prompt.name,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(
                        name="task", description="what to do under it", required=False
                    )
                ],
            )
            for prompt in self._active()
        ]

    def get(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult | None:
        """The prompt's text as a message of the person, with the task after it."""
        prompt = next((prompt for prompt in self._active() if prompt.id == name), None)
        if prompt is None:
            return None
        task = arguments.get("task", "").strip()
        text = f"{prompt.content.strip()}\n\n{task}" if task else prompt.content.strip()
        return types.GetPromptResult(
            description=prompt.description,
            messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))],
        )

    def completions(self, name: str, argument: str) -> Sequence[str]:
        """None: a task is free text."""
        return ()

    def _active(self) -> list[Prompt]:
        prompts = [*self._library.list_system().prompts, *self._library.list_mini().prompts]
        return [prompt for prompt in prompts if prompt.active]
