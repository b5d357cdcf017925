"""Personalities: files like prompts, placed after the system prompt and before the rules."""

import pytest

from sam_tui.adapters.prompts.library import BUILT_IN
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import UsageError
from sam_tui.core.prompt.system import guidance, system_prompt
from tests.memory.harness import Harness


@pytest.mark.requirement("memory:personalities")
async def test_they_are_listed_and_speak_after_the_system_prompt(harness: Harness) -> None:
    listing = harness.prompts.list_personalities()
    assert listing.problems == ()
    assert len(listing.prompts) == len(list((BUILT_IN / "personality").glob("*.md"))) >= 4
    told = (await harness.call("list_system_prompts", {})).finished.text
    assert "Personalities" in told and "ID: built-in:calm" in told
    text = guidance(harness.prompts, "built-in:reviewer", "calm")
    whole = system_prompt(text, Workspace.open(str(harness.workspace)))
    places = [whole.index(words) for words in ("You review", "Speak calmly", "What holds")]
    assert places == sorted(places)


@pytest.mark.requirement("memory:personalities")
def test_one_alone_stands_for_the_default_prompt_with_it_and_unknown_ones_are_told(
    harness: Harness,
) -> None:
    both = guidance(harness.prompts, "built-in:default", "built-in:teacher")
    assert guidance(harness.prompts, "built-in:teacher") == both
    file = "---\nname: Pirate\n---\nSpeak like a pirate.\n"
    harness.prompt(harness.user_prompts / "personality", "pirate.md", file)
    assert guidance(harness.prompts, "default", "user:pirate").endswith("Speak like a pirate.")
    for prompt, voice in (("nope", ""), ("built-in:default", "nope"), ("default", "minimal")):
        with pytest.raises(UsageError, match="There is no"):
            guidance(harness.prompts, prompt, voice)
