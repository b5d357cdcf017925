"""get_errors: the findings of the workspace's own checkers, as one list of diagnostics."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from sam_tools.file_operations.arguments import GetErrors
from sam_tools.file_operations.names import basename, counted, named
from sam_tui.core.accesses import Access, CommandAccess, Location, Read
from sam_tui.core.display import Table
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Check, Checkers, CheckPlan, Diagnostic
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.processes.terminals import CommandResult, Commands
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import Operation, ToolContext, ToolResult

_SECONDS = 60.0
_MOST_SHOWN = 300
_LONGEST_MESSAGE = 500
_MOST_READ = 2_000_000
_SEVERITIES = ("error", "warning", "information")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of one checker. ``failure`` says why its report cannot be used, and is empty if it can."""

    name: str
    diagnostics: tuple[Diagnostic, ...]
    failure: str = ""
    seconds: float = 0.0


class Diagnosing:
    """Runs checkers, confined like every command, and reads their reports."""

    def __init__(self, files: Files, checkers: Checkers, commands: Callable[[], Commands]) -> None:
        self._files = files
        self._checkers = checkers
        self._commands = commands

    def get_errors(self) -> Operation[GetErrors]:
        """The operation ``get_errors``."""
        return Operation(
            "get_errors",
            "compiler, type and lint errors, by the project's own checkers",
            GetErrors,
            self._check,
            lambda a: f"Checking errors: {_named(a)}",
            self._accesses,
            inline_limit=24_000,
        )

    def _accesses(self, arguments: GetErrors) -> Sequence[Access]:
        paths = arguments.filePaths or []
        plan = arguments.keep(self._checkers.plan(paths))
        reads = [Read(path, f"filePaths[{index}]") for index, path in enumerate(paths)]
        return [*reads, *(CommandAccess(check.command, check.cwd) for check in plan.checks)]

    async def _check(self, arguments: GetErrors, context: ToolContext) -> ToolResult:
        plan = arguments.plan
        if plan is None:
            raise ToolError("The checkers were not looked for before they were to run.")
        files = [context.location(f"filePaths[{i}]") for i in range(len(arguments.filePaths or []))]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._run(check, context)) for check in plan.checks]
        outcomes = [task.result() for task in running]
        context.emit("syntax …\n")
        outcomes += await asyncio.to_thread(self._by_syntax, files, outcomes)
        if not outcomes:
            raise _nothing(plan, files)
        return _report(outcomes, plan, files, context.workspace)

    async def _run(self, check: Check, context: ToolContext) -> _Outcome:
        context.emit(f"{check.name} …\n")
        try:
            result = await self._commands().run(
                context.command(
                    check.command, check.cwd, timeout=_SECONDS, on_output=lambda _: None
                )
            )
        except ToolError as error:
            return _Outcome(check.name, (), str(error))
        if result.timed_out:
            text = f"not finished after {_SECONDS:g} seconds"
            return _Outcome(check.name, (), text, result.seconds)
        try:
            diagnostics = tuple(self._checkers.read(check, result.output))
        except ToolError as error:
            return _Outcome(check.name, (), f"{error} {_tail(result)}", result.seconds)
        failed = result.exit_code != 0 and not diagnostics
        failure = f"ended with {_ending(result)}: {_tail(result)}" if failed else ""
        return _Outcome(check.name, diagnostics, failure, result.seconds)

    def _by_syntax(self, files: Sequence[Location], outcomes: Sequence[_Outcome]) -> list[_Outcome]:
        """Syntax errors of the named files that no checker covered. Raises ``ToolError``."""
        judged = {outcome.name for outcome in outcomes if not outcome.failure}
        python = bool(judged & {"ruff", "pyright", "ty"})
        diagnostics: list[Diagnostic] = []
        looked = False
        for where in files:
            entry = self._files.stat(where)
            if entry is None:
                raise ToolError(
                    f"{printable(where.display_path)} was not found.", hint="Check the path."
                )
            if entry.kind != "file" or (python and where.real.endswith((".py", ".pyi"))):
                continue
            data = self._files.read(where, limit=_MOST_READ + 1)
            inspected = self._checkers.inspect(where.real, data)
            if inspected is not None:
                looked = True
                diagnostics += inspected
        return [_Outcome("syntax", tuple(diagnostics))] if looked else []


