"""How many questions real programs raise at their ordinary work: none, but one for each new place."""

import asyncio
import functools
import json
import shutil
import socket
import subprocess
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.core.inquiry import Approval
from tests.fakes.interpreter import INTERPRETER
from tests.fakes.programs import silence_package_tools

Harness = Any
"""See conftest."""

pytestmark = pytest.mark.confined("live")

SERVER = """
const fs = require("fs"), http = require("http")
const word = fs.readFileSync(".env", "utf8").trim()
const server = http.createServer((_, answer) => answer.end(word))
server.listen(0, "127.0.0.1", () => http.get(server.address(), (answer) => {
  answer.on("data", (data) => console.log(String(data)))
  answer.on("end", () => { fs.readFileSync(".env"); server.close() })
}))
"""
WORK = {
    "git": (
        """git init -q .; git config user.name a; git config user.email a@b; git add -A
        git commit -qm one; git checkout -qb topic; echo 2 > f; git stash -q -u; git stash pop -q
        git add f; git commit -qm two; git checkout -qb o HEAD~1; git commit -qm x --allow-empty
        git rebase -q topic; git rebase -q -s ort --onto topic HEAD~1; git cherry-pick --allow-empty o
        git checkout -q topic; git worktree add -q w; git worktree remove w
        git clone -q --bare . o.git; git remote add o $PWD/o.git; git push -q -u o topic
        git checkout -qb behind HEAD~1; git branch -q -u o/topic; git fetch -q o; git pull -q
        test $(git rev-parse HEAD) = $(git rev-parse topic)""",
        0,
    ),
    "make": ("printf 'all:\\n\\techo made > out\\n' > Makefile; make -s; cat out", 0),
    "node": ("node server.js; node server.js", 1),
    "npm": (
        """git init -q .; export npm_config_audit=false npm_config_update_notifier=false
        npm install --offline --loglevel=error
        test -x .husky/_/pre-commit; test $(git config core.hooksPath) = .husky/_
        npm run -s hello; npm ci --offline --loglevel=error""",
        0,
    ),
    "pip": (
        """{py} -m pip install -q --disable-pip-version-check --no-index --find-links . --target lib near
        PYTHONPATH=lib {py} -c 'import near; print(near.WORD)'""",
        0,
    ),
    "cargo": ("cargo build -q --offline; ./target/debug/near; cargo test -q --offline", 0),
    "pytest": (
        """export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
        {py} -m pytest -q test_near.py; {py} -m pytest -q test_near.py""",
        0,
    ),
    "docker": ("docker-compose config -q", 0),
    "a new host": (
        """{py} -c 'import socket; [socket.create_connection(("127.0.0.1", {port})) for _ in "ab"]'""",
        1,
    ),
}
"""For each program its work, and how many questions that raises: one for each new place or host."""


TRUSTED = ("git", "node", "npm")
"""In a trusted folder reads outside are free, and all else is as in others: these are enough there."""
NEEDED = dict.fromkeys(WORK, "true") | {
    **{name: f"command -v {name}" for name in ("git", "make", "node")},
    "npm": "command -v npm && command -v git",
    "pip": f"{INTERPRETER} -m pip --version",
    "cargo": "cargo --version",
    "docker": "docker-compose version",
}
"""What says whether a program is installed."""
HUSKY = """#!/usr/bin/env node
const fs = require("fs"), { execFileSync } = require("child_process")
fs.mkdirSync(".husky/_", { recursive: true })
fs.writeFileSync(".husky/_/.gitignore", "*")
const hook = '#!/usr/bin/env sh\\n. "$(dirname "$0")/h"'
fs.writeFileSync(".husky/_/pre-commit", hook, { mode: 0o755 })
execFileSync("git", ["config", "core.hooksPath", ".husky/_"])
"""
CARRIED = (
    "README", "vercel.json", "netlify.toml", ".bazelrc", ".npmrc", ".mcp.json", "AGENTS.md",
    ".github/workflows/ci.yml", ".vscode/tasks.json", ".pre-commit-config.yaml", ".husky/pre-commit",
)  # fmt: skip
"""What a repository has in every version: most of it later runs or instructs."""
FILES = {
    "git": dict.fromkeys(CARRIED, "plain\n"),
    "node": {"server.js": SERVER, ".env": "WORD=spoken\n"},
    "npm": {
        "package.json": json.dumps({
            "name": "far",
            "version": "1.0.0",
            "scripts": {"prepare": "husky", "hello": "node -p 'require(`husky/word`)'"},
            "devDependencies": {"husky": "file:./husky"},
        }),
        "husky/package.json": json.dumps({
            "name": "husky",
            "version": "9.1.0",
            "bin": {"husky": "bin.js"},
        }),
        "husky/bin.js": HUSKY,
        "husky/word.js": "module.exports = 'spoken'\n",
    },
    "cargo": {
        "Cargo.toml": '[package]\nname = "near"\nversion = "1.0.0"\nedition = "2021"\n',
        "src/main.rs": 'fn main() { println!("{}", 1) }\n#[test]\nfn adds() { assert_eq!(1 + 1, 2) }\n',
    },
    "pytest": {"test_near.py": "def test_a(tmp_path):\n    (tmp_path / 'f').touch()\n"},
    "docker": {"compose.yaml": "services:\n  near:\n    image: near\n"},
}
"""What lies in the workspace before."""


