"""Agent terminals that outlive what they were allowed: grants, rules and modes that end while they run."""

import re
import shutil
from pathlib import Path

import pytest

from sam_tui.core.inquiry import Approval
from tests.outside.conftest import ME, Desk

pytestmark = pytest.mark.confined("live")
SESSION = Approval("scope", scope="session")


class Typist:
    """The agent at one terminal session."""

    def __init__(self, desk: Desk, session: str) -> None:
        self.desk = desk
        self.session = session

    async def types(self, line: str) -> str:
        """Type a line and wait for its end; what it printed."""
        done = await self.desk.call(
            "terminal_operations.send_input",
            session_id=self.session,
            input=f"{line}\n",
            timeout=30,
        )
        return done.finished.text


async def sit_down(desk: Desk) -> Typist:
    """A new session."""
    made = await desk.call("terminal_operations.create_session")
    return Typist(desk, made.data["session_id"])


def until_refused(path: Path, then: str = "") -> str:
    """Writes there again and again, as long as that works."""
    return f"while echo more > {path}; do :; done 2>/dev/null; {then or 'echo over'}"


@pytest.mark.requirement("outside:session-grants")
async def test_a_session_writes_no_longer_outside_once_its_grant_was_taken_back(desk: Desk) -> None:
    desk.open()
    typist = await sit_down(desk)
    desk.answers = [SESSION]
    await typist.types(f"echo one > {desk.outside}/one")
    await typist.types(f"echo two > {desk.outside}/one")
    assert (desk.outside / "one").read_text() == "two\n" and len(desk.asked) == 1
    (grant,) = desk.runtime.guard.grants.current(ME)
    assert desk.runtime.guard.grants.revoke(grant.id)
    assert "over" in await typist.types(until_refused(desk.outside / "one"))
    assert len(desk.asked) == 2


@pytest.mark.requirement("outside:session-grants")
async def test_a_session_writes_no_longer_outside_once_its_minutes_are_over(desk: Desk) -> None:
    desk.write_policy("minutes = 0.05\n")
    desk.open()
    typist = await sit_down(desk)
    desk.answers = [Approval("timed")]
    line = until_refused(desk.outside / "one")
    assert "over" in await typist.types(line)
    assert len(desk.asked) == 2


@pytest.mark.requirement("outside:session-grants")
async def test_a_mode_that_asks_nobody_holds_for_a_session_that_was_allowed(desk: Desk) -> None:
    desk.open()
    typist = await sit_down(desk)
    desk.answers = [SESSION]
    await typist.types(f"echo one > {desk.outside}/one")
    desk.runtime.guard.use_mode("auto")
    desk.runtime.guard.grants.revoke(desk.runtime.guard.grants.current(ME)[0].id)
    assert "over" in await typist.types(until_refused(desk.outside / "one"))
    assert len(desk.asked) == 1


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.requirement("outside:session-grants")
async def test_a_session_reads_secrets_and_plants_code_no_more_than_a_command(desk: Desk) -> None:
    secret = "value-of-nothing-known"
    (desk.folder / "home/.ssh").mkdir()
    (desk.folder / "home/.ssh/id_rsa").write_text(secret)
    (desk.folder / "ws/.env").write_text(f"A={secret}\n")
    (desk.folder / "out/.env").write_text(f"B={secret}\n")
    secrets = [desk.folder / name for name in ("home/.ssh/id_rsa", "ws/.env", "out/.env")]
    (desk.folder / "ws/look").write_text("".join(f"cat {path}\n" for path in secrets))
    desk.open()
    typist = await sit_down(desk)
    seen = await typist.types("sh look; echo at an end")
    assert "at an end" in seen and secret not in seen
    (desk.folder / "ws/plant").write_text(
        "git init -q\ngit config core.fsmonitor 'touch planted'\necho x > .envrc\n"
    )
    await typist.types("sh plant")
    config = (desk.folder / "ws/.git/config").read_text()
    assert "fsmonitor" not in config and not (desk.folder / "ws/.envrc").exists()
    asked = [target for one in desk.asked for target in one.targets]
    assert [
        name
        for name in (".env", "config", ".envrc")
        if not any(re.search(rf"/{name}$", t) for t in asked)
    ] == []


@pytest.mark.requirement("outside:session-grants")
async def test_a_line_typed_in_pieces_which_no_judge_sees_whole_is_held_by_the_sandbox(
    desk: Desk,
) -> None:
    desk.open()
    typist = await sit_down(desk)
    for piece in ("r", "m -rf ../out; echo >.en", "vrc"):
        await desk.call(
            "terminal_operations.send_input", session_id=typist.session, input=piece, timeout=9
        )
    assert desk.asked == []  # no piece is a command that is known
    assert "Permission denied" in await typist.types("")
    assert {target.rpartition("/")[2] for one in desk.asked for target in one.targets} == {
        "victim",
        ".envrc",
    }
    assert {one.operation for one in desk.asked} == {"commands.change_outside"}
    assert (desk.outside / "victim").exists() and not (desk.folder / "ws/.envrc").exists()
