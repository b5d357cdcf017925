"""Other spellings in which a known secret may turn up: quoted, escaped, encoded."""

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST_ENCODED = 12
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_EVERYDAY = frozenset({
    "abc123", "access", "account", "administrator", "api-key", "apikey", "bearer", "changeit",
    "changeme", "client", "customer", "default", "demo1234", "develop", "developer",
    "development", "docker", "dummy", "example", "examples", "foobar", "guest1", "hello-world",
    "hello123", "hunter2", "internal", "keyring", "letmein", "localhost", "manager", "master",
    "minioadmin", "mongodb", "monitor", "mypassword", "mysecret", "not-set", "nothing", "oracle",
    "passphrase", "passwd", "password", "password1", "password123", "placeholder", "postgres",
    "postgresql", "private", "production", "public", "python", "qwerty", "rabbitmq", "readonly",
    "redacted", "redis-password", "required", "sample", "secret", "secret-key", "secrets",
    "service", "staging", "strong-password", "supersecret", "system", "test1234", "testing",
    "testpass", "testtest", "token", "tomcat", "undefined", "unknown", "username", "welcome",
    "your-key",
})  # fmt: skip
"""Words that are somebody's password and stand in every text: masked where they are assigned alone."""


def plain_word(value: str) -> bool:
    """Whether a value says too little to be masked wherever it stands: a usual word, or one digit
    after another."""
    return value.lower() in _EVERYDAY or value.isdecimal() or len(set(value)) < 4


def wordlike(value: str) -> bool:
    """Whether a value is letters alone: it is masked as a whole word only."""
    return value.isalpha()


def spellings(value: str) -> set[str]:
    """The value, and how it looks in JSON, addresses, markup, shells and source, base64 and hex.

    Of base64 those characters that are the same whatever stands before and after the value.
    """
    forms = {value, *_escaped(value)}
    if len(value) >= _SHORTEST_ENCODED:
        forms.update(_encoded(value.encode("utf-8", "surrogatepass")))
    return forms


def _escaped(value: str) -> Iterator[str]:
    once, readable = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (once, readable, json.dumps(once)[1:-1], json.dumps(readable)[1:-1])
    for address in _addresses(value):
        yield address
        yield _PERCENT.sub(lambda match: match[0].lower(), address)
    markup = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = markup.replace('"', "&quot;")
    yield from (markup, quoted, quoted.replace("'", "&#x27;"), quoted.replace("'", "&#39;"))
    yield repr(value)[1:-1]
    yield from (value.replace("'", "'\"'\"'"), value.replace("'", "'\\''"))
    yield value.replace('"', '\\"')


def _addresses(value: str) -> tuple[str, ...]:
    try:
        return quote(value, safe=""), quote(value), quote_plus(value)
    except UnicodeEncodeError:  # half of a character
        return ()


def _encoded(data: bytes) -> Iterator[str]:
    yield from (data.hex(), data.hex().upper())
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + data).decode()
        inner = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))