def furnish(workspace: Path, program: str) -> None:
    """Lay out what a program works on."""
    for name, text in FILES.get(program, {}).items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
        (workspace / name).chmod(0o755 if name.endswith("bin.js") else 0o644)
    if program == "pip":
        with zipfile.ZipFile(workspace / "near-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("near.py", "WORD = 'spoken'\n")
            wheel.writestr(
                "near-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: near\nVersion: 1\n"
            )
            kind = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            wheel.writestr("near-1.dist-info/WHEEL", kind)
            wheel.writestr("near-1.dist-info/RECORD", "")


def toolchains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Rust lies, which tests with an empty home would not find."""
    if (cargo := shutil.which("cargo")) is not None:
        home = Path(cargo).parent.parent
        monkeypatch.setenv("CARGO_HOME", str(home))
        if (home.parent / ".rustup").is_dir():
            monkeypatch.setenv("RUSTUP_HOME", str(home.parent / ".rustup"))


@functools.cache  # asking pip takes as long as its work
def has(program: str) -> bool:
    """Whether a program is installed."""
    words = ["sh", "-c", NEEDED[program]]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def port() -> Iterator[int]:
    """Where a server of the person's listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("program", "trusted"), [*((name, False) for name in WORK), *((name, True) for name in TRUSTED)]
)
@pytest.mark.requirement("outside:ordinary-work")
async def test_ordinary_work_raises_no_question_but_one_for_a_new_place(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, port: int, program: str, trusted: bool
) -> None:
    furnish(harness.folder / "ws", program)
    toolchains(monkeypatch)
    if trusted:
        (harness.folder / "settings").mkdir()
        FileTrust(str(harness.folder / "settings")).trust(str(harness.folder / "ws"))
    harness.open()
    if program == "a new host":
        silence_package_tools(harness.folder / "bin", monkeypatch)
    if not await asyncio.to_thread(has, program):
        pytest.skip(f"{program} is not installed")
    harness.always = Approval("once")
    command, questions = WORK[program]
    command = command.replace("{py}", INTERPRETER).replace("{port}", str(port))
    done = await harness.run(f"set -e\n{textwrap.dedent(command)}", timeout=120)
    assert done.finished.ok, done.finished.text
    assert len(harness.asked) == questions, [(a.operation, a.targets) for a in harness.asked]


@pytest.mark.requirement("outside:ordinary-work")
def test_the_documentation_lists_these_programs_and_their_questions() -> None:
    text = (Path(__file__).parents[2] / "docs/sandbox.md").read_text("utf-8")
    rows = text.split("## Ordinary work")[1].split("\n## ")[0].splitlines()
    cells = [row.split(" | ") for row in rows if row.startswith("| ") and row.endswith(" |")][1:]
    assert {row[0][2:]: int(row[-1][:-2]) for row in cells} == {
        name: questions for name, (_, questions) in WORK.items()
    }


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.requirement("outside:ordinary-work")
async def test_an_environment_file_that_a_shell_runs_is_asked_for_and_made_on_a_yes(
    harness: Harness, trusted: bool
) -> None:
    if trusted:
        (harness.folder / "settings").mkdir()
        FileTrust(str(harness.folder / "settings")).trust(str(harness.folder / "ws"))
    harness.open()
    place = harness.folder / "ws/.envrc"
    for answer, made in ((None, False), (Approval("once"), True)):
        harness.always = answer
        harness.asked.clear()
        await harness.run("printf 'export A=1' > .envrc")
        assert [a.operation for a in harness.asked] == ["commands.change_outside"]
        assert place.exists() is made
    assert place.read_text() == "export A=1"


@pytest.mark.requirement("outside:ordinary-work")
async def test_unattended_a_place_is_refused_with_the_rule_that_allows_it_which_does(
    harness: Harness,
) -> None:
    harness.open()
    place = harness.folder / "ws/.envrc"
    done = await harness.run("printf 'export A=1' > .envrc; cat .envrc")
    rule = f'effect = "allow", operation = "commands.change_outside", path = "{place}"'
    assert f"a [[rule]] of the person allows it: {rule}" in done.finished.text
    assert not place.exists()
    await harness.runtime.close()
    harness.write_policy("[[rule]]\n" + rule.replace(", ", "\n"))
    harness.open()
    harness.asked.clear()
    done = await harness.run("printf 'export A=1' > .envrc; cat .envrc")
    assert (harness.asked, place.read_text()) == ([], "export A=1")
