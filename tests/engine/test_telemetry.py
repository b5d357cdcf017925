"""Traces and metrics reach a collector, off by default and without a word of the work. Costs 2 s of CPU."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.errors import ConfigurationError

Batch = tuple[str, dict[str, Any], str]


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Batch]]]:
    """The address of a collector, and what it was sent."""
    batches: list[Batch] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            batches.append((self.path, body, self.headers.get("X-Key", "")))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", batches
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Attributes as a plain table."""
    return {entry["key"]: next(iter(entry["value"].values())) for entry in attributes}


async def turn(folder: Path, environ: dict[str, str]) -> None:
    """A turn with a call that is allowed, one that is refused, and an answer."""
    (folder / "ws").mkdir(exist_ok=True)
    (folder / "ws/secret-name.txt").write_text("secret words", encoding="utf-8")
    read = {"operation": "read_file", "filePath": "secret-name.txt"}
    write = {"operation": "create_file", "filePath": str(folder / "out"), "content": "x"}
    calls = [{"name": "file_operations", "arguments": arguments} for arguments in (read, write)]
    calls += [{"name": "secret name", "arguments": {}}]
    calls += [{"name": "file_operations", "arguments": {"operation": "secret operation"}}]
    script = folder / "script.json"
    script.write_text(json.dumps([{"calls": calls}, {"text": "secret end"}]), encoding="utf-8")
    options = Options(str(folder / "ws"), str(folder / "data"), model=f"scripted:{script}")
    runtime = build(options, {"HOME": str(folder), **environ})
    finished = await runtime.open_session().run("a secret prompt")
    assert finished.answer == "secret end"
    await runtime.close()


@pytest.mark.requirement("telemetry:export")
async def test_turns_calls_and_decisions_reach_the_collector_and_no_words_do(
    tmp_path: Path, collector: tuple[str, list[Batch]], caplog: pytest.LogCaptureFixture
) -> None:
    address, batches = collector
    headers = "X-Bad=a%0D%0AX-Evil: 1,a b=c,X-Team: sesame,X-Key=a%20b"  # bad ones lose no other
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_HEADERS": headers}
    await turn(tmp_path, environ)
    assert batches == []  # the usual variables alone switch nothing on
    await turn(tmp_path, environ | {"SAM_TUI_OTLP_ENDPOINT": f"{address}/base/"})
    assert {(path, key) for path, _, key in batches} == {
        ("/base/v1/traces", "a b"),
        ("/base/v1/metrics", "a b"),
    }
    assert "'X-Bad' cannot be sent" in caplog.text and "'a b' cannot" in caplog.text
    assert "'X-Team' cannot be sent" in caplog.text and "sesame" not in caplog.text
    text = json.dumps(batches)
    assert "secret" not in text and str(tmp_path) not in text
    traces = next(body for path, body, _ in batches if path.endswith("traces"))
    spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["name"] for span in spans] == [
        "chat scripted:script.json", "execute_tool file_operations.read_file",
        "execute_tool file_operations.create_file", "execute_tool unknown", "execute_tool unknown",
        "chat scripted:script.json", "turn",
    ]  # fmt: skip
    whole = spans[-1]
    assert all(span["parentSpanId"] == whole["spanId"] for span in spans[:-1])
    assert len({span["traceId"] for span in spans}) == 1
    assert all(int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) for s in spans)
    decisions = [values(event["attributes"]) for event in whole["events"]]
    assert [decision["outcome"] for decision in decisions] == ["allow", "deny"]
    metrics = next(body for path, body, _ in batches if path.endswith("metrics"))
    sums = metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    points = {
        (entry["name"], *values(point["attributes"]).values()): point
        for entry in sums
        for point in entry["sum"]["dataPoints"]
    }
    assert points["sam_tui.calls", "file_operations.read_file", True]["asInt"] == "1"
    assert points["sam_tui.decisions", "deny", "mode"]["asInt"] == "1"
    assert points["sam_tui.turns", "finished"]["asInt"] == "1"
    page = (Path(__file__).parents[2] / "docs/telemetry.md").read_text(encoding="utf-8")
    attributes = [entry["key"] for span in spans for entry in span["attributes"]]
    attributes += [key for decision in decisions for key in decision]
    resource = traces["resourceSpans"][0]["resource"]["attributes"]
    names = {*attributes, *values(resource), *(entry["name"] for entry in sums)}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


@pytest.mark.requirement("telemetry:export")
async def test_a_collector_that_is_gone_holds_nothing_up_and_a_wrong_address_is_named(
    tmp_path: Path,
) -> None:
    await turn(tmp_path, {"SAM_TUI_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    for address in ("localhost", "http://[::1", "http://127.0.0.1:99999"):
        with pytest.raises(ConfigurationError, match="SAM_TUI_OTLP_ENDPOINT is not an address"):
            await turn(tmp_path, {"SAM_TUI_OTLP_ENDPOINT": address})
