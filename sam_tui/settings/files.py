"""Reads settings files, reports a fault with file and line, and changes them without losing a comment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import read_settings
from sam_tui.settings.table import SECTIONS, Setting, Value, find_setting
from sam_tui.settings.values import checked, suggestion, toml

FILE_NAME = "settings.toml"
SYSTEM_FILE = "/etc/sam-tui/settings.toml"
PROJECT_FILE = ".sam/settings.toml"
"""The project's settings file, below the workspace."""
_FOREIGN_SETTINGS = {
    "permissions": "Rules belong in policy.toml; --allowedTools and --permission-mode apply "
    "to one run.",
    "hooks": "Hooks belong in hooks.json of your settings folder (docs/hooks.md).",
    "env": "Set variables before the command.",
}
"""Settings of other programs that are not settings here, each with where they belong."""
_CHANGE = "“sam-tui config edit” opens your own file."


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The values of one file by key, with their lines."""

    path: str
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    exists: bool = False

    def location(self, key: str) -> str:
        """The file and, if known, the line that sets a key."""
        return f"{self.path}:{self.lines[key]}" if key in self.lines else self.path


def read_file(path: str) -> SettingsFile:
    """The file of a person or a system. Raises ``ConfigurationError`` with file and line."""
    text = read_settings(path)
    if text is None:
        return SettingsFile(path)
    file, faults = parse(text, path)
    if faults:
        raise faults[0]
    return file


def parse(text: str, path: str) -> tuple[SettingsFile, list[ConfigurationError]]:
    """The settings of a text, and its faults; ``path`` is for messages."""
    try:
        tables = _toml(text, path)
    except ConfigurationError as broken:
        return SettingsFile(path, exists=True), [broken]
    from sam_tui.core.text.toml_lines import line_of

    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    faults: list[ConfigurationError] = []
    for at, value in _entries(tables):
        key, line = ".".join(at), line_of(text, at)
        try:
            values[key] = _value(key, value)
            lines[key] = line
        except ConfigurationError as fault:
            message = f"{path}:{line}: {fault}"
            faults.append(ConfigurationError(message, hint=f"{fault.hint} {_CHANGE}".strip()))
    return SettingsFile(path, values, lines, exists=True), faults


def settings_of_option(value: str) -> SettingsFile:
    """Return the settings of ``--settings``: a JSON object, or a file that holds one or TOML.

    Raises ``ConfigurationError``.
    """
    inline = value.lstrip().startswith("{")
    path = "--settings" if inline else value
    text = value if inline else read_settings(value)
    if text is None:
        raise ConfigurationError(f"There is no file {value}.", hint="Pass a file or a JSON object.")
    if not text.lstrip().startswith("{"):
        file, faults = parse(text, path)
        if faults:
            raise faults[0]
        return file
    from sam_tui.core.text.json_files import json_of_file

    tables = json_of_file(text, path)
    values: dict[str, Value] = {}
    for at, entry in _entries(cast("dict[str, object]", tables)):
        key = ".".join(at)
        if at[0] in _FOREIGN_SETTINGS:
            raise ConfigurationError(
                f"{path}: there is no setting “{at[0]}”.", hint=_FOREIGN_SETTINGS[at[0]]
            )
        try:
            values[key] = _value(key, entry)
        except ConfigurationError as fault:
            raise ConfigurationError(f"{path}: {fault}", hint=fault.hint) from None
    return SettingsFile(path, values, exists=True)


def _toml(text: str, path: str) -> dict[str, object]:
    from sam_tui.core.text.toml_lines import toml_table  # where there is a file

    return toml_table(text, path, _CHANGE)


def _entries(tables: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """Every value with its section and name; a value outside of any table under its own name."""
    entries: list[tuple[tuple[str, ...], Any]] = []
    for section, value in tables.items():
        if isinstance(value, dict) and section in SECTIONS:
            table = cast("dict[str, Any]", value)
            entries += [((section, name), entry) for name, entry in table.items()]
        else:
            entries.append(((section,), cast("object", value)))
    return entries


def _value(key: str, value: object) -> Value:
    if key in SECTIONS:
        raise ConfigurationError(f"“{key}” is a table", hint=f"Write [{key}] above its settings.")
    setting = find_setting(key)
    if setting is None:
        raise ConfigurationError(f"unknown setting “{key}”.", hint=suggestion(key))
    return checked(setting, value)


def changed(text: str, setting: Setting, value: Value | None) -> str:
    """Return the text with one setting changed, or removed for None; the rest is unchanged.

    Raises ``ConfigurationError`` for a text that is no settings file, or whose form has no line to
    change.
    """
    before = _toml(text, FILE_NAME)
    section, name = setting.section, setting.name
    expected = {key: entry for key, entry in before.items() if key != section}
    table = _table(before, section)
    names = {key: entry for key, entry in (table or {}).items() if key != name}
    if value is not None:
        names[name] = list(value) if isinstance(value, tuple) else value
    if names or table is not None:
        expected[section] = names
    after = "".join(_edited(text, setting, table, value))
    try:
        holds = _toml(after, FILE_NAME) == expected
    except ConfigurationError:
        holds = False
    if not holds:
        raise ConfigurationError(
            f"The line of {setting.key} could not be changed.", hint=f"Change it by hand. {_CHANGE}"
        )
    return after


def _edited(
    text: str, setting: Setting, table: Mapping[str, object] | None, value: Value | None
) -> list[str]:
    """The lines with the setting's replaced or removed, or behind the last of its ``table``."""
    from sam_tui.core.text.toml_lines import line_of

    section, name = setting.section, setting.name
    lines = text.splitlines(keepends=True)
    entry = "" if value is None else f"{name} = {toml(value)}"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    if table and name in table:
        start = line_of(text, (section, name)) - 1
        end = _end(lines, start)
        comment = _comment(lines[start]) if end == start + 1 else ""
        lines[start:end] = [f"{entry}{comment}\n"] if entry else []
    elif entry and table is not None:
        last = max((line_of(text, (section, key)) for key in table), default=0) - 1
        end = _end(lines, last) if table else line_of(text, (section,))
        lines.insert(end, f"{entry}\n")
    elif entry:
        lines += ["\n"] * bool(lines) + [f"[{section}]\n", f"{entry}\n"]
    return lines


def _table(tables: Mapping[str, object], section: str) -> dict[str, object] | None:
    table = tables.get(section)
    return cast("dict[str, object]", table) if isinstance(table, dict) else None


def _end(lines: list[str], start: int) -> int:
    """Behind which line the value that begins on a line ends."""
    for end in range(start + 1, len(lines) + 1):
        try:
            _toml("".join(lines[start:end]), FILE_NAME)
        except ConfigurationError:
            continue
        return end
    return start + 1


def _comment(line: str) -> str:
    """The comment behind a value, with the blanks before it."""
    for match in re.finditer(r"\s*#", line):
        try:
            _toml(line[: match.start()], FILE_NAME)
        except ConfigurationError:
            continue
        return line[match.start() :].rstrip("\n")
    return ""


def save(path: str, setting: Setting, value: Value | None) -> None:
    """Set it in a file, or take it out; the file and its folder are made for their owner alone.

    Raises ``ConfigurationError`` where the file cannot be read or written.
    """
    from sam_tui.core.local_files.private_files import exclusive, replace_file

    with exclusive(path):
        replace_file(path, changed(read_settings(path) or "", setting, value))
