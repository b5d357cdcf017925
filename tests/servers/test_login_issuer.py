"""A refresh token and a client's secret go to the server that issued them, and nowhere else."""

import json

import pytest

from tests.servers.login_house import ECHO, LoginHouse, follow
from tests.servers.login_server import LoginSite, login_site


@pytest.mark.requirement("servers:login-issuer")
async def test_a_refresh_token_goes_only_to_the_server_that_issued_it(
    login_house: LoginHouse, site: LoginSite
) -> None:
    site.anonymous = True
    with login_site() as elsewhere:
        login_house.policy(f'local = ["127.0.0.1:{elsewhere.server_port}"]\n')
        numbered = {f"access-token-{number}-a1B2c3D4e5F6" for number in range(1, 4)}
        for login_of_before in (False, True):
            async with login_house.open() as sam:
                assert await sam.arrive() == [ECHO]
                assert (await sam.call(ECHO, word="hi")).finished.ok == login_of_before
                site.authorization, site.valid = elsewhere.base, set()
                for file in login_house.logins:  # the person logs in anew, at another server
                    file.unlink()
                site.anonymous = False
                async with login_house.open(browse=follow) as other:
                    assert await other.arrive() == []  # until its token counts
                site.anonymous = True
                [file] = login_house.logins
                login_house.end_token()
                before, site.valid = len(site.forms), numbered
                assert (await sam.call(ECHO, word="hi")).finished.ok
                assert len(site.forms) == before
                assert elsewhere.forms[-1]["grant_type"] == "refresh_token"
                assert login_house.login["server"]["issuer"] == elsewhere.base
            file.unlink()
            site.authorization, site.anonymous, elsewhere.forms = "", False, []
            await login_house.log_in()
            site.anonymous = True
        login_house.end_token()
        oauth = {"clientId": "the-client", "clientSecret": "hunter2", "issuer": elsewhere.base}
        login_house.name_server(**oauth, grant="client_credentials")
        before, site.authorization, site.anonymous = len(site.forms), elsewhere.base, False
        async with login_house.open() as sam:
            await sam.arrive()
        assert len(site.forms) == before, "the client's secret is of another server"
        assert elsewhere.forms[-1]["grant_type"] == "client_credentials"


@pytest.mark.requirement("servers:login-issuer")
async def test_a_login_that_is_stored_during_a_refresh_is_the_one_that_counts(
    logged_in: LoginHouse, site: LoginSite
) -> None:
    [file], login = logged_in.logins, logged_in.login
    issued = {**login["server"], "issuer": "https://elsewhere.example"}
    client = {**login["client"], "issuer": issued["issuer"]}
    tokens = {**login["tokens"], "access_token": "of-another", "refresh_token": "of-another-too"}
    another = json.dumps({**login, "server": issued, "client": client, "tokens": tokens})
    async with logged_in.open() as sam:
        assert await sam.arrive() == [ECHO]
        logged_in.end_token()

        def log_in() -> None:
            file.write_text(another, encoding="utf-8")
            site.valid = {"of-another"}

        site.at_token = log_in
        assert not (await sam.call(ECHO, word="hi")).finished.ok
        site.valid = {"of-another"}
        assert (await sam.call(ECHO, word="hi")).finished.ok
    assert file.read_text(encoding="utf-8") == another
