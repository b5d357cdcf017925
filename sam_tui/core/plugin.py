"""What a third-party plug-in is known by, and what a broken one says."""

from dataclasses import dataclass

API = 1
"""The version of the contract that plug-ins are written to: ``core.tooling.contract`` and Reminder."""


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One entry point: where it comes from, what it gave, or why it gave nothing.

    ``group`` is ``sam_tui.tools`` or ``sam_tui.reminders``; ``names`` are of the tools or reminders
    it gave. ``api`` is the contract it was written to, None where it could not be asked.
    """

    group: str
    entry: str
    distribution: str
    version: str
    api: int | None
    names: tuple[str, ...] = ()
    fault: str = ""
