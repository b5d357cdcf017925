"""The definitions at hand: read from their files, checked, and found by name.

A project's file never takes the place of one of the same name that the package or the user brings:
it is found as ``project/<name>`` then. Of user and package the user's wins.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic import ValidationError

from sam_tui.core.ports.prompts import DefinitionFile, DefinitionSource
from sam_tui.core.text.field_faults import fault_words
from sam_tui.core.workflow.definitions.graph import Place, definition_faults
from sam_tui.core.workflow.definitions.model import (
    LONGEST_TASK,
    NAME,
    PHASE_FIELDS,
    Step,
    WorkflowDefinition,
)
from sam_tui.core.workflow.definitions.stages import WorkerRole
from sam_tui.core.workflow.views import DefinitionProblem, Level, WorkflowRefused

_PHASE_KEYS = {ours: midex for midex, ours in PHASE_FIELDS.items()}


@dataclass(frozen=True, slots=True)
class DefinitionView:
    """A workflow that can be started, by the name that it is started by, and its file."""

    name: str
    definition: WorkflowDefinition
    origin: str
    path: str


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A file by the name of its workflow; without ``view`` its ``problems`` keep it from being started."""

    name: str
    file: DefinitionFile
    problems: tuple[DefinitionProblem, ...]
    view: DefinitionView | None = None


class WorkflowCatalog:
    """Every definition and persona of the source."""

    def __init__(self, source: DefinitionSource) -> None:
        self._source = source
        self._key: tuple[tuple[str, str, bool], ...] | None = None
        self._entries: dict[str, CatalogEntry] = {}
        self._personas: dict[str, str] = {}
        self._roles: dict[str, WorkerRole] = {}
        self._problems: tuple[DefinitionProblem, ...] = ()

    def view(self, name: str) -> DefinitionView:
        """One definition for people and clients.

        Raises ``WorkflowRefused`` (``workflow_unknown``, ``workflow_untrusted``, ``workflow_invalid``).
        """
        self._refresh()
        entry = self._entries.get(name)
        if entry is None:
            near = difflib.get_close_matches(name, self._entries, n=3)
            trusted = sorted(name for name, e in self._entries.items() if e.file.trusted)
            names = ", ".join(near or trusted) or "none"
            raise WorkflowRefused(
                "workflow_unknown",
                f"There is no workflow {name!r}.",
                hint=f"There are: {names}." if not near else f"Did you mean {names}?",
                workflow=name,
            )
        if not entry.file.trusted:
            raise WorkflowRefused(
                "workflow_untrusted",
                f"The workflow {name!r} is a file of this folder that you have not trusted.",
                hint="Read it, then run sam-tui trust (in the workbench /trust).",
                workflow=name,
                path=entry.file.path,
            )
        if entry.view is None:
            raise WorkflowRefused(
                "workflow_invalid",
                f"The workflow {name!r} has errors.",
                hint="\n".join(map(str, entry.problems)),
                workflow=name,
                problems=[str(p) for p in entry.problems],
            )
        return entry.view

    def certain(self, name: str) -> Sequence[Step]:
        """Return the steps of a definition that run with any outcome of the others. Raises as ``view``."""
        return [step for step in self.view(name).definition.steps if not step.when]

    def match(self, task: str) -> tuple[str, Mapping[str, object]] | None:
        """The first definition by name whose matcher fits a task whole, and the task's parameters."""
        if len(task) > LONGEST_TASK:
            return None
        fits = ((view.name, view.definition.matched(task)) for view in self.views())
        return next(((name, params) for name, params in fits if params is not None), None)

    def views(self) -> tuple[DefinitionView, ...]:
        """Every definition that can be started, by name."""
        self._refresh()
        return tuple(view for _, entry in sorted(self._entries.items()) if (view := entry.view))

    def personas(self) -> Mapping[str, str]:
        """The text of every persona by its name."""
        self._refresh()
        return self._personas

    def roles(self) -> Sequence[WorkerRole]:
        """The personas that name tools, sorted by name."""
        self._refresh()
        return [self._roles[name] for name in sorted(self._roles)]

    def files(self) -> Sequence[tuple[str, DefinitionFile]]:
        """Every definition file, with the name of the workflow that it defines."""
        return [(_name_of(file), file) for file in self._source.files()]

    def lint(self, path: str = "") -> tuple[DefinitionProblem, ...]:
        """All faults of the definitions in the order of the files, or those of the file at ``path``."""
        self._refresh()
        if not path:
            return self._problems
        return _read_entry(self._source.read(path), self._personas).problems

    def create(self, name: str) -> str:
        """Write a definition to start from; its path. Raises ``UsageError``."""
        return self._source.create(name)

    def _refresh(self) -> None:
        files = self._source.files()
        key = tuple((file.path, file.sha256, file.trusted) for file in files)
        if key == self._key:
            return
        problems: list[DefinitionProblem] = []
        self._personas, self._roles = _read_personas(files, problems)
        self._entries = {}
        for file in files:
            if file.kind == "workflow":
                entry = _read_entry(file, self._personas)
                self._place(entry, problems)
                problems.extend(entry.problems)
        self._problems = tuple(problems)
        self._key = key

    def _place(self, entry: CatalogEntry, problems: list[DefinitionProblem]) -> None:
        name, file = entry.name, entry.file
        other = self._entries.get(name)
        if other is not None and file.origin == other.file.origin:
            problems.append(_problem(file, f"{name!r} is defined in {other.file.path} already"))
            return
        if other is not None and file.origin == "project":
            text = f"{name!r} comes from {other.file.origin} as well; this one is project/{name}"
            problems.append(_problem(file, text, level="warning"))
            name = f"project/{name}"
            entry = replace(entry, view=entry.view and replace(entry.view, name=name))
        self._entries[name] = entry


