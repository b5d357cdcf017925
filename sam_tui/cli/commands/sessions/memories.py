"""``sam-tui memories``: what agents remember, listed, read and deleted by the person."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime

import click

from sam_tui.cli.options import closing_runtime, place_options
from sam_tui.cli.streams import print_json, print_lines, print_list, require_output
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import named_conversation
from sam_tui.core.ports.memory import MemoryEntry
from sam_tui.core.runtime import Runtime
from sam_tui.core.text.plain import gist
from sam_tui.core.tooling.shared_memory import entries_read, scope_in_words
from sam_tui.headless.output import terminal_safe


@click.group("memories", short_help="What agents remember: memories, notes, knowledge.")
def memories_group() -> None:
    """What agents remember of conversations, topics and folders: memories, notes and knowledge."""


@memories_group.command("list", short_help="List what is remembered, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list, texts whole.")
@click.option(
    "--conversation", metavar="ID", help="Only what the agent of this conversation reads."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, help="The most entries to list (50)."
)
@place_options
def list_command(*, as_json: bool, conversation: str, limit: int, **values: object) -> int:
    """List memories, notes and knowledge, newest first; with --workspace those of that folder only."""
    require_output()
    with closing_runtime(values, reads=True) as runtime:
        remembered, root = runtime.remembered, runtime.workspace.root
        entries = remembered.entries.entries()
        if conversation:
            scope = remembered.memories.scope_of(named_conversation(conversation))
            entries = entries_read(entries, scope, root)
        if values["workspace"]:
            entries = [e for e in entries if root in (e.origin.folder, e.scope.partition(":")[2])]
        entries = [_masked(runtime, entry) for entry in entries[:limit]]
    none = "Nothing is remembered yet."
    return print_list(entries, map(_line, entries), as_json=as_json, none=none)


@memories_group.command("show", short_help="Print an entry whole.")
@click.argument("entry", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@place_options
def show_command(*, entry: str, as_json: bool, **values: object) -> int:
    """Print the entry ID whole, and where it comes from."""
    require_output()
    with closing_runtime(values, reads=True) as runtime:
        memory = _masked(runtime, _entries(runtime, [entry])[0])
    if as_json:
        return print_json(asdict(memory))
    origin = memory.origin
    lines = [_heading(memory)]
    if origin.conversation:
        lines.append(f"stored by conversation {origin.conversation} in {origin.folder}")
    return print_lines([*lines, "", *memory.text.splitlines()])


@memories_group.command("delete", short_help="Delete entries for good.")
@click.argument("entries", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Skip the question.")
@place_options
def delete_command(*, entries: Sequence[str], yes: bool, **values: object) -> int:
    """Delete the entries ID permanently; no agent reads them again."""
    require_output()
    with closing_runtime(values) as runtime:
        memories = _entries(runtime, entries)
        lines = [terminal_safe(_line(_masked(runtime, memory))) for memory in memories]
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError("Nobody can be asked here.", hint="Repeat it with --yes.")
            click.confirm("\n".join([*lines, "Delete this for good?"]), abort=True, err=True)
        for memory, line in zip(memories, lines, strict=True):
            deleted = runtime.remembered.entries.delete(memory)
            click.echo(f"{'Deleted' if deleted else 'Already gone'}: {line}")
    return 0


def _entries(runtime: Runtime, ids: Sequence[str]) -> list[MemoryEntry]:
    """The entries with these ids. Raises ``UsageError`` if one of them does not exist."""
    by_id = {entry.id: entry for entry in runtime.remembered.entries.entries()}
    if unknown := [id_ for id_ in ids if id_ not in by_id]:
        raise UsageError(
            f"Nothing is remembered under {unknown[0]!a}.",
            hint="“sam-tui memories list” shows all entries with their ids.",
        )
    return [by_id[id_] for id_ in dict.fromkeys(ids)]


def _masked(runtime: Runtime, entry: MemoryEntry) -> MemoryEntry:
    redact = runtime.executor.shield.redact
    return replace(entry, key=redact(entry.key), text=redact(entry.text))


def _heading(entry: MemoryEntry) -> str:
    at = datetime.fromtimestamp(entry.stored_at).strftime("%Y-%m-%d %H:%M")
    key = f" {gist(entry.key, 60)}" if entry.key else ""
    return f"{entry.id}  {at}  {entry.kind}{key}  {scope_in_words(entry.scope)}"


def _line(entry: MemoryEntry) -> str:
    return f"{_heading(entry)}  {gist(entry.text, 80)}"
