"""What a shield knows, remembers and gives out, at the edges of length, number and kind."""

import hmac
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from sam_tui.core.redaction.shield import PLACEHOLDER, Masked, Shield

PASSWORD = "hunter2Xq9-zz"
KEY = b"sam-tui shield"


def digits(value: str, key: bytes = KEY) -> str:
    """All digits that a placeholder of this value could have."""
    return hmac.new(key, value.encode(), "sha256").hexdigest()


@pytest.mark.requirement("shield:known")
@pytest.mark.parametrize(
    ("value", "known"),
    [("a1b2c", False), ("a1b2c3", True), ("123456", False), ("aabbaa", False), ("postgres", False)],
)
def test_a_value_is_known_from_six_characters_that_are_no_plain_word(
    value: str, *, known: bool
) -> None:
    masked = Shield({"PIN": value}).mask(f"it is {value}.")
    assert masked == (
        Masked(f"it is <secret:PIN:{digits(value)[:4]}>.", 1, ("PIN",))
        if known
        else Masked(f"it is {value}.")
    )


@pytest.mark.requirement("shield:known")
@pytest.mark.parametrize(("value", "remembered"), [("a1b2c3d", False), ("a1b2c3d4", True)])
def test_a_value_that_was_seen_is_remembered_from_eight_characters(
    value: str, *, remembered: bool
) -> None:
    shield = Shield()
    assert shield.mask(f"postgres://app:{value}@db.local:5432/x").count == 1
    assert (value not in shield.mask(f"it is {value}.").text) is remembered


@pytest.mark.requirement("shield:stable")
def test_a_placeholder_has_the_name_made_harmless_and_four_digits_or_as_many_more_as_it_takes() -> (
    None
):
    assert Shield({"a b/ü": PASSWORD}).redact(PASSWORD) == f"<secret:a_b__:{digits(PASSWORD)[:4]}>"
    assert Shield({"n" * 70: PASSWORD}).redact(PASSWORD).split(":")[1] == "n" * 64
    assert Shield({"": PASSWORD}).redact(PASSWORD).split(":")[1] == "value"
    keyed = Shield({"A": PASSWORD}, key=b"k")
    assert keyed.redact(PASSWORD) == f"<secret:A:{digits(PASSWORD, b'k')[:4]}>"
    crowd = Shield({chr(0x4E00 + number): f"value-{number}" for number in range(600)})
    shown = [crowd.redact(f"value-{number}") for number in range(600)]
    for number, placeholder in enumerate(shown):
        (own,) = PLACEHOLDER.findall(placeholder)
        assert own[1] == digits(f"value-{number}")[: len(own[1])]
    assert {len(PLACEHOLDER.findall(placeholder)[0][1]) for placeholder in shown} == {4, 8}


@pytest.mark.requirement("shield:known")
def test_what_is_masked_is_counted_each_time_and_named_once_in_order() -> None:
    shield = Shield({"ONE": "one-value-1", "TWO": "two-value-2", "LONG": "one-value-1-and-more"})
    masked = shield.mask("two-value-2 one-value-1 two-value-2 one-value-1-and-more\u202e")
    assert (masked.count, masked.names, masked.invisible) == (4, ("TWO", "ONE", "LONG"), 1)
    assert masked.text.endswith(f"<secret:LONG:{digits('one-value-1-and-more')[:4]}>⟨U+202E⟩")
    assert shield.mask("") == Masked("", 0, (), 0)
    assert shield.mask("a\u202eb\u202ec") == Masked("a⟨U+202E⟩b⟨U+202E⟩c", 0, (), 2)
    assert (
        shield.unmask(masked.text)
        == "two-value-2 one-value-1 two-value-2 one-value-1-and-more\u202e"
    )


@pytest.mark.requirement("shield:assignments")
def test_of_several_secrets_of_one_text_each_is_masked_whatever_their_names_and_order() -> None:
    values = ("q1w2e3r4t5y6u7i8", "k3y4w0rd-9Zx8", "hunter2Xq9-zz")
    for names in (("a_token", "b_password", "c_secret"), ("c_secret", "b_password", "a_token")):
        text = " ".join(f"{name}='{value}'" for name, value in zip(names, values, strict=True))
        shield = Shield()
        masked = shield.mask(text)
        assert (masked.count, masked.names) == (3, names)
        assert not [value for value in values if value in masked.text]
        assert shield.unmask(masked.text) == text
        gap = text.replace("hunter2", "hun\x1b[1mter2").replace("k3y4", "k3\u200by4")
        assert shield.unmask(shield.mask(gap).text) == gap
        assert Shield().mask(gap).count == 3


@pytest.mark.requirement("shield:known")
def test_a_copy_masks_the_same_and_cuts_the_same_and_learns_for_itself() -> None:
    shield = Shield({"ONE": "one-value-1"}, key=b"k")
    assert shield.copy().mask("one-va…").count == 0
    placeholder = shield.redact("one-value-1")
    shield.unmask(placeholder)
    copy = shield.copy()
    assert copy.redact("one-value-1") == placeholder
    assert copy.mask("one-va…").count == 1
    copy.learn({"TWO": "two-value-2"})
    assert (copy.mask("two-value-2").count, shield.mask("two-value-2").count) == (1, 0)
    shield.learn({"TWO": "two-value-2"})
    assert copy.redact("two-value-2") == shield.redact("two-value-2")


