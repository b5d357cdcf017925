"""Numbers on the command line."""

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A number within bounds. What is none, or endless, is a limit that nothing ever reaches."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number. Fails as click does."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number that can be reached.", param, ctx)
        return number
