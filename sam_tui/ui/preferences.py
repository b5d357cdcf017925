"""Settings of the screen, and the store for choices made while working."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from sam_tui.settings.user import UserSettings

_MODELS = "models"
"""The section for favourite models and the model to start with."""
_MOST_FOLDERS = 200


class Preferences(Protocol):
    """Sections by name, each as JSON values. They are remembered choices, and grant nothing."""

    def read(self, section: str) -> Mapping[str, object]:
        """The stored preferences of a section; empty if there are none."""
        ...

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Replace a stored section. Raises ``ConfigurationError``."""
        ...


class NoPreferences:
    """Remembers nothing: for the demo, and where nothing is to be kept."""

    def read(self, section: str) -> Mapping[str, object]:
        """Return no values."""
        return {}

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Store nothing."""


@dataclass(frozen=True, slots=True)
class ScreenTerms:
    """The person's settings of the screen. Projects cannot change them."""

    preferences: Preferences = field(default_factory=NoPreferences)
    notify: str = "auto"
    """How to alert the person through the outer terminal; see ``driver.notifications``."""
    notify_command: str = ""
    """A command to run for an alert; a title and a text are added to its arguments."""
    settings: UserSettings = field(default_factory=UserSettings)
    inline: bool = False
    """Whether the workbench uses only the last rows, and output goes to the terminal's own scrollback."""
    reader: bool = False
    """Whether the person uses a screen reader: plain lines, no animation. Implies ``inline``."""
    first_run: bool = False
    """Whether no data of an earlier run exist."""


@dataclass(slots=True)
class ModelWishes:
    """Favourite models, and the model with which each folder starts: model string and address."""

    favourites: list[str] = field(default_factory=list[str])
    folders: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    @classmethod
    def read(cls, preferences: Preferences) -> "ModelWishes":
        """The stored wishes; malformed entries are left out."""
        section = preferences.read(_MODELS)
        favourites, folders = section.get("favourites"), section.get("folders")
        wishes = cls()
        if isinstance(favourites, list):
            names = cast("list[object]", favourites)
            wishes.favourites += [name for name in names if isinstance(name, str)]
        if isinstance(folders, dict):
            for folder, wish in cast("dict[str, object]", folders).items():
                match wish:
                    case [str() as model, str() as api_base]:
                        wishes.folders[folder] = (model, api_base)
                    case _:
                        pass
        return wishes

    def favour(self, model: str) -> None:
        """Make a model a favourite, or remove it from the favourites."""
        if model in self.favourites:
            self.favourites.remove(model)
        else:
            self.favourites.append(model)

    def prefer(self, folder: str, model: str, api_base: str) -> None:
        """Make a model the one with which a folder starts, or no longer."""
        if self.folders.pop(folder, None) != (model, api_base):
            self.folders[folder] = (model, api_base)

    def write(self, preferences: Preferences) -> None:
        """Keep them; of the folders the latest. Raises ``ConfigurationError``."""
        folders = dict(list(self.folders.items())[-_MOST_FOLDERS:])
        preferences.write(_MODELS, {"favourites": self.favourites, "folders": folders})
