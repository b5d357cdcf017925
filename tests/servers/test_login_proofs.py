"""Tokens that are bound to a key of the login (DPoP, RFC 9449)."""

import pytest

from tests.servers.login_house import ECHO, LoginHouse
from tests.servers.login_server import LoginSite
from tests.servers.proof_checks import ProofChecks


@pytest.mark.requirement("servers:login-proofs")
async def test_a_login_where_the_server_accepts_proofs_is_bound_to_its_key_also_when_refreshed(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.checks = ProofChecks("first-nonce")
    await login_house.log_in()
    key = login_house.login["key"]
    assert len(key) == 43, "32 bytes in base64"
    site.checks.nonce = "second-nonce"  # of the server: the request is repeated with it
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        done = await sam.call(ECHO, word=key)
        assert done.finished.ok and key not in done.finished.text
        login_house.end_token()
        site.valid, site.checks.nonce = set(), "third-nonce"
        assert (await sam.call(ECHO, word="hi")).finished.ok
    assert [form["grant_type"] for form in site.forms] == ["authorization_code", "refresh_token"]
    assert site.checks.keys[0] == site.checks.keys[1]
    assert login_house.login["key"] == key
    async with login_house.open() as sam:
        assert sam.runtime.servers.forget_login("web")
    await login_house.log_in()
    assert site.checks.keys[2] != site.checks.keys[0], "a new login has a key of its own"
    assert login_house.login["key"] != key


@pytest.mark.requirement("servers:login-proofs")
async def test_tokens_that_are_not_bound_are_sent_as_usual_and_others_get_no_proof(
    login_house: LoginHouse, site: LoginSite
) -> None:
    await login_house.log_in()
    assert (site.proofs, login_house.login["key"]) == ([], ""), "the server did not accept any"
    site.checks, site.valid = ProofChecks(binds=False), set()
    await login_house.log_in()
    assert len(site.proofs) == 1, "the token endpoint was asked for a bound token"
    assert login_house.login["key"] == ""
    async with login_house.open() as sam:
        assert await sam.arrive() == [ECHO]
        site.checks, site.valid = ProofChecks("a-nonce"), set()
        assert not (await sam.call(ECHO, word="hi")).finished.ok
    await login_house.log_in()
    login_house.change_login(key="damaged")
    async with login_house.open() as sam:
        assert await sam.arrive() == []
        assert "It requires a login: sam-tui mcp login web" in sam.reports["web"].error
    await login_house.log_in()
    assert len(login_house.login["key"]) == 43


@pytest.mark.requirement("servers:login-proofs")
async def test_tokens_are_bound_where_metadata_require_it_or_only_an_earlier_refusal_named_it(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.checks, site.about = ProofChecks(), {"dpop_bound_access_tokens_required": True}
    await login_house.log_in()
    assert login_house.login["key"]
    site.anonymous, site.about = True, {}
    async with login_house.open() as sam:
        assert sam.runtime.servers.forget_login("web")
        assert await sam.arrive() == [ECHO]
        assert not (await sam.call(ECHO, word="hi")).finished.ok
    await login_house.log_in()
    assert login_house.login["key"]


@pytest.mark.requirement("servers:login-proofs")
async def test_a_program_that_logs_in_by_itself_proves_its_tokens_as_well(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.checks = ProofChecks("a-nonce")
    client = {"clientId": "me", "clientSecret": "a-secret-of-mine", "issuer": site.base}
    login_house.name_server(grant="client_credentials", **client)
    for _ in range(2):  # the second run uses what the first one stored
        async with login_house.open() as sam:
            assert await sam.arrive() == [ECHO]
            assert (await sam.call(ECHO, word="hi")).finished.ok
    assert len(site.forms) == 1
    assert all(sent.startswith("Basic ") for sent in site.clients)
