import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.core.text.consent import consents

YES = [
    "yes", "ok", "y", "go ahead", "sure, do it", "Yes.", "YES!!", "  okay  ", "k", "Yes please",
    "yep, go for it", "approved", "ok, go ahead and do it", "thank you, yes", "by all means",
    "that's ok", "Ｙｅｓ", "of course",
]  # fmt: skip
NO = [
    "no", "No", "n", "no way", "deny", "don't do it", "don’t do it", "dont do it", "do not do it",
    "not today", "nope", "never", "stop", "cancel", "never mind", "No problem, go ahead",
    "yes, no, wait", "y/n", "yes_no", "n\u200bo", "de\u200bny", "I won't say yes", "I can´t, ok",
    "ok, abort",
]  # fmt: skip
UNCLEAR = [
    "", "   ", "maybe", "ask me later", "my API key is 123", "yes?", "is that ok", "you sure",
    "ok but later", "yes, if you make a backup first", "okay so what does it do", "yesterday",
    "okra", "monkey", "why", "surely", "proceeding", "123", "👍", "yes 👎", "да", "please", "it",
    "unapproved", "ok " * 200, "can you do it", "do it later", "the ok button is broken",
]  # fmt: skip


@pytest.mark.requirement("todos:consent")
@pytest.mark.parametrize("text", YES)
def test_a_plain_yes_consents(text: str):
    assert consents(text) is True


@pytest.mark.requirement("todos:consent")
@pytest.mark.parametrize("text", NO)
def test_a_negation_wins_whatever_stands_beside_it(text: str):
    assert consents(text) is False


@pytest.mark.requirement("todos:consent")
@pytest.mark.parametrize("text", UNCLEAR)
def test_what_is_neither_is_no_consent(text: str):
    assert consents(text) is None


@pytest.mark.requirement("todos:consent")
@given(st.lists(st.sampled_from([*YES, *UNCLEAR, "not", "don't", "deny"]), min_size=1, max_size=6))
def test_a_text_with_a_negation_never_consents(parts: list[str]):
    if {"not", "don't", "deny"} & set(parts):
        assert consents(" ".join(parts)) is False


@pytest.mark.requirement("todos:consent")
@given(st.text())
def test_a_text_without_a_word_of_consent_in_it_never_consents(text: str):
    if consents(text):
        assert consents(f"{text} unless it rains") is not True
        assert consents(f"not {text}") is False
