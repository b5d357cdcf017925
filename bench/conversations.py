"""Counts what kills do to conversations: at random statements of everything that they write.

``python -m bench.conversations [--kills N] [--seed N] [--json FILE] [--strict]``. Every figure is a count:
writes that were acknowledged and are lost, states that no write leaves, and databases that are not whole.
"""

import json
import subprocess
import sys
import tempfile

from bench.figures import Figure, judged, options


def main() -> int:
    """Kill, count, print, and judge."""
    parser = options("Kill programs that write conversations.")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-P", "-m", "tests.sessions.killing", folder]
        words += [str(given.kills), str(given.seed)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    tally = json.loads(done.stdout)
    figures = [
        Figure("kills", tally["kills"], least=True, most=given.kills),
        Figure("acknowledged writes lost", tally["lost"], most=0),
        Figure("writes half there", tally["torn"], most=0),
        Figure("databases that are not whole", tally["broken"], most=0),
    ]
    return judged("conversations", figures, given)


if __name__ == "__main__":
    sys.exit(main())
