"""Task definitions in the shape of VS Code's tasks.json, and their command lines."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, ValidationError

from sam_tools.build_and_version_control.quotes import needs_quotes, word, words
from sam_tui.core.errors import ToolError
from sam_tui.core.text.field_faults import fault_words
from sam_tui.core.text.json_files import RepeatedKey, plain_json
from sam_tui.core.text.plain import gist

# Each alternative also ends at the end of the text, so that no input is read more than once.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:\\.|[^"\\])*(?:"|\Z)|,(?=\s{0,1000}[}\]])', re.DOTALL)


def read_jsonc(text: str) -> object:
    """The value; raises ``ValueError`` saying where it broke, in lines and columns of the text."""
    bare = _TOKEN.sub(lambda match: _blank(match[0]), text)
    bare = _LAST_COMMA.sub(lambda match: " " if match[0] == "," else match[0], bare)
    try:
        return plain_json(bare)
    except RepeatedKey as error:
        raise ValueError(f"line {error.line}: {error}") from None


def _blank(token: str) -> str:
    """A comment replaced by blanks, so that offsets behind it stay right."""
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)


_PLATFORM = {"darwin": "osx", "win32": "windows"}.get(sys.platform, "linux")
_VARIABLE = re.compile(r"\$\{([A-Za-z]+)(?::([^}]*))?\}")
_EDITOR = {
    "input", "command", "config", "file", "fileBasename", "fileDirname", "relativeFile",
    "relativeFileDirname", "fileBasenameNoExtension", "fileExtname", "fileWorkspaceFolder",
    "lineNumber", "selectedText", "execPath", "defaultBuildTask", "extensionInstallFolder",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class QuotedText(BaseModel):
    """A word with a kind of quoting; every kind gives the same word."""

    value: str | list[str]
    quoting: Literal["escape", "strong", "weak"] = "strong"

    def text(self) -> str:
        """The word."""
        return self.value if isinstance(self.value, str) else " ".join(self.value)


class TaskShell(BaseModel):
    """Another shell to run the command line."""

    executable: str
    args: list[str] = ["-c"]


class TaskOptions(BaseModel):
    """The folder and the variables with which a task runs."""

    cwd: str | None = None
    env: dict[str, str] = {}
    shell: TaskShell | None = None


class TaskEntry(BaseModel):
    """One entry of ``tasks``; unknown fields are about its display in editors."""

    label: str = Field(min_length=1)
    type: str = "shell"
    command: str | QuotedText = ""
    args: list[str | QuotedText] = []
    script: str = ""
    path: str = ""
    options: TaskOptions = TaskOptions()
    group: str | dict[str, object] = ""
    isBackground: bool = False
    problemMatcher: object = None
    workspaceFolder: str = ""
    """``${workspaceFolder}``, and the folder in which the task runs; only stored tasks have it."""
    dependsOn: str | list[str] = []

    @property
    def group_kind(self) -> str:
        """The kind of the task's group, such as ``build`` or ``test``."""
        return self.group if isinstance(self.group, str) else str(self.group.get("kind", ""))

    @property
    def is_default(self) -> bool:
        """Whether the task is the default of its group."""
        return isinstance(self.group, dict) and self.group.get("isDefault") is True

    @property
    def matchers(self) -> tuple[str, ...]:
        """The names of the task's problem matchers; for one defined in place, the name of its base."""
        declared = self.problemMatcher
        matchers = cast("list[Any]", declared) if isinstance(declared, list) else [declared]
        based = [
            cast("dict[str, Any]", m).get("base") if isinstance(m, dict) else m for m in matchers
        ]
        return tuple(name for name in based if isinstance(name, str) and name)

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The labels of the tasks to run first."""
        return (self.dependsOn,) if isinstance(self.dependsOn, str) else tuple(self.dependsOn)

    def command_line(self, folder: str) -> str:
        """Return the shell's command line, variables filled in; empty for a task with dependencies alone.

        A shell task's command is taken unchanged and its arguments with blanks are quoted; a process
        task's words are all quoted. Raises ``ToolError`` for a variable that only an editor can fill
        in.
        """
        line = self._bare_line(folder)
        if not line:
            return ""
        shell = self.options.shell
        if shell is not None:
            line = words([shell.executable, *shell.args, line])
        return (
            "".join(
                f"export {_variable_name(name)}={_quoted(value, folder)}\n"
                for name, value in self.options.env.items()
            )
            + line
        )

    def working_directory(self, folder: str) -> str:
        """Return the folder it runs in, as a path; empty for the folder itself."""
        directory = self.path if self.type == "npm" and self.path else self.options.cwd or ""
        path = fill(directory, folder, lambda name: _no_editor(f"env:{name}"))
        return "" if path in (folder, ".", "./") else path

    def _bare_line(self, folder: str) -> str:
        if self.type == "npm":
            return words(["npm", "run", self.script]) if self.script else ""
        if self.type not in ("shell", "process"):
            raise ToolError(
                f"Task {self.label!r} is of type {self.type!r}, which only an editor can run.",
                hint="Run its command with run_command, or make a shell task of it.",
            )
        command = self.command.text() if isinstance(self.command, QuotedText) else self.command
        if not command.strip():
            return ""
        if self.type == "process":
            return self._process_line(command, folder)
        first = _quoted(command, folder) if self.command is not command else _raw(command, folder)
        return " ".join([first, *(_argument(a, folder) for a in self.args)])

    def _process_line(self, command: str, folder: str) -> str:
        """The command line of a process task: each word quoted, so that no shell changes it."""
        texts = [command, *(a if isinstance(a, str) else a.text() for a in self.args)]
        return " ".join(_quoted(text, folder) for text in texts)


@dataclass(frozen=True, slots=True)
class Definitions:
    """The tasks of a file. ``faults`` says of entries that cannot be read, by label, why."""

    entries: tuple[TaskEntry, ...] = ()
    faults: Mapping[str, ToolError] = field(default_factory=dict[str, ToolError])

    def named(self, label: str) -> TaskEntry | None:
        """The entry of that label."""
        return next((entry for entry in self.entries if entry.label == label), None)

    def find(self, label: str) -> TaskEntry | None:
        """The task with this label, else the default task of the group with this name.

        Raises ``ToolError`` for an entry that cannot be read.
        """
        entry = self.named(label)
        if entry is not None:
            return entry
        if label in self.faults:
            raise self.faults[label]
        group = [entry for entry in self.entries if entry.group_kind == label]
        default = [entry for entry in group if entry.is_default]
        if default:
            return default[0]
        return group[0] if len(group) == 1 else None


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task with its command line. ``cwd`` is a path, empty for the workspace."""

    entry: TaskEntry
    command: str
    cwd: str


