"""Keys of providers and other private texts: in the keyring of the system, else in a private file.

The file ``keys.json`` of the data folder names every key, and holds those for which there is no
keyring: ``{"version": 1, "keys": {"OPENAI_API_KEY": {"in": "keyring"}}}``.
"""

import importlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Literal, Protocol, cast

from sam_tui.core.authorization.paths.secrets import KEYS_FILE
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import MissingFile, UnusableFile, read_bounded

SERVICE = "sam-tui"
"""The name of the service in a keyring."""
KeyStorage = Literal["keyring", "file"]
_LARGEST = 65_536
_LONGEST = 4_096
_IN_KEYRING = '{"in": "keyring"'
"""The beginning of a file whose content is in the keyring."""


_REFUSALS = (ImportError, OSError, RuntimeError, AttributeError)
"""The errors of a keyring that cannot be used; those of the package are ``RuntimeError``."""


class Keyring(Protocol):
    """The functions of the package ``keyring`` that are used."""

    def get_password(self, service: str, name: str, /) -> str | None: ...
    def set_password(self, service: str, name: str, key: str, /) -> None: ...
    def delete_password(self, service: str, name: str, /) -> None: ...


def system_keyring() -> Keyring | None:
    """The keyring of this system; None without the package or a backend that keeps keys safe."""
    try:
        keyring: Any = importlib.import_module("keyring")
        return keyring if keyring.get_keyring().priority >= 1 else None
    except _REFUSALS:
        return None


def _removed(name: str) -> str:
    """Remove an entry from the keyring; why it is still there, empty where it is not."""
    keyring = system_keyring()
    if keyring is None:
        return "it is in a keyring that cannot be used now"
    try:
        if keyring.get_password(SERVICE, name) is not None:
            keyring.delete_password(SERVICE, name)
    except _REFUSALS as refusal:
        return f"it is in the keyring ({refusal})"
    return ""


class PrivateTexts:
    """Private texts, each by a file of its own: in the keyring of the system, else in the file.

    The file is written in both cases, so that other programs see that the text changed.
    """

    def read(self, path: str, most: int) -> str:
        """The stored text; empty if there is none. May wait for the keyring.

        Raises ``PermissionError`` if a keyring keeps the text and does not hand it out.
        """
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(most)
        except (OSError, ValueError):
            return ""
        if not text.startswith(_IN_KEYRING):
            return text
        keyring = system_keyring()
        if keyring is None:
            raise PermissionError("it is in a keyring that cannot be used now")
        try:
            return keyring.get_password(SERVICE, path) or ""
        except _REFUSALS as refusal:
            raise PermissionError(f"it is in a keyring that is locked ({refusal})") from None

    def write(self, path: str, text: str) -> None:
        """Keep a text. Raises ``OSError``."""
        from sam_tui.core.local_files.private_files import replace_file

        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        keyring = system_keyring()
        if keyring is not None:
            with suppress(*_REFUSALS):
                keyring.set_password(SERVICE, path, text)
                text = f'{_IN_KEYRING}, "written": {time.time_ns()}}}'
        replace_file(path, text)

    def remove(self, path: str) -> bool:
        """Remove a text. False if there was none. Raises ``OSError``."""
        try:
            with open(path, encoding="utf-8") as file:
                elsewhere = file.read(len(_IN_KEYRING)) == _IN_KEYRING
        except FileNotFoundError:
            return False
        except (OSError, ValueError):
            elsewhere = False
        if (elsewhere or system_keyring() is not None) and (refusal := _removed(path)):
            raise OSError(0, refusal)
        os.unlink(path)
        return True


class KeyStore:
    """The keys of one data folder. ``values`` are those that can be read, by their variable."""

    def __init__(self, data_dir: str) -> None:
        self.path = os.path.join(data_dir, KEYS_FILE)
        self._entries = self._read()
        self.values: dict[str, str] = {}
        for name, entry in self._entries.items():
            if key := self._key(name, entry):
                self.values[name] = key

    @property
    def storage(self) -> dict[str, KeyStorage]:
        """Return the storage of each key, by its variable."""
        return {
            name: "keyring" if entry.get("in") == "keyring" else "file"
            for name, entry in self._entries.items()
        }

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            stored = json.loads(read_bounded(self.path, most=_LARGEST, alone=True))
            keys = cast("dict[str, Any]", stored["keys"])
            return {str(name): dict(entry) for name, entry in keys.items()}
        except MissingFile:
            return {}
        except (UnusableFile, OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
            folder = os.path.dirname(self.path)
            if not os.path.isdir(folder) or not os.access(folder, os.X_OK):
                raise ConfigurationError(
                    f"{folder} cannot be used as the data folder: it is no folder that you may enter.",
                    hint="Choose another one with --data-dir, or correct its permissions.",
                ) from None
            raise ConfigurationError(
                f"{self.path} cannot be used: {fault}.",
                hint="Move it away and enter the keys again.",
            ) from None

    def _key(self, name: str, entry: Mapping[str, str]) -> str:
        if entry.get("in") != "keyring":
            return entry.get("key", "")
        with suppress(*_REFUSALS):  # a locked or removed keyring is as one without the key
            keyring = system_keyring()
            return (keyring.get_password(SERVICE, name) or "") if keyring is not None else ""
        return ""

    def save(self, name: str, key: str) -> str:
        """Keep a key; in words where. Raises ``ConfigurationError``."""
        key = key.strip()
        if not key or len(key) > _LONGEST or not key.isprintable():
            raise ConfigurationError(
                "That is not a key.", hint="A key is one line of visible characters."
            )
        keyring, entry = system_keyring(), {"in": "file", "key": key}
        if keyring is not None:
            with suppress(*_REFUSALS):  # a keyring that refuses counts as none
                keyring.set_password(SERVICE, name, key)
                entry = {"in": "keyring"}
        self._write(name, entry)
        self.values[name] = key
        if entry["in"] == "keyring":
            return "in the keyring of this system"
        return f"in {self.path}, readable by you alone: there is no keyring here"

    def remove(self, name: str) -> bool:
        """Remove a key. False if there was none. Raises ``ConfigurationError``."""
        entry = self._entries.get(name)
        if entry is None:
            return False
        if entry.get("in") == "keyring" and (refusal := _removed(name)):
            raise ConfigurationError(f"{name} was not removed: {refusal}.")
        self._write(name, None)
        self.values.pop(name, None)
        return True

    def _write(self, name: str, entry: dict[str, str] | None) -> None:
        """Store or remove one entry; entries of other programs stay."""
        from sam_tui.core.local_files.private_files import exclusive, replace_file

        with exclusive(self.path):
            entries = {other: stored for other, stored in self._read().items() if other != name}
            if entry is not None:
                entries[name] = entry
            replace_file(self.path, json.dumps({"version": 1, "keys": entries}, indent=2) + "\n")
        self._entries = entries


@cache
def key_store(data_dir: str) -> KeyStore:
    """The keys of a data folder, the same for all of the program. Raises ``ConfigurationError``."""
    return KeyStore(data_dir)
