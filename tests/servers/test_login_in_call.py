"""A login that a server wants in the middle of a call: asked for, made, and the call repeated once."""

import asyncio
import json
import threading
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest

from sam_tui.core.inquiry import Answer, Approval, Inquiry, Question, Reply
from tests.servers.conftest import House
from tests.servers.login_server import LoginSite, login_site
from tests.servers.test_login import ECHO, follow, tools


@pytest.fixture
def site() -> Generator[LoginSite]:
    """A server that wants a login."""
    with login_site() as made:
        yield made


@dataclass
class Agreeing:
    """A person in a workbench, who answers questions about a login and agrees on its page, or leaves it."""

    answer: str = "log in"
    agrees: bool = True
    asked: list[Question] = field(default_factory=list[Question])

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        """Answer at once; the question with the page stays open while the person is on it."""
        if not isinstance(inquiry.request, Question):
            return Approval("once")
        self.asked.append(inquiry.request)
        if not (page := inquiry.request.page):
            return Reply(self.answer)
        if not self.agrees:
            return Reply("give up")
        threading.Thread(target=follow, args=(page,)).start()
        return None


@pytest.mark.requirement("servers:login-in-call")
async def test_more_scopes_are_asked_for_in_a_session_and_the_call_is_repeated_once(
    house: House, site: LoginSite
) -> None:
    site.challenged_scope, site.call_scope = "read", "write"
    house.user(web={"url": site.url})
    async with house.open(browse=follow) as sam:
        assert await tools(sam) == [ECHO]
    person = Agreeing("not now")
    async with house.open(attended=True, responder=person) as sam:
        assert await tools(sam) == [ECHO]
        for _ in range(2):
            text = await sam.text(ECHO, word="hi")
            assert "more scopes than this login has (write): sam-tui mcp login web" in text
        assert len(person.asked) == 1, "a refusal is offered once"
        assert len(site.queries) == 1, "no page without a yes"
        person.answer, person.agrees, site.call_scope = "log in", False, "write admin"
        assert not (await sam.call(ECHO, word="hi")).finished.ok
        assert len(person.asked) == 3 and site.queries[1:] == []
    person, site.calls, site.call_scope = Agreeing(), 0, "write"

    def never_enough(inquiry: Inquiry) -> Answer | None:
        if len(person.asked) > 1:
            site.call_scope = f"write more-{len(person.asked)}"
        return person(inquiry)

    async with house.open(attended=True, responder=never_enough) as sam:
        assert await tools(sam) == [ECHO]
        assert (await sam.call(ECHO, word="hi")).finished.ok
        first, second = person.asked
        assert "server web refused a call" in first.prompt and "`write`" in first.prompt
        assert second.page in second.context and "`read` `write`" in second.context
        assert site.queries[1]["scope"] == "read write"
        site.call_scope = "more"
        for _ in range(4):
            assert not (await sam.call(ECHO, word="hi")).finished.ok
    assert len(person.asked) == 2 * 4, "no more than three logins that do not help"
    assert site.calls == 5 + 4, "each login repeats its call once"


@pytest.mark.requirement("servers:login-in-call")
async def test_the_page_asks_for_what_the_question_named_and_not_for_a_later_refusal(
    house: House, site: LoginSite
) -> None:
    site.challenged_scope, site.call_scope = "read", "write"
    house.user(web={"url": site.url})
    async with house.open(browse=follow) as sam:
        assert await tools(sam) == [ECHO]
    person, folder = Agreeing(), house.folder / "data" / "mcp-logins"
    header = 'Bearer error="insufficient_scope", scope="admin"'

    def refused_meanwhile(inquiry: Inquiry) -> Answer | None:
        for noted in folder.glob("*.challenge"):  # by another program's call
            noted.write_text(json.dumps({"status": 403, "header": header}), encoding="utf-8")
        return person(inquiry)

    async with house.open(attended=True, responder=refused_meanwhile) as sam:
        assert await tools(sam) == [ECHO]
        assert (await sam.call(ECHO, word="hi")).finished.ok
    assert [query["scope"] for query in site.queries] == ["read", "read write"]
    async with house.open(browse=follow) as sam:  # it is still to be answered
        assert await tools(sam) == [ECHO]
    assert site.queries[-1]["scope"] == "read write admin"
    assert not list(folder.glob("*.challenge"))


@pytest.mark.requirement("servers:login-in-call")
async def test_all_scopes_are_named_or_their_number_is_said_to_be_larger(
    house: House, site: LoginSite
) -> None:
    many = [f"scope-{number:04}" for number in range(50)]
    site.challenged_scope = " ".join(many)
    site.metadata = {"authorization_endpoint": f"{site.base}/authorize?scope=innocent"}
    house.user(web={"url": site.url})
    site.anonymous, person = True, Agreeing("log in", agrees=False)
    async with house.open(attended=True, responder=person) as sam:
        assert await tools(sam) == [ECHO]
        assert not (await sam.call(ECHO, word="hi")).finished.ok
    question, page = person.asked
    assert "`scope-0026` `…`. Log in now?" in question.prompt
    assert "the scopes `innocent" in page.context and " `scope-0000` " in page.context
    assert "` `…`. The call goes on" in page.context


@pytest.mark.requirement("servers:login-in-call")
async def test_a_server_that_lists_tools_to_anybody_has_the_person_log_in_for_a_call(
    house: House, site: LoginSite
) -> None:
    site.anonymous = True
    house.user(web={"url": site.url})
    async with house.open() as sam:
        assert await tools(sam) == [ECHO]
        text = await sam.text(ECHO, word="hi")
        assert "The MCP server web requires a login: sam-tui mcp login web" in text
        assert not sam.reports["web"].login
    async with house.open(browse=follow) as sam:  # after the refusal the command logs in
        assert await tools(sam) == [ECHO]
        assert sam.reports["web"].login
    assert len(site.queries) == 1
    assert not list((house.folder / "data" / "mcp-logins").glob("*.challenge"))
    person, asked = Agreeing(), asyncio.Event()

    def silent_at_first(inquiry: Inquiry) -> Answer | None:
        if asked.is_set() or not isinstance(inquiry.request, Question):
            return person(inquiry)
        asked.set()
        return None

    async with house.open(attended=True, responder=silent_at_first) as sam:
        assert sam.runtime.servers.forget_login("web")
        assert await tools(sam) == [ECHO]
        cancelled = asyncio.ensure_future(sam.call(ECHO, word="hi"))
        await asked.wait()
        cancelled.cancel()
        await asyncio.wait({cancelled})
        both = await asyncio.gather(*(sam.call(ECHO, word=word) for word in ("one", "two")))
        assert [done.finished.ok for done in both] == [True, True]
        assert len(person.asked) == 2, "one login is enough for calls beside each other"
        assert sam.reports["web"].login
        assert len(site.queries) == 2
        site.valid = set()  # withdrawn: what a login settled is offered again
        assert (await sam.call(ECHO, word="hi")).finished.ok
        assert (len(person.asked), len(site.queries)) == (4, 3)
