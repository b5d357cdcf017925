"""Where it is kept what the person chose while working."""

from collections.abc import Mapping
from typing import Any, Protocol


class Preferences(Protocol):
    """Sections by name, each as JSON values. They are remembered choices, and grant nothing."""

    def read(self, section: str) -> Mapping[str, Any]:
        """What was written there last; empty where nothing was."""
        ...

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Keep a section in place of what it was. Raises ``OSError``."""
        ...


class NoPreferences:
    """Remembers nothing: for the demo, and where nothing is to be kept."""

    def read(self, section: str) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def write(self, section: str, values: Mapping[str, Any]) -> None:
        """Nothing is kept."""
