"""A workspace whose file names a server that requires a login, and a person who logs in there."""

import json
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.conftest import House
from tests.servers.login_server import LoginSite

ECHO = "mcp__web__echo"


def follow(page: str) -> None:
    """A person who agrees on the page of a login."""
    with urllib.request.urlopen(page, timeout=90) as answer:
        answer.read()


@dataclass
class LoginHouse(House):
    """A house with one server, ``web``, at ``site``."""

    site: LoginSite = field(kw_only=True)

    def name_server(self, **oauth: str) -> None:
        """Name the server, with ``oauth`` for its login, in the person's own file."""
        self.user(web={"url": self.site.url, **({"oauth": oauth} if oauth else {})})

    async def log_in(self) -> None:
        """Have the person log in, as the command does."""
        async with self.open(browse=follow) as sam:
            assert await sam.arrive() == [ECHO]

    @property
    def logins(self) -> list[Path]:
        """The files of logins."""
        return sorted((self.folder / "data" / "mcp-logins").glob("*.json"))

    @property
    def challenges(self) -> list[Path]:
        """The files with what servers refused requests with."""
        return sorted((self.folder / "data" / "mcp-logins").glob("*.challenge"))

    @property
    def login(self) -> dict[str, Any]:
        """What the one file of a login holds."""
        [file] = self.logins
        return json.loads(file.read_text(encoding="utf-8"))

    def change_login(self, **values: object) -> None:
        """Write other values into the file of the login."""
        [file] = self.logins
        file.write_text(json.dumps({**self.login, **values}), encoding="utf-8")

    def end_token(self) -> None:
        """Have the access token in the file end."""
        self.change_login(ends=1.0)
