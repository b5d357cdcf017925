"""The content of a bundle as names and bytes: none of it is run, followed or checked out."""

import hashlib
import os
import posixpath
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import UnusableFile, open_regular

MOST_FILES, MOST_BYTES, LARGEST = 2_000, 32_000_000, 8_000_000
"""Limits of a bundle: its number of files, the bytes of all files, and the bytes of one file."""
LONGEST_NAME = 240


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file of a bundle."""

    data: bytes
    runs: bool

    @property
    def digest(self) -> str:
        """The executable bit and the SHA-256 of the content as one text."""
        return f"{'x' if self.runs else '-'}:{hashlib.sha256(self.data).hexdigest()}"


@dataclass(slots=True)
class BundleContent:
    """The files of a bundle by name. ``left_out`` names, in words, the parts that were not copied."""

    files: dict[str, BundleFile] = field(default_factory=dict[str, BundleFile])
    left_out: list[str] = field(default_factory=list[str])
    commit: str = ""
    _bytes: int = 0
    _folded: set[str] = field(default_factory=set[str])

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each file."""
        return {name: file.digest for name, file in sorted(self.files.items())}

    def admit(self, name: str, size: int) -> None:
        """Check a file's name and size before it is read. Raises ``ConfigurationError``."""
        _require_name(name)
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in self._folded:
            raise ConfigurationError(f"It contains {name!r} twice, in another case of letters.")
        self._folded.add(folded)
        self._bytes += size
        if size > LARGEST:
            raise ConfigurationError(f"{name} is larger than {LARGEST // 1_000_000} MB.")
        if len(self._folded) > MOST_FILES or self._bytes > MOST_BYTES:
            limits = f"{MOST_FILES} files and {MOST_BYTES // 1_000_000} MB"
            raise ConfigurationError(f"It is too large for a bundle: at most {limits}.")

    def leave_link(self, name: str, target: str) -> None:
        """Leave out a link within the bundle. Raises ``ConfigurationError`` for one that leads out."""
        _require_name(name)
        end = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if target.startswith("/") or end == ".." or end.startswith("../"):
            raise ConfigurationError(f"{name} is a link out of it, to {ascii(target)[:80]}.")
        self.left_out.append(f"{name}: links are not accepted")


def digest_of(digests: Mapping[str, str]) -> str:
    """One SHA-256 over the names and digests of all files."""
    lines = (f"{digest} {name}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _require_name(name: str) -> None:
    parts = name.split("/")
    if len(name.encode("utf-8", "surrogateescape")) > LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(
            f"It contains a name that cannot be displayed: {ascii(name)[:80]}."
        )
    if any(part in ("", ".", "..") or part.rstrip(" .").lower() == ".git" for part in parts):
        raise ConfigurationError(f"It contains a name that leads elsewhere: {ascii(name)[:80]}.")


def read_folder(folder: str) -> BundleContent:
    """Return the present content of a folder, without git's own. Raises ``ConfigurationError``."""
    if not os.path.isdir(folder):
        raise ConfigurationError(f"{folder} is not a folder.", hint="Name a folder, or an address.")
    root, content = os.path.realpath(folder), BundleContent()
    for name, path in _walk(root):
        if os.path.islink(path):
            content.leave_link(name, os.readlink(path))
            continue
        try:
            with os.fdopen(open_regular(path, root=root), "rb") as file:
                about = os.fstat(file.fileno())
                content.admit(name, about.st_size)
                data = file.read(LARGEST + 1)
        except (OSError, UnusableFile) as why:
            raise ConfigurationError(f"{name!a} {why}.") from None
        if len(data) != about.st_size:
            raise ConfigurationError(f"{name} changed while it was read.", hint="Try again.")
        content.files[name] = BundleFile(data, bool(about.st_mode & 0o111))
    return content


def _walk(root: str) -> Iterator[tuple[str, str]]:
    """Names and paths of all files, and of all links, also those to folders."""

    def fail(error: OSError) -> None:
        raise ConfigurationError(f"{error.filename} cannot be read: {error.strerror}.")

    for parent, folders, files in os.walk(root, onerror=fail):
        skipped = {".git"} if parent == root else set[str]()
        folders[:] = sorted({*folders} - skipped)
        links = (name for name in folders if os.path.islink(os.path.join(parent, name)))
        for name in sorted({*files, *links} - skipped):
            path = os.path.join(parent, name)
            yield os.path.relpath(path, root), path
