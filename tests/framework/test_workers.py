"""The tools that steps of plans name (seed 002), in the assembled program."""

import json
from pathlib import Path

import pytest

from sam_tools import WORKERS
from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.cli.main import main
from sam_tui.folders import settings_folder
from tests.fakes.web_server import Answer, WebServer, answered, page
from tests.framework.conftest import Opened

SUMS = [
    ("5*3", "15"), ("-2^2", "-4"), ("2**3**2", "512"), ("(1+2)^2 - 1", "8"), ("8 % 3", "2"),
    ("20% of 50", "10"), ("50 + 10%", "55"), ("0.1+0.2", "0.3"), ("1/3", "0.333333333333333"),
    ("20!", "2432902008176640000"), ("2^100", "1267650600228229401496703205376"),
    ("1,234 + max(1,234)", "1468"), ("sqrt(16) + ln(e)", "5"), ("3 km + 200 m", "3.2 km"),
    ("60 mph in km/h", "96.56064 km/h"), ("10 km / 2 h in km/h", "5 km/h"), ("5 in in cm", "12.7 cm"),
    ("20 °C in °F", "68 °F"), ("5 kg * 9.81 m/s^2 in N", "49.05 N"), ("12 km / 3 km", "4"),
    ("2 GiB in MB", "2147.483648 MB"), ("sin(30 deg)", "0.5"), ("round(2.567, 1)", "2.6"),
]  # fmt: skip
REFUSED = [
    ("9**9**9", "too large"), ("9^99999999", "too large"), ("1e4000 * 1e4000", "too large"),
    ("99999!", "Factorials"), ("exp(1e9)", "no value"), ("(" * 100, "nested"), ("1+" * 1500, "characters"),
    ("__import__('os').system('id')", "What is"), ("x.y", "What is"), ("eval(1)", "no number"),
    ("1/0", "divides by zero"), ("1 kg + 1 m", "cannot be added"), ("5 km in kg", "cannot be told"),
    ("20°C + 5°C", "only converted"), ("2 +", "ends too early"), ("²", "no number"),
    (" ", "empty"), ("1 2", "does not belong"),
]  # fmt: skip


@pytest.mark.requirement("workers:calculator")
async def test_sums_are_exact_with_percentages_units_and_big_numbers_and_cost_little(
    opened: Opened,
) -> None:
    bench = opened()
    for expression, result in SUMS:
        assert await bench.good("CalculatorTool", expression=expression) == result
    for expression, why in REFUSED:
        assert why in await bench.bad("CalculatorTool", expression=expression), expression
    data = await bench.data("CalculatorTool", expression="1 km / 3")
    assert (data["unit"], data["exact"]) == ("km", "1/3")


@pytest.mark.requirement("workers:unlisted")
async def test_tools_of_plans_are_called_by_name_and_not_told_to_the_model(opened: Opened) -> None:
    registry = opened().runtime.registry
    assert not set(registry.names) & set(WORKERS)
    assert set(registry.descriptions) >= {"think", *WORKERS}
    assert "expression" in registry.descriptions["CalculatorTool"]
    assert all(registry.without(["think"]).knows(name) for name in WORKERS)


@pytest.mark.requirement("workers:roles")
async def test_roles_come_from_files_and_what_is_not_there_is_said_at_planning(
    opened: Opened, folder: Path
) -> None:
    persona = folder / ".sam" / "personas" / "Scribe.md"
    persona.parent.mkdir(parents=True)
    persona.write_text(
        "---\nname: Scribe\ndescription: Writes.\ntools: [FileSystemTool, Ink]\n---\nW.\n"
    )
    FileTrust(settings_folder()).trust(str(folder))
    capabilities = {c.role: c for c in opened().runtime.workflows.workflows().capabilities()}
    assert {"WebSearchTool", "ReadWebpageTool"} < set(capabilities["ResearchAgent"].tools)
    assert capabilities["ResearchAgent"].missing == ("Context7DocumentationTool",)
    assert "CalculatorTool" in capabilities["UtilityAgent"].tools
    assert capabilities["Orchestrator"].missing == ()
    assert "FileSystemTool" in capabilities["Scribe"].tools
    assert capabilities["Scribe"].missing == ("Ink",)


