"""The person's permissions in files: permanent ones as rules at the end of their own policy file, temporary
ones in a ledger that other processes read."""

import contextlib
import json
import os
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any, cast

from sam_tui.adapters.policy.files import POLICY_FILE, load_policy, parse_policy
from sam_tui.core.authorization.rules.rule import Rule
from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ids import mint
from sam_tui.core.local_files.private_files import exclusive, replace_file
from sam_tui.core.ports.policy import LiveGrant, SavedGrant
from sam_tui.core.text.toml_lines import rule_blocks
from sam_tui.process import is_running

FOLDER = "grants"
"""The folder of grants, below the data folder."""


class FileLedger:
    """The ``GrantLedger`` of one process; and for the command line, the view of all of them."""

    def __init__(self, data_dir: str, *, process: int | None = None) -> None:
        self._folder = os.path.join(data_dir, FOLDER)
        self._process = os.getpid() if process is None else process
        self._seen: tuple[int, int] | None = None
        self._revoked: frozenset[str] = frozenset()

    def publish(self, grants: Sequence[LiveGrant]) -> None:
        """Write the present grants for other processes. A failed write changes no grant."""
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
        """The ids of grants that another process revoked; only one ``stat`` if nothing changed."""
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
        """Remove the file."""
        for kind in ("json", "json.lock", "revoked"):
            with contextlib.suppress(OSError):
                os.unlink(self._path(self._process, kind))

    def all(self) -> list[LiveGrant]:
        """The grants of every process that runs; files of dead ones are removed."""
        grants: list[LiveGrant] = []
        for process in self._processes():
            if not is_running(process):
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
                    # Its process notices at its next decision.
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


_MARK = "# Allowed in a question"


@dataclass(frozen=True, slots=True)
class SavedRules:
    """The ``RuleStore``: ``policy.toml`` of the settings folder. Only the person's answers add to it."""

    config_dir: str
    home: str
    today: Callable[[], date] = date.today
    _seen: dict[tuple[int, ...], frozenset[str]] = field(
        default_factory=dict[tuple[int, ...], frozenset[str]], compare=False
    )

    @property
    def path(self) -> str:
        """The policy file."""
        return os.path.join(self.config_dir, POLICY_FILE)

    def add(self, grant: SavedGrant) -> str:
        """Add a permission to the file, once; returns its id.

        Raises ``ConfigurationError`` when the file is invalid or cannot be written.
        """
        with exclusive(self.path):
            text = self._text()
            for rule in self._rules(text):
                if _same(rule, grant):
                    return rule.id.removeprefix("user:")
            identifier = mint("grant")
            block = self._block(grant, identifier)
            joined = (text.rstrip("\n") + "\n\n" if text.strip() else "") + block
            self._rules(joined)
            replace_file(self.path, joined)
        return identifier

    def rules(self) -> tuple[Rule, ...]:
        """The rules that ``add`` wrote; those written by hand are left out."""
        rules = load_policy(self.path, "user", root=self.home or "/", home=self.home).rules
        return tuple(rule for rule in rules if rule.id.startswith("user:grant_"))

    def withdrawn(self, identifiers: Collection[str]) -> frozenset[str]:
        """The ids that are no longer in the file. One ``stat`` if the file is unchanged.

        A file that cannot be read now says nothing about them.
        """
        try:
            status = os.stat(self.path)
            mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            return frozenset(identifiers)
        if mark not in self._seen:
            try:
                text = self._text()
                ids = frozenset(rule.id for rule in self._rules(text))
            except (OSError, ConfigurationError):
                return frozenset()
            self._seen.clear()
            self._seen[mark] = ids
        return frozenset(identifiers) - self._seen[mark]

    def revoke(self, identifier: str) -> bool:
        """Remove the rule of that id from the file; False if there is none."""
        if not os.path.exists(self.path):
            return False
        identifier = identifier.removeprefix("user:")
        with exclusive(self.path):
            text = self._text()
            ids = [rule.id.removeprefix("user:") for rule in self._rules(text)]
            if identifier not in ids:
                return False
            lines = text.splitlines(keepends=True)
            blocks = rule_blocks(text)
            if len(blocks) != len(ids):
                raise ConfigurationError(
                    f"{self.path} has a form that cannot be edited automatically.",
                    hint=f"Remove the rule {identifier} by hand.",
                )
            start, end = blocks[ids.index(identifier)]
            while end > start + 1 and lines[end - 1].lstrip()[:1] in ("#", ""):
                end -= 1  # comments above the next rule belong to that
            if start and lines[start - 1].startswith(_MARK):
                start -= 1
            remaining = "".join(lines[:start]).rstrip("\n") + "\n" + "".join(lines[end:])
            replace_file(self.path, remaining.lstrip("\n"))
        return True

    def _text(self) -> str:
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise ConfigurationError(f"{self.path} is not UTF-8.") from None

    def _rules(self, text: str) -> tuple[Rule, ...]:
        return parse_policy(text, self.path, "user", root=self.home or "/", home=self.home).rules

    def _block(self, grant: SavedGrant, identifier: str) -> str:
        """The rule as TOML. JSON strings are TOML basic strings once nothing is left escaped oddly."""
        fields = {
            "id": identifier,
            "effect": "allow",
            "operation": grant.operation,
            "command": shlex.join(grant.command),
            "path": _unpatterned(grant.path),
            "host": grant.host,
            "workspace": grant.workspace,
            "comment": grant.comment,
        }
        rows = [f"{key} = {_quoted(value)}" for key, value in fields.items() if value.strip()]
        return "\n".join([f"{_MARK} on {self.today().isoformat()}", "[[rule]]", *rows]) + "\n"


def _quoted(value: str) -> str:
    """Return a TOML basic string. Raises ``ConfigurationError`` for text that no file can hold."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigurationError("A name that is not UTF-8 cannot be stored.") from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _unpatterned(path: str) -> str:
    """A path in which ``*``, ``?`` and ``[`` mean themselves."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def _same(rule: Rule, grant: SavedGrant) -> bool:
    return (
        rule.effect == "allow"
        and rule.window.always
        and (rule.operation, rule.workspace, rule.host)
        == (grant.operation, grant.workspace, grant.host)
        and (rule.command.words if rule.command else ()) == grant.command
        and (rule.path.text if rule.path else "") == _unpatterned(grant.path)
    )
