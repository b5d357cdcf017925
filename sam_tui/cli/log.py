"""The log file: what libraries complain about, and the details of a defect. Never the terminal."""

import contextlib
import functools
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sam_tui.core.errors import ConfigurationError
from sam_tui.folders import data_folder

if TYPE_CHECKING:
    from sam_tui.core.redaction.shield import Shield

FILE_NAME = "sam-tui.log"
LARGEST = 1_000_000
"""The most bytes of a log; a longer one is renamed to ``.log.1`` when it is opened."""


class _Masking(logging.Formatter):
    """Formats log records without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without secrets, with a traceback if there is one."""
        return without_secrets(super().format(record))


class _PrivateFile(logging.FileHandler):
    """A log file that is made when it is first needed, for its owner alone."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _open_private(path)

    def emit(self, record: logging.LogRecord) -> None:
        """Write it down where that is possible; opening comes before logging catches anything."""
        with contextlib.suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A log that cannot be written is not worth a word on the person's screen."""


def log_to(data_dir: str, *, debug: bool) -> None:
    """Send every log record and warning to the file, from now on."""
    path = Path(data_dir).expanduser() / FILE_NAME
    handler = _PrivateFile(path, delay=True, encoding="utf-8")
    handler.setFormatter(_Masking("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if debug else logging.WARNING)
    logging.captureWarnings(True)


def note_defect(fault: BaseException, data_dir: str) -> str:
    """Write the traceback down; the path of the file, or an empty string when nowhere was possible."""
    import tempfile

    text = without_secrets("".join(traceback.format_exception(fault)))
    for folder in (Path(data_dir).expanduser(), Path(tempfile.gettempdir())):
        path = folder / FILE_NAME
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _open_private(path) as file:
                file.write(text)
        except OSError:
            continue
        return str(path)
    return ""


_masked: list[tuple[Mapping[str, str], str]] = []
"""The environments whose secrets the log redacts, each with a workspace whose ``.env`` counts too."""


def masked_in_log(environ: Mapping[str, str], api_key: str, workspace: str) -> Mapping[str, str]:
    """The same variables, of which the log masks the secrets from now on, and those of the workspace."""
    _masked.append(({**environ, "API_KEY": api_key}, workspace))
    _shield.cache_clear()
    return environ


@functools.cache
def _shield() -> "Shield":
    # Most runs log nothing.
    from sam_tui.core.redaction.settings_files import SettingsFiles, secrets_of_environment
    from sam_tui.core.redaction.shield import Shield

    shield = Shield(secrets_of_environment(os.environ))
    folders = [workspace for _, workspace in _masked]
    with contextlib.suppress(OSError):
        folders.append(os.getcwd())
    for environ, _ in _masked:
        shield.learn(secrets_of_environment(environ))
    for folder in folders:
        shield.learn(SettingsFiles(folder).changed())
    return shield


def without_secrets(text: str) -> str:
    """Return a text for the log with secrets masked: by their form, or from the environment or ``.env``."""
    return _shield().redact(text)


def data_dir_of(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the data folder by a command line that may not even have been parsed."""
    for index, argument in enumerate(arguments):
        if argument == "--data-dir" and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith("--data-dir="):
            return argument.partition("=")[2]
    try:
        return environ.get("SAM_TUI_DATA_DIR") or data_folder()
    except ConfigurationError:
        import tempfile

        return tempfile.gettempdir()


def _open_private(path: Path) -> Any:
    """The file, open for appending."""
    try:
        if path.stat().st_size > LARGEST:
            path.replace(path.with_suffix(".log.1"))
    except OSError:
        pass

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW, 0o600)

    return open(path, "a", encoding="utf-8", errors="backslashreplace", opener=opener)


def say(text: str) -> None:
    """Write a text for the person to standard error; one that cannot be shown is lost."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
