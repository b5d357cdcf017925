"""Ways in which a secret tried to get past the shield, and what must be left alone meanwhile."""

import base64
import html
import json
import re
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from sam_tui.core.redaction.shield import Shield

BODY = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5kL7nP9rS1uW3"
TOKEN = "ghp_" + BODY[:36]
PASSWORD = "hunter2Xq9-zz"
KNOWN = 's3cr3t/Pa55+w&rd "x"\'y<z>'
DATA = KNOWN.encode()

SPELLINGS = {
    "plain": KNOWN,
    "JSON": json.dumps(KNOWN)[1:-1],
    "JSON in JSON": json.dumps(json.dumps(KNOWN))[3:-3],
    "an address": quote(KNOWN, safe=""),
    "a path of an address": quote(KNOWN),
    "a form": quote_plus(KNOWN),
    "base64": base64.b64encode(DATA).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(DATA).decode(),
    "base64 with a line's end": base64.b64encode(DATA + b"\n").decode(),
    "base64 of user and password": base64.b64encode(b"user:" + DATA).decode(),
    "base64 in between": base64.b64encode(b"us:" + DATA + b"x").decode(),
    "hex": DATA.hex(),
    "HEX": DATA.hex().upper(),
    "a shell's word": shlex.quote(KNOWN),
    "HTML": html.escape(KNOWN),
    "Python": repr(KNOWN),
    "a C string": KNOWN.replace('"', '\\"'),
    "JSON of Go": r"s3cr3t/Pa55+w\u0026rd \"x\"" + r"'y\u003cz\u003e",
    "JSON of Go in JSON": r"s3cr3t/Pa55+w\\u0026rd \\\"x\\\"" + r"'y\\u003cz\\u003e",
    "JSON of PHP": r"s3cr3t\/Pa55+w&rd \"x\"" + r"'y<z>",
    "SQL": KNOWN.replace("'", "''"),
    "printf %q": r"s3cr3t/Pa55+w\&rd\ \"x\"\'y\<z\>",
    "XML": html.escape(KNOWN).replace("&#x27;", "&apos;"),
    "JSON of code points": "".join(f"\\u{ord(c):04X}" for c in KNOWN),
    "JSON of some code points in JSON": KNOWN[:5]
    + r"\\u0074\\u002f"
    + json.dumps(json.dumps(KNOWN[7:]))[3:-3],
    "bytes of addresses": "".join(f"%{byte:02x}" for byte in DATA),
    "a needless byte of an address": "%41 " + quote(KNOWN, safe="").replace("P", "%50"),
    "an escape of C": KNOWN.replace("P", r"\x50"),
    "a backspace": KNOWN.replace("Pa", "Px\ba"),
}


@pytest.mark.requirement("shield:known")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_known_value_is_masked_in_every_usual_spelling_and_comes_back_in_it(
    spelling: str,
) -> None:
    shield, text = Shield({"APP_SECRET": KNOWN}), f"a {SPELLINGS[spelling]} b"
    masked = shield.mask(text)
    assert SPELLINGS[spelling].strip("='\"")[5:-8] not in masked.text
    assert masked.names == ("APP_SECRET",)
    assert shield.unmask(masked.text) == text


@pytest.mark.requirement("shield:known")
def test_escapes_of_other_lines_and_values_stay() -> None:
    shield = Shield({"APP_SECRET": KNOWN, "KEY": "Ab1Cd2Ef\nGh3Ij4Kl"})
    for text in (
        "a%41b\n\\u0041\\x41 x\b\n\b",
        "%41b1Cd2Ef\nbetween\n%47h3Ij4Kl",
        "%5A" * 5_000 + "\n" + "\b" * 5_000,
    ):
        assert shield.mask(text).text == text