def read_tasks_file(data: bytes, name: str) -> Definitions:
    """The tasks of a tasks.json, comments allowed. Raises ``ToolError`` saying where it broke."""
    try:
        value = read_jsonc(data.decode("utf-8-sig"))
    except ValueError as error:
        raise ToolError(f"{name} cannot be read: {error}.") from None
    file = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    tasks = file.get("tasks")
    if not isinstance(tasks, list):
        return Definitions()
    shared = {key: file[key] for key in ("options",) if key in file}
    objects = [cast("dict[str, Any]", t) for t in cast("list[Any]", tasks) if isinstance(t, dict)]
    return read_entries([{**shared, **task} for task in objects], name)


def read_entries(tasks: Sequence[Mapping[str, object]], name: str) -> Definitions:
    """The valid entries, and the faults of the others; ``name`` is the file for messages."""
    entries: list[TaskEntry] = []
    faults: dict[str, ToolError] = {}
    for task in tasks:
        overrides = task.get(_PLATFORM)
        merged = {
            **task,
            **(cast("dict[str, Any]", overrides) if isinstance(overrides, dict) else {}),
        }
        label = merged.setdefault("label", merged.get("taskName") or _given_name(merged))
        try:
            entries.append(TaskEntry.model_validate(merged))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            faults[str(label)] = ToolError(
                f"Task {gist(str(label), 80)!r} in {name} is wrong: `{where}`: {fault_words(first)}."
            )
    return Definitions(tuple(entries), faults)


def fill(text: str, folder: str, environment: Callable[[str], str]) -> str:
    """A text with VS Code's variables filled in; ``environment`` makes text of ``${env:NAME}``.

    Other names in braces belong to the shell and stay. Raises ``ToolError`` for those that only an
    editor can answer.
    """

    def filled(match: re.Match[str]) -> str:
        kind, argument = match[1], match[2]
        if kind == "env" and argument is not None:
            return environment(_variable_name(argument))
        if kind in _EDITOR and (argument is not None or kind not in ("input", "command", "config")):
            return _no_editor(match[0][2:-1])
        return _folder_variable(kind, folder) or match[0]

    return _VARIABLE.sub(filled, text)


def _folder_variable(kind: str, folder: str) -> str:
    match kind:
        case "workspaceFolder" | "workspaceRoot" | "cwd":
            return folder
        case "workspaceFolderBasename" | "workspaceRootFolderName":
            return folder.rstrip("/").rpartition("/")[2]
        case "pathSeparator":
            return "/"
        case _:
            return ""


def _raw(text: str, folder: str) -> str:
    """Return text of a command line with variables of the environment as ``${NAME}`` of the shell."""
    return fill(text, folder, lambda name: f"${{{name}}}")


def _quoted(text: str, folder: str) -> str:
    """One word: the text quoted, with variables of the environment left to the shell."""
    names: list[str] = []
    mark = "\0"
    if mark in text:
        return word(text)

    def noted(name: str) -> str:
        names.append(name)
        return mark

    marked = fill(text, folder, noted)
    pieces = marked.split(mark)
    if not names:
        return word(marked)
    line = word(pieces[0]) if pieces[0] else ""
    for name, piece in zip(names, pieces[1:], strict=True):
        line += f'"${{{name}}}"' + (word(piece) if piece else "")
    return line


def _argument(argument: str | QuotedText, folder: str) -> str:
    if isinstance(argument, QuotedText):
        return _quoted(argument.text(), folder)
    return _quoted(argument, folder) if needs_quotes(argument) else _raw(argument, folder)


def _variable_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ToolError(f"{gist(name, 80)!r} cannot be the name of a variable.")
    return name


def _no_editor(name: str) -> str:
    raise ToolError(f"The task uses ${{{name[:80]}}}, which only an editor can fill in.")


def _given_name(task: Mapping[str, object]) -> str:
    """Return VS Code's name for an entry without a label."""
    if task.get("type") == "npm" and isinstance(task.get("script"), str):
        return f"npm: {task['script']}"
    return ""
