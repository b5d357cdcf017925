"""``sam-tui hooks``: which hooks there are, which of them run, and why the others do not."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from sam_tui.cli.options import closing_runtime, place_options
from sam_tui.cli.streams import require_output
from sam_tui.core.ports.hooks import Hook, HookListing
from sam_tui.core.runtime import Runtime
from sam_tui.core.text.plain import gist
from sam_tui.headless.output import terminal_safe

_NOTHING = "matches no operation there is now"


@click.group("hooks", short_help="Programs that run at events and may object.")
def hooks_group() -> None:
    """Programs that run at events and may object: yours, and those of a trusted folder."""


@hooks_group.command("list", short_help="List them in the order in which they are asked.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@place_options
def list_command(**values: Any) -> int:
    """List the hooks in the order in which they are asked, and the files that do not count."""
    require_output()
    with closing_runtime(values) as runtime:
        hooking = runtime.executor.hooks()
        listing = hooking.hooks.listing() if hooking is not None else HookListing()
        names = subjects(runtime)
    if values["as_json"]:
        rows = [{**asdict(hook), "note": note_on(hook, names)} for hook in listing.hooks]
        click.echo(json.dumps({"hooks": rows, "left_out": dict(listing.left_out)}, indent=2))
        return 0
    if not listing.hooks and not listing.left_out:
        click.echo("There are no hooks.", err=True)
    for hook in listing.hooks:
        matcher = f" ({hook.matcher})" if hook.matcher else ""
        line = f"{hook.source:<8} {hook.event}{matcher}  {gist(hook.command, 100)}"
        click.echo(terminal_safe(line))
        if note := note_on(hook, names):
            click.echo(terminal_safe(f"         {note}: {hook.place}"))
    for file, why in listing.left_out.items():
        click.echo(terminal_safe(f"left out {file}: {why}"))
    return 0


def subjects(runtime: Runtime) -> list[str]:
    """Everything that a matcher may be about."""
    offers = [offer.advert for offer in runtime.registry.offers]
    built_in = [f"{a.name}.{o}" if a.consolidated else a.name for a in offers for o in a.operations]
    # Of a server that has not been started yet no more than its name is known.
    servers = runtime.servers.reports()
    theirs = [name for server in servers for name in server.tools or (f"mcp__{server.name}__any",)]
    return [*built_in, *theirs]


def note_on(hook: Hook, names: Sequence[str]) -> str:
    """What is odd about a hook: one that is about no call guards nothing."""
    from sam_tui.adapters.hooks.reading import matches

    if hook.event not in ("PreToolUse", "PostToolUse") or any(matches(hook, n) for n in names):
        return ""
    return _NOTHING
