"""``sam-tui sessions`` and ``edits``: stored conversations, what each changed, and taking it back."""

import asyncio
import json
import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from sam_tui.cli.options import closing_runtime, conversation_of, open_runtime, place_options
from sam_tui.cli.streams import require_output
from sam_tui.core.agent.lease import followed
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId, named_conversation
from sam_tui.core.ports.storage import ConversationRecord
from sam_tui.core.runtime import Runtime
from sam_tui.headless.lines import usage_fields
from sam_tui.headless.output import terminal_safe
from sam_tui.headless.transcript import stored_lines


@click.group("edits", short_help="What a conversation changed, and undo.")
def edits_group() -> None:
    """The file changes of a conversation: list them, take one back."""


_WHICH = click.option(
    "--conversation", metavar="ID", help="Whose (default: the last one of the workspace)."
)


@edits_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@_WHICH
@place_options
def list_edits(**values: Any) -> int:
    """List the changes that can be undone, newest first."""
    require_output()
    runtime = open_runtime(values)
    entries = runtime.journal.entries(_conversation(runtime, values["conversation"]))
    if values["as_json"]:
        click.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return 0
    if not entries:
        click.echo("This conversation has changed no file that can be put back.", err=True)
    for entry in entries:
        at = datetime.fromtimestamp(entry.at).strftime("%Y-%m-%d %H:%M:%S")
        line = f"{entry.id}  {at}  {entry.operation}  {', '.join(entry.paths)}"
        click.echo(terminal_safe(line))
    return 0


@edits_group.command("undo", short_help="Take a change back: ENTRY, or the newest.")
@click.argument("entry", required=False)
@_WHICH
@place_options
def undo_command(**values: Any) -> int:
    """Take a change back (the newest without ENTRY); refused where the file changed since."""
    require_output()
    runtime = open_runtime(values)
    conversation = _conversation(runtime, values["conversation"])
    entries = runtime.journal.entries(conversation)
    if not entries:
        raise UsageError(f"Conversation {conversation} has no change to undo.")
    entry = runtime.journal.undo(conversation, values["entry"] or entries[0].id)
    click.echo(terminal_safe(f"Undone: {entry.operation}  {', '.join(entry.paths)}"))
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


@click.group("sessions", short_help="The stored conversations.")
def sessions_group() -> None:
    """The stored conversations."""


@sessions_group.command("list", short_help="List conversations, last used first.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@click.option("--limit", type=click.IntRange(min=1), default=50, help="At most so many (50).")
@place_options
def list_command(**values: Any) -> int:
    """List conversations, last used first; with --workspace those of that folder only."""
    require_output()
    runtime = open_runtime(values)
    where = runtime.workspace.root if values["workspace"] else None
    records = runtime.conversations.recent(where, values["limit"])
    if values["as_json"]:
        click.echo(json.dumps([_as_object(record) for record in records], indent=2))
        return 0
    if not records:
        click.echo("No conversations yet.", err=True)
    for record in records:
        used = datetime.fromtimestamp(record.updated_at).strftime("%Y-%m-%d %H:%M")
        count = f"{record.messages:>4} messages"
        line = f"{record.id}  {used}  {count}  {record.workspace}  {record.title}"
        click.echo(terminal_safe(line))
    return 0


@sessions_group.command("watch", short_help="Print a conversation, and what is added to it.")
@click.argument("conversation", metavar="ID")
@place_options
def watch_command(**values: Any) -> int:
    """Print a conversation and every message that another program adds, until Ctrl+C."""
    require_output()
    with closing_runtime(values) as runtime:
        named = {"resume": values["conversation"]}
        conversation = conversation_of(named, runtime.conversations, runtime.workspace.root)
        assert conversation is not None
        asyncio.run(_watch(runtime, conversation))
    return 0


async def _watch(runtime: Runtime, conversation: ConversationId) -> None:
    async for messages in followed(runtime.conversations, conversation):
        for line in (line for message in messages for line in stored_lines(message)):
            click.echo(terminal_safe(line))
        sys.stdout.flush()


def _as_object(record: ConversationRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "title": record.title,
        "workspace": record.workspace,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "messages": record.messages,
        "usage": usage_fields(record.usage),
        "total_cost_usd": record.usage.cost,
    }