@pytest.mark.requirement("workers:explore")
async def test_what_a_search_led_to_is_read_together_and_failures_are_told(
    opened: Opened, online: WebServer
) -> None:
    bench = opened()
    rows = [
        {"title": t, "url": online.url(f"/{t}"), "content": t} for t in ("moon", "tide", "gone")
    ]
    online.routes |= {
        "/searx/search": answered({"results": rows}),
        "/moon": page("<h1>Moon</h1><p>The moon pulls.</p>"),
        "/tide": page("<h1>Tide</h1><p>Water rises.</p>"),
        "/gone": Answer(b"", 404),
    }
    found = await bench.data("WebSearchTool", query="tides")
    assert (found["outcome"], found["results"][0]["link"]) == ("found", online.url("/moon"))
    assert (
        "The moon pulls."
        in (await bench.data("ReadWebpageTool", url=online.url("/moon")))["content"]
    )
    explored = await bench.data("ExploreSearchResults", searchResults=dict(found), pagesToExplore=3)
    assert [p["url"] for p in explored["pages"]] == [online.url("/moon"), online.url("/tide")]
    assert [e["url"] for e in explored["partial_errors"]] == [online.url("/gone")]
    best = await bench.data(
        "ExploreSearchResults", searchResults=json.dumps(found["results"]), pagesToExplore=1,
        relevanceCriteria="tide and water",
    )  # fmt: skip
    assert [p["url"] for p in best["pages"]] == [online.url("/tide")]
    nothing = await bench.data("ExploreSearchResults", searchResults={"results": []})
    assert (nothing["outcome"], nothing["pages"]) == ("empty", [])
    gone = [{"link": online.url("/gone")}]
    assert "failed" in await bench.bad("ExploreSearchResults", searchResults=gone)
    assert "no list" in await bench.bad("ExploreSearchResults", searchResults="text")
    mixed = [{"link": "http://10.0.0.1/"}, {"link": online.url("/moon")}]
    explored = await bench.data("ExploreSearchResults", searchResults=mixed)
    assert "not on the public internet" in explored["partial_errors"][0]["error"]
    assert len(explored["pages"]) == 1


@pytest.mark.requirement("workers:files")
async def test_files_of_a_task_stay_in_its_folder_and_reading_makes_none(
    opened: Opened, online: WebServer
) -> None:
    bench = opened()

    async def act(operation: str, **params: str) -> str:
        return await bench.good("FileSystemTool", operation=operation, params=params)

    assert "empty" in await act("list_files")
    assert not (bench.folder / "task_files").exists()
    await act("create_file", filename="a/b.txt", content="one")
    await act("append_to_file", filename="a/b.txt", content=" two")
    assert await act("read_file", filename="a/b.txt") == "one two"
    await act("create_pdf_from_text", filename="c.PDF", text_content="# Hello")
    assert (bench.folder / "task_files/c.pdf").read_bytes().startswith(b"%PDF")
    assert (await act("list_files")).split() == ["c.pdf", "a/"]
    again = {"operation": "create_file", "filename": "a/b.txt", "content": "x"}
    assert "exists" in await bench.bad("FileSystemTool", again)
    for name in ("../x", "/etc/hosts", "~/x", "a/../../x"):
        out = {"operation": "overwrite_file", "filename": name, "content": "x"}
        assert "not in the folder of the task" in await bench.bad("FileSystemTool", out)
    online.routes["/d"] = Answer(b"data")
    get = {"url": online.url("/d"), "filename": "../we ird/na;me.bin"}
    assert (await bench.data("FileDownloaderTool", get))["path"] == "task_files/na_me.bin"
    assert "exists already" in await bench.bad("FileDownloaderTool", get)
    online.routes["/none"] = Answer(b"sorry", 404)
    none = {"url": online.url("/none"), "filename": "none.bin"}
    assert "404" in await bench.bad("FileDownloaderTool", none)
    assert "none.bin" not in await act("list_files")
    private = {"url": "http://10.0.0.1/x", "filename": "y"}
    assert "10.0.0.1" in await bench.bad("FileDownloaderTool", private)


TASK = """---
name: task
steps:
  - {id: sum, kind: tool, tool: CalculatorTool, arguments: {expression: "6*7"}}
  - id: write
    kind: tool
    needs: [sum]
    tool: FileSystemTool
    arguments:
      operation: create_file
      task_folder: ..
      params: {filename: sum.txt, content: "@{outputs.sum.result_data.result}"}
---
"""


@pytest.mark.requirement("workers:files")
def test_a_step_writes_into_the_folder_of_its_task(folder: Path, tmp_path: Path) -> None:
    (folder / ".sam/workflows").mkdir(parents=True)
    (folder / ".sam/workflows/task.md").write_text(TASK, encoding="utf-8")
    FileTrust(settings_folder()).trust(str(folder))
    place = ["-C", str(folder), "--data-dir", str(tmp_path / "data")]
    assert main(["workflow", "run", "task", "--id", "task-1", *place]) == 0
    (written,) = folder.glob("saved_tasks/tasks_*/task-1/workspace/sum.txt")
    assert written.read_text("utf-8") == "42"
