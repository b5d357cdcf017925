"""Where this program lies, and where this system keeps its settings and data for a user."""

import os

from sam_tui.core.errors import ConfigurationError

IMPORT_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that this program is imported from, for processes that are started without a search path."""


def data_folder() -> str:
    """This system's place for data. Raises ``ConfigurationError`` where there is no home folder."""
    return _folder("user_data_dir")


def settings_folder() -> str:
    """This system's place for settings. Raises ``ConfigurationError`` where there is no home folder."""
    return _folder("user_config_dir")


def _folder(kind: str) -> str:
    import platformdirs

    try:
        return getattr(platformdirs, kind)("sam-tui", appauthor=False)
    except RuntimeError as error:
        raise ConfigurationError(
            f"There is no home folder: HOME is not set, and the system has none for user {os.getuid()}.",
            hint="Set HOME, or name both folders: SAM_TUI_DATA_DIR and SAM_TUI_CONFIG_DIR.",
        ) from error
