"""Sends a commit to a worker as a git bundle, and brings its changes back as a patch.

git runs without any settings of the machine, without hooks and file-system monitors, and for the patch with
a repository of ours that no task could write to: files that a task leaves in its folder start nothing.
"""

import base64
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sam_tui.adapters.fleet.messages import MOST_PATCH
from sam_tui.core.errors import SamError

GIT_SECONDS = 600
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")
_REF = "refs/heads/task"
_ADDRESS = re.compile(r"(?:https|ssh)://[^\s]+")
_LINKS = re.compile(
    r"^(?:(?:new|old|deleted file|new file) mode|index [0-9a-f.]+) (?:120000|160000)$", re.M
)


class WorkspaceTravel(SamError):
    """A workspace cannot be sent, unpacked, or brought back."""

    title = "The workspace cannot be sent to a worker"


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A worker's copy of a workspace, for one task."""

    path: Path
    repository: Path
    """The git repository with what the task starts from, beside its folder. No task can write to it."""
    commit: str

    def patch(self) -> str:
        """Return the task's changes as a patch without ignored files. Raises ``WorkspaceTravel``."""
        index = self.repository / "index-of-task"
        at = ("--git-dir", str(self.repository), "--work-tree", str(self.path))
        extra = {"GIT_INDEX_FILE": str(index)}
        _git(*at, "read-tree", self.commit, extra=extra)
        _git(*at, "add", "--all", "--", ".", folder=self.path, extra=extra)
        options = (
            "--cached",
            "--binary",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
        )
        text = _git(*at, "diff", *options, self.commit, folder=self.path, extra=extra)
        if len(text) > MOST_PATCH:
            raise WorkspaceTravel(
                f"The patch has {len(text)} bytes; at most {MOST_PATCH} can be sent."
            )
        return text.decode("utf-8", "surrogateescape")


def head_bundle(folder: str) -> tuple[str, str]:
    """The last commit of a folder's repository without its history, as base64, and its id.

    Uncommitted changes are not included. Raises ``WorkspaceTravel``.
    """
    top = _git("rev-parse", "--show-toplevel", folder=Path(folder)).decode().strip()
    if os.path.realpath(top) != os.path.realpath(folder):
        raise WorkspaceTravel(
            f"{folder} lies inside the repository {top}.",
            hint="Use -C with the repository's own folder.",
        )
    source = (
        "--git-dir",
        _git("rev-parse", "--absolute-git-dir", folder=Path(folder)).decode().strip(),
    )
    tree = _git(*source, "rev-parse", "--verify", "HEAD^{tree}").decode().strip()
    with tempfile.TemporaryDirectory(prefix="sam-tui-bundle-") as temporary:
        objects = (
            _git(*source, "rev-parse", "--git-path", "objects", folder=Path(folder))
            .decode()
            .strip()
        )
        bare, file = Path(temporary) / "bare", Path(temporary) / "bundle"
        _git("init", "--quiet", "--bare", str(bare))
        extra = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(folder, objects)}
        at = ("--git-dir", str(bare))
        commit = _git(*at, "commit-tree", "-m", "task", tree, extra=extra).decode().strip()
        _git(*at, "update-ref", _REF, commit, extra=extra)
        _git(*at, "bundle", "create", "--quiet", str(file), _REF, extra=extra)
        return base64.b64encode(file.read_bytes()).decode(), commit


def open_bundle(text: str, commit: str, folder: Path) -> TaskFolder:
    """Unpack a bundle below ``folder``. Raises ``WorkspaceTravel``."""
    file, repository = folder / "bundle", folder / "repository"
    try:
        file.write_bytes(base64.b64decode(text, validate=True))
    except ValueError as error:
        raise WorkspaceTravel("The bundle is damaged.") from error
    _git("init", "--quiet", "--bare", str(repository))
    at = ("--git-dir", str(repository))
    _git(*at, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", str(file), f"{_REF}:{_REF}")
    file.unlink()
    return _checked_out(repository, commit, folder)


def clone(address: str, commit: str, folder: Path, allowed: Sequence[str]) -> TaskFolder:
    """Clone a commit from an address that the worker allows. Raises ``WorkspaceTravel``."""
    if not _ADDRESS.fullmatch(address) or not any(_below(address, prefix) for prefix in allowed):
        raise WorkspaceTravel(
            "This worker does not clone from there.", hint="Start it with --clone-from ADDRESS."
        )
    repository = folder / "repository"
    _git("init", "--quiet", "--bare", str(repository))
    at = ("--git-dir", str(repository))
    _git(
        *at, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--depth=1", "--", address, commit
    )
    return _checked_out(repository, commit, folder)


def refused_in(patch: str) -> str:
    """Return why a patch is not applied by itself, in words; empty if it may be."""
    if _LINKS.search(patch):
        return "It makes or changes symbolic links or submodules."
    try:
        patch.encode()
    except UnicodeEncodeError:
        return "It contains bytes that are not UTF-8."
    return ""


def is_applied(folder: str, patch: str) -> bool:
    """Whether a patch is applied in the folder already."""
    try:
        _git("apply", "--check", "--reverse", "-", folder=Path(folder), text=patch.encode())
    except WorkspaceTravel:
        return False
    return True


def _below(address: str, prefix: str) -> bool:
    return address == prefix or address.startswith(prefix.rstrip("/") + "/")


def _checked_out(repository: Path, commit: str, folder: Path) -> TaskFolder:
    """Clone the repository for the task: it may use git there, and shares no file with ours."""
    object_id = _git("--git-dir", str(repository), "rev-parse", "--verify", f"{commit}^{{commit}}")
    if object_id.decode().strip() != commit:
        raise WorkspaceTravel("The bundle does not contain the commit that the task names.")
    path = folder / "workspace"
    at = ("--git-dir", str(repository))
    _git(*at, "update-ref", _REF, commit)
    _git("clone", "--quiet", "--no-hardlinks", "--branch", "task", "--", str(repository), str(path))
    _git("remote", "remove", "origin", folder=path)
    return TaskFolder(path, repository, commit)


def _git(
    *arguments: str,
    folder: Path | None = None,
    extra: dict[str, str] | None = None,
    text: bytes = b"",
) -> bytes:
    """Run git and return its output. Raises ``WorkspaceTravel`` with git's error output."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "file:https:ssh",
        "GIT_OPTIONAL_LOCKS": "0",
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in _IDENTITY
        },
        **(extra or {}),
    }
    if "SSH_AUTH_SOCK" in os.environ:
        environment["SSH_AUTH_SOCK"] = os.environ["SSH_AUTH_SOCK"]
    try:
        done = subprocess.run(
            ["git", *_QUIET, *arguments],
            cwd=folder,
            env=environment,
            input=text,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkspaceTravel(f"git did not run: {error}.") from error
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()[-2000:]
        raise WorkspaceTravel(f"git failed: {message or done.returncode}")
    return done.stdout


_IDENTITY = (("NAME", "sam-tui"), ("EMAIL", "sam-tui@localhost"), ("DATE", "2000-01-01T00:00:00Z"))