@pytest.mark.requirement("shield:env-files")
def test_what_a_source_comes_to_know_is_masked_from_the_next_look_on() -> None:
    told: dict[str, str] = {}
    shield = Shield({"ONE": "one-value-1"}, source=lambda: told)
    shield.refresh()
    told["TWO"] = "two-value-2"
    assert shield.mask("one-value-1 two-value-2").names == ("ONE",)
    shield.refresh()
    assert shield.mask("one-value-1 two-value-2").names == ("ONE", "TWO")


@pytest.mark.requirement("shield:streams")
@pytest.mark.parametrize(
    ("end", "length"),
    [("said ", 0), ("correct", 7), ("correct horse", 13), ("correct horse 9", 0), ("c", 1),
     ("xcorrect ", 8), ("correct b", 9), ("correctcorrect", 7), ("one-value", 0), ("", 0)],
)  # fmt: skip
def test_the_beginning_of_a_value_with_blanks_is_measured_at_the_end_of_a_text(
    end: str, length: int
) -> None:
    shield = Shield({"A": "correct horse 9", "B": "correct batteries", "C": "one-value-1"})
    assert shield.length_of_beginning(end) == length


@pytest.mark.requirement("shield:cut")
@pytest.mark.parametrize(
    ("size", "hidden"), [(3, False), (4, True), (30, True), (400, True), (401, False)]
)
def test_a_beginning_of_four_to_four_hundred_characters_is_masked_before_a_cut(
    size: int, *, hidden: bool
) -> None:
    value = "".join(f"{number:03}x" for number in range(200))
    shield = Shield({"LONG": value, "FIVE": "54321", "SIX": "65432x"})
    shield.unmask(shield.redact(value))
    for before in ("", "at "):
        masked = shield.mask(f"{before}{value[:size]}…{value[:size]} x…")
        assert masked.count == int(hidden)
        assert masked.text.startswith(before + ("<secret:LONG:" if hidden else value[:size]))
        assert masked.text.endswith(f"…{value[:size]} x…")
    several = shield.mask(f"{value[:8]}…{value[:8]}…{value[:9]}…")
    assert (several.count, several.names) == (3, ("LONG",))
    assert shield.unmask(several.text) == f"{value[:8]}…{value[:8]}…{value[:9]}…"
    assert (
        shield.mask(f"6543…{value[:size]}").count == 0
    )  # SIX was never put back, the rest was not cut


@pytest.mark.requirement("shield:known")
def test_data_keeps_its_kinds_and_only_texts_are_masked_and_put_back() -> None:
    shield = Shield({"ONE": "one-value-1"})
    placeholder = shield.redact("one-value-1")
    parted = shield.mask("one-\x1b[1mvalue-1")
    assert (parted.text[:12], parted.names) == ("<secret:ONE:", ("ONE",))
    data = {"one-value-1": ["one-value-1", ("one-value-1", 1), None, True], "n": {"x": 1.5}}
    masked = {placeholder: [placeholder, (placeholder, 1), None, True], "n": {"x": 1.5}}
    assert shield.mask_data(data) == shield.mask_data(MappingProxyType(data)) == masked
    assert shield.unmask_data([placeholder, {"x": placeholder, "y": 1}]) == [
        "one-value-1", {"x": "one-value-1", "y": 1},
    ]  # fmt: skip
    assert shield.unmask_data({placeholder: 1}) == {placeholder: 1}  # names are no texts
    telling = shield.mask_data({"password": PASSWORD, "token": 5, "note": PASSWORD})
    assert (telling["token"], telling["note"]) == (5, telling["password"])
    assert shield.mask_data({"secret": "Ask Ann for 2."}) == {"secret": "Ask Ann for 2."}
    assert shield.unmask_data(telling)["password"] == PASSWORD


@pytest.mark.requirement("shield:unmask")
def test_what_leaves_this_machine_keeps_placeholders_and_loses_known_values_alone() -> None:
    shield = Shield({"ONE": "one-value-1"})
    placeholder = shield.redact("one-value-1")
    data: Mapping[str, object] = {
        "one-value-1": ["one-value-1", {"x": f"password='{PASSWORD}'"}], "n": 1, "p": placeholder,
    }  # fmt: skip
    left = shield.without_known(MappingProxyType(dict(data)))
    assert left == {
        placeholder: [placeholder, {"x": f"password='{PASSWORD}'"}], "n": 1, "p": placeholder,
    }  # fmt: skip


@pytest.mark.requirement("shield:divided")
@pytest.mark.parametrize("text", ["the one-v\n  alue-1.", "6f6e 652d 7661 6c75 652d 31"])
def test_what_leaves_this_machine_loses_known_values_that_are_divided_or_dumped(text: str) -> None:
    (left,) = Shield({"ONE": "one-value-1"}).without_known([f" {text}\n"])
    assert "<secret:ONE:" in left
    assert not {"one-v", "alue-1", "6f6e", "652d"} & set(left.split())


@pytest.mark.requirement("shield:unmask")
def test_only_what_was_shown_goes_back_unseen_characters_among_it() -> None:
    shield = Shield({"ONE": "one-value-1"})
    placeholder = f"<secret:ONE:{digits('one-value-1')[:4]}>"
    assert shield.unmask(placeholder) == placeholder
    assert shield.unmask("⟨U+200B⟩ and more") == "⟨U+200B⟩ and more"
    shield.mask("\u200b one-value-1")
    assert shield.unmask(f"⟨U+200B⟩ {placeholder} ⟨U+202E⟩") == "\u200b one-value-1 ⟨U+202E⟩"
