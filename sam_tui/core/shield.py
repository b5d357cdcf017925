"""Secrets -> stable placeholders, on every way into the model's context and the logs, and back.

``Shield.mask`` finds keys by their well-known forms, by the names they are assigned to, and by value
where the value is known. ``Shield.unmask`` puts them back, for local execution only.
"""

import base64
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from sam_tui.core.secret_forms import FORMS, NAMED, assigned_secrets
from sam_tui.core.unseen import show_unseen, shown_again

PLACEHOLDER = re.compile(r"<secret:([A-Za-z0-9_.-]{1,64}):([0-9a-f]{4,64})>")
_SHORTEST_KNOWN = 6
_SHORTEST_ENCODED = 12
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets: how many were masked, under which names, and unseen characters."""

    text: str
    count: int = 0
    names: tuple[str, ...] = ()
    unseen: int = 0


class Shield:
    """Masks and unmasks. It remembers what it masked, so that a placeholder finds its value again.

    ``known`` maps names to secret values, such as provider keys and the values of ``.env`` files.
    ``key`` makes the digits of placeholders: the same key gives the same placeholders for ever.
    """

    def __init__(self, known: Mapping[str, str] | None = None, *, key: bytes = b"") -> None:
        self._key = key or b"sam-tui shield"
        self._values: dict[str, str] = {}
        self._placeholders: dict[str, str] = {}
        self._known: list[tuple[str, str]] = []
        self._shown: set[str] = set()
        self.learn(known or {})

    def learn(self, known: Mapping[str, str]) -> None:
        """Mask these values as well from now on; short ones and plain words are left alone."""
        for name, value in known.items():
            if len(value) >= _SHORTEST_KNOWN and not PLACEHOLDER.fullmatch(value):
                placeholder = self._placeholder(name, value)
                forms = {value, *_encodings(value)}
                self._known.extend((form, placeholder) for form in forms)
        # The longest first: a value may be part of another.
        self._known = sorted(set(self._known), key=lambda pair: (-len(pair[0]), pair))

    def mask(self, text: str) -> Masked:
        """The text with placeholders for secrets, and unseen characters written out."""
        found: dict[str, int] = {}
        text = self._mask_blocks(text, found)
        for value, placeholder in self._known:
            if value in text:
                count = text.count(value)
                found[placeholder] = found.get(placeholder, 0) + count
                text = text.replace(value, placeholder)
        text = self._mask_forms(text, found)
        text = self._mask_assigned(text, found)
        text, unseen = show_unseen(text, self._shown)
        names = tuple(dict.fromkeys(p.split(":")[1] for p in found))
        return Masked(text, sum(found.values()), names, unseen)

    def unmask(self, text: str) -> str:
        """The text with the values behind its placeholders; unknown ones stay as they are."""
        if self._shown:
            text = shown_again(text, self._shown)
        if "<secret:" not in text:
            return text
        return PLACEHOLDER.sub(lambda match: self._values.get(match[0], match[0]), text)

    def unmask_data(self, data: Any) -> Any:
        """The same for every text in lists and objects, such as the arguments of a call."""
        if isinstance(data, str):
            return self.unmask(data)
        if isinstance(data, list):
            return [self.unmask_data(item) for item in cast("list[Any]", data)]
        if isinstance(data, dict):
            items = cast("dict[Any, Any]", data).items()
            return {key: self.unmask_data(value) for key, value in items}
        return data

    def mask_data(self, data: Any) -> Any:
        """Placeholders in every text of lists and objects."""
        if isinstance(data, str):
            return self.mask(data).text
        if isinstance(data, list):
            return [self.mask_data(item) for item in cast("list[Any]", data)]
        if isinstance(data, dict):
            items = cast("dict[Any, Any]", data).items()
            return {key: self.mask_data(value) for key, value in items}
        return data

    def unmask_json(self, text: str) -> str:
        """JSON with the values behind its placeholders, escaped as JSON needs; else unchanged."""
        if "<secret:" not in text and not self._shown:
            return text
        try:
            return json.dumps(self.unmask_data(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return text

    def _mask_blocks(self, text: str, found: dict[str, int]) -> str:
        if "-----BEGIN" not in text:
            return text
        return NAMED["private-key"].sub(
            lambda match: self._seen("private-key", match[0], found), text
        )

    def _mask_forms(self, text: str, found: dict[str, int]) -> str:
        for form in FORMS:
            spans = [(form.name, *span) for span in form.spans(text)]
            text = self._replaced(text, spans, found)
        return text

    def _mask_assigned(self, text: str, found: dict[str, int]) -> str:
        return self._replaced(text, assigned_secrets(text), found)

    def _replaced(
        self, text: str, spans: Sequence[tuple[str, int, int]], found: dict[str, int]
    ) -> str:
        """The text with placeholders at (name, start, end), none of which overlap another."""
        if not spans:
            return text
        pieces: list[str] = []
        at = 0
        for name, start, end in sorted(spans, key=lambda span: span[1]):
            if start >= at:
                pieces += [text[at:start], self._seen(name, text[start:end], found)]
                at = end
        return "".join([*pieces, text[at:]])

    def _seen(self, name: str, value: str, found: dict[str, int]) -> str:
        placeholder = self._placeholder(name, value)
        found[placeholder] = found.get(placeholder, 0) + 1
        return placeholder

    def _placeholder(self, name: str, value: str) -> str:
        """The one placeholder of a value; its digits grow where two values would share them."""
        known = self._placeholders.get(value)
        if known is not None:
            return known
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        label = _UNSAFE_NAME.sub("_", name)[:64] or "value"
        size = 4
        while (placeholder := f"<secret:{label}:{digest[:size]}>") in self._values:
            size += 4
        self._values[placeholder] = value
        self._placeholders[value] = placeholder
        return placeholder


_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASS|PASSWD|PASSWORD|PWD|PASSPHRASE|CREDENTIALS?"
    r"|AUTH|DSN|APIKEY|PAT|PRIVATE|SALT|COOKIE|SIGNATURE|WEBHOOK)(?:_|\d|$)|DATABASE_URL$|REDIS_URL$"
    r"|MONGO\w*_UR[IL]$|CONNECTION_STRING$",
    re.IGNORECASE,
)
_NOT_A_SECRET = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|\d+(?:\.\d+)?|/[\w./-]*|\$\{?\w+\}?|[\w.-]+:\d+|localhost.*"
    r"|(?:dev|prod|test|stag|local|change.?me|example|your|xxx|placeholder|dummy|none-needed)"
    r"[\w. -]*)",
    re.IGNORECASE,
)


def secrets_of_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that hold secrets, going by their names."""
    return {
        name: value
        for name, value in environ.items()
        if _SECRET_NAME.search(name)
        and len(value) >= 8
        and "/" not in value[:1]
        and not _NOT_A_SECRET.fullmatch(value)
    }