@pytest.mark.requirement("shield:forms")
@pytest.mark.parametrize(
    "around",
    ["  12 | {}", "12:{}", "+{}", "-{}", "file.py-12-tok={}", "\x1b[31m{}\x1b[0m", '"{}\\n"',
     '\\"{}\\"', "%22{}%22", "x_{}", "\\n{}", "\\t{}", "\\u0022{}", "=3D{}", "u:{}@h", "/{}/"],
)  # fmt: skip
def test_a_token_is_masked_whatever_stands_right_before_it(around: str) -> None:
    shield, text = Shield(), around.format(TOKEN)
    assert TOKEN not in shield.mask(text).text
    assert shield.unmask(shield.mask(text).text) == text


@pytest.mark.requirement("shield:forms")
@pytest.mark.parametrize(
    "within",
    [
        "\x1b[1m",
        "\x1b[38;5;1m",
        "\x1b]8;;x\x07",
        "\u200b",
        "\xad",
        "\u202e",
        "\0",
        r"\x00",
        r"\u200b",
    ],
)
@pytest.mark.parametrize(
    "text", [TOKEN, f"password='{PASSWORD}'", "my " + KNOWN], ids=["form", "name", "value"]
)
def test_what_is_not_seen_within_a_secret_does_not_hide_it(within: str, text: str) -> None:
    shield = Shield({"APP_SECRET": KNOWN})
    cut = len(text) - 6
    broken = f"a {text[:cut]}{within}{text[cut:]} b"
    masked = shield.mask(broken)
    assert masked.count == 1
    assert text[cut - 4 : cut] not in masked.text
    assert text[cut:].strip("'") not in masked.text
    assert shield.unmask(masked.text) == broken