def _read_entry(file: DefinitionFile, personas: Mapping[str, str]) -> CatalogEntry:
    name = _name_of(file)
    if unusable := _unusable(file, name):
        return CatalogEntry(name, file, (unusable,))
    fields = {"name": name, **file.fields, "content": file.body}
    try:
        definition = WorkflowDefinition.model_validate(fields)
    except ValidationError as error:
        return CatalogEntry(name, file, _shape_problems(file, error))
    problems = tuple(
        _problem(file, message, _in_file(path, file))
        for path, message in definition_faults(definition, personas)
    )
    view = None if problems else DefinitionView(name, definition, file.origin, file.path)
    return CatalogEntry(name, file, problems, view)


def _shape_problems(file: DefinitionFile, error: ValidationError) -> tuple[DefinitionProblem, ...]:
    problems: list[DefinitionProblem] = []
    for fault in error.errors(include_url=False):
        if (
            fault["type"] == "too_short"
            and len(fault["input"]) >= fault.get("ctx", {})["min_length"]
        ):
            continue  # there are entries, and each has a fault of its own
        path = _in_file(fault["loc"], file)
        where = ".".join(str(part) for part in path) or "definition"
        text = fault_words(fault)
        if fault["type"] == "string_type" and isinstance(fault["input"], bool | int | float):
            text = (
                "this is text: write it in quotes, because YAML reads words such as yes, no, on"
                " and off, and digits, as another type"
            )
        problems.append(_problem(file, f"{where}: {text}", path))
    return tuple(problems)


def _in_file(path: Place, file: DefinitionFile) -> Place:
    """A place of the definition as the file spells it: steps may be phases there."""
    if path[:1] != ("steps",) or "phases" not in file.fields or "steps" in file.fields:
        return path
    head: Place = ("phases", *path[1:2])
    return head + tuple(_PHASE_KEYS.get(p, p) if isinstance(p, str) else p for p in path[2:])


def _read_personas(
    files: Sequence[DefinitionFile], problems: list[DefinitionProblem]
) -> tuple[dict[str, str], dict[str, WorkerRole]]:
    """Read texts and worker roles by name; a project's persona replaces none."""
    texts: dict[str, str] = {}
    roles: dict[str, WorkerRole] = {}
    origins: dict[str, str] = {}
    for file in files:
        if file.kind != "persona":
            continue
        name = _name_of(file)
        if unusable := _unusable(file, name):
            problems.append(unusable)
        elif not file.body.strip():
            problems.append(DefinitionProblem(file.path, 1, f"the persona {name!r} has no text"))
        elif name in texts and (file.origin == "project" or file.origin == origins[name]):
            text = f"the persona {name!r} comes from {origins[name]} already; this one is not used"
            problems.append(_problem(file, text, level="warning"))
        else:
            texts[name], origins[name] = file.body.strip(), file.origin
            roles.pop(name, None)
            tools = _tools_of(file)
            if tools is None:
                text = f"tools of the persona {name!r} must be a list of names"
                problems.append(_problem(file, text, ("tools",)))
            elif "tools" in file.fields:
                roles[name] = WorkerRole(name, str(file.fields.get("description") or ""), tools)
    return texts, roles


def _tools_of(file: DefinitionFile) -> tuple[str, ...] | None:
    """The tools of a persona, which make it a worker role; None where they are no list of names."""
    tools: object = file.fields.get("tools", [])
    names = cast("list[object]", tools) if isinstance(tools, list) else [None]
    return tuple(map(str, names)) if all(isinstance(n, str) and n for n in names) else None


def _problem(
    file: DefinitionFile, text: str, path: Place = ("name",), *, level: Level = "error"
) -> DefinitionProblem:
    """Something wrong at a place of a file."""
    return DefinitionProblem(file.path, file.line(path), text, level)


def _unusable(file: DefinitionFile, name: str) -> DefinitionProblem | None:
    """Return why a file defines nothing: it cannot be read, or has no proper name."""
    if file.fault:
        level = "error" if file.trusted else "warning"
        return DefinitionProblem(file.path, file.fault_line, file.fault, level)
    if NAME.fullmatch(name):
        return None
    text = f"{name!r} is not a name: use up to 64 letters, digits, dots, dashes and underscores"
    return _problem(file, text)


def _name_of(file: DefinitionFile) -> str:
    name = file.fields.get("name")
    return name if isinstance(name, str) and name else file.stem