_ENV_LINE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*
    (?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s#'"][^#\r\n]*?)?)[ \t]*(?:\#.*)?$""",
    re.MULTILINE | re.VERBOSE,
)


def secrets_of_env_file(text: str) -> dict[str, str]:
    """The values of a ``.env`` file that are worth hiding: settings such as ``PORT=3000`` are not."""
    found: dict[str, str] = {}
    for match in _ENV_LINE.finditer(text):
        name = match[1]
        value = next((group for group in match.groups()[1:] if group), "")
        if match[2]:
            value = value.replace("\\n", "\n").replace('\\"', '"')
        if _NOT_A_SECRET.fullmatch(value) or "<secret:" in value:
            continue
        shortest = _SHORTEST_KNOWN if _SECRET_NAME.search(name) else 20
        if len(value) >= shortest and (shortest < 20 or _opaque(value)):
            found[name] = value
    return found


def _opaque(value: str) -> bool:
    """Whether a value without a telling name looks random rather than worded."""
    return " " not in value and "://" not in value and sum(map(str.isdigit, value)) >= 3


def _encodings(value: str) -> set[str]:
    """Other spellings in which a known value may turn up."""
    found = {quote(value, safe=""), json.dumps(value)[1:-1]}
    if len(value) >= _SHORTEST_ENCODED:
        data = value.encode("utf-8", "surrogatepass")
        found.add(base64.b64encode(data).decode().rstrip("="))
    return found - {value}
