"""A refresh token and a client's secret go to the server that issued them, and nowhere else."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.servers.conftest import House
from tests.servers.login_server import LoginSite, login_site
from tests.servers.test_login import ECHO, follow, kept, tools


@pytest.fixture
def site() -> Generator[LoginSite]:
    """A server that wants a login."""
    with login_site() as made:
        yield made


def end(file: Path) -> None:
    """Have the access token in a file end."""
    login = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**login, "ends": 1.0}), encoding="utf-8")


@pytest.mark.requirement("servers:login-issuer")
async def test_a_refresh_token_goes_only_to_the_server_that_issued_it(
    house: House, site: LoginSite
) -> None:
    site.anonymous = True
    house.user(web={"url": site.url})
    with login_site() as elsewhere:
        house.policy(f'local = ["127.0.0.1:{elsewhere.server_port}"]\n')
        numbered = {f"access-token-{number}-a1B2c3D4e5F6" for number in range(1, 4)}
        for login_of_before in (False, True):
            async with house.open() as sam:
                assert await tools(sam) == [ECHO]
                assert (await sam.call(ECHO, word="hi")).finished.ok == login_of_before
                site.authorization, site.valid = elsewhere.base, set()
                for file in kept(house):  # the person logs in anew, at another server
                    file.unlink()
                site.anonymous = False
                async with house.open(browse=follow) as other:
                    assert await tools(other) == []  # until its token counts
                site.anonymous = True
                [file] = kept(house)
                end(file)
                before, site.valid = len(site.forms), numbered
                assert (await sam.call(ECHO, word="hi")).finished.ok
                assert len(site.forms) == before
                assert elsewhere.forms[-1]["grant_type"] == "refresh_token"
                login = json.loads(file.read_text(encoding="utf-8"))
                assert login["server"]["issuer"] == elsewhere.base
            file.unlink()
            site.authorization, site.anonymous, elsewhere.forms = "", False, []
            async with house.open(browse=follow) as sam:
                assert await tools(sam) == [ECHO]
            site.anonymous = True
        end(kept(house)[0])
        oauth = {"clientId": "the-client", "clientSecret": "hunter2", "issuer": elsewhere.base}
        house.user(web={"url": site.url, "oauth": {**oauth, "grant": "client_credentials"}})
        before, site.authorization, site.anonymous = len(site.forms), elsewhere.base, False
        async with house.open() as sam:
            await tools(sam)
        assert len(site.forms) == before, "the client's secret is of another server"
        assert elsewhere.forms[-1]["grant_type"] == "client_credentials"


@pytest.mark.requirement("servers:login-issuer")
async def test_a_login_that_is_stored_during_a_refresh_is_the_one_that_counts(
    house: House, site: LoginSite
) -> None:
    house.user(web={"url": site.url})
    async with house.open(browse=follow) as sam:
        assert await tools(sam) == [ECHO]
    [file] = kept(house)
    login = json.loads(file.read_text(encoding="utf-8"))
    issued = {**login["server"], "issuer": "https://elsewhere.example"}
    client = {**login["client"], "issuer": issued["issuer"]}
    tokens = {**login["tokens"], "access_token": "of-another", "refresh_token": "of-another-too"}
    another = json.dumps({**login, "server": issued, "client": client, "tokens": tokens})
    async with house.open() as sam:
        assert await tools(sam) == [ECHO]
        end(file)

        def log_in() -> None:
            file.write_text(another, encoding="utf-8")
            site.valid = {"of-another"}

        site.at_token = log_in
        assert not (await sam.call(ECHO, word="hi")).finished.ok
        site.valid = {"of-another"}
        assert (await sam.call(ECHO, word="hi")).finished.ok
    assert file.read_text(encoding="utf-8") == another
