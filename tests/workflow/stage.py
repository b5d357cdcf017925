"""Runs of our own agent on the steps of an execution, with a scripted model."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.core.agent.budget import Budget
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Inquiry, Reply
from sam_tui.core.messages import ToolMessage
from sam_tui.core.ports.model import Model
from sam_tui.core.workflow.drivers.run import RunContext, StepHandOut
from sam_tui.core.workflow.drivers.runner import Runner
from sam_tui.core.workflow.views import ExecutionView
from tests.fakes.engine_kit import Hand, Kit, open_engine
from tests.workflow.bench import NO_OTHER_MODELS, Bench, open_kit

Play = dict[str, Any]


def on(step: str, text: str | Play = "done", *calls: tuple[str, Play], **more: Any) -> list[Play]:
    """What the model plays in the conversation of a step: the calls one by one, then the answer."""
    when = {"user": f"step {step},"}
    plays: list[Play] = [
        {"when": when, "calls": [{"name": name, "arguments": arguments}]}
        for name, arguments in calls
    ]
    said = text if isinstance(text, str) else json.dumps(text)
    return [*plays, {"when": when, "text": said, **more}]


class Stage:
    """A kit with example tools, a scripted model and a runner over a bench."""

    def __init__(
        self, bench: Bench, folder: Path, *plays: Sequence[Play], clock: Hand | None = None
    ) -> None:
        self.bench = bench
        self.clock = clock
        self.kit: Kit = open_kit(folder)
        self.model: Model | None = ScriptedModel([play for part in plays for play in part])
        self.said: list[str] = []
        self.saved: list[str] = []
        self.asked: list[Inquiry] = []
        self.hand_out: StepHandOut | None = None
        self.budget = Budget()

    def runner(self, answer: Callable[[Inquiry], Reply | None] | None = None) -> Runner:
        """A runner whose questions are answered by ``answer``, or by nobody."""

        def respond(inquiry: Inquiry) -> Reply | None:
            self.asked.append(inquiry)
            return answer(inquiry) if answer else None

        inquiries = Inquiries(self.kit.bus, self.bench.clock, attended=False, responder=respond)
        crew = RunContext(
            open_engine(self.kit, clock=self.clock),
            self.kit.storage.conversations,
            inquiries,
            self.model,
            NO_OTHER_MODELS,
            ConversationId(""),
            self.said.append,
            save=lambda path, _: self.saved.append(path),
            hand_out=self.hand_out,
            budget=self.budget,
        )
        return Runner(self.bench.workflows, crew, self.kit.bus)

    async def run(
        self, execution: str, answer: Callable[[Inquiry], Reply | None] | None = None
    ) -> ExecutionView:
        """Drive an execution as far as it goes."""
        return await self.runner(answer).run(execution)

    def results(self, execution: str) -> list[str]:
        """Every tool result of every step's conversation."""
        return [
            m.text
            for attempt in self.bench.workflows.records.history(execution)
            for m in self.kit.storage.conversations.messages(ConversationId(attempt.conversation))
            if isinstance(m, ToolMessage)
        ]
