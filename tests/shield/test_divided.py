"""Secrets that line breaks divide, in the many ways in which programs print lines."""

import base64
import json
from collections.abc import Callable

import pytest

from sam_tui.core.redaction.shield import Shield
from sam_tui.core.tooling.redaction import MaskedStream
from tests.shield.test_leaks import BODY, TOKEN

VALUE = "q7Rt9ZpL2xWm5c8Tz41v"
WORDS = "it is long and goes on until the edge of the terminal where it breaks in two parts "


def wrapped(text: str, cut: int) -> str:
    """The text behind words, so that the column 80 is after so many characters of it."""
    return f"before\n{WORDS[: 79 - cut]} {text[:cut]}\n{text[cut:]}\nafter it\n"


def lined(form: str) -> Callable[[str, int], str]:
    """The wrapped text with each line in a form, which may contain its number."""
    return lambda text, cut: "\n".join(
        form.format(number, line=line)
        for number, line in enumerate(wrapped(text, cut).splitlines(), 98)
    )


def between(signs: str) -> Callable[[str, int], str]:
    """The text with these signs after so many characters of it."""
    return lambda text, cut: text[:cut] + signs + text[cut:]


DIVISIONS: dict[str, Callable[[str, int], str]] = {
    "wrapped": wrapped,
    "CRLF": lambda text, cut: wrapped(text, cut).replace("\n", "\r\n"),
    "JSON": lambda text, cut: json.dumps({"out": wrapped(text, cut)}),
    "cat -A": lined("{line}$"),
    "cat -n": lined("{0:6}\t{line}"),
    "numbered": lined("{0:6} | {line}"),
    "diff": lined("+{line}"),
    "grep -n": lined("{0}:{line}"),
    "grep -Hn": lined("etc/app.conf:{0}:{line}"),
    "grep -C": lined("etc/app.conf-{0}-{line}"),
    "quoted": lined("> {line}"),
    "comment": lined("# {line}"),
    "table": lined("| {line:80} |"),
    "shell": between("\\\n"),
    "shell, indented": between("\\\n      "),
    "literals": between('"\n    "'),
    "literals, added": between('" +\n    "'),
    "literals, continued": between("' \\\n    '"),
}


