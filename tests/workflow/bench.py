"""Workflows over a real store and real files, with a clock that is moved by hand."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sam_tui.adapters.llm.catalog import ProviderCatalog
from sam_tui.adapters.workflows import DefinitionFiles, SqliteWorkflows, open_workflows
from sam_tui.core.clock import SystemClock
from sam_tui.core.inquiries import Responder
from sam_tui.core.ports.workflows import EventQuery, EventRow
from sam_tui.core.workflow.drivers.models import ModelSource
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import Advanced, Ticket, WorkflowRefused
from tests.fakes import engine_kit
from tests.fakes.engine_kit import Kit

DONE = {"summary": "done"}
NO_OTHER_MODELS = ModelSource({}, ProviderCatalog({}))
"""No model is named for a purpose."""


class HandClock(SystemClock):
    """A clock that stands still until it is moved; ``ahead`` puts the time of day elsewhere."""

    def __init__(self) -> None:
        self.time = 1_000_000.0
        self.ahead = 0.0

    def now(self) -> float:
        """What it was set to."""
        return self.time + self.ahead

    def monotonic(self) -> float:
        """The time that passed."""
        return self.time


OPENED: list[Callable[[], None]] = []
"""What closes the databases that a test opened: Python 3.13 warns of those that are left."""


def open_kit(folder: Path, responder: Responder | None = None) -> Kit:
    """A kit whose storage is closed at the end of the test."""
    kit = engine_kit.open_kit(folder, responder)
    OPENED.append(kit.storage.close)
    return kit


class Bench:
    """One data folder, one project; definitions are written as the test needs them."""

    def __init__(self, folder: Path, *, package: bool = False, flushed: bool = False) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.clock = HandClock()
        self.told: list[EventRow] = []
        (self.workspace / ".sam" / "workflows").mkdir(parents=True, exist_ok=True)
        (self.workspace / ".sam" / "personas").mkdir(parents=True, exist_ok=True)
        self._package = "" if package else str(folder / "no-package")
        self.store: SqliteWorkflows = open_workflows(folder / "data", flushed=flushed)
        OPENED.append(self.store.close)
        self.workflows = self.another(self.store)

    def another(self, store: SqliteWorkflows) -> Workflows:
        """A service as a second process would open it."""
        return Workflows(store, self.source, self.clock, self.told.append)

    @property
    def source(self) -> DefinitionFiles:
        """The definitions of this project."""
        config = str(self.folder / "config")
        return DefinitionFiles(
            config, str(self.workspace), vouches=lambda _name, _data: True, package=self._package
        )

    def define(self, text: str, name: str = "flow") -> str:
        """Write a definition of the project; ``text`` is its front matter below the name."""
        path = self.workspace / ".sam" / "workflows" / f"{name}.md"
        path.write_text(f"---\nname: {name}\n{textwrap.dedent(text)}\n---\nThe body.\n", "utf-8")
        return str(path)

    def persona(self, name: str, text: str = "") -> None:
        """Write a persona of the project."""
        path = self.workspace / ".sam" / "personas" / f"{name}.md"
        path.write_text(f"---\nname: {name}\n---\n{text or f'You are the {name}.'}\n", "utf-8")

    def begin(self, text: str, **params: Any) -> Advanced:
        """Define a workflow and start it."""
        self.define(text)
        return self.workflows.start("flow", params)

    def steps(self, execution: str) -> dict[str, str]:
        """The status of every step."""
        return {step.id: step.status for step in self.workflows.records.steps(execution)}

    def types(self, execution: str) -> list[str]:
        """The types of all events, in order."""
        return [
            e.type
            for e in self.workflows.records.reader.events(EventQuery(execution, limit=10_000))
        ]

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def ticket(done: Advanced, step: str) -> Ticket:
    """The ticket of a step that was opened."""
    return next(t for t in done.opened if t.step == step)


def opened(done: Advanced) -> list[str]:
    """The steps that were opened."""
    return [t.step for t in done.opened]


def code_of(refused: Any) -> str:
    """The code of a refusal that ``pytest.raises`` caught."""
    assert isinstance(refused.value, WorkflowRefused)
    json.dumps(refused.value.as_object())
    return refused.value.code
