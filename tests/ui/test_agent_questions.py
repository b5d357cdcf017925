"""Questions of the agent: answered in words, by choices, or not at all. Costs 2 s of processor time."""

import pytest

from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.widgets.inquiries.question import QuestionPanel
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_inquiries import ask, panel, shown, words


@pytest.mark.requirement("ui:question")
async def test_a_question_of_the_agent_is_answered_in_many_lines(
    stage: Stage, model: RawModel
) -> None:
    question = {"prompt": "Which [colour]?", "context": "for the roof"}
    model.answers += [calls(("user_collaboration", question)), [TextDelta("fine")]]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("paint")
        found = await shown(me)
        assert isinstance(found, QuestionPanel)
        assert "Which [colour]?" in words(found) and "for the roof" in words(found)
        await me.pilot.press("enter", "r", "e", "d", "shift+enter", "1")
        assert panel(me) is found
        await me.pilot.press("enter")
        await me.until(lambda: "fine" in me.transcript())
        assert "red\n1" in next(m.text for m in model.seen[-1] if m.kind == "tool")


@pytest.mark.requirement("ui:question", "workflow:choices")
async def test_an_answer_that_is_no_choice_stays_in_its_place(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = ask(me, Question("Colour?", choices=("red", "rollback:plan")))
        found = await shown(me)
        assert "1 red" in words(found) and "2 rollback:plan" in words(found)
        await me.pilot.press(*"blue", "enter")
        said = "That answer is not accepted. Answer with one of: red, rollback:plan."
        await me.until(lambda: said in str(found.border_subtitle))
        assert panel(me) is found
        await me.pilot.press("ctrl+u", *"Rollback plan", "enter")
        assert (await asking).answer == Reply("rollback:plan")
        asking = ask(me, Question("Colour?", choices=("2", "red", "blue")))
        found = await shown(me)
        assert "2 red" in words(found)
        await me.pilot.press("3", "enter")
        assert (await asking).answer == Reply("blue")


@pytest.mark.requirement("ui:question-choices")
async def test_choices_are_marked_taken_and_sent_and_the_card_shows_the_answer(
    stage: Stage, model: RawModel
) -> None:
    question = {
        "prompt": "Which **colours**?\n\n- for `roof`",
        "choices": ["red", "bright [blue]", "green", "red"],
        "several": True,
    }
    words_only = {"prompt": "Which?", "choices": ["red", "blue"]}
    model.answers += [
        calls(("user_collaboration", question)),
        calls(("user_collaboration", words_only)),
        calls(("user_collaboration", words_only)),
        [TextDelta("fine")],
    ]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("paint")
        found = await shown(me)
        await me.until(lambda: "• for roof" in me.drawn())
        assert "Which colours?" in me.drawn() and "3 [ ] green" in me.drawn()
        await me.pilot.press("enter", "down", "space", "down", "down", "down", "space")
        await me.until(lambda: "▸ 3 [x] green" in me.drawn())
        await me.pilot.click(found.query(".choice").last())
        await me.until(lambda: "▸ 3 [ ] green" in me.drawn())
        await me.pilot.press("up", "space", "enter")
        await me.until(lambda: panel(me) is not None and panel(me) is not found)
        await shown(me)
        await me.pilot.press("up", "enter")
        await me.until(lambda: len(model.seen) == 3)
        found = await shown(me)
        await me.pilot.press(*"none of it", "enter")
        await me.until(lambda: "fine" in me.transcript())
        results = [m.text for m in model.seen[-1] if m.kind == "tool"]
        heads = [text.partition("\n\n")[0] for text in results]
        said = ["red\nbright [blue]", "blue", "none of it"]
        assert heads == [f"User response: {words}" for words in said]
        await me.until(lambda: "bright [blue]" in me.drawn())


@pytest.mark.requirement("ui:question-choices")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [("13", "a\nc"), ("3,1", "c\na"), ("3 1", "c\na"), ("2", "b")],
)
async def test_numbers_take_several_choices_however_they_are_parted(
    stage: Stage, typed: str, answer: str
) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        asking = ask(me, Question("Which?", choices=("a", "b", "c"), several=True))
        await shown(me)
        await me.until(
            lambda: (
                "Space or numbers" in me.drawn() and "the turn ─" in me.drawn().replace("━", "─")
            )
        )
        await me.pilot.press(*typed, "enter")
        assert (await asking).answer == Reply(answer)


@pytest.mark.requirement("ui:question", "ui:cancel")
async def test_escape_at_a_question_cancels_the_turn(stage: Stage, model: RawModel) -> None:
    model.answers += [calls(("user_collaboration", {"prompt": "Which?"}))]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("paint")
        await shown(me)
        await me.pilot.press("escape")
        await me.until(lambda: panel(me) is None and not me.bench.turns.running)
        assert "Cancelled." in me.transcript()
