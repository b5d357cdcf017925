"""Commands are tried on a copy of the workspace, by a flag or a choice, then their changes kept or not."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from sam_tui.core.display import Diff
from sam_tui.core.inquiry import Approval

Harness = Any
"""See conftest."""

pytestmark = pytest.mark.confined("live", "landlock")
YES, NO = Approval("once"), Approval("deny")
TRY = Approval("scope", scope="rehearse")


def fill(harness: Harness) -> None:
    """A folder with two files."""
    (harness.folder / "ws/src").mkdir()
    for name in ("a", "b"):
        (harness.folder / "ws/src" / name).write_text(f"{name}\n")


@pytest.mark.requirement("outside:rehearse-choice")
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_destructive_command_can_be_tried_first_and_then_kept_or_dropped(
    harness: Harness, *, keeps: bool
) -> None:
    fill(harness)
    harness.open()
    harness.answers = [TRY, YES if keeps else NO]
    done = await harness.run("rm -rf src; echo new > made")
    first, second = harness.asked
    words = {choice.id: choice.words for choice in first.choices}["rehearse"]
    assert "over the network is really sent" in words
    assert "make the changes: 1 created, 3 deleted" in second.summary
    assert {diff.heading: diff.unified for diff in second.preview}["made (created)"].endswith(
        "+new"
    )
    assert (harness.folder / "ws/src").exists() is not keeps
    assert (harness.folder / "ws/made").exists() is keeps
    became = "the changes were made" if keeps else "none was made"
    assert became in done.finished.text
    assert "deleted src/a" in done.finished.text
    assert done.data["kept"] is keeps
    assert {diff.made for diff in done.finished.display if isinstance(diff, Diff)} == {keeps}
    tried, kept = harness.decisions()
    assert (tried.scope, tried.outcome) == ("a rehearsal on a copy of the workspace", "allow")
    assert (kept.rule, kept.outcome) == ("rehearsed", "allow" if keeps else "deny")


@pytest.mark.requirement("outside:rehearse-flag")
async def test_by_the_flag_every_command_is_tried_that_does_more_than_read(
    harness: Harness,
) -> None:
    fill(harness)
    harness.open(rehearse=True)
    done = await harness.run("for n in 1 2 3; do echo $n > gen$n; done; sed -i s/a/A/ src/a")
    (asked,) = harness.asked
    assert [diff.heading for diff in asked.preview] == [
        "gen1 (created)",
        "gen2 (created)",
        "gen3 (created)",
        "src/a",
    ]
    assert "-a\n+A" in asked.preview[-1].unified
    assert any(isinstance(shown, Diff) for shown in done.finished.display)
    assert sorted(p.name for p in (harness.folder / "ws").iterdir()) == ["src"]
    assert (await harness.run("cat src/a")).finished.text == "a"
    assert len(harness.asked) == 1


@pytest.mark.requirement("outside:rehearse-flag")
async def test_an_installer_reaches_nothing_outside_and_what_it_left_is_kept_on_a_yes(
    harness: Harness,
) -> None:
    harness.open(rehearse=True)
    harness.answers = [YES]
    makefile = f"install:\n\tmkdir -p bin\n\tcp tool bin/\n\t-cp tool {harness.outside}/tool\n"
    (harness.folder / "ws/Makefile").write_text(makefile)
    (harness.folder / "ws/tool").write_text("#!/bin/sh\n")
    await harness.run("make install")
    assert (harness.folder / "ws/bin/tool").read_text() == "#!/bin/sh\n"
    assert not (harness.outside / "tool").exists()


@pytest.mark.requirement("outside:rehearse-flag")
async def test_what_cannot_be_rehearsed_does_not_run_where_all_is(harness: Harness) -> None:
    harness.open(rehearse=True)
    background = await harness.run("touch made", isBackground=True)
    session = await harness.call("terminal_operations.create_session")
    task = {"label": "t", "command": "touch made", "type": "shell"}
    ran = await harness.call("build_and_version_control.create_and_run_task", task=task)
    for done in (background, session, ran):
        assert not done.finished.ok
        assert "cannot be rehearsed" in done.finished.text
    assert not (harness.folder / "ws/made").exists()


@pytest.mark.requirement("outside:rehearse-choice")
async def test_nothing_of_a_rehearsal_stays_behind(harness: Harness, monkeypatch: Any) -> None:
    (harness.folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(harness.folder / "tmp"))
    fill(harness)
    harness.open(rehearse=True)
    await harness.run("touch x")
    await harness.run("exit 3")
    left = [p.name for p in (harness.folder / "tmp").iterdir() if "rehearsal" in p.name]
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
    harness: Harness, way: str
) -> None:
    secret: Any = harness.folder / "ws/.env"
    secret.write_text("A=hunter2xyz\n")
    harness.open(rehearse=True)
    command = SECRET_WORK[way].format(ws=harness.folder / "ws")
    refused = await harness.run(command)
    assert "hunter2xyz" not in refused.finished.text
    assert (harness.asked[0].operation, harness.asked[0].targets) == (
        "commands.read_outside",
        (str(secret),),
    )
    assert secret.read_text() == "A=hunter2xyz\n"
    harness.always = YES
    assert (await harness.run(command)).finished.text.count("=hunter2xyz") == 1


@pytest.mark.requirement("outside:rehearse-flag")
@pytest.mark.confined("live")
async def test_a_rehearsal_writes_an_environment_file_and_places_on_one_yes(
    harness: Harness,
) -> None:
    (harness.folder / "ws/.env").write_text("A=1\n")
    harness.open(rehearse=True)
    for answer, content in ((None, "A=1\n"), (YES, "B=2\n")):
        harness.always = answer
        harness.asked.clear()
        await harness.run("echo B=2 > .env; echo export C=3 > .envrc")
        (asked,) = harness.asked
        assert asked.targets == (".env", ".envrc")
        assert "would later run or instruct: .envrc" in asked.why
        assert (harness.folder / "ws/.env").read_text() == content
        assert (harness.folder / "ws/.envrc").exists() is (answer is not None)


@pytest.mark.requirement("outside:rehearse-flag")
async def test_a_rehearsal_that_is_cancelled_at_its_question_changes_nothing_and_is_on_record(
    harness: Harness,
) -> None:
    harness.open(rehearse=True, attended=True)
    running = asyncio.ensure_future(harness.run("echo new > made"))
    while not harness.asked:
        await harness.events.batch()
    harness.events.drain()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    (decision,) = harness.decisions()
    assert (decision.outcome, decision.targets) == ("cancelled", ("made",))
    assert not (harness.folder / "ws/made").exists()
