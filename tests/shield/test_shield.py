"""Secrets leave as placeholders and come back for local use; what is none is left alone."""

import base64
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.core.redaction.settings_files import secrets_of_env_file, secrets_of_environment
from sam_tui.core.redaction.shield import (
    PLACEHOLDER,
    Shield,
)
from tests.fakes.rows import every_row

BODY = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5kL7nP9rS1uW3"
"""Letters and digits of no real key; the forms are put together here, so that none stands in a file."""

TOKENS = {
    "openai": "sk-" + BODY[:40],
    "openai project": "sk-proj-" + BODY[:44],
    "anthropic": "sk-ant-api03-" + BODY,
    "openrouter": "sk-or-v1-" + "0a1b2c3d" * 8,
    "github": "ghp_" + BODY[:36],
    "github oauth": "gho_" + BODY[:36],
    "github fine": "github_pat_" + BODY[:22] + "_" + BODY[:40],
    "gitlab": "glpat-" + BODY[:20],
    "slack bot": "xoxb-" + "123456789012-" + BODY[:24],
    "slack app": "xapp-1-A0123-" + BODY[:30],
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws session": "ASIA" + "Z2X4Y6W8V1U3T5SR",
    "google": "AIza" + BODY[:35],
    "google oauth": "ya29." + BODY[:40],
    "huggingface": "hf_" + BODY[:34],
    "npm": "npm_" + BODY[:36],
    "pypi": "pypi-" + BODY + BODY[:20],
    "stripe": "sk_live_" + BODY[:24],
    "stripe test": "rk_test_" + BODY[:24],
    "sendgrid": "SG." + BODY[:22] + "." + BODY[:43],
    "telegram": "123456789:" + "AA" + BODY[:33],
    "groq": "gsk_" + BODY + BODY[:4],
    "digitalocean": "dop_v1_" + "0a1b2c3d" * 8,
    "databricks": "dapi" + "0a1b2c3d" * 4,
    "vault": "hvs." + BODY[:30],
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + BODY[:43],
    "slack hook": "hooks.slack.com/services/" + "T0123/B0456/" + BODY[:24],
}


@pytest.mark.requirement("shield:forms")
def test_a_key_of_a_well_known_form_is_masked_wherever_it_stands() -> None:
    around = ("{}", "key: {}\n", '{{"a": "{}"}}', "curl -H 'X: {}' u", "x={};", "({})", "é {} é")
    with every_row() as row:
        for name, token in TOKENS.items():
            for text in (words.format(token) for words in around):
                with row(f"{name} in {text}"):
                    shield = Shield()
                    masked = shield.mask(text)
                    assert token not in masked.text
                    assert masked.count == 1
                    assert PLACEHOLDER.search(masked.text)
                    assert shield.unmask(masked.text) == text


@pytest.mark.requirement("shield:forms")
def test_private_keys_are_masked_as_a_whole_also_when_cut_off() -> None:
    shield = Shield()
    kind = "RSA PRIVATE KEY"
    lines = "\n".join([
        f"-----BEGIN {kind}-----",
        "Proc-Type: 4,ENCRYPTED",
        "",
        BODY,
        BODY[:20] + "==",
    ])
    for block in (f"{lines}\n-----END {kind}-----", lines, lines.replace("\n", "\\n")):
        masked = shield.mask(f"before\n{block}\n<after>")
        assert BODY not in masked.text
        assert masked.text.startswith("before\n<secret:private-key:")
        assert masked.text.endswith("<after>")
        assert shield.unmask(masked.text) == f"before\n{block}\n<after>"
    public = "-----BEGIN PUBLIC KEY-----\n" + BODY + "\n-----END PUBLIC KEY-----"
    assert Shield().mask(public).text == public


@pytest.mark.requirement("shield:assignments")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("PASSWORD=hunter2hunter2", "hunter2hunter2"),
        ("export DB_PASSWORD='s3cr3t-Pa55!'", "s3cr3t-Pa55!"),
        ('api_key = "9f8e7d6c5b4a39281706"', "9f8e7d6c5b4a39281706"),
        ('{"clientSecret": "kX9vQ2mL8pR4tZ7w"}', "kX9vQ2mL8pR4tZ7w"),
        ("aws_secret_access_key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY",
         "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY"),
        ("token => 'q1w2e3r4t5y6u7i8'", "q1w2e3r4t5y6u7i8"),
        ("Authorization: Bearer q1W2e3R4t5Y6u7I8o9P0", "q1W2e3R4t5Y6u7I8o9P0"),
        ("authorization: basic dXNlcjpwYTU1dzByZDEyMw==", "dXNlcjpwYTU1dzByZDEyMw=="),
        ("postgres://app:Xk29fQz@db.local:5432/x", "Xk29fQz"),
        ("https://me:gh0st-1n-shell@github.com/x.git", "gh0st-1n-shell"),
        ("DefaultEndpointsProtocol=https;AccountKey=" + BODY + "==;x", BODY + "=="),
    ],
)  # fmt: skip
def test_what_is_assigned_to_a_telling_name_is_masked(text: str, secret: str) -> None:
    shield = Shield()
    masked = shield.mask(text)
    assert secret not in masked.text
    assert masked.count == 1
    assert shield.unmask(masked.text) == text


