"""The meta-prompt language: balanced parentheses, escapes, and roles that exist."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tools.iron_manus.phases.meta_prompt import MetaPrompt, MetaPromptError, read_meta_prompt
from sam_tools.iron_manus.phases.roles import ROLES


@pytest.mark.requirement("ironmanus:meta-prompt")
def test_all_four_keys_are_read() -> None:
    text = "(ROLE: coder) (CONTEXT: authentication) (PROMPT: Implement JWT auth) (OUTPUT: production_code)"
    assert read_meta_prompt(text) == MetaPrompt(
        "coder", "Implement JWT auth", "authentication", "production_code"
    )


@pytest.mark.requirement("ironmanus:meta-prompt")
@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("(ROLE: coder) (PROMPT: x)", "x"),
        ("(ROLE: coder) (PROMPT: Implement JWT (RS256) auth)", "Implement JWT (RS256) auth"),
        ("(ROLE: coder) (PROMPT: f(g(h())))", "f(g(h()))"),
        (r"(ROLE: coder) (PROMPT: first 1\) then 2\) a \\ b)", "first 1) then 2) a \\ b"),
        ("before (prompt: y\nz) between (Role: Coder) after", "y\nz"),
        ("(ROLE: coder) (PROMPT: one) (PROMPT: two)", "one"),
        ("plain text", None),
        ("(PROMPT: x)", None),
        ("(ROLE: coder)", None),
        ("(ROLE:)", None),
        ("(ROLE : coder) (PROMPT: x)", None),
        ("(ROLE: coder) (PROMPT: )", None),
    ],
)
def test_values_run_to_the_parenthesis_that_closes_them(text: str, prompt: str | None) -> None:
    meta = read_meta_prompt(text)
    assert (meta.prompt if meta else None) == prompt
    assert meta is None or meta.output == "comprehensive_deliverable"


@pytest.mark.requirement("ironmanus:meta-prompt")
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("(ROLE: codr) (PROMPT: x)", "role_unknown", "nearest: coder"),
        ("(ROLE: wizard) (PROMPT: x)", "role_unknown", "there are: planner"),
        ("(ROLE: coder) (PROMPT: (x)", "unbalanced", "never closed"),
        ("(ROLE: coder) (PROMPT: 1) do x)", "unbalanced", "lone one"),
        ("(ROLE: coder) (PROMPT: " + "x" * 40_001 + ")", "too_long", "40000"),
    ],
)
def test_what_is_meant_as_one_and_is_none_says_why(text: str, code: str, said: str) -> None:
    with pytest.raises(MetaPromptError) as refused:
        read_meta_prompt(text)
    assert refused.value.code == code
    assert said in str(refused.value)


@pytest.mark.requirement("ironmanus:meta-prompt")
def test_unknown_and_repeated_keys_are_kept_as_warnings() -> None:
    meta = read_meta_prompt("(ROLE: coder) (PROMPT: x) (SLIDE_TYPE: cover) (ROLE: critic)")
    assert meta is not None
    assert meta.extras == {"SLIDE_TYPE": "cover"}
    assert [w.split()[0] for w in meta.warnings] == ["SLIDE_TYPE", "ROLE"]


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(bool)


@pytest.mark.requirement("ironmanus:meta-prompt")
@given(st.sampled_from(sorted(ROLES)), TEXTS, TEXTS, TEXTS)
def test_what_is_written_is_read_back_the_same(
    role: str, prompt: str, context: str, out: str
) -> None:
    meta = MetaPrompt(role, prompt, context, out)
    assert read_meta_prompt(meta.text()) == meta
