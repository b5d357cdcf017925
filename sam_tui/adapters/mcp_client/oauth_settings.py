"""The login settings of a server's entry: the client, and how it gets tokens."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from sam_tui.core.errors import ConfigurationError

KEYS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "privateKey": "private_key",
    "algorithm": "algorithm",
    "clientMetadataUrl": "metadata_url",
    "issuer": "issuer",
    "scope": "scope",
    "grant": "grant",
    "assertion": "assertion",
    "assertionFile": "assertion_file",
    "idpTokenUrl": "idp_token_url",
    "idpClientId": "idp_client_id",
    "idpClientSecret": "idp_client_secret",
}
_ASSERTION, _IDP = ("assertion", "assertionFile"), ("idpTokenUrl", "idpClientId", "idpClientSecret")
_GRANTS = {
    "authorization_code": (),
    "client_credentials": (),
    "jwt_bearer": _ASSERTION,
    "token_exchange": _ASSERTION + _IDP,
}
"""The OAuth grants, each with the keys that it alone takes."""


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """The client at the authorization server; all fields empty: register dynamically.

    ``metadata_url`` is an ``https`` address of a client's own description; ``private_key`` is in PEM.
    The ``assertion`` is a signed JSON web token, in place of which ``assertion_file`` may name a file.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    algorithm: str = "ES256"
    metadata_url: str = ""
    issuer: str = ""
    scope: str = ""
    grant: str = "authorization_code"
    assertion: str = field(default="", repr=False)
    assertion_file: str = ""
    idp_token_url: str = ""
    idp_client_id: str = ""
    idp_client_secret: str = field(default="", repr=False)

    @property
    def by_itself(self) -> bool:
        """Whether the program logs in without a person."""
        return self.grant != "authorization_code"

    @property
    def asserts(self) -> bool:
        """Whether it does so by an assertion that another system signed."""
        return self.grant in ("jwt_bearer", "token_exchange")

    @property
    def secrets(self) -> Mapping[str, str]:
        """The fields that may be secret, by the end of a name."""
        return {
            "CLIENT_SECRET": self.client_secret,
            "PRIVATE_KEY": self.private_key,
            "ASSERTION_TOKEN": self.assertion,
            "IDP_CLIENT_SECRET": self.idp_client_secret,
        }


def oauth_settings(texts: Mapping[str, str], where: str, *, names_files: bool) -> OAuthSettings:
    """The settings in an entry's ``oauth``, known keys alone. Raises ``ConfigurationError``.

    ``names_files`` is true for an entry of the person alone: what such a file holds is sent away.
    """
    oauth = OAuthSettings(**{KEYS[key]: value for key, value in texts.items()})
    if oauth.grant not in _GRANTS:
        raise ConfigurationError(f"{where}.grant must be one of {', '.join(_GRANTS)}.")
    for key in (*_ASSERTION, *_IDP):
        if key in texts and key not in _GRANTS[oauth.grant]:
            grants = " or ".join(grant for grant, keys in _GRANTS.items() if key in keys)
            raise ConfigurationError(f"{where}.{key} needs the grant {grants}.")
    if oauth.metadata_url and not oauth.metadata_url.startswith("https://"):
        raise ConfigurationError(f"{where}.clientMetadataUrl must be an https address.")
    if oauth.assertion_file:
        _require_own_path(oauth.assertion_file, where, names_files=names_files)
    if missing := _missing(oauth):
        raise ConfigurationError(f"{where}: {oauth.grant} takes {missing}.")
    return oauth


def _require_own_path(path: str, where: str, *, names_files: bool) -> None:
    if not names_files:
        raise ConfigurationError(
            f"{where}.assertionFile: only your own mcp.json may name a file that is sent to a server."
        )
    if not os.path.isabs(path):
        raise ConfigurationError(f"{where}.assertionFile must be a whole path, from / on.")


def _missing(oauth: OAuthSettings) -> str:
    """Return what the grant requires, in words; empty if nothing is missing."""
    match oauth.grant:
        case "client_credentials":
            complete = oauth.client_id and (oauth.client_secret or oauth.private_key)
            return "" if complete else "clientId and clientSecret or privateKey"
        case "authorization_code":
            return ""
        case _ if not oauth.client_id or bool(oauth.assertion) == bool(oauth.assertion_file):
            return "clientId and one of assertion and assertionFile"
        case "token_exchange" if not all((oauth.issuer, oauth.idp_token_url, oauth.idp_client_id)):
            return "issuer, idpTokenUrl and idpClientId"
        case _:
            return ""
