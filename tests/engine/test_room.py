"""A conversation that outgrows its model is shortened in whole units, and nothing is lost."""

import pytest

from sam_tui.core.agent.context_window import Room, opening
from sam_tui.core.agent.history import History
from sam_tui.core.agent.tokens import total
from sam_tui.core.errors import ContextExceeded
from sam_tui.core.events import HistoryShortened
from sam_tui.core.messages import ReminderMessage, ToolMessage, UserMessage, calls_of
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.prompt.reminders import Injectors
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.offer import Advert, Offer
from sam_tui.core.tooling.registry import Registry
from tests.fakes.engine_kit import Kit, RawModel, calls, open_talk

LONG = "what was said long ago " * 40


def rounds(count: int) -> list[object]:
    """Answers that call with long words, then one that ends the turn."""
    return [calls(("murmur", {"text": f"{n} {LONG}"})) for n in range(count)]


@pytest.mark.requirement("room:fits")
async def test_a_small_context_is_never_exceeded_and_what_left_is_archived(kit: Kit) -> None:
    model = RawModel(*rounds(12), [TextDelta("done")])  # pyright: ignore[reportArgumentType]
    model.context_tokens = 4096
    talk = open_talk(kit, model)
    talk.reminder.says = lambda _: "late" if len(kit.journal.lines) > 18 else "early"
    assert (await talk.session.run("go on and on")).answer == "done"
    assert all(total(seen) < 4096 for seen in model.seen)
    shortened = [e for e in kit.events.drain() if isinstance(e, HistoryShortened)]
    assert shortened
    assert shortened[0].after < shortened[0].before
    assert kit.storage.archive.last_number(kit.conversation) > 0
    for seen in model.seen:
        results = [m.call_id for m in seen if isinstance(m, ToolMessage)]
        assert results == [c.id for c in calls_of(seen)]
        assert UserMessage("go on and on") in seen
        said = [m.text for m in seen if isinstance(m, ReminderMessage) and m.name == "echo"]
        assert said in (["early"], ["early", "late"], ["late"]), (
            "archived ones return, no other does"
        )


@pytest.mark.requirement("room:learns")
@pytest.mark.parametrize("limit", [2000, 6000], ids=["below our count", "above our count"])
async def test_a_refusal_teaches_the_limit_and_the_turn_goes_on(kit: Kit, limit: int) -> None:
    refusal = ContextExceeded(f"maximum context length is {limit} tokens", limit=limit)
    model = RawModel(*rounds(6), [refusal], [TextDelta("done")])  # pyright: ignore[reportArgumentType]
    talk = open_talk(kit, model)
    talk.reminder.says = lambda _: "mind the gap"
    finished = await talk.session.run("go")
    assert (finished.reason, finished.answer) == ("finished", "done")
    assert total(model.seen[-1]) < total(model.seen[-2])
    reminded = [m.text for m in model.seen[-1] if isinstance(m, ReminderMessage)]
    assert "mind the gap" in reminded  # although what said it first was archived


@pytest.mark.requirement("room:learns")
async def test_a_refusal_that_nothing_helps_ends_the_turn(kit: Kit) -> None:
    model = RawModel(*[[ContextExceeded("too long")]] * 4)
    finished = await open_talk(kit, model).session.run("hi")
    assert finished.reason == "failed"
    assert len(model.seen) <= 2


@pytest.mark.requirement("room:resumes")
async def test_a_shortened_conversation_is_resumed_shortened_and_kept_whole_on_disk(
    kit: Kit,
) -> None:
    model = RawModel(*rounds(12), [TextDelta("done")])  # pyright: ignore[reportArgumentType]
    model.context_tokens = 4096
    talk = open_talk(kit, model)
    await talk.session.run("go on and on")
    again = open_talk(kit, RawModel())
    assert list(again.session.messages) == list(talk.session.messages)
    assert isinstance(again.session.messages[0], ReminderMessage)
    assert len(kit.storage.conversations.everything(kit.conversation)) == 2 + 2 * 12


