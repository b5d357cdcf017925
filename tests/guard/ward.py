"""A guard over a real folder with the whole policy, and the person who answers it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import Access
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Explanation, Guard, Request
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.policy import PermissionMode, Policy
from sam_tui.core.authorization.request import GuardTerms
from sam_tui.core.authorization.rules.rule import Layer, Rule, RuleSet
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Answer, ApprovalRequest, Inquiry
from sam_tui.core.ports.policy import DecisionHistory, RuleStore
from sam_tui.core.verdict import Decision

RUN = "terminal_operations.run_command"
READ = "file_operations.read_file"
CREATE = "file_operations.create_file"
ALICE = ConversationId("alice")


class Hand(SystemClock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 100.0
        self.wall = 1_700_000_000.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> float:
        return self.wall


@dataclass
class Ward:
    """A workspace beside an outside folder and a home, and a guard with every part of the policy."""

    folder: Path
    mode: PermissionMode = "ask"
    sandboxed: bool = True
    trusted: bool = False
    rules: str = ""
    layer: Layer = "user"
    history: DecisionHistory | None = None
    saved: RuleStore | None = None
    clock: Hand = field(default_factory=Hand)
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    answers: list[Answer] = field(default_factory=list[Answer])

    def __post_init__(self) -> None:
        for name in ("ws/sub", "out", "home/.ssh", "own"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.workspace = Workspace.open(str(self.folder / "ws"))
        self.home = str(self.folder / "home")
        self.reader = CommandReader(BashParser(), root=self.workspace.root, home=self.home)
        self.inquiries = Inquiries(Bus(), self.clock, attended=False, responder=self._respond)
        self.grants = Grants(self.clock)
        self.guard = Guard(
            self.workspace,
            self.policy(),
            self.grants,
            self.inquiries,
            GuardTerms(history=self.history, saved=self.saved),
        )

    def parsed(self) -> tuple[Rule, ...]:
        """The rules of the text."""
        return parse_policy(
            self.rules, "policy.toml", self.layer, root=self.workspace.root, home=self.home
        ).rules

    def policy(self) -> Policy:
        """The whole policy."""
        rules = RuleSet.of(self.parsed(), workspace=self.workspace.root, trusted=self.trusted)
        return Policy(
            self.mode,
            self.sandboxed,
            (str(self.folder / "own"),),
            secrets=Secrets(self.home),
            rules=rules,
            reader=self.reader,
            trusted=self.trusted,
            clock=self.clock.now,
        )

    def explain(self, *accesses: Access, operation: str = RUN) -> Explanation:
        """What would be decided."""
        return self.guard.explain(ALICE, operation, self.guard.locate(accesses))

    async def decide(
        self, *accesses: Access, operation: str = RUN, conversation: ConversationId = ALICE
    ) -> Decision:
        """The decision on a call."""
        located = self.guard.locate(accesses)
        request = Request(conversation, CallId("c1"), operation, "Doing", located, lambda: ())
        return await self.guard.decide(request)

    def choices(self) -> Sequence[str]:
        """The ids that the last question offered."""
        return [choice.id for choice in self.asked[-1].choices]

    def _respond(self, inquiry: Inquiry) -> Answer | None:
        assert isinstance(inquiry.request, ApprovalRequest)
        self.asked.append(inquiry.request)
        return self.answers.pop(0) if self.answers else None
