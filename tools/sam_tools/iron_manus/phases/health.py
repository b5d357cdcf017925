"""Checks whether the machine works, by using the store, the files and the tools themselves."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sam_tools.iron_manus.phases.folder import SessionFolders
from sam_tools.iron_manus.phases.roles import ROLES
from sam_tools.iron_manus.phases.sessions import WORKFLOW
from sam_tui import __version__
from sam_tui.core.clock import Clock
from sam_tui.core.errors import SamError
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.offer import tool_schema
from sam_tui.core.workflow.service import Workflows
from sam_tui.process import peak_memory, process_id

_WARN, _FAIL = 512, 1024
"""MiB of memory beyond which the check warns, and fails (seed 000)."""
Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The status and the detail of a check."""

    status: Status
    detail: str

    def as_object(self) -> dict[str, str]:
        """For the answer."""
        return {"status": self.status, "message": self.detail}


class Health:
    """The checks."""

    def __init__(
        self,
        workflows: Workflows,
        folders: SessionFolders,
        tools: Callable[[], Sequence[Tool]],
        *,
        clock: Clock,
    ) -> None:
        self._workflows = workflows
        self._folders = folders
        self._tools = tools
        self._clock = clock
        self._began = clock.monotonic()

    def report(self, *, detailed: bool) -> dict[str, Any]:
        """``{status, timestamp, uptime, responseTime, version, checks}``; times in seconds."""
        started = self._clock.monotonic()
        checks = {
            "configuration": _tried(self._configuration),
            "toolRegistry": _tried(self._registry),
            "storage": _tried(self._storage),
            "workspace": _tried(self._workspace),
            "memory": _tried(_memory),
            "process": HealthCheck(
                "pass", f"pid {process_id()}, Python {platform.python_version()}"
            ),
        }
        failed = [name for name, check in checks.items() if check.status == "fail"]
        now = self._clock.monotonic()
        report: dict[str, object] = {
            "status": "unhealthy" if failed else "healthy",
            "timestamp": datetime.fromtimestamp(self._clock.now(), UTC).isoformat(),
            "uptime": round(now - self._began, 3),
            "responseTime": round(now - started, 4),
            "version": __version__,
            "checks": {name: check.as_object() for name, check in checks.items()},
        }
        if detailed:
            report["tools"] = [tool.name for tool in self._tools()]
            report["sessions"] = self._sessions()
        return report

    def _configuration(self) -> HealthCheck:
        """The definition can be started, and every role has its persona."""
        definition = self._workflows.catalog.view(WORKFLOW).definition
        missing = sorted(set(ROLES) - set(self._workflows.catalog.personas()))
        if missing:
            return HealthCheck("fail", f"roles without a persona: {', '.join(missing)}")
        return HealthCheck(
            "pass", f"{WORKFLOW} has {len(definition.steps)} phases; {len(ROLES)} roles"
        )

    def _registry(self) -> HealthCheck:
        """Every tool yields a schema, and no name is used twice."""
        tools = self._tools()
        names = [tool.name for tool in tools]
        for tool in tools:
            tool_schema(tool)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or not names:
            return HealthCheck(
                "fail", f"named twice: {', '.join(twice)}" if twice else "there are none"
            )
        return HealthCheck("pass", f"{len(names)} tools: {', '.join(names)}")

    def _storage(self) -> HealthCheck:
        """The workflow database takes a write and gives it back."""
        began = self._clock.monotonic()
        self._workflows.upkeep.check()
        return HealthCheck(
            "pass", f"written and read in {(self._clock.monotonic() - began) * 1000:.1f} ms"
        )

    def _workspace(self) -> HealthCheck:
        """The session folder takes a file and gives it back."""
        self._folders.check()
        return HealthCheck("pass", "a file was written, read and removed")

    def _sessions(self) -> dict[str, int]:
        views = self._workflows.records.executions(limit=1000)
        states = [view.state for view in views if view.workflow == WORKFLOW]
        return {state: states.count(state) for state in sorted(set(states))}


def _memory() -> HealthCheck:
    """The peak memory of this process."""
    peak = peak_memory()
    if peak is None:
        return HealthCheck("warn", "is not measured here")
    mebibytes = peak / 1024 / 1024
    status: Status = "fail" if mebibytes > _FAIL else "warn" if mebibytes > _WARN else "pass"
    return HealthCheck(status, f"at most {mebibytes:.0f} MiB so far")


def _tried(check: Callable[[], HealthCheck]) -> HealthCheck:
    try:
        return check()
    except (SamError, OSError, ValueError) as error:
        return HealthCheck("fail", error.explain() if isinstance(error, SamError) else str(error))
