"""Logins at servers over HTTP: made by the person, kept, refreshed, forgotten. A second of CPU."""

import asyncio
import fcntl
import json
import stat
import sys
import time
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp.client.auth import oauth2

from sam_tui.adapters.mcp_client.logins import login_file as login_module
from sam_tui.adapters.mcp_client.transports import http_transport
from sam_tui.core.errors import ToolError
from tests.cli.test_keys_kept import Ring, RingError
from tests.servers.login_house import ECHO, LoginHouse, follow
from tests.servers.login_server import LoginSite, login_site


def refuse(*_: object) -> None:
    """A keyring that is locked."""
    raise RingError


@pytest.mark.requirement("servers:login-given-up")
async def test_a_login_given_up_leaves_no_registration_and_no_file(
    login_house: LoginHouse, site: LoginSite
) -> None:
    page = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with login_house.open() as sam:

        def at_page(_: str) -> None:
            loop.call_soon_threadsafe(page.set)

        login = asyncio.ensure_future(sam.runtime.servers.log_in("web", at_page))
        await page.wait()
        login.cancel()
        await asyncio.wait({login})
        assert not sam.reports["web"].login
    assert (len(site.registered), login_house.logins) == (1, [])
    assert site.deleted == ["Bearer manages-a1B2c3D4e5F6"]
    await login_house.log_in()
    assert len(site.deleted) == 1, "one that is used stays"