def _named(arguments: GetErrors) -> str:
    paths = arguments.filePaths or []
    if not paths:
        return "all files"
    return basename(paths[0]) if len(paths) == 1 else counted(len(paths), "file")


def _ending(result: CommandResult) -> str:
    return result.signal if result.exit_code is None else f"exit code {result.exit_code}"


def _tail(result: CommandResult) -> str:
    """The last lines of a failed checker's output."""
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    text = " / ".join(lines[-4:]) or "no output"
    return printable(text if len(text) <= _LONGEST_MESSAGE else "…" + text[-_LONGEST_MESSAGE:])


def _nothing(plan: CheckPlan, files: Sequence[Location]) -> ToolError:
    what = "these files" if files else "this workspace"
    looked = f"Looked for the project files of {', '.join(plan.looked_for)}."
    missing = f" Not installed: {'; '.join(plan.missing)}." if plan.missing else ""
    return ToolError(
        f"Nothing here can check {what}. {looked}{missing}", hint="Nothing was checked."
    )


def _report(
    outcomes: Sequence[_Outcome], plan: CheckPlan, files: Sequence[Location], workspace: str
) -> ToolResult:
    diagnostics = _selected(outcomes, files, workspace)
    counts = Counter(item.severity for item in diagnostics)
    lines = [_head(outcomes, counts)]
    lines += [
        f"{outcome.name} failed: {outcome.failure}" for outcome in outcomes if outcome.failure
    ]
    lines += [f"not run: {text}" for text in plan.missing]
    lines += [_line(item) for item in diagnostics[:_MOST_SHOWN]]
    if len(diagnostics) > _MOST_SHOWN:
        lines.append(f"{len(diagnostics) - _MOST_SHOWN} more")
    data = {
        "diagnostics": [asdict(item) for item in diagnostics],
        "counts": dict(counts),
        "checkers": [
            {"name": o.name, "failure": o.failure, "seconds": round(o.seconds, 2)} for o in outcomes
        ],
        "missing": list(plan.missing),
    }
    rows = tuple((_place(d), d.severity, d.code, d.message) for d in diagnostics[:_MOST_SHOWN])
    display = (Table(("place", "severity", "code", "message"), rows),) if rows else ()
    ok = any(not outcome.failure for outcome in outcomes)
    return ToolResult("\n".join(lines), ok=ok, display=display, data=data)


def _clipped(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…"


def _selected(
    outcomes: Sequence[_Outcome], files: Sequence[Location], workspace: str
) -> list[Diagnostic]:
    """The diagnostics of the files, the most severe first."""
    diagnostics = [
        replace(item, file=_shown(item.file, workspace), message=_clipped(item.message))
        for outcome in outcomes
        for item in outcome.diagnostics
        if _asked_for(item, files)
    ]
    return sorted(
        diagnostics, key=lambda d: (_SEVERITIES.index(d.severity), d.file, d.line, d.column)
    )


def _head(outcomes: Sequence[_Outcome], counts: Counter[str]) -> str:
    done = [outcome for outcome in outcomes if not outcome.failure]
    if not done:
        return "nothing could be checked"
    totals = ", ".join(counted(counts[s], s, s if s == "information" else "") for s in counts)
    names = ", ".join(f"{o.name} ({o.seconds:.1f} s)" if o.seconds else o.name for o in done)
    return f"{totals or 'no problems'} by {names}"


def _asked_for(item: Diagnostic, files: Sequence[Location]) -> bool:
    """Whether a diagnostic belongs to a named file or folder; one without a file always does."""
    return (
        not files
        or not item.file
        or any(
            item.file == where.real or item.file.startswith(where.real.rstrip("/") + "/")
            for where in files
        )
    )


def _shown(path: str, workspace: str) -> str:
    if not path:
        return ""
    inside = path.startswith(workspace.rstrip("/") + "/")
    return named(Location(path, path, workspace if inside else None), workspace)


def _place(item: Diagnostic) -> str:
    position = (
        f":{item.line}:{item.column}" if item.column else f":{item.line}" if item.line else ""
    )
    return f"{item.file}{position}"


def _line(item: Diagnostic) -> str:
    code = f" {item.code}" if item.code else ""
    position = f"{_place(item)}: " if item.file else ""
    message = " ".join(item.message.split())
    return f"{position}{item.severity}{code}: {message} [{item.source}]"
