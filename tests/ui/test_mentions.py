"""Files are named in a prompt after an @."""

import pytest

from sam_tui.adapters.search.globs import Glob
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.mentions import LISTED, Candidates, fitting, naming, partial_mention
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven


def fill(stage: Stage, *names: str) -> None:
    for name in names:
        file = stage.workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x", encoding="utf-8")


async def offered(me: Driver, path: str) -> None:
    """Wait until this file is the marked one."""
    await me.until(lambda: me.app.chat.prompt.area.files.marked == path)


@pytest.mark.requirement("ui:mentions")
@pytest.mark.parametrize(
    ("before", "part"),
    [
        ("@", ""),
        ("look at @src/a", "src/a"),
        ("(@a", "a"),
        ("mail me@example.org", None),
        ("@a.py and", None),
        ("@a@", None),
        ("", None),
    ],
)
def test_a_name_is_begun_by_an_at_sign_that_begins_a_word(before: str, part: str | None) -> None:
    assert partial_mention(before) == part


@pytest.mark.requirement("ui:mentions")
def test_the_closest_file_comes_first() -> None:
    paths = ["src/deep/alpha.py", "lib/xalpha.py", "alphabet/z.py", "a/l/p/h/a.txt", "beta.py"]
    paths += ["alpha.pyc", "alpha.o"]
    found = ["src/deep/alpha.py", "alphabet/z.py", "lib/xalpha.py", "a/l/p/h/a.txt"]
    found += ["alpha.o", "alpha.pyc"]
    assert list(fitting(paths, "Alpha")[0]) == found
    assert len(fitting([f"{n}.py" for n in range(1000)], "")[0]) == LISTED


class Looked(str):
    """A path that counts how often it is looked at."""

    times = 0

    def lower(self) -> str:
        Looked.times += 1
        return super().lower()


@pytest.mark.requirement("ui:mentions-many")
def test_of_many_files_each_key_looks_at_those_alone_that_still_fit() -> None:
    paths = [Looked(f"pkg{n % 100}/mod{n}.py") for n in range(20_000)]
    candidates = Candidates(paths)
    looks: list[int] = []
    for part in ("", "m", "mod", "mod19", "mod1999", "mod199", "mod1990"):
        Looked.times = 0
        offered = candidates.fitting(part)
        looks.append(Looked.times)
        assert list(offered) == list(fitting(paths, part)[0])
    assert looks[0] == looks[1] == looks[2] == looks[3] == len(paths)
    assert looks[4] < len(paths) / 3
    assert looks[5] == len(paths)  # a letter was taken back
    assert looks[6] < len(paths) / 20


@pytest.mark.requirement("ui:mentions")
async def test_a_file_is_offered_and_what_it_says_goes_to_the_model(
    stage: Stage, model: RawModel
) -> None:
    fill(stage, "src/engine.py", "src/engine_test.py", "notes with blanks.md", ".env")
    (stage.workspace / ".gitignore").write_text("build/\n", encoding="utf-8")
    fill(stage, "build/engine.o")
    model.answers += [[TextDelta("the answer")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.pilot.press(*"see @eng")
        await offered(me, "src/engine.py")
        await me.pilot.press("down", "tab")
        await me.until(lambda: area.text == "see @src/engine_test.py ")
        await me.pilot.press(*"and @bla")
        await offered(me, "notes with blanks.md")
        await me.pilot.press("enter")
        assert area.text == 'see @src/engine_test.py and @"notes with blanks.md" '
        assert area.files.marked is None and not me.bench.turns.running
        await me.pilot.press("enter")
        await me.until(lambda: "the answer" in me.transcript())
        (attached,) = (m.text for m in model.seen[0] if "<attached_files>" in m.text)
        assert "src/engine_test.py" in attached and "notes with blanks.md" in attached


@pytest.mark.requirement("ui:mentions")
async def test_what_fits_no_file_is_sent_and_escape_closes_the_list(
    stage: Stage, model: RawModel
) -> None:
    fill(stage, "a.py")
    model.answers += [[TextDelta("first answer")], [TextDelta("second answer")]]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("tell @nobody")
        await me.until(lambda: "first answer" in me.transcript() and not me.bench.turns.running)
        await me.pilot.press(*"tell @a")
        await offered(me, "a.py")
        await me.pilot.press("escape", "enter")
        await me.until(lambda: "second answer" in me.transcript())
        assert "tell @a" in me.transcript()


@pytest.mark.requirement("ui:mentions")
async def test_a_click_takes_a_file(stage: Stage) -> None:
    fill(stage, "a.py", "b.py")
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.pilot.press("@")
        await offered(me, "a.py")
        await me.until(lambda: "b.py" in me.drawn())  # where it is laid out is known from then on
        await me.pilot.click(me.app.chat.prompt.area.files, offset=(4, 1))
        await me.until(lambda: me.app.chat.prompt.area.text == "@b.py ")


@pytest.mark.requirement("ui:mentions-many")
async def test_in_a_large_workspace_what_is_typed_finds_what_is_not_listed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.ui.controllers.completion._MOST", 3)
    fill(
        stage, *(f"a/{n}.py" for n in range(5)), "z/Deep [1]/Zebra.py", "z/{1}/other.py", "zoo/q.md"
    )
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.pilot.press("@")
        await me.until(lambda: "first 3 of 8 files" in me.drawn())
        for typed, path in (
            ("zbr", "z/Deep [1]/Zebra.py"),  # letters in their order
            ("oo/q", "zoo/q.md"),
            ("deep", "z/Deep [1]/Zebra.py"),  # what lies in a folder
        ):
            await me.pilot.press(*typed)
            await offered(me, path)
            await me.pilot.press(*["backspace"] * len(typed))
        assert area.text == "@"
    assert all(Glob(naming(part)).matches("z/{1}/other.py") for part in ("{1}", "/o", "Z/OT"))
    assert not Glob(naming("[1]")).matches("z/{1}/other.py")
