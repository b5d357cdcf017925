"""Secret tokens of our data folder: made once, read by their owner alone."""

import os
import re
import secrets
import stat
from dataclasses import dataclass, field

from sam_tui.core.errors import ConfigurationError

TOKEN = re.compile(r"[A-Za-z0-9_-]{32,256}")


@dataclass(frozen=True, slots=True)
class BearerToken:
    """The token and the file it is kept in."""

    text: str = field(repr=False)
    path: str


def bearer_token(data_dir: str, name: str) -> BearerToken:
    """The token of that name in a data folder, so that clients' settings stay good from run to run.

    Raises ``ConfigurationError`` for a file that others could have read or that holds no token.
    """
    path = os.path.join(data_dir, name)
    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    fresh = secrets.token_urlsafe(32)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return BearerToken(_stored_token(path), path)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(fresh + "\n")
    return BearerToken(fresh, path)


def _stored_token(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    with open(descriptor, encoding="ascii", errors="replace") as file:
        about = os.fstat(descriptor)
        text = file.read(1000).strip()
    if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077:
        raise ConfigurationError(
            f"Others can read {path}, or it is not yours.",
            hint="Delete it: a new token is made at the next start.",
        )
    if not TOKEN.fullmatch(text):
        raise ConfigurationError(
            f"{path} holds no token.", hint="Delete it: a new one is made at the next start."
        )
    return text