@pytest.mark.requirement("shield:forms")
def test_a_block_of_a_key_in_colours_is_hidden_whole() -> None:
    marks = [f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END")]
    block = f"{marks[0]}\n{BODY}\n\x1b[1m{BODY[::-1]}\n{marks[1]}"
    masked = Shield().mask(f"a {block} b")
    assert (masked.count, BODY in masked.text, BODY[::-1] in masked.text) == (1, False, False)
    broken = block.replace("PRIVATE", "PRI\x1b[0mVATE")
    assert BODY not in Shield().mask(broken).text


@pytest.mark.requirement("shield:forms")
def test_the_last_64_values_that_were_seen_are_known_by_themselves() -> None:
    shield = Shield()
    seen = [f"hunter2Xq9-{n:03}zz" for n in range(65)]
    for number, value in enumerate(seen):
        shield.mask(f"password='{value}'")
        if number == 63:
            assert seen[0] not in shield.mask(f"it is {seen[0]}").text
    hidden = [value not in shield.mask(f"it is {value}").text for value in seen]
    assert hidden == [False] + [True] * 64


@pytest.mark.requirement("shield:assignments")
@pytest.mark.parametrize(
    "line",
    ['{{\\"password\\": \\"{}\\"}}', 'password=\\"{}\\"', "--password {}", "--api-key '{}'",
     "<password>{}</password>", "machine h login u password {}", "password%3D{}",
     "curl -u user:{} https://x.test", "sshpass -p {} ssh h", "'password': b'{}'",
     'password = r"{}"', 'password: str = "{}"', 'password: Final[str] = "{}"', "ENV PASSWORD {}",
     '<add key="password" value="{}"/>', "name: PASSWORD\n      value: {}",
     '"name": "DB_PASSWORD", "value": "{}"', '"key": "API_TOKEN",\n "value": "{}"',
     'const char *password = "{}";', "spring.datasource.password={}", "-password={}",
     "//registry.test/:_authToken={}", "Cookie: theme=dark; session={}1f9a8b7c6d",
     "Cookie: session={}1f9a8b7c6d and more", "Set-Cookie: a={}1f9a8b7c6d; Path=/; HttpOnly",
     "set-cookie: theme=dark mode; session=  {}1f9a8b7c6d",
     'let api_key: &str = "{}";', "API_TOKEN ?= {}", "client_secret%3D{}%26y%3D2",
     'password = """\n{}"""', "password = '''{}'''", "CREATE USER bob IDENTIFIED BY '{}';",
     "ALTER ROLE bob ENCRYPTED PASSWORD '{}'", 'storePassword "{}"', "mysql -u root -p{} db",
     "ldapsearch -x -D cn=admin -w {} -b dc=x", "db.local:5432:app:bob:{}", "Server=x;Pwd={};A=b",
     '<input type="password" name="pw" value="{}">', '{{"auth": "Ym9iOmh1bnRlcjJYcTktenoK{}"}}',
     'variable "db_password" {{\n  default = "{}"\n}}', "_auth=Ym9iOmh1bnRlcjJYcTktenoK{}",
     "redis-cli -h db -a {} ping", "redis-cli --pass '{}' get x", "zip -r -P {} out.zip f",
     "unzip -P{} a.zip", "sqlcmd -S tcp:h,1433 -U sa -P {} -Q x", "ipmitool -U root -P {} chassis",
     "7z x -p{} a.7z", "openssl rsa -passin pass:{} -in k",
     "openssl enc -pass 'pass:{}' -in x", "keytool -storepass {} -list", "mariadb -u root -p{} db",
     "docker login -u bob -p {} r.test", "htpasswd -bn bob {}", "curl -sSu bob:{} https://x.test",
     "curl --proxy-user bob:{} x", "wget --http-password={} u"],
)  # fmt: skip
def test_the_many_ways_to_say_what_a_password_is(line: str) -> None:
    shield, text = Shield(), line.format(PASSWORD)
    masked = shield.mask(text)
    assert PASSWORD not in masked.text
    assert shield.unmask(masked.text) == text


PEM = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *(BODY[i:] + BODY[:i] + "0123456789abcdef" for i in range(6)),
    "abcd==",
    "-----END RSA PRIVATE KEY-----",
]
TOLD: dict[str, Callable[[int, str], str]] = {
    "plain": lambda _, line: line,
    "removed": lambda _, line: f"-{line}",
    "added": lambda _, line: f"+{line}",
    "numbered": lambda number, line: f"{number:6}\t{line}",
    "found": lambda number, line: f"k.txt-{number}-{line}",
    "quoted": lambda _, line: f'    "{line}\\n"',
    "in a table": lambda number, line: f" {number} | {line}",
    "a comment": lambda _, line: f"# {line}",
    "ended twice": lambda _, line: f"{line}\r",
}
PARTS = {"whole": slice(0, 9), "its head": slice(0, 5), "its tail": slice(3, 9)}


@pytest.mark.requirement("shield:forms")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("told", TOLD)
def test_no_line_of_a_private_key_gets_through(told: str, part: str) -> None:
    lines = PEM[PARTS[part]]
    block = "\n".join(TOLD[told](number, line) for number, line in enumerate(lines))
    spelt = quote(block) if told == "plain" else block.replace("\n", "\\n")
    for text in (block, json.dumps(block), spelt):
        shield = Shield()
        masked = shield.mask(f"before\n{text}\nafter")
        assert not [line for line in PEM[1:7] if line in masked.text]
        assert masked.text.startswith("before\n")
        assert masked.text.endswith("\nafter")
        assert shield.unmask(masked.text) == f"before\n{text}\nafter"


@pytest.mark.requirement("shield:known")
def test_what_was_masked_once_is_masked_where_nothing_gives_it_away() -> None:
    shield = Shield()
    assert PASSWORD not in shield.mask(f"{PASSWORD} was it, password='{PASSWORD}'").text
    for text in (f"it is {PASSWORD}", f"{PASSWORD[::1]}\n", json.dumps([PASSWORD]), DATA.hex()):
        assert PASSWORD not in shield.mask(text).text
    assert PASSWORD.encode().hex() not in shield.mask(f"x {PASSWORD.encode().hex()} y").text
    shield.mask("\n".join(PEM))
    assert PEM[3] not in shield.mask(f"only this: {PEM[3]}").text


