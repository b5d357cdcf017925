"""A file of patterns answers, and what it does not mention stays unanswered."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.inquiry import (
    Answer,
    Approval,
    ApprovalRequest,
    Inquiry,
    Question,
    Reply,
    ScopeChoice,
)
from sam_tui.headless.answers import REFUSAL, approve_all, read_answers

WRITE = ApprovalRequest(
    "file_operations.create_file", "Creating: /srv/x.txt", ("/srv/x.txt",), "outside", "/w"
)
QUESTION = Question("Which colour?", "For the button")


def inquiry(request: ApprovalRequest | Question) -> Inquiry:
    return Inquiry(InquiryId("i"), ConversationId("c"), CallId("k"), request)


def answer_of(folder: Path, entries: Any, request: ApprovalRequest | Question) -> Answer | None:
    path = folder / "answers.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return read_answers(str(path))(inquiry(request))


@pytest.mark.requirement("headless:answers")
@pytest.mark.parametrize(
    ("reply", "request_", "answer"),
    [
        ("approve", WRITE, Approval("once")),
        ("deny", WRITE, Approval("deny")),
        ("not there, use ./x", WRITE, Approval("deny", "not there, use ./x")),
        ("Yes", WRITE, Approval("once")),
        ("no", WRITE, Approval("deny")),
        ("allow", WRITE, None),
        ("blue", QUESTION, Reply("blue")),
        ("no", QUESTION, Reply("no")),
        ("approve", replace(QUESTION, choices=("approve", "reject")), Reply("approve")),
        ("deny", replace(QUESTION, choices=("yes", "no")), Reply("no")),
        ("Rollback plan", replace(QUESTION, choices=("rollback:plan",)), Reply("rollback:plan")),
        ("approve", QUESTION, Reply("yes")),
        ("deny", QUESTION, Reply(REFUSAL)),
    ],
)
def test_a_reply_becomes_the_answer_that_its_inquiry_takes(
    tmp_path: Path, reply: str, request_: ApprovalRequest | Question, answer: Answer | None
) -> None:
    assert answer_of(tmp_path, [{"match": ".", "reply": reply}], request_) == answer


@pytest.mark.requirement("headless:answers")
@pytest.mark.parametrize(
    ("scope", "answer"),
    [
        ("session", Approval("scope", scope="session")),
        ("rehearse", Approval("scope", scope="rehearse")),
        ("once", Approval("once")),
        ("user", Approval("once")),
        ("timed", Approval("once")),
    ],
)
def test_an_approval_may_name_a_scope_and_never_gives_more_than_is_offered(
    tmp_path: Path, scope: str, answer: Approval
) -> None:
    choices = (ScopeChoice("session", "w", "session"), ScopeChoice("rehearse", "w", "once"))
    entry = {"match": ".", "reply": "approve", "scope": scope}
    assert answer_of(tmp_path, [entry], replace(WRITE, choices=choices)) == answer
    refused = answer_of(tmp_path, [entry | {"scope": "session-below"}], WRITE)
    assert isinstance(refused, Approval) and refused.choice == "deny"


@pytest.mark.requirement("headless:answers")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("create_file", True),
        ("^/srv/", False),
        ("(?m)^/srv/", True),
        ("Creating: ", True),
        ("outside", False),
    ],
)
def test_the_pattern_is_searched_in_operation_summary_and_targets(
    tmp_path: Path, pattern: str, found: bool
) -> None:
    given = answer_of(tmp_path, [{"match": pattern, "reply": "approve"}], WRITE)
    assert given == (Approval("once") if found else None)


@pytest.mark.requirement("headless:answers")
def test_the_first_match_answers_and_no_match_leaves_it_unanswered(tmp_path: Path) -> None:
    entries = [
        {"match": "nothing", "reply": "approve"},
        {"match": "button", "reply": "red"},
        {"match": "colour", "reply": "blue"},
    ]
    assert answer_of(tmp_path, entries, QUESTION) == Reply("red")
    assert answer_of(tmp_path, entries, WRITE) is None
    assert answer_of(tmp_path, [], WRITE) is None


@pytest.mark.requirement("headless:answers-invalid")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"match": "x", "reply": "y"}', "must contain a JSON list"),
        ('[{"match": "x", "reply": "y"}, 5]', "entry 2 is not an object"),
        ('[{"match": "x"}]', "entry 1: “reply” must be"),
        ('[{"match": "x", "reply": "deny", "scope": "user"}]', "entry 1: “scope” must be a text"),
        (
            '[{"match": "x", "reply": "yes", "scope": "sesion"}]',
            "entry 1: there is no scope “sesion”",
        ),
        ('[{"match": 1, "reply": "y"}]', "entry 1: “match” must be"),
        ('[{"match": "x", "reply": " "}]', "entry 1: “reply” is empty"),
        ('[{"match": "x", "reply": "y", "answer": "z"}]', "entry 1: “answer” is not a key"),
        ('[{"match": "create_f", "reply": "allow"}]', "create_file, and “allow” is neither"),
        (
            '[{"match": "ok", "reply": "y"}, {"match": "(", "reply": "y"}]',
            "entry 2: “match” is not",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_the_entry_that_is_wrong(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "answers.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message) as caught:
        read_answers(str(path), ["file_operations.create_file"])
    assert caught.value.exit_code == 52


@pytest.mark.requirement("headless:answers-invalid")
def test_a_missing_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not there"):
        read_answers(str(tmp_path / "none.json"))


@pytest.mark.requirement("headless:answers")
def test_approving_all_approves_once_and_answers_no_question() -> None:
    assert approve_all(inquiry(WRITE)) == Approval("once")
    assert approve_all(inquiry(QUESTION)) is None
