"""Live grants, visible to other processes: one file per process, and a list of what to take back."""

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, cast

from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.private_files import exclusive, replace_file
from sam_tui.core.ports.policy import LiveGrant

FOLDER = "grants"
"""Below the data folder."""


class FileLedger:
    """The ``GrantLedger`` of one process; and for the command line, the view of all of them."""

    def __init__(self, data_dir: str, *, process: int | None = None) -> None:
        self._folder = os.path.join(data_dir, FOLDER)
        self._process = os.getpid() if process is None else process
        self._seen: tuple[int, int] | None = None
        self._revoked: frozenset[str] = frozenset()

    def publish(self, grants: Sequence[LiveGrant]) -> None:
        """Show what is granted now; nothing granted leaves no file. A full disk changes no grant."""
        path = self._path(self._process)
        try:
            if not grants:
                self.close()
                return
            with exclusive(path):
                replace_file(path, json.dumps([asdict(grant) for grant in grants]))
        except ConfigurationError:
            return

    def revoked(self) -> frozenset[str]:
        """Ids that another process took back; one ``stat`` where nothing changed."""
        path = self._path(self._process, "revoked")
        try:
            status = os.stat(path)
        except OSError:
            return self._revoked
        mark = (status.st_mtime_ns, status.st_size)
        if mark != self._seen:
            self._seen = mark
            with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                self._revoked = frozenset(file.read().split())
        return self._revoked

    def close(self) -> None:
        """Leave nothing behind."""
        for kind in ("json", "json.lock", "revoked"):
            with contextlib.suppress(OSError):
                os.unlink(self._path(self._process, kind))

    def all(self) -> list[LiveGrant]:
        """The grants of every process that runs; files of dead ones are removed."""
        grants: list[LiveGrant] = []
        for process in self._processes():
            if not _alive(process):
                FileLedger(os.path.dirname(self._folder), process=process).close()
                continue
            revoked = FileLedger(os.path.dirname(self._folder), process=process).revoked()
            with contextlib.suppress(OSError, ValueError, TypeError):
                with open(self._path(process), encoding="utf-8") as file:
                    entries = cast("list[dict[str, Any]]", json.load(file))
                for entry in entries:
                    entry["process"] = process
                    grant = LiveGrant(**entry)
                    over = grant.expires is not None and grant.expires <= expiry_seconds()
                    # Its process finds out at its next decision.
                    if grant.id not in revoked and not over:
                        grants.append(grant)
        return grants

    def revoke(self, identifier: str) -> bool:
        """Take back the grant of a running process; it holds from that process's next decision."""
        for grant in self.all():
            if grant.id == identifier:
                path = self._path(grant.process, "revoked")
                descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(identifier + "\n")
                return True
        return False

    def _processes(self) -> list[int]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return sorted(
            int(n.removesuffix(".json")) for n in names if n.removesuffix(".json").isdigit()
        )

    def _path(self, process: int, kind: str = "json") -> str:
        return os.path.join(self._folder, f"{process}.{kind}")


def _alive(process: int, signal: Callable[[int, int], None] = os.kill) -> bool:
    try:
        signal(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
