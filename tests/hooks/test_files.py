"""Which hooks there are: files that are read, believed, refused, and looked at again."""

import json
import re
from typing import Any

import pytest

from sam_tui.adapters.hooks.parser import parse_hooks
from sam_tui.core.errors import ConfigurationError
from tests.hooks.conftest import Place, touch, write

STOP = "echo stopped >&2; exit 2"


def made(place: Place) -> bool:
    return (place.workspace / "made").exists()


def entry(**more: Any) -> dict[str, Any]:
    return {"type": "command", "command": "true", **more}


def group(*entries: dict[str, Any], event: str = "PreToolUse", **more: Any) -> dict[str, Any]:
    return {"hooks": {event: [{"hooks": list(entries), **more}]}}


WRONG: list[tuple[Any, str]] = [
    ("{", "not valid JSON: .* line 1"),
    (
        '{"hooks": {"Stop": [],\n"\\u0053top": []},\n"hooks": {}}',
        r"^/cfg/hooks\.json:2: the key “Stop” is set twice\.",
    ),
    ("[" * 100_000, "not valid JSON"),
    ([], "the file: must be an object"),
    ({"hook": {}}, "the file: unknown key “hook”.*\nKnown: hooks, description"),
    ({"hooks": []}, "hooks: must be an object"),
    (
        {"hooks": {"PreTool": []}},
        "hooks: unknown key “PreTool”.*\nKnown: SessionStart, UserPromptSubmit, PreToolUse",
    ),
    ({"hooks": {"Stop": {}}}, "hooks.Stop: must be a list"),
    ({"hooks": {"Stop": [{}]}}, r"hooks\.Stop\[0\]: “hooks” is missing"),
    (group(entry(), matchr="x"), r"hooks\.PreToolUse\[0\]: unknown key “matchr”"),
    (group(entry(), matcher="("), r"hooks\.PreToolUse\[0\]\.matcher: '\('"),
    (group(entry(), matcher=7), r"matcher: must be a text"),
    (group(entry(), event="Stop", matcher="x"), "matcher: Stop takes no matcher"),
    (group(entry(type="prompt")), r"hooks\[0\]\.type: 'prompt' is not a kind of hook"),
    *(
        (group(entry(command=wrong)), r"hooks\[0\]\.command: must be a shell command")
        for wrong in (" ", 7, ["rm"], None, "a\0b")
    ),
    (group(entry(), entry(timeout=0)), r"hooks\[1\]\.timeout: 0 is not a number of seconds"),
    (group(entry(timeout="60")), r"hooks\[0\]\.timeout: must be a number"),
    (group(entry(timeout=1e9)), "timeout: 1000000000.0 is not a number"),
    (
        group(entry(asynchronous=True)),
        "unknown key “asynchronous”.*\nKnown: type, command, timeout",
    ),
    (group(*[entry()] * 101), "more than 100 hooks"),
]


@pytest.mark.requirement("hooks:errors")
@pytest.mark.parametrize(("data", "said"), WRONG)
def test_what_is_wrong_in_a_file_is_named_with_its_place_and_what_is_allowed(
    data: Any, said: str
) -> None:
    text = data if isinstance(data, str) else json.dumps(data)
    with pytest.raises(ConfigurationError) as raised:
        parse_hooks(text, "/cfg/hooks.json", "user")
    told = raised.value.explain()
    assert told.startswith("/cfg/hooks.json")
    assert re.search(said, told, re.DOTALL), told


@pytest.mark.requirement("hooks:errors")
def test_a_file_as_others_write_them_is_read() -> None:
    text = json.dumps({
        "description": "ours",
        "hooks": {
            "PreToolUse": [{"matcher": "Bash|Edit", "hooks": [entry(timeout=5)]}],
            "Stop": [{"matcher": "", "hooks": [entry()]}],
        },
    })
    first, second = parse_hooks("\n" + text, "f", "project")
    assert (first.event, first.matcher, first.timeout) == ("PreToolUse", "Bash|Edit", 5.0)
    assert (second.event, second.matcher, second.timeout) == ("Stop", "", 60.0)


@pytest.mark.requirement("hooks:errors")
async def test_a_file_that_counts_and_cannot_be_read_is_no_start(place: Place) -> None:
    place.user_file.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"hooks\.json is not valid JSON"):
        place.build()
    place.user_file.unlink()
    place.user_file.mkdir()
    with pytest.raises(ConfigurationError, match=r"^\S+/hooks\.json \S") as refused:
        place.build()
    assert str(refused.value).count("hooks.json") == 1, "its path is named once"


