"""The state of a repository: its folders, its identity, and its changes."""

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from sam_tools.build_and_version_control.git import Git, GitAnswers, literal
from sam_tools.build_and_version_control.status import Status, read_status
from sam_tui.core.errors import ToolError

_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all")


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree. ``git_folders`` are its own git directory and the one shared with other trees.

    ``identity`` is empty if git knows an author and a committer, else it names the missing one.
    """

    root: str
    git_folders: tuple[str, ...]
    merging: bool
    identity: str
    status: Status


async def look(git: Git, *, ignored: bool = False, paths: Sequence[str] = ()) -> Repository:
    """Query the repository. ``paths`` narrows the changes; ``ignored`` adds files that .gitignore hides.

    Raises ``ToolError`` where there is no repository, or git will not read it.
    """
    status = [*_STATUS, *(["--ignored=matching"] if ignored else [])]
    answers = await git.ask(
        ("rev-parse", "--show-toplevel"),
        ("rev-parse", "--absolute-git-dir"),
        ("rev-parse", "--git-common-dir"),
        ("rev-parse", "-q", "--verify", "MERGE_HEAD"),
        ("var", "GIT_AUTHOR_IDENT"),
        ("var", "GIT_COMMITTER_IDENT"),
        (*status, *(["--", *literal(paths, git.folder)] if paths else [])),
    )
    top, git_folder, shared, merge, author, committer, changes = answers.answers
    if not top.ok or not git_folder.ok or not shared.ok or not changes.ok:
        raise _refusal(git, answers)
    try:
        tree = read_status(changes.output)
    except (ValueError, KeyError) as error:
        raise ToolError(f"The status of git cannot be read: {error}.") from None
    identified = author.ok and committer.ok
    return Repository(
        root=top.line,
        git_folders=(git_folder.line, posixpath.normpath(posixpath.join(git.folder, shared.line))),
        merging=merge.ok,
        identity="" if identified else "no name or e-mail address is configured",
        status=tree,
    )


def _refusal(git: Git, answers: GitAnswers) -> ToolError:
    """The reason why git failed, in git's own words if they add something."""
    if "not a git repository" in answers.complaint:
        return ToolError(
            f"{git.folder} is not in a git repository.",
            hint="Name the repository's folder as repositoryPath.",
        )
    if owned := re.search(r"dubious ownership in repository at '([^\n]*)'", answers.complaint):
        return ToolError(
            f"{owned[1]} belongs to another user, so git uses neither its settings nor its hooks.",
            hint="The person, if they trust it: git config --global --add safe.directory "
            f"{shlex.quote(owned[1])}",
        )
    return ToolError(f"git will not read {git.folder}: {answers.complaint}")
