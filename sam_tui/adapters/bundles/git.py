"""Reads a bundle from a git address: fetches one commit and reads its objects, checks nothing out."""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping

from sam_tui.adapters.bundles.content import LARGEST, MOST_BYTES, BundleContent, BundleFile
from sam_tui.core.errors import ConfigurationError, UsageError

_URL = re.compile(r"(https|ssh|file)://(?:[\w.~+-]+@)?(?!-)[^@]*")
_SCP = re.compile(r"[\w][\w.-]*@[\w][\w.-]*:(?!-|:)\S+")
_REF = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w./+-]*")
_CONNECTION_VARIABLES = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL")
"""Variables that say how the person's git connects to servers; git gets no other ``GIT_`` variable."""
_SECONDS = 300.0
_MOST_FETCHED, _MOST_NAMES = 200_000_000, 2_000_000
"""The most bytes of each file that git may write: during a fetch, and for ids and lists of names."""
_OPTIONS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "fetch.recurseSubmodules=false",
    "core.bigFileThreshold=16m", "gc.auto=0", "maintenance.auto=false", "protocol.ext.allow=never",
)  # fmt: skip
_LIMITED = 'ulimit -f "$0"; exec "$@"'
"""A shell script that runs its arguments and limits each file they write to ``$0`` blocks of 512 bytes."""


def is_address(source: str) -> bool:
    """Whether a source is an address and no folder."""
    return "://" in source or "::" in source or _SCP.fullmatch(source) is not None


def require_address(address: str, ref: str) -> None:
    """Raise ``UsageError`` for a source that git could read as an option, or that starts a program."""
    if not address.isprintable() or " " in address or "::" in address or "@@" in address:
        raise UsageError(f"{ascii(address)[:120]} is not an address of a bundle.")
    userinfo = address.partition("://")[2].partition("/")[0].rpartition("@")[0]
    if ":" in userinfo:
        raise UsageError(
            "The address contains a password, which would be stored and displayed.",
            hint="Leave it out: git asks your credential helper.",
        )
    if not (_URL.fullmatch(address) or _SCP.fullmatch(address)):
        raise UsageError(
            f"{ascii(address)[:120]} is not an address of a bundle.",
            hint="https://…, ssh://…, user@host:path, file:///…, or a folder.",
        )
    if not _REF.fullmatch(ref or "HEAD"):
        raise UsageError(f"{ascii(ref)[:80]} is not a branch, tag or commit.")


def read_commit(
    program: str, address: str, *, ref: str, folder: str, environ: Mapping[str, str]
) -> BundleContent:
    """The content of a folder (empty: all) in the commit that a ref names. Raises ``SamError``."""
    require_address(address, ref)
    with tempfile.TemporaryDirectory(prefix="sam-tui-bundle-") as repository:
        return _Reader(program, repository, environ).read(address, ref or "HEAD", folder)


class _Reader:
    """An empty repository of our own, and git over it."""

    def __init__(self, program: str, repository: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._repository = repository
        mine = {
            k: v
            for k, v in environ.items()
            if not k.startswith("GIT_") or k in _CONNECTION_VARIABLES
        }
        self._environ = mine | {
            "GIT_ALLOW_PROTOCOL": "https:ssh:file",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }

    def read(self, address: str, ref: str, folder: str) -> BundleContent:
        self._git("init", "--quiet", "--bare", "--template=", ".", most=_MOST_NAMES)
        branch = "refs/heads/bundle"
        quiet = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
        self._git("fetch", *quiet, "--", address, f"+{ref}:{branch}", most=_MOST_FETCHED)
        commit = self._git("rev-parse", "--verify", f"{branch}^{{commit}}", most=_MOST_NAMES)
        content = BundleContent(commit=commit.decode("ascii").strip())
        tree = f"{content.commit}:{folder}" if folder else content.commit
        listed = self._git("ls-tree", "-r", "-z", "-l", "--full-tree", tree, most=_MOST_NAMES)
        entries: list[tuple[str, bool, str]] = []
        links: list[tuple[str, str]] = []
        for line in filter(None, listed.split(b"\0")):
            about, _, name_bytes = line.partition(b"\t")
            mode, _, oid, size = about.decode("ascii").split()
            name = name_bytes.decode("utf-8", "surrogateescape")
            if mode == "160000":
                raise ConfigurationError(f"{name!a} is a submodule; submodules are not fetched.")
            content.admit(name, int(size))
            if mode == "120000":
                links.append((name, oid))
            else:
                entries.append((name, mode == "100755", oid))
        blobs = self._blobs([oid for *_, oid in (*entries, *links)])
        for name, oid in links:
            content.leave_link(name, blobs[oid].decode("utf-8", "surrogateescape"))
        content.files |= {name: BundleFile(blobs[oid], runs) for name, runs, oid in entries}
        return content

    def _blobs(self, oids: list[str]) -> dict[str, bytes]:
        unique = list(dict.fromkeys(oids))
        stdin = "".join(f"{oid}\n" for oid in unique).encode()
        most = MOST_BYTES + LARGEST
        output = self._git("cat-file", "--batch", most=most, stdin=stdin) if unique else b""
        blobs: dict[str, bytes] = {}
        at = 0
        for oid in unique:
            end = output.index(b"\n", at)
            size = int(output[at:end].split()[2])
            blobs[oid] = output[end + 1 : end + 1 + size]
            at = end + size + 2
        return blobs

    def _git(self, *words: str, most: int, stdin: bytes = b"") -> bytes:
        """The output of a git command, whose files may have at most ``most`` bytes."""
        options = [part for option in _OPTIONS for part in ("-c", option)]
        git = [self._program, *options, "-C", self._repository, *words]
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    ["/bin/sh", "-c", _LIMITED, str(most // 512), *git], input=stdin, stdout=output,
                    stderr=subprocess.PIPE, timeout=_SECONDS, check=False, env=self._environ,
                    cwd=self._repository,
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ConfigurationError(f"git {words[0]} did not end: {error}.") from error
            if os.fstat(output.fileno()).st_size >= most // 512 * 512 or (
                done.returncode in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)
            ):
                raise ConfigurationError("It is too large for a bundle.")
            if done.returncode:
                raise ConfigurationError(f"git {words[0]}: {_why(done.stderr)}")
            output.seek(0)
            return output.read()


def _why(errors: bytes) -> str:
    """Git's first error line, else its last line."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return next(iter((*fatal, *reversed(lines))), "it failed")
