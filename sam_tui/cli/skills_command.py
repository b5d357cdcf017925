"""``sam-tui skills``: which skills there are, and why some are not."""

import json
from dataclasses import asdict
from typing import Any

import click

from sam_tui.cli.options import closing_runtime, place_options
from sam_tui.cli.streams import require_output
from sam_tui.core.ports.prompts import SkillListing
from sam_tui.headless.output import terminal_safe


@click.group("skills", short_help="What to know for a kind of task.")
def skills_group() -> None:
    """Folders with a SKILL.md: yours, and those of a trusted folder."""


@skills_group.command("list", short_help="List them in the order in which they count.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@place_options
def list_command(**values: Any) -> int:
    """List them in the order in which they count; what cannot be used is told on standard error."""
    require_output()
    with closing_runtime(values) as runtime:
        parts = runtime.parts
        listing = parts.skills.listing() if parts.has_skills else SkillListing()
        trusted = runtime.trust.trusted
    if values["as_json"]:
        click.echo(json.dumps([asdict(skill) for skill in listing.skills], indent=2))
    for skill in listing.skills if not values["as_json"] else ():
        line = f"{skill.source:<8} {skill.name:<24} {' '.join(skill.description.split())}"
        click.echo(terminal_safe(line))
    for problem in listing.problems:
        click.echo(terminal_safe(f"{problem.file}: {problem.reason}"), err=True)
    if not trusted:
        click.echo("This folder is not trusted: skills of its own do not count.", err=True)
    return 0
