"""Which host a conversation goes to, and which key goes with it, when the model is switched."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, OptionList

from sam_tui.adapters.preferences import PreferenceFile
from sam_tui.assembly import Options, build
from sam_tui.cli import options
from sam_tui.cli.commands import workbench
from sam_tui.cli.main import main
from sam_tui.core.errors import UsageError
from sam_tui.core.messages import UserMessage
from sam_tui.ui.preferences import ModelWishes
from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.screens.forms import HostQuestion, KeyForm
from tests.fakes.engine_kit import RawModel
from tests.fakes.openai_server import FakeServer, Recorded, Reply, failure
from tests.ui.driver import Driver, Stage, app_over, driven

WRONG = failure(401, "wrong key", code="invalid_api_key")


@asynccontextmanager
async def at(
    folder: Path, base: str, model: str = "openai/first", **environment: str
) -> AsyncGenerator[Driver]:
    """A workbench that was begun with this model, an address where there is one, and a key."""
    workspace = folder / "ws"
    workspace.mkdir()
    options = Options(
        str(workspace),
        str(folder / "data"),
        model=model,
        api_base=base,
        api_key="k3y-of-mine",
        attended=True,
    )
    settings = {"HOME": str(folder), "SAM_TUI_CONFIG_DIR": str(folder / "settings")}
    stage = Stage(build(options, {**settings, **environment}), RawModel(), workspace)
    async with driven(app_over(stage)) as me:
        await me.ready()
        yield me
        await stage.runtime.close()


async def answered(me: Driver, prompt: str, server: FakeServer) -> Recorded:
    """The request that a prompt comes to, once its turn ended."""
    count = len(server.posts)
    await me.send(prompt)
    await me.until(lambda: len(server.posts) > count and not me.bench.turns.running)
    return server.posts[-1]


@pytest.mark.requirement("ui:model-host")
async def test_no_switch_sends_the_conversation_to_another_host_unasked(tmp_path: Path) -> None:
    replies = [Reply(text="ok")] * 4
    async with (
        FakeServer(list(replies)) as mine,
        FakeServer(list(replies)) as other,
        at(
            tmp_path,
            "",
            "lm_studio/first",
            LM_STUDIO_API_BASE=mine.base,
            OLLAMA_API_BASE=other.base,
            SAM_TUI_API_KEY="general-k3y",
        ) as me,
    ):
        await answered(me, "private words", mine)
        await me.send("/model lm_studio/second")
        sent = await answered(me, "more", mine)
        assert sent.json["model"] == "second"
        assert sent.headers["authorization"] == "Bearer k3y-of-mine"
        for keys in (["enter", "escape"], ["s"]):
            await me.send("/model ollama/third")
            await me.until(lambda: isinstance(me.app.screen, HostQuestion))
            assert f"From 127.0.0.1:{mine.port} to 127.0.0.1:{other.port}." in me.drawn()
            assert other.posts == []
            await me.pilot.press(*keys)
            await me.until(lambda: me.app.screen is me.app.chat)
            if keys != ["s"]:
                assert (await answered(me, "here", mine)).json["model"] == "second"
        sent = await answered(me, "there", other)
        assert sent.json["model"] == "third" and "authorization" not in sent.headers
        await me.send("/model anthropic/claude-x")
        await me.until(lambda: isinstance(me.app.screen, HostQuestion))
        await me.pilot.press("s")
        await me.until(lambda: isinstance(me.app.screen, KeyForm))
        assert "ANTHROPIC_API_KEY" in me.drawn()
        await me.pilot.press("escape")
        await me.until(lambda: "ANTHROPIC_API_KEY" in me.transcript())
        await answered(me, "still there", other)


@pytest.mark.requirement("ui:model-picker")
async def test_the_picker_lists_the_model_in_use_and_those_of_its_server(tmp_path: Path) -> None:
    async with (
        FakeServer([Reply(text="ok")] * 2, models=["first", "second"]) as mine,
        at(tmp_path, mine.base) as me,
    ):
        await me.send("/model named")
        assert (await answered(me, "hello", mine)).json["model"] == "named"
        await me.send("/model openai/first")
        await me.send("/model")
        await me.until(lambda: isinstance(me.app.screen, Picker))
        listed = me.app.screen.query_one(OptionList)
        await me.until(lambda: listed.option_count)
        assert f"openai/first  in use at 127.0.0.1:{mine.port}" in me.drawn()
        assert f"second  at 127.0.0.1:{mine.port}" in me.drawn()
        await me.pilot.press("end")
        assert listed.highlighted == listed.option_count - 1
        await me.pilot.press("home", "down")
        assert listed.highlighted == 1
        await me.until(lambda: "reads this whole conversation again" in me.drawn())
        await me.pilot.press("ctrl+s", "ctrl+d")
        await me.until(lambda: f"★ second  begins here · at 127.0.0.1:{mine.port}" in me.drawn())
        await me.pilot.press("enter")
        await me.until(lambda: me.app.chat.status.standing.model == "openai/second")
        sent = await answered(me, "hello", mine)
        assert sent.json["model"] == "second"
        assert sent.headers["authorization"] == "Bearer k3y-of-mine"


@pytest.mark.requirement("ui:key-mended")
async def test_a_refused_key_is_asked_for_again_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with (
        FakeServer([WRONG, WRONG, Reply(text="better"), WRONG]) as mine,
        at(tmp_path, mine.base) as me,
    ):
        await me.send("my long prompt")
        for key in ("n0t-this-one", "an0ther-k3y"):
            await me.until(lambda: isinstance(me.app.screen, KeyForm))
            await me.until(lambda: isinstance(me.app.screen.focused, Input))
            await me.pilot.press(*key, "enter")
            assert key not in me.drawn()
            await me.until(lambda: me.app.screen is me.app.chat or len(mine.posts) < 3)
        await me.until(lambda: "better" in me.transcript() and not me.bench.turns.running)
        first, _, last = mine.posts
        assert last.headers["authorization"] == "Bearer an0ther-k3y"
        assert last.json["messages"] == first.json["messages"]
        session = me.bench.current.session
        assert session is not None
        said = [m.text for m in session.messages if isinstance(m, UserMessage)]
        assert said == ["my long prompt"]
        await me.send("again")
        await me.until(lambda: isinstance(me.app.screen, KeyForm))
        await me.pilot.press("escape")
        await me.until(lambda: "did not accept the key" in me.transcript())


@pytest.mark.requirement("ui:key-mended", "ui:keys-stay")
async def test_a_dialog_that_came_while_another_window_was_used_hears_the_keys(
    tmp_path: Path,
) -> None:
    async with FakeServer([WRONG, Reply(text="better")]) as mine, at(tmp_path, mine.base) as me:
        me.app.app_focus = False
        me.bench.turns.submit("while I look elsewhere")
        await me.until(lambda: isinstance(me.app.screen, KeyForm))
        me.app.app_focus = True  # as the first key tells, where the terminal does not
        await me.until(lambda: isinstance(me.app.screen.focused, Input))
        await me.pilot.press(*"b3tter-k3y", "enter")
        await me.until(lambda: "better" in me.transcript() and not me.bench.turns.running)
        assert mine.posts[-1].headers["authorization"] == "Bearer b3tter-k3y"


@pytest.mark.requirement("ui:model-facts")
def test_a_folder_begins_with_its_model_unless_another_or_a_key_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, str]] = []

    class App:
        return_code = 0

        def __init__(self, start: Callable[[Callable[[str], None]], object], **_: object) -> None:
            self.start = start

        async def leave(self) -> None:
            """Nothing to end."""

        def run(self) -> None:
            with pytest.raises(UsageError):
                asyncio.run(self.start(str))  # pyright: ignore[reportArgumentType]

    def opened(values: dict[str, Any], **_: object) -> None:
        begun.append((values["model"] or "", values["api_base"] or ""))
        raise UsageError("enough")

    folder, data = tmp_path / "ws", tmp_path / "data"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("SAM_TUI_MODEL", "SAM_TUI_API_BASE", "SAM_TUI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(options, "open_runtime", opened)
    monkeypatch.setattr(workbench, "_on_a_terminal", lambda: True)
    monkeypatch.setattr("sam_tui.ui.app.SamApp", App)
    preferences = PreferenceFile(str(data))
    wishes = ModelWishes.read(preferences)
    wishes.favour("a/one")
    wishes.prefer(str(folder), "a/one", "http://127.0.0.1:9/v1")
    wishes.prefer(str(tmp_path), "a/two", "")
    wishes.prefer(str(tmp_path), "a/two", "")
    wishes.write(preferences)
    again = ModelWishes.read(preferences)
    assert again.favourites == ["a/one"] and list(again.folders) == [str(folder)]
    for arguments in ((), ("--model", "b"), ("--api-key", "k"), ("--api-base", "http://h/v1")):
        main(["--data-dir", str(data), *arguments])
    assert begun == [("a/one", "http://127.0.0.1:9/v1"), ("b", ""), ("", ""), ("", "http://h/v1")]
    preferences.write("models", {"favourites": [1, "x"], "folders": {"/a": ["b"], "/c": 3}})
    assert ModelWishes.read(preferences) == ModelWishes(["x"])