@pytest.mark.requirement("hooks:errors")
async def test_a_file_that_breaks_later_is_told_once_and_what_was_read_goes_on(
    place: Place,
) -> None:
    place.user(STOP)
    runtime = place.build()
    place.user_file.write_text("{", encoding="utf-8")
    first, second = await touch(runtime), await touch(runtime)
    assert not made(place)
    assert any("Its previous content stays active" in w for w in first.warnings)
    assert second.warnings == []


@pytest.mark.requirement("hooks:errors")
async def test_a_file_that_comes_later_and_cannot_be_used_stops_calls(place: Place) -> None:
    runtime = place.build()
    place.user_file.write_text("{", encoding="utf-8")
    ran = await touch(runtime)
    assert "not valid JSON" in ran.results[0].text
    assert not made(place)


@pytest.mark.requirement("hooks:reread")
async def test_hooks_that_come_change_or_go_count_from_the_next_call_on(place: Place) -> None:
    runtime = place.build()
    await touch(runtime)
    assert made(place)
    (place.workspace / "made").unlink()
    place.user(STOP)
    await touch(runtime)
    assert not made(place)
    place.user_file.unlink()
    await touch(runtime)
    assert made(place)


@pytest.mark.requirement("hooks:trust")
async def test_a_folder_that_is_not_trusted_has_no_hooks(place: Place) -> None:
    place.project("touch ran; exit 2", trust=False)
    runtime = place.build()
    await touch(runtime)
    assert made(place)
    assert not (place.workspace / "ran").exists()
    runtime.trust.trust()
    (place.workspace / "made").unlink()
    await touch(runtime)
    assert not made(place)
    assert (place.workspace / "ran").exists()


@pytest.mark.requirement("hooks:trust")
async def test_a_broken_file_of_a_folder_is_told_of_where_the_folder_is_trusted(
    place: Place,
) -> None:
    place.project_file.write_text("{", encoding="utf-8")
    for trusted in (False, True):
        if trusted:
            place.trust()
        runtime = place.build()
        told = runtime.bus.subscribe()
        await touch(runtime)
        assert made(place)
        (place.workspace / "made").unlink()
        assert ("not valid JSON" in str(told.drain())) is trusted


def change_the_file(place: Place) -> None:
    write(place.project_file, "PreToolUse", ["touch evil"])


def change_a_program(place: Place) -> None:
    (place.workspace / ".sam/check.sh").write_text("touch evil\n", encoding="utf-8")


@pytest.mark.requirement("hooks:trust")
@pytest.mark.parametrize("change", [change_the_file, change_a_program])
async def test_a_change_after_trust_ends_the_folders_hooks_before_they_run_again(
    place: Place, change: Any
) -> None:
    (place.workspace / ".sam/check.sh").write_text("touch good\n", encoding="utf-8")
    place.project("sh .sam/check.sh")
    place.user("touch mine")
    runtime = place.build()
    await touch(runtime)
    assert (place.workspace / "good").exists()
    for name in ("good", "mine"):
        (place.workspace / name).unlink()
    change(place)  # in the middle of a turn, as a command of the agent's could
    await touch(runtime)
    assert not (place.workspace / "evil").exists()
    assert not (place.workspace / "good").exists()
    assert (place.workspace / "mine").exists()
    assert runtime.trust.state == "changed"


@pytest.mark.requirement("hooks:trust")
async def test_a_link_is_no_file_of_a_folder(place: Place) -> None:
    place.user(STOP)
    place.project_file.symlink_to(place.user_file)
    with pytest.raises(ConfigurationError, match=r"\.sam/hooks\.json is a link out of it"):
        place.trust()


@pytest.mark.requirement("hooks:protected")
async def test_neither_a_tool_nor_a_command_of_the_agent_changes_the_persons_hooks(
    place: Place,
) -> None:
    place.user("true")
    before = place.user_file.read_bytes()
    runtime = place.build(mode="accept-edits")
    from tests.hooks.conftest import one_call

    await one_call(runtime, "create_file", **{"filePath": str(place.user_file), "content": "{}"})
    await one_call(
        runtime,
        "terminal_operations.run_command",
        command=f"python3 -c 'open({str(place.user_file)!r}, \"w\")'",
    )
    assert place.user_file.read_bytes() == before


@pytest.mark.requirement("hooks:listed")
async def test_the_listing_says_what_runs_and_why_the_rest_does_not(place: Place) -> None:
    place.user("a", matcher="file_operations.*")
    place.project("b", trust=False, event="Stop")
    hooking = place.build().executor.hooks()
    assert hooking is not None
    listing = hooking.hooks.listing()
    assert [(hook.command, hook.matcher) for hook in listing.hooks] == [("a", "file_operations.*")]
    assert list(listing.left_out) == [str(place.project_file)]
    place.trust()
    assert [hook.command for hook in hooking.hooks.listing().hooks] == ["a", "b"]
