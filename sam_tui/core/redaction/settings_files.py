"""Secrets of settings, by their names: of the environment, and of the ``.env`` files of a workspace."""

import os
import re
import stat
from collections.abc import Mapping

from sam_tui.core.local_files.bounded import UnusableFile, open_regular
from sam_tui.core.redaction.forms import is_random
from sam_tui.core.redaction.shield import SHORTEST_KNOWN

_NAMES = (".env", ".envrc", *(f".env.{kind}" for kind in (
    "local", "development", "dev", "production", "prod", "staging", "test", "development.local",
    "production.local", "test.local", "secret", "secrets",
)))  # fmt: skip
_LARGEST = 1024 * 1024


class SettingsFiles:
    """The settings files directly in a folder, under their usual names."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[int, int, int]] = {}

    def changed(self) -> Mapping[str, str]:
        """The secrets of those that changed since the last call, by their names; often none."""
        values: dict[str, str] = {}
        for name in _NAMES:
            path = os.path.join(self._folder, name)
            try:
                about = os.stat(path)
            except OSError:
                continue
            mark = (about.st_ino, about.st_mtime_ns, about.st_size)
            if stat.S_ISREG(about.st_mode) and self._seen.get(name) != mark:
                self._seen[name] = mark
                values.update(secrets_of_env_file(_start_of(path)))
        return values


def _start_of(path: str) -> str:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return file.read(_LARGEST).decode(errors="replace")
    except (UnusableFile, OSError):
        return ""


_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASS|PASSWD|PASSWORD|PWD|PASSPHRASE|CREDENTIALS?"
    r"|AUTH|DSN|APIKEY|PAT|PRIVATE|SALT|COOKIE|SIGNATURE|WEBHOOK)(?:_|\d|$)|DATABASE_URL$|REDIS_URL$"
    r"|MONGO\w*_UR[IL]$|CONNECTION_STRING$",
    re.IGNORECASE,
)
_NOT_A_SECRET = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|\d+(?:\.\d+)?|/[\w./-]*|\$\{?\w+\}?|[\w.-]+:\d+|localhost.*"
    r"|(?:dev|prod|test|stag|local|change.?me|example|your|xxx|placeholder|dummy|none-needed)"
    r"[\w. -]*)",
    re.IGNORECASE,
)


def secrets_of_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that hold secrets, going by their names."""
    return {
        name: value
        for name, value in environ.items()
        if _SECRET_NAME.search(name)
        and len(value) >= 8
        and (value[0] != "/" or _holds_key(value))
        and not _is_plain(value)
    }


def _is_plain(value: str) -> bool:
    """Whether a value is a word, a number, a path or a stand-in, and no part of it looks generated."""
    plain = _NOT_A_SECRET.fullmatch(value) is not None
    return plain and (value[0] == "$" or not _holds_key(value))


def _holds_key(value: str) -> bool:
    return any(map(_is_generated, value.split("/")))


def _is_generated(part: str) -> bool:
    """Whether a part mixes letters of both cases and digits as a key does; names of folders seldom do."""
    mixed = sum(map(str.isupper, part)) >= 3 and sum(map(str.isdigit, part)) >= 2
    return mixed and len(part) >= 16 and part != part.upper() and is_random(part)


_ENV_LINE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*
    (?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s#'"][^#\r\n]*?)?)[ \t]*(?:\#.*)?$""",
    re.MULTILINE | re.VERBOSE,
)


def _env_value(line: re.Match[str]) -> str:
    """Return the value of a line in any quotes; in double quotes its escapes are resolved."""
    value = next(filter(None, line.groups()[1:]), "")
    return value.replace("\\n", "\n").replace('\\"', '"') if line[2] else value


def secrets_of_env_file(text: str) -> dict[str, str]:
    """The values of a ``.env`` file that are worth hiding: settings such as ``PORT=3000`` are not."""
    secrets: dict[str, str] = {}
    for match in _ENV_LINE.finditer(text):
        name = match[1]
        value = _env_value(match)
        if _is_plain(value) or "<secret:" in value:
            continue
        shortest = SHORTEST_KNOWN if _SECRET_NAME.search(name) else 20
        if len(value) >= shortest and (shortest < 20 or _opaque(value)):
            secrets[name] = value
    return secrets


def _opaque(value: str) -> bool:
    """Whether a value without a telling name looks random rather than worded."""
    return " " not in value and "://" not in value and sum(map(str.isdigit, value)) >= 3
