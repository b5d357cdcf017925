"""git_commit: exactly the named files, or all changes, under the person's own name."""

import json
from collections.abc import Sequence

from sam_tools.build_and_version_control.arguments import GitCommit
from sam_tools.build_and_version_control.git import Git, literal
from sam_tools.build_and_version_control.quotes import document, words
from sam_tools.build_and_version_control.repository import Repository, look
from sam_tools.build_and_version_control.status import FileStatus
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import CommandResult, Commands
from sam_tui.core.text.plain import PlainStream, gist, plain
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_LONGEST_SCRIPT = 120_000
"""The most bytes of file names and message; the system limits all arguments to 128 KiB."""
_COMMIT = "git commit --cleanup=whitespace -F -"
_SHOWN_NAMES = 10


async def commit(commands: Commands, arguments: GitCommit, context: ToolContext) -> ToolResult:
    """Stage and commit. Raises ``ToolError``, with nothing staged, when it could not succeed."""
    where = context.location("repositoryPath")
    git = Git(commands, context, where.real)
    names = [context.location(f"files.{at}").real for at in range(len(arguments.files or ()))]
    script = _script(arguments.message, literal(names, git.folder))
    if len(script.encode(errors="replace")) > _LONGEST_SCRIPT:
        raise ToolError(f"{len(names)} names are too many at once.", hint="Name their folder.")
    repository = await look(git)
    writable = context.permit.writable
    if not where.inside:  # it was asked for, and allowed
        writable = (*writable, where.real)
    _refuse_outside(git, repository, writable)
    _refuse_unready(repository, names)
    await _refuse_unchanged(git, repository, names)
    context.emit("Committing\n")
    result = await git.act(script, writable=writable, on_output=PlainStream(context.emit))
    output = plain(result.output).strip("\n")
    card = Terminal(
        f"git commit: {gist(arguments.message, 200)}", output, result.exit_code, result.seconds
    )
    if result.exit_code != 0 or result.timed_out:
        return ToolResult(
            _failure(result, output),
            ok=False,
            display=(card,),
            data={"success": False, "message": arguments.message, "output": output},
        )
    data = await _facts(git, arguments.message, output)
    text = json.dumps(data, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return ToolResult(text, display=(card,), data=data, mime_type="application/json")


def _script(message: str, pathspecs: Sequence[str]) -> str:
    """Stage, then commit with the message as standard input, so that no quoting touches it."""
    opening, lines = document(message)
    if not pathspecs:
        return f"git add -A || exit\n{_COMMIT} {opening}\n{lines}"
    return (
        f"set -- {words(pathspecs)}\n"
        'git add -A -- "$@" || exit\n'
        f'{_COMMIT} --only -- "$@" {opening}\n{lines}'
    )


def _refuse_outside(git: Git, repository: Repository, writable: Sequence[str]) -> None:
    """Raise ``ToolError`` if the sandbox would refuse to write in a git directory, as of a worktree."""
    if not git.confined:
        return
    for folder in repository.git_folders:
        if not any(
            folder == root or folder.startswith(f"{root.rstrip('/')}/") for root in writable
        ):
            shared = repository.git_folders[-1]
            raise ToolError(
                f"The git directory of {repository.root} is {folder}, which lies outside the"
                " workspace: the sandbox would refuse to write the commit there.",
                hint=f"The person can start sam-tui with --add-dir {shared}, or commit themselves.",
            )


def _refuse_unready(repository: Repository, names: Sequence[str]) -> None:
    conflicts = [c for c in repository.status.changes if c.state == "merge-conflicts"]
    if conflicts:
        raise ToolError(
            f"There are merge conflicts: {_listed(conflicts)}.",
            hint="Resolve them, mark each with `git add`, then commit.",
        )
    if repository.merging and names:
        raise ToolError(
            "A merge is being committed, which takes all of its files.", hint="Leave `files` out."
        )
    if repository.identity:
        raise ToolError(
            f"git does not know whose commit this is: {repository.identity}.",
            hint="The person sets it with `git config --global user.name NAME` and"
            " `git config --global user.email ADDRESS`; it is not made up here.",
        )


async def _refuse_unchanged(git: Git, repository: Repository, names: Sequence[str]) -> None:
    if repository.merging:
        return
    changes = repository.status.changes
    if names:
        _refuse_foreign(repository, names)
        changes = (await look(git, ignored=True, paths=names)).status.changes
    if any(_committable(change) for change in changes):
        return
    ignored = [c for c in changes if c.state == "ignored"]
    inside = [c for c in changes if c.submodule]
    if ignored:
        raise ToolError(f"No changes to commit: {_listed(ignored)} is ignored by .gitignore.")
    if inside:
        raise ToolError(
            f"Only files within submodules changed: {_listed(inside)}.",
            hint="Commit there first, with the submodule as repositoryPath.",
        )
    which = "in the named files" if names else f"in {repository.root}"
    raise ToolError(f"No changes to commit {which}.")


def _refuse_foreign(repository: Repository, names: Sequence[str]) -> None:
    root = repository.root.rstrip("/")
    for name in names:
        if name != repository.root and not name.startswith(f"{root}/"):
            raise ToolError(
                f"{gist(name, 200)} is not in the repository {repository.root}.",
                hint="`files` are relative to repositoryPath.",
            )


def _committable(change: FileStatus) -> bool:
    """Whether ``git add`` would stage a change; of a submodule it stages only another commit."""
    if change.state == "ignored":
        return False
    return change.staged or not change.submodule or "new commits" in change.submodule


def _listed(changes: Sequence[FileStatus]) -> str:
    names = ", ".join(gist(c.path, 200) for c in changes[:_SHOWN_NAMES])
    more = len(changes) - _SHOWN_NAMES
    return f"{names} and {more} more" if more > 0 else names


def _failure(result: CommandResult, output: str) -> str:
    what = f"exit code {result.exit_code}"
    if result.timed_out:
        what = "it took too long and was ended"
    elif result.exit_code is None:
        what = f"killed by {result.signal}"
    return (
        f"ERROR: git made no commit ({what}). What it staged stays staged. Its output, hooks"
        f" included:\n{output or '(no output)'}"
    )


async def _facts(git: Git, message: str, output: str) -> dict[str, object]:
    """Hash and files of the new commit, read from git."""
    reply = await git.ask(
        ("rev-parse", "HEAD"),
        ("log", "-1", "-m", "--first-parent", "--format=", "--name-only", "--no-renames", "-z"),
    )
    head, files = reply.answers
    return {
        "success": True,
        "hash": head.line,
        "message": message,
        "filesStaged": len([name for name in files.output.split(b"\0") if name.strip()]),
        "output": output,
    }
