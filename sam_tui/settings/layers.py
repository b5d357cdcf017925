"""The value of each setting: defaults, system, person, project, ``--settings``, environment, options.

Later layers override earlier ones.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from sam_tui.folders import settings_folder
from sam_tui.settings.files import (
    FILE_NAME,
    PROJECT_FILE,
    SYSTEM_FILE,
    SettingsFile,
    parse,
    read_file,
)
from sam_tui.settings.table import SETTINGS, Setting, Value
from sam_tui.settings.values import WrongValue, of_variable, setting_of

DEFAULT = "default"
OPTION = "--settings"
"""The name of the layer of ``--settings``."""


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """The layer of a value, and its source: a file with its line, or a variable."""

    layer: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.layer} ({self.source})" if self.source else self.layer


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of settings with their origins. ``notes`` name ignored parts of a project's file."""

    values: Mapping[str, tuple[Value, SettingOrigin]] = field(
        default_factory=dict[str, tuple[Value, SettingOrigin]]
    )
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Value:
        """The value of a setting; its default where none is set. Raises ``KeyError``."""
        return self.values[key][0] if key in self.values else setting_of(key).default

    def origin(self, key: str) -> SettingOrigin:
        """The layer and file from which a value comes."""
        return self.values[key][1] if key in self.values else SettingOrigin(DEFAULT)

    def text(self, key: str) -> str:
        """A text, empty where it is not set."""
        return str(self[key])

    def switch(self, key: str) -> bool:
        """Whether the setting is on."""
        return bool(self[key])

    def number(self, key: str) -> float:
        """A number; 0 where it is not set."""
        return float(cast("float", self[key]))

    def words(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return cast("tuple[str, ...]", self[key])

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys that were set, by action."""
        return {k.partition(".")[2]: self.words(k) for k in self.values if k.startswith("keys.")}

    def environment(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        """The environment variables, with variables for settings from files."""
        from_files = {
            setting.env: _variable(self[setting.key])
            for setting in SETTINGS
            if setting.env and self.origin(setting.key).layer not in (DEFAULT, "environment")
        }
        return {**environ, **from_files} if from_files else environ

    def option(self, parameter: str) -> Value | None:
        """The value for an option that was not given on the command line, or None."""
        setting = _BY_OPTION[parameter]
        value = self[setting.key]
        return None if value == setting.default else value

    def joined(self, layer: str, file: SettingsFile) -> "Settings":
        """A copy with the values of ``file`` above the present ones."""
        added = {
            key: (value, SettingOrigin(layer, file.location(key)))
            for key, value in file.values.items()
        }
        return replace(self, values={**self.values, **added})


_BY_OPTION = {setting.option: setting for setting in SETTINGS if setting.option}


def _variable(value: Value) -> str:
    """A value as a variable holds it."""
    if isinstance(value, bool):
        return "1" if value else ""
    return ",".join(value) if isinstance(value, tuple) else str(value)


def user_file(environ: Mapping[str, str]) -> str:
    """The path of the person's settings file. Raises ``ConfigurationError`` without a home folder."""
    folder = environ.get("SAM_TUI_CONFIG_DIR") or settings_folder()
    return os.path.join(os.path.abspath(os.path.expanduser(folder)), FILE_NAME)


def personal_settings(
    environ: Mapping[str, str], system: str = SYSTEM_FILE, *, overlay: SettingsFile | None = None
) -> Settings:
    """Return the settings of system, person, option and environment. Raises ``ConfigurationError``."""
    settings = Settings()
    for layer, path in (("system", system), ("user", user_file(environ))):
        if os.path.lexists(path):
            settings = settings.joined(layer, read_file(path))
    if overlay is not None:
        settings = settings.joined(OPTION, overlay)
    return _with_environment(settings, environ)


def _with_environment(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """The settings with those of variables. Raises ``WrongValue`` for what is none of the choices."""
    values = dict(settings.values)
    for setting in SETTINGS:
        text = environ.get(setting.env, "").strip() if setting.env else ""
        if text:
            try:
                value = of_variable(setting, text)
            except WrongValue:
                if setting.kind in ("switch", "command") or (
                    setting.choices and setting.key != "web.search"
                ):
                    raise
                continue  # the code that uses the variable reports a wrong value
            values[setting.key] = (value, SettingOrigin("environment", setting.env))
    return replace(settings, values=values)


def with_project(settings: Settings, text: str, path: str, *, trusted: bool) -> Settings:
    """Return the settings with those of a folder's own file; entries without effect are noted.

    Nothing in such a file ends the program, and nothing in it allows more than without it.
    """
    if not trusted:
        note = f"{path} is ignored: the folder is not trusted."
        return replace(settings, notes=(*settings.notes, note))
    file, faults = parse(text, path)
    notes = [fault.explain() for fault in faults]
    values = dict(settings.values)
    for key, value in file.values.items():
        setting, source = setting_of(key), f"{path}:{file.lines[key]}"
        refusal = _refusal(setting, value)
        if refusal:
            notes.append(f"{source}: {refusal}")
            continue
        if setting.project == "more":
            value = tuple(dict.fromkeys((*settings.words(key), *cast("tuple[str, ...]", value))))
        elif settings.origin(key).layer in ("environment", OPTION):
            continue
        values[key] = (value, SettingOrigin("project", source))
    return Settings(values, (*settings.notes, *notes))


def _refusal(setting: Setting, value: Value) -> str:
    """Return why a project may not set this; empty if it may."""
    if not setting.project:
        return f"a folder may not set {setting.key}; set it in your own settings."
    if setting.project == "on" and value is not True:
        return f"a folder may only turn {setting.key} on."
    if setting.key == "model.name" and str(value).startswith("scripted"):
        return "a folder may not name a script as the model."
    return ""


def project_path(workspace: str) -> str:
    """The path of a folder's own settings file."""
    return os.path.join(workspace, PROJECT_FILE)
