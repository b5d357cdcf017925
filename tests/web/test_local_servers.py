"""Servers of the person's own that the web tools may reach: named in their policy, and no others."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.assembly import Options, build
from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall
from tests.fakes.web_server import WebServer, page


@pytest.mark.requirement("web:allow-list")
async def test_a_server_named_in_the_policy_is_fetched_from_and_its_neighbour_is_not(
    site: WebServer, tmp_path: Path
) -> None:
    site.routes["/"] = page("<title>T</title><p>hello from here</p>")
    (tmp_path / "ws").mkdir()
    (tmp_path / "cfg").mkdir(mode=0o700)
    policy = tmp_path / "cfg/policy.toml"
    fetched: list[bool] = []
    wide = {"SERPAPI_KEY": "k" * 20, "SAM_TUI_IMAGE_BASE": "http://127.0.0.1:9/v1"}
    for local, profile, more in (
        ([site.origin], "", {}),
        ([site.origin], "iron-manus", {}),
        ([site.origin], "", wide),
        (["localhost:1"], "", {}),
        ([], "iron-manus", wide),
    ):
        policy.write_text(f"local = {json.dumps(local)}\n", encoding="utf-8")
        settings = {"HOME": str(tmp_path), "SAM_TUI_CONFIG_DIR": str(tmp_path / "cfg"), **more}
        options = Options(str(tmp_path / "ws"), str(tmp_path / "data"))
        runtime = build(replace(options, profile=profile) if profile else options, settings)
        arguments = json.dumps({"url": f"http://{site.origin}/"})
        call = ToolCall(CallId("k"), "web_operations.fetch", arguments)
        done = await runtime.executor.execute(call, runtime.open_session().conversation)
        fetched.append("hello from here" in done.finished.text)
        await runtime.close()
    assert fetched == [True, True, True, False, False]


@pytest.mark.requirement("web:allow-list")
@pytest.mark.parametrize("trusted", [True, False])
async def test_a_project_opens_no_server_and_the_person_is_told(
    site: WebServer, tmp_path: Path, trusted: bool
) -> None:
    site.routes["/"] = page("<title>T</title><p>hello from here</p>")
    (tmp_path / "ws/.sam").mkdir(parents=True)
    (tmp_path / "ws/.sam/policy.toml").write_text(f'local = ["{site.origin}"]\n', encoding="utf-8")
    (tmp_path / "cfg").mkdir()
    settings = {"HOME": str(tmp_path), "SAM_TUI_CONFIG_DIR": str(tmp_path / "cfg")}
    if trusted:
        FileTrust(settings["SAM_TUI_CONFIG_DIR"]).trust(str(tmp_path / "ws"))
    runtime = build(Options(str(tmp_path / "ws"), str(tmp_path / "data")), settings)
    (told,) = runtime.trust.ignored
    assert "policy.toml:1: a project cannot open servers" in told
    call = ToolCall(CallId("k"), "web_operations.fetch", f'{{"url": "http://{site.origin}/"}}')
    done = await runtime.executor.execute(call, runtime.open_session().conversation)
    await runtime.close()
    assert "(rule not-public)" in done.finished.text
    assert site.asked == []
