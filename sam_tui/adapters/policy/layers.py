"""The policy files, trust and stores that a guard's policy is made of, read together."""

import os
import shlex
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from sam_tui.adapters.policy.files import (
    POLICY_FILE,
    PROJECT_FILE,
    PolicyFile,
    load_policies,
    load_policy,
)
from sam_tui.adapters.policy.sandbox_settings import SandboxTerms, held_to, merged
from sam_tui.adapters.policy.saved_rules import SavedRules
from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.adapters.policy.turn_limits import TurnLimits, tightened
from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS, Limits
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.commands.table import CommandTable, builtin_table
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.paths.secrets import (
    FLEET_KEY,
    KEYS_FILE,
    MCP_TOKEN,
    PLAN_TOKEN,
    WEB_TOKEN,
    Secrets,
)
from sam_tui.core.authorization.policy.policy import PermissionMode, Policy, own_folders
from sam_tui.core.authorization.rules.rule import Rule, RuleSet
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ports.policy import ShellParser, TrustState
from sam_tui.folders import data_folder, settings_folder

SYSTEM_FOLDER = "/etc/sam-tui"
"""The folder of the administrator's policy; no environment variable changes it."""
SHARED = ("skills", "hooks", "bundles")
"""Folders below the settings folder that commands may read and run, but not change."""


@dataclass(frozen=True, slots=True)
class AppFolders:
    """Absolute paths of the folders of settings, data, home and the administrator."""

    config_dir: str
    data_dir: str
    home: str
    system_dir: str = field(default_factory=lambda: SYSTEM_FOLDER)

    @classmethod
    def of(cls, environ: Mapping[str, str], data_dir: str) -> "AppFolders":
        """The usual places; ``SAM_TUI_CONFIG_DIR`` moves the settings."""
        config = environ.get("SAM_TUI_CONFIG_DIR") or settings_folder()
        return cls(
            os.path.abspath(os.path.expanduser(config)),
            os.path.abspath(os.path.expanduser(data_dir)),
            environ.get("HOME", ""),
        )

    @property
    def protected(self) -> tuple[str, ...]:
        """Real paths that belong to this program: these folders, and the usual ones.

        If variables or options name others, programs without them still have their tokens,
        conversations and settings in the usual ones.
        """
        folders = [self.data_dir, self.config_dir]
        with suppress(ConfigurationError):  # no home folder: then there are no usual ones
            folders += [data_folder(), settings_folder()]
        return own_folders(*dict.fromkeys(folders))


@dataclass(frozen=True, slots=True)
class Layers:
    """The policy files, the trust in the folder, and the stores behind them."""

    system: PolicyFile
    user: PolicyFile
    project: PolicyFile
    state: TrustState
    trust: FileTrust
    saved: SavedRules

    @property
    def trusted(self) -> bool:
        """Whether the person trusts the folder in its present state."""
        return self.state == "trusted"

    def mode(self, chosen: PermissionMode | None) -> PermissionMode:
        """The mode in force: the flag's, else the stricter file's, else ``ask``.

        Raises ``ConfigurationError`` for a flag that the administrator does not allow.
        """
        allowed = self.system.modes
        if chosen and chosen not in allowed:
            raise ConfigurationError(
                f"{self.system.path} does not allow the mode {chosen!r}.",
                hint=f"One of: {', '.join(allowed)}.",
            )
        mode = chosen or self.project.mode or self.user.mode or self.system.mode or "ask"
        return mode if mode in allowed else allowed[0]

    def sandbox(self, chosen: SandboxTerms) -> SandboxTerms:
        """The confinement of commands: by flags, else by the project if stricter, else by the person.

        Raises ``ConfigurationError`` for a flag that is wider than the administrator allows.
        """
        files = (self.project.sandbox, self.user.sandbox)
        return held_to(self.system.sandbox, merged(chosen, *files), chosen, self.system.path)

    @property
    def limits(self) -> TurnLimits:
        """The limits of a turn: the person's, lowered by the project and the administrator."""
        return tightened(tightened(self.user.limits, self.project.limits), self.system.limits)

    def turn_limits(self, turns: int | None, tokens: int | None, cost: float | None) -> Limits:
        """The budget of a turn: by flags, else by the files.

        The model cannot raise a limit of the person, nor a flag one of the administrator.
        """
        limits, most = self.limits, self.system.limits.max_turns
        turns = turns or limits.max_turns
        if turns and most:
            turns = min(turns, most)
        raised = MOST_STEPS if limits.raise_to is None else limits.raise_to
        return Limits(turns or DEFAULT_STEPS, tokens, cost, 0 if turns else min(raised, MOST_STEPS))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of all files, the administrator's first, then the person's, then the project's."""
        return (*self.system.rules, *self.user.rules, *self.project.rules)

    @property
    def local(self) -> tuple[str, ...]:
        """``host:port`` of servers that are not public and may be reached."""
        return (*self.system.local, *self.user.local)

    @property
    def seconds(self) -> float | None:
        """For how many seconds counted grants last; other files can only shorten the person's value."""
        files = (self.user, self.project, self.system)
        minutes = [file.minutes for file in files if file.minutes is not None]
        if self.user.minutes is None and minutes:
            minutes.append(5.0)
        return min(minutes) * 60 if minutes else None


