"""A git worktree for a conversation: a folder and a branch next to the repository, merged or dropped."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sam_tui.core.errors import UsageError

_SECONDS = 120.0
_MERGED = re.compile(r"^ \d+ files? changed.*", re.MULTILINE)
"""The summary that git prints of a merge, before the lines about created and deleted files."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PREFIX = "sam/"
"""The prefix of the branches of worktrees."""
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""Options that keep git from running the repository's hooks."""
_PROGRAM = re.compile(
    r"(?:filter\..*\.(?:smudge|clean|process)|merge\..*\.driver|gpg\.(?:.*\.)?program|core\.gitproxy"
    r"|core\.alternaterefscommand|(?:diff|textconv)\..*\.(?:command|textconv))",
    re.IGNORECASE,
)
"""Settings that name a program which git starts for a worktree, a commit or a merge."""


_IDENTITY = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
)
_MOST_WORDS = 400
"""The most characters of git's error message that are shown."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """One worktree. ``changed`` counts uncommitted files, ``ahead`` commits to merge."""

    name: str
    path: str
    changed: int
    ahead: int


class Worktrees:
    """The worktrees of the repository around a folder. All raise ``UsageError``."""

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        program = shutil.which("git", path=environ.get("PATH", ""))
        folder = os.path.realpath(folder)
        if program is None or os.path.realpath(program).startswith(f"{folder}/"):
            raise UsageError("There is no git on the search path outside this folder.")
        self._program = program
        self._environ = {
            k: v for k, v in environ.items() if not k.startswith("GIT_") or k in _IDENTITY
        }
        self._folder = folder
        self.root = self._git(self._folder, "rev-parse", "--show-toplevel")
        self._refuse_programs()

    def _refuse_programs(self) -> None:
        """Refuse a repository whose configuration names programs: git must not run them."""
        listed = self._git(
            self.root, "config", "--list", "--includes", "--show-scope", "--name-only"
        )
        for line in listed.splitlines():
            scope, _, name = line.partition("\t")
            if scope in ("local", "worktree") and _PROGRAM.fullmatch(name):
                raise UsageError(
                    f"The settings of this repository name a program that git would run: {name}.",
                    hint="If you want that, make the worktree with git and open it with -C.",
                )

    def open(self, name: str) -> str:
        """The folder to work in, in the worktree of that name (``?``: a new one)."""
        name = f"{datetime.now():%m%d-%H%M%S}" if name == "?" else name
        path = self._path(name)
        if not os.path.isdir(path):
            if not self._git(self.root, "rev-list", "--max-count=1", "--all"):
                raise UsageError("The repository has no commit yet, and a worktree needs one.")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with suppress(UsageError):  # what somebody deleted is still in git's list
                self._git(self.root, "worktree", "remove", "--force", path)
            branch = f"{_PREFIX}{name}"
            existing = self._git(self.root, "branch", "--list", branch)
            new = (path, branch) if existing else ("-b", branch, path)
            self._git(self.root, "worktree", "add", "--quiet", *new)
        elif not _is_worktree(path):
            raise UsageError(f"{path} exists and is not a worktree.", hint="Choose another name.")
        below = os.path.relpath(self._folder, self.root)
        return os.path.normpath(os.path.join(path, below))

    def listed(self) -> list[Worktree]:
        """The worktrees that were created here, by name."""
        above = os.path.dirname(self._path("x"))
        names = sorted(os.listdir(above)) if os.path.isdir(above) else []
        return [
            self._standing(name)
            for name in names
            if _NAME.fullmatch(name) and _is_worktree(self._path(name))
        ]

    def merge(self, name: str, message: str) -> str:
        """Merge a worktree's branch into the present one, and remove the worktree; returns what happened.

        With a ``message`` uncommitted changes there are committed first.
        """
        standing = self._standing(name)
        if self._merging():
            raise UsageError(
                "A merge of yours is under way here.", hint="Commit it or take it back first."
            )
        if standing.changed:
            if not message:
                files = _counted(standing.changed, "file")
                raise UsageError(
                    f"{name} has {files} to commit.",
                    hint="Commit them there, or pass -m MESSAGE.",
                )
            self._git(standing.path, "add", "--all")
            self._git(standing.path, "commit", "--quiet", "-m", message)
        output = self._merged(name, standing.path)
        self._remove(name, standing.path)
        counts = _MERGED.findall(output)
        return (counts or output.splitlines() or [""])[-1].strip()

    def _merged(self, name: str, path: str) -> str:
        """git's output of the merge; a merge with conflicts is undone."""
        branch = f"{_PREFIX}{name}"
        try:
            return self._git(self.root, "merge", "--no-edit", branch)
        except UsageError as error:
            if not self._merging():
                raise
            files = self._git(self.root, "diff", "--name-only", "--diff-filter=U").splitlines()
            self._git(self.root, "merge", "--abort")
            ours = self._git(self.root, "rev-parse", "--abbrev-ref", "HEAD")
            raise UsageError(
                f"{branch} and {ours} both changed {', '.join(files) or 'the same'}: nothing was merged,"
                f" and all work of {name} stays in {path}.",
                hint=f"There “git merge {ours}”, solve what conflicts, commit, and merge {name} again.",
            ) from error

    def _merging(self) -> bool:
        """Whether a merge is in progress in the repository's own folder."""
        head = self._git(self.root, "rev-parse", "--git-path", "MERGE_HEAD")
        return os.path.exists(os.path.join(self.root, head))

    def drop(self, name: str, *, force: bool) -> None:
        """Remove a worktree and its branch; ``force`` discards changes and commits that are nowhere
        else."""
        standing = self._standing(name)
        if (standing.changed or standing.ahead) and not force:
            raise UsageError(
                f"{name} has {_counted(standing.changed, 'changed file')} and"
                f" {_counted(standing.ahead, 'commit')} to merge.",
                hint="Merge it, or drop it with --force.",
            )
        self._remove(name, standing.path)

    def _remove(self, name: str, path: str) -> None:
        self._git(self.root, "worktree", "remove", "--force", path)
        self._git(self.root, "branch", "--quiet", "-D", f"{_PREFIX}{name}")

    def _standing(self, name: str) -> Worktree:
        path = self._path(name)
        if not _is_worktree(path):
            raise UsageError(
                f"There is no worktree {name}.", hint="List them: sessions worktree list"
            )
        changed = len(self._git(path, "status", "--porcelain").splitlines())
        ahead = self._git(self.root, "rev-list", "--count", f"HEAD..{_PREFIX}{name}")
        return Worktree(name, path, changed, int(ahead or 0))

    def _path(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot name a worktree.", hint="Letters, digits, - and _.")
        return os.path.join(f"{self.root}.worktrees", name)

    def _git(self, folder: str, *words: str) -> str:
        command = [self._program, *_QUIET, "-C", folder, *words]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False,
                env=self._environ, stdin=subprocess.DEVNULL, errors="replace",
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"git {words[0]} did not end: {error}") from error
        if done.returncode:
            why = " ".join((done.stderr.strip() or done.stdout.strip()).split())
            raise UsageError(f"git {words[0]}: {why[:_MOST_WORDS] or 'it failed'}")
        return done.stdout.strip()


def _is_worktree(path: str) -> bool:
    return os.path.isfile(os.path.join(path, ".git"))


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
