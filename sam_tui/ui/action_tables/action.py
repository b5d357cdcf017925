"""One entry of a table of actions: its name, keys, command and texts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkbenchAction:
    """One action of the workbench.

    ``keys`` are Textual key names. ``slash`` is the command without its slash, empty for none;
    ``argument`` describes its argument. ``typed`` is how the prompt calls it without a slash command.
    A ``local`` action belongs to one widget, which handles its keys itself; only the help lists it.
    """

    name: str
    title: str
    help: str
    keys: tuple[str, ...] = ()
    slash: str = ""
    argument: str = ""
    typed: str = ""
    local: bool = False
    listed: bool = True
    """Whether help and palette list it; if not, the help of another action covers it."""