def read_layers(folders: AppFolders, workspace: str) -> Layers:
    """The layers for a workspace. Raises ``ConfigurationError`` with file and line."""
    trust = FileTrust(folders.config_dir)
    states: list[TrustState] = [trust.state(workspace)]

    def vouched(data: bytes) -> bool:
        # The text that was read counts, not the file at the later moment of its digest.
        if states[0] == "trusted" and not trust.vouches(workspace, PROJECT_FILE, data):
            states[0] = "changed"
        return states[0] == "trusted"

    system = _administrators(folders.system_dir, folders.home)
    # Group rights alone may be of a group that has the person alone, as with umask 002.
    _refuse_open(folders.config_dir, stat.S_IWOTH)
    user, project = load_policies(folders.config_dir, workspace, folders.home, vouches=vouched)
    saved = SavedRules(folders.config_dir, folders.home)
    return Layers(system, user, project, states[0], trust, saved)


def _administrators(folder: str, home: str) -> PolicyFile:
    """The administrator's policy. Raises ``ConfigurationError``, also if others could write the file."""
    _refuse_open(folder, stat.S_IWGRP | stat.S_IWOTH, "As the administrator: ")
    return load_policy(os.path.join(folder, POLICY_FILE), "system", root="/", home=home)


def _refuse_open(folder: str, rights: int, who: str = "") -> None:
    """Raise ``ConfigurationError`` if the folder or its policy file has one of the rights."""
    for checked in (folder, os.path.join(folder, POLICY_FILE)):
        with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
            if os.stat(checked).st_mode & rights:
                raise ConfigurationError(
                    f"Users other than the owner can write {checked}, so it cannot be relied on.",
                    hint=f"{who}chmod go-w {shlex.quote(checked)}",
                )


def renewed(layers: Layers, folders: AppFolders, workspace: str, state: TrustState) -> Layers:
    """The layers after the folder's trust has changed. Only trusting can fail for a faulty file."""
    try:
        layers_now = read_layers(folders, workspace)
        return layers_now if state == "trusted" else replace(layers_now, state=state)
    except ConfigurationError:
        if state == "trusted":
            raise
        return replace(layers, state=state)


def make_policy(
    layers: Layers,
    folders: AppFolders,
    workspace: Workspace,
    *,
    mode: PermissionMode | None,
    sandboxed: bool | Callable[[], bool],
    parser: ShellParser,
) -> Policy:
    """Return the policy of a runtime. ``mode`` is a flag's choice, None without one."""
    rules = RuleSet.of(
        layers.rules,
        workspace=workspace.root,
        trusted=layers.trusted,
    )
    return Policy(
        layers.mode(mode),
        sandboxed,
        folders.protected,
        secrets=Secrets(
            folders.home,
            tuple(
                os.path.join(folders.data_dir, n)
                for n in (MCP_TOKEN, FLEET_KEY, PLAN_TOKEN, WEB_TOKEN, KEYS_FILE)
            ),
        ),
        rules=rules,
        reader=CommandReader(parser, root=workspace.root, home=folders.home, table=_table(layers)),
        trusted=layers.trusted,
        roots=workspace.roots,
        modes=layers.system.modes,
        shared=own_folders(*(os.path.join(folders.config_dir, name) for name in SHARED)),
    )


def _table(layers: Layers) -> Callable[[], CommandTable]:
    """The table of programs with the entries of the policy files; built when the first command is
    judged."""
    own, least = {**layers.user.programs, **layers.system.programs}, layers.project.least
    if not own and not least:
        return builtin_table
    return cache(lambda: builtin_table().extended(own, least))
