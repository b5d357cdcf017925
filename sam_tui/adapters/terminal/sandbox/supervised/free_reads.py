"""The paths that a run may read without a question: readable ones without a secret name."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sam_tui.core.authorization.paths.secrets import ENVIRONMENT_FILE, PRIVATE_KEY, Secrets
from sam_tui.core.ports.processes.sandbox import ReadTerms

_KERNEL = ("/proc/", "/sys/", "/dev/")
_CONFIGURED = ("/etc/",)
"""System folders whose files people write, which may therefore contain their secrets."""
_SUSPECT = re.compile(
    r"/(?:[.]|_netrc|id_|ssh_host_|settings|local[.]settings|gradle|secrets[.]toml|krb5cc_)|key|priv|[.](?:pem|p12|pfx|jks|keystore|kdbx|ppk)$",
    re.I,
)
"""A fast first test: a name that does not match is no secret."""
_MOST_FOLDERS = 4096
_OF_PACKAGES = (ENVIRONMENT_FILE, PRIVATE_KEY)
_ENVIRONMENT_MARK = "pyvenv.cfg"
"""The file that marks a folder as a Python virtual environment."""
_DEEPEST = 8


@cache
def _secrets(home: str) -> Secrets:
    return Secrets(home)


@dataclass(slots=True, repr=False)
class Reads:
    """The ``terms`` of a run, and the ``roots`` that it may change.

    ``hidden`` are places of secrets, which the kernel hides, too, except for the roots and the ``opened``
    places among them; ``kept`` are the secret places below the roots.
    """

    terms: ReadTerms = field(default_factory=ReadTerms)
    roots: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    _own: tuple[str, ...] = field(init=False)
    _free: tuple[str, ...] = field(init=False)
    _within: tuple[str, ...] = field(init=False)
    _hidden: tuple[str, ...] = field(init=False)
    _opened: tuple[str, ...] = field(init=False)
    _kept: tuple[str, ...] = field(init=False)
    _roots: tuple[str, ...] = field(init=False)
    _places: frozenset[str] = field(init=False)
    _plain: dict[str, bool] = field(default_factory=dict[str, bool], init=False)
    _environments: dict[str, bool] = field(default_factory=dict[str, bool], init=False)

    def __post_init__(self) -> None:
        """Prepare the prefixes that are compared with every path."""
        prefixes = (*self.roots, *self.terms.own)
        self._own = tuple(f"{path.rstrip('/')}/" for path in prefixes)
        self._free = (*(f"{path.rstrip('/')}/" for path in self.terms.free), *_KERNEL)
        self._within = (*self._own, *self._free)
        self._places = frozenset(path.lower() for path in (*self.hidden, *self.kept))
        self._hidden = tuple({f"{path.lower()}/" for path in self.hidden})
        self._kept = tuple({f"{path.lower()}/" for path in self.kept})
        self._opened = tuple(f"{path.rstrip('/')}/" for path in self.opened)
        self._roots = tuple(f"{path.rstrip('/')}/" for path in self.roots)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "Reads":
        """From the message that begins a run."""
        terms = {**message, **message["reads"]}
        free, roots_own = tuple(map(str, terms["free"])), tuple(map(str, terms["own"]))
        read_terms = ReadTerms(str(terms["home"]), free, roots_own, bool(terms["restricted"]))
        names = ("roots", "hidden", "opened", "kept")
        return cls(read_terms, *(tuple(terms[name]) for name in names))

    def is_plain(self, real: str) -> bool:
        """Whether a path is surely read without a question. The answer is cached by folder, because only
        names count."""
        folder = real[: real.rfind("/")]
        plain = self._plain.get(folder)
        if plain is None:
            if len(self._plain) >= _MOST_FOLDERS:
                self._plain.clear()
            below = f"{folder}/"
            apart = below.startswith(_KERNEL) or self.is_hidden(below)
            plain = self._plain[folder] = not apart and self.within(below)
        return plain and real.lower() not in self._places and not self.secret(real)

    def is_hidden(self, real: str) -> bool:
        """Whether the kernel hides the path from the run, too; in any case, as some volumes fold it."""
        path = f"{real}/"
        if path.startswith(self._opened):
            return False
        key = path.lower()
        apart = key.startswith(self._hidden) and not path.startswith(self._roots)
        return apart or key.startswith(self._kept)

    def secret(self, real: str) -> bool:
        """Whether a real path is secret by its name. Packages contain keys and environments for tests."""
        if not _SUSPECT.search(real, real.rfind("/")) or real.startswith(_KERNEL):
            return False
        inside = real.startswith(self._own)
        installed = real.startswith(self._free) and not real.startswith(_CONFIGURED)
        what = _secrets(self.terms.home).named(real, inside=inside or installed)
        return bool(what) and (inside or not installed or what not in _OF_PACKAGES)

    def within(self, real: str) -> bool:
        """Whether the kernel lets the command read a real path."""
        if not self.terms.restricted:
            return True
        return real.startswith(self._within) or real in self.terms.free

    def toolchain(self, real: str) -> bool:
        """Whether it belongs to a virtual environment, which is no project's secret."""
        folder, looked = os.path.dirname(real), 0
        while folder not in ("/", "") and looked < _DEEPEST:
            cached = self._environments.get(folder)
            if cached is None:
                cached = os.path.isfile(f"{folder}/{_ENVIRONMENT_MARK}")
                self._environments[folder] = cached
            if cached:
                return True
            folder, looked = os.path.dirname(folder), looked + 1
        return False
