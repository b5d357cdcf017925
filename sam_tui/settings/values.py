"""Values of settings: read from TOML and from text, checked against the table, written as TOML."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from sam_tui.core.errors import ConfigurationError
from sam_tui.settings.table import POLICY_WORDS, SECTIONS, SETTINGS, Setting, Value, find_setting

_WORDS = {
    "text": "a text",
    "address": "an address such as http://127.0.0.1:8080",
    "command": "a program with its arguments, each quote with its end",
    "whole": "a whole number",
    "number": "a number",
    "switch": "true or false",
    "words": "a list of texts",
}
_SWITCH = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_SCHEMA = {"whole": "integer", "number": "number", "switch": "boolean"}
_KEYS = [setting.key for setting in SETTINGS]
LONGEST = 4_000
"""The most characters of a text."""
MOST_WORDS = 200
"""The most entries of a list."""


class WrongValue(ConfigurationError):
    """A value that a setting does not take."""


def setting_of(key: str) -> Setting:
    """The setting of this key. Raises ``ConfigurationError`` with a suggestion."""
    if (setting := find_setting(key)) is not None:
        return setting
    raise ConfigurationError(f"There is no setting “{key}”.", hint=suggestion(key))


def _nearest(text: str, names: Iterable[str], least: float) -> list[str]:
    """The most similar name, if its similarity (0 to 1) is at least ``least``."""
    import difflib  # only mistakes need it

    return difflib.get_close_matches(text, list(names), 1, least)


def _meant(key: str, name: str) -> str | None:
    """The setting with the most similar key, or of the same name in another section."""
    near = _nearest(key, _KEYS, 0.6)
    return next(chain(near, (k for k in _KEYS if k.endswith(f".{name or key}"))), None)


def suggestion(key: str) -> str:
    """Return what a wrong key was probably meant to be."""
    section, _, name = key.rpartition(".")
    if {key, section, name} & POLICY_WORDS:
        return "Permissions belong in policy.toml (docs/guard.md), not here."
    if "key" in name.split("_") and section != "keys":
        return (
            "Settings files contain no keys of providers: “sam-tui config key PROVIDER” "
            "stores them."
        )
    if key not in SECTIONS and (meant := _meant(key, name)):
        return f"Did you mean “{meant}”?"
    table = key if key in SECTIONS else section
    if table in SECTIONS:
        names = ", ".join(s.name for s in SETTINGS if s.section == table)
        return f"[{table}] has: {names}."
    if near := _nearest(section or key, SECTIONS, 0.6):
        return f"Did you mean the section [{near[0]}]?"
    return "“sam-tui config show” lists all settings."


def checked(setting: Setting, value: object) -> Value:
    """A value from TOML or JSON as the setting takes it. Raises ``WrongValue``."""
    match setting.kind:
        case "switch" if isinstance(value, bool):
            return value
        case "whole" if type(value) is int:
            return _bounded(setting, value)
        case "number" if type(value) in (int, float) and math.isfinite(cast("float", value)):
            return _bounded(setting, float(cast("float", value)))
        case "text" | "address" | "command" if isinstance(value, str):
            return _chosen(setting, value)
        case "words" if isinstance(value, str) and setting.section == "keys":
            return (_chosen(setting, value),) if value else ()
        case "words" if isinstance(value, list | tuple):
            entries = cast("Sequence[object]", value)
            if all(isinstance(entry, str) for entry in entries) and len(entries) <= MOST_WORDS:
                return tuple(_chosen(setting, str(entry)) for entry in entries)
        case _:
            pass
    raise WrongValue(f"{setting.key} must be {expected(setting)}.")


def from_text(setting: Setting, text: str) -> Value:
    """A value as typed or as a variable holds it. Raises ``WrongValue``."""
    text = text.strip()
    value: object = text
    match setting.kind:
        case "switch":
            value = _SWITCH.get(text.lower(), text)
        case "words":
            value = _entries(text)
        case "whole" | "number":
            value = _numeral(text)
        case "text" | "address" | "command":
            pass
    return checked(setting, value)


def in_environment(environ: Mapping[str, str], key: str) -> Value:
    """The value that the variable of a setting holds, else its default. Raises ``WrongValue``."""
    setting = setting_of(key)
    text = environ.get(setting.env, "").strip()
    return of_variable(setting, text) if text else setting.default


def number_of_variable(environ: Mapping[str, str], key: str) -> float:
    """The same for a number."""
    return cast("float", in_environment(environ, key))


def of_variable(setting: Setting, text: str) -> Value:
    """The value that the variable of a setting holds. Raises ``WrongValue`` that names the variable."""
    try:
        return from_text(setting, text)
    except WrongValue:
        # An address may have a password in it, and without its scheme nothing tells where.
        fault = "not an address" if setting.kind == "address" else repr(text)
        raise WrongValue(f"{setting.env} is {fault}.", hint=f"Write {expected(setting)}.") from None


def words_of(command: str) -> list[str] | None:
    """The words of a command line; None where a quote does not end."""
    import shlex  # few start with a command line

    try:
        return shlex.split(command)
    except ValueError:
        return None


def missing_program(command: str) -> str:
    """The program of a command line if there is none of this name; else empty."""
    import shutil

    words = words_of(command)
    return words[0] if words and shutil.which(words[0]) is None else ""


def is_address(text: str) -> bool:
    """Whether a text is an http or https address with a host."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text.strip())
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an address, or a port that is none
        return False


