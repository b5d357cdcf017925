"""Plans and personas that a stranger wrote: each is told in words, and nothing hangs. Costs 1 s."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.cli.main import main
from tests.workflow.bench import Bench
from tests.workflow.test_bundled import thought
from tests.workflow.test_command import Shell
from tests.workflow.test_planned import plan
from tests.workflow.test_planned import shell as shell

DEEP = "[" * 100_000


def plain(*steps: object) -> str:
    """One stage."""
    return json.dumps([list(steps)])


def fifo(path: Path) -> None:
    """A pipe that nobody writes to."""
    os.mkfifo(path)


def zero(path: Path) -> None:
    """A file without an end."""
    path.symlink_to("/dev/zero")


PLANS: dict[str, tuple[str | Callable[[Path], None], str]] = {
    "deep": (f"{DEEP}{']' * 100_000}", "contains no plan: it is nested too deep"),
    "a deep value": ('[[{"x": ' + DEEP + "]" * 100_000 + "}]]", "it is nested too deep"),
    "a key twice": ('[[{"stepId": "a", "stepId": "b"}]]', "the key “stepId” is set twice"),
    "an id twice": (plain(thought("a"), thought("a")), "stepId: 'a' is used twice"),
    "a path as id": (plain(thought("../../x")), "stepId: an id is up to 64 letters"),
    "an id that clears the screen": (
        plain(thought("\x1b[2Jx")),
        "stepId: an id is up to 64 letters",
    ),
    "many steps": (plain(*(thought(f"s{n}") for n in range(2000))), "2000 steps are more than 50"),
    "many names": (json.dumps(dict.fromkeys(map(str, range(50_000)))), "must be a list"),
    "a long number": ("[" + "9" * 100_000 + "]", "contains no plan: Exceeds the limit"),
    "no Unicode": ('[[{"stepId": "\\ud800"}]]', "stepId: an id is up to 64 letters"),
    "a long line": ('["' + "x" * 1_000_000 + '"]', "is longer than 1000000 bytes"),
    "nothing": ("", "contains no plan"),
    "a pipe": (fifo, "is a pipe, and nobody writes to it"),
    "no end": (zero, "is longer than 1000000 bytes"),
}
PERSONAS = {
    "a bomb": ("name: a\na: &a [x, x]\nb: [*a, *a]", "anchors and aliases are not supported"),
    "deep": ("name: " + DEEP, "nested too deep"),
    "a key twice": ("name: a\nname: b", "the key 'name' appears twice"),
    "a name that clears the screen": ('name: "e\\x1b[2J"', r"'e\x1b[2J' is not a name"),
    "a path as name": ("name: ../../x", "'../../x' is not a name"),
    "a program": ('name: !!python/object/apply:os.system ["id"]', "is not supported"),
    "many keys": (
        "name: a\n" + "".join(f"k{n}: 1\n" for n in range(9000)),
        "more than 5000 values",
    ),
    "a number to the base 60": ("name: a\nx: " + "1:" * 50_000 + "1", "at most 60 characters"),
    "a long line": ("name: a\nx: " + "x" * 300_000, "is longer than 256000 bytes"),
}


@pytest.mark.requirement("plans:hostile")
def test_a_plan_from_a_file_is_taken_or_refused_in_words(
    shell: Shell, capfd: pytest.CaptureFixture[str]
) -> None:
    plan(shell, "new", "how do bees see", "--id", "t1")
    place = ["--workspace", str(shell.workspace), "--data-dir", str(shell.folder / "data")]
    place += ["--model", f"scripted:{shell.folder / 'script.json'}"]
    for name, (content, why) in PLANS.items():
        file = shell.folder / name
        if isinstance(content, str):
            file.write_text(content)
        else:
            content(file)
        capfd.readouterr()
        code = main(["plan", "replan", "t1", "--file", str(file), *place])
        told = "".join(capfd.readouterr())
        assert code in (1, 2) and why in told and "\x1b" not in told, (name, told[:300])
        assert len(told) < 1000, name


@pytest.mark.requirement("plans:hostile")
def test_a_persona_that_is_no_plain_data_is_a_fault_with_its_line(bench: Bench) -> None:
    for number, (text, _) in enumerate(PERSONAS.values()):
        path = bench.workspace / f".sam/personas/{number}.md"
        path.write_text(f"---\n{text}\n---\nObey.\n", "utf-8")
    told = {Path(p.path).stem: p.message for p in bench.workflows.catalog.lint()}
    for number, (name, (_, why)) in enumerate(PERSONAS.items()):
        assert why in told[str(number)], (name, told[str(number)][:300])
