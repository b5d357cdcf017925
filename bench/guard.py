"""Measures the guard: a decision on a path, on a command, with many rules; and the secret shield.

``python -m bench.guard [--repeat N] [--strict]``. Times are medians. A decision on a path stands beside
``os.path.realpath`` of it; the shield beside one pass over the same text
by a single regular expression.
"""

import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figure, judged, options
from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import Access, CommandAccess, Read, Write
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.authorization.rules.rule import RuleSet
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.redaction.shield import Shield

WORDS = re.compile(r"[\w-]{8,}")
"""What any search for secrets must at least find: words that are long enough for one."""
MOST_PATH, MOST_SHIELD = 8.0, 5.0
RULES = "".join(
    f'[[rule]]\neffect = "{effect}"\npath = "area{n}/**/*.key"\n'
    for n, effect in enumerate(["deny", "ask", "allow"] * 10)
)
OPERATION = "file_operations.create_file"


def guard(folder: Path, rules: str) -> Guard:
    """A guard with the whole policy over a workspace."""
    home = str(folder / "home")
    workspace = Workspace.open(str(folder / "ws"))
    parsed = parse_policy(rules, "policy.toml", "user", root=workspace.root, home=home).rules
    clock = SystemClock()
    policy = Policy(
        "ask",
        True,
        (str(folder / "data"),),
        secrets=Secrets(home),
        rules=RuleSet.of(parsed, workspace=workspace.root, trusted=False),
        reader=CommandReader(BashParser(), root=workspace.root, home=home),
    )
    return Guard(workspace, policy, Grants(clock), Inquiries(Bus(), clock, attended=False))


def median(call: Callable[[], object], repeat: int) -> float:
    """Microseconds of one call, at the median."""
    call()
    taken: list[float] = []
    for _ in range(repeat):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6


def decided(judge: Guard, access: Access) -> Callable[[], object]:
    """One decision without a question."""
    who = ConversationId("c")
    return lambda: judge.explain(who, OPERATION, judge.locate([access]))


def looked_up(path: Path) -> Callable[[], object]:
    """What Python alone takes to say where a path really lies."""
    return lambda: os.path.realpath(path)


def measure(folder: Path, repeat: int) -> list[Figure]:
    """All figures."""
    for name in ("ws/src/deep/er", "home", "data"):
        (folder / name).mkdir(parents=True)
    plain, ruled = guard(folder, ""), guard(folder, RULES)
    granted = guard(folder, "")
    for number in range(50):
        granted.grants.add(ConversationId("c"), OPERATION, f"/srv/x{number}", seconds=600)
    text = Path(__file__).read_text(encoding="utf-8")
    megabyte = (text * (1_000_000 // len(text) + 1))[:1_000_000]
    shield = Shield({f"KEY_{n}": f"value-{n}-{os.urandom(8).hex()}" for n in range(10)})
    inside = "src/deep/er/a.py"
    paths = {
        "read inside": (plain, Read(inside, "p")),
        "write inside": (plain, Write(inside, "p")),
        "write outside": (plain, Write("/srv/a", "p")),
        "write inside, 30 rules": (ruled, Write(inside, "p")),
        "write outside, 50 grants": (granted, Write("/srv/x49/a", "p")),
    }
    figures: list[Figure] = []
    for name, (judge, access) in paths.items():
        alone = median(looked_up(folder / "ws" / access.path), repeat)
        taken = median(decided(judge, access), repeat)
        figures.append(Figure(name, taken, "us", MOST_PATH, alone, "realpath"))
    command = "cd src && npm run build -- --watch | tee log"
    figures.append(
        Figure("a command", median(decided(plain, CommandAccess(command)), repeat), "us")
    )
    few = max(3, repeat // 200)
    once = median(lambda: WORDS.findall(megabyte), few) / 1000
    masked = median(lambda: shield.mask(megabyte), few) / 1000
    figures.append(Figure("the shield, a megabyte", masked, "ms", MOST_SHIELD, once, "one pass"))
    return figures


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure the guard and the shield.")
    parser.add_argument("--repeat", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(os.path.realpath(folder)), given.repeat)
    return judged("guard", figures, given)


if __name__ == "__main__":
    sys.exit(main())
