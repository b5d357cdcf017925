"""``sam-tui prompts``, ``hooks`` and ``skills``: what there is of each, and why some do not run."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from sam_tui.cli.options import closing_runtime, open_runtime, place_options
from sam_tui.cli.streams import print_json, require_output
from sam_tui.core.ids import named_conversation
from sam_tui.core.ports.hooks import Hook, HookListing
from sam_tui.core.ports.prompts import SkillListing
from sam_tui.core.runtime import Runtime
from sam_tui.core.text.plain import gist
from sam_tui.headless.output import terminal_safe


@click.group("skills", short_help="Instructions for a kind of task.")
def skills_group() -> None:
    """Folders with a SKILL.md: yours, and those of a trusted folder."""


@skills_group.command("list", short_help="List them; of equal names the first counts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--kind",
    type=click.Choice(["skills", "commands", "agents", "rules"]),
    default="skills",
    help="The kind of files to list (skills).",
)
@place_options
def list_skills(**values: Any) -> int:
    """List them in order of precedence; unusable ones are reported on standard error."""
    require_output()
    with closing_runtime(values) as runtime:
        if values["kind"] == "skills":
            listing = runtime.skills.listing() if runtime.has_skills else SkillListing()
            listed = listing.skills
        else:
            listing = runtime.definitions(values["kind"])
            listed = listing.definitions
        trusted = runtime.trust.trusted
    if values["as_json"]:
        print_json(listed)
    elif not listed:
        click.echo(f"There are no {values['kind']}.", err=True)
    for skill in listed if not values["as_json"] else ():
        line = f"{skill.source:<8} {skill.name:<24} {' '.join(skill.description.split())}"
        click.echo(terminal_safe(line))
    for problem in listing.problems:
        click.echo(terminal_safe(f"{problem.file}: {problem.reason}"), err=True)
    if not trusted:
        click.echo(
            f"This folder is not trusted: its own {values['kind']} are not active.", err=True
        )
    return 0


@click.group("hooks", short_help="Programs that run at events and can refuse calls.")
def hooks_group() -> None:
    """Programs that run at events and can refuse calls: yours, and those of a trusted folder."""


@hooks_group.command("list", short_help="List them in the order in which they run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@place_options
def list_hooks(**values: object) -> int:
    """List the hooks in the order in which they run, and the files that are ignored."""
    require_output()
    with closing_runtime(values) as runtime:
        hooking = runtime.executor.hooks()
        listing = hooking.hooks.listing() if hooking is not None else HookListing()
        names = subjects(runtime)
    if values["as_json"]:
        rows = [{**asdict(hook), "note": note_on(hook, names)} for hook in listing.hooks]
        return print_json({"hooks": rows, "left_out": dict(listing.left_out)})
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
    """Return every name that a matcher may be about."""
    offers = [offer.advert for offer in runtime.registry.offers]
    built_in = [f"{a.name}.{o}" if a.consolidated else a.name for a in offers for o in a.operations]
    # Of a server that has not been started yet no more than its name is known.
    servers = runtime.servers.reports()
    theirs = [name for server in servers for name in server.tools or (f"mcp__{server.name}__any",)]
    return [*built_in, *theirs]


def note_on(hook: Hook, names: Sequence[str]) -> str:
    """Return a remark on a hook that never runs, because its matcher matches nothing; else empty."""
    from sam_tui.adapters.hooks.parser import MATCHED, matches

    subjects = MATCHED.get(hook.event, ())
    if any(matches(hook, name) for name in subjects or names):
        return ""
    return f"matches none of {', '.join(subjects)}" if subjects else "matches no operation"


@click.group("prompts", short_help="System prompts, personalities and mini prompts.")
def prompts_group() -> None:
    """The available prompts: built in, in your folder, and in the workspace."""


@prompts_group.command("list", short_help="List them by kind and order.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@place_options
def list_command(**values: object) -> int:
    """List them by kind and order; unusable files are reported on standard error."""
    require_output()
    library = open_runtime(values).prompts
    listings = {
        "system": library.list_system(),
        "personality": library.list_personalities(),
        "mini": library.list_mini(),
    }
    if values["as_json"]:
        print_json({kind: listing.prompts for kind, listing in listings.items()})
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
@click.option("--conversation", metavar="ID", required=True, help="The conversation to change.")
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
