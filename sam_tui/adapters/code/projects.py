"""The checkers of a workspace, by its project files, and the paths of their programs."""

import fnmatch
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sam_tui.adapters.code import reports

_MOST_FOLDERS = 200
_MOST_PROJECTS = 8
_MOST_NAMES = 1000
"""The most names of a folder that are compared with a pattern."""
_LOCAL = (".venv/bin", "venv/bin", "node_modules/.bin")
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


@dataclass(frozen=True, slots=True)
class Kind:
    """One checker. ``markers`` are names (or globs) of the files that call for it.

    ``command`` makes the shell command of a program and files, which are all quoted; without files
    it checks the whole folder. One that cannot check single files ignores them.
    """

    name: str
    markers: tuple[str, ...]
    extensions: tuple[str, ...]
    command: Callable[[str, str], str]
    report: reports.Report
    program: str = ""
    instead_of: str = ""
    """The checker that takes the place of this one in folders where it is installed; empty for none."""
    bare: bool = False
    """Whether it also checks single files that belong to no project."""

    def takes(self, path: str) -> bool:
        """Whether the checker reads a file of this name, or a folder, which may hold such files."""
        return path.endswith(self.extensions) or os.path.isdir(path)


KINDS: tuple[Kind, ...] = (
    Kind(
        "ruff",
        (*_PYTHON_PROJECT, "ruff.toml", ".ruff.toml", "*.py"),
        (".py", ".pyi"),
        # A project may ask for fixes; looking must not change anything.
        lambda program, files: (
            f"{program} check --no-fix --no-cache --exit-zero --output-format=json-lines"
            f" -- {files or '.'}"
        ),
        reports.ruff,
        bare=True,
    ),
    Kind(
        "pyright",
        (*_PYTHON_PROJECT, "pyrightconfig.json"),
        (".py", ".pyi"),
        lambda program, files: f"{program} --outputjson {files}".rstrip(),
        reports.pyright,
    ),
    Kind(
        "ty",
        (*_PYTHON_PROJECT, "ty.toml"),
        (".py", ".pyi"),
        lambda program, files: (
            f"{program} check --no-progress --exit-zero --output-format gitlab -- {files or '.'}"
        ),
        reports.ty,
        instead_of="pyright",
    ),
    Kind(
        "tsc",
        ("tsconfig.json",),
        (".ts", ".tsx", ".mts", ".cts"),
        lambda program, files: f"{program} --noEmit --pretty false -p .",
        reports.tsc,
    ),
    Kind(
        "eslint",
        ("eslint.config.*", ".eslintrc", ".eslintrc.*"),
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue"),
        lambda program, files: f"{program} --format json -- {files or '.'}",
        reports.eslint,
    ),
    Kind(
        "cargo check",
        ("Cargo.toml",),
        (".rs",),
        lambda program, files: f"{program} check --quiet --message-format=json",
        reports.cargo,
        program="cargo",
    ),
    Kind(
        "go vet",
        ("go.mod",),
        (".go",),
        # Its cache lies outside the workspace, where a confined command cannot write.
        lambda program, files: f'GOCACHE="${{TMPDIR:-/tmp}}/go-build" {program} vet ./...',
        reports.go,
        program="go",
    ),
    Kind(
        "swift build",
        ("Package.swift",),
        (".swift",),
        lambda program, files: f"{program} build",
        reports.swift,
        program="swift",
    ),
)


@dataclass(frozen=True, slots=True)
class CheckTask:
    """A checker to run in a folder. ``files`` are absolute; none for all."""

    kind: Kind
    folder: str
    files: tuple[str, ...]
    marker: str


def tasks(root: str, files: Sequence[str]) -> list[CheckTask]:
    """The checkers for a workspace's project files, or for those above the given files."""
    if files:
        return list(_for_files(root, files))
    tasks: list[CheckTask] = []
    for kind in KINDS:
        at_root = _marker(root, kind)
        if at_root:
            tasks.append(CheckTask(kind, root, (), at_root))
            continue
        below = [(folder, _marker(folder, kind)) for folder in _subfolders(root)]
        called = [CheckTask(kind, folder, (), marker) for folder, marker in below if marker]
        tasks += called[:_MOST_PROJECTS]
    return tasks


def program_of(kind: Kind, folder: str, root: str) -> str:
    """The absolute path of a checker's program: the project's own before PATH; empty for none."""
    name = kind.program or kind.name
    directory = folder
    while True:
        for folder_name in _LOCAL:
            path = os.path.join(directory, folder_name, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        if directory == root or not _below(directory, root):
            break
        directory = os.path.dirname(directory)
    return shutil.which(name) or ""


def command_of(task: CheckTask, program: str) -> str:
    """The shell command of a task."""
    return task.kind.command(shlex.quote(program), " ".join(shlex.quote(f) for f in task.files))


def _for_files(root: str, files: Sequence[str]) -> Iterator[CheckTask]:
    for kind in KINDS:
        folders: dict[str, tuple[str, list[str]]] = {}
        for path in filter(kind.takes, files):
            folder, marker = _project(root, path, kind)
            if marker or (kind.bare and not os.path.isdir(path)):
                folders.setdefault(folder, (marker, []))[1].append(path)
        for folder, (marker, named_files) in list(folders.items())[:_MOST_PROJECTS]:
            yield CheckTask(kind, folder, tuple(named_files), marker or "every such file")


def _project(root: str, path: str, kind: Kind) -> tuple[str, str]:
    """The nearest folder that calls for a checker, from a file or folder up; else the workspace."""
    is_folder = os.path.isdir(path)
    directory = path if is_folder else os.path.dirname(path)
    while _below(directory, root):
        marker = _marker(directory, kind, only_project=not is_folder)
        if marker:
            return directory, marker
        if directory == root:
            break
        directory = os.path.dirname(directory)
    return root, ""


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _marker(folder: str, kind: Kind, *, only_project: bool = False) -> str:
    for marker in kind.markers:
        if "*" not in marker:
            if os.path.lexists(os.path.join(folder, marker)):
                return marker
        elif not (only_project and marker.startswith("*")):
            for name in fnmatch.filter(_first_names(folder), marker):
                return name
    return ""


def _first_names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return []


def _subfolders(root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".")
                and entry.name != "node_modules"
                and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []
    return [os.path.join(root, name) for name in names[:_MOST_FOLDERS]]
