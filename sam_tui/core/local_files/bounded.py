"""Files that anybody may have put in a folder: opened without waiting, not followed out of it, cut off."""

import errno
import os
import stat

from sam_tui.core.errors import ConfigurationError

LARGEST_SETTINGS = 262_144
"""The most bytes of a settings or policy file."""
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = _FILE | os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class UnusableFile(Exception):
    """A file that is not read; ``str`` is why, fit to follow its name."""


class MissingFile(UnusableFile):
    """The file does not exist."""


def open_regular(path: str, *, root: str = "") -> int:
    """A descriptor of a regular file, to read from. Raises ``UnusableFile``.

    With ``root``, a folder that ``path`` lies in, no link below it is followed. A device or a pipe is
    not opened if this is known before.
    """
    try:
        folder, name = _parent_of(path, root) if root else (None, path)
        try:
            _insist(os.stat(name, dir_fd=folder, follow_symlinks=not root))
            flags = _FILE | (os.O_NOFOLLOW if root else 0)
            descriptor = os.open(name, flags, dir_fd=folder)
        finally:
            if folder is not None:
                os.close(folder)
    except FileNotFoundError:
        raise MissingFile("is not there") from None
    except ValueError:
        raise UnusableFile("has a name that files cannot have") from None
    except OSError as error:
        raise UnusableFile(f"cannot be read: {error.strerror}") from None
    try:
        _insist(os.fstat(descriptor))
    except UnusableFile:
        os.close(descriptor)
        raise
    return descriptor


def read_bounded(path: str, *, most: int, root: str = "", alone: bool = False) -> bytes:
    """Return the content of a regular file; ``root`` is as in ``open_regular``. Raises ``UnusableFile``.

    ``most`` is how many bytes it may have; with ``alone`` it may have no other name anywhere.
    """
    try:
        with os.fdopen(open_regular(path, root=root), "rb") as file:
            if alone and os.fstat(file.fileno()).st_nlink > 1:
                raise UnusableFile("has other names (hard links), and such files are not read here")
            data = file.read(most + 1)
    except OSError as error:
        raise UnusableFile(f"cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise UnusableFile(f"is longer than {most} bytes")
    return data


def read_settings(path: str, *, root: str = "") -> str | None:
    """The text of a settings file, None where there is none, ``root`` as in ``open_regular``.

    Raises ``ConfigurationError``.
    """
    try:
        return read_bounded(path, most=LARGEST_SETTINGS, root=root).decode("utf-8")
    except MissingFile:
        return None
    except UnusableFile as why:
        raise ConfigurationError(f"{path} {why}.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8.") from None


def read_named(path: str, *, most: int) -> bytes:
    """The content of a file that the person named, or of a pipe with a writer.

    Raises ``UnusableFile``.
    """
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, _FILE)) as file:
            pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
            # A pipe without a writer ends at once; with one, this waits for it.
            os.set_blocking(file.fileno(), True)
            data = file.read(most + 1)
    except FileNotFoundError:
        raise MissingFile("is not there") from None
    except ValueError:
        raise UnusableFile("has a name that files cannot have") from None
    except OSError as error:
        raise UnusableFile(f"cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise UnusableFile(f"is longer than {most} bytes")
    if pipe and not data:
        raise UnusableFile("is a pipe, and nobody writes to it")
    return data


def write_named(path: str, data: bytes) -> None:
    """Write a file that the person names, or a pipe that somebody reads. Raises ``UnusableFile``.

    A file is replaced whole or stays as it was; only one with other names, or in a folder where none can be
    made, is written in place.
    """
    try:
        if _replaced(os.path.realpath(path), data):
            return
        with open(path, "wb", opener=lambda name, _: os.open(name, _NEW, 0o666)) as file:
            os.set_blocking(file.fileno(), True)
            file.write(data)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise UnusableFile("is a pipe, and nobody reads it") from None
        raise UnusableFile(f"cannot be written: {error.strerror}") from None


def _replaced(path: str, data: bytes) -> bool:
    """Whether a file was replaced or made, with the mode of the old one. Raises ``OSError``."""
    part = f"{path}.{os.getpid()}.part"
    old = os.stat(path) if os.path.lexists(path) else None
    if old and not _is_replaceable(path, old):
        return False
    try:
        descriptor = os.open(part, _NEW | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except OSError:
        return False
    try:
        with open(descriptor, "wb") as file:
            alike = not old or _given_rights(descriptor, old)
            file.write(data if alike else b"")
        if alike:
            os.replace(part, path)
            return True
    except OSError:
        os.unlink(part)
        raise
    os.unlink(part)
    return False


def _is_replaceable(path: str, old: os.stat_result) -> bool:
    """Whether a file is a regular one that has no other name and may be written."""
    return stat.S_ISREG(old.st_mode) and old.st_nlink == 1 and os.access(path, os.W_OK)


def _given_rights(descriptor: int, old: os.stat_result) -> bool:
    """Give a new file the mode of the old one, if owner and group are the same; returns that."""
    new = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        return False
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    return True


def _parent_of(path: str, root: str) -> tuple[int, str]:
    """The folder that holds it, entered part by part below the root, and the name in it."""
    *above, name = os.path.relpath(path, root).split(os.sep)
    if os.pardir in above or name in (os.curdir, os.pardir):
        raise UnusableFile("is outside the folder")
    folder = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    for part in above:
        try:
            if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                raise UnusableFile(f"is behind {part}, which is a link")
            below = os.open(part, _FOLDER, dir_fd=folder)
        except NotADirectoryError:
            raise MissingFile("is not there") from None
        finally:
            os.close(folder)
        folder = below
    return folder, name


def _insist(about: os.stat_result) -> None:
    if stat.S_ISLNK(about.st_mode):
        raise UnusableFile("is a link, and links are not read here")
    if not stat.S_ISREG(about.st_mode):
        raise UnusableFile("is not a regular file")
