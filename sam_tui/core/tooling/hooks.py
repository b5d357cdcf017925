"""Asks hooks at events, and combines their answers: they can only tighten what the guard allows."""

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sam_tui.core.accesses import CommandAccess, LocatedAccess
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.outside_access import OutsideRun as CommandRun
from sam_tui.core.authorization.request import Request, no_preview
from sam_tui.core.bus import Bus
from sam_tui.core.events import DecisionMade, HookFinished, HookStarted, Noticed
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.inquiry import ApprovalRequest, Inquiry
from sam_tui.core.ports.hooks import (
    Hook,
    HookAnswer,
    HookConfinement,
    HookEvent,
    Hooks,
    HookWord,
    Occasion,
)
from sam_tui.core.ports.policy import DecisionLog
from sam_tui.core.text.plain import gist, plain
from sam_tui.core.tooling.contract import ToolResult
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.questions import OutsideQuestions
from sam_tui.core.tooling.redaction import masked_decision
from sam_tui.core.verdict import Decision, Outcome

LONGEST = 10_000
"""The most characters of one hook's text that the model gets."""
LONGEST_INPUT = 200_000
"""The most characters of a result that hooks get."""
_RULE = 160
_WHOSE = {
    "user": "A hook of the person's",
    "project": "A hook of this folder's",
    "bundle": "A hook of a bundle",
}
RUN_HOOK = "hooks.run"
"""The operation as which a folder's hook is asked about if the kernel confines nothing."""


@dataclass(frozen=True, slots=True)
class Asker:
    """For whom hooks run: a call, or a turn, which gets a generated ``call``."""

    conversation: ConversationId
    call: CallId
    who: str = ""
    """The subagent whose turn it is; empty for the agent."""

    @classmethod
    def of_turn(cls, conversation: ConversationId, who: str) -> "Asker":
        """The asker for events that are not calls."""
        return cls(conversation, CallId(mint("hook")), who)


@dataclass(frozen=True, slots=True)
class HooksVerdict:
    """The combined answer of all hooks of an event, fit for the model and for people.

    ``rule`` names the hook that decided, ``notes`` are for the model, ``halt`` ends the turn.
    """

    word: HookWord = ""
    reason: str = ""
    rule: str = ""
    notes: tuple[str, ...] = ()
    halt: str = ""
    updated: Mapping[str, object] | None = None
    """The input that replaces the call's; None to leave it."""
    rewriter: str = ""
    """The hook that replaced the input, in words; empty if none did."""


