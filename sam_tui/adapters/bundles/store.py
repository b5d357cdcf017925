"""The bundles that the person trusts: their copies in the settings folder, and the digests of those."""

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, cast

from sam_tui.adapters.bundles.content import BundleContent, digest_of, read_folder
from sam_tui.adapters.bundles.git import is_address, require_address
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.local_files.bounded import MissingFile, UnusableFile, read_bounded
from sam_tui.core.local_files.cache import Unchanged
from sam_tui.core.local_files.private_files import exclusive, replace_file
from sam_tui.core.ports.policy import BundleFolder
from sam_tui.core.text.json_files import json_of_file
from sam_tui.folders import BUNDLES, PROJECT_BUNDLES

COPIES = "bundles"
"""The folder of installed bundles, below the settings folder."""
MOST_BYTES = 32_000_000
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
LONGEST_NAME = 24
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle's source and its trusted content.

    ``address`` is a git address or an absolute folder; ``ref`` and ``folder`` select a part of it.
    ``files`` are digests by name. A bundle that is not for ``everywhere`` is used only in trusted folders
    that name its digest.
    """

    name: str
    address: str
    digest: str
    ref: str = ""
    folder: str = ""
    commit: str = ""
    everywhere: bool = True
    files: Mapping[str, str] = field(default_factory=dict[str, str])


class BundleStore:
    """The records and copies of a settings folder.

    ``pinned`` returns the digests that the current folder names, so that their bundles are in use.
    """

    def __init__(
        self, config_dir: str, pinned: Callable[[], Collection[str]] = frozenset[str]
    ) -> None:
        self._path = os.path.join(config_dir, BUNDLES)
        self._copies = os.path.realpath(os.path.join(config_dir, COPIES))
        self._pinned = pinned
        self._read: Unchanged[tuple[Bundle, ...]] = Unchanged()
        self._compared: dict[str, object] = {}

    def bundles(self) -> tuple[Bundle, ...]:
        """All trusted bundles; none if the file is damaged."""
        return self._read.get(self._path, lambda: tuple(self._records(strict=False)))

    def counting(self) -> tuple[BundleFolder, ...]:
        """The bundles in use here, by name; one pinned by the folder precedes one installed for all."""
        pinned = self._pinned()
        counting: dict[str, Bundle] = {}
        for bundle in sorted(self.bundles(), key=lambda b: b.digest in pinned):
            if bundle.everywhere or bundle.digest in pinned:
                counting[bundle.name] = bundle
        return tuple(self._folder(counting[name]) for name in sorted(counting))

    def folder(self, bundle: Bundle) -> BundleFolder:
        """The folder of a bundle, in use or not."""
        return self._folder(bundle)

    def staged(self, content: BundleContent) -> str:
        """Write the content of a bundle into a new folder that is not in use yet; returns the folder."""
        os.makedirs(self._copies, mode=0o700, exist_ok=True)
        folder = tempfile.mkdtemp(dir=self._copies, prefix=".new-")
        for name, file in content.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as copy:
                copy.write(file.data)
                os.fchmod(copy.fileno(), 0o555 if file.runs else 0o444)
        return folder

    def trust(self, bundle: Bundle, staged: str) -> None:
        """Use a staged content from now on, in place of a bundle with its name."""
        final = self._place(bundle.digest)
        with exclusive(self._path):
            records = self._records(strict=True)
            discard(final)
            os.rename(staged, final)
            for parent, _, _ in os.walk(final):
                os.chmod(parent, 0o555)
            replaced = [b for b in records if _stands_for(bundle, b)]
            self._store([*(b for b in records if b not in replaced), bundle])
            self._drop_unused(replaced)

    def remove(self, name: str) -> None:
        """End the trust in a bundle, and delete its copy. Raises ``UsageError`` for an unknown name."""
        with exclusive(self._path):
            records = self._records(strict=True)
            removed = [bundle for bundle in records if bundle.name == name]
            if not removed:
                raise UsageError(f"No bundle is called {name!r}.", hint="sam-tui bundles list")
            self._store([bundle for bundle in records if bundle not in removed])
            self._drop_unused(removed)

    def _drop_unused(self, bundles: Collection[Bundle]) -> None:
        in_use = {bundle.digest for bundle in self._records(strict=True)}
        for bundle in bundles:
            if bundle.digest not in in_use:
                discard(self._place(bundle.digest))

    def _place(self, digest: str) -> str:
        return os.path.join(self._copies, digest)

    def _folder(self, bundle: Bundle) -> BundleFolder:
        def vouches(name: str, data: bytes) -> bool:
            return bundle.files.get(name, "")[2:] == hashlib.sha256(data).hexdigest()

        folder = self._place(bundle.digest)
        return BundleFolder(bundle.name, folder, vouches, partial(self._intact, bundle, folder))

    def _intact(self, bundle: Bundle, folder: str) -> bool:
        """Whether a copy equals its record; compared again only when the file system shows a change."""
        signature = _signature(folder)
        if self._compared.get(folder) != (bundle, signature):
            try:
                content = read_folder(folder)
            except ConfigurationError:
                return False
            if content.left_out or content.digests != bundle.files:
                return False
            self._compared[folder] = (bundle, signature)
        return True

    def _records(self, *, strict: bool) -> list[Bundle]:
        try:
            data = json.loads(read_bounded(self._path, most=MOST_BYTES))
            return [_bundle(entry) for entry in data["bundles"]]
        except MissingFile:
            return []
        except (
            UnusableFile,
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ):
            if strict:
                raise ConfigurationError(
                    f"{self._path} is damaged, so no bundle is active.",
                    hint="Move it away, and add the bundles again.",
                ) from None
            return []

    def _store(self, bundles: Collection[Bundle]) -> None:
        entries = [asdict(bundle) for bundle in sorted(bundles, key=lambda b: b.name)]
        replace_file(self._path, json.dumps({"version": 1, "bundles": entries}, indent=1) + "\n")


def _stands_for(bundle: Bundle, other: Bundle) -> bool:
    """Whether ``bundle`` replaces ``other``: one digest, or both for all folders under one name."""
    same = other.name == bundle.name
    return other.digest == bundle.digest or (same and other.everywhere and bundle.everywhere)


def _bundle(entry: Any) -> Bundle:
    """The record of a JSON entry. Raises ``ValueError`` or ``TypeError`` for an invalid one."""
    bundle = Bundle(**entry)
    if not NAME.fullmatch(bundle.name) or digest_of(bundle.files) != bundle.digest:
        raise ValueError("a record does not match the files")
    return bundle


def require_name(name: str) -> str:
    """A name that a bundle can have. Raises ``UsageError``."""
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{ascii(name)[:80]} cannot name a bundle.",
            hint=f"Use at most {LONGEST_NAME} lower-case letters, digits and dashes: --name "
            "sets another.",
        )
    return name


def pinned_digests(trust: FolderTrust) -> frozenset[str]:
    """The digests of the bundles that a folder names; none where it is not trusted or they are wrong."""
    try:
        return frozenset(bundle.digest for bundle in project_bundles(trust))
    except (ConfigurationError, UsageError):
        return frozenset()


def project_bundles(trust: FolderTrust) -> tuple[Bundle, ...]:
    """The bundles that a trusted folder names, without their files. Raises ``ConfigurationError``."""
    path = os.path.join(trust.folder, PROJECT_BUNDLES)
    try:
        data = read_bounded(path, most=1_000_000, root=trust.folder) if trust.trusted else b""
        if not data or not trust.vouches(PROJECT_BUNDLES, data):
            return ()
        table = cast("dict[str, dict[str, dict[str, str]]]", json_of_file(data, path))
        entries = table["bundles"]
        return tuple(_pinned(trust.folder, name, entries[name]) for name in sorted(entries))
    except MissingFile:
        return ()
    except UnusableFile as why:
        raise ConfigurationError(f"{path} {why}.") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(
            f"{path} names no bundles.",
            hint='It is {"bundles": {"NAME": {"address": "…", "digest": "…"}}}: docs/bundles.md',
        ) from None


def _pinned(root: str, name: str, entry: dict[str, str]) -> Bundle:
    """A project's entry about a bundle: a git address or a folder of the project, and a digest."""
    if unknown := entry.keys() - {"address", "digest", "ref", "folder", "commit"}:
        raise ValueError(f"unknown: {unknown}")
    bundle = replace(Bundle(require_name(name), **entry), everywhere=False)  # pyright: ignore[reportArgumentType]
    if ".." in bundle.folder or not _DIGEST.fullmatch(bundle.digest):
        raise ValueError("a digest is missing")
    if is_address(bundle.address):
        require_address(bundle.address, bundle.commit or bundle.ref)
        return bundle
    folder = os.path.realpath(os.path.join(root, bundle.address))
    if not folder.startswith(f"{root.rstrip('/')}/"):
        raise ConfigurationError(f"{ascii(bundle.address)[:80]} is outside {root}.")
    return replace(bundle, address=folder)


def discard(folder: str) -> None:
    """Delete a copy or a staged folder."""
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _signature(folder: str) -> object:
    """A value that differs once anything in a folder has changed."""
    entries: list[tuple[str, int, int, int, int]] = []
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files, "."):
            path = os.path.join(parent, name)
            try:
                about = os.lstat(path)
            except OSError:
                continue
            mode = stat.S_IMODE(about.st_mode)
            entries.append((path, about.st_ctime_ns, about.st_size, about.st_ino, mode))
    return tuple(sorted(entries))
