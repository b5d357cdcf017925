"""A login that a server wants in the middle of a call: asked for, made, and the call repeated once."""

import asyncio
import fcntl
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sam_tui.adapters.mcp_client.connection_context import LoginTexts
from sam_tui.adapters.mcp_client.logins import login_file as login_module
from sam_tui.adapters.mcp_client.logins.login_file import LoginFile, StoredLogin
from sam_tui.core.ids import CallId
from sam_tui.core.inquiry import Answer, Approval, Inquiry, Question, Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.executor import Executed
from tests.servers.login_house import ECHO, LoginHouse, follow
from tests.servers.login_server import LoginSite


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


def holders(path: str) -> int:
    """How many descriptors of this process are open on a file."""
    return sum(os.path.realpath(link) == path for link in Path("/proc/self/fd").iterdir())


@pytest.mark.requirement("servers:login-in-call")
async def test_more_scopes_are_asked_for_in_a_session_and_the_call_is_repeated_once(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.challenged_scope, site.call_scope = "read", "write"
    await login_house.log_in()
    person = Agreeing("not now")
    async with login_house.open(attended=True, responder=person) as sam:
        assert await sam.arrive() == [ECHO]
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

    async with login_house.open(attended=True, responder=never_enough) as sam:
        assert await sam.arrive() == [ECHO]
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
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.challenged_scope, site.call_scope = "read", "write"
    await login_house.log_in()
    person = Agreeing()
    header = 'Bearer error="insufficient_scope", scope="admin"'

    def refused_meanwhile(inquiry: Inquiry) -> Answer | None:
        for noted in login_house.challenges:  # by another program's call
            noted.write_text(json.dumps({"status": 403, "header": header}), encoding="utf-8")
        return person(inquiry)

    async with login_house.open(attended=True, responder=refused_meanwhile) as sam:
        assert await sam.arrive() == [ECHO]
        assert (await sam.call(ECHO, word="hi")).finished.ok
    assert [query["scope"] for query in site.queries] == ["read", "read write"]
    await login_house.log_in()  # it is still to be answered
    assert site.queries[-1]["scope"] == "read write admin"
    assert not login_house.challenges


@pytest.mark.requirement("servers:login-in-call")
async def test_all_scopes_are_named_or_their_number_is_said_to_be_larger(
    login_house: LoginHouse, site: LoginSite
) -> None:
    many = [f"scope-{number:04}" for number in range(50)]
    site.challenged_scope = " ".join(many)
    site.metadata = {"authorization_endpoint": f"{site.base}/authorize?scope=innocent"}
    site.anonymous, person = True, Agreeing("log in", agrees=False)
    async with login_house.open(attended=True, responder=person) as sam:
        assert await sam.arrive() == [ECHO]
        assert not (await sam.call(ECHO, word="hi")).finished.ok
    question, page = person.asked
    assert "`scope-0026` `…`. Log in now?" in question.prompt
    assert "the scopes `innocent" in page.context and " `scope-0000` " in page.context
    assert "` `…`. The call goes on" in page.context


@pytest.mark.requirement("servers:login-in-call")
async def test_a_server_that_lists_tools_to_anybody_has_the_person_log_in_for_a_call(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.anonymous = True
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        text = await sam.text(ECHO, word="hi")
        assert "The MCP server web requires a login: sam-tui mcp login web" in text
        assert not sam.reports["web"].login
    async with login_house.open(browse=follow) as sam:  # after the refusal the command logs in
        assert await sam.arrive() == [ECHO]
        assert sam.reports["web"].login
    assert len(site.queries) == 1
    assert not login_house.challenges
    person, asked = Agreeing(), asyncio.Event()

    def silent_at_first(inquiry: Inquiry) -> Answer | None:
        if asked.is_set() or not isinstance(inquiry.request, Question):
            return person(inquiry)
        asked.set()
        return None

    async with login_house.open(attended=True, responder=silent_at_first) as sam:
        assert sam.runtime.servers.forget_login("web")
        assert await sam.arrive() == [ECHO]
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


@pytest.mark.requirement("servers:login-in-call")
async def test_a_login_is_asked_for_in_the_name_of_the_refused_call_also_beside_another(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.anonymous, person = True, Agreeing()
    loop, asked, refused = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    inquiries: list[Inquiry] = []

    def silent_at_first(inquiry: Inquiry) -> Answer | None:
        if not isinstance(inquiry.request, Question):
            return person(inquiry)
        inquiries.append(inquiry)
        asked.set()
        return person(inquiry) if inquiries[1:] else None

    async with login_house.open(attended=True, responder=silent_at_first) as sam:

        def call(name: str) -> "asyncio.Task[Executed]":
            wanted = ToolCall(CallId(name), ECHO, json.dumps({"word": name}))
            return loop.create_task(sam.runtime.executor.execute(wanted, sam.conversation))

        assert await sam.arrive() == [ECHO]
        first = call("first")
        await asked.wait()
        site.at_call = lambda: loop.call_soon_threadsafe(refused.set)
        second = call("second")
        await refused.wait()
        assert sam.runtime.inquiries.answer(inquiries[0].id, Reply("log in"))
        assert (await first).finished.ok and (await second).finished.ok
    assert [inquiry.call for inquiry in inquiries] == ["first", "first"], (
        "the question, and its page"
    )


@pytest.mark.requirement("servers:login-in-call")
async def test_what_a_server_answers_now_decides_and_not_a_refusal_that_was_stored(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.anonymous = True
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        assert not (await sam.call(ECHO, word="hi")).finished.ok
    [stored] = login_house.challenges
    header = 'Bearer resource_metadata="http://127.0.0.1:9/gone", scope="of-before"'
    stored.write_text(json.dumps({"status": 401, "header": header}), encoding="utf-8")
    site.anonymous, site.challenged_scope = False, "of-now"
    await login_house.log_in()
    assert [query["scope"] for query in site.queries] == ["of-now"]
    assert login_house.challenges == []
    # A stored demand for more scopes joins a login that is required anyway: one page for both.
    header = 'Bearer error="insufficient_scope", scope="more"'
    stored.write_text(json.dumps({"status": 403, "header": header}), encoding="utf-8")
    site.valid = set()
    await login_house.log_in()
    assert [query["scope"] for query in site.queries] == ["of-now", "of-now more"]
    assert login_house.challenges == []


@pytest.mark.requirement("servers:login-in-call")
async def test_a_refusal_that_cannot_be_stored_ends_no_more_than_its_call(
    logged_in: LoginHouse, site: LoginSite
) -> None:
    [file] = logged_in.logins
    file.with_name(f"{file.name}.challenge").mkdir()  # in place of the file
    async with logged_in.open() as sam:
        assert await sam.arrive() == [ECHO]
        for site.call_scope, words in (
            ("write", "more scopes than this login has (write)"),
            ("", "hi"),
        ):
            assert words in await sam.text(ECHO, word="hi")
        site.valid = set()
        assert "requires a login: sam-tui mcp login web" in await sam.text(ECHO, word="hi")
        assert sam.reports["web"].standing == "ready"
    await logged_in.log_in()


@pytest.mark.requirement("servers:login-in-call")
async def test_a_call_that_is_refused_over_the_older_transport_ends_as_over_the_newer(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.anonymous, site.resource, old = True, f"{site.base}/sse", "mcp__old__echo"
    login_house.user(web={"url": site.url}, old={"type": "sse", "url": site.resource})
    person = Agreeing("not now")
    async with login_house.open(attended=True, responder=person) as sam:
        assert await sam.arrive() == [old, ECHO]
        for site.call_status in (400, 403, 500, 0):  # without a status a login is required
            words = await sam.text(old, word="hi")
            assert words.replace("old", "web") == await sam.text(ECHO, word="hi")
            assert words.startswith("ERROR: The MCP server old")
            assert sam.reports["old"].standing == "ready"
        assert len(person.asked) == 2 and len(login_house.challenges) == 2
        site.call_status = 307
        assert "It answered 307 Temporary Redirect" in await sam.text(old, word="hi")
        person.answer, site.call_status, site.challenged_scope = "log in", 0, "write"
        assert await sam.text(old, word="hi") == '{"word": "hi"}'
        assert site.queries[-1]["scope"] == "write"
        # A session that the server has forgotten is begun again, with another login where it requires one.
        site.call_status = 404
        assert "ended during the call: It answered 404 Not Found" in await sam.text(old, word="hi")
        site.call_status, site.anonymous, site.valid = 0, False, set()
        assert await sam.text(old, word="again") == '{"word": "again"}'
        assert len(site.queries) == 2


@pytest.mark.requirement("servers:login-in-call")
async def test_calls_beside_each_other_read_a_login_that_was_stored_since(
    login_house: LoginHouse, site: LoginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.anonymous, reading, go_on = True, asyncio.Event(), asyncio.Event()
    read = login_module.stored

    async def slowly(path: str, texts: LoginTexts) -> StoredLogin:
        reading.set()
        await go_on.wait()
        return await read(path, texts)

    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        site.anonymous = False
        await login_house.log_in()
        site.anonymous = True
        monkeypatch.setattr(login_module, "stored", slowly)
        calls = [asyncio.ensure_future(sam.call(ECHO, word=word)) for word in ("one", "two")]
        await reading.wait()
        for _ in range(100):  # the other call comes as far as it can
            await asyncio.sleep(0.001)
        go_on.set()
        assert [(await call).finished.ok for call in calls] == [True, True]
        assert site.calls == 2


@pytest.mark.requirement("servers:login-in-call")
async def test_a_connection_that_ends_while_another_process_refreshes_leaves_its_lock(
    logged_in: LoginHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    locking = asyncio.Event()
    lock_of = LoginFile.lock

    async def noted(self: LoginFile) -> int:
        locking.set()
        return await lock_of(self)

    monkeypatch.setattr(LoginFile, "lock", noted)
    [file] = logged_in.logins
    with file.with_name(f"{file.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        logged_in.end_token()
        async with logged_in.open() as sam:
            arriving = asyncio.ensure_future(sam.arrive())
            await locking.wait()
        arriving.cancel()
        assert holders(lock.name) == 1
    async with logged_in.open() as sam:
        assert await sam.arrive() == [ECHO]
        assert (await sam.call(ECHO, word="hi")).finished.ok
    assert holders(lock.name) == 0
