"""Recordings played on a screen of their own: sought both ways, bounded, and deaf to what they print."""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.recordings.asciicast import Recording, Stage, play
from sam_tui.adapters.terminal.recordings.library import CastRecordings
from sam_tui.adapters.terminal.recordings.playback import CastPlayback
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.recordings import Playback
from sam_tui.core.redaction.shield import Shield

DEADLINE = 90.0

Event = tuple[float, str, str]
Open = Callable[[Iterable[Event]], Playback]


def written(path: Path, events: Iterable[Event], *, size: tuple[int, int] = (20, 4)) -> str:
    """A recording on disk."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"version": 2, "width": size[0], "height": size[1]}) + "\n")
        for event in events:
            file.write(json.dumps(event) + "\n")
    return str(path)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    """Open a recording of these events; closed at the end."""
    kept = CastRecordings(str(tmp_path / "kept"), Shield)

    yield lambda events: kept.open(written(tmp_path / "one.cast", events))
    kept.close()


async def until(playback: Playback, holds: Callable[[], object]) -> None:
    """Wait until it holds; it is looked at after every change."""
    changed = asyncio.Event()
    stop = playback.watch(changed.set)
    async with asyncio.timeout(DEADLINE):
        while not holds():
            changed.clear()
            await changed.wait()
    stop()


@pytest.mark.requirement("terminal:replay")
async def test_a_recording_plays_to_its_end_and_begins_anew(opened: Open) -> None:
    playback = opened([(0.0, "o", "one\r\n"), (0.001, "o", "two"), (0.002, "r", "30x5")])
    assert (playback.at, playback.playing, playback.over) == (0.0, False, False)
    assert playback.screen.text().strip() == ""
    playback.play()
    await until(playback, lambda: playback.over)
    assert not playback.playing
    assert playback.screen.text().split() == ["one", "two"]
    assert (playback.screen.columns, playback.screen.rows) == (30, 5)
    await until(playback, lambda: playback.length is not None)
    assert playback.length == pytest.approx(0.002)  # pyright: ignore[reportUnknownMemberType]
    playback.play()
    assert playback.screen.columns == 20
    await until(playback, lambda: playback.over)
    assert playback.screen.text().split() == ["one", "two"]


@pytest.mark.requirement("terminal:replay")
async def test_a_recording_with_nothing_in_it_is_over_at_once(opened: Open) -> None:
    playback = opened([])
    playback.play()
    assert (playback.over, playback.playing) == (True, False)
    await until(playback, lambda: playback.length is not None)
    assert (playback.at, playback.length) == (0.0, 0.0)


@pytest.mark.requirement("terminal:replay")
async def test_it_is_sought_forwards_and_backwards_and_long_pauses_are_capped(opened: Open) -> None:
    playback = opened([(0.0, "o", "a"), (1.0, "o", "b"), (1e9, "o", "c"), (1e9 + 1, "o", "d")])
    await until(playback, lambda: playback.length is not None)
    assert playback.length == 4.0
    for place, shown in (
        (1.5, "ab"),
        (3.0, "abc"),
        (0.5, "a"),
        (9e9, "abcd"),
        (-5.0, "a"),
        (1.0, "ab"),
    ):
        playback.seek(place)
        await until(playback, lambda: not playback.seeking)
        assert playback.screen.text().strip() == shown
        assert playback.at == min(max(place, 0.0), 4.0)
        assert not playback.playing
    playback.speed = 1000
    assert playback.speed == 32.0
    playback.speed = 0
    assert playback.speed == 0.1


@pytest.mark.requirement("terminal:replay")
async def test_a_great_recording_is_sought_in_slices_and_never_held_in_memory(opened: Open) -> None:
    line = "x" * 1000 + "\r\n"
    playback = opened((n / 1000, "o", line) for n in range(5000))
    turns = 0
    playback.seek(1e9)
    async with asyncio.timeout(DEADLINE):
        while playback.seeking:
            await asyncio.sleep(0)
            turns += 1
    # Others had their turn while it was drawn.
    assert turns > 10
    assert playback.screen.scrollback.total < 50_000
    assert playback.over


@pytest.mark.requirement("terminal:replay-hostile")
async def test_what_a_recording_prints_acts_on_its_screen_alone(opened: Open) -> None:
    playback = opened([
        (0.0, "o", "\x1b]52;c;ZXZpbA==\x07\x1b]52;c;?\x07\x07\x1b[c\x1b[6n"),
        (0.0, "i", "typed"),
        (0.0, "r", "9" * 5000 + "x24"),
        (0.0, "r", "0x0"),
        (0.0, "r", "999999999x3"),
        (0.0, "?", "unknown"),
        (0.0, "o", "\x1b[?1003hend"),
    ])
    playback.play()
    await until(playback, lambda: playback.over)
    assert playback.screen.text().strip() == "end"
    assert (playback.screen.columns, playback.screen.rows) == (1000, 3)
    assert not playback.running


@pytest.mark.requirement("terminal:replay-hostile")
async def test_a_resize_that_is_no_size_does_not_break_the_other_players(tmp_path: Path) -> None:
    path = written(tmp_path / "x.cast", [(0.0, "r", "9" * 5000 + "x24"), (0.0, "o", "ok")])
    sizes: list[tuple[int, int]] = []
    drawn: list[bytes] = []
    await play(Recording(path), Stage(drawn.append, lambda c, r: sizes.append((c, r))))
    assert sizes == [(20, 4)]
    assert drawn == [b"ok"]


@pytest.mark.requirement("terminal:replay-hostile")
async def test_what_is_no_recording_is_refused_and_a_broken_one_says_where(
    opened: Open, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("hello\n")
    for name, why in (
        ("pipe", "is not a regular file"),
        ("text", "not an asciicast"),
        ("gone", "it is not there"),
    ):
        with pytest.raises(ToolError, match=why):
            CastPlayback(str(tmp_path / name))
    playback = opened([(0.0, "o", "fine"), (-1.0, "o", "backwards")])
    playback.play()
    await until(playback, lambda: playback.over)
    assert "line 3" in playback.fault
    assert playback.screen.text().strip() == "fine"


@pytest.mark.requirement("terminal:recordings")
async def test_recordings_are_kept_apart_listed_newest_first_and_exported_masked(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    known = Shield({"TOKEN": "from-the-env-file-1234", "MY_API_KEY": "from-the-environment-99"})
    kept = CastRecordings(str(tmp_path / "kept"), known.copy)
    assert kept.recordings() == []
    first = kept.fresh()
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    written(Path(first), [(0.0, "o", "from-the-env-file-1234 from-the-environment-99\r\n")])
    assert kept.fresh() != first
    written(work / "mine.cast", [(0.0, "o", "x")])
    (work / "other.txt").write_text("x")
    os.utime(first, (1, 1))
    assert [one.name for one in kept.recordings(str(work))] == [
        "mine.cast",
        os.path.basename(first),
    ]
    copy = str(tmp_path / "copy.cast")
    assert await kept.export(first, copy) == 2
    assert all("from-the" not in event.data for event in Recording(copy).events())
    with pytest.raises(ToolError, match="cannot be written"):
        await kept.export(first, copy)


@pytest.mark.requirement("terminal:replay-hostile")
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_was_printed_is_played_and_sought_to_the_end(
    opened: Open, seed: int
) -> None:
    chance = random.Random(seed)
    letters = [*map(chr, range(32, 127)), "\x1b", "\x1b[", "\x1b]", "\x9b", "\r\n", "日", "\ud800"]

    def noise() -> str:
        return "".join(chance.choices(letters, k=chance.randrange(300)))

    playback = opened(
        (n * chance.random() * 1000 + n * 1000, chance.choice("ooir?"), noise()) for n in range(150)
    )
    for _ in range(10):
        playback.seek(chance.choice([0.0, 1.0, chance.random() * 300, float("inf")]))
        (playback.play if chance.random() < 0.5 else playback.pause)()
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
    playback.seek(float("inf"))
    await until(playback, lambda: playback.over and not playback.seeking)
    assert playback.fault == ""
    assert playback.at <= 300.0