@pytest.mark.requirement("reminders:append-only")
async def test_a_message_that_joins_a_turn_is_the_last_that_the_model_reads(kit: Kit) -> None:
    model = RawModel(calls(("ping", {})), [TextDelta("done")])
    talk = open_talk(kit, model)
    talk.reminder.says = lambda view: f"{len(view.messages)} messages"
    typed = ["and this"]

    def steering() -> list[str]:
        messages, typed[:] = [*typed], []
        return messages

    await talk.session.run("go", steering)
    assert model.seen[-1][-2:] == [ReminderMessage("echo", "4 messages"), UserMessage("and this")]


@pytest.mark.requirement("room:learns")
@pytest.mark.parametrize(
    ("limit", "sent", "learnt"),
    [
        (1_000, 7_999, 1_000),
        (1_000, 8_000, 4_800),
        (1_000, 251, 1_000),
        (1_000, 250, 1_024),
        (None, 9_000, 5_400),
    ],
)
def test_a_limit_that_a_refusal_names_counts_where_it_is_near_what_was_sent(
    kit: Kit, limit: int | None, sent: int, learnt: int
) -> None:
    """Else it means something else, and what was sent says how much less to try."""
    room, model = Room(kit.storage.archive, kit.bus), RawModel()
    room.learn(model, ContextExceeded("too long", limit=limit), sent=sent)
    assert room.context(model) == learnt


def no_tool() -> Tool:
    raise AssertionError("a tool that is only told about is not made")


SCHEMA = f'{{"tool": "{"x" * 300}"}}'
ONE = Registry([Offer(Advert("think", ("think",), SCHEMA, consolidated=False), no_tool)])
WHOLE = -(-len(ONE.short_schemas(10_000)) // 4)
"""The tokens of a short list of tools in which the one tool is whole."""


@pytest.mark.requirement("room:small-windows")
@pytest.mark.parametrize(
    ("context", "most", "left"), [(12_000, 5_200, 4_200), (1_200, 464, 420), (1_100, 404, 385)]
)
def test_prompt_and_tools_are_told_whole_where_they_leave_messages_their_share_of_the_context(
    kit: Kit, context: int, most: int, left: int
) -> None:
    """``most`` tokens may both take together; else the short prompt and its tools have ``left``."""

    def told(context: int | None, size: int, short: int) -> tuple[str, bool]:
        """How the system prompt begins, and whether the tool is whole."""
        system = "whole " + "w" * (size * 4 - len(ONE.schemas_json) - len("whole "))
        injectors = Injectors((), kit.storage.reminders)
        brief = "short " + "s" * (short * 4 - len("short "))
        requests = RequestBuilder(system, "", injectors, kit.board, short_system=lambda: brief)
        builder = opening(requests, ONE, context)
        return builder.system.split()[0], SCHEMA in builder.tools_json

    assert told(context, most, 2) == ("whole", True)
    assert told(context, most + 1, left - WHOLE) == ("short", True)
    assert told(context, most + 1, left - WHOLE + 1) == ("short", False)
    assert told(None, most + 1, 2) == ("whole", True)


@pytest.mark.requirement("room:fits")
def test_the_limit_is_what_was_learnt_else_what_the_person_said_else_what_the_model_says(
    kit: Kit,
) -> None:
    model, other = RawModel(), RawModel()
    other.name = "other"
    history = History(kit.storage.conversations, kit.conversation)
    history.append(UserMessage("x" * 4 * 96))
    room = Room(kit.storage.archive, kit.bus)
    assert (room.context(model), room.limit(model, fixed=1)) == (None, None)
    assert (room.share(history, model, fixed=1), room.fit(history, model, fixed=1)) == (0.0, False)
    model.context_tokens = 1_000
    assert (room.context(model), room.limit(model, fixed=200)) == (1_000, 400)
    assert room.share(history, model, fixed=200) == 0.25
    said = Room(kit.storage.archive, kit.bus, context_tokens=2_000)
    assert said.context(model) == 2_000
    said.learn(model, ContextExceeded("too long", limit=3_000), sent=4_000)
    assert (said.context(model), said.context(other)) == (3_000, 2_000)