@pytest.mark.requirement("shield:known")
def test_known_values_are_masked_by_their_name_in_every_spelling() -> None:
    value = 'va"lue/with spaces & more'
    shield = Shield({"MY_VALUE": value, "SHORT": "abc"})
    encoded = base64.b64encode(value.encode()).decode().rstrip("=")
    for spelling in (value, json.dumps(value)[1:-1], encoded):
        masked = shield.mask(f"a {spelling} b abc")
        assert spelling not in masked.text
        assert masked.names == ("MY_VALUE",)
        assert "abc" in masked.text
    assert shield.unmask(shield.mask(value).text) == value


@pytest.mark.requirement("shield:stable")
def test_a_placeholder_is_the_same_in_every_process_and_different_for_every_value() -> None:
    first, second = Shield({"A": "one-value-1"}), Shield({"A": "one-value-1"})
    assert first.mask("one-value-1").text == second.mask("one-value-1").text
    assert (
        Shield({"A": "one-value-1"}, key=b"k").mask("one-value-1").text
        != first.mask("one-value-1").text
    )
    many = Shield({"A": "one-value-1"} | {f"A{n}": "x" for n in range(3)})
    many.learn({"A": "another-value"})
    assert many.mask("one-value-1").text != many.mask("another-value").text
    crowd = Shield()
    for number in range(600):
        crowd.learn({"N": f"value-{number}"})
    placeholders = {crowd.mask(f"value-{number}").text for number in range(600)}
    assert len(placeholders) == 600
    assert all(crowd.unmask(p).startswith("value-") for p in placeholders)


@pytest.mark.requirement("shield:unmask")
def test_only_placeholders_it_gave_out_are_put_back_in_text_and_lists() -> None:
    shield = Shield({"A": 'qu"ote-value'})
    placeholder = shield.mask('qu"ote-value').text
    assert shield.unmask_data({"x": [placeholder, 1, None]}) == {"x": ['qu"ote-value', 1, None]}
    assert shield.unmask("<secret:A:0000> <secret:B:1234>") == "<secret:A:0000> <secret:B:1234>"
    again = shield.mask(placeholder)
    assert (again.text, again.count) == (placeholder, 0)


@pytest.mark.requirement("shield:environment")
def test_env_files_and_environments_give_their_secrets_and_not_their_settings() -> None:
    text = """
# comment
export API_TOKEN="abc\\"def123"
DB_PASSWORD='single quoted # not a comment'
PORT=3000
DEBUG=true
NODE_ENV=development
APP_SECRET=plainvalue # trailing
DATABASE_URL=postgres://u:p@h/db
BASE=https://example.com/a/b
EMPTY=
OTHER_KEY=changeme
SESSION=8f7d6e5c4b3a29180706
"""
    assert secrets_of_env_file(text) == {
        "API_TOKEN": 'abc"def123',
        "DB_PASSWORD": "single quoted # not a comment",
        "APP_SECRET": "plainvalue",
        "DATABASE_URL": "postgres://u:p@h/db",
        "SESSION": "8f7d6e5c4b3a29180706",
    }
    environ = {"OPENAI_API_KEY": "x1" * 10, "PATH": "/usr/bin:/bin", "HOME": "/h",
               "KEYBOARD": "qwerty-layout",
               "SSH_AUTH_SOCK": "/run/user/1/ssh", "GITHUB_TOKEN": "y2" * 10,
               "API_KEY": "none-needed"}  # fmt: skip
    assert set(secrets_of_environment(environ)) == {"OPENAI_API_KEY", "GITHUB_TOKEN"}


@pytest.mark.requirement("shield:unseen")
def test_unseen_characters_are_written_out_and_go_back_as_they_were() -> None:
    shield = Shield()
    for text, shown in (
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("x\u200by", "x⟨U+200B⟩y"),
        ("\u2066z\u2069", "⟨U+2066⟩z⟨U+2069⟩"),
        ("t\U000e0041", "t⟨U+E0041⟩"),
        ("a\ufeffb", "a⟨U+FEFF⟩b"),
        ("a\u200db", "a⟨U+200D⟩b"),
    ):
        masked = shield.mask(text)
        assert (masked.text, masked.invisible) == (shown, shown.count("⟨"))
        assert shield.unmask(masked.text) == text
    for text in (
        "👨\u200d👩\u200d👧",
        "❤\ufe0f",
        "می\u200cخواهم",
        "क्\u200dष",
        "\ufeffstart",
        "naïve — “ok”",
    ):
        assert shield.mask(text).text == text
    assert Shield().unmask("⟨U+202E⟩") == "⟨U+202E⟩"


@pytest.mark.requirement("shield:properties")
@given(
    st.lists(
        st.sampled_from([
            *TOKENS.values(),
            "some text ",
            "\n",
            "x = ",
            '"',
            "é\u202e",
            "<secret:A:1234>",
        ]),
        max_size=8,
    )
)
def test_unmasking_what_was_masked_gives_the_text_again(pieces: list[str]) -> None:
    shield = Shield({"KNOWN": "known-value-1"})
    text = " ".join([*pieces, "known-value-1"])
    masked = shield.mask(text)
    assert shield.unmask(masked.text) == text
    assert not any(token in masked.text.split() for token in TOKENS.values())
    assert shield.mask(masked.text).count == 0


@pytest.mark.requirement("shield:properties")
@given(st.text(string.printable + "\u202e\u200b<secret:", max_size=300))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    shield = Shield()
    assert shield.unmask(shield.mask(text).text) == text
