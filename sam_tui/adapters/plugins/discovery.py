"""Loads tools and reminders from entry points. A broken one is reported and left out, never fatal.

``sam_tui.tools`` points to a callable that takes ``core.services.Services`` and returns a ``Tool`` or
several; ``sam_tui.reminders`` to one that takes the same and returns a ``Reminder`` or several. An
attribute ``sam_tui_api`` on the callable says which contract it was written to (1 where it is missing).
"""

import functools
import logging
import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sam_tui.core.errors import ToolError
from sam_tui.core.prompt.reminders import Reminder, TurnView
from sam_tui.core.services import API, PluginReport, Services
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.offer import parameters_schema

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

TOOLS, REMINDERS = "sam_tui.tools", "sam_tui.reminders"

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plug-ins: usable tools by name, usable reminders by name, and a report for each entry."""

    tools: tuple[Tool, ...]
    reminders: tuple[Reminder, ...]
    reports: tuple[PluginReport, ...]


class ContainedReminder:
    """A plugin's reminder. An exception in it is logged, and the reminder stays empty."""

    def __init__(self, reminder: Reminder) -> None:
        self.name = f"plugin:{reminder.name}"
        self._reminder = reminder

    def content(self, view: TurnView) -> str | None:
        """The reminder's text, neutralised so that it cannot imitate another; None if it fails."""
        try:
            text = self._reminder.content(view)
            return neutralise(str(text)) if text else None
        except Exception:
            logger.warning("reminder %s failed", self.name, exc_info=True)
            return None


def discover(services: Services, *, names_taken: Collection[str]) -> Plugins:
    """Load every entry point once. ``names_taken`` are the names of the built-in tools."""
    reports: list[PluginReport] = []
    if not _declared():
        return Plugins((), (), ())
    names = set(names_taken)

    def tools_of(product: object) -> list[Tool]:
        return [_checked_tool(tool, names) for tool in _several(product)]

    def reminders_of(product: object) -> list[Reminder]:
        return [_checked_reminder(reminder) for reminder in _several(product)]

    tools = _load(TOOLS, services, tools_of, reports)
    reminders = _load(REMINDERS, services, reminders_of, reports)
    return Plugins(
        tuple(sorted(tools, key=lambda tool: tool.name)),
        tuple(sorted(reminders, key=lambda reminder: reminder.name)),
        tuple(reports),
    )


def _declared() -> bool:
    """Whether any installed package may declare one of our groups.

    This reads the declarations themselves: ``importlib.metadata`` takes twenty times as long, at every
    start, for plugins that hardly anybody has. Anything but a plain folder of ``*.dist-info`` counts as
    maybe.
    """
    for folder in sys.path:
        with suppress(OSError):
            if _any_declares(folder or ".", os.stat(folder or ".").st_mtime_ns):
                return True
    return False


@functools.lru_cache(maxsize=64)
def _any_declares(folder: str, _changed: int) -> bool:
    """Whether a folder's packages may declare one; cached until the folder changes."""
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True
    return any(
        name.endswith(".egg")
        or (name.endswith((".dist-info", ".egg-info")) and _declares(folder, name))
        for name in names
    )


def _declares(folder: str, name: str) -> bool:
    try:
        with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
            return b"[sam_tui." in file.read()
    except OSError:
        return False


def _load(
    group: str,
    services: Services,
    read: Callable[[object], list[T]],
    reports: list[PluginReport],
) -> list[T]:
    from importlib.metadata import entry_points

    loaded: list[T] = []
    for entry in sorted(entry_points(group=group), key=lambda e: (e.name, e.value)):
        distribution = entry.dist.name if entry.dist else ""
        version = entry.dist.version if entry.dist else ""
        api: int | None = None
        try:
            factory = _factory(entry)
            api = int(getattr(factory, "sam_tui_api", 1))
            if api != API:
                raise ToolError(f"It was written to plug-in API {api}; this program has {API}.")
            parts = read(factory(services))
        except Exception as fault:
            # A stranger's code may raise anything; what it says belongs in a report.
            logger.warning("plug-in %s of %s failed", entry.name, distribution, exc_info=True)
            fault_text = f"{type(fault).__name__}: {fault}"
            reports.append(
                PluginReport(group, entry.name, distribution, version, api, fault=fault_text)
            )
            continue
        loaded.extend(parts)
        named = tuple(cast("Any", part).name for part in parts)
        reports.append(PluginReport(group, entry.name, distribution, version, api, named))
    return loaded


def _factory(entry: "EntryPoint") -> Callable[[Services], object]:
    factory = entry.load()
    if not callable(factory):
        raise ToolError(f"{entry.value} is not callable.")
    return factory


def _several(product: object) -> Sequence[object]:
    return cast("Sequence[object]", product) if isinstance(product, list | tuple) else [product]


def _checked_tool(product: object, names: set[str]) -> Tool:
    if not isinstance(product, Tool):
        raise ToolError(f"It returned a {type(product).__name__}, not a Tool.")
    if not product.name.isidentifier() or product.name in names:
        raise ToolError(
            f"Its tool cannot be called {product.name!r}: the name is taken or invalid."
        )
    parameters_schema(product)
    names.add(product.name)
    return product


def _checked_reminder(product: object) -> Reminder:
    name = getattr(product, "name", None)
    if not isinstance(name, str) or not name or not callable(getattr(product, "content", None)):
        raise ToolError(f"It returned a {type(product).__name__}, not a Reminder.")
    return ContainedReminder(cast("Reminder", product))
