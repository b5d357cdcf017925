"""Looks for the files of the workspace while one is named in the prompt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui import mentions
from sam_tui.ui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime

_MOST = 50_000
"""Files of a workspace that are looked through."""


class Mentions:
    """Offers what fits. The files are listed anew with every ``@``, as ``file_search`` would."""

    def __init__(self, app: App[None], screen: ChatScreen) -> None:
        self._app = app
        self._screen = screen
        self._runtime: Runtime | None = None
        self._paths: Sequence[str] = ()
        self._named = False

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is a workspace to look through."""
        self._runtime = runtime
        self._screen.prompt.area.name_files = self.look

    def look(self, part: str | None) -> None:
        """A file is named so far by ``part``; None when none is."""
        fresh = part is not None and not self._named
        self._named = part is not None
        if fresh and self._runtime is not None:
            self._app.run_worker(self._list(self._runtime), group="mentions", exclusive=True)
        self._offer(part)

    async def _list(self, runtime: "Runtime") -> None:
        where = runtime.workspace.locate(".")
        try:
            self._paths, _ = await runtime.parts.search.files(where, "**/*", limit=_MOST, offset=0)
        except SamError as error:
            self._screen.status.flash(str(error))
        self._offer(self._screen.prompt.area.mentioned)

    def _offer(self, part: str | None) -> None:
        matches = mentions.fitting(self._paths, part) if part is not None else ()
        self._screen.prompt.area.files.offer(matches)
