"""git as a command: exact bytes from its queries, and a shell that the host's variables do not reach."""

import base64
import binascii
import posixpath
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sam_tools.build_and_version_control.quotes import words
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult, Commands
from sam_tui.core.text.plain import plain
from sam_tui.core.tooling.contract import ToolContext

QUERY_SECONDS = 60.0
ACTION_SECONDS = 600.0
_LARGEST_ANSWER = 64 * 1024 * 1024

# Names only: a value of several lines can look like a further name, and unsetting that does no harm.
_PROLOGUE = (
    r"unset $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\)=.*/\1/p')" + "\n"
    "export GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat GIT_EDITOR=true\n"
    # The repository chooses no program that watches files; git derives no identity from host names.
    'git() { command git -c core.fsmonitor=false -c user.useConfigOnly=true "$@"; }\n'
)


class _TooLong(ToolError):
    """There are more changes than an answer has room for."""

    def __init__(self) -> None:
        super().__init__(
            "git tells of more changes than can be listed.",
            hint="Add what is generated to .gitignore, or run `git status` on a folder.",
        )


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """The answer of one query: ``output`` has the exact bytes, ``ok`` means exit code 0."""

    code: int
    output: bytes

    @property
    def ok(self) -> bool:
        """Whether git ended with exit code 0."""
        return self.code == 0

    @property
    def line(self) -> str:
        """The output as one text without its line end; bytes that are not UTF-8 stay as surrogates."""
        return self.output.decode("utf-8", "surrogateescape").removesuffix("\n")


@dataclass(frozen=True, slots=True)
class GitAnswers:
    """The answers in the order of the queries, and git's error output."""

    answers: tuple[GitAnswer, ...]
    complaint: str


class Git:
    """Runs git in a folder for one call."""

    def __init__(self, commands: Commands, context: ToolContext, folder: str) -> None:
        self.folder = folder
        self.confined = context.permit.confined and commands.confinement.kind != "none"
        self._commands = commands
        self._context = context

    async def ask(self, *queries: Sequence[str]) -> GitAnswers:
        """Run read-only queries. Raises ``ToolError`` for an incomplete answer."""
        token = secrets.token_hex(8)
        commands = "\n".join(f"git {words(q)}; printf '{token}%s:' $?" for q in queries)
        # Packed, because the port hands out text and names may be any bytes.
        script = (
            f"{_PROLOGUE}export LC_ALL=C GIT_OPTIONAL_LOCKS=0\n"
            f"packed=$({{\n{commands}\n}} | gzip -c | base64)\n"
            f"printf '%s\\n' \"{token}${{packed}}{token}\"\n"
        )
        request = self._request(script, QUERY_SECONDS, _unheard)
        # Queries only read: if the configuration makes git write, the sandbox refuses without asking.
        result = await self._commands.run(replace(request, ask=None, again=None))
        packed = re.search(f"{token}([A-Za-z0-9+/=\\s]*){token}", result.output)
        if result.timed_out:
            raise ToolError(f"git did not answer within {QUERY_SECONDS:g} s in {self.folder}.")
        if result.dropped:
            raise _TooLong()
        if packed is None:
            raise ToolError(f"git could not be asked: {plain(result.output).strip()}")
        complaint = plain(result.output.replace(packed[0], "")).strip()
        answers = _unpacked(packed[1], token.encode())
        if len(answers) != len(queries):
            raise ToolError(f"The answer of git cannot be read. {complaint}".strip())
        if any(answer.code == 127 for answer in answers):
            raise ToolError("git is not installed on this machine.", hint=complaint)
        return GitAnswers(answers, complaint)

    async def act(
        self, script: str, *, writable: Sequence[str], on_output: Callable[[str], None]
    ) -> CommandResult:
        """Run git commands that change the repository, hooks included."""
        request = self._request(_PROLOGUE + script, ACTION_SECONDS, on_output)
        return await self._commands.run(replace(request, writable=tuple(writable)))

    def _request(
        self, script: str, seconds: float, on_output: Callable[[str], None]
    ) -> CommandRequest:
        return self._context.command(script, self.folder, timeout=seconds, on_output=on_output)


def literal(paths: Iterable[str], folder: str) -> list[str]:
    """Absolute paths as pathspecs without patterns, for a command that runs in ``folder``.

    Each has its own ``:(literal)`` mark, because a hook would inherit a switch for all.
    """
    return [f":(literal){posixpath.relpath(path, folder)}" for path in paths]


def _unheard(_: str) -> None:
    """Ignores output while it arrives: it is packed, and nobody could read it."""


def _unpacked(packed: str, token: bytes) -> tuple[GitAnswer, ...]:
    """The answers in a stream of ``output token code :``; empty where it is damaged."""
    try:
        unzip = zlib.decompressobj(wbits=31)
        stream = unzip.decompress(base64.b64decode(packed), _LARGEST_ANSWER)
    except (binascii.Error, zlib.error):
        return ()
    if not unzip.eof:
        raise _TooLong()
    answers: list[GitAnswer] = []
    output, *pieces = stream.split(token)
    for piece in pieces:
        code, _, following = piece.partition(b":")
        answers.append(GitAnswer(int(code), output))
        output = following
    return tuple(answers)
