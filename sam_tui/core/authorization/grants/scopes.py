"""The scopes that a question offers, in words, each with the past calls that it would have covered."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sam_tui.core.accesses import CommandAccess, LocatedAccess, Type
from sam_tui.core.authorization.commands.parts import CommandPart
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.commands.table import Program, builtin_table
from sam_tui.core.authorization.grants.grants import (
    FOREVER,
    lies_in,
    pattern_covers,
    reaches,
    wide_as_it_is,
)
from sam_tui.core.authorization.network.addresses import refusal
from sam_tui.core.authorization.network.hosts import (
    CONNECTION,
    HostEntry,
    address_of,
    connected,
    family,
    host_of,
)
from sam_tui.core.authorization.policy.access_stages import LOCAL_RULE
from sam_tui.core.authorization.policy.judgement import Judgement, PolicyState
from sam_tui.core.authorization.rules.patterns import CommandPattern
from sam_tui.core.authorization.rules.rule import LAYERS
from sam_tui.core.inquiry import Approval, PastCall, ScopeChoice, ScopeSpan
from sam_tui.core.ports.policy import DecisionEntry, SavedGrant
from sam_tui.core.verdict import Decision

PAST_DECISIONS = 300
"""How many past decisions of an operation are compared with an offered scope."""
_PAST_SHOWN = 30
_LONGEST_TARGET = 400
_REHEARSED = (
    "try it on a copy of the workspace, see its changes, then apply or drop them; what it "
    "sends over the network is really sent"
)
_SITE = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]+)?/")
"""The origin of an address in plain spelling. An address in another spelling is granted only as it is."""


@dataclass(frozen=True, slots=True)
class ScopeOffer:
    """A choice of the question, and the grants it becomes: one for each target, or one by pattern."""

    choice: ScopeChoice
    targets: tuple[str, ...] = ()
    pattern: CommandPattern | HostEntry | None = None
    saved: tuple[SavedGrant, ...] = ()
    uses: int | None = None
    hosts: tuple[str, ...] = ()
    """The hosts that the offer covers, on every port; empty if it covers targets or a pattern."""

    def covers(self, target: str, reader: CommandReader | None) -> bool:
        """Whether it would cover a target of the past, as the decision log has it."""
        if self.hosts:
            return any(reaches(HostEntry.of(host), target) for host in self.hosts)
        if isinstance(self.pattern, HostEntry):
            return reaches(self.pattern, target)
        if self.pattern is not None:
            if reader is None or not target.startswith("$ "):
                return False
            return pattern_covers(self.pattern, reader.read(target[2:]))
        return any(lies_in(granted, target) for granted in self.targets)


def offers(
    operation: str,
    judgements: Sequence[Judgement],
    state: PolicyState,
    *,
    seconds: float,
    keeps: bool,
    once: str = "this call only",
) -> tuple[ScopeOffer, ...]:
    """The scopes for a question, narrowest first. ``keeps``: whether any can be written down."""
    exact = tuple(judgement.target for judgement in judgements)
    granted = tuple(map(wide_as_it_is, exact))
    timed = f"{_in_question(operation, granted)}, for {_minutes(seconds)}"
    offered = (
        ScopeOffer(ScopeChoice("once", once, "once", exact)),
        ScopeOffer(ScopeChoice("timed", timed, "minutes", exact, seconds=seconds), granted),
    )
    if not all(judgement.plain for judgement in judgements):
        return offered
    # A rule that asks does so every time: a lasting permission would have no effect.
    lasting = keeps and not any(by_file(judgement.rule) for judgement in judgements)
    spans: tuple[ScopeSpan, ...] = ("session", "project", "user") if lasting else ("session",)
    return (*offered, *_spanning(operation, judgements, state, spans))


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def _spanning(
    operation: str, judgements: Sequence[Judgement], state: PolicyState, spans: Sequence[ScopeSpan]
) -> Sequence[ScopeOffer]:
    """The scopes that hold for each of the spans: a tool, hosts, a site, folders or a command prefix."""
    exact = tuple(judgement.target for judgement in judgements)
    if set(exact) == {operation}:
        return [_tool_offer(span, operation, state) for span in spans]
    if _are_connections(exact):
        return _connection_offers(operation, judgements, state, spans)
    if (site := _site(judgements)) is not None:
        exactly_here = _session_offer(f"{operation} on everything at {site}", (site,))
        wider = (_host_offer(span, operation, host_of(site), state) for span in spans[1:])
        return [exactly_here, *wider]
    if folders := _folders(judgements, state):
        return [_folder_offer(span, operation, folders, state) for span in spans]
    pattern = _prefix(judgements)
    return [_pattern_offer(span, operation, pattern, state) for span in spans if pattern]


def _connection_offers(
    operation: str, judgements: Sequence[Judgement], state: PolicyState, spans: Sequence[ScopeSpan]
) -> list[ScopeOffer]:
    """Offer hosts by their names; a connection without one is granted exactly, for the session."""
    hosts = _hosts(judgements)
    if not hosts:
        exact = tuple(judgement.target for judgement in judgements)
        return [_session_offer(f"{operation}, exactly {', '.join(exact)}", exact)]
    return [_host_offer(span, operation, host, state) for host in hosts for span in spans]


def _are_connections(targets: Sequence[str]) -> bool:
    return bool(targets) and all(target.startswith(CONNECTION) for target in targets)


def _session_offer(words: str, targets: tuple[str, ...]) -> ScopeOffer:
    """Exactly these targets until the session ends: nothing is saved."""
    choice = ScopeChoice("session", f"{words}, {HOW_LONG['session']}", "session", targets)
    return ScopeOffer(choice, targets)


def _in_question(operation: str, granted: tuple[str, ...]) -> str:
    """The words for a permission of the call's own targets; a server's tool is its own target."""
    if set(granted) == {operation}:
        return f"{operation} with any arguments"
    if _are_connections(granted):
        listed = ", ".join(target.removeprefix(CONNECTION) for target in granted)
        return f"{operation} to exactly {listed}"
    return f"{operation} on {' and '.join(_paths_covered(granted))}"


def _paths_covered(granted: tuple[str, ...]) -> Iterator[str]:
    """Describe what a set of grants covers, as folders and single paths."""
    folders = [target for target in granted if target.startswith("/") and target.endswith("/")]
    if folders:
        yield f"all of {', '.join(folder.rstrip('/') or '/' for folder in folders)}"
    if exact := [target for target in granted if target not in folders]:
        yield f"exactly {', '.join(exact)}"


def of_next_call(timed: ScopeOffer) -> ScopeOffer:
    """Return the offer for a single later call: what the counted one covers, used once."""
    words = f"{timed.choice.words}, but one call only"
    choice = replace(timed.choice, id="once", words=words, span="once")
    return replace(timed, choice=choice, uses=1)


def timed_words(timed: ScopeChoice, accesses: Sequence[LocatedAccess]) -> str:
    """The coverage of the counted choice in words, for display and record."""
    if not any(isinstance(located.access, CommandAccess | Type) for located in accesses):
        return timed.words
    return f"exactly this: {', '.join(timed.targets)}, for {_minutes(timed.seconds or 0)}"


def rehearsal(judgements: Sequence[Judgement]) -> ScopeOffer:
    """The choice to try a command before it changes anything."""
    targets = tuple(judgement.target for judgement in judgements)
    return ScopeOffer(ScopeChoice("rehearse", _REHEARSED, "once", targets))


def simulated(offer: ScopeOffer, past: Sequence[DecisionEntry], state: PolicyState) -> ScopeOffer:
    """The offer with its figures, from past calls of the operation, newest first."""
    calls = [entry for entry in past if entry.decision.targets]
    if offer.choice.span == "once":
        return replace(offer, choice=replace(offer.choice, considered=len(calls)))
    covered = [entry for entry in calls if _covered(offer, entry.decision.targets, state)]
    decisions = [
        PastCall(_in_words(entry.decision), entry.made_at, _refused(entry.decision))
        for entry in covered[:_PAST_SHOWN]
    ]
    return replace(
        offer,
        choice=replace(
            offer.choice,
            covered=len(covered),
            considered=len(calls),
            refused=sum(_refused(entry.decision) for entry in covered),
            past=tuple(decisions),
        ),
    )


def _covered(offer: ScopeOffer, targets: Sequence[str], state: PolicyState) -> bool:
    """Whether the offer would have answered for a call: for some target, and no other was open."""
    answered = [offer.covers(target, state.reader) for target in targets]
    return any(answered) and all(
        answered_before or state.inside(target)
        for answered_before, target in zip(answered, targets, strict=True)
    )


def _refused(decision: Decision) -> bool:
    return decision.outcome == "deny" and decision.by == "user"


def _in_words(decision: Decision) -> str:
    text = ", ".join(decision.targets)
    return text if len(text) <= _LONGEST_TARGET else text[: _LONGEST_TARGET - 1] + "…"


def command_prefix(part: CommandPart) -> tuple[str, ...]:
    """The words that name the program and subcommand of a command; empty if there are none."""
    words = part.words
    if not words or not part.exact:
        return ()
    program = builtin_table().program(words[0])
    if program.interpreter:
        return _script_prefix(words)
    if _says_nothing(program):
        return ()
    if words[1:2] and words[1] in program.scripts:
        return _started_prefix(part)
    return _first_words(words, 1 if program.prefix is None else program.prefix)


def _started_prefix(part: CommandPart) -> tuple[str, ...]:
    """The same for a program that starts another by its second word, as ``npm exec``."""
    words = part.words
    inner = builtin_table().program(words[2]) if len(words) > 2 else Program()
    if not (_says_nothing(inner) or inner.interpreter):
        return _first_words(words, 3)
    inner_prefix = command_prefix(replace(part, words=words[2:]))
    return (*words[:2], *inner_prefix) if inner_prefix else ()


def _script_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """An interpreter with its module or script; empty where an option comes first."""
    if words[1:2] == ("-m",) and len(words) > 2:
        return words[:3]
    script = words[1] if len(words) > 1 else ""
    return words[:2] if script and not script.startswith("-") else ()


def _first_words(words: tuple[str, ...], count: int) -> tuple[str, ...]:
    """So many words where there are, and none is an option; of ``make`` its name is enough."""
    prefix = words[:count]
    if len(prefix) < count or any(word.startswith("-") for word in prefix[1:]):
        return words if words == ("make",) else ()
    return prefix


def _says_nothing(program: Program) -> bool:
    """Whether the bare name of a program does not show what it will do."""
    return program.prefix == 0 or program.shell or program.wraps is not None


def by_file(rule: str) -> bool:
    """Whether a rule comes from a policy file, so that its questions stay."""
    return rule.partition(":")[0] in LAYERS


def _folders(judgements: Sequence[Judgement], state: PolicyState) -> tuple[str, ...]:
    """The folders around the paths in question; none where one would be too broad to offer."""
    folders = dict.fromkeys(_offered_path(judgement, state) for judgement in judgements)
    return () if "" in folders or len(folders) > 3 else tuple(folders)


def _offered_path(judgement: Judgement, state: PolicyState) -> str:
    """Return the folder around a path in question; empty if none may be offered."""
    target = judgement.target
    if not target.startswith("/"):
        return ""
    if judgement.rule.startswith(LOCAL_RULE):
        return target  # the file alone, not its whole folder
    folder = target if os.path.isdir(target) else os.path.dirname(target)
    if folder.count("/") < 2 or (state.secrets and state.secrets.above(folder)):
        return ""
    holds_root = any(root.startswith(folder.rstrip("/") + "/") for root in state.roots)
    return "" if holds_root else folder


def _site(judgements: Sequence[Judgement]) -> str | None:
    """Return the one site of all these addresses, as ``https://host:port/``; None if there are several."""
    matches = {_SITE.match(judgement.target) for judgement in judgements}
    sites = {match[0] for match in matches if match}
    return sites.pop() if len(sites) == 1 and None not in matches else None


