"""Agent terminals that outlive what they were allowed: grants, rules and modes that end while they run."""

import re
import shutil
from pathlib import Path

import pytest

from sam_tui.core.inquiry import Approval
from tests.outside.conftest import ME, Harness

pytestmark = pytest.mark.confined("live")
SESSION = Approval("scope", scope="session")


class Typist:
    """The agent at one terminal session."""

    def __init__(self, harness: Harness, session: str) -> None:
        self.harness = harness
        self.session = session

    async def types(self, line: str) -> str:
        """Type a line and wait for its end; what it printed."""
        done = await self.harness.call(
            "terminal_operations.send_input",
            session_id=self.session,
            input=f"{line}\n",
            timeout=30,
        )
        return done.finished.text


async def sit_down(harness: Harness) -> Typist:
    """A new session."""
    made = await harness.call("terminal_operations.create_session")
    return Typist(harness, made.data["session_id"])


def until_refused(path: Path, then: str = "") -> str:
    """Writes there again and again, as long as that works."""
    return f"while echo more > {path}; do :; done 2>/dev/null; {then or 'echo over'}"


@pytest.mark.requirement("outside:session-grants")
async def test_a_session_writes_no_longer_outside_once_its_grant_was_taken_back(
    harness: Harness,
) -> None:
    harness.open()
    typist = await sit_down(harness)
    harness.answers = [SESSION]
    await typist.types(f"echo one > {harness.outside}/one")
    await typist.types(f"echo two > {harness.outside}/one")
    assert (harness.outside / "one").read_text() == "two\n" and len(harness.asked) == 1
    (grant,) = harness.runtime.guard.grants.current(ME)
    assert harness.runtime.guard.grants.revoke(grant.id)
    assert "over" in await typist.types(until_refused(harness.outside / "one"))
    assert len(harness.asked) == 2


@pytest.mark.requirement("outside:session-grants")
async def test_a_session_writes_no_longer_outside_once_its_minutes_are_over(
    harness: Harness,
) -> None:
    harness.write_policy("minutes = 0.05\n")
    harness.open()
    typist = await sit_down(harness)
    harness.answers = [Approval("timed")]
    line = until_refused(harness.outside / "one")
    assert "over" in await typist.types(line)
    assert len(harness.asked) == 2


@pytest.mark.requirement("outside:session-grants")
async def test_a_mode_that_asks_nobody_holds_for_a_session_that_was_allowed(
    harness: Harness,
) -> None:
    harness.open()
    typist = await sit_down(harness)
    harness.answers = [SESSION]
    await typist.types(f"echo one > {harness.outside}/one")
    harness.runtime.guard.use_mode("auto")
    harness.runtime.guard.grants.revoke(harness.runtime.guard.grants.current(ME)[0].id)
    assert "over" in await typist.types(until_refused(harness.outside / "one"))
    assert len(harness.asked) == 1


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.requirement("outside:session-grants")
async def test_a_session_reads_secrets_and_plants_code_no_more_than_a_command(
    harness: Harness,
) -> None:
    secret = "value-of-nothing-known"
    (harness.folder / "home/.ssh").mkdir()
    (harness.folder / "home/.ssh/id_rsa").write_text(secret)
    (harness.folder / "ws/.env").write_text(f"A={secret}\n")
    (harness.folder / "out/.env").write_text(f"B={secret}\n")
    secrets = [harness.folder / name for name in ("home/.ssh/id_rsa", "ws/.env", "out/.env")]
    (harness.folder / "ws/look").write_text("".join(f"cat {path}\n" for path in secrets))
    harness.open()
    typist = await sit_down(harness)
    seen = await typist.types("sh look; echo at an end")
    assert "at an end" in seen and secret not in seen
    (harness.folder / "ws/plant").write_text(
        "git init -q\ngit config core.fsmonitor 'touch planted'\necho x > .envrc\n"
    )
    await typist.types("sh plant")
    config = (harness.folder / "ws/.git/config").read_text()
    assert "fsmonitor" not in config and not (harness.folder / "ws/.envrc").exists()
    asked = [target for one in harness.asked for target in one.targets]
    assert [
        name
        for name in (".env", "config", ".envrc")
        if not any(re.search(rf"/{name}$", t) for t in asked)
    ] == []


@pytest.mark.requirement("outside:session-grants")
async def test_a_line_typed_in_pieces_which_no_judge_sees_whole_is_held_by_the_sandbox(
    harness: Harness,
) -> None:
    harness.open()
    typist = await sit_down(harness)
    for piece in ("r", "m -rf ../out; echo >.en", "vrc"):
        await harness.call(
            "terminal_operations.send_input", session_id=typist.session, input=piece, timeout=9
        )
    assert harness.asked == []  # no piece is a command that is known
    assert "Permission denied" in await typist.types("")
    assert {target.rpartition("/")[2] for one in harness.asked for target in one.targets} == {
        "victim",
        ".envrc",
    }
    assert {one.operation for one in harness.asked} == {"commands.change_outside"}
    assert (harness.outside / "victim").exists() and not (harness.folder / "ws/.envrc").exists()