@pytest.mark.requirement("servers:login")
async def test_a_login_is_made_by_the_person_kept_privately_refreshed_and_forgotten(
    login_house: LoginHouse, site: LoginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with login_house.open() as sam:
        assert await sam.arrive() == []
        assert "sam-tui mcp login web, or" in sam.reports["web"].error
    assert (site.registered, login_house.logins) == ([], [])

    quickly = {"MCP_TIMEOUT": "1"}  # for the server, and not for the person on its page
    async with login_house.open(environ=quickly, browse=follow) as sam:
        assert await sam.arrive() == [ECHO]
        assert sam.reports["web"].login
        done = await sam.call(ECHO, word=next(iter(site.valid)))
        assert next(iter(site.valid)) not in done.finished.text
    [page] = site.queries
    assert (page["code_challenge_method"], page["resource"]) == ("S256", site.url)
    assert page["redirect_uri"].startswith("http://127.0.0.1:")
    [client] = site.registered
    assert client["redirect_uris"] == [page["redirect_uri"]]
    [file] = login_house.logins
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    async with login_house.open() as sam:  # nobody at the keyboard: the tokens of before do
        assert await sam.arrive() == [ECHO]
    assert len(site.forms) == 1

    login_house.end_token()
    site.valid = set()
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
    assert site.forms[-1]["grant_type"] == "refresh_token"
    assert site.forms[-1]["refresh_token"].startswith("refresh-token-1")

    async with login_house.open() as sam:  # the token ends while the session goes on
        assert await sam.arrive() == [ECHO]
        site.valid, refreshed = set(), len(site.forms)
        with monkeypatch.context() as later:
            for module in (login_module, oauth2):
                later.setattr(module, "time", SimpleNamespace(time=lambda: time.time() + 3545))
            assert (await sam.call(ECHO, word="hi")).finished.ok
        assert [form["grant_type"] for form in site.forms[refreshed:]] == ["refresh_token"]

    site.valid = set()  # withdrawn: nothing but a person helps
    async with login_house.open() as sam:
        assert await sam.arrive() == []
        assert "login" in sam.reports["web"].error
        assert sam.runtime.servers.forget_login("web")
        assert not sam.runtime.servers.forget_login("web")
    assert login_house.logins == []


@pytest.mark.requirement("servers:login")
async def test_a_call_that_requires_more_scopes_names_the_login_that_asks_for_them(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.challenged_scope, site.call_scope = "read", "write"
    await login_house.log_in()
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        done = await sam.call(ECHO, word="hi")
        assert (
            "more scopes than this login has (write): sam-tui mcp login web" in done.finished.text
        )
    for browse in (None, follow):  # what the login has is good for all else
        async with login_house.open(browse=browse) as sam:
            assert await sam.arrive() == [ECHO]
    assert [query["scope"] for query in site.queries] == ["read", "read write"]
    assert site.queries[1]["resource"] == site.url
    for browse in (None, follow):  # and nobody is asked a second time
        async with login_house.open(browse=browse) as sam:
            assert await sam.arrive() == [ECHO]
            assert (await sam.call(ECHO, word="hi")).finished.ok
    assert len(site.queries) == 2


@pytest.mark.requirement("servers:login")
@pytest.mark.parametrize("grant", ["authorization_code", "client_credentials"])
async def test_the_scope_that_a_person_set_is_asked_for_and_no_other(
    login_house: LoginHouse, site: LoginSite, grant: str
) -> None:
    site.challenged_scope = "read write admin"
    client = {"clientId": "me", "clientSecret": "a-secret-of-mine", "issuer": site.base}
    login = {"scope": "read", "grant": grant, **(client if grant != "authorization_code" else {})}
    login_house.name_server(**login)
    await login_house.log_in()
    asked = [*site.queries, *site.registered, *site.forms]
    assert {request["scope"] for request in asked if "scope" in request} == {"read"}


@pytest.mark.requirement("servers:login-keyring")
async def test_a_login_lies_in_the_keyring_of_the_system_where_there_is_one(
    login_house: LoginHouse, site: LoginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", ring := Ring())
    await login_house.log_in()
    [file], [token] = login_house.logins, site.valid
    assert token not in file.read_text(encoding="utf-8")
    assert any(token in text for text in ring.kept.values())
    site.valid = set()  # refused: it is refreshed, and another program sees that the file changed
    before = file.read_text(encoding="utf-8")
    [(entry, text)] = ring.kept.items()
    ring.kept[entry] = json.dumps({**json.loads(text), "ends": 1.0})
    with monkeypatch.context() as locked:
        locked.setattr(ring, "get_password", refuse)
        async with login_house.open() as sam:
            assert await sam.arrive() == []
            assert "it is in a keyring that is locked" in sam.reports["web"].error
            assert "log in again: sam-tui mcp login web, or" in sam.reports["web"].error
        locked.setitem(sys.modules, "keyring", None)
        async with login_house.open() as sam:
            assert await sam.arrive() == []
            assert "it is in a keyring that cannot be used now" in sam.reports["web"].error
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        assert file.read_text(encoding="utf-8") != before
        with monkeypatch.context() as broken:
            broken.setattr(ring, "delete_password", refuse)
            with pytest.raises(ToolError, match="it is in the keyring"):
                sam.runtime.servers.forget_login("web")
            broken.setitem(sys.modules, "keyring", None)
            with pytest.raises(ToolError, match="it is in a keyring that cannot be used now"):
                sam.runtime.servers.forget_login("web")
        assert sam.runtime.servers.forget_login("web")
    assert (login_house.logins, ring.kept) == ([], {})


@pytest.mark.requirement("servers:login-shared")
async def test_programs_that_share_a_login_refresh_it_once_and_all_go_on(
    logged_in: LoginHouse, site: LoginSite
) -> None:
    def end() -> None:
        logged_in.end_token()
        site.valid = set()

    end()
    async with logged_in.open() as one, logged_in.open() as other:
        assert await asyncio.gather(one.arrive(), other.arrive()) == [[ECHO], [ECHO]]
        assert [form["grant_type"] for form in site.forms[1:]] == ["refresh_token"]
        end()
        async with logged_in.open() as third:
            assert await third.arrive() == [ECHO]
        # Their own tokens count no more; what the third one got does.
        for sam in (one, other):
            assert (await sam.call(ECHO, word="hi")).finished.ok
    assert len(site.forms) == 3

    def leave() -> None:
        raise ConnectionResetError

    end()
    site.at_token = leave
    async with logged_in.open() as sam:
        assert await sam.arrive() == []
        [lock] = (logged_in.folder / "data" / "mcp-logins").glob("*.lock")
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.requirement("servers:login-bound")
async def test_a_login_is_of_one_name_in_one_file_and_goes_to_no_other_resource(
    logged_in: LoginHouse, site: LoginSite
) -> None:
    logged_in.user()
    logged_in.project(web={"url": site.url})
    logged_in.policy(f'local = ["127.0.0.1:{site.server_port}"]\n')
    async with logged_in.open() as sam:
        sam.runtime.trust.trust()
        assert await sam.arrive() == []
        assert "sam-tui mcp login web, or" in sam.reports["web"].error

    site.resource = "https://elsewhere.example/mcp"
    logged_in.user(other={"url": site.url})
    pages = len(site.queries)
    async with logged_in.open(browse=follow) as sam:
        assert "mcp__other__echo" not in await sam.arrive()
        assert "elsewhere.example" in sam.reports["other"].error
    assert len(site.queries) == pages


@pytest.mark.requirement("servers:login-guarded")
async def test_a_login_reaches_no_address_that_the_guard_refuses(
    login_house: LoginHouse, site: LoginSite
) -> None:
    with login_site() as elsewhere:
        pages: list[str] = []
        site.authorization = elsewhere.base
        async with login_house.open(browse=pages.append) as sam:
            assert await sam.arrive() == []
            assert "is not fetched from" in sam.reports["web"].error
        assert (pages, elsewhere.registered, elsewhere.forms) == ([], [], [])


@pytest.mark.requirement("servers:login-hostile")
@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"authorization_endpoint": "http://192.168.1.1/reboot"}, "not on the public internet"),
        ({"authorization_endpoint": "http://93.184.216.34/log-in"}, "without encryption"),
        ({"authorization_endpoint": "http://-x/log-in"}, "not a host name"),
        ({"registration_endpoint": "http://93.184.216.34/register"}, "without encryption"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"issuer": "https://elsewhere.example"}, "issuer mismatch"),
    ],
)
async def test_no_page_is_opened_that_a_hostile_server_names(
    login_house: LoginHouse, site: LoginSite, metadata: dict[str, object], why: str
) -> None:
    pages: list[str] = []
    site.metadata = metadata
    async with login_house.open(browse=pages.append) as sam:
        assert await sam.arrive() == []
        assert why in sam.reports["web"].error
    assert (pages, login_house.logins) == ([], [])