@pytest.mark.requirement("shield:divided")
@pytest.mark.parametrize("division", [*DIVISIONS, "mail", "break", "break, indented"])
def test_a_known_value_is_masked_wherever_a_line_breaks_it(division: str) -> None:
    divided = {
        **DIVISIONS, "mail": between("=\n"), "break": between("\n"), "break, indented": between("\n  "),
    }[division]  # fmt: skip
    for value in (VALUE, "k3y4w0rd", TOKEN):
        for cut in (1, 3, len(value) // 2, len(value) - 1):
            shield, text = Shield({"APP_SECRET": value}), divided(value, cut)
            masked = shield.mask(text)
            assert masked.names == ("APP_SECRET",), (value, cut)
            assert value[:cut][-3:] + value[cut:][:3] not in masked.text.replace("\n", "")
            assert max((value[:cut], value[cut:]), key=len) not in masked.text
            assert shield.unmask(masked.text) == text


ASSIGNED = ("PASSWORD='{}'", 'api_key = "{}"', '"password": "{}",', "my_token: '{}'")


@pytest.mark.requirement("shield:divided")
@pytest.mark.parametrize("division", DIVISIONS)
def test_a_secret_of_a_form_or_a_name_is_masked_to_its_end_on_the_next_line(division: str) -> None:
    around = ("{}", "x {}") if division.startswith("literals") else ("{}", "x {}", *ASSIGNED[:2])
    for form in around:
        for secret in (TOKEN, "sk-proj-" + BODY) if "=" not in form else (VALUE,):
            text = form.format(secret)
            if division == "JSON" and '"' in form:
                continue  # its quotes are escapes there
            at = text.index(secret)
            for cut in (at + 12, at + len(secret) - 5):
                shield, divided = Shield(), DIVISIONS[division](text, cut)
                masked = shield.mask(divided)
                assert masked.count == 1, (text, cut)
                assert text[cut - 8 : cut] not in masked.text
                assert text[cut : cut + 5] not in masked.text
                assert shield.unmask(masked.text) == divided
                assert secret not in shield.mask(f"again {secret} whole").text


@pytest.mark.requirement("shield:divided")
@pytest.mark.parametrize("columns", [64, 76])
def test_a_known_value_is_masked_in_base64_of_many_lines(columns: int) -> None:
    for before in range(40, 64):
        data = base64.b64encode(f"{WORDS[:before]}{VALUE} and more".encode()).decode()
        text = "\n  ".join(data[at : at + columns] for at in range(0, len(data), columns))
        shield = Shield({"APP_SECRET": VALUE})
        masked = shield.mask(text)
        assert masked.count == 1
        assert shield.unmask(masked.text) == text


@pytest.mark.requirement("shield:divided")
@pytest.mark.parametrize("size", [1, 3, 40, 1000])
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (wrapped(VALUE, 9), (VALUE[2:9], VALUE[11:])),
        (f"  1\t{VALUE[:9]}\n  2\t{VALUE[9:]}\n", (VALUE[2:9], VALUE[11:])),
        (f"{VALUE[:9]}\n{VALUE[9:]} password\n", (VALUE[2:9], VALUE[11:])),
        (wrapped(TOKEN, 20), (TOKEN[8:18], TOKEN[24:])),
        (wrapped(f"SECRET='x1{BODY[:20]}'", 20), (BODY[2:9], BODY[12:20])),
        (f"A_TOKEN=x1{BODY[:9]}\\\n{BODY[9:20]}\n", (BODY[2:9], BODY[12:20])),
    ],
)
def test_a_divided_secret_is_masked_in_live_output(
    text: str, parts: tuple[str, ...], size: int
) -> None:
    shield, pieces = Shield({"APP_SECRET": VALUE}), list[str]()
    stream = MaskedStream(shield, pieces.append)
    for start in range(0, len(text), size):
        stream.add(text[start : start + size])
    stream.end()
    shown = "".join(pieces)
    assert not [part for part in parts if part in shown]
    assert shield.unmask(shown) == text


@pytest.mark.requirement("shield:false-positives")
@pytest.mark.parametrize(
    "text",
    [
        f"export A_TOKEN={'value-' * 11}\nB_KEY=1\n",
        "see http://localhost:3000\nuser@example.com wrote this\n",
        f"{WORDS[:60]} token: some-value\nServer2 was started\n",
        f"{WORDS[:50]} the password that was\nset 4 times\n",
        "curl -H 'X-Token: $TOKEN' \\\n  -H 'Accept: text/plain'\n",
        "task-\nforce-one-and-2-more-of-the-kind\n",
    ],
)
def test_lines_that_only_follow_a_name_or_a_form_are_left_alone(text: str) -> None:
    assert Shield().mask(text).text == text
    shield = Shield({"APP_SECRET": VALUE})
    assert shield.mask(f"{VALUE[:9]}\n and {VALUE[9:]}").count == 0
    assert shield.mask(f"{VALUE[:9]}\n{VALUE[9:-1]}.").count == 0
    token = f"ghp_{VALUE}{VALUE[::-1]}"[:40]
    assert Shield().mask(f"{token}\n0123456789\nabc123").text.endswith(">\n0123456789\nabc123")


@pytest.mark.requirement("shield:divided")
@pytest.mark.parametrize(
    "unit", ["sk-a1b2\n", "password=\\\n", "://a:b\n", "q7Rt9Z\n", "\\n", ":", "\n"]
)
def test_lines_that_may_go_on_are_read_a_few_times_each(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    assert Shield({"APP_SECRET": VALUE}).mask(text).text == text
