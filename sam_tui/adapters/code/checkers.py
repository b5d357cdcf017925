"""The ``Checkers`` port: what a workspace's own tools can say about its code."""

import os
from collections.abc import Sequence

from sam_tui.adapters.code.projects import KINDS, command_of, program_of, tasks
from sam_tui.adapters.code.syntax import inspected
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Check, CheckPlan, Diagnostic

_REPORTS = {kind.name: kind.report for kind in KINDS}


class WorkspaceCheckers:
    """Finds the checkers of one workspace; ``root`` is its real path. It runs none of them."""

    def __init__(self, root: str) -> None:
        self._root = root

    def plan(self, paths: Sequence[str]) -> CheckPlan:
        """What fits these paths (as arguments give them), or the whole workspace without any."""
        files = tuple(
            os.path.realpath(os.path.join(self._root, os.path.expanduser(path)))
            for path in paths
            if "\0" not in path
        )
        checks: list[Check] = []
        missing: dict[str, None] = {}
        for task in tasks(self._root, files):
            if any(c.cwd == task.folder and c.name == task.kind.instead_of for c in checks):
                continue
            program = program_of(task.kind, task.folder, self._root)
            if program:
                checks.append(Check(task.kind.name, command_of(task, program), task.folder))
            else:
                name = task.kind.program or task.kind.name
                missing[f"{task.kind.name} ({task.marker} asks for it, no {name} found)"] = None
        names = {check.name for check in checks}
        reasons = [text for text in missing if not _needless(text, names)]
        return CheckPlan(tuple(checks), tuple(reasons), tuple(kind.name for kind in KINDS))

    def read(self, check: Check, output: str) -> Sequence[Diagnostic]:
        """What a checker found. Raises ``ToolError`` for output that is no report."""
        try:
            return _REPORTS[check.name](check, output)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise ToolError(f"{check.name} printed no report that can be read: {error}.") from error

    def inspect(self, path: str, data: bytes) -> Sequence[Diagnostic] | None:
        """A syntax check without any program; None where there is none for such files."""
        return inspected(path, data)


def _needless(text: str, running: set[str]) -> bool:
    """One type checker for Python is enough."""
    return text.startswith("pyright ") and "ty" in running
