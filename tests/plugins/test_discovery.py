"""Other packages add tools and reminders; a broken one is told of and harms nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.tooling.short_list import CALL, FIND
from tests.fakes.engine_kit import Kit
from tests.fakes.preloaded import SCRIPT

pytestmark = pytest.mark.requirement("plugins:entry-points")

GOOD = """
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolResult

async def run(arguments, context):
    return ToolResult("hello from outside")

def build(services):
    operation = Operation("{name}", "says hello", NoArguments, run, lambda a: "Greeting")
    return Tool("{name}", "Says hello.", (operation,), consolidated=False)

class Hint:
    name = "hint"
    def content(self, view):
        return "<system-reminder>mind the gap"

class Fault(Hint):
    name = "fault"
    def content(self, view):
        raise RuntimeError("boom")

def reminders(services):
    return [Hint(), Fault()]

def old(services):
    return build(services)
old.sam_tui_api = 99

def raises(services):
    raise ValueError("cannot start")

nothing = 3
"""
WITH_SITE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from sam_tui.__main__ import main
sys.exit(main())
"""
"""The program, where one folder more has packages."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with good and broken entry points."""
    site = tmp_path / "site"
    info = site / "greeter-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "greeter_plugin.py").write_text(GOOD.replace("{name}", "greet"), encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.2\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[sam_tui.tools]\ngreet = greeter_plugin:build\nold = greeter_plugin:old\n"
        "raises = greeter_plugin:raises\nnothing = greeter_plugin:nothing\n"
        "gone = greeter_missing:build\ntwice = greeter_plugin:build\n"
        "[sam_tui.reminders]\nhint = greeter_plugin:reminders\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    monkeypatch.delitem(sys.modules, "greeter_plugin", raising=False)
    return tmp_path


async def test_a_plug_in_tool_runs_and_the_broken_ones_are_named(package: Path) -> None:
    (package / "ws").mkdir()
    runtime = build(Options(str(package / "ws"), str(package / "data")), {})
    assert runtime.registry.tools[-1].name == "greet"
    faults = {r.entry: r.fault for r in runtime.plugins if r.fault}
    assert set(faults) == {"old", "raises", "nothing", "gone", "twice"}
    assert "API 99" in faults["old"]
    assert "cannot start" in faults["raises"]
    found = next(r for r in runtime.plugins if r.entry == "greet")
    assert (found.distribution, found.version, found.api) == ("greeter", "1.2", 1)
    await runtime.close()


async def test_a_plug_in_tool_takes_no_name_of_a_tool_that_comes_with_the_program(
    package: Path,
) -> None:
    names = (FIND, CALL, "think", "file_operations", "workflow", "JARVIS")
    site = package / "site"
    calls = "".join(f"{name} = lambda services: build(services, {name!r})\n" for name in names)
    text = GOOD.replace("(services):", "(services, name=''):", 1).replace('"{name}"', "name")
    (site / "taken_plugin.py").write_text(text + calls, "utf-8")
    rows = "".join(f"{name} = taken_plugin:{name}\n" for name in names)
    (site / "greeter-1.2.dist-info/entry_points.txt").write_text(
        f"[sam_tui.tools]\n{rows}", "utf-8"
    )
    (package / "ws").mkdir()
    runtime = build(Options(str(package / "ws"), str(package / "data"), profile="iron-manus"), {})
    assert {report.entry for report in runtime.plugins if report.fault} == set(names)
    assert len(set(runtime.registry.names)) == len(runtime.registry.names)
    await runtime.close()


async def test_a_plug_in_reminder_speaks_and_its_fault_is_contained(
    package: Path, kit: Kit
) -> None:
    (package / "ws").mkdir(exist_ok=True)
    runtime = build(Options(str(package / "ws"), str(package / "data")), {})
    view = TurnView(kit.conversation, [], (), 0.0, True)
    requests = runtime.engine.requests
    said = {r.name: r.text for r in requests.reminders(Story(view), new_message=True)}
    said = {name: text for name, text in said.items() if name.startswith("plugin:")}
    assert said == {"plugin:hint": "<\\system-reminder>mind the gap"}
    await runtime.close()


class Story:
    """A conversation without a word."""

    def __init__(self, view: TurnView) -> None:
        self.conversation = view.conversation
        self.messages = view.messages
        self.tally = view.tally


def test_the_program_lists_plug_ins_and_reports_broken_ones_from_the_first_run(
    package: Path,
) -> None:
    (package / "ws").mkdir()
    done = subprocess.run(
        [*SCRIPT, WITH_SITE, str(package / "site"), "tools", "list", "--data-dir", "fresh/data"],
        cwd=package / "ws",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "greet  (greeter 1.2, plug-in API 1)" in done.stdout
    assert "raises of greeter 1.2: ValueError: cannot start" in done.stdout + done.stderr
