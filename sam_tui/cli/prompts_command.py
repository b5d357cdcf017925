"""``sam-tui prompts``: the system prompts, personalities and mini prompts there are."""

import json
from dataclasses import asdict
from typing import Any

import click

from sam_tui.cli.options import open_runtime, place_options
from sam_tui.cli.streams import require_output
from sam_tui.core.ids import named_conversation
from sam_tui.headless.output import terminal_safe


@click.group("prompts", short_help="System prompts, personalities and mini prompts.")
def prompts_group() -> None:
    """The prompts there are: built in, in your folder, and in the workspace."""


@prompts_group.command("list", short_help="List them by kind and order.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@place_options
def list_command(**values: Any) -> int:
    """List them by kind and order; a file that cannot be used is told on standard error."""
    require_output()
    library = open_runtime(values).prompts
    listings = {
        "system": library.list_system(),
        "personality": library.list_personalities(),
        "mini": library.list_mini(),
    }
    if values["as_json"]:
        listings_json = {
            kind: [asdict(p) for p in listing.prompts] for kind, listing in listings.items()
        }
        click.echo(json.dumps(listings_json, indent=2))
    for kind, listing in listings.items():
        for prompt in listing.prompts if not values["as_json"] else ():
            state = "" if prompt.active else "  (not active: the folder is not trusted)"
            line = f"{kind:<11} {prompt.id:<28} {prompt.name}: {prompt.description}{state}"
            click.echo(terminal_safe(line))
        for problem in listing.problems:
            click.echo(terminal_safe(f"{problem.file}: {problem.reason}"), err=True)
    return 0


@prompts_group.command("use")
@click.argument("prompt")
@click.option("--off", is_flag=True, help="Turn it off instead.")
@click.option("--conversation", metavar="ID", required=True, help="In which conversation.")
@place_options
def use_command(**values: Any) -> int:
    """Turn a mini prompt on or off in a conversation."""
    require_output()
    runtime = open_runtime(values)
    conversation = named_conversation(values["conversation"])
    runtime.prompts.set_enabled(conversation, values["prompt"], not values["off"])
    state = "off" if values["off"] else "on"
    click.echo(terminal_safe(f"{values['prompt']} is {state} in {conversation}."))
    return 0
