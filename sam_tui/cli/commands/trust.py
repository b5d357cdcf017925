"""``sam-tui trust``: whose policy, hooks and instructions are believed."""

import os
from typing import TYPE_CHECKING

import click

from sam_tui.cli.options import workspace_of
from sam_tui.cli.streams import print_json, print_list, require_output
from sam_tui.core.errors import UsageError
from sam_tui.folders import data_folder
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.policy import FileTrust


@click.command("trust", short_help="Trust a folder's policy, hooks and instructions.")
@click.argument("folder", required=False, metavar="[DIR]")
@click.option("-C", "--workspace", metavar="DIR", help="The same as DIR.")
@click.option("--list", "listed", is_flag=True, help="List the trusted folders and their state.")
@click.option(
    "--show", is_flag=True, help="Show the files that would be trusted, and decide nothing."
)
@click.option("--revoke", is_flag=True, help="End the trust.")
@click.option("--json", "as_json", is_flag=True, help="Print the list, or what is shown, as JSON.")
def trust_command(
    folder: str | None,
    workspace: str | None,
    *,
    listed: bool,
    show: bool,
    revoke: bool,
    as_json: bool,
) -> int:
    """Trust a folder (this one) as it is now.

    Until then its policy only tightens, and its hooks, servers and instructions are not used.
    When one of these files changes, you have to trust the folder again.
    """
    from sam_tui.adapters.policy import AppFolders, FileTrust
    from sam_tui.core.authorization.paths.containment import Workspace

    folder = _one_folder(folder, workspace)
    if sum(map(bool, (listed, show, revoke))) > 1 or (listed and folder):
        raise UsageError("Use one of --list, --show and --revoke; --list takes no folder.")
    if as_json and not (listed or show):
        raise UsageError("--json needs --list or --show.")
    trust = FileTrust(AppFolders.of(os.environ, data_folder()).config_dir)
    if listed:
        require_output()
        return _list(trust, as_json=as_json)
    path = folder or workspace_of({"workspace": None})
    if revoke:
        return _revoke(trust, path)
    root = Workspace.open(path).root
    if show:
        require_output()
        return _show(trust, root, as_json=as_json)
    return _trust(trust, root)


def _one_folder(folder: str | None, workspace: str | None) -> str | None:
    """The folder that was named, in either way. Raises ``UsageError`` for two different ones."""
    if folder and workspace and os.path.realpath(folder) != os.path.realpath(workspace):
        raise UsageError(
            f"{folder!a} and --workspace {workspace!a} are two folders.",
            hint="Name the folder once.",
        )
    return folder or workspace


def _revoke(trust: "FileTrust", path: str) -> int:
    if not trust.revoke(path):
        raise UsageError(
            f"{path} was not trusted.", hint="“sam-tui trust --list” lists the trusted folders."
        )
    click.echo(terminal_safe(f"{os.path.realpath(path)} is no longer trusted."), err=True)
    return 0


def _trust(trust: "FileTrust", root: str) -> int:
    """Trust a folder, and name the files that count from now on and the changes since it was last trusted.

    The names and the trusted files come from one read, so nothing is added in between.
    """
    read, changes = trust.inspect(root), trust.changes(root)
    trust.trust(root, read)
    for item in read.believed:
        click.echo(terminal_safe(f"trusted: {item.name} ({item.meaning})"), err=True)
    for change in changes:
        click.echo(terminal_safe(change), err=True)
    click.echo(terminal_safe(f"{root} is trusted as it is now."), err=True)
    return 0


def _show(trust: "FileTrust", root: str, *, as_json: bool) -> int:
    state, changes, believed = (
        trust.state(root),
        trust.changes(root),
        trust.believed(root, deep=True),
    )
    if as_json:
        files = [{"name": b.name, "meaning": b.meaning, "size": b.size} for b in believed]
        row = {"folder": root, "state": state, "changes": list(changes), "believed": files}
        return print_json(row)
    click.echo(terminal_safe(f"{root} is {state}."))
    for change in changes:
        click.echo(terminal_safe(f"  {change}"))
    if not believed:
        click.echo("It has no files that need trust.")
    for item in believed:
        click.echo(terminal_safe(f"  {item.name}: {item.meaning}, {item.size} bytes"))
    return 0


def _list(trust: "FileTrust", *, as_json: bool) -> int:
    rows = [
        {"folder": f, "state": trust.state(f), "changes": list(trust.changes(f))}
        for f in trust.folders()
    ]
    lines = (
        line
        for row in rows
        for line in (
            f"{row['state']:<8}  {row['folder']}",
            *(f"          {change}" for change in row["changes"]),
        )
    )
    return print_list(rows, lines, as_json=as_json, none="No folder is trusted.")
