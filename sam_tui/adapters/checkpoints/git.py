"""git's plumbing over an object folder of ours: no other repository, settings, hooks or filters count.

The workspace is hostile: git gets the path of its folder, so that it searches for none; the attributes of
this store precede those of the workspace; and its whole configuration is written here.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sam_tui.core.errors import CheckpointError

SECONDS = 120.0
"""The most seconds for one run of git."""
_SLOW = 1.0
"""Seconds of a run of git after which ``when_slow`` is called."""
_DAMAGE = (errno.ENOENT, errno.EIO, errno.EISDIR)
"""Errors of reading an object that do not pass by themselves."""
_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tautocrlf = false
\tsafecrlf = false
\tprotectNTFS = false
\tprotectHFS = false
\tignoreCase = false
\tprecomposeUnicode = false
\tsymlinks = true
\tfileMode = true
\tcompression = 1
\tlogAllRefUpdates = false
[gc]
\tauto = 0
"""
_ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding -diff -merge\n"
"""Placed before any ``.gitattributes``, so that bytes are stored unchanged."""


class GitFailed(CheckpointError):
    """git ended with an error, for example because a file vanished while it was read."""


class GitTooSlow(CheckpointError):
    """git did not end in time."""


def git_program(search_path: str, folders: Collection[str]) -> str | None:
    """The absolute path of git on ``search_path``; programs inside ``folders`` are not used."""
    safe = [
        part
        for part in search_path.split(os.pathsep)
        if os.path.isabs(part) and not _within(os.path.realpath(part), folders)
    ]
    program = shutil.which("git", path=os.pathsep.join(safe)) if safe else None
    if program is None or _within(os.path.realpath(program), folders):
        return None
    return program


def _within(path: str, folders: Collection[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def drop_abandoned(stores: Path, abandoned: Callable[[str, float], bool]) -> tuple[str, ...]:
    """Remove stores that no process uses and that ``abandoned`` selects; returns their workspaces."""
    removed: list[str] = []
    for folder in stores.iterdir():
        with suppress(OSError):
            workspace = (folder / "workspace").read_bytes().decode("utf-8", "surrogateescape")
            handle = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if abandoned(workspace, (folder / "refs/snapshots").stat().st_mtime):
                    shutil.rmtree(folder)
                    removed.append(workspace)
            finally:
                os.close(handle)
    return tuple(removed)


class GitStore:
    """One folder of objects and references, for one workspace. For one thread at a time."""

    def __init__(self, program: str, folder: Path, workspace: str) -> None:
        self.folder = folder
        self._program = program
        self._workspace = workspace
        self._lock = -1
        self._environment: Mapping[str, str] = {
            "PATH": os.path.dirname(program),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": workspace,
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
        }

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the store's lock. Git processes inherit it, so it lasts until the last of them ends."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            # Their owner was killed: every process that writes here holds the lock above.
            for left in (self.folder / "index.lock", *self.folder.glob("*.new")):
                left.unlink(missing_ok=True)
            self._prepare()
            yield
        finally:
            os.close(self._lock)
            self._lock = -1

    def _prepare(self) -> None:
        for name in ("objects", "refs", "refs/snapshots", "info"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        for name, content in (
            ("config", _CONFIG),
            ("info/attributes", _ATTRIBUTES),
            ("workspace", self._workspace),
            ("HEAD", "ref: refs/heads/none\n"),  # last: with it git takes the folder for its own
        ):
            self.keep(name, content.encode("utf-8", "surrogateescape"))

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        seconds: float = SECONDS,
        when_slow: Callable[[], None] = lambda: None,
    ) -> bytes:
        """git's output. Raises ``CheckpointError`` if it fails or takes too long.

        ``when_slow`` is called once, if git is still running after a second; its exception ends git.
        """
        try:
            # No pipe: what one did not take within a second is never written after the timeout.
            with (
                tempfile.TemporaryFile(dir=self.folder)
                if stdin
                else open(os.devnull, "rb") as source
            ):
                if stdin:
                    source.write(stdin)
                    source.seek(0)
                git = subprocess.Popen(
                    (self._program, *arguments),
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=self._workspace,
                    env=self._environment,
                    pass_fds=(self._lock,),
                    start_new_session=True,
                    umask=0o077,
                )
        except OSError as error:
            raise CheckpointError(f"git cannot be run: {error.strerror}.") from error
        with git:
            try:
                try:
                    output, said = git.communicate(timeout=_SLOW)
                except subprocess.TimeoutExpired:
                    when_slow()
                    output, said = git.communicate(timeout=seconds)
            except subprocess.TimeoutExpired as error:
                raise GitTooSlow(f"git {arguments[0]} took over {seconds:g} s.") from error
            finally:
                git.kill()  # nothing where it has ended
        if git.returncode != 0:
            words = said.decode("utf-8", "replace").strip()[:500]
            raise GitFailed(f"git {arguments[0]} failed: {words or git.returncode}")
        return output

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file of the store, under its lock, in one step."""
        new = self.folder / f"{os.getpid()}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
                file.write(data)
            os.replace(new, self.folder / name)
        except OSError:  # a part of it would take room on a full disk
            new.unlink(missing_ok=True)
            raise

    def keep(self, name: str, data: bytes) -> None:
        """Write a file of the store, unless it has this content already."""
        path = self.folder / name
        if not path.exists() or path.read_bytes() != data:
            self.replace(name, data)

    # ---- objects: read and written here, where starting a process would take longer than the work

    def read(self, kind: str, name: str) -> bytes:
        """Return the content of an object.

        Raises ``CheckpointError`` if it is missing or damaged, ``OSError`` if that is unknown.
        """
        try:
            head, _, content = zlib.decompress(self._object(name).read_bytes()).partition(b"\0")
        except (OSError, zlib.error, ValueError) as error:
            if isinstance(error, OSError) and error.errno not in _DAMAGE:
                raise
            raise CheckpointError(f"Object {name} of the checkpoints cannot be read.") from error
        if head != b"%s %d" % (kind.encode(), len(content)):
            raise CheckpointError(f"Object {name} of the checkpoints is damaged.")
        return content

    def write(self, kind: str, content: bytes) -> str:
        """Store an object in one step; returns its name."""
        data = b"%s %d\0" % (kind.encode(), len(content)) + content
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        if not self.holds(name):
            path = self._object(name)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            self.replace(f"objects/{name[:2]}/{name[2:]}", zlib.compress(data, 1))
        return name

    def holds(self, name: str) -> bool:
        """Whether an object is here; another program that shares the store may have pruned it."""
        return self._object(name).exists()

    def _object(self, name: str) -> Path:
        return self.folder / "objects" / name[:2] / name[2:]
