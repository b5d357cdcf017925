"""``sam-tui sessions``: the stored conversations."""

import asyncio
import json
import sys
from datetime import datetime
from typing import Any

import click

from sam_tui.cli.options import closing_runtime, conversation_of, open_runtime, place_options
from sam_tui.cli.streams import require_output
from sam_tui.core.agent.lease import followed
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.storage import ConversationRecord
from sam_tui.core.runtime import Runtime
from sam_tui.headless.lines import usage_fields
from sam_tui.headless.output import terminal_safe
from sam_tui.headless.transcript import stored_lines


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
