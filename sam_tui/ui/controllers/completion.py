"""What the prompt offers while one types: files, skills, and what was asked before."""

from collections.abc import Sequence

from sam_tui.core.errors import SamError
from sam_tui.ui.actions import WorkbenchAction
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.mentions import Candidates
from sam_tui.ui.plain import one_line

_MOST = 50_000
"""Files of a workspace that are looked through."""
_RECALLED = 200
"""Prompts of earlier conversations that Up goes back to."""


class Completion:
    """Implements ``PromptSource``. Files are listed anew with every ``@``, as ``file_search`` would."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._area = context.screen.prompt.area
        self._candidates = Candidates()
        self._naming = False
        """Whether a file is being named."""

    def files(self, part: str | None) -> Sequence[str]:
        """The files that fit what is typed of a name; None where none is being named."""
        begins = part is not None and not self._naming
        self._naming = part is not None
        if begins:
            self._context.app.run_worker(self._list(), group="mentions", exclusive=True)
        return self._candidates.fitting(part) if part is not None else ()

    async def _list(self) -> None:
        runtime = self._context.runtime
        root, search = runtime.workspace.locate("."), runtime.parts.search
        try:
            paths, count = await search.files(root, "**/*", limit=_MOST, offset=0)
            self._candidates = Candidates(paths)
            if count > len(paths):
                words = f"Of {count:,} files the first {len(paths):,} are offered."
                self._context.screen.status.flash(words)
        except SamError as error:
            self._context.screen.status.flash(str(error))
        self._area.offer_files()

    def skills(self) -> Sequence[WorkbenchAction]:
        """The commands of files and the skills, to be called like commands."""
        parts = self._context.runtime.parts
        commands = [
            WorkbenchAction(
                command.name, "Command", one_line(command.description, 200), (), command.name,
                one_line(command.values.get("argument-hint", "ARGUMENTS"), 40),
            )
            for command in parts.definitions("commands").definitions
        ]  # fmt: skip
        if not parts.has_skills:
            return commands
        return commands + [
            WorkbenchAction(
                skill.name, "Skill", one_line(skill.description, 200), (), skill.name, "WORDS"
            )
            for skill in parts.skills.listing().skills
        ]

    def earlier(self) -> Sequence[str]:
        """What was asked in this workspace, oldest first."""
        runtime = self._context.runtime
        try:
            return runtime.conversations.prompts(runtime.workspace.root, _RECALLED)
        except SamError as error:
            self._context.screen.transcript.add_error(error)
            return ()
