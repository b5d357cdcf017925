"""Variables of the environment that look like secrets, and those that commands may have."""

import fnmatch
import functools
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_NAME = re.compile(
    r"(?:^|_)(?:KEY|KEYS|PASS|PWD|AUTH|DSN|PAT|PRIVATE|SALT|COOKIE|SIGNATURE|WEBHOOK"
    r"|PW|JWT|BEARER|OTP|TOTP|MNEMONIC|PASSCODE|FERNET|SERVICE_ROLE|SEED_PHRASE)(?:_|\d|$)"
    r"|API_?KEY|ACCESS_?KEY|TOKEN(?:S|_|\d|$)|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|SSHPASS|BINDPW"
    r"|(?:DATABASE|DB|REDIS|AMQP|MONGO\w*|POSTGRES\w*)_UR[IL]$|CONNECTION_?STRING",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"true|false|yes|no|on|off|none|null|\d{1,5}|\$\{?\w+\}?", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s]*:[^/@\s]+@", re.IGNORECASE)
_KNOWN_FORM = re.compile(
    r"(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)[-_]\w|gh[pousr]_\w{20}|github_pat_|glpat-|xox[abprs]-"
    r"|sk-[\w-]{20}|gsk_\w{20}|pplx-\w{20}|xai-\w{20}|r8_\w{20}|AIza[\w-]{30}|ya29\.|SG\.[\w-]{16}|pypi-Ag"
    r"|dop_v1_|shp(?:at|ca|pa|ss)_|tskey-|hv[bs]\.\w{20}|lin_api_|ntn_\w{20}|sntry[su]_|glsa_|sbp_\w{20}"
    r"|dapi[0-9a-f]{32}|whsec_|ops_eyJ|AGE-SECRET-KEY-1|AccountKey="
    r"|AKIA[0-9A-Z]{16}|npm_\w{20}|hf_\w{20}|eyJ[\w-]{10,}\.eyJ|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_JUDGED_BY_USE = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "XAUTHORITY"})
"""Variables that name a file or socket, whose use is judged by itself."""
_MISSING_CREDENTIALS = re.compile(
    r"\b(?:401|403|unauthori[sz]ed|unauthenticated|forbidden|authenticat\w*|credentials?|api[ _-]?key"
    r"|access (?:key|token)|token|log ?in|password|environment variables?)\b",
    re.IGNORECASE,
)
"""Words with which programs report that credentials are missing."""


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret, by its name or by the form of its value."""
    by_form, by_name = _appearance(name, value)
    return by_form or (by_name and not (value.startswith("/") and os.path.lexists(value)))


@functools.lru_cache(maxsize=512)  # each command asks about the same environment
def _appearance(name: str, value: str) -> tuple[bool, bool]:
    """Whether the value has the form of a secret, and whether the name is that of one."""
    if not value or name in _JUDGED_BY_USE:
        return False, False
    by_form = _KNOWN_FORM.search(value) or _PASSWORD_IN_URL.match(value)
    return bool(by_form), bool(_NAME.search(name)) and not _HARMLESS.fullmatch(value)


@dataclass(frozen=True, slots=True)
class PassedVariables:
    """The variables with names of secrets that commands may have.

    ``patterns`` are names with ``*`` and ``?``. A ``reserved`` variable has to be named in full.
    """

    patterns: tuple[str, ...] = ()
    reserved: frozenset[str] = field(default=frozenset(), repr=False)

    def passes(self, name: str) -> bool:
        """Whether the person named it."""
        if name in self.reserved:
            return name in self.patterns
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.patterns)

    def withheld(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The names that a command does not get, in alphabetical order."""
        return tuple(
            name
            for name, value in sorted(environ.items())
            if (name in self.reserved or looks_secret(name, value)) and not self.passes(name)
        )

    def missed(self, environ: Mapping[str, str], command: str, output: str) -> tuple[str, ...]:
        """The withheld variables that a failed command may have wanted: those named in the command or its
        output; if none is named but the output speaks of credentials, all but the reserved ones."""
        names = self.withheld(environ)
        named = tuple(name for name in names if name in command or name in output)
        if named or not _MISSING_CREDENTIALS.search(output):
            return named
        return tuple(name for name in names if name not in self.reserved)


def how_to_pass(names: Iterable[str]) -> str:
    """The line of a policy that passes these variables to commands."""
    listed = ", ".join(f'"{name}"' for name in names)
    return f"To pass them, write in your policy.toml: [environment] pass = [{listed}]"
