"""The command palette: every action by its title, with its keys and its command."""

from collections.abc import Awaitable, Callable
from functools import partial

from textual import on
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.widgets import OptionList

from sam_tui.ui.actions import WorkbenchAction, keys_of, palette_actions
from sam_tui.ui.widgets.choice_list import say_marked_option


class ActionProvider(Provider):
    """Finds actions for the command palette by their titles and helps."""

    async def discover(self) -> Hits:
        """Every action, before anything is typed into the palette."""
        for action in palette_actions():
            yield DiscoveryHit(titled(action), self._command(action), help=action.help)

    async def search(self, query: str) -> Hits:
        """The actions whose title or help matches the query."""
        matcher = self.matcher(query)
        for action in palette_actions():
            score = max(matcher.match(action.title), matcher.match(action.help) / 2)
            if score > 0:
                title = matcher.highlight(titled(action))
                yield Hit(score, title, self._command(action), help=action.help)

    def _command(self, action: WorkbenchAction) -> Callable[[], Awaitable[object]]:
        return partial(self.app.run_action, f"app.perform('{action.name}')")


def titled(action: WorkbenchAction) -> str:
    """An action with its keys and its command, for the palette."""
    command = f"/{action.slash}" if action.slash else action.typed
    return "  ".join(part for part in (action.title, keys_of(action), command) if part)


class ActionPalette(CommandPalette):
    """Textual's palette with our actions; it announces the marked action to screen readers."""

    def __init__(self) -> None:
        super().__init__([ActionProvider])

    @on(OptionList.OptionHighlighted)
    def _say(self, event: OptionList.OptionHighlighted) -> None:
        say_marked_option(event.option_list)
