"""The settings of the person at the screen: read when the program begins, changed while it runs."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sam_tui.settings.files import SettingsFile, save
from sam_tui.settings.keys import KeyStore, key_store
from sam_tui.settings.layers import Settings, personal_settings, user_file
from sam_tui.settings.table import Value
from sam_tui.settings.values import checked, setting_of


@dataclass(slots=True)
class UserSettings:
    """The settings in force at the screen. ``data_dir`` is where keys are stored.

    Raises ``ConfigurationError`` for a file that cannot be used, when it is made and when it is changed.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    data_dir: str = ""
    overlay: SettingsFile | None = None
    """The settings from ``--settings``."""
    settings: Settings = field(init=False)
    listeners: list[Callable[[str], object]] = field(
        init=False, default_factory=list[Callable[[str], object]]
    )
    """Called with the key of each setting that is changed through this object."""

    def __post_init__(self) -> None:
        self.settings = personal_settings(self.environ, overlay=self.overlay)

    @property
    def path(self) -> str:
        """The file that is changed."""
        return user_file(self.environ)

    @property
    def keys(self) -> KeyStore | None:
        """The stored keys of providers; None without a data folder."""
        return key_store(self.data_dir) if self.data_dir else None

    def set(self, key: str, value: Value | None) -> None:
        """Set a value in the person's own file; None removes it."""
        setting = setting_of(key)
        save(self.path, setting, None if value is None else checked(setting, value))
        self.settings = personal_settings(self.environ, overlay=self.overlay)
        for changed in self.listeners:
            changed(key)
