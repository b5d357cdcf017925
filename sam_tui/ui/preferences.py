"""What the person set about the screen, and where it is kept what they chose while working."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sam_tui.settings.user import UserSettings


class Preferences(Protocol):
    """Sections by name, each as JSON values. They are remembered choices, and grant nothing."""

    def read(self, section: str) -> Mapping[str, Any]:
        """What was written there last; empty where nothing was."""
        ...

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Keep a section in place of what it was. Raises ``ConfigurationError``."""
        ...


class NoPreferences:
    """Remembers nothing: for the demo, and where nothing is to be kept."""

    def read(self, section: str) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class ScreenTerms:
    """What the person set about the screen. No project has a say in any of it."""

    preferences: Preferences = field(default_factory=NoPreferences)
    notify: str = "auto"
    """How the terminal around is told that the person is needed; see ``driver.notifications``."""
    notify_command: str = ""
    """A command line that is started then, with a title and a text behind its own words."""
    settings: UserSettings = field(default_factory=UserSettings)
    first_run: bool = False
    """Whether there is nothing of an earlier run."""
