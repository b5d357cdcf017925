"""What the guard decides for a command that runs: its network, and paths that changed meanwhile."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sam_tui.core.accesses import CommandAccess
from sam_tui.core.authorization.outside_access import OutsideRun as CommandRun
from sam_tui.core.authorization.policy.judgement import CHANGE
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId
from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from tests.guard.ward import ALICE, RUN, Ward

MAKE = CommandRun(ALICE, CallId("c1"), RUN, "make")


@pytest.mark.requirement("outside:network")
@pytest.mark.parametrize(
    ("command", "lasting", "network"),
    [
        ("curl https://a.test", False, "granted"),
        ("curl https://a.test", True, "off"),
        ("ls", False, "off"),
    ],
)
def test_where_connections_cannot_be_watched_a_yes_opens_the_network_for_that_command_alone(
    ward: Callable[..., Ward], command: str, network: str, *, lasting: bool
) -> None:
    here = ward()
    here.guard.policy = replace(here.guard.policy, unwatched=True)
    where = here.guard.locate([CommandAccess(command)])
    assert here.guard.network_of(where, lasting=lasting) == network


@pytest.mark.requirement("outside:asked")
async def test_a_path_that_leads_elsewhere_by_now_is_refused_and_nobody_is_asked(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("once")])
    out = here.folder / "out"
    (out / "b").mkdir()
    (out / "a").symlink_to("b")
    for access in (
        OutsideAccess("write", f"{out}/a/x"),
        OutsideAccess("rename", f"{out}/b/x", to=f"{out}/a/x"),
    ):
        decision = await here.guard.decide_outside(MAKE, access)
        assert (decision.outcome, decision.rule, decision.targets) == (
            "deny",
            "moved",
            (access.path,),
        )
        assert "led elsewhere" in decision.reason
    assert here.asked == []
    decision = await here.guard.decide_outside(MAKE, OutsideAccess("write", f"{out}/b/x"))
    assert (decision.allowed, here.asked[0].operation) == (True, CHANGE)


@pytest.mark.requirement("outside:asked")
@pytest.mark.parametrize("kind", ["delete", "rename"])
async def test_a_link_is_deleted_or_renamed_itself_and_the_question_names_it(
    ward: Callable[..., Ward], kind: Any
) -> None:
    here = ward(answers=[Approval("once")])
    link = here.folder / "out" / "link"
    link.symlink_to(here.folder / "own" / "policy.toml")
    to = f"{here.folder}/out/other" if kind == "rename" else ""
    decision = await here.guard.decide_outside(MAKE, OutsideAccess(kind, str(link), to=to))
    assert (decision.allowed, decision.targets[0]) == (True, str(link))
    assert str(link) in here.asked[0].summary


@pytest.mark.requirement("guard:hosts-scopes")
async def test_a_yes_for_a_domain_covers_no_socket_whose_name_ends_like_it(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("scope", scope="session-below")])
    sockets = (f"{here.folder}/out/c.b.test:443", "@c.b.test:443")
    outcomes = [
        (await here.guard.decide_outside(MAKE, OutsideAccess("connect", where))).outcome
        for where in ("a.b.test:443", "c.b.test:443", *sockets)
    ]
    assert outcomes == ["allow", "allow", "deny", "deny"]
    assert [question.targets for question in here.asked[1:]] == [
        (f"connect to {where}",) for where in sockets
    ]


@pytest.mark.requirement("outside:asked")
async def test_every_question_of_a_running_command_names_the_subagent_that_runs_it(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("once")] * 3)
    run = replace(MAKE, asker="subagent: tidy up")
    refused = OutsideAccess("write", f"{here.folder}/out/x")
    assert (await here.guard.decide_outside(run, refused)).allowed
    decision, paths = await here.guard.decide_again(run, [refused])
    assert (decision.allowed, paths) == (True, (f"{here.folder}/out",))
    changes = (Diff("a", "@@", 1, 0, made=False),)
    assert (await here.guard.decide_kept(run, "1 change", changes)).allowed
    assert [question.asker for question in here.asked] == ["subagent: tidy up"] * 3


@pytest.mark.requirement("outside:asked")
@pytest.mark.parametrize(("kind", "given"), [("write", "x"), ("metadata", "x"), ("delete", "")])
async def test_another_run_may_write_to_the_file_it_was_refused_and_to_its_folder_only_for_its_name(
    ward: Callable[..., Ward], kind: Any, given: str
) -> None:
    here = ward(answers=[Approval("once")])
    (here.folder / "out/x").touch()
    refused = OutsideAccess(kind, f"{here.folder}/out/x")
    _, paths = await here.guard.decide_again(MAKE, [refused])
    assert paths == (f"{here.folder}/out/{given}".rstrip("/"),)


@pytest.mark.requirement("outside:asked")
async def test_a_socket_is_asked_for_where_its_name_stands_and_not_where_that_leads_by_now(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("once")])
    for name, leads in (("own", "out"), ("out", "own")):
        (here.folder / name / "door").symlink_to(here.folder / leads / "socket")
    outcomes = [
        await here.guard.decide_outside(MAKE, OutsideAccess("connect", f"{here.folder}/{top}/door"))
        for top in ("own", "out")
    ]
    assert [outcome.allowed for outcome in outcomes] == [False, True]
    assert outcomes[0].rule.startswith("protected")


@pytest.mark.requirement("outside:asked")
async def test_what_nobody_may_write_is_not_offered_for_another_run(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("once")])
    refused = OutsideAccess("write", f"{here.folder}/own/policy.toml")
    decision, paths = await here.guard.decide_again(MAKE, [refused])
    assert (decision.outcome, decision.rule.partition(":")[0]) == ("deny", "protected")
    assert (paths, here.asked) == ((), [])


@pytest.mark.requirement("outside:asked")
async def test_a_connection_that_was_refused_is_no_reason_to_run_a_command_again(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("once")])
    decision, paths = await here.guard.decide_again(MAKE, [OutsideAccess("connect", "a.test:443")])
    assert (decision.outcome, decision.rule) == ("deny", "nothing-to-widen")
    assert (paths, here.asked) == ((), [])


@pytest.mark.requirement("guard:explain-trace")
async def test_a_question_says_which_stage_asks_and_which_had_nothing_to_say(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("once")])
    await here.decide(CommandAccess("ls"), CommandAccess("sudo id"))
    stage, silent = here.asked[0].trace
    assert "privileged" in stage
    assert silent.startswith("nothing to say before it: ")
    allowed = ward(
        answers=[Approval("once")], rules='[[rule]]\neffect = "allow"\npath = "../out"\n'
    )
    (allowed.folder / "out/x").touch()
    await allowed.guard.decide_again(MAKE, [OutsideAccess("write", f"{allowed.folder}/out/x")])
    assert [question.trace for question in allowed.asked] == [()]
