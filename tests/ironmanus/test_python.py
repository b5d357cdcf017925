"""Python that is really run: in the sandbox, without network, with its data as a file."""

from typing import Any

import pytest

from tests.fakes.web_server import WebServer, page
from tests.ironmanus.harness import Harness

TABLE = "kind,size,price\na,1,2.1\na,2,3.9\nb,3,6.2\nb,4,7.8\nb,5,10.1\na,6,12.0\n"


async def compute(harness: Harness, operation: str, **more: Any) -> Any:
    """One computation that must succeed."""
    executed = await harness.call("PythonComputationalTool", operation=operation, **more)
    assert executed.finished.ok, executed.finished.text
    return executed.data


@pytest.mark.requirement("ironmanus:python")
async def test_data_is_described_and_correlated(harness: Harness) -> None:
    found = await compute(harness, "data_analysis", input_data=TABLE)
    assert found["rows"] == 6
    size = found["columns"]["size"]
    assert (size["count"], size["mean"], size["median"], size["max"]) == (6, 3.5, 3.5, 6.0)
    assert found["columns"]["kind"]["commonest"] == {"a": 3, "b": 3}
    asked = {"analysis_type": "correlation", "target_column": "price"}
    found = await compute(harness, "data_analysis", input_data=TABLE, parameters=asked)
    assert found["correlation"]["price"]["size"] > 0.99
    rows = '[{"x": 1, "y": "a"}, {"x": null, "y": "b"}]'
    found = await compute(harness, "data_analysis", input_data=rows)
    assert found["columns"]["x"]["missing"] == 1
    assert not any((harness.folder / "iron-manus-sessions").glob("input_*"))


@pytest.mark.requirement("ironmanus:python")
@pytest.mark.parametrize("kind", ["bar", "line", "scatter", "histogram"])
async def test_a_chart_is_a_file(harness: Harness, kind: str) -> None:
    asked = {"chart_type": kind, "x_column": "size", "y_column": "price", "title": "<b>"}
    found = await compute(harness, "visualization", input_data=TABLE, parameters=asked)
    text = (harness.folder / found["file"]).read_text("utf-8")
    assert text.startswith("<svg")
    assert "&lt;b&gt;" in text
    assert "<b>" not in text


@pytest.mark.requirement("ironmanus:python")
async def test_models_are_judged_on_rows_they_have_not_seen(harness: Harness) -> None:
    rows = "x,y\n" + "\n".join(f"{n},{2 * n + 1}" for n in range(20))
    found = await compute(
        harness, "machine_learning", input_data=rows, parameters={"target_column": "y"}
    )
    assert (found["model_type"], found["train_rows"], found["test_rows"]) == ("regression", 16, 4)
    assert round(found["coefficients"][0], 6) == 2.0
    assert found["r2"] > 0.999
    rows = "x,c\n" + "\n".join(f"{n},{'low' if n < 10 else 'high'}" for n in range(20))
    found = await compute(
        harness, "machine_learning", input_data=rows, parameters={"target_column": "c"}
    )
    assert (found["model_type"], found["accuracy"]) == ("classification", 1.0)


@pytest.mark.requirement("ironmanus:python")
@pytest.mark.parametrize(
    ("operation", "data", "parameters", "said"),
    [
        ("data_analysis", "", {}, "empty"),
        ("data_analysis", "{not json", {}, "property name"),
        ("visualization", "a\nx\n", {}, "no numbers"),
        ("visualization", TABLE, {"chart_type": "pie"}, "chart_type is"),
        ("machine_learning", TABLE, {}, "target_column is missing"),
        ("machine_learning", "x,y\n1,2\n", {"target_column": "y"}, "five whole rows"),
    ],
)
async def test_what_cannot_be_computed_says_why(
    harness: Harness, operation: str, data: str, parameters: dict[str, Any], said: str
) -> None:
    executed = await harness.call(
        "PythonComputationalTool", operation=operation, input_data=data, parameters=parameters
    )
    assert not executed.finished.ok
    assert said in executed.finished.text


@pytest.mark.requirement("ironmanus:python-custom")
async def test_custom_code_is_run_with_its_data_as_data(harness: Harness) -> None:
    hostile = '"""; import os; os._exit(9) #'
    code = (
        "import json, sys\nasked = json.load(sys.stdin)\nprint(len(asked['data']))\nsys.exit(3)\n"
    )
    executed = await harness.call(
        "PythonComputationalTool", operation="custom", custom_code=code, input_data=hostile
    )
    assert not executed.finished.ok
    assert executed.data["output"] == f"{len(hostile)}\n"
    assert executed.data["exit_code"] == 3
    assert not any((harness.folder / "iron-manus-sessions").glob("code_*"))
    bad = await harness.call("PythonComputationalTool", operation="custom", custom_code="def (")
    assert "is no Python" in bad.finished.text
    empty = await harness.call("PythonComputationalTool", operation="custom")
    assert "is empty" in empty.finished.text


@pytest.mark.requirement("ironmanus:python-custom")
async def test_the_sandbox_holds_what_a_list_of_words_could_not(
    harness: Harness, site: WebServer
) -> None:
    if harness.sandbox.confinement.kind == "none":
        pytest.skip("nothing here confines commands")
    outside = harness.folder.parent / "outside.txt"
    code = (
        "import importlib\n"
        f"o = importlib.import_module('o' + 's')\n"
        f"try:\n    open({str(outside)!r}, 'w').write('x')\n    print('wrote')\n"
        "except OSError:\n    print('held')\n"
        "s = __import__('socket')\n"
        f"try:\n    s.create_connection(('127.0.0.1', {site.port}), 5)\n    print('connected')\n"
        "except OSError:\n    print('offline')\n"
    )
    executed = await harness.call("PythonComputationalTool", operation="custom", custom_code=code)
    assert executed.data["output"].split() == ["held", "offline"]
    assert executed.data["notes"][0].startswith("imports importlib")
    assert not outside.exists()


@pytest.mark.requirement("ironmanus:python")
async def test_a_page_is_taken_apart(online: Harness, site: WebServer) -> None:
    site.routes["/p"] = page("<h1>One</h1><p class=a>two</p><p class=a>three</p>")
    asked = {"selector": "p.a", "output_format": "csv"}
    found = await compute(online, "web_scraping", input_data=site.url("/p"), parameters=asked)
    assert found["found"] == {"selected": ["two", "three"]}
    assert found["csv"].splitlines() == ["name,value", 'selected,"two"', 'selected,"three"']
    private = await online.call(
        "PythonComputationalTool", operation="web_scraping", input_data="http://10.0.0.1/"
    )
    assert not private.finished.ok
