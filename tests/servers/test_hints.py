"""What servers say of their own tools: it tightens what the guard decides, and loosens nothing."""

import json

import pytest

from sam_tui.cli.tool_patterns import allowing
from sam_tui.core.inquiry import Approval
from tests.servers.conftest import House, Open, raw
from tests.servers.test_program import run

ECHO = "mcp__one__echo"
PATTERN = '[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n'
EXACT = f'[[rule]]\neffect = "allow"\noperation = "{ECHO}"\n'


async def decided(sam: Open, mode: str) -> tuple[str, str]:
    """What becomes of a call of ``echo`` in a mode."""
    sam.runtime.guard.use_mode(mode)  # pyright: ignore[reportArgumentType]
    done = await sam.call(ECHO, text="x")
    assert done.decision is not None
    return done.decision.outcome, done.decision.rule


@pytest.mark.requirement("servers:hints")
async def test_a_pattern_does_not_allow_a_tool_that_its_server_calls_destructive(
    house: House,
) -> None:
    house.user(one=raw("destructive"))
    house.policy(PATTERN)
    async with house.open() as sam:
        await sam.arrive()
        assert sam.reports["one"].destructive == (ECHO,)
        assert not (await sam.call("mcp__one__fail")).finished.ok
        assert house.person.approvals == [], "of the others the pattern is enough"
        house.person.choice = Approval("deny")
        for mode in ("ask", "accept-edits"):
            assert await decided(sam, mode) == ("deny", "destructive-tool")
        assert "the server one calls this tool destructive" in house.person.approvals[-1].why
        assert len(house.person.approvals) == 2
        # With --allowedTools the name of a server does not cover it, its own name does.
        for allowed, answer in (("mcp__one", None), (ECHO, Approval("once"))):
            respond = allowing([allowed], str(house.workspace))
            assert respond(house.person.asked[-1]) == answer
        assert await decided(sam, "plan") == ("deny", "mode:plan")
        assert await decided(sam, "auto") == ("deny", "mode:auto")
        house.person.choice = Approval("scope", scope="session")
        assert await decided(sam, "ask") == ("allow", "destructive-tool")
        for mode in ("ask", "auto"):
            outcome, rule = await decided(sam, mode)
            assert (outcome, rule.partition(":")[0]) == ("allow", "grant")
        assert await decided(sam, "bypass") == ("allow", "mode:bypass")
        assert len(house.person.approvals) == 3
    # The list of then is remembered, so that the program explains just what it would decide.
    explained = json.loads(run(house, "guard", "explain", ECHO).stdout)
    assert (explained["decision"], explained["rule"]) == ("ask", "destructive-tool")
    assert explained["accesses"][0]["destructive"]


@pytest.mark.requirement("servers:hints")
async def test_its_own_name_allows_a_destructive_tool_until_what_is_said_of_it_changes(
    house: House,
) -> None:
    house.user(one=raw("destructive"))
    house.policy(EXACT)
    async with house.open() as sam:
        await sam.arrive()
        for mode in ("ask", "plan", "auto"):
            assert await decided(sam, mode) == ("allow", "user:1")
    assert house.person.asked == []
    house.person.choice = Approval("deny")
    house.user(one=raw("plain"))
    async with house.open() as sam:
        await sam.arrive()
        assert "changed its tool echo" in await sam.text(ECHO, text="x")
        assert "hints of echo" in house.person.approvals[0].why
    # What older programs wrote has no hints: the same description is no change then.
    [approved] = (house.folder / "data" / "mcp-tools").glob("approved-*")
    digests = json.loads(approved.read_text("utf-8"))
    older = {tool: digest.partition(".")[0] for tool, digest in digests.items()}
    approved.write_text(json.dumps(older), encoding="utf-8")
    house.person.asked = []
    house.policy(f"{PATTERN}{EXACT}")
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text(ECHO, text="x") == "x"
        assert house.person.asked == []
        # But what the server says otherwise from then on is one.
        approved.write_text(json.dumps(older), encoding="utf-8")
    async with house.open() as sam:
        await sam.arrive()
        await sam.text("mcp__one__mutate", text="destructive")
        assert "changed its tool echo" in await sam.text(ECHO, text="x")
        assert len(house.person.approvals) == 1
