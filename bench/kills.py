"""Counts what kills do to running workflows: agent, tool, human and plan steps, one or two drivers.

``python -m bench.kills [--kills N] [--seed N] [--json FILE] [--strict]``. Every figure is a count: effects
or steps had twice, lost ones, and databases that SQLite does not find whole after a kill.
"""

import sys
import tempfile
from pathlib import Path

from bench.figures import Figure, judged, options
from tests.workflow.killing import killed


def main() -> int:
    """Kill, count, print, and judge."""
    parser = options("Kill the drivers of running workflows.")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = killed(Path(folder), given.kills, given.seed)
    figures = [
        Figure("kills", tally.kills, least=True, most=given.kills),
        Figure("executions", tally.executions),
        Figure("steps or effects had twice", tally.twice, most=0),
        Figure("steps or effects lost", tally.lost, most=0),
        Figure("databases that are not whole", tally.broken, most=0),
    ]
    return judged("kills", figures, given)


if __name__ == "__main__":
    sys.exit(main())
