"""Plans and workflows that ask the person at the terminal they run at."""

import json
import os
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry, Question, Reply, ScopeChoice
from sam_tui.headless.dialogue.terminal import PROMPT, answer_of, question_lines
from tests.cli.conftest import SAFE_MODULE, SECONDS
from tests.cli.test_workbench import read_until
from tests.workflow.test_bundled import RUNS

ASKED = PROMPT.encode()
STEP = {
    "stepId": "one",
    "assigned_agent_role": "Orchestrator",
    "tool_name": "FileSystemTool",
    "sub_task_input": {
        "operation": "create_file",
        "params": {"filename": ".envrc", "content": "made"},
    },
    "narrative_step": "Keep a file",
}


@dataclass
class TerminalRun:
    """A terminal with a command of sam-tui on it."""

    controller: int
    process: "subprocess.Popen[bytes]"

    def see(self, text: bytes) -> str:
        """What is shown up to a text."""
        return read_until(self.controller, text).decode()

    def say(self, line: str) -> None:
        """Type a line."""
        os.write(self.controller, f"{line}\n".encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and what was shown until then."""
        shown = self.see(b"\0")
        return self.process.wait(SECONDS), shown


@contextmanager
def run_at_terminal(folder: Path, steps: object, *words: str) -> Generator[TerminalRun]:
    """A command on a terminal of its own, with a model that plays the steps."""
    (folder / "script.json").write_text(json.dumps(steps), "utf-8")
    (folder / "ws").mkdir(exist_ok=True)
    controller, terminal = os.openpty()
    with subprocess.Popen(
        command(folder, *words), stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        try:
            yield TerminalRun(controller, process)
        finally:
            process.kill()
            os.close(controller)


def command(folder: Path, *words: str) -> list[str]:
    """A command line over the folder."""
    places = ("-C", str(folder / "ws"), "--data-dir", str(folder / "data"))
    return [*SAFE_MODULE, *words, *places, "--model", f"scripted:{folder / 'script.json'}"]


def plan() -> list[dict[str, str]]:
    """A model that plans to write a file which is asked about, twice where it is refused."""
    return [{"text": json.dumps([[STEP]])}, {"text": "[]"}, {"text": "The end."}]


def files(folder: Path) -> list[str]:
    """The files of that name that were made."""
    return [path.read_text() for path in (folder / "ws").rglob(".envrc")]


@pytest.mark.requirement("plans:terminal")
def test_a_plan_asks_at_its_terminal_and_only_what_is_typed_then_counts(tmp_path: Path) -> None:
    with run_at_terminal(tmp_path, plan(), "plan", "run", "keep a file") as run:
        run.say("y")  # before anything was asked
        asked = run.see(ASKED)
        assert re.search(r"Allow FileSystemTool\?\r\n  \| ", asked), asked
        run.say("perhaps")
        assert "Answer y, n with a reason, or a number." in run.see(ASKED)
        assert files(tmp_path) == []
        run.say("n not that file")
        assert "Allow FileSystemTool?" in run.see(ASKED)  # for the step is tried again
        assert files(tmp_path) == []
        run.say("y")
        code, shown = run.end()
    assert (files(tmp_path), code) == (["made"], 0), shown


@pytest.mark.requirement("plans:terminal")
def test_a_workflow_asks_at_its_terminal_for_the_choice_of_its_person(tmp_path: Path) -> None:
    params, plays = RUNS["implement-feature"]
    words = ("implement-feature", "--id", "it", "--params", json.dumps(params))
    with run_at_terminal(
        tmp_path, plays, "workflow", "run", *words, "--permission-mode", "bypass"
    ) as run:
        assert "Shall it be built like this?" in run.see(ASKED)
        run.say("")
        assert "Type an answer." in run.see(ASKED)
        run.say("approve")
        code, shown = run.end()
    assert (code, "completed  6/6" in shown) == (0, True), shown


@pytest.mark.requirement("plans:terminal")
def test_without_a_terminal_it_is_said_that_nobody_was_there(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps(plan()), "utf-8")
    (tmp_path / "ws").mkdir()
    done = subprocess.run(
        command(tmp_path, "plan", "run", "keep a file"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert (
        "denied because nobody could answer: run this at a terminal, or with --answers"
        in done.stderr
    )
    assert files(tmp_path) == []


def inquiry(request: ApprovalRequest | Question) -> Inquiry:
    """An inquiry about something."""
    return Inquiry(InquiryId("inq_1"), ConversationId("c"), CallId("call"), request)


@pytest.mark.requirement("plans:terminal")
def test_nothing_of_a_text_from_outside_passes_for_words_of_the_program() -> None:
    hostile = "harmless\n1  allow: nothing\x1b[2K\nYour answer: y\u202e"
    request = ApprovalRequest("a.b", hostile, (hostile,), f"why {hostile}", "/", words=hostile)
    for entry in (inquiry(request), inquiry(Question(hostile, hostile, (hostile,)))):
        lines = question_lines(entry)
        assert all("\x1b" not in line and "\u202e" not in line for line in lines)
        assert not [line for line in lines if line.startswith(("1  allow", PROMPT))]
        assert [line for line in lines if line.startswith("  | Your answer: y⟨U+202E⟩")]


@pytest.mark.requirement("plans:terminal")
def test_what_a_line_answers() -> None:
    scopes = (ScopeChoice("timed", "5 minutes", "minutes"), ScopeChoice("all", "all", "user"))
    plain = inquiry(ApprovalRequest("a.b", "s", (), "", ""))
    scoped = inquiry(ApprovalRequest("a.b", "s", (), "", "", choices=scopes))
    choice = inquiry(Question("Which?", choices=("left", "right")))
    cases = [
        (plain, "YES", Approval("once")),
        (plain, "y please", None),
        (plain, "", None),
        (plain, "1", None),
        (scoped, "y", None),
        (scoped, "2", Approval("scope", scope="all")),
        (scoped, "3", None),
        (scoped, "no, read it first", Approval("deny", "read it first")),
        (choice, "Right", Reply("right")),
        (choice, "1", Reply("left")),
        (choice, "up", None),
        (inquiry(Question("Why?")), "so", Reply("so")),
        (inquiry(Question("Why?")), "", None),
    ]
    assert [answer_of(entry, text) for entry, text, _ in cases] == [answer for *_, answer in cases]
