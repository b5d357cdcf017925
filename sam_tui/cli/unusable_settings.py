"""Settings that cannot be used end a headless run as everything else does: with a result."""

from typing import Any

import click

from sam_tui.core.errors import ConfigurationError


class HeadlessCommand(click.Command):
    """A command with ``--output-format``, whose options ask settings for their defaults."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as usual; where settings cannot be used, tell that in the format that was asked for."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except ConfigurationError as error:
            values: dict[str, Any] = self.make_parser(ctx).parse_args(words)[0]
            if not self.is_headless(values):
                raise
            ctx.exit(_tell(values, error))

    def is_headless(self, values: dict[str, Any]) -> bool:
        """Whether these options, as they stand on the command line, mean a run without a screen."""
        return True


def _tell(values: dict[str, Any], error: ConfigurationError) -> int:
    """Print the result and return its exit code."""
    from sam_tui.cli.streams import contract_output
    from sam_tui.headless.outcome import outcome_of_error
    from sam_tui.headless.request import OUTPUT_FORMATS, HeadlessRequest
    from sam_tui.headless.run import report_failure

    word = values.get("output_format")
    form = next((form for form in OUTPUT_FORMATS if form == word), "text")
    request = HeadlessRequest("", format=form, compat=values.get("compat") == "claude")
    with contract_output() as out:
        return report_failure(request, outcome_of_error(error), out)
