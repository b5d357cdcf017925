"""Completion for the prompt while a person types: files, skills, and earlier prompts."""

import asyncio
from collections.abc import Sequence

from sam_tui.core.errors import SamError
from sam_tui.core.ports.files import FileMatches
from sam_tui.settings.table import find_setting
from sam_tui.ui import slash
from sam_tui.ui.actions import WorkbenchAction
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.servers import PROMPT, ServerCompletion
from sam_tui.ui.mentions import LISTED, Candidates, fitting, naming
from sam_tui.ui.plain import one_line

_MOST = 50_000
"""The most files of a workspace that are searched."""
_PAUSE = 0.2
"""Seconds without a key after which a large workspace is searched."""
_RECALLED = 200
"""How many prompts of earlier conversations Up can recall."""


class Completion:
    """Implements ``PromptSource``. Every ``@`` lists the files anew, as ``file_search`` would.

    Where there are too many to list, a search finds those that fit the typed text.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._servers = ServerCompletion(context)
        self._area = context.screen.prompt.area
        self._listed = self._candidates = Candidates()
        self._naming = False
        """Whether the person is typing the name of a file."""
        self._command = ""
        """The command whose argument is being typed, and the arguments that it takes."""
        self._values: Sequence[str] = ()
        self._sought: str | None = None
        """The words that selected the candidates; None if all files are listed."""

    def files(self, part: str | None) -> Sequence[str]:
        """The files that match the name being typed; None if no name is being typed."""
        self._command = ""
        begins = part is not None and not self._naming
        self._naming = part is not None
        if begins:
            self._sought = None
            self._servers.begin()
            self._context.app.run_worker(self._list(), group="mentions", exclusive=True)
        elif (
            part
            and self._sought is not None
            and not (self._sought and part.startswith(self._sought))
        ):
            self._sought, self._candidates = part, self._listed
            self._context.app.run_worker(self._find(part), group="mentions", exclusive=True)
        if part is None:
            return ()
        return [*self._servers.resources(part), *self._candidates.fitting(part)][:LISTED]

    def values(self, action: WorkbenchAction, part: str) -> Sequence[str]:
        """Return the values of a command that match the typed text; none once the text is one of them."""
        if action.argument == "FILE":
            files = self.files(part)
            return () if part in files else files
        if action.name == PROMPT:
            return self._servers.values(action, part)
        if action.name != self._command:
            self._command, self._values = action.name, self._values_of(action)
        if part in self._values:
            return ()
        return fitting(self._values, part)[0] if part else self._values

    def _values_of(self, action: WorkbenchAction) -> Sequence[str]:
        runtime = self._context.runtime
        match action.name:
            case "model":
                self._context.app.run_worker(self._list_models(), group="models", exclusive=True)
                return ()
            case "theme":
                looks = find_setting("screen.theme")
                return looks.choices if looks is not None else ()
            case "workflow":
                return [view.name for view in runtime.workflows.workflows().catalog.views()]
            case "resume":
                recent = runtime.conversations.recent(runtime.workspace.root, _RECALLED)
                return list(dict.fromkeys(one_line(record.title, 80) for record in recent))
            case _:
                return slash.literal_values(action)

    async def _list_models(self) -> None:
        offers = await self._context.runtime.catalog.offers(self._context.runtime.model)
        self._values = [offer.model for offer in offers if offer.model]
        self._area.offer_files()

    async def _list(self) -> None:
        if (result := await self._search("**/*")) is not None:
            paths, count = result.paths, result.total
            self._listed = self._candidates = Candidates(paths)
            if result.cut or count > len(paths):
                self._sought = ""
                least = "at least " if result.cut else ""
                words = f"The first {len(paths):,} of {least}{count:,} files; "
                words += "type to find the others."
                self._context.screen.status.flash(words)
        self._area.offer_files()

    async def _find(self, part: str) -> None:
        await asyncio.sleep(_PAUSE)
        if (result := await self._search(naming(part))) is not None:
            if result.paths:
                self._candidates = Candidates(result.paths)
            if result.cut or result.total > len(result.paths):
                self._sought = ""  # the next typed text is searched for, too
        self._area.offer_files()

    async def _search(self, pattern: str) -> FileMatches | None:
        runtime = self._context.runtime
        try:
            root = runtime.workspace.locate(".")
            return await runtime.search.files(root, pattern, limit=_MOST, offset=0)
        except SamError as error:
            self._context.screen.status.flash(str(error))
            return None

    def skills(self) -> Sequence[WorkbenchAction]:
        """The commands of files and the skills, to be called like commands."""
        runtime = self._context.runtime
        commands = [
            WorkbenchAction(
                command.name, "Command", one_line(command.description, 200), (), command.name,
                one_line(command.values.get("argument-hint", "ARGUMENTS"), 40),
            )
            for command in runtime.definitions("commands").definitions
        ]  # fmt: skip
        commands += self._servers.prompts()
        if not runtime.has_skills:
            return commands
        return commands + [
            WorkbenchAction(
                skill.name, "Skill", one_line(skill.description, 200), (), skill.name, "WORDS"
            )
            for skill in runtime.skills.listing().skills
        ]

    def earlier(self) -> Sequence[str]:
        """The earlier prompts of this workspace, oldest first."""
        runtime = self._context.runtime
        try:
            earlier = runtime.conversations.prompts(runtime.workspace.root, _RECALLED)
            return [prompt.text for prompt in earlier]
        except SamError as error:
            self._context.screen.transcript.add_error(error)
            return ()
