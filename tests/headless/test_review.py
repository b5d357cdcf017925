"""Reviews with findings as files, by the program and by the script of CI. Costs about 1 s of CPU."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sam_tui.headless.findings import ChangeReview, as_junit, as_sarif, as_text, request_for
from sam_tui.headless.replay.comparison import Deviation
from sam_tui.headless.replay.comparison import as_junit as replay_as_junit
from tests.fakes.openai_server import Reply, background
from tests.fakes.programs import needs
from tests.fakes.shell_commands import shell_command

ROOT = Path(__file__).parents[2]
CI_DOCS = ROOT / "docs/ci.md"
HOSTILE = "]]><x a='\"'>\x00\x1b[31m\ud800 & more"
FOUND: dict[str, Any] = {
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


# What Ant's schema (JUnit.xsd) demands; all of it is in that of Jenkins and pytest (junit-10.xsd), too. For
# each element the attributes that it must have, those that it may have, and what may be in it.
JUNIT = {
    "testsuite": (
        "name tests failures errors time timestamp hostname",
        "skipped",
        "properties testcase system-out system-err",
    ),
    "properties": ("", "", ""),
    "testcase": ("name classname time", "", "failure error skipped"),
    "failure": ("type", "message", ""),
    "system-out": ("", "", ""),
    "system-err": ("", "", ""),
}


@pytest.mark.requirement("review:files", "replay:check")
def test_junit_files_follow_the_common_schema() -> None:
    review = ChangeReview.of(FOUND)
    replayed = [("a", [Deviation("files", "x", HOSTILE)]), ("b", list[Deviation]())]
    for text in (as_junit(review), as_junit(ChangeReview("", ())), replay_as_junit(replayed)):
        suite = ElementTree.fromstring(text)
        assert suite.tag == "testsuite"
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert [child.tag for child in suite if child.tag != "testcase"] == [
            "properties",
            "system-out",
            "system-err",
        ]
        assert (suite[0].tag, suite[-2].tag) == ("properties", "system-out")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        for element in suite.iter():
            needed, possible, inner = (words.split() for words in JUNIT[element.tag])
            assert set(needed) <= element.attrib.keys() <= {*needed, *possible}
            assert {child.tag for child in element} <= set(inner)
    assert 'message="1 difference"' in replay_as_junit(replayed)


@pytest.mark.requirement("review:files")
def test_hostile_words_of_a_finding_stay_words_in_every_form() -> None:
    review = ChangeReview.of(FOUND)
    assert [finding.file for finding in review.findings] == ["a.py", "b.py"]
    suite = ElementTree.fromstring(as_junit(review))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "2")
    failures = [case.find("failure") for case in suite.iter("testcase")]
    assert [f.attrib["type"] for f in failures if f is not None] == ["error", "note"]
    assert suite[1].attrib["classname"] == "a.py" and len(list(suite[1])) == 1
    (run,) = json.loads(as_sarif(review))["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "note"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("a.py", {"startLine": 7})
    odd = {**FOUND["findings"][0], "file": "c:/a #?%.py\n", "line": 3.0, "title": "two\nlines"}
    review_of_odd = ChangeReview.of({"summary": "", "findings": [odd]})
    place = json.loads(as_sarif(review_of_odd))["runs"][0]["results"][0]["locations"][0]
    # A reference as RFC 3986 has it, without a scheme.
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "c%3A/a%20%23%3F%25.py%0A"
    assert as_text(review_of_odd) == "c:/a #?%.py :3: note: two lines\n  unclear\n"
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
    environ = {
        **os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "BASE": "main",
        "SAM_TUI_MODEL": "openai/fake", "SAM_TUI_API_KEY": "k", "SAM_TUI_FAIL_ON": "error",
        "OUT": str(tmp_path / "out"), "SAM_TUI_PROVIDER": "direct",
    }  # fmt: skip

    def review(base: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sh", str(ROOT / "ci/review.sh")],
            cwd=tmp_path / "ws", env=environ | {"SAM_TUI_API_BASE": base}, text=True,
            capture_output=True, check=False, timeout=100, pass_fds=descriptors,
        )  # fmt: skip

    with shell_command(tmp_path / "bin/sam-tui") as descriptors:
        with background() as server:
            server.replies.append(Reply(text=json.dumps(FOUND)))
            done = review(server.base)
            sent = json.loads(server.posts[0].body)["messages"]
            again = review(server.base)
            environ["GITHUB_ACTIONS"] = "true"
            server.replies.append(Reply(text=json.dumps({**FOUND, "summary": "::add-path::/x"})))
            first, *_, summary, last = review(server.base).stdout.splitlines()
            del environ["GITHUB_ACTIONS"]
        assert done.returncode == 4, done.stderr
        assert summary == "::add-path::/x" and first.startswith("::stop-commands::")
        assert last == f"::{first.removeprefix('::stop-commands::')}::" and len(last) > 30
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


@needs("jq")
@pytest.mark.requirement("review:ci")
def test_the_comment_of_the_bot_holds_a_hostile_finding_in_code_spans(tmp_path: Path) -> None:
    script = re.findall(r"```sh\n(jq .*?)gh pr", CI_DOCS.read_text(encoding="utf-8"), re.DOTALL)
    words = "`@org/team` ![i](http://evil)\n\u2028/approve <img src=x> ```\n# big"
    finding = {"file": words, "line": 1, "severity": "error", "title": words, "message": words}
    review = json.dumps({"summary": "", "findings": [finding] * 2})
    (tmp_path / "review.json").write_text(review, encoding="utf-8")
    subprocess.run(["sh", "-ec", script[0]], cwd=tmp_path, check=True)
    lines = (tmp_path / "comment.md").read_text(encoding="utf-8").split("\n")
    assert [line[:13] for line in lines] == ["- **error** `"] * 2 + [""]
    assert [len(re.findall("`[^`]+`", line)) for line in lines] == [2, 2, 0]
    assert [line.count("`") for line in lines] == [4, 4, 0]
