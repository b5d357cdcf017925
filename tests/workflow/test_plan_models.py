"""Which model works on what of a plan, seen at a server. About 1 s: one server, three commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import Recorded, Reply, background
from tests.workflow.test_bundled import thought
from tests.workflow.test_command import Shell

NEAR = thought("near") | {
    "sub_task_input": {
        "prompt": "look at bees", "model": "openai/tiny", "temperature": 0.2, "maxTokens": 99,
    }
}  # fmt: skip
FAR = thought("far") | {"sub_task_input": {"prompt": "look away", "model": "groq/other"}}
PLANS = {"purposes": [[NEAR, FAR]], "revised": [[NEAR]], "service": [[thought("near")]]}


def reply(request: Recorded) -> Reply:
    """What the model of the scene says to its last message."""
    asked = last(request)
    if "step plan," in asked:
        revised = "goes to 127.0.0.1" in asked
        name = "revised" if revised else "service" if "with a service" in asked else "purposes"
        return Reply(text=json.dumps(PLANS[name]))
    return Reply(text="An answer." if "step answer," in asked else "ultraviolet")


def last(request: Recorded) -> str:
    """The last message of a request."""
    return str(request.json["messages"][-1]["content"])


def asked_of(requests: list[Recorded], part: str) -> list[tuple[str, Any, Any]]:
    """Model, temperature and most tokens of each request whose last message has a part."""
    bodies = [r.json for r in requests if part in last(r)]
    return [(b["model"], b.get("temperature"), b.get("max_tokens")) for b in bodies]


@pytest.mark.requirement("plans:models", "plans:synthesis")
def test_each_purpose_and_step_has_its_model_at_the_hosts_of_the_person(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path, capfd)
    model = ["--model", "openai/usual", "--json"]
    with background([reply] * 40) as server:
        for name, value in {
            "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base,
            "SAM_TUI_PLANNING_MODEL": "openai/planner", "SAM_TUI_SYNTHESIS_MODEL": "openai/writer",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        done = json.loads(shell("run", "by purpose", *model, group="plan"))
        assert (done["success"], done["finalAnswer"]) == (True, "An answer.")
        (error,) = done["currentWorkingContext"]["errorsEncountered"]
        assert "'groq/other': it is at api.groq.com" in error["errorMessage"]
        assert asked_of(server.posts, "step plan,") == [("planner", None, None)] * 2
        assert asked_of(server.posts, "step plan/near,") == [("tiny", 0.2, 99)]
        assert asked_of(server.posts, "step answer,") == [("writer", None, None)]
        (synthesis,) = [last(r) for r in server.posts if "step answer," in last(r)]
        assert "- plan/near: ultraviolet" in synthesis
        shown = shell("show", done["parentTaskId"], group="plan")
        assert f"Used: {len(server.posts)} calls of models, " in shown

        refused = shell("new", "x", *model, "--ai-service", "gemini", group="plan", code=2)
        assert "There are: openai" in refused
        server.requests.clear()
        monkeypatch.setenv("SAM_TUI_SYNTHESIS_MODEL", "groq/writer")
        words = "with a service", "--id", "t2", "--ai-service", "openai"
        shell("new", *words, *model, group="plan")
        shell("run", "t2", *model, group="plan")
        assert asked_of(server.posts, "step plan,") == [("planner", None, None)]
        assert asked_of(server.posts, "step answer,") == [("usual", None, None)]


@pytest.mark.requirement("plans:models")
def test_what_a_step_asks_of_its_model_is_checked_with_the_plan(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path, capfd)
    (tmp_path / "script.json").write_text(json.dumps([{"text": json.dumps([[thought("near")]])}]))
    model = ["--model", f"scripted:{tmp_path / 'script.json'}"]
    shell("new", "x", "--id", "t1", *model, group="plan")
    wrong = {"prompt": "x", "model": "scripted: /x", "temperature": 3, "maxTokens": 0}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps([[thought("near") | {"sub_task_input": wrong}]]))
    refused = shell("replan", "t1", "--file", str(file), "--json", code=1, group="plan")
    for name in ("model", "temperature", "maxTokens"):
        assert f"sub_task_input.{name}: " in refused