def _hosts(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Return the only host of the connections, and the pattern of its siblings. None are returned if
    each port is another service: for a socket, and for an address that is not public."""
    names = {connected(judgement.target)[0] for judgement in judgements}
    host = names.pop() if len(names) == 1 else ""
    try:
        entry = HostEntry.of(host)
    except ValueError:
        return ()
    address = address_of(entry.host)
    if entry.host == "localhost" or (address is not None and refusal(address)):
        return ()
    return tuple(filter(None, (entry.host, family(entry.host))))


def _prefix(judgements: Sequence[Judgement]) -> CommandPattern | None:
    """The single prefix that covers the command in question."""
    if (
        len(judgements) != 1
        or judgements[0].reading is None
        or not judgements[0].target.startswith("$ ")
    ):
        return None
    reading = judgements[0].reading
    prefixes = {command_prefix(part) for part in reading.parts if not part.calm}
    if len(prefixes) != 1 or () in prefixes:
        return None
    words = prefixes.pop()
    if set("".join(words)) & set("*?["):
        return None
    pattern = CommandPattern(words)
    return pattern if pattern_covers(pattern, reading) else None


HOW_LONG = {
    "session": "in this conversation until it ends",
    "project": "in this folder from now on (stored in your policy file)",
    "user": "everywhere from now on (stored in your policy file)",
}


def _folder_offer(
    span: ScopeSpan, operation: str, folders: tuple[str, ...], state: PolicyState
) -> ScopeOffer:
    names = ", ".join(
        f"everything below {folder}" if os.path.isdir(folder) else folder for folder in folders
    )
    words = f"{operation} on {names}, {HOW_LONG[span]}"
    where = state.roots[0] if span == "project" and state.roots else ""
    saved = tuple(SavedGrant(operation, where, path=folder) for folder in folders)
    return ScopeOffer(
        ScopeChoice(span, words, span, folders, seconds=None),
        tuple(f"{folder.rstrip('/')}/" for folder in folders),
        saved=saved if span != "session" else (),
    )


def _pattern_offer(
    span: ScopeSpan, operation: str, pattern: CommandPattern, state: PolicyState
) -> ScopeOffer:
    target = f"{pattern.text} …"
    words = f"commands that begin with “{pattern.text}”, {HOW_LONG[span]}"
    where = state.roots[0] if span == "project" and state.roots else ""
    saved = (SavedGrant(operation, where, command=pattern.words),) if span != "session" else ()
    return ScopeOffer(ScopeChoice(span, words, span, (target,)), (target,), pattern, saved)


def _tool_offer(span: ScopeSpan, operation: str, state: PolicyState) -> ScopeOffer:
    words = f"{operation} with any arguments, {HOW_LONG[span]}"
    where = state.roots[0] if span == "project" and state.roots else ""
    saved = (SavedGrant(operation, where),) if span != "session" else ()
    return ScopeOffer(ScopeChoice(span, words, span, (operation,)), (operation,), saved=saved)


def _host_offer(span: ScopeSpan, operation: str, host: str, state: PolicyState) -> ScopeOffer:
    words = f"{operation} on {host}, every port, {HOW_LONG[span]}"
    where = state.roots[0] if span == "project" and state.roots else ""
    saved = (SavedGrant(operation, where, host=host),) if span != "session" else ()
    name = f"{span}-below" if host.startswith("*.") else span
    return ScopeOffer(ScopeChoice(name, words, span, (host,)), (host,), HostEntry.of(host), saved)


def chosen_of(answer: Approval, on_offer: Sequence[ScopeOffer]) -> ScopeOffer | None:
    """The offer that an answer chooses; None for a refusal and for a choice that was not offered."""
    if answer.choice == "deny":
        return None
    choice = answer.scope if answer.choice == "scope" else answer.choice
    return next((offer for offer in on_offer if offer.choice.id == choice), None)


def grant_seconds(choice: ScopeChoice) -> float:
    """Return how many seconds the grants of a choice last."""
    return choice.seconds if choice.seconds is not None else FOREVER