@pytest.mark.requirement("shield:known")
def test_words_that_are_passwords_stay_readable_where_they_are_words() -> None:
    shield = Shield({"DB_PASSWORD": "postgres", "KEY": "correcthorse", "PIN": "123456"})
    shield.mask("postgres://app:postgres@h/db and postgres://me:s3cr3t@h/db")
    text = "the postgres image, correcthorses, 123456 rows"
    assert shield.mask(text).text == text
    assert "correcthorse" not in shield.mask("say correcthorse now").text


@pytest.mark.requirement("shield:known")
def test_a_value_that_is_part_of_a_placeholder_does_not_break_it() -> None:
    shield = Shield({"FIRST": "private-key-x", "NAME": "FIRST-9"})
    shield.learn({"FIRST-9": "another-value-1"})
    text = "private-key-x another-value-1 FIRST-9"
    assert shield.unmask(shield.mask(text).text) == text


@pytest.mark.requirement("shield:unmask")
def test_a_secret_within_another_comes_back_with_it() -> None:
    text = f"Cookie: session={BODY[:32]}; a=b"
    shield = Shield({"SESSION": BODY[:32]})
    assert shield.unmask(shield.mask(text).text) == text


@pytest.mark.requirement("shield:known")
def test_a_spelling_in_base64_that_is_letters_alone_is_masked_within_a_longer_one() -> None:
    value = "Ku8iS2_G8N-PRVdD53X"
    data = base64.b64encode(f"it is an{value} and".encode()).decode()
    assert Shield({"APP_SECRET": value}).mask(data).count == 1


@pytest.mark.requirement("shield:unmask")
def test_a_guessed_placeholder_means_nothing() -> None:
    shield = Shield({"OPENAI_API_KEY": "never-shown-value-1"})
    guesses = "".join(f"<secret:OPENAI_API_KEY:{n:04x}>" for n in range(1 << 16))
    assert shield.unmask(guesses) == guesses


@pytest.mark.requirement("shield:known")
def test_data_is_masked_by_the_names_of_its_entries() -> None:
    shield = Shield()
    data = {"user": {"password": PASSWORD, "name": "x"}, "rows": (TOKEN, 1), TOKEN: None}
    masked = json.dumps(shield.mask_data(data))
    assert shield.unmask_data(json.loads(masked))["user"] == data["user"], (
        "what it gave is put back"
    )
    assert PASSWORD not in masked
    assert TOKEN not in masked
    assert '"name": "x"' in masked


@pytest.mark.requirement("shield:cut")
@pytest.mark.parametrize("spelling", ["plain", "hex", "base64"])
def test_a_known_value_is_masked_where_the_text_was_cut_within_it(spelling: str) -> None:
    shield, whole = Shield({"APP_SECRET": KNOWN, "WORD": "developments"}), SPELLINGS[spelling]
    text = f"{whole[:9]}…"
    assert (
        shield.mask(text).text == text
    )  # never put back: nobody could have cut it, and nobody can guess at it
    shield.unmask(shield.mask(KNOWN).text)
    for size in range(4, len(whole) - 8):
        text = f"1: x{whole[:size]}…\n2: deve…"
        masked = shield.mask(text)
        assert whole[:size] not in masked.text
        assert "2: deve…" in masked.text
        assert shield.unmask(masked.text) == text
    assert shield.mask(f"{whole[:3]}…").text == f"{whole[:3]}…"
    assert shield.mask(f"{whole[:9]} …").text == f"{whole[:9]} …"


@pytest.mark.requirement("shield:forms")
@pytest.mark.parametrize(
    "password",
    [
        "Xk9#mP2$vL5nQ8",
        "T7$kP0!qW#z9Lm^2",
        "p@$$w0rd!Zx91",
        "9f{Kq2!m(Z7",
        "]35d/{pB9Fo9wJ",
        "a8<Z>k%2Q[x7",
    ],
)
def test_a_password_of_a_generator_is_masked_with_signs_that_code_has(password: str) -> None:
    text = json.dumps({"password": password, "smtp_pass": password[::-1]})
    masked = Shield().mask(text).text
    assert password not in masked
    assert password[::-1] not in masked


