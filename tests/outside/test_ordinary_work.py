"""How many questions real programs raise at their ordinary work: none, but one for each new place."""

import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.adapters.terminal.confinement import Sandbox
from sam_tui.core.inquiry import Approval

Desk = Any
"""See conftest."""

pytestmark = pytest.mark.skipif(
    Sandbox().confinement.kind != "live", reason="the kernel offers no supervised sandbox"
)

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
        git add f; git commit -qm two; git worktree add -q w; git worktree remove w
        git clone -q --bare . o.git; git remote add o $PWD/o.git; git push -q -u o topic""",
        0,
    ),
    "make": ("printf 'all:\\n\\techo made > out\\n' > Makefile; make -s; cat out", 0),
    "node": ("node server.js; node server.js", 1),
}
"""For each program its work, and how many questions that raises."""


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("program", WORK)
@pytest.mark.requirement("outside:ordinary-work")
async def test_ordinary_work_raises_no_question_but_one_for_a_new_place(
    desk: Desk, program: str, trusted: bool
) -> None:
    workspace: Path = desk.folder / "ws"
    (workspace / "server.js").write_text(SERVER)
    if program == "node":
        (workspace / ".env").write_text("WORD=spoken\n")
    if trusted:
        (desk.folder / "settings").mkdir()
        FileTrust(str(desk.folder / "settings")).trust(str(workspace))
    desk.open()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    desk.always = Approval("once")
    command, questions = WORK[program]
    done = await desk.run(f"set -e\n{textwrap.dedent(command)}", timeout=120)
    assert done.finished.ok, done.finished.text
    assert len(desk.asked) == questions, [(a.operation, a.targets) for a in desk.asked]


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.requirement("outside:ordinary-work")
async def test_an_environment_file_that_a_shell_runs_is_asked_for_and_made_on_a_yes(
    desk: Desk, trusted: bool
) -> None:
    if trusted:
        (desk.folder / "settings").mkdir()
        FileTrust(str(desk.folder / "settings")).trust(str(desk.folder / "ws"))
    desk.open()
    place = desk.folder / "ws/.envrc"
    for answer, made in ((None, False), (Approval("once"), True)):
        desk.always = answer
        desk.asked.clear()
        await desk.run("printf 'export A=1' > .envrc")
        assert [a.operation for a in desk.asked] == ["commands.change_outside"]
        assert place.exists() is made
    assert place.read_text() == "export A=1"


@pytest.mark.requirement("outside:ordinary-work")
async def test_unattended_a_place_is_refused_with_the_rule_that_allows_it_which_does(
    desk: Desk,
) -> None:
    desk.open()
    place = desk.folder / "ws/.envrc"
    done = await desk.run("printf 'export A=1' > .envrc; cat .envrc")
    rule = f'effect = "allow", operation = "commands.change_outside", path = "{place}"'
    assert f"a [[rule]] of the person allows it: {rule}" in done.finished.text
    assert not place.exists()
    await desk.runtime.close()
    desk.write_policy("[[rule]]\n" + rule.replace(", ", "\n"))
    desk.open()
    desk.asked.clear()
    done = await desk.run("printf 'export A=1' > .envrc; cat .envrc")
    assert (desk.asked, place.read_text()) == ([], "export A=1")