@dataclass(frozen=True, slots=True)
class Hooking:
    """Runs the hooks of one runtime and combines their answers."""

    hooks: Hooks
    guard: Guard
    log: DecisionLog
    bus: Bus
    own_yes: bool = True
    """Whether the person's hooks may allow calls: not if commands could write the file of these hooks."""

    async def ask(
        self,
        event: HookEvent,
        asker: Asker,
        fields: Mapping[str, object],
        *,
        subject: str = "",
        accesses: tuple[LocatedAccess, ...] = (),
    ) -> HooksVerdict:
        """Run the hooks of an event side by side. Cancelling ends them all before it returns."""
        waiting = self.hooks.awaiting(event, subject)
        for problem in self.hooks.problems():
            self._warn(asker, problem)
        if not waiting:
            return HooksVerdict()
        fields = self.guard.shield.mask_data(fields)
        fields = {"permission_mode": self.guard.policy.mode, **fields}
        occasion = Occasion(event, asker.conversation, fields, subject, accesses)
        answers: dict[int, HookAnswer] = {}

        async def run(index: int, hook: Hook) -> None:
            answers[index] = await self._run(hook, occasion, asker)

        try:
            async with asyncio.TaskGroup() as group:
                for index, hook in enumerate(waiting):
                    group.create_task(run(index, hook))
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None
        return self._together([answers[index] for index in range(len(waiting))], asker)

    def beside(self, inquiry: Inquiry) -> Coroutine[object, object, None] | None:
        """Return a coroutine that informs hooks about a question to the person; None if no hook listens."""
        request = inquiry.request
        if isinstance(request, ApprovalRequest):
            kind, words = "permission_prompt", f"Permission is needed: {request.summary}"
        else:
            kind, words = "question", request.prompt
        if not self.hooks.awaiting("Notification", kind):
            return None
        asker = Asker(inquiry.conversation, inquiry.call)
        return self._notify(asker, {"message": words, "notification_type": kind}, kind)

    async def _notify(self, asker: Asker, fields: Mapping[str, object], kind: str) -> None:
        await self.ask("Notification", asker, fields, subject=kind)

    def call(self, request: Request, arguments: object) -> "HookedCall":
        """The hooks of one call; ``arguments`` are its arguments as JSON values."""
        return HookedCall(self, request, arguments)

    def warn(self, request: Request, text: str) -> None:
        """Show the person the hooks' remarks on a call."""
        self._warn(Asker(request.conversation, request.call, request.asker), text)

    def record(self, asker: Asker, decision: Decision) -> None:
        """Record a decision that hooks caused."""
        decision = replace(decision, workspace=self.guard.workspace.root)
        decision = masked_decision(decision, (), self.guard.shield)
        self.log.record(asker.conversation, asker.call, decision)
        self.bus.publish(DecisionMade(asker.conversation, asker.call, decision))

    def clean(self, text: str) -> str:
        """A hook's text without secrets, control characters and imitated tags."""
        # More than is shown, so that no secret is cut where it ends; not the megabytes after it.
        masked = neutralise(self.guard.shield.redact(plain(text[: 4 * LONGEST])))
        if len(masked) <= LONGEST and len(text) <= 4 * LONGEST:
            return masked
        left = max(len(text), len(masked)) - LONGEST
        return f"{masked[:LONGEST]}\n[… {left} more characters of the hook left out …]"

    async def _run(self, hook: Hook, occasion: Occasion, asker: Asker) -> HookAnswer:
        refusal = await self._refusal(hook, asker)
        if refusal:
            return HookAnswer(hook, warning=f"was not run: {refusal}")
        run, name = mint("hook"), self._name(hook)
        where = (asker.conversation, asker.call, run, hook.event, name)
        self.bus.publish(HookStarted(*where))
        answer = HookAnswer(hook, warning="was cancelled")
        try:
            answer = await self.hooks.run(hook, occasion, self._confinement(hook, asker))
        finally:
            outcome = "failed" if answer.warning else answer.word or "agreed"
            reason = self.clean(answer.warning or answer.reason)
            self.bus.publish(HookFinished(*where, outcome, reason, answer.seconds))
        return answer

    async def _refusal(self, hook: Hook, asker: Asker) -> str:
        """Return why a folder's hook may not run. Without a kernel sandbox the guard is asked."""
        if hook.source == "user" or self.hooks.confined:
            return ""
        if hook.event == "Notification":
            return "there is no sandbox for it here, and another question is open"
        request = Request(
            asker.conversation,
            asker.call,
            RUN_HOOK,
            f"Run a hook of this {'bundle' if hook.bundle else 'folder'}: {self._name(hook)}",
            (LocatedAccess(CommandAccess(hook.command), None),),
            no_preview,
            asker.who,
        )
        decision = await self.guard.decide(request)
        self.record(asker, decision)
        return "" if decision.allowed else decision.reason

    def _confinement(self, hook: Hook, asker: Asker) -> HookConfinement:
        """Plan mode writes nothing, so its hooks write to their temporary folder alone."""
        if self.guard.policy.mode == "plan":
            return HookConfinement((), self.guard.network, None)
        if hook.event == "Notification":  # its own question would cause another notification
            return HookConfinement(self.guard.workspace.roots, self.guard.network, None)
        run = CommandRun(
            asker.conversation,
            asker.call,
            f"hooks.{hook.event}",
            f"hook: {self._name(hook)}",
            asker.who,
        )
        questions = OutsideQuestions(self.guard, run, lambda decision: self.record(asker, decision))
        return HookConfinement(self.guard.workspace.roots, self.guard.network, questions.ask)

    def _together(self, answers: Sequence[HookAnswer], asker: Asker) -> HooksVerdict:
        """One answer of many: no before ask before yes, and only the person's own hooks say yes."""
        for answer in answers:
            self._tell(answer, asker)
        rewriting = [answer for answer in answers if answer.updated is not None]
        answers = _about_one_input(answers, rewriting)
        decisive = min(filter(self._counts, answers), key=_strictness, default=None)
        halting = next((answer for answer in answers if answer.halt), None)
        named = decisive or halting
        return HooksVerdict(
            decisive.word if decisive else "",
            self._reasons(decisive.word, answers) if decisive else "",
            self._name(named.hook) if named else "",
            tuple(self._note(answer) for answer in answers if answer.context),
            self.clean(halting.halt) if halting else "",
            rewriting[0].updated if rewriting else None,
            self._name(rewriting[0].hook) if rewriting else "",
        )

    def _counts(self, answer: HookAnswer) -> bool:
        """Whether a hook decides anything with its answer, and may."""
        may_allow = self.own_yes and answer.hook.source == "user"
        return bool(answer.word) and (answer.word != "allow" or may_allow)

    def _reasons(self, word: HookWord, answers: Sequence[HookAnswer]) -> str:
        """The reasons of the hooks that gave this answer, each once."""
        reasons = dict.fromkeys(a.reason for a in answers if a.word == word and a.reason)
        return self.clean("\n".join(reasons))

    def _tell(self, answer: HookAnswer, asker: Asker) -> None:
        name = self._name(answer.hook)
        if answer.warning:
            self._warn(asker, f"The {answer.hook.event} hook “{name}” {answer.warning}")
        if answer.message:
            self._warn(asker, f"The {answer.hook.event} hook “{name}” says: {answer.message}")

    def _warn(self, asker: Asker, text: str) -> None:
        self.bus.publish(Noticed(asker.conversation, "warning", self.clean(text)[:2000]))

    def _note(self, answer: HookAnswer) -> str:
        whose = _WHOSE[answer.hook.source]
        return f"{whose} ({self._name(answer.hook)}) says:\n{self.clean(answer.context)}"

    def _name(self, hook: Hook) -> str:
        return self.guard.shield.redact(gist(hook.command, _RULE))