@pytest.mark.requirement("shield:forms")
def test_a_password_with_an_escaped_quote_is_masked_to_its_end() -> None:
    assert "nQ8" not in Shield().mask(r'{"password": "kX9;m,P2|vL5\"nQ8"}').text


@pytest.mark.requirement("shield:forms")
@pytest.mark.parametrize("unit", ["\\", '\\"', "\\'\\", "\\\\/", "\\x"])
def test_a_long_row_of_backslashes_behind_a_name_is_read_at_once(unit: str) -> None:
    text = f'password: "{unit * 120} and no end'
    assert Shield().mask(text).text == text


BRACKETS, OTHER = "Xk9[vQ2(mZ7!pL", "tR4w8Zq1Lp0s"


@pytest.mark.requirement("shield:forms")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"DB_PASSWORD={BRACKETS}", 1), (f"  12 | password: {BRACKETS}\n", 1),
        (f"+export API_TOKEN={BRACKETS}\r\n", 1), ("password=Xk92vQ7m4[Zp3Wd", 1),
        (f'{{"passwords": ["{OTHER}", "a{OTHER}b"]}}', 2), (f"tokens: ['{OTHER}']", 1),
        (f'API_KEYS = (\n    b"{OTHER}",\n    "{OTHER[::-1]}",\n)', 2),
        (json.dumps(f'{{"secrets": ["{OTHER}"]}}'), 1),
        (f"passwords:\n  - {OTHER}\n  - {OTHER[::-1]}\n", 2),
        (f"password: |\n    {OTHER}\n", 1), (f"password: >-\r\n      {OTHER}\r\n", 1),
        (f'password = (\n        "{OTHER}"\n)', 1), (f'password=\\\n    "{OTHER}"', 1),
        (f'"password":\n        "{OTHER}",', 1), ("password:\n  summer-2024\n", 1),
        ("password:\r\n  summer-2024\r\n", 1), ("password: |\n  summer-2024\n", 1),
        ("password: >-\r\n  summer-2024\r\n", 1),
        ("PASSWORD=ab(cd)mZ7!pL{gh}[i]", 1),
        ("password: q7(Rt9)mZ7!pL[2]x\n", 1), ("db.password=aB3(dE5)mZ7!pL&jK9\n", 1),
        (f"bob:$2y$10${BODY}", 1), (f"root:$6$a1b2c3d4${BODY}:19000:0", 1),
    ],
)  # fmt: skip
def test_a_password_with_brackets_in_a_list_or_on_the_next_line_is_masked_whole(
    text: str, count: int
) -> None:
    shield = Shield()
    masked = shield.mask(text)
    assert masked.count == count
    parts = ("mZ7!pL", "Zp3Wd", "8Zq1", "1qZ8", "summer", BODY)
    assert not any(part in masked.text for part in parts)
    assert shield.unmask(masked.text) == text


@pytest.mark.requirement("shield:assignments")
@pytest.mark.parametrize("value", ["Zr8q,1x9Wk2", "Zr8q;1x9Wk2", "a,b;Zr8q1x9W", "Zr8&q1x9W'k2"])
def test_a_generated_password_of_a_settings_line_has_commas_and_quotes_in_it(value: str) -> None:
    for line in ("DB_PASSWORD={}", "export DB_PASSWORD={}", "  password: {}"):
        masked = Shield().mask(f"A=1\n{line.format(value)}\nB=2\n").text
        assert re.fullmatch(rf"A=1\n{line.format('<secret:[^>]*>')}\nB=2\n", masked)
    masked = Shield().mask(f"redis-cli -a '{value.replace(chr(39), '-')}' ping").text
    assert re.fullmatch("redis-cli -a '<secret:[^>]*>' ping", masked)
