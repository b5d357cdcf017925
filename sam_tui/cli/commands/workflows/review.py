"""``sam-tui review``: a review of a change, with findings as files for forges and build servers."""

import asyncio
import io
import json
import os
from typing import Any

import click

from sam_tui import __version__
from sam_tui.cli.numbers import FiniteRange
from sam_tui.cli.options import Values, fleet_options, open_runtime
from sam_tui.cli.streams import input_descriptor, require_output
from sam_tui.core.errors import ConfigurationError, SamError, UsageError
from sam_tui.core.local_files.bounded import UnusableFile, read_named, write_named

GRAVE_FINDING = 4
"""The exit code of a review with a finding of the severity that ``--fail-on`` names, or a graver one."""
_HINT = "For example: git diff main...HEAD | sam-tui review --diff -"


@click.command("review", short_help="Review a change: text, SARIF, JUnit.")
@click.argument("focus", nargs=-1)
@click.option("--diff", metavar="FILE|-", help="The change as a diff file; - is standard input.")
@click.option(
    "--fail-on",
    type=click.Choice(["never", "error", "warning", "note"]),
    default="never",
    help="Exit with 4 if there is a finding of this severity or a higher one.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the findings to FILE as JSON.")
@click.option(
    "--sarif", "sarif_file", metavar="FILE", help="Write the findings to FILE as SARIF 2.1.0."
)
@click.option(
    "--junit", "junit_file", metavar="FILE", help="Write the findings to FILE as JUnit XML."
)
@click.option("--max-turns", type=click.IntRange(min=1), help="The most model calls.")
@click.option("--max-cost", type=FiniteRange(min=0, min_open=True), help="The most US dollars.")
@fleet_options
def review_command(**values: Any) -> int:
    """Review a diff, or what changed since the last commit.

    The agent reads and changes nothing (plan mode). FOCUS says what matters most.
    """
    from sam_tui.headless.findings import FORMS, ChangeReview, as_text
    from sam_tui.headless.output import terminal_safe

    require_output()
    diff = _diff(values["diff"]) if values["diff"] else None
    review = ChangeReview("Nothing has changed.", ())
    if diff is None or diff.strip():
        line, words = asyncio.run(_ask({**values, "mode": values["mode"] or "plan"}, diff or ""))
        if line["structured_output"] is None:
            click.echo(words, err=True, nl=False)
            return int(line["exit_code"]) or 1
        review = ChangeReview.of(line["structured_output"])
    for form, write in FORMS.items():
        if path := values[f"{form}_file"]:
            _write(path, write(review))
    click.echo(terminal_safe(as_text(review)))
    fails = values["fail_on"] != "never" and review.reaches(values["fail_on"])
    return GRAVE_FINDING if fails else 0


def _diff(source: str) -> str:
    """The diff of a file, or of standard input for ``-``. Raises ``SamError``."""
    from sam_tui.headless.prompt_input import LARGEST, read_input

    if source == "-":
        descriptor = input_descriptor()
        if descriptor is None or os.isatty(descriptor):
            raise UsageError("There is no diff on standard input.", hint=_HINT)
        return read_input(descriptor)
    try:
        return read_named(source, most=LARGEST).decode("utf-8", "replace")
    except UnusableFile as error:
        raise UsageError(f"{source} {error}.", hint=_HINT) from error


async def _ask(values: Values, diff: str) -> tuple[dict[str, Any], str]:
    """Return the review's result, and what was said to people meanwhile. Raises ``SamError``."""
    from sam_tui.headless.findings import SCHEMA, request_for
    from sam_tui.headless.interrupts import Interrupts
    from sam_tui.headless.request import HeadlessRequest
    from sam_tui.headless.run import run_headless

    runtime = open_runtime(
        {**values, "system_prompt": "built-in:reviewer"}, program="sam-tui review"
    )
    interrupts = Interrupts()
    interrupts.install()
    out, err = io.StringIO(), io.StringIO()
    try:
        if runtime.model is None:
            raise ConfigurationError("No model is chosen.", hint="Choose one with --model.")
        request = HeadlessRequest(
            request_for(diff, values["focus"]), format="json", schema=SCHEMA, version=__version__
        )
        await run_headless(runtime, request, out, err=err, interrupts=interrupts)
    finally:
        interrupts.restore()
        await runtime.close()
    return json.loads(out.getvalue()), err.getvalue()


def _write(path: str, text: str) -> None:
    try:
        write_named(path, f"{text}\n".encode("utf-8", "replace"))
    except UnusableFile as error:
        raise SamError(f"{path} {error}.") from error
