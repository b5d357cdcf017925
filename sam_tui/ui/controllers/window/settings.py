"""The person's settings of the screen: theme, provider keys, every other setting, and the tour."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.settings.table import find_setting
from sam_tui.settings.user import UserSettings
from sam_tui.settings.variables import SECRETS, key_variable
from sam_tui.ui.actions import MODES
from sam_tui.ui.messages import ActionAsked
from sam_tui.ui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime

THEME = "screen.theme"


class SettingActions:
    """The actions on settings, from the first frame on; ``learn`` adds secrets to the shield."""

    def __init__(
        self,
        app: App[None],
        screen: ChatScreen,
        settings: UserSettings,
        learn: Callable[[Mapping[str, str]], object],
    ) -> None:
        self._app = app
        self._screen = screen
        self._settings = settings
        self._learn = learn
        self.table: dict[str, Callable[[str], object]] = {
            "theme": self.theme,
            "key": self.key,
            "settings": self.settings,
            "tour": lambda _: self.tour(),
        }

    def _attempt(self, action: Callable[[], object]) -> bool:
        """Do it; whether that worked. The transcript shows the error."""
        try:
            action()
        except SamError as error:
            self._screen.transcript.add_error(error)
            return False
        return True

    def _notice(self, text: str) -> None:
        self._screen.transcript.add_notice("info", text)

    # ---- the look

    def theme(self, name: str = "") -> None:
        """Use and store the theme of this name; without a name let the person pick one."""
        names = self._looks()
        if name in names:
            self._attempt(lambda: self._settings.set(THEME, name))
            return
        if name:
            self._notice(f"There is no theme {name}. There are: {', '.join(names)}.")
            return
        from sam_tui.ui.screens.settings import ThemePicker

        before = self._app.theme

        def picked(index: int | None) -> None:
            if index is None or not self._attempt(lambda: self._settings.set(THEME, names[index])):
                self._app.theme = before

        self._app.push_screen(ThemePicker(names, self._settings.settings.text(THEME)), picked)

    def _looks(self) -> Sequence[str]:
        setting = find_setting(THEME)
        return setting.choices if setting is not None else ()

    # ---- keys of providers

    def key(self, provider: str = "") -> None:
        """Ask for the key of a provider and keep it; without one let the person pick."""
        store = self._settings.keys
        if store is None:
            return
        if not provider:
            self._pick_provider()
            return
        variable = key_variable(provider)
        if not variable:
            self._notice(f"There is no provider {provider}. /key lists them.")
            return
        from sam_tui.ui.screens.forms import KeyForm

        why = f"It is stored for later runs, where the variable {variable} takes precedence."
        form = KeyForm(SECRETS[variable], why, keeps=True)

        def typed(key: str | None) -> None:
            if not key:
                return
            self._learn({variable: key})
            if form.keeps:
                self._attempt(
                    lambda: self._notice(f"The key is stored {store.save(variable, key)}.")
                )
            else:
                store.values[variable] = key
                self._notice("The key is used until the program ends.")
            if not self._screen.status.standing.model:
                self._screen.post_message(
                    ActionAsked("model")
                )  # the list now has the provider's models

        self._app.push_screen(form, typed)

    def _pick_provider(self) -> None:
        from sam_tui.ui.screens.dialogs import Choice, Picker

        services: dict[str, list[str]] = {}
        for name in SECRETS:
            if "KEY" in name and not name.startswith("SAM_TUI_"):
                services.setdefault(SECRETS[name], []).append(name)
        store = self._settings.keys
        storage = store.storage if store is not None else {}

        async def load() -> Sequence[Choice]:
            return [
                Choice(service, " · ".join([*names, *(storage[n] for n in names if n in storage)]))
                for service, names in services.items()
            ]

        def picked(index: int | None) -> None:
            if index is not None:
                names = [*services.values()][index]
                self.key(next((name for name in names if name in storage), names[0]))

        self._app.push_screen(Picker("a key for", load, empty=""), picked)

    # ---- everything

    def settings(self, _: str = "") -> None:
        """Every setting with its origin."""
        from sam_tui.ui.screens.settings import SettingsScreen

        self._app.push_screen(SettingsScreen(self._settings))

    def tour(self) -> None:
        """Explain the parts of the window, in steps."""
        from sam_tui.ui.screens.settings import TourScreen

        self._app.push_screen(TourScreen())


def welcome(runtime: "Runtime") -> tuple[str, ...]:
    """Return three lines about what the agent may do here."""
    sandbox = runtime.commands.expected.kind
    held = (
        f"run in a sandbox ({sandbox})"
        if sandbox != "none"
        else "need your permission, because there is no sandbox"
    )
    believed = (
        "is trusted" if runtime.trust.trusted else "is not trusted: its own rules only tighten"
    )
    return (
        f"The agent reads and writes in {runtime.workspace.root}, which {believed} (/trust).",
        f"Its commands {held}; the guard asks about secrets, other folders and other hosts.",
        f"Mode {runtime.mode}: {MODES.get(runtime.mode, 'nothing is asked')}. Shift+Tab "
        "changes it; /tour explains the screen.",
    )
