"""Subagents: own history and budget, fewer tools, cost rolled up, questions that say who asks."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sam_tui.core.agent.budget import Budget
from sam_tui.core.agent.subagents import Report, Sender, SubagentAssignment, Subagents, Surroundings
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.events import InquiryOpened
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import ApprovalRequest
from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.prompt.attachments import Attachments
from sam_tui.core.usage import Usage
from tests.fakes.engine_kit import Kit, Piece, RawModel, calls, open_engine


class Crew:
    """Subagents over a kit, whose parent turn runs."""

    def __init__(self, kit: Kit, *answers: Sequence[Piece]) -> None:
        self.kit = kit
        self.model = RawModel(*answers)
        self.engine: TurnEngine = open_engine(kit)
        self.opened: list[str] = []
        self.told: list[str] = []
        self.subagents = Subagents(
            kit.storage.conversations,
            self.engine.budgets,
            Surroundings(
                lambda: self.engine,
                self._open,
                str,
                self._system,
                kit.storage.memories.set_topic,
            ),
        )
        self.sender = Sender(kit.conversation, CallId("call_1"), self.told.append)

    def _system(self, prompt: str, _: str) -> str:
        return f"the prompt {prompt}"

    def _open(self, name: str, options: object) -> RawModel:
        self.opened.append(f"{name} {options}")
        return self.model

    async def run(self, errand: SubagentAssignment) -> Report:
        """One errand for the kit's conversation, which is running with the same model."""
        self.budget = Budget(5)
        with self.engine.budgets.running(self.kit.conversation, self.budget, self.model):
            return await self.subagents.run(self.sender, errand)


@pytest.mark.requirement("subagent:isolated")
async def test_a_subagent_has_its_own_history_and_returns_its_last_words(kit: Kit) -> None:
    crew = Crew(kit, calls(("ping", {})), [TextDelta("found it"), UsageDelta(Usage(7, cost=0.5))])
    report = await crew.run(SubagentAssignment("look", "carefully"))
    assert (report.reason, report.answer, report.steps) == ("finished", "found it", 2)
    assert report.tools == ("ping",)
    assert kit.storage.conversations.messages(kit.conversation) == []
    own = kit.storage.conversations.messages(report.conversation)
    assert own[0].text == "look\n\ncarefully"
    assert crew.told == [f"At work as {report.conversation}\n", "Pinging\n"]


@pytest.mark.requirement("subagent:isolated")
async def test_it_takes_another_system_prompt_and_shares_a_topics_memory(kit: Kit) -> None:
    crew = Crew(kit, [TextDelta("ok")])
    report = await crew.run(SubagentAssignment("look", system_prompt="reviewer", topic="shared"))
    assert crew.model.systems == ["the prompt reviewer"]
    assert report.conversation in kit.storage.memories.conversations("shared")


@pytest.mark.requirement("subagent:isolated")
async def test_no_tools_join_it_that_come_while_its_parent_works(kit: Kit) -> None:
    joined: list[ConversationId] = []

    async def arrivals(conversation: ConversationId) -> None:
        joined.append(conversation)

    crew = Crew(kit, [TextDelta("ok")])
    crew.engine = replace(crew.engine, arrivals=arrivals)
    assert (await crew.run(SubagentAssignment("look"))).answer == "ok"
    assert joined == []


@pytest.mark.requirement("subagent:isolated")
async def test_names_of_files_in_its_assignment_are_words(kit: Kit) -> None:
    def attachments() -> Attachments:
        raise AssertionError("files are read for messages of a person alone")

    crew = Crew(kit, [TextDelta("ok")])
    crew.engine = replace(crew.engine, attachments=attachments)
    assert (await crew.run(SubagentAssignment("look at @notes.txt"))).answer == "ok"


@pytest.mark.requirement("subagent:workflow-mode")
@pytest.mark.parametrize(("mode", "steps"), [(True, 2), (False, 1), (None, 1)])
async def test_it_goes_on_by_its_own_word_only_in_workflow_mode(
    kit: Kit, mode: bool | None, steps: int
) -> None:
    crew = Crew(kit, [TextDelta('{"status": "continue"}')], [TextDelta("end")])
    report = await crew.run(SubagentAssignment("look", workflow_mode=mode))
    assert report.steps == steps
    assert crew.subagents.workflow_mode(report.conversation) is None


@pytest.mark.requirement("subagent:budget")
async def test_its_budget_holds_and_its_cost_is_its_parents(kit: Kit) -> None:
    usage = UsageDelta(Usage(10, cost=0.25))
    crew = Crew(kit, *[[*calls(("ping", {})), usage]] * 2)
    report = await crew.run(SubagentAssignment("loop", max_steps=2))
    assert (report.reason, report.steps) == ("limit", 2)
    assert crew.budget.usage.cost == 0.5
    assert crew.budget.steps == 0


@pytest.mark.requirement("subagent:fewer-tools")
async def test_withheld_tools_are_refused_where_they_run(kit: Kit) -> None:
    crew = Crew(kit, calls(("terminal_operations", {}), ("ping", {})), [TextDelta("ok")])
    names = {
        tool.name for tool in crew.engine.narrowed({"ping"}, asker="x").executor.registry.tools
    }
    assert names == {"voice"}
    report = await crew.run(SubagentAssignment("try"))
    results = [m.text for m in kit.storage.conversations.messages(report.conversation)]
    assert any("no tool called 'terminal_operations'" in text for text in results)


@pytest.mark.requirement("subagent:asks-by-name")
async def test_its_approvals_say_who_asks(kit: Kit) -> None:
    crew = Crew(kit, calls(("voice.note", {"filePath": "../x"})), [TextDelta("ok")])
    await crew.run(SubagentAssignment("write  the\nreport"))
    asked = [e.inquiry.request for e in kit.events.drain() if isinstance(e, InquiryOpened)]
    assert isinstance(asked[0], ApprovalRequest)
    assert asked[0].asker == "subagent: write the report"


@pytest.mark.requirement("subagent:not-listed")
async def test_its_conversation_opens_by_id_but_is_not_offered(kit: Kit) -> None:
    crew = Crew(kit, [TextDelta("ok")])
    report = await crew.run(SubagentAssignment("look"))
    store = kit.storage.conversations
    assert store.find(report.conversation) is not None
    assert store.latest(kit.guard.workspace.root) is None


@pytest.mark.requirement("subagent:cancel")
async def test_cancelling_the_parent_ends_it(kit: Kit) -> None:
    gate = asyncio.Event()
    crew = Crew(kit, [TextDelta("so"), gate])
    task = asyncio.ensure_future(crew.run(SubagentAssignment("wait")))
    await kit.events.batch()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert crew.engine.budgets.get(ConversationId("c")) is None


@pytest.mark.requirement("subagent:isolated")
async def test_another_model_or_temperature_is_opened_for_it(kit: Kit) -> None:
    crew = Crew(kit, [TextDelta("ok")])
    await crew.run(SubagentAssignment("look", model="other", options={"temperature": 0.2}))
    assert crew.opened == ["other {'temperature': 0.2}"]
