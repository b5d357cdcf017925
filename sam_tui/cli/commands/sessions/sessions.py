"""``sam-tui sessions``: the stored conversations listed, read, searched, named, put away, deleted."""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.commands.sessions.files import (
    export_command,
    import_command,
    repair_command,
    worktree_group,
)
from sam_tui.cli.commands.sessions.replay import to_test_command
from sam_tui.cli.options import closing_runtime, place_options, stored_conversation
from sam_tui.cli.streams import print_json, print_lines, print_list, require_output
from sam_tui.core.agent.lease import followed
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId, mint_conversation, named_conversation
from sam_tui.core.ports.storage import ConversationRecord, SearchMatch
from sam_tui.core.runtime import Runtime
from sam_tui.core.usage import Usage
from sam_tui.headless.output import terminal_safe
from sam_tui.headless.transcript import stored_lines

if TYPE_CHECKING:
    from sam_tui.core.ports.calls import UsageKey, UsageRow


@click.command("xray", short_help="Show a model call: the request part by part, times, cost.")
@click.argument("conversation", metavar="ID")
@click.argument("number", metavar="[N]", type=click.IntRange(min=1), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the calls as one JSON list.")
@place_options
def xray_command(**values: Any) -> int:
    """Show call N of a conversation: the exact request, its tokens by part, reminders marked, the raw
    stream, times and cost. Without N, list the calls."""
    from sam_tui.core.agent.calls.xray import call_line, xray

    require_output()
    with closing_runtime(values, reads=True) as runtime:
        conversation = stored_conversation(runtime.conversations, values["conversation"])
        calls = runtime.calls.calls(conversation)
        number = values["number"]
        if number is None:
            return print_json(calls) if values["as_json"] else print_lines(map(call_line, calls))
        request = runtime.calls.request(conversation, number)
    if request is None:
        raise UsageError(
            f"Conversation {conversation} has no call {number}.", hint="Leave N out to see all."
        )
    call = next(call for call in calls if call.number == number)
    click.echo(terminal_safe(runtime.executor.shield.redact(xray(call, request))))
    return 0


_KEYS: "tuple[UsageKey, ...]" = ("day", "model", "folder", "conversation", "turn", "tool", "todo")
_DAY = 86_400


@click.command("usage", short_help="Tokens and money by day, model, folder or tool.")
@click.option(
    "--by", type=click.Choice(_KEYS), multiple=True, help="Print one table for each of these."
)
@click.option("--days", type=click.IntRange(min=1), default=30, help="Only the last N days (30).")
@click.option("--conversation", metavar="ID", help="Only one conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@place_options
def usage_command(**values: Any) -> int:
    """Show what model calls used: by day, model and folder, or by what --by names."""
    require_output()
    whose = values["conversation"]
    conversation = named_conversation(whose) if whose else None
    keys: Sequence[UsageKey] = values["by"] or ("day", "model", "folder")
    since = time.time() - values["days"] * _DAY
    with closing_runtime(values, reads=True) as runtime:
        tables = {
            key: runtime.calls.totals(key, since=since, conversation=conversation) for key in keys
        }
    if values["as_json"]:
        objects = {key: [_call_object(row) for row in rows] for key, rows in tables.items()}
        return print_json(objects)
    for key, rows in tables.items():
        click.echo(_call_line(key, "calls", ("input", "cached", "output", "cost")))
        for row in rows:
            used = row.usage
            sizes = [f"{n:,}" for n in (used.input_tokens, used.cached_tokens, used.output_tokens)]
            line = _call_line(row.key, f"{row.calls:.4g}", (*sizes, _money(used)))
            click.echo(terminal_safe(line))
        click.echo()
    return 0


def _call_line(key: str, calls: str, cells: Sequence[str]) -> str:
    return f"{calls:>8}" + "".join(f"{cell:>14}" for cell in cells) + f"  {key}"


def _money(usage: Usage) -> str:
    return "–" if usage.cost is None else f"${usage.cost:.4f}"


def _call_object(row: "UsageRow") -> dict[str, Any]:
    from sam_tui.headless.lines import usage_fields

    return {
        "key": row.key,
        "calls": row.calls,
        "usage": usage_fields(row.usage),
        "total_cost_usd": row.usage.cost,
    }


_ID = click.argument("conversation", metavar="ID")
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
_LIMIT = click.option(
    "--limit", type=click.IntRange(min=1), default=50, help="The most entries to list (50)."
)


@click.group("sessions", short_help="The stored conversations.")
def sessions_group() -> None:
    """The stored conversations: list, read, search, rename, archive, export and import them."""


for _command in (
    export_command, import_command, to_test_command, repair_command, xray_command, worktree_group,
):  # fmt: skip
    sessions_group.add_command(_command)


@sessions_group.command("list", short_help="List conversations, last used first.")
@_AS_JSON
@_LIMIT
@click.option("--archived", is_flag=True, help="Only archived ones.")
@place_options
def list_command(**values: Any) -> int:
    """List conversations, pinned ones first, then by last use; with --workspace of that folder only."""
    require_output()
    with closing_runtime(values, reads=True) as runtime:
        where = runtime.workspace.root if values["workspace"] else None
        records = runtime.sessions.listed(where, values["limit"], archived=values["archived"])
    none = "No archived conversations." if values["archived"] else "No conversations yet."
    rows = list(map(_as_object, records))
    return print_list(rows, map(_line, records), as_json=values["as_json"], none=none)


@sessions_group.command("search", short_help="Find messages in all conversations.")
@click.argument("words", nargs=-1, required=True)
@_AS_JSON
@_LIMIT
@place_options
def search_command(**values: Any) -> int:
    """Find conversations in which one message has all WORDS (or words that begin with them), best first."""
    require_output()
    with closing_runtime(values, reads=True) as runtime:
        matches = runtime.sessions.search(" ".join(values["words"]), values["limit"])
        matches = [_masked(runtime, match) for match in matches]
    rows = list(map(_match_object, matches))
    lines = (line for match in matches for line in _match_lines(match))
    return print_list(rows, lines, as_json=values["as_json"], none="No message has these words.")


@sessions_group.command("show", short_help="Print a conversation.")
@_ID
@click.option("--numbers", is_flag=True, help="Print the number of each message.")
@click.option("--last", type=click.IntRange(min=1), help="Print only the last N messages.")
@place_options
def show_command(**values: Any) -> int:
    """Print the conversation ID as text; “sessions export” writes it as a file."""
    require_output()
    with closing_runtime(values, reads=True) as runtime:
        conversation = stored_conversation(runtime.conversations, values["conversation"])
        messages = runtime.conversations.everything(conversation)
        numbers = runtime.conversations.positions(conversation)
        first = max(0, len(messages) - (values["last"] or len(messages)))
        for number, message in list(zip(numbers, messages, strict=True))[first:]:
            lines = list(stored_lines(message))
            if lines and values["numbers"]:
                click.echo(f"[{number}]")
            for line in lines:
                click.echo(terminal_safe(runtime.executor.shield.redact(line)))
    return 0


@sessions_group.command("fork", short_help="Copy a conversation, or its beginning.")
@_ID
@click.option(
    "--at",
    type=click.IntRange(1, sys.maxsize),
    metavar="MESSAGE",
    help="The last message of the copy: a number of “sessions show --numbers”; a prompt "
    "itself is left out.",
)
@place_options
def fork_command(**values: Any) -> int:
    """Copy the conversation ID with todos, results, pins and archive; prints the id of the copy.

    With --at the copy ends with the step of that message, or before it if it is a prompt of yours.
    """
    require_output()
    with closing_runtime(values) as runtime:
        copy = mint_conversation()
        runtime.conversations.fork(
            stored_conversation(runtime.conversations, values["conversation"]),
            copy,
            at=values["at"],
        )
        click.echo(copy)
    return 0


@sessions_group.command("watch", short_help="Print a conversation and every new message.")
@_ID
@place_options
def watch_command(**values: Any) -> int:
    """Print a conversation and every message that another program adds, until Ctrl+C."""
    require_output()
    with closing_runtime(values) as runtime:
        asyncio.run(
            _watch(runtime, stored_conversation(runtime.conversations, values["conversation"]))
        )
    return 0


@sessions_group.command("rename", short_help="Give a conversation a title.")
@_ID
@click.argument("title", nargs=-1, required=True)
@place_options
def rename_command(**values: Any) -> int:
    """Give the conversation ID a title in place of its first words."""

    def rename(runtime: Runtime, conversation: ConversationId) -> str:
        return f"Its title is: {runtime.sessions.rename(conversation, ' '.join(values['title']))}"

    return _change(values, rename)


@sessions_group.command("pin", short_help="Pin a conversation to the top of lists.")
@_ID
@click.option("--off", is_flag=True, help="No longer.")
@place_options
def pin_command(**values: Any) -> int:
    """Pin the conversation ID to the top of lists; --off removes the pin."""

    def pin(runtime: Runtime, conversation: ConversationId) -> str:
        runtime.sessions.pin(conversation, not values["off"])
        return "Unpinned." if values["off"] else "Pinned."

    return _change(values, pin)


@sessions_group.command("archive", short_help="Leave a conversation out of lists.")
@_ID
@click.option("--off", is_flag=True, help="List it again.")
@place_options
def archive_command(**values: Any) -> int:
    """Leave the conversation ID out of lists; a new message in it, or --off, restores it."""

    def archive(runtime: Runtime, conversation: ConversationId) -> str:
        runtime.sessions.archive(conversation, not values["off"])
        return "It is listed again." if values["off"] else "Archived."

    return _change(values, archive)


@sessions_group.command("delete", short_help="Remove a conversation for good.")
@_ID
@click.option("--yes", is_flag=True, help="Skip the question.")
@place_options
def delete_command(**values: Any) -> int:
    """Delete the conversation ID permanently, with its subagents' conversations, results and memories.

    The audit log keeps its decisions; checkpoints of files expire by their own age.
    """

    def delete(runtime: Runtime, conversation: ConversationId) -> str:
        record = runtime.conversations.find(conversation)
        title = terminal_safe(record.title if record is not None else "")
        if not values["yes"]:
            if not sys.stdin.isatty():
                raise UsageError("Nobody can be asked here.", hint="Repeat it with --yes.")
            click.confirm(f"Delete “{title}” for good?", abort=True, err=True)
        runtime.sessions.delete(conversation)
        return f"Deleted: {title}"

    return _change(values, delete)


def _change(values: dict[str, Any], change: Callable[[Runtime, ConversationId], str]) -> int:
    require_output()
    with closing_runtime(values) as runtime:
        click.echo(
            terminal_safe(
                change(runtime, stored_conversation(runtime.conversations, values["conversation"]))
            )
        )
    return 0


async def _watch(runtime: Runtime, conversation: ConversationId) -> None:
    async for messages in followed(runtime.conversations, conversation):
        print_lines(line for message in messages for line in stored_lines(message))
        sys.stdout.flush()


def _line(record: ConversationRecord) -> str:
    used = datetime.fromtimestamp(record.updated_at).strftime("%Y-%m-%d %H:%M")
    pinned = "* " if record.pinned else ""
    return (
        f"{record.id}  {used}  {record.messages:>4} messages  {record.workspace}"
        f"  {pinned}{record.title}"
    )


def _masked(runtime: Runtime, match: SearchMatch) -> SearchMatch:
    return replace(match, excerpt=runtime.executor.shield.redact(match.excerpt))


def _marked(excerpt: str, before: str, after: str) -> str:
    return excerpt.replace("\x02", before).replace("\x03", after)


def _match_lines(match: SearchMatch) -> tuple[str, str]:
    excerpt = " ".join(_marked(match.excerpt, "", "").split())
    return _line(match.record), f"    {match.kind} {match.position}: {excerpt}"


def _match_object(match: SearchMatch) -> dict[str, Any]:
    excerpt = _marked(match.excerpt, "**", "**")
    where = {"position": match.position, "kind": match.kind, "excerpt": excerpt}
    return _as_object(match.record) | where | {"matches": match.count}


def _as_object(record: ConversationRecord) -> dict[str, Any]:
    from sam_tui.headless.lines import usage_fields

    return {
        "id": record.id,
        "title": record.title,
        "workspace": record.workspace,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "messages": record.messages,
        "pinned": record.pinned,
        "archived": record.archived,
        "usage": usage_fields(record.usage),
        "total_cost_usd": record.usage.cost,
    }
