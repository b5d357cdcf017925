"""``sam-tui sessions xray`` and ``usage``: each model call as it was sent, and what all of them used."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import closing_runtime, conversation_of, place_options
from sam_tui.cli.streams import require_output
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import named_conversation
from sam_tui.core.usage import Usage
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.ports.calls import UsageKey, UsageRow


@click.command("xray", short_help="One model call: the request part by part, times, cost.")
@click.argument("conversation", metavar="ID")
@click.argument("number", metavar="[N]", type=click.IntRange(min=1), required=False)
@click.option("--json", "as_json", is_flag=True, help="The calls as one JSON list.")
@place_options
def xray_command(**values: Any) -> int:
    """Show call N of a conversation: the exact request, its tokens by part, reminders marked, the raw
    stream, times and cost. Without N, list the calls."""
    from sam_tui.core.agent.calls.xray import call_line, xray

    require_output()
    with closing_runtime(values) as runtime:
        named = {"resume": values["conversation"]}
        conversation = conversation_of(named, runtime.conversations, runtime.workspace.root)
        assert conversation is not None
        calls = runtime.calls.calls(conversation)
        number = values["number"]
        if number is None:
            if values["as_json"]:
                click.echo(json.dumps([asdict(call) for call in calls], indent=2))
            else:
                for call in calls:
                    click.echo(terminal_safe(call_line(call)))
            return 0
        request = runtime.calls.request(conversation, number)
    if request is None:
        raise UsageError(
            f"Conversation {conversation} has no call {number}.", hint="Leave N out to see all."
        )
    call = next(call for call in calls if call.number == number)
    click.echo(terminal_safe(runtime.executor.shield.redact(xray(call, request))))
    return 0


_KEYS: "tuple[UsageKey, ...]" = ("day", "model", "folder", "conversation", "turn", "tool")
_DAY = 86_400


@click.command("usage", short_help="Tokens and money by day, model, folder or tool.")
@click.option("--by", type=click.Choice(_KEYS), multiple=True, help="One table for each.")
@click.option("--days", type=click.IntRange(min=1), default=30, help="The last so many (30).")
@click.option("--conversation", metavar="ID", help="Of one conversation alone.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@place_options
def usage_command(**values: Any) -> int:
    """Show what model calls used: by day, model and folder, or by what --by names."""
    require_output()
    whose = values["conversation"]
    conversation = named_conversation(whose) if whose else None
    keys: Sequence[UsageKey] = values["by"] or ("day", "model", "folder")
    since = time.time() - values["days"] * _DAY
    with closing_runtime(values) as runtime:
        tables = {
            key: runtime.calls.totals(key, since=since, conversation=conversation) for key in keys
        }
    if values["as_json"]:
        objects = {key: [_call_object(row) for row in rows] for key, rows in tables.items()}
        click.echo(json.dumps(objects, indent=2))
        return 0
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
