"""Settings behind options: a setting in a file is the default of the option of that name."""

import os
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.local_files.bounded import read_settings
from sam_tui.folders import data_folder
from sam_tui.settings.files import SettingsFile, settings_of_option
from sam_tui.settings.layers import Settings, personal_settings, project_path, with_project
from sam_tui.settings.table import SETTINGS

_OVERLAY = "sam_tui.settings"
"""The key in the context of click for the settings from ``--settings``."""
_OVERLAY_ARGUMENT = "sam_tui.settings.argument"
"""The key for the argument of ``--settings`` itself."""
_BEHIND = "sam_tui.settings.behind"
"""The key for the settings that apply where no option is set."""
F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS = {setting.option for setting in SETTINGS if setting.option}
_TOLERANT = ("doctor", "config")
"""Commands that can repair an unreadable settings file, and therefore start without it."""


def option(*declarations: str, **attributes: Any) -> Callable[[F], F]:
    """Wrap ``click.option``; if the command line and the environment say nothing, the setting counts."""
    names = [name for name in declarations if not name.startswith("-")]
    name = names[0] if names else max(declarations, key=len).lstrip("-").replace("-", "_")
    if name in _OPTIONS and "flag_value" not in attributes:
        attributes["default"] = lambda: _default(name)
    if "--model" not in declarations:  # an empty model is no model, which has an answer of its own
        attributes.setdefault("callback", _with_value)
    return click.option(*declarations, **attributes)


def _with_value(context: click.Context, parameter: click.Parameter, value: object) -> object:
    require_value(context, parameter, value)
    return value


def require_value(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Raise ``UsageError`` for an empty value on the command line.

    Scripts fill it from a variable, and without one the option would quietly do nothing.
    """
    words = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    source = context.get_parameter_source(parameter.name or "")
    if source is ParameterSource.COMMANDLINE and "" in words:
        word = max(parameter.opts, key=len)
        raise UsageError(f"{word} is empty.", hint="Leave it out, or give it a value.")


def _default(name: str) -> object:
    context = click.get_current_context(silent=True)
    tolerant = context is not None and context.info_name in _TOLERANT
    try:
        return _settings_behind(context).option(name)
    except ConfigurationError:
        if tolerant:
            return None
        raise


def _settings_behind(context: click.Context | None) -> Settings:
    """The settings behind all options of a command line: their files are read for the first one."""
    if context is None:
        return user_settings()
    if _BEHIND not in context.meta:
        context.meta[_BEHIND] = user_settings()
    return context.meta[_BEHIND]


def read_overlay(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Read what ``--settings`` names, before other options ask for their defaults."""
    require_value(context, parameter, value)
    if value is not None:
        context.meta[_OVERLAY] = settings_of_option(value)
        context.meta[_OVERLAY_ARGUMENT] = value
        context.meta.pop(_BEHIND, None)


def overlay_settings() -> SettingsFile | None:
    """The settings of ``--settings`` on this command line, or None."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_OVERLAY) if context is not None else None


def overlay_argument() -> str:
    """The value of ``--settings`` on this command line."""
    return click.get_current_context().meta[_OVERLAY_ARGUMENT]


def user_settings() -> Settings:
    """The person's, with those of this command line. Raises ``ConfigurationError``."""
    return personal_settings(os.environ, overlay=overlay_settings())


def data_dir_of(values: dict[str, Any]) -> str:
    """The data folder as an absolute path. Raises ``ConfigurationError`` where there is none."""
    return os.path.abspath(os.path.expanduser(values["data_dir"] or data_folder()))


def with_settings(values: dict[str, Any], workspace: str) -> tuple[dict[str, Any], Settings]:
    """The options with the settings of a trusted folder, and all settings that apply there.

    Raises ``ConfigurationError`` for a file of the person that cannot be used.
    """
    settings = user_settings()
    path = project_path(workspace)
    if os.path.lexists(path):
        settings = _of_project(settings, path, workspace)
    chosen = {
        setting.option: settings[setting.key]
        for setting in SETTINGS
        if setting.option in values
        and settings.origin(setting.key).layer == "project"
        and (setting.project == "more" or not is_given(setting.option, values))
    }
    if "disallowed_tools" in chosen:
        named = settings.words("agent.disallowed_tools")
        chosen["disallowed_tools"] = (*values["disallowed_tools"], *_existing(named))
    return {**values, **chosen}, settings


def environment(data_dir: str, settings: Settings) -> Mapping[str, str]:
    """The variables, with settings from files and stored keys, also those stored later.

    Raises ``ConfigurationError`` where the keys cannot be read.
    """
    from sam_tui.settings.keys import key_store

    return ChainMap({**settings.environment(os.environ)}, key_store(data_dir).values)


def _existing(tools: tuple[str, ...]) -> list[str]:
    """The existing tools among these: an unknown name in a folder's file must not end the program."""
    from sam_tui.assembly.catalogue import adverts

    names = adverts()
    return [tool for tool in tools if tool in names]


def is_given(name: str, values: dict[str, object]) -> bool:
    """Whether the command line or the environment says it."""
    context = click.get_current_context(silent=True)
    if context is None:
        return bool(values[name])
    source = context.get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def _of_project(settings: Settings, path: str, workspace: str) -> Settings:
    from sam_tui.adapters.policy import AppFolders, FileTrust
    from sam_tui.settings.files import PROJECT_FILE

    trust = FileTrust(AppFolders.of(os.environ, "").config_dir)
    try:
        text = read_settings(path, root=workspace) or ""
    except ConfigurationError as unusable:
        return with_project(settings, "", unusable.explain(), trusted=False)
    trusted = trust.state(workspace) == "trusted"
    # The content that was read counts, not a later one.
    trusted = trusted and trust.vouches(workspace, PROJECT_FILE, text.encode())
    return with_project(settings, text, path, trusted=trusted)


class HeadlessCommand(click.Command):
    """A command with ``--output-format``, whose options ask settings for their defaults."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as usual; where settings cannot be used, tell that in the format that was asked for."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except ConfigurationError as error:
            values: dict[str, Any] = self.make_parser(ctx).parse_args(words)[0]
            if not self.is_headless(values):
                raise
            ctx.exit(_tell_unusable(values, error))

    def is_headless(self, values: dict[str, Any]) -> bool:
        """Whether these options, as they stand on the command line, mean a run without a screen."""
        return True


def _tell_unusable(values: dict[str, Any], error: ConfigurationError) -> int:
    """Print the result and return its exit code."""
    from sam_tui.cli.streams import contract_output
    from sam_tui.headless.outcome import outcome_of_error
    from sam_tui.headless.request import OUTPUT_FORMATS, HeadlessRequest, OutputFormat
    from sam_tui.headless.run import report_failure

    word = values.get("output_format")
    forms: list[OutputFormat] = [form for form in OUTPUT_FORMATS if form == word]
    request = HeadlessRequest(
        "", format=(*forms, "text")[0], compat=values.get("compat") == "claude"
    )
    with contract_output() as out:
        return report_failure(request, outcome_of_error(error), out)
