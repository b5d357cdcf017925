"""Measures the guard: a decision on a path, on a command, with many rules; and the secret shield.

``python -m bench.guard [--repeat N]`` prints one JSON object. Times are medians in microseconds, of the
shield in milliseconds for a megabyte. ``met`` says whether the targets are kept.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import Access, Read, Run, Write
from sam_tui.core.authorization.commands import CommandReader
from sam_tui.core.authorization.containment import Workspace
from sam_tui.core.authorization.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.policy import Policy
from sam_tui.core.authorization.rules import RuleSet
from sam_tui.core.authorization.secrets import Secrets
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.shield import Shield

PATH_TARGET = 100.0
"""Microseconds at the median for one path: resolved, judged, grants looked at."""
SHIELD_TARGET = 50.0
"""Milliseconds for a megabyte."""
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


def measure(folder: Path, repeat: int) -> dict[str, float]:
    """All figures by name."""
    for name in ("ws/src/deep/er", "home", "data"):
        (folder / name).mkdir(parents=True)
    plain, ruled = guard(folder, ""), guard(folder, RULES)
    granted = guard(folder, "")
    for number in range(50):
        granted.grants.add(ConversationId("c"), OPERATION, f"/srv/x{number}", seconds=600)
    text = Path(__file__).read_text(encoding="utf-8")
    megabyte = (text * (1_000_000 // len(text) + 1))[:1_000_000]
    shield = Shield({f"KEY_{n}": f"value-{n}-{os.urandom(8).hex()}" for n in range(10)})
    command = "cd src && npm run build -- --watch | tee log"
    return {
        "read_inside_us": median(decided(plain, Read("src/deep/er/a.py", "p")), repeat),
        "write_inside_us": median(decided(plain, Write("src/deep/er/a.py", "p")), repeat),
        "write_outside_us": median(decided(plain, Write("/srv/a", "p")), repeat),
        "write_with_30_rules_us": median(decided(ruled, Write("src/deep/er/a.py", "p")), repeat),
        "write_with_50_grants_us": median(decided(granted, Write("/srv/x49/a", "p")), repeat),
        "command_us": median(decided(plain, Run(command)), repeat),
        "shield_ms_per_mb": median(lambda: shield.mask(megabyte), max(3, repeat // 200)) / 1000,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=2000)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(os.path.realpath(folder)), repeat)
    paths = [v for name, v in figures.items() if name.startswith(("read", "write"))]
    met = max(paths) < PATH_TARGET and figures["shield_ms_per_mb"] < SHIELD_TARGET
    rounded = {name: round(value, 1) for name, value in figures.items()}
    print(json.dumps({**rounded, "met": met}, indent=2))


if __name__ == "__main__":
    main()
