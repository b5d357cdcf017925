"""Who looks elsewhere is called, by what their terminal takes; the window's title says how it stands.

Costs about 1.5 s of CPU.
"""

import asyncio
import re
from pathlib import Path

import pytest

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import ApprovalRequest
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.driver.notifications import (
    channel_behind_tmux,
    channel_of,
    notification_sequences,
)
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.preferences import ScreenTerms
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Heard, Stage, Watch, driven

WATCH = Watch()


class Away(Heard):
    """A terminal that takes OSC 777, and a person whose patience is a clock of ours."""

    PATIENCE = Patience(quiet=0.0, grace=0.0, reminder=0.01, clock=WATCH)


def notified(me: Driver) -> list[str]:
    assert isinstance(me.app, Heard)
    return [s.split(";", 3)[3].rstrip("\a") for s in me.app.sent if s.startswith("\x1b]777;")]


@pytest.mark.requirement("ui:bell", "ui:window-title")
async def test_who_looks_elsewhere_is_called_and_the_title_says_how_it_stands(
    stage: Stage, model: RawModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    log = tmp_path / "calls"
    command = f'sh -c \'printf "%s|" "$@" >> "{log}"\' notify'
    terms = ScreenTerms(notify="osc777", notify_command=command)
    app = Away(stage.start, workspace=str(stage.workspace), terms=terms)
    model.answers += [[TextDelta("one")], [TextDelta("two")], [TextDelta("three")]]
    async with driven(app) as me:
        await me.ready()
        await me.send("first")  # focus is not reported, and a key came just now
        await me.until(lambda: "one" in me.transcript() and not me.bench.turns.running)
        assert notified(me) == [] and app.rung == 0
        me.app.app_focus = False
        me.bench.turns.submit("second")
        await me.until(lambda: notified(me) == ["The turn is done."] and app.rung == 1)
        assert me.app.runtime is not None
        request = ApprovalRequest("file_operations.create_file", "x\x07;y", ("/x",), "why", "/")
        asking = asyncio.get_running_loop().create_task(
            me.app.runtime.inquiries.ask(ConversationId("c"), CallId("k"), request)
        )
        await me.until(lambda: len(notified(me)) == 2)
        assert notified(me)[-1] == "Approve file_operations.create_file?"
        await me.until(lambda: log.exists() and "create_file?|" in log.read_text())
        assert log.read_text().startswith("sam|The turn is done.|")
        await me.until(lambda: any("? waiting" in s for s in app.sent))
        asking.cancel()
        me.app.app_focus = True  # as before anything was reported: the last key tells
        WATCH.time += 60
        me.bench.turns.submit("third")
        await me.until(lambda: len(notified(me)) == 3)
        titles = [m[1] for s in app.sent if (m := re.search("\x1b]2;(.*)\x07", s))]
        name = stage.workspace.name
        assert {f"? waiting · {name} · sam", f"{name} · sam"} <= set(titles)
        assert next(s for s in app.sent if "2;" in s).startswith("\x1b[22;2t")
    assert "\x1b[23;2t" in app.sent


@pytest.mark.requirement("ui:bell")
async def test_within_tmux_the_terminal_that_is_attached_is_told_not_the_one_tmux_began_in(
    stage: Stage, model: RawModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = {"kitty(0.35.2) xterm-256color": "osc99", "WezTerm 20240203 xterm-256color": "osc777",
            " foot": "osc777", "iTerm2 3.5.0 xterm": "osc9",
            "XTerm(390) xterm": "bell", "": "bell"}  # fmt: skip
    assert {words: channel_behind_tmux(words, {}) for words in channels} == channels
    assert channel_behind_tmux(" xterm-256color", {"WT_SESSION": "1"}) == "osc9"
    tmux = tmp_path / "bin" / "tmux"
    tmux.parent.mkdir()
    tmux.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho "kitty(0.35.2) xterm-256color"\n'
    )
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmux.parent}:/usr/bin:/bin")
    monkeypatch.setenv("TMUX", "/tmp/x,1,0")
    monkeypatch.setenv("TMUX_PANE", "%3")
    monkeypatch.setenv("ITERM_SESSION_ID", "of another day")
    app = Away(stage.start, workspace=str(stage.workspace), terms=ScreenTerms())
    model.answers.append([TextDelta("one")])
    async with driven(app) as me:
        await me.ready()
        me.app.app_focus = False
        me.bench.turns.submit("go")
        await me.until(lambda: any("p=body;The turn is done." in s for s in app.sent))
    wrapped = [s for s in app.sent if "]99;" in s]
    assert all(s.startswith("\x1bPtmux;\x1b\x1b]99;") for s in wrapped)
    asked = (tmp_path / "asked").read_text()
    assert "-t %3" in asked and "client_termtype" in asked


@pytest.mark.requirement("ui:bell")
@pytest.mark.parametrize(
    ("environ", "channel", "begins"),
    [
        ({"TERM": "xterm-256color"}, "bell", None),
        ({"TERM": "xterm-kitty"}, "osc99", "\x1b]99;i=sam:d=0;sam\x1b\\"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, "osc99", "\x1b]99;"),
        ({"TERM": "tmux-256color", "LC_TERMINAL": "iTerm2"}, "osc9", "\x1b]9;sam: a"),
        ({"TERM": "foot"}, "osc777", "\x1b]777;notify;sam;a, b]0,x\a"),
        ({"TERM_PROGRAM": "ghostty"}, "osc777", "\x1b]777;"),
    ],
)
def test_each_terminal_gets_what_it_takes_and_no_text_ends_a_sequence(
    environ: dict[str, str], channel: str, begins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    found = channel_of(environ)
    assert found == channel
    sequences = notification_sequences(found, "sam", "a; b\x1b]0;x\x07")
    assert sequences[0].startswith(begins) if begins else sequences == []
    monkeypatch.setenv("TMUX", "/tmp/x,1,0")
    for plain, wrapped in zip(
        sequences, notification_sequences(found, "sam", "a; b\x1b]0;x\x07"), strict=True
    ):
        inner = plain.replace("\x1b", "\x1b\x1b")
        assert wrapped == f"\x1bPtmux;{inner}\x1b\\"
