"""What a policy says of itself: its modes, its stages one by one, and how it names what it judges."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sam_tui.adapters.policy import FileTrust
from sam_tui.core.accesses import CommandAccess, LocatedAccess, Read, Type, Write
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.message_calls import TOGETHER, MessageCalls
from sam_tui.core.authorization.outside_access import OutsideRun
from sam_tui.core.authorization.policy.policy import PERMISSION_MODES, own_folders
from sam_tui.core.authorization.request import Request
from sam_tui.core.authorization.rules.rule import Rule
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.bus import Bus
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import CallId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.policy import TrustState
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from tests.guard.ward import ALICE, CREATE, RUN, Ward


@pytest.mark.requirement("guard:modes")
def test_a_mode_that_is_not_on_offer_is_refused_with_those_that_are(
    ward: Callable[..., Ward],
) -> None:
    policy = ward().policy()
    assert [policy.in_mode(mode).mode for mode in PERMISSION_MODES] == [*PERMISSION_MODES]
    assert policy.in_mode("plan") == replace(policy, mode="plan")
    few = replace(policy, modes=("ask", "plan"))
    with pytest.raises(UsageError, match="does not allow the mode 'bypass'") as refused:
        few.in_mode("bypass")
    assert refused.value.hint == "One of: ask, plan."


@pytest.mark.requirement("guard:policy-order")
def test_more_rules_take_their_places_among_those_that_are_there(ward: Callable[..., Ward]) -> None:
    policy = ward(rules='[[rule]]\neffect = "ask"\npath = "sub"\n').policy()
    rules = (Rule("a", "allow", "user", operation="x"), Rule("d", "deny", "session", operation="x"))
    assert [rule.effect for rule in policy.with_rules(rules).rules.rules] == [
        "deny",
        "ask",
        "allow",
    ]


@pytest.mark.requirement("guard:explain-trace")
def test_each_stage_is_named_with_what_it_says_up_to_the_one_that_decides(
    ward: Callable[..., Ward],
) -> None:
    here = ward(sandboxed=False)
    (listing, make) = here.guard.locate((CommandAccess("ls"), CommandAccess("make")))
    policy = here.guard.policy
    trace = [(step.stage, step.outcome, step.detail) for step in policy.trace(listing, RUN)]
    silent = (
        "secrets", "plan mode", "deny rules", "bypass mode", "ask rules", "secrets of the workspace",
        "allow rules", "command class", "network by command", "kernel sandbox",
    )  # fmt: skip
    assert trace == [
        *((stage, "", "nothing to say") for stage in silent),
        ("read-only commands", "allow", "read-only: it only reads"),
    ]
    why = policy.judge(make, RUN).reason
    assert policy.trace_words((listing, make), RUN) == (
        f"mode default: unsandboxed: {why}",
        f"nothing to say before it: {', '.join(silent)}, read-only commands",
    )
    assert policy.trace_words((listing,), RUN) == ()
    nowhere = LocatedAccess(Read("x", "filePath"), None)
    (last,) = policy.trace(nowhere, RUN)
    assert (last.stage, last.outcome, last.detail) == (
        "located", "deny", "unlocated: the path could not be resolved",
    )  # fmt: skip
    judged = policy.judge(nowhere, RUN)
    assert (judged.outcome, judged.rule, judged.target) == ("deny", "unlocated", "")
    assert policy.readings((listing, nowhere, make)) == [
        here.reader.read("ls"),
        here.reader.read("make"),
    ]


@pytest.mark.requirement("guard:grant-key")
def test_a_command_is_named_with_the_folder_that_it_runs_in_unless_that_is_the_workspace(
    ward: Callable[..., Ward], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ward()
    monkeypatch.setenv("HOME", here.home)
    root, out = here.workspace.root, os.path.realpath(here.folder / "out")
    (here.folder / "ws/link").symlink_to(here.folder / "out")
    (here.folder / "out/a b").mkdir()
    names = {
        folder: here.guard.policy.judge(
            here.guard.locate((CommandAccess("make", folder),))[0]
        ).target
        for folder in ("", ".", root, "sub", "link", "../out/a b", "~")
    }
    assert names == {
        "": "$ make", ".": "$ make", root: "$ make", "sub": f"$ cd {root}/sub && make",
        "link": f"$ cd {out} && make", "../out/a b": f"$ cd '{out}/a b' && make",
        "~": f"$ cd {os.path.realpath(here.home)} && make",
    }  # fmt: skip
    keys = here.guard.locate((Type("main", "ls\r"),))[0]
    assert here.guard.policy.judge(keys).target == "keys 'ls\\r' in main"
    assert own_folders(str(here.folder / "ws/link"), "", root) == (out, root)


@pytest.mark.requirement("guard:rules-commands")
@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ("git push", True), ("git push\r", True), ("git pux\x7fsh\r", True), ("git pu\b\bpush", True),
        ("ls\rgit push", True), ("git push\x15", True), ("git pull\x17push", False),
        ("ls\x03git push", True), ("xy\b\bgit push", True), ("\bgit push", True),
        ("x\b\x7f\bgit push", True), ("ls\r\bgit push", True), ("git push\x7f\x7f\x7f\x7fll", False),
        ("", False), (" \r", False),
    ],
)  # fmt: skip
def test_keys_are_read_as_the_lines_that_they_come_to_at_a_prompt(
    ward: Callable[..., Ward], keys: str, *, refused: bool
) -> None:
    here = ward(rules='[[rule]]\neffect = "deny"\ncommand = "git push"\n')
    assert (here.explain(Type("main", keys)).outcome == "deny") is refused


@pytest.mark.requirement("trust:asked")
def test_a_folder_is_looked_at_again_with_each_step_and_each_change_is_told(tmp_path: Path) -> None:
    folder, store = tmp_path / "project", FileTrust(str(tmp_path / "cfg"))
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Be kind.\n", encoding="utf-8")
    trust = FolderTrust(str(folder), store, store.state(str(folder)), ignored=("a line",))
    told: list[TrustState] = []
    assert (trust.state, trust.trusted, trust.ignored) == ("untrusted", False, ("a line",))
    trust.trust()  # nobody watches yet
    assert (trust.state, trust.trusted) == ("trusted", True)
    trust.watch(told.append)
    trust.revoke()
    assert (trust.state, told) == ("untrusted", ["untrusted"])
    trust.trust(trust.inspect())
    assert (trust.look(), told) == ("trusted", ["untrusted", "trusted"])
    assert trust.vouches("AGENTS.md", b"Be kind.\n")
    assert trust.believed() == store.believed(str(folder), deep=False) != ()
    shown = trust.inspect()
    for number in range(6):
        (folder / ".sam/hooks").mkdir(parents=True, exist_ok=True)
        (folder / f".sam/hooks/h{number}").write_text("x", encoding="utf-8")
    (folder / "AGENTS.md").write_text("Be cruel.\n", encoding="utf-8")
    assert trust.trusted  # as it was at the last look
    assert not trust.vouches("AGENTS.md", b"Be cruel.\n")
    assert (trust.state, told[2:]) == ("changed", ["changed"])
    assert not trust.vouches("AGENTS.md", b"Be kind.\n")
    assert trust.nested() == ()
    changes = trust.changes()
    assert len(changes) == 7
    assert trust.withdrawal() == (
        "These files changed since you trusted the folder, so they are no longer trusted: "
        f"{', '.join(changes[:4])} and 3 more."
    )
    trust.trust(shown)  # what was shown is older than what is there
    assert trust.state == "changed"
    (folder / "AGENTS.md").write_text("Be kind.\n", encoding="utf-8")
    for name in ("h4", "h5"):
        (folder / ".sam/hooks" / name).unlink()
    assert trust.withdrawal().endswith(f"trusted: {', '.join(trust.changes())}.")


@pytest.mark.requirement("guard:scopes")
async def test_a_call_that_was_denied_in_a_list_stays_denied_and_others_are_listed_with_it(
    ward: Callable[..., Ward],
) -> None:
    here = ward()
    inquiries = Inquiries(Bus(), here.clock, attended=True)
    guard = Guard(here.workspace, here.policy(), here.grants, inquiries)

    def request(call: str, path: str, message: MessageCalls[Request]) -> Request:
        accesses = guard.locate((Write(path, "filePath"),))
        return Request(
            ALICE, CallId(call), CREATE, f"Making {path}", accesses, tuple, message=message
        )

    later: list[Request] = []

    def behind(_: CallId) -> Sequence[Request]:
        return later

    message = MessageCalls[Request](behind)
    first = request("c1", "../out/a", message)
    later += [request("c2", "../out/b", message), request("c3", "inside", message)]
    deciding = asyncio.ensure_future(guard.decide(first))
    for _ in range(9):
        await asyncio.sleep(0)
    (open_,) = inquiries.pending()
    (coming,) = open_.coming
    assert (coming.call, open_.before) == ("c2", 0)
    expected = guard.explain(ALICE, CREATE, later[0].accesses).targets
    assert getattr(coming.request, "targets", ()) == expected
    assert inquiries.answer(coming.id, Approval("deny", "never that"))
    assert inquiries.answer(open_.id, Approval("once"))
    assert (await deciding).allowed
    denied = await guard.decide(later[0])
    assert (denied.outcome, denied.by, denied.comment) == ("deny", "user", "never that")
    assert (denied.scope, denied.targets) == (TOGETHER, expected)
    assert (await guard.decide(later[1])).rule == "inside-workspace"


@pytest.mark.requirement("outside:policy-first")
async def test_what_cannot_be_located_is_refused_to_a_command_in_words(
    ward: Callable[..., Ward],
) -> None:
    here = ward()
    run = OutsideRun(ALICE, CallId("c"), RUN, "$ make")
    decision = await here.guard.decide_outside(run, OutsideAccess("write", "/x\0y"))
    assert (decision.outcome, decision.by, decision.rule) == ("deny", "rule", "unlocated")
    assert decision.operation == "commands.change_outside"
    assert "NUL" in decision.reason
    assert here.asked == []


@pytest.mark.requirement("guard:modes")
def test_another_policy_keeps_the_mode_and_the_folders_and_plan_mode_writes_nowhere(
    ward: Callable[..., Ward],
) -> None:
    here, guard = ward(), ward().guard
    root, out = here.workspace.root, os.path.realpath(here.folder / "out")
    guard.grants.add(ALICE, "commands.change_outside", f"{out}/", seconds=60)
    assert (guard.writable, guard.granted(ALICE)) == ((root,), (out,))
    guard.use_mode("plan")
    assert (guard.writable, guard.granted(ALICE)) == ((), ())
    other = ward(rules='[[rule]]\neffect = "deny"\ncommand = "ls"\n', mode="bypass").policy()
    guard.use_policy(replace(other, roots=("/nowhere",)))
    assert guard.policy == replace(other, mode="plan", roots=(root,))
    assert Guard(here.workspace, other, here.grants, here.inquiries).policy.roots == (root,)
    elsewhere = replace(other, roots=("/x",))
    assert Guard(here.workspace, elsewhere, here.grants, here.inquiries).policy.roots == ("/x",)


@pytest.mark.requirement("outside:network")
@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize("blind", [True, False])
def test_the_network_of_a_call_is_the_usual_unless_nobody_can_watch_it(
    ward: Callable[..., Ward], *, blind: bool, lasting: bool
) -> None:
    here = ward()
    here.guard.policy = replace(here.guard.policy, unwatched=blind)
    networks = {
        command: here.guard.network_of(
            here.guard.locate((CommandAccess(command),)), lasting=lasting
        )
        for command in ("ls", "curl https://a.org", "ls; git push")
    }
    usual = here.guard.network
    asked = "off" if lasting else "granted"
    assert networks == (
        {"ls": "off", "curl https://a.org": asked, "ls; git push": asked}
        if blind
        else dict.fromkeys(networks, usual)
    )
    assert here.guard.network_of((), lasting=lasting) == ("off" if blind else usual)
