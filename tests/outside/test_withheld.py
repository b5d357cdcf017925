"""Variables that look like secrets and were withheld: who is told of them, and how often."""

import json

import pytest

from sam_tui.core.events import Noticed
from tests.outside.conftest import Harness

pytestmark = pytest.mark.confined("live")


def notices(harness: Harness) -> list[str]:
    """What the person was told of withheld variables since it was last looked at."""
    told = [event.text for event in harness.events.drain() if isinstance(event, Noticed)]
    return [text for text in told if "withheld" in text]


@pytest.mark.requirement("sandbox:environment-told")
async def test_what_a_failed_command_in_a_terminal_may_have_wanted_is_told_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLOUD_TOKEN", "OTHER_TOKEN"):
        monkeypatch.setenv(name, "secret-of-mine-1234")
    harness.open()
    made = await harness.call("terminal_operations.create_session")
    session = json.loads(made.finished.text)["session_id"]

    async def typed(line: str) -> list[str]:
        done = await harness.call(
            "terminal_operations.send_input",
            session_id=session,
            input=f"{line}\r\n",
            wait_seconds=20,
        )
        return json.loads(done.finished.text).get("withheld", [])

    assert await typed("echo $CLOUD_TOKEN") == []
    assert notices(harness) == []
    assert await typed('test -n "$CLOUD_TOKEN"') == ["CLOUD_TOKEN"]
    (told,) = notices(harness)
    assert "CLOUD_TOKEN" in told
    assert 'pass = ["CLOUD_TOKEN"]' in told
    assert await typed("echo 401 Unauthorized; false") == ["CLOUD_TOKEN", "OTHER_TOKEN"]
    (told,) = notices(harness)
    assert "from commands: OTHER_TOKEN." in told
    done = await harness.run('test -n "$CLOUD_TOKEN$OTHER_TOKEN"')
    assert "CLOUD_TOKEN, OTHER_TOKEN" in done.finished.text
    assert notices(harness) == []


@pytest.mark.requirement("shield:cut")
async def test_no_result_shows_what_a_cut_leaves_of_a_secret_behind_its_placeholder(
    harness: Harness,
) -> None:
    token = "Kq7Vx2Lm9Rt4Wb8NzP3d"
    harness.open()
    placeholder = harness.runtime.executor.shield.mask(f"API_TOKEN={token}").text.partition("=")[2]
    long = "-" * (200 - 18) + placeholder
    for name, arguments in {
        "file_operations.grep_search": {"query": long},
        "file_operations.file_search": {"query": long},
        "file_operations.list_usages": {"symbolName": long[182 - 82 :]},
        "terminal_operations.run_command": {"command": f"echo {long[182 - 37 :]}"},
        "build_and_version_control.run_task": {"label": long[182 - 44 :]},
    }.items():
        executed = await harness.call(name, **arguments)
        shown = repr((executed.finished.text, executed.finished.summary, harness.events.drain()))
        assert "<secret:API_TOKEN:" in shown, name
        assert token[:4] not in shown, name