@pytest.mark.requirement("servers:login-hostile")
async def test_a_refused_login_has_the_words_of_the_server_and_ends_after_three_pages(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.refusal = "only signed software"
    async with login_house.open(browse=follow) as sam:
        assert await sam.arrive() == []
        assert "only signed software" in sam.reports["web"].error
    site.refusal, site.token = "", "two\nlines"
    async with login_house.open(browse=follow) as sam:
        assert await sam.arrive() == []
        assert "is empty or cannot be sent" in sam.reports["web"].error
    assert login_house.logins == []
    site.token, site.lasts, site.queries = "", -5, []  # tokens that have always ended
    async with login_house.open(browse=follow) as sam:
        assert await sam.arrive() == []
        assert "one login after another" in sam.reports["web"].error
    assert len(site.queries) == 3


@pytest.mark.requirement("servers:login-hostile")
@pytest.mark.parametrize("head", [True, False], ids=["head", "body"])
async def test_an_answer_that_never_ends_is_given_up_as_a_whole(
    login_house: LoginHouse, site: LoginSite, monkeypatch: pytest.MonkeyPatch, head: bool
) -> None:
    monkeypatch.setattr(http_transport, "_ANSWER_SECONDS", 0.3)
    site.drips = "X-Drip: " if head else "Content-Type: text/event-stream\r\n\r\n"
    async with login_house.open(browse=follow) as sam:
        assert await sam.arrive() == []
        assert "did not answer in time" in sam.reports["web"].error
    assert (login_house.logins, site.registered) == ([], [])


@pytest.mark.requirement("servers:login-by-itself")
async def test_a_program_logs_in_by_a_secret_or_a_key_and_sends_neither_to_another_issuer(
    login_house: LoginHouse, site: LoginSite
) -> None:
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    common = {"grant": "client_credentials", "clientId": "the-client"}
    secret, signed = {"clientSecret": "hunter2"}, {"privateKey": key.decode()}
    for number, proof in enumerate((secret, signed)):
        for file in login_house.logins:
            file.unlink()
        for issuer, expected in (("https://elsewhere.example", []), (site.base, [ECHO])):
            login_house.name_server(**common, **proof, issuer=issuer)
            async with login_house.open() as sam:
                assert await sam.arrive() == expected
            assert len(site.forms) == number + bool(expected)
        form = site.forms[-1]
        assert form["grant_type"] == "client_credentials"
        assert ("client_assertion" in form) == (proof is signed)
    assert (site.queries, site.registered) == ([], [])
