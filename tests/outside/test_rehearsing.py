"""Commands are tried on a copy of the workspace, by a flag or a choice, then their changes kept or not."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from sam_tui.core.display import Diff
from sam_tui.core.inquiry import Approval

Desk = Any
"""See conftest."""

pytestmark = pytest.mark.confined("live", "landlock")
YES, NO = Approval("once"), Approval("deny")
TRY = Approval("scope", scope="rehearse")


def fill(desk: Desk) -> None:
    """A folder with two files."""
    (desk.folder / "ws/src").mkdir()
    for name in ("a", "b"):
        (desk.folder / "ws/src" / name).write_text(f"{name}\n")


@pytest.mark.requirement("outside:rehearse-choice")
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_destructive_command_can_be_tried_first_and_then_kept_or_dropped(
    desk: Desk, *, keeps: bool
) -> None:
    fill(desk)
    desk.open()
    desk.answers = [TRY, YES if keeps else NO]
    done = await desk.run("rm -rf src; echo new > made")
    first, second = desk.asked
    words = {choice.id: choice.words for choice in first.choices}["rehearse"]
    assert "over the network is sent" in words
    assert "make the changes: 1 created, 3 deleted" in second.summary
    assert {diff.heading: diff.unified for diff in second.preview}["made (created)"].endswith(
        "+new"
    )
    assert (desk.folder / "ws/src").exists() is not keeps
    assert (desk.folder / "ws/made").exists() is keeps
    became = "the changes were made" if keeps else "none was made"
    assert became in done.finished.text
    assert "deleted src/a" in done.finished.text
    assert done.data["kept"] is keeps
    assert {diff.made for diff in done.finished.display if isinstance(diff, Diff)} == {keeps}
    tried, kept = desk.decisions()
    assert (tried.scope, tried.outcome) == ("a rehearsal on a copy of the workspace", "allow")
    assert (kept.rule, kept.outcome) == ("rehearsed", "allow" if keeps else "deny")


@pytest.mark.requirement("outside:rehearse-flag")
async def test_by_the_flag_every_command_is_tried_that_does_more_than_read(desk: Desk) -> None:
    fill(desk)
    desk.open(rehearse=True)
    done = await desk.run("for n in 1 2 3; do echo $n > gen$n; done; sed -i s/a/A/ src/a")
    (asked,) = desk.asked
    assert [diff.heading for diff in asked.preview] == [
        "gen1 (created)",
        "gen2 (created)",
        "gen3 (created)",
        "src/a",
    ]
    assert "-a\n+A" in asked.preview[-1].unified
    assert any(isinstance(shown, Diff) for shown in done.finished.display)
    assert sorted(p.name for p in (desk.folder / "ws").iterdir()) == ["src"]
    assert (await desk.run("cat src/a")).finished.text == "a"
    assert len(desk.asked) == 1


@pytest.mark.requirement("outside:rehearse-flag")
async def test_an_installer_reaches_nothing_outside_and_what_it_left_is_kept_on_a_yes(
    desk: Desk,
) -> None:
    desk.open(rehearse=True)
    desk.answers = [YES]
    makefile = f"install:\n\tmkdir -p bin\n\tcp tool bin/\n\t-cp tool {desk.outside}/tool\n"
    (desk.folder / "ws/Makefile").write_text(makefile)
    (desk.folder / "ws/tool").write_text("#!/bin/sh\n")
    await desk.run("make install")
    assert (desk.folder / "ws/bin/tool").read_text() == "#!/bin/sh\n"
    assert not (desk.outside / "tool").exists()


@pytest.mark.requirement("outside:rehearse-flag")
async def test_what_cannot_be_rehearsed_does_not_run_where_all_is(desk: Desk) -> None:
    desk.open(rehearse=True)
    background = await desk.run("touch made", isBackground=True)
    session = await desk.call("terminal_operations.create_session")
    task = {"label": "t", "command": "touch made", "type": "shell"}
    ran = await desk.call("build_and_version_control.create_and_run_task", task=task)
    for done in (background, session, ran):
        assert not done.finished.ok
        assert "cannot be rehearsed" in done.finished.text
    assert not (desk.folder / "ws/made").exists()


@pytest.mark.requirement("outside:rehearse-choice")
async def test_nothing_of_a_rehearsal_stays_behind(desk: Desk, monkeypatch: Any) -> None:
    (desk.folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(desk.folder / "tmp"))
    fill(desk)
    desk.open(rehearse=True)
    await desk.run("touch x")
    await desk.run("exit 3")
    left = [p.name for p in (desk.folder / "tmp").iterdir() if "rehearsal" in p.name]
    assert left == []


SECRET_WORK = {
    "shown": "cat .env; touch made",
    "copied": "cp .env other; cat other",
    "changed and shown": "sed -i s/A/B/ .env; cat .env",
    "under another name": "mv .env other; cat other",
    "by a link": "ln -s .env link; cat link",
    "by its whole path": "cat {ws}/.env; touch made",
}


@pytest.mark.requirement("outside:rehearse-flag")
@pytest.mark.confined("live")
@pytest.mark.parametrize("way", SECRET_WORK)
async def test_a_rehearsal_reads_an_environment_file_only_when_the_person_agrees(
    desk: Desk, way: str
) -> None:
    secret: Any = desk.folder / "ws/.env"
    secret.write_text("A=hunter2xyz\n")
    desk.open(rehearse=True)
    command = SECRET_WORK[way].format(ws=desk.folder / "ws")
    refused = await desk.run(command)
    assert "hunter2xyz" not in refused.finished.text
    assert (desk.asked[0].operation, desk.asked[0].targets) == (
        "commands.read_outside",
        (str(secret),),
    )
    assert secret.read_text() == "A=hunter2xyz\n"
    desk.always = YES
    assert (await desk.run(command)).finished.text.count("=hunter2xyz") == 1


@pytest.mark.requirement("outside:rehearse-flag")
@pytest.mark.confined("live")
async def test_a_rehearsal_writes_an_environment_file_and_places_on_one_yes(desk: Desk) -> None:
    (desk.folder / "ws/.env").write_text("A=1\n")
    desk.open(rehearse=True)
    for answer, content in ((None, "A=1\n"), (YES, "B=2\n")):
        desk.always = answer
        desk.asked.clear()
        await desk.run("echo B=2 > .env; echo export C=3 > .envrc")
        (asked,) = desk.asked
        assert asked.targets == (".env", ".envrc")
        assert "would later run or instruct: .envrc" in asked.why
        assert (desk.folder / "ws/.env").read_text() == content
        assert (desk.folder / "ws/.envrc").exists() is (answer is not None)


@pytest.mark.requirement("outside:rehearse-flag")
async def test_a_rehearsal_that_is_cancelled_at_its_question_changes_nothing_and_is_on_record(
    desk: Desk,
) -> None:
    desk.open(rehearse=True, attended=True)
    running = asyncio.ensure_future(desk.run("echo new > made"))
    while not desk.asked:
        await desk.events.batch()
    desk.events.drain()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    (decision,) = desk.decisions()
    assert (decision.outcome, decision.targets) == ("cancelled", ("made",))
    assert not (desk.folder / "ws/made").exists()
