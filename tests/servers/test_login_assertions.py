"""Logins by what another system signed: a workload's assertion, a person's identity at a company."""

import time
from pathlib import Path

import jwt
import pytest

from tests.servers.conftest import House
from tests.servers.login_house import ECHO, LoginHouse
from tests.servers.login_server import LoginSite, login_site

BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ELSEWHERE = "https://elsewhere.example"


def assertion(audience: object, number: int = 0) -> str:
    """What another system signs."""
    claims = {"aud": audience, "sub": f"workload-{number}", "exp": int(time.time()) + 300}
    return jwt.encode(claims, "a-key-that-only-the-other-system-has")


async def offered(login_house: LoginHouse) -> str:
    """Empty if the server's tool is offered, else why it is not."""
    async with login_house.open() as sam:
        return "" if await sam.arrive() == [ECHO] else sam.reports["web"].error


@pytest.mark.requirement("servers:login-assertion")
async def test_the_assertion_of_a_workload_is_read_anew_and_goes_to_the_issuer_that_it_names(
    login_house: LoginHouse, site: LoginSite, tmp_path: Path
) -> None:
    file = tmp_path / "assertion.jwt"
    workload = {"grant": "jwt_bearer", "clientId": "me", "assertionFile": str(file)}
    login_house.name_server(**workload)
    assert "assertion.jwt, the assertion of its login, is not there" in await offered(login_house)
    file.write_text("hunter2", encoding="utf-8")
    assert "assertion.jwt is not a signed JSON web token" in await offered(login_house)
    for audience in ("me", ["https://one.example", "https://two.example"]):
        file.write_text(assertion(audience), encoding="utf-8")
        assert "set “issuer”" in await offered(login_house)
    file.write_text(assertion(ELSEWHERE), encoding="utf-8")
    assert ELSEWHERE in await offered(login_house)
    assert site.forms == []
    for number, audience in enumerate((site.base, [site.base])):
        file.write_text(f"{assertion(audience, number)}\n", encoding="utf-8")
        site.valid = set()
        assert not await offered(login_house)
        form = {"grant_type": BEARER, "client_id": "me", "resource": site.url}
        assert site.forms[-1] == {**form, "assertion": assertion_in(file)}
    assert "refresh_token" not in login_house.login["tokens"]
    login_house.name_server(**workload, issuer=ELSEWHERE)
    site.valid = set()
    assert ELSEWHERE in await offered(login_house)
    assert len(site.forms) == 2
    file.write_text("of-a-form.that-is-not.ours-a1B2c3D4e5F6", encoding="utf-8")
    login_house.name_server(
        **workload, issuer=site.base, clientSecret="of-the-client", scope="read"
    )
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        done = await sam.call(ECHO, word=assertion_in(file))
        assert done.finished.ok and assertion_in(file) not in done.finished.text
    assert site.forms[-1]["scope"] == "read" and "client_id" not in site.forms[-1]
    assert site.clients[-1].startswith("Basic ")


def assertion_in(file: Path) -> str:
    """The assertion in a file."""
    return file.read_text(encoding="utf-8").strip()


@pytest.mark.requirement("servers:login-assertion")
async def test_an_identity_is_exchanged_at_its_provider_and_each_gets_only_what_is_its_own(
    login_house: LoginHouse, site: LoginSite
) -> None:
    with login_site() as provider:
        identity, grant = assertion("idp-client"), assertion(site.base)
        company = {
            "grant": "token_exchange",
            "clientId": "me",
            "clientSecret": "of-the-client",
            "assertion": identity,
            "idpTokenUrl": f"{provider.base}/token",
            "idpClientId": "idp-client",
            "idpClientSecret": "of-the-idp-client",
        }
        login_house.name_server(**company, issuer=site.base)
        assert "is not fetched from" in await offered(login_house)
        login_house.policy(f'local = ["127.0.0.1:{provider.server_port}"]\n')
        for other in ({"access_token": grant}, {"issued_token_type": ID_JAG}):
            provider.issued = other  # an assertion of another kind, and no assertion
            assert "issued no assertion for this server" in await offered(login_house)
        provider.issued = {"issued_token_type": ID_JAG, "access_token": grant, "token_type": "N_A"}
        login_house.name_server(**company, issuer=ELSEWHERE)
        before = len(provider.forms)
        assert ELSEWHERE in await offered(login_house)
        assert (len(provider.forms), site.forms) == (before, [])
        login_house.name_server(**company, issuer=site.base)
        assert not await offered(login_house)
    assert provider.forms[-1] == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": ID_JAG,
        "subject_token": identity,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": site.base,
        "resource": site.url,
    }
    assert site.forms == [{"grant_type": BEARER, "assertion": grant, "resource": site.url}]
    assert provider.clients[-1] != site.clients[-1]
    assert site.proofs == provider.proofs == []
    site.valid = set()
    assert "cannot be reached" in await offered(login_house), "its provider has ended"


@pytest.mark.requirement("servers:login-assertion")
async def test_what_is_missing_in_an_entry_or_does_not_belong_there_is_named(house: House) -> None:
    me = {"clientId": "me", "assertion": "a.b.c"}
    entries = {
        "one of assertion and assertionFile": {"grant": "jwt_bearer", "clientId": "me"},
        "clientId and one of": {"grant": "jwt_bearer", "assertion": "a.b.c"},
        "oauth.assertion needs the grant jwt_bearer or token_exchange": me,
        "must be a whole path": {"grant": "jwt_bearer", "clientId": "me", "assertionFile": "a"},
        "needs the grant token_exchange": {**me, "grant": "jwt_bearer", "idpClientId": "x"},
        "oauth.idpClientSecret needs": {**me, "grant": "jwt_bearer", "idpClientSecret": "x"},
        "takes issuer, idpTokenUrl and idpClientId": {**me, "grant": "token_exchange"},
    }
    numbered = {f"s{number}": oauth for number, oauth in enumerate(entries.values())}
    url = "http://127.0.0.1:9/mcp"
    house.user(**{name: {"url": url, "oauth": oauth} for name, oauth in numbered.items()})
    async with house.open() as sam:
        assert await sam.arrive() == []
        for name, why in zip(numbered, entries, strict=True):
            assert why in sam.reports[name].error


@pytest.mark.requirement("servers:login-assertion")
async def test_a_file_of_the_project_names_no_file_that_is_sent_away(
    login_house: LoginHouse, site: LoginSite, tmp_path: Path
) -> None:
    file = tmp_path / "assertion.jwt"
    file.write_text(assertion(site.base), encoding="utf-8")
    login_house.user()
    workload = {"grant": "jwt_bearer", "clientId": "me", "assertionFile": str(file)}
    login_house.project(web={"url": site.url, "oauth": workload})
    login_house.policy(f'local = ["127.0.0.1:{site.server_port}"]\n')
    async with login_house.open() as sam:
        sam.runtime.trust.trust()
        assert await sam.arrive() == []
        assert "only your own mcp.json may name a file" in sam.reports["web"].error
    assert site.forms == []
