"""``sam-tui sessions export``, ``import``, ``repair``, ``worktree``: files of conversations."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import closing_runtime, place_options, settings, stored_conversation
from sam_tui.cli.settings import option
from sam_tui.cli.streams import require_output
from sam_tui.core.errors import UsageError
from sam_tui.core.local_files.bounded import UnusableFile, read_named
from sam_tui.core.ports.storage import ExportForm, export_form
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.worktrees import Worktrees

LARGEST = 64 * 1024 * 1024
"""The largest file, in bytes, that can be imported."""


@click.command("export", short_help="Write a conversation as a file.")
@click.argument("conversation", metavar="ID")
@click.option(
    "--format", "form", type=click.Choice(["markdown", "json", "html"]), help="The format to write."
)
@option("-o", "--output", metavar="FILE", help="The file to write; without it standard output.")
@place_options
def export_command(**values: Any) -> int:
    """Write the conversation ID as Markdown, JSON or one HTML page, secrets masked.

    Without --format the extension of the file decides: .md, .json or .html, and Markdown without
    one. An existing file is not replaced.
    """
    require_output()
    output = "" if values["output"] in (None, "-") else values["output"]
    form: ExportForm = values["form"] or export_form(output, hint=", or name one with --format")
    with closing_runtime(values, reads=True) as runtime:
        conversation = stored_conversation(runtime.conversations, values["conversation"])
        runtime.servers.learn_secrets()
        text = runtime.conversation_files.write(runtime.document(conversation), form)
    if not output:
        click.echo(text if form == "json" else terminal_safe(text), nl=False)
        return 0
    try:
        write_new(output, text)
    except OSError as error:
        hint = "Name another file." if isinstance(error, FileExistsError) else ""
        raise UsageError(f"{output} could not be written: {error.strerror}.", hint=hint) from error
    click.echo(terminal_safe(f"Written: {output}"))
    return 0


def write_new(path: str, text: str) -> None:
    """Write a new file; what could not be written whole is removed. Raises ``OSError``."""
    with open(path, "x", encoding="utf-8", opener=_private) as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            os.unlink(path)
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@click.command("import", short_help="Read a conversation from a file.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@place_options
def import_command(**values: Any) -> int:
    """Store the conversation of each FILE in this workspace; prints the ids.

    A FILE is one of “sessions export --format json”, or a session file of Claude Code or of Codex. No
    permission, decision, reminder or trust is read from it.
    """
    require_output()
    with closing_runtime(values) as runtime:
        for name in values["files"]:
            try:
                data = read_named(name, most=LARGEST)
            except UnusableFile as error:
                raise UsageError(f"{name} {error}.") from error
            try:
                document = runtime.conversation_files.read(data)
            except UsageError as error:
                raise UsageError(f"{name}: {error}", hint=error.hint) from error
            conversation = runtime.add_document(document)
            click.echo(conversation)
            count = len(document.entries)
            note = f"{count} message{'s' if count != 1 else ''} of {document.source}"
            parts = "1 part" if document.skipped == 1 else f"{document.skipped} parts"
            skipped = f", {parts} of the file could not be read" if document.skipped else ""
            click.echo(terminal_safe(f"{name}: {note}{skipped}"), err=True)
    return 0


@click.command("repair", short_help="Save what is readable in a damaged database.")
@place_options
def repair_command(**values: object) -> int:
    """Check the whole database of conversations; if it is damaged, save what is readable.

    The damaged file stays beside the new one.
    """
    from sam_tui.adapters.storage.repair import repair

    require_output()
    done = repair(Path(settings(values).data_dir))
    if done.backup:
        click.echo(terminal_safe(f"Restored {done.rows} rows. The damaged file is {done.backup}"))
        if done.lost:
            click.echo(f"Some rows could not be read in: {', '.join(done.lost)}")
    else:
        click.echo("The database is intact.")
    for conversation, count in sorted(done.unreadable.items()):
        click.echo(terminal_safe(f"{conversation}: {count} messages could not be read"))
    return 0


# ---- worktrees that conversations have to themselves

_PLACE = click.option("-C", "--workspace", metavar="DIR", help="A folder of the repository.")
_NAME = click.argument("name")


def _worktrees(folder: str | None) -> "Worktrees":
    from sam_tui.adapters.worktrees import Worktrees

    return Worktrees(folder or os.getcwd(), os.environ)


@click.group("worktree", short_help="Worktrees of conversations.")
def worktree_group() -> None:
    """Worktrees that --worktree made: list, merge, drop. They lie beside the repository."""


@worktree_group.command("list", short_help="List them.")
@_PLACE
def list_command(workspace: str | None) -> int:
    """List them with the number of uncommitted and unmerged changes."""
    require_output()
    for tree in _worktrees(workspace).listed():
        counts = f"{tree.changed} changed, {tree.ahead} to merge"
        click.echo(terminal_safe(f"{tree.name:<20} {counts:<24} {tree.path}"))
    return 0


@worktree_group.command("merge", short_help="Merge one, and remove it.")
@_NAME
@click.option("-m", "--message", default="", help="Commit the changes there first.")
@_PLACE
def merge_command(name: str, message: str, workspace: str | None) -> int:
    """Merge NAME into the branch that is checked out here, and remove it. A conflict changes nothing."""
    require_output()
    output = _worktrees(workspace).merge(name, message)
    click.echo(terminal_safe(f"Merged {name}: {output}"))
    return 0


@worktree_group.command("drop", short_help="Remove one.")
@_NAME
@click.option("--force", is_flag=True, help="Drop it even if its changes exist nowhere else.")
@_PLACE
def drop_command(name: str, force: bool, workspace: str | None) -> int:
    """Remove NAME with its branch."""
    require_output()
    _worktrees(workspace).drop(name, force=force)
    click.echo(terminal_safe(f"Dropped {name}."))
    return 0
