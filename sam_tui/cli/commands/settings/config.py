"""``sam-tui config``: the settings in force with their origins, and changing them."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from sam_tui.cli.log import without_secrets
from sam_tui.cli.options import existing_folder, folder_option
from sam_tui.cli.settings import data_dir_of, with_settings
from sam_tui.cli.streams import print_json, require_output
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.headless.output import terminal_safe
from sam_tui.settings.files import read_file, save
from sam_tui.settings.layers import Settings, personal_settings, user_file
from sam_tui.settings.table import SECTIONS, SETTINGS, Setting, Value
from sam_tui.settings.values import from_text, schema, setting_of, toml

_HEAD = "# Settings of sam-tui: “sam-tui config show” lists them all with their values.\n"


def _completed(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    return [setting.key for setting in SETTINGS if setting.key.startswith(word)]


_KEY = click.argument("key", shell_complete=_completed)


@click.group("config", short_help="Settings: show, set, edit.")
def config_group() -> None:
    """Show and change settings.

    They come from /etc/sam-tui/settings.toml, then your file, then .sam/settings.toml of a trusted
    folder, then --settings, environment variables and options; later ones override earlier ones.
    """


def _settings(folder: str | None) -> Settings:
    """All settings that apply in a folder. Raises ``WorkspaceError``, ``ConfigurationError``."""
    return with_settings({}, existing_folder(folder))[1]


@config_group.command("show")
@click.argument("keys", nargs=-1, metavar="[KEY|SECTION]...")
@click.option("--origin", is_flag=True, help="Print the origin of each value: layer, file, line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object by key.")
@folder_option
def show_command(
    keys: tuple[str, ...], *, origin: bool, as_json: bool, workspace: str | None
) -> int:
    """Show all settings, or the named ones, as a settings file."""
    require_output()
    settings = _settings(workspace)
    rows = [s for s in SETTINGS if not keys or {s.key, s.section} & set(keys)]
    for key in set(keys) - set(SECTIONS):
        setting_of(key)
    for note in settings.notes:
        click.echo(terminal_safe(note), err=True)
    if as_json:
        return print_json({s.key: _row(settings, s) for s in rows})
    _show_lines(settings, rows, origin=origin)
    return 0


def _show_lines(settings: Settings, rows: Sequence[Setting], *, origin: bool) -> None:
    """Print settings as a file has them, a heading over each section."""
    section = ""
    for setting in rows:
        if setting.section != section:
            click.echo(("\n" if section else "") + f"[{setting.section}]")
            section = setting.section
        line = f"{setting.name} = {toml(settings[setting.key])}"
        if origin:
            line = f"{line:<44} # {settings.origin(setting.key)}"
        click.echo(terminal_safe(without_secrets(line)))


def _row(settings: Settings, setting: Setting) -> dict[str, Any]:
    origin, value = settings.origin(setting.key), settings[setting.key]
    masked: Value = without_secrets(value) if isinstance(value, str) else value
    return {"value": masked, "origin": origin.layer, "source": origin.source}


@config_group.command("get")
@_KEY
@folder_option
def get_command(key: str, workspace: str | None) -> int:
    """Print one value; a list has an entry on each line."""
    require_output()
    value = _settings(workspace)[setting_of(key).key]
    for entry in value if isinstance(value, tuple) else (value,):
        text = toml(entry) if isinstance(entry, bool) else str(entry)
        click.echo(terminal_safe(without_secrets(text)))
    return 0


@config_group.command("set", context_settings={"ignore_unknown_options": True})
@_KEY
@click.argument("value")
@folder_option
def set_command(key: str, value: str, workspace: str | None) -> int:
    """Set KEY in your own file; its comments stay.

    Separate the entries of a list by commas. It says so if another value applies in the folder.
    """
    setting = setting_of(key)
    _save(setting, from_text(setting, value), workspace)
    return 0


@config_group.command("unset")
@_KEY
@folder_option
def unset_command(key: str, workspace: str | None) -> int:
    """Remove KEY from your own file."""
    _save(setting_of(key), None, workspace)
    return 0


def _save(setting: Setting, value: Value | None, folder: str | None) -> None:
    save(user_file(os.environ), setting, value)
    try:
        origin = _settings(folder).origin(setting.key)
    except ConfigurationError as broken:
        click.echo(terminal_safe(f"Saved. But: {broken.explain()}"), err=True)
        return
    if origin.layer in ("environment", "project"):
        click.echo(terminal_safe(f"Saved, but {origin} overrides it here."), err=True)


@config_group.command("edit")
def edit_command() -> int:
    """Open your own file in an editor.

    The editor is that of $VISUAL or $EDITOR; errors in the file are reported afterwards.
    """
    path = user_file(os.environ)
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "x", encoding="utf-8", opener=_private) as file:
            file.write(_HEAD)
    try:
        click.edit(filename=path)
    except ValueError as error:
        raise ConfigurationError(f"$VISUAL or $EDITOR is no command line: {error}.") from error
    read_file(path)
    return 0


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


@config_group.command("path")
def path_command() -> int:
    """Print where your own file is."""
    require_output()
    click.echo(user_file(os.environ))
    return 0


@config_group.command("schema")
def schema_command() -> int:
    """Print the JSON schema of a settings file, for editors."""
    require_output()
    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0


@config_group.command("key")
@click.argument("provider", required=False)
@click.option("--remove", is_flag=True, help="Forget it.")
def key_command(provider: str | None, *, remove: bool) -> int:
    """Store the key of PROVIDER, such as openai or BRAVE_API_KEY.

    The command asks for the key without displaying it, or reads it from standard input. Without
    PROVIDER it lists the stored ones.
    """
    from sam_tui.settings.keys import key_store
    from sam_tui.settings.variables import SECRETS

    store = key_store(
        data_dir_of({"data_dir": personal_settings(os.environ).text("places.data_dir")})
    )
    if provider is None:
        require_output()
        for name, where in store.storage.items():
            click.echo(f"{name:<24} {where}")
        return 0
    name = _variable(provider)
    if remove:
        removed = store.remove(name)
        click.echo(f"{name} is deleted." if removed else f"There was no {name}.", err=True)
        return 0 if removed else 1
    if sys.stdin.isatty():
        key = click.prompt(f"{name} ({SECRETS[name]})", hide_input=True, err=True)
    else:
        key = sys.stdin.readline()
    click.echo(terminal_safe(f"{name} is stored {store.save(name, key)}."), err=True)
    if os.environ.get(name):
        click.echo(f"The environment variable {name} takes precedence over it.", err=True)
    return 0


def _variable(provider: str) -> str:
    """The variable of a provider's key. Raises ``UsageError``."""
    from sam_tui.settings.variables import SECRETS, key_variable

    if name := key_variable(provider):
        return name
    names = ", ".join(name for name in SECRETS if "KEY" in name)
    raise UsageError(
        f"There is no provider {provider}.", hint=f"Use a provider or a variable of: {names}."
    )
