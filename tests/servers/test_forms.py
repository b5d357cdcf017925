"""Forms of servers as questions: defaults, several choices, formats, bounds. No process: milliseconds."""

from typing import Any

import pytest

from sam_tui.adapters.mcp_client.elicitation import Declined, fill
from sam_tui.core.inquiry import Question

TITLED = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]
# A field, what the person answers, what the server gets; None: the field is left out.
ANSWERS: list[tuple[dict[str, Any], list[str], Any]] = [
    ({"type": "string", "default": "John Doe"}, ["default"], "John Doe"),
    ({"type": "integer", "default": 30}, ["default"], 30),
    ({"type": "boolean", "default": True}, ["default"], True),
    ({"type": "string", "enum": ["a", "b"], "default": "b"}, ["default"], "b"),
    ({"type": "string", "default": {"no": "value"}}, ["default"], "default"),
    ({"type": "integer", "minimum": 3, "maximum": 5}, ["2", "9", "4"], 4),
    ({"type": "string", "minLength": 3}, ["ab", "abc"], "abc"),
    ({"type": "string", "format": "email"}, ["me", "me@example.org"], "me@example.org"),
    ({"type": "string", "format": "date"}, ["tomorrow", "2026-11-23"], "2026-11-23"),
    ({"type": "string", "format": "date-time"}, ["2026-11-23T00:00:00", "2026-11-23T00:00:00Z"],
     "2026-11-23T00:00:00Z"),
    ({"type": "string", "format": "uri"}, ["here", "https://example.org/"], "https://example.org/"),
    ({"type": "array", "items": {"anyOf": TITLED}}, ["red, green", "red, Blue, red"], ["r", "b"]),
    ({"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2}, ["x", "x,y"], ["x", "y"]),
    ({"type": "array", "items": {"enum": ["x", "y"]}, "default": ["y"]}, ["default"], ["y"]),
    ({"type": "string", "oneOf": TITLED}, ["Blue"], "b"),
    ({"type": "number"}, ["-"], None),
]  # fmt: skip


@pytest.mark.requirement("servers:forms")
async def test_a_field_takes_its_default_or_what_fits_it_and_nothing_else() -> None:
    wrong: list[object] = []
    for field, answers, expected in ANSWERS:
        given, asked = iter(answers), list[Question]()

        async def ask(question: Question) -> str:
            asked.append(question)  # noqa: B023
            return next(given)  # noqa: B023

        filled = await fill("server", "Fill it in", {"properties": {"it": field}}, ask)
        if filled != ({} if expected is None else {"it": expected}) or len(asked) != len(answers):
            wrong.append((field, answers, filled))
    assert wrong == []


@pytest.mark.requirement("servers:forms")
async def test_three_answers_that_do_not_fit_decline_the_form() -> None:
    async def ask(question: Question) -> str:
        return "many"

    with pytest.raises(Declined):
        await fill("server", "How many?", {"properties": {"it": {"type": "integer"}}}, ask)


@pytest.mark.requirement("servers:forms")
async def test_what_is_wrong_with_an_answer_is_said_in_words_of_the_form() -> None:
    wrong = {
        ("integer", ""): "many' is not accepted: it is not a whole number",
        ("number", ""): "it is not a number",
        ("string", "email"): "it is not an email address",
        ("string", "date"): "it is not a date (2026-12-31)",
        ("string", "date-time"): "it is not a time with its zone",
        ("string", "uri"): "it is not an address with a scheme",
    }
    for (kind, form), words in wrong.items():
        asked: list[str] = []

        async def ask(question: Question) -> str:
            asked.append(question.context)  # noqa: B023
            return "many" if len(asked) == 1 else "decline"  # noqa: B023

        with pytest.raises(Declined):
            await fill("server", "?", {"properties": {"it": {"type": kind, "format": form}}}, ask)
        assert words in asked[1]