def _about_one_input(
    answers: Sequence[HookAnswer], rewriting: Sequence[HookAnswer]
) -> Sequence[HookAnswer]:
    """The answers that count where some change the input: a yes to another one is none to theirs."""
    if not rewriting:
        return answers
    first = rewriting[0]
    if any(answer.updated != first.updated for answer in rewriting[1:]):
        return [replace(first, word="deny", reason="hooks want different inputs for this call")]
    return [a if a in rewriting or a.word != "allow" else replace(a, word="") for a in answers]


def _other_operation(operation: str, updated: Mapping[str, object]) -> str:
    """Another operation that an input names, which neither hooks nor tools were asked about; or nothing."""
    tool, _, name = operation.partition(".")
    other = updated.get("operation", name)
    return f"{tool}.{gist(str(other), _RULE)}" if name and other != name else ""


def _strictness(answer: HookAnswer) -> int:
    """The lower, the stricter; of equals the first counts."""
    return ("deny", "ask", "allow").index(answer.word)


@dataclass(slots=True)
class HookedCall:
    """The hooks of one call: those before it may deny it, those after it may object to its result."""

    hooking: Hooking
    request: Request
    arguments: object
    notes: list[str] = field(default_factory=list[str])
    """Texts for the model, added to the result."""
    halt: str = ""
    """Why the turn ends after this call; empty if it continues."""
    verdict: HooksVerdict | None = None
    """The verdict of the hooks before the call; None if there are none."""

    async def rewritten(self) -> str:
        """Ask the hooks; the input that they want in place of the call's as JSON, or nothing.

        Hooks do not learn of calls that the guard refuses.
        """
        guard, request = self.hooking.guard, self.request
        explained = guard.explain(request.conversation, request.operation, request.accesses)
        if explained.outcome == "deny":
            return ""
        self.verdict = verdict = await self._ask("PreToolUse", {})
        updated = verdict.updated
        if updated is None or updated == self.arguments or verdict.word == "deny" or verdict.halt:
            return ""
        if other := _other_operation(request.operation, updated):
            reason = f"it wants {other} in place of this call; a hook changes the input alone"
            self.verdict = replace(verdict, word="deny", rule=verdict.rewriter, reason=reason)
            return ""
        self.arguments = updated
        text = json.dumps(updated, ensure_ascii=False)
        words = f"A hook ({verdict.rewriter}) changed the input of this call to:"
        self.notes.append(f"{words}\n{self.hooking.clean(text)}")
        return text

    def judge(self, request: Request) -> None:
        """Judge the call anew after a hook changed its input."""
        words = f"A hook ({self.verdict.rewriter if self.verdict else ''}) changed a call"
        self.hooking.warn(request, f"{words}: {self.request.summary} became {request.summary}")
        self.request = request

    async def decide(self) -> Decision:
        """The guard's decision, unless a hook objects."""
        guard, request, verdict = self.hooking.guard, self.request, self.verdict
        if verdict is None:
            return await guard.decide(request)
        if verdict.word == "deny" or verdict.halt:
            return self._decision("deny", verdict, verdict.reason or verdict.halt)
        # Hooks take time: their yes does not allow a call that is refused by now.
        explained = guard.explain(request.conversation, request.operation, request.accesses)
        if verdict.word == "allow" and explained.outcome == "ask":
            return self._decision(
                "allow", verdict, verdict.reason or "a hook of the person's allows it"
            )
        if verdict.word != "ask":
            return await guard.decide(request)
        why = f"a hook wants you to be asked: {verdict.reason or verdict.rule}"
        decision = await guard.decide(replace(request, then=f"And {why}."))
        answered = decision.by == "user" and not decision.rule.startswith("grant:")
        if answered or not decision.allowed:
            return decision
        return await guard.confirm(request, why, verdict.rule)

    async def after(self, result: ToolResult) -> None:
        """Tell the hooks how the call ended; their objections reach the model."""
        # More than is passed on, so that no secret is cut where it ends.
        text = self.hooking.guard.shield.redact(result.text[: 2 * LONGEST_INPUT])
        response = {"success": result.ok, "content": text[:LONGEST_INPUT]}
        verdict = await self._ask("PostToolUse", {"tool_response": response})
        if verdict.word == "deny":
            self.notes.append(
                f"A hook ({verdict.rule}) objects to what this did:\n{verdict.reason}"
            )

    async def _ask(self, event: HookEvent, fields: Mapping[str, object]) -> HooksVerdict:
        request = self.request
        facts = {
            "tool_name": request.operation,
            "tool_input": self.arguments,
            "tool_use_id": request.call,
            **fields,
        }
        asker = Asker(request.conversation, request.call, request.asker)
        verdict = await self.hooking.ask(
            event, asker, facts, subject=request.operation, accesses=request.accesses
        )
        self.notes += verdict.notes
        self.halt = self.halt or verdict.halt
        return verdict

    def _decision(self, outcome: Outcome, verdict: HooksVerdict, reason: str) -> Decision:
        return Decision(
            self.request.operation,
            outcome,
            "hook",
            verdict.rule,
            reason,
            asker=self.request.asker,
        )
