"""The model's arguments for each build and version-control operation, and what each one touches."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StringConstraints,
)

from sam_tools.build_and_version_control.definitions import PlannedTask
from sam_tools.build_and_version_control.quotes import word, words
from sam_tui.core.accesses import Access, CommandAccess, Read, Write
from sam_tui.core.tooling.arguments import Arguments

LONGEST_MESSAGE = 16_000
Worded = Annotated[str, StringConstraints(pattern=r"\S")]
State = Literal["staged", "unstaged", "untracked", "merge-conflicts"]


def _listed(value: object) -> object:
    """A single text as a list of one."""
    return [value] if isinstance(value, str) and not value.lstrip().startswith("[") else value


def _named(files: list[str] | None) -> list[str] | None:
    """Names that are not empty, of any bytes: a constraint on the text would refuse some of them."""
    if files and "" in files:
        raise ValueError("a file name is empty")
    return files


def _kind(value: object) -> object:
    """VS Code also writes a group as an object."""
    return cast("dict[str, object]", value).get("kind") if isinstance(value, dict) else value


class Task(Arguments):
    """A task as VS Code's tasks.json describes it."""

    label: Annotated[str, StringConstraints(pattern=r"\S", max_length=200)]
    type: Literal["shell", "process"] = "shell"
    command: Worded
    args: Annotated[list[str] | None, BeforeValidator(_listed)] = None
    group: Annotated[str | None, BeforeValidator(_kind)] = None
    isBackground: bool = False
    problemMatcher: Annotated[list[str] | None, BeforeValidator(_listed)] = Field(
        default=None, description="such as $gcc, $tsc"
    )

    def entry(self) -> dict[str, Any]:
        """Return the task in its stored form, with only the fields that were passed."""
        return self.model_dump(exclude_defaults=True) | {"type": self.type}


class Planned(Arguments):
    """Arguments of an operation that runs commands: those that the guard judged."""

    _plan: tuple[PlannedTask, ...] = PrivateAttr(default=())

    @property
    def plan(self) -> tuple[PlannedTask, ...]:
        """The tasks to run, in order; empty until it was looked up."""
        return self._plan

    def settle(self, plan: tuple[PlannedTask, ...]) -> None:
        """Set the tasks that the call will run."""
        self._plan = plan


class CreateAndRunTask(Planned):
    """The arguments of ``create_and_run_task``."""

    task: Task
    workspaceFolder: str | None = None


class RunTask(Planned):
    """The arguments of ``run_task``; the seed's own program called its label by further names."""

    also: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("tasklabel", "taskname", "task"), ("label",)
    )
    label: Worded = Field(description="its label; or its group (build, test)")


class GetTaskOutput(Arguments):
    """The arguments of ``get_task_output``."""

    id: str | None = Field(default=None, description="left out: all tasks are listed")
    from_index: int | None = Field(
        default=None, ge=0, description="the end_index of the last read; newest output without"
    )
    end: bool = Field(default=False, description="end the task first")


class GitCommit(Arguments):
    """The arguments of ``git_commit``."""

    message: Annotated[str, StringConstraints(pattern=r"\S", max_length=LONGEST_MESSAGE)]
    files: Annotated[list[str] | None, BeforeValidator(_listed), AfterValidator(_named)] = Field(
        default=None, description="only these, relative to repositoryPath; all changes without"
    )
    repositoryPath: str | None = Field(default=None, description="the workspace unless given")


class GetChangedFiles(Arguments):
    """The arguments of ``get_changed_files``."""

    repositoryPath: str | None = None
    sourceControlState: Annotated[list[State] | None, BeforeValidator(_listed)] = None


def commit_accesses(arguments: GitCommit) -> Sequence[Access]:
    """The commands, the repository's folder, and each file that is named."""
    folder = arguments.repositoryPath or ""
    files = arguments.files or []
    names = f" -- {words(files)}" if files else ""
    commit = f"git commit{' --only' if files else ''} -m {word(arguments.message)}{names}"
    return [
        CommandAccess(f"git add -A{names} && {commit}", folder),
        Write(folder or ".", "repositoryPath"),
        *(
            Write(posixpath.join(folder, file), f"files.{at}", follow=False)
            for at, file in enumerate(files)
        ),
    ]


def changes_accesses(arguments: GetChangedFiles) -> Sequence[Access]:
    """The command, and the repository's folder."""
    folder = arguments.repositoryPath or ""
    return [
        CommandAccess("git status --porcelain=v2 -z --branch --untracked-files=all", folder),
        Read(folder or ".", "repositoryPath"),
    ]
