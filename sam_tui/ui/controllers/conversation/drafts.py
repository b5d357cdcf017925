"""Stores unsent text for each conversation, across switching, restarts and kills."""

import asyncio
import contextlib
import json
from itertools import accumulate, islice

from sam_tui.core.errors import ConfigurationError
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.preferences import Preferences
from sam_tui.ui.timers import after

SECTION = "drafts"
"""The section of the preferences: drafts by conversation, the latest last."""
MOST, LONGEST, IN_ALL = 40, 200_000, 2_000_000
"""The most drafts that are stored, the most characters of each, and the most bytes of all as JSON."""
_CUT = "\n[The draft was longer than {most:,} characters: the rest was not stored.]"
PAUSE = 1.0
"""Seconds without a change after which the draft is stored, in case the program is killed."""


class PromptDrafts:
    """Saves and restores drafts with the displayed conversation; before a first prompt by folder."""

    def __init__(
        self, context: Context, current: CurrentConversation, preferences: Preferences
    ) -> None:
        self._area = context.screen.prompt.area
        self._app = context.app
        self._current = current
        self._preferences = preferences
        self._begin = f"begin {context.runtime.workspace.root}"
        self._key = self._begin
        self._left: str | None = None
        """The text of the prompt when the person left the conversation, while it is not stored yet."""
        self._later: asyncio.TimerHandle | None = None
        current.changed.watch(self._changed)
        current.leaving.watch(self._leave)
        current.arrived.watch(self._arrive)

    def begin(self) -> None:
        """Restore the draft of the last run, unless the person has typed since the start."""
        self._key = self._current.id or self._begin
        if not self._area.text and (draft := self._stored.get(self._key)):
            self._area.put(draft)
        self._area.edited.watch(self._edited)

    def keep(self, text: str | None = None) -> None:
        """Store the prompt's text, or ``text``, as the draft of the conversation that was displayed."""
        text = self._area.whole if text is None else text
        drafts = self._stored
        drafts.pop(self._key, None)
        if text.strip():
            drafts[self._key] = _storable(text)
        with contextlib.suppress(ConfigurationError):  # a draft is worth no interruption
            self._preferences.write(SECTION, _latest(drafts))

    def _edited(self) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = after(self._app, PAUSE, self._pause)

    def _pause(self) -> None:
        text = self._area.whole
        draft = _storable(text) if text.strip() else ""
        if self._left is None and self._stored.get(self._key, "") != draft:
            self.keep(text)

    def _leave(self) -> None:
        """Another tab will be displayed: the text of the prompt stays with this one."""
        self._current.tab.draft = self._area.whole
        self.keep()
        self._area.put("")

    def _arrive(self) -> None:
        self._key = self._current.id or self._begin
        self._area.put(self._current.tab.draft)

    @property
    def _stored(self) -> dict[str, str]:
        drafts = self._preferences.read(SECTION)
        return {key: text for key, text in drafts.items() if isinstance(text, str)}

    def _changed(self) -> None:
        """Save or restore the draft after the switch between conversations is complete."""
        if self._left is None:
            self._left = self._area.whole
            self._app.call_later(self._switch)

    def _switch(self) -> None:
        left, key = self._left or "", self._current.id or self._begin
        self._left = None
        if key == self._key:
            return
        draft = self._stored.get(key, "")
        if self._area.whole == left and (draft or self._key != self._begin):
            self.keep(left)
            self._area.put(draft)
        elif self._key == self._begin:
            self.keep("")  # text written before the first prompt moves along
        self._key = key


def _storable(text: str) -> str:
    """Return a draft in its stored form: one that is too long ends with a note that says so."""
    return text if len(text) <= LONGEST else text[:LONGEST] + _CUT.format(most=LONGEST)


def _latest(drafts: dict[str, str]) -> dict[str, str]:
    """The latest drafts that the preferences have room for."""
    sizes = accumulate(len(json.dumps(text)) for text in reversed(drafts.values()))
    count = sum(size <= IN_ALL for size in islice(sizes, MOST))
    return dict(list(drafts.items())[len(drafts) - count :])
