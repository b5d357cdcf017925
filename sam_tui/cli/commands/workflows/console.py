"""The parts of commands on workflows and plans: the service, and how to print."""

import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sam_tui.cli.commands.workflows.lines import refusal_object
from sam_tui.cli.options import Values, place_options, workspace_of
from sam_tui.cli.settings import data_dir_of
from sam_tui.cli.streams import contract_output
from sam_tui.core.clock import SystemClock
from sam_tui.core.workflow.views import WorkflowRefused
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.workflow.service import Workflows

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class WorkflowConsole:
    """The parts of a command: the service, and how to print."""

    workflows: "Workflows"
    as_json: bool
    print: Callable[[str], None]

    def show(self, value: Any, lines: Sequence[str]) -> None:
        """The object for programs, or the lines for people."""
        if self.as_json:
            self.print(json.dumps(value, indent=2))
            return
        for line in lines:
            self.print(terminal_safe(line))


def workflow_options(command: F) -> F:
    """--json, --workspace and --data-dir."""
    json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")
    return json_option(place_options(command))


@contextmanager
def open_console(
    values: Values, opened: "Callable[[], Workflows] | None" = None, *, trusting: bool = False
) -> Generator[WorkflowConsole, None, None]:
    """The service over the data folder and the three definition folders, or the one ``opened``.

    With ``--json`` a refusal is printed as an object and ends with 1. With ``trusting`` files of the
    project are read that the person does not trust, to be looked at and not to be run.
    """
    with contract_output() as out, ExitStack() as stack:

        def write(line: str) -> None:
            out.write(f"{line}\n")
            out.flush()

        workflows = opened() if opened else _stored(values, stack, trusting=trusting)
        at = WorkflowConsole(workflows, values["as_json"], write)
        try:
            with nullcontext() if opened else naming_others(workflows):
                yield at
        except WorkflowRefused as refusal:
            if not at.as_json:
                raise
            write(json.dumps(refusal_object(refusal), indent=2))
            raise click.exceptions.Exit(refusal.exit_code) from refusal


@contextmanager
def naming_others(workflows: "Workflows") -> Generator[None, None, None]:
    """The refusal of an unknown id names the ids that there are; the store must be open."""
    try:
        yield
    except WorkflowRefused as refusal:
        if refusal.code != "execution_unknown":
            raise
        ids = ", ".join(view.id for view in workflows.records.executions(limit=5))
        hint = f"The newest are: {ids}." if ids else "None is stored."
        raise WorkflowRefused(refusal.code, str(refusal), hint=hint, **refusal.details) from refusal


def _stored(values: Values, stack: ExitStack, *, trusting: bool) -> "Workflows":
    """The service alone, without an agent."""
    from sam_tui.adapters.policy.layers import AppFolders
    from sam_tui.adapters.policy.trust import FileTrust
    from sam_tui.adapters.workflows import DefinitionFiles, open_workflows
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.workflow.service import Workflows

    folders = AppFolders.of(os.environ, data_dir_of(values))
    root = os.path.realpath(os.path.expanduser(workspace_of(values)))
    store = open_workflows(folders.data_dir)
    stack.callback(store.close)
    file_trust = FileTrust(folders.config_dir)
    trust = FolderTrust(root, file_trust, file_trust.state(root))

    def vouches(name: str, data: bytes) -> bool:
        return trusting or trust.vouches(name, data)

    files = DefinitionFiles(folders.config_dir, root, vouches=vouches)
    return Workflows(store, files, SystemClock())
