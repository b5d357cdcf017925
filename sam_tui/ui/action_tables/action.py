"""One entry of a table: how an action is called, asked for, and told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkbenchAction:
    """One action of the workbench.

    ``keys`` are Textual key names. ``slash`` is the command without its slash, empty for none;
    ``argument`` what may follow it. ``typed`` is what calls it from the prompt where that is no slash
    command. ``local`` actions belong to one widget, which handles their keys itself: they are listed in
    the help and nowhere else.
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
    """Whether help and palette name it; what they leave out, another action's help tells."""