def _entries(text: str) -> object:
    """Entries with commas between them, or a list as TOML and JSON write it."""
    if not text.startswith("["):
        return [entry for part in text.split(",") if (entry := part.strip())]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _numeral(text: str) -> object:
    for parse in (int, float):
        try:
            return parse(text.replace("_", ""))
        except ValueError:
            continue
    return text


def _bounded(setting: Setting, value: float) -> int | float:
    if value == setting.default or (
        value >= setting.least and (not setting.most or value <= setting.most)
    ):
        return value
    raise WrongValue(f"{setting.key} must be {expected(setting)}.")


def _has_form(setting: Setting, text: str) -> bool:
    if setting.kind == "address":
        return not text or is_address(text)
    return setting.kind != "command" or words_of(text) is not None


def _chosen(setting: Setting, text: str) -> str:
    if setting.choices and text not in setting.choices:
        near = _nearest(text, setting.choices, 0.5)
        hint = f"Did you mean “{near[0]}”?" if near and near[0] else ""
        raise WrongValue(f"{setting.key} must be {expected(setting)}.", hint=hint)
    if not _has_form(setting, text):
        raise WrongValue(f"{setting.key} must be {expected(setting)}.")
    if len(text) > LONGEST or any(not c.isprintable() and c not in "\n\t" for c in text):
        raise WrongValue(f"{setting.key} must be a text without control characters.")
    return text


def expected(setting: Setting) -> str:
    """The values that a setting accepts, in words."""
    words = _WORDS[setting.kind]
    if setting.choices:
        among = ", ".join(choice for choice in setting.choices if choice)
        return f"{'entries' if setting.kind == 'words' else 'one'} of {among}"
    if setting.kind in ("whole", "number"):
        if setting.most and not setting.least:
            return f"{words} from 0 to {setting.most:g}"
        most = f" and at most {setting.most:g}" if setting.most else ""
        return f"{words} of at least {setting.least:g}{most}"
    return words


def toml(value: object) -> str:
    """A value in the notation of TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml, cast("Iterable[object]", value))) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def schema() -> dict[str, Any]:
    """The JSON schema of a settings file, for editors."""
    sections: dict[str, dict[str, Any]] = {
        section: {
            "type": "object",
            "description": title,
            "additionalProperties": False,
            "properties": {s.name: _schema_of(s) for s in SETTINGS if s.section == section},
        }
        for section, title in SECTIONS.items()
    }
    text: dict[str, Any] = {"type": "string", "maxLength": LONGEST}
    keys = {"anyOf": [text, {"type": "array", "items": text, "maxItems": MOST_WORDS}]}
    sections["keys"]["additionalProperties"] = keys
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of sam-tui",
        "type": "object",
        "additionalProperties": False,
        "properties": sections,
    }


def _schema_of(setting: Setting) -> dict[str, object]:
    text: dict[str, object] = {"type": "string", "maxLength": LONGEST}
    if setting.choices:
        text = {"type": "string", "enum": list(setting.choices)}
    if setting.kind == "words":
        form: dict[str, object] = {"type": "array", "items": text, "maxItems": MOST_WORDS}
    elif setting.kind in ("text", "address", "command"):
        form = text
    else:
        form = {"type": _SCHEMA[setting.kind]}
        bounds = {"minimum": setting.least, "maximum": setting.most}
        limits = {name: bound for name, bound in bounds.items() if bound}
        if limits and setting.default == 0:  # which is no limit at all
            form = {"type": form["type"], "anyOf": [{"const": 0}, limits]}
        else:
            form |= limits
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return {**form, "description": setting.about, "default": default}
