"""Reviews with findings as files, by the program and by the script of CI. Costs some 4 s of CPU."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sam_tui.headless.findings import ChangeReview, as_junit, as_sarif, request_for
from tests.fakes.openai_server import Reply, background

ROOT = Path(__file__).parents[2]
HOSTILE = "]]><x a='\"'>\x00\x1b[31m\ud800 & more"
FOUND = {
    "summary": "One fault.",
    "findings": [
        {"file": "./b.py", "line": 2, "severity": "note", "title": "Name", "message": "unclear"},
        {
            "file": "../../a.py",
            "line": 7,
            "severity": "error",
            "title": HOSTILE,
            "message": HOSTILE,
        },
    ],
}


@pytest.mark.requirement("review:files")
def test_hostile_words_of_a_finding_stay_words_in_every_form() -> None:
    review = ChangeReview.of(FOUND)
    assert [finding.file for finding in review.findings] == ["a.py", "b.py"]
    suite = ElementTree.fromstring(as_junit(review))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "2")
    failures = [case.find("failure") for case in suite]
    assert [f.attrib["type"] for f in failures if f is not None] == ["error", "note"]
    assert suite[0].attrib["classname"] == "a.py" and len(list(suite[0])) == 1
    (run,) = json.loads(as_sarif(review))["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "note"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("a.py", {"startLine": 7})
    assert ElementTree.fromstring(as_junit(ChangeReview("", ()))).attrib["failures"] == "0"
    assert review.reaches("warning") and not ChangeReview("", ()).reaches("note")
    assert "</change>" in request_for("+ x", ()) and "<change>" not in request_for(" ", ())


@pytest.mark.requirement("review:files", "review:ci")
def test_the_script_of_ci_reviews_a_branch_and_fails_where_it_should(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(["git", *identity, *words], cwd=tmp_path / "ws", check=True)

    (tmp_path / "ws").mkdir()
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "ws/a.py").write_text("print(1/0)\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "second")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/sam-tui"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m sam_tui "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    environ = {
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "BASE": "main",
        "SAM_TUI_MODEL": "openai/fake", "SAM_TUI_API_KEY": "k", "SAM_TUI_FAIL_ON": "error",
        "OUT": str(tmp_path / "out"), "SAM_TUI_PROVIDER": "direct",
    }  # fmt: skip

    def review(base: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sh", str(ROOT / "ci/review.sh")],
            cwd=tmp_path / "ws", env=environ | {"SAM_TUI_API_BASE": base}, text=True,
            capture_output=True, check=False, timeout=100,
        )  # fmt: skip

    with background() as server:
        server.replies.append(Reply(text=json.dumps(FOUND)))
        done = review(server.base)
        sent = json.loads(server.posts[0].body)["messages"]
        again = review(server.base)
    assert done.returncode == 4, done.stderr
    assert "a.py:7: error:" in done.stdout
    assert "+print(1/0)" in sent[-1]["content"] and "Reviewer" not in done.stderr
    for name in ("review.json", "review.sarif", "review.xml"):
        assert (tmp_path / "out" / name).read_text(encoding="utf-8").strip()
    assert again.returncode not in (0, 4)  # the model had nothing more to say
    environ["BASE"] = "HEAD"
    assert review("http://127.0.0.1:9").stdout == "Nothing has changed.\n"
    environ["BASE"] = "--output=x"
    refused = review("http://127.0.0.1:9")
    assert (refused.returncode, (tmp_path / "ws/x").exists()) == (2, False)
