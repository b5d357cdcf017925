"""spec/sam.md 10.2 and 10.3: what SAM's suites asked through a model or the web, or left out.

SAM skipped the operations of the rows that are named so; every one of them runs here. The web is one
site on loopback, the model a scripted server (both M).
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.fakes.openai_server import Call, FakeServer, Recorded, Reply
from tests.fakes.web_server import Answer, WebServer, answered, page
from tests.framework.bench import Bench
from tests.framework.conftest import Opened
from tests.framework.rows import Rows

pytestmark = pytest.mark.requirement("framework:sam-suite")

Row = Callable[[Bench], Awaitable[None]]
MORE: Rows[Row] = Rows()


def remembering(request: Recorded) -> Reply:
    """The number, where the request still holds it."""
    return Reply(text="42" if b"Remember 42." in request.body else "?")


@MORE.add("10.3-python-script-prints-its-result")
async def _script(bench: Bench) -> None:
    assert "Result: 30" in await bench.good("run_command", command="python3 subdir1/script.py")


@MORE.add("10.3-create-directory-by-the-wrong-name")
async def _wrong_name(bench: Bench) -> None:
    await bench.good("create_directory", path="by_path")
    assert (bench.folder / "by_path").is_dir()


@MORE.add("10.3-document-import-by-the-wrong-name")
async def _wrong_path(bench: Bench) -> None:
    await bench.good("document_import", filePath="root_files/README.md")


@MORE.add("10.3-skipped-semantic-search")
async def _semantic(bench: Bench) -> None:
    data = await bench.data("semantic_search", query="calculate sum")
    assert data["results"][0]["path"] == "subdir1/script.py"


@MORE.add("10.3-skipped-list-usages")
async def _usages(bench: Bench) -> None:
    text = await bench.good("list_usages", symbolName="calculate_sum")
    assert "subdir1/script.py:8" in text and "subdir1/script.py:12" in text


@MORE.add("10.3-skipped-search-index")
async def _index(bench: Bench) -> None:
    data = await bench.data("search_index", extension="py")
    assert [match["path"] for match in data["matches"]] == ["subdir1/script.py"]


@MORE.add("10.3-skipped-session-operations")
async def _sessions(bench: Bench) -> None:
    session = (await bench.data("create_session"))["session_id"]
    sent = await bench.data("send_input", session_id=session, input="echo se''ssion\r\n")
    assert "session" in sent["output"] and sent.get("exitCode") == 0, sent
    assert "session" in (await bench.data("get_output", session_id=session))["output"]
    assert "session" in (await bench.data("get_history", session_id=session))["history"]
    assert "session" in (await bench.data("get_terminal_buffer"))["buffer"]
    assert (await bench.data("close_session", session_id=session))["status"] == "closed"


@MORE.add("10.3-skipped-git-commit")
async def _commit(bench: Bench) -> None:
    bench.repository()
    bench.write("new.txt", "new\n")
    data = await bench.data("git_commit", message="Add a file")
    assert data["success"] and data["message"] == "Add a file"
    log = await bench.good("run_command", command="git log --oneline")
    assert log.splitlines()[0].endswith("Add a file")


@MORE.add("10.3-skipped-run-task")
async def _run_task(bench: Bench) -> None:
    tasks = {"tasks": [{"label": "sum", "type": "shell", "command": "echo $((40+2))"}]}
    bench.write(".vscode/tasks.json", json.dumps(tasks))
    assert "42" in await bench.good("run_task", label="sum")


@MORE.add("10.3-skipped-user-collaboration")
async def _asked(bench: Bench) -> None:
    bench.person.reply = "the blue one"
    assert "the blue one" in await bench.good("user_collaboration", prompt="Which colour?")


@pytest.mark.parametrize("row", MORE.all)
async def test_what_sam_s_shell_suite_added_or_skipped_works(row: Row, bench: Bench) -> None:
    await row(bench)


# The web, which is one site on loopback (M)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(
            page("<html><body><p>Herman Melville</p></body></html>"), "Melville", id="10.2-M-html"
        ),
        pytest.param(answered({"slideshow": {"title": "Sample"}}), "slideshow", id="10.2-M-json"),
        pytest.param(Answer(b"User-agent: *"), "User-agent", id="10.2-M-text"),
    ],
)
async def test_a_page_is_fetched(
    opened: Opened, online: WebServer, answer: Answer, words: str
) -> None:
    online.routes["/page"] = answer
    assert words in await opened().good("web_operations.fetch", url=online.url("/page"))


@pytest.mark.parametrize("status", [pytest.param(404, id="10.2-M-404")])
async def test_a_missing_page_is_reported(opened: Opened, online: WebServer, status: int) -> None:
    told = await opened().bad("web_operations.fetch", url=online.url("/nothing"))
    assert f"{status} Not Found" in told


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param("scrape", id="10.3-skipped-scrape"),
        pytest.param("research", id="10.3-skipped-research"),
    ],
)
async def test_what_sam_skipped_of_the_web_works(
    opened: Opened, online: WebServer, operation: str
) -> None:
    body = "".join(f"<p>Paragraph {n} tells how whales breathe.</p>" for n in range(20))
    online.routes["/whales"] = page(f"<html><title>Whales</title><body>{body}</body></html>")
    hit = {"title": "Whales", "url": online.url("/whales"), "content": "breathing"}
    online.routes["/searx/search"] = answered({"results": [hit]})
    bench = opened()
    if operation == "scrape":
        data = await bench.data(
            "web_operations.scrape", url=online.url("/whales"), selectors={"all": "p"}
        )
        assert len(data["found"]["all"]) == 20
    else:
        assert "whales breathe" in await bench.good("web_operations.research", query="whales")
        assert "whales breathe" in await bench.good(
            "web_operations.retrieve", query="whales breathe"
        )


# Chat, with a model on loopback (M)


@pytest.mark.parametrize(
    ("messages", "replies", "last"),
    [
        pytest.param(["Hi"], [Reply(text="Hello.")], "Hello.", id="10.2-M-chat-simple"),
        pytest.param(
            ["What is in the sample?"],
            [
                Reply(
                    calls=(
                        Call("file_operations.read_file", {"filePath": "root_files/sample.txt"}),
                    )
                ),
                Reply(text="A marker."),
            ],
            "A marker.",
            id="10.2-M-chat-tool",
        ),
        pytest.param(
            ["Remember 42.", "Which number?"],
            [
                Reply(text="Yes."),
                remembering,
            ],
            "42",
            id="10.2-M-chat-two-turns",
        ),
        pytest.param(
            ["Count them."],
            [
                Reply(
                    calls=(
                        Call("run_subagent", {"task": "Count the files", "instructions": "all"}),
                    )
                ),
                Reply(text="There are seven."),
                Reply(text="Seven."),
            ],
            "Seven.",
            id="10.3-skipped-run-subagent",
        ),
    ],
)
async def test_a_chat_is_answered(
    opened: Opened, messages: list[str], replies: list[Any], last: str
) -> None:
    async with FakeServer(replies) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        answers = [(await bench.session.run(message)).answer for message in messages]
        assert answers[-1] == last
        assert all(answers)
        results = [m for m in server.requests[-1].json["messages"] if m["role"] == "tool"]
    if "What is in the sample?" in messages:
        assert "TESTMARKER_SAMPLE" in results[0]["content"]
    if "Count them." in messages:
        assert "There are seven." in results[0]["content"]
