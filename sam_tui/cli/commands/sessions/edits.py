"""``sam-tui edits``: the file changes of a conversation, and taking them back."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import open_runtime, place_options
from sam_tui.cli.streams import print_list, require_output
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId, named_conversation
from sam_tui.core.runtime import Runtime
from sam_tui.core.text.plain import printable
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.ports.code import JournalEntry


@click.group("edits", short_help="What a conversation changed, and undoing it.")
def edits_group() -> None:
    """The file changes of a conversation: list them, undo one."""


_WHICH = click.option(
    "--conversation",
    metavar="ID",
    help="The conversation (default: the last one of the workspace).",
)


@edits_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@_WHICH
@place_options
def list_edits(**values: Any) -> int:
    """List the changes that can be undone, newest first."""
    require_output()
    runtime = open_runtime(values)
    entries = runtime.journal.entries(_conversation(runtime, values["conversation"]))
    none = "This conversation has changed no file that can be restored."
    return print_list(entries, map(_line, entries), as_json=values["as_json"], none=none)


def _line(entry: "JournalEntry") -> str:
    at = datetime.fromtimestamp(entry.at).strftime("%Y-%m-%d %H:%M:%S")
    return f"{entry.id}  {at}  {entry.operation}  {', '.join(map(printable, entry.paths))}"


@edits_group.command("undo", short_help="Undo the change ENTRY, or the newest.")
@click.argument("entry", type=int, required=False)
@_WHICH
@place_options
def undo_command(**values: Any) -> int:
    """Undo a change (the newest without ENTRY); refused if the file changed since."""
    require_output()
    runtime = open_runtime(values)
    conversation = _conversation(runtime, values["conversation"])
    entries = runtime.journal.entries(conversation)
    if not entries:
        raise UsageError(f"Conversation {conversation} has no change to undo.")
    entry_id = entries[0].id if values["entry"] is None else values["entry"]
    entry = runtime.journal.undo(conversation, entry_id)
    click.echo(
        terminal_safe(f"Undone: {entry.operation}  {', '.join(map(printable, entry.paths))}")
    )
    return 0


def _conversation(runtime: Runtime, identifier: str | None) -> ConversationId:
    if identifier:
        return named_conversation(identifier)
    latest = runtime.conversations.latest(runtime.workspace.root)
    if latest is None:
        raise UsageError(
            f"There is no conversation in {runtime.workspace.root}.",
            hint="Name one with --conversation; “sam-tui sessions list” shows all.",
        )
    return latest.id
