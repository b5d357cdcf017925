"""One call of every operation with every parameter, tool by tool, in a workspace that is prepared."""

import asyncio
import base64
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from sam_tui.core.agent.budget import Budget
from sam_tui.folders import settings_folder
from tests.fakes.programs import found
from tests.fakes.web_server import WebServer, answered, page
from tests.framework.bench import Bench
from tests.framework.tour import Tour

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
ROBOT = "turn the robot arm before the camera looks at the shelf"
DEADLINE = 90.0


async def _think(tour: Tour) -> None:
    await tour.take("think", thoughts="weigh it", requested_tools=["read_file"])


async def _collaboration(tour: Tour) -> None:
    await tour.take(
        "user_collaboration",
        prompt="Which one?",
        context="two ways",
        choices=["this", "that"],
        several=True,
        authorize_operation="file_operations.delete_file",
    )


async def _subagent(tour: Tour) -> None:
    runtime = tour.bench.runtime
    assert runtime.model is not None
    agents = Path.home() / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "counter.md").write_text("You count.", encoding="utf-8")
    with runtime.engine.budgets.running(tour.bench.conversation, Budget(9), runtime.model):
        await tour.take(
            "run_subagent",
            agent="counter",
            task="Count the files",
            instructions="briefly",
            maxIterations=3,
            model="openai/other",
            temperature=0.25,
            topP=0.5,
            enableTerminalAccess=True,
            systemPromptId="built-in:reviewer",
            sharedTopicId="robots",
            enableDynamicIterations=True,
            enableWorkflowMode=False,
        )


async def _iterations(tour: Tour) -> None:
    runtime = tour.bench.runtime
    assert runtime.model is not None
    with runtime.engine.budgets.running(tour.bench.conversation, Budget(9), runtime.model):
        await tour.take(
            "increase_max_iterations", requested_iterations=12, reason="three files are left"
        )


async def _system_prompts(tour: Tour) -> None:
    await tour.take("list_system_prompts")


async def _mini_prompts(tour: Tour) -> None:
    await tour.take("list_mini_prompts")


async def _memory(tour: Tour) -> None:
    def take(name: str, **given: Any) -> Awaitable[Mapping[str, Any]]:
        return tour.take(f"memory_operations.{name}", given)

    await take("store_memory", content=ROBOT, content_type="fact", context="lab", tags=["robot"])
    await take("search_memory", query="robot arm", limit=3, similarity_threshold=0.1)
    await take("list_collections")
    await take("store", key="port", content="8123")
    await take("retrieve", key="port")
    await take("search_kv", query="81")
    await take("list_keys")
    await take("delete_key", key="port")
    await take("add_discovery", fact="tests need a display", confidence=0.9)
    await take("add_solution", error="E1", solution="retry it", examples=["x"])
    await take("add_pattern", pattern="nouns for modules", confidence=0.6, examples=["bus"])
    await take("ltm_stats")
    await take(
        "prune_ltm",
        max_age_days=10,
        min_confidence=0.5,
        max_discoveries=5,
        max_solutions=5,
        max_patterns=5,
    )


async def _todos(tour: Tour) -> None:
    fields: dict[str, Any] = {
        "description": "all of it",
        "status": "in-progress",
        "priority": "high",
        "dependencies": [],
        "canRunParallel": True,
        "parallelGroup": "a",
        "progress": 0.5,
        "blockedReason": "",
        "subtasks": [{"id": 1, "title": "A part", "status": "completed"}],
        "estimateMinutes": 15,
        "evidence": ["made.txt"],
    }
    first, second = {"id": 1, "title": "One", **fields}, {"id": 2, "title": "Two", **fields}
    await tour.take("todo_operations.write", todoList=[first, second])
    await tour.take("todo_operations.update", todoUpdates=[{**first, "title": "Uno"}])
    await tour.take("todo_operations.add", newTodos=[{"title": "Three", **fields}])
    await tour.take("todo_operations.read")


async def _tool_result(tour: Tour) -> None:
    done = await tour.bench.call("think", thoughts="long " * 3000)
    await tour.take("read_tool_result", toolCallId=done.finished.call, offset=8192, length=100)


async def _recall(tour: Tour) -> None:
    bench = tour.bench
    bench.runtime.remembered.memories.set_topic(bench.conversation, "robots")
    for number in range(8):
        await bench.session.run(f"Message {number}: {ROBOT}. " + "It goes on for long. " * 500)
    await tour.take(
        "recall_history", query="robot arm", topic_id="robots", time_hint="early", limit=2
    )


async def _web(tour: Tour) -> None:
    url = tour.site.url

    def take(name: str, **given: Any) -> Awaitable[Mapping[str, Any]]:
        return tour.take(f"web_operations.{name}", given)

    await take("research", query="robot arm", depth="shallow", type="technical")
    await take("retrieve", query="robot arm")
    await take("web_search", query="robot", limit=3)
    await take("serpapi", query="robot", engine="google", location="Berlin", num_results=5)
    await take("scrape", url=url("/page"), selectors={"title": "h1"})
    await take("fetch", url=url("/page"))


async def _documents(tour: Tour) -> None:
    def take(name: str, **given: Any) -> Awaitable[Mapping[str, Any]]:
        return tour.take(f"document_operations.{name}", given)

    await take("document_import", path="root_files/README.md", tags=["readme"])
    looks = {
        "fontSize": 11,
        "headingSizes": [20, 18, 16],
        "margin": 50,
        "pageWidth": 500,
        "pageHeight": 700,
        "lineSpacing": 1.5,
    }
    await take(
        "document_create",
        content="# Title\n\nwords",
        format="rtf",
        filename="report",
        output_path="out",
        overwrite=True,
        styling=looks,
    )
    await take("get_doc_info", path="out/report.rtf")


async def _files(tour: Tour) -> None:
    def take(name: str, **given: Any) -> Awaitable[Mapping[str, Any]]:
        return tour.take(f"file_operations.{name}", given)

    await take("read_file", filePath="root_files/sample.txt", offset=2, limit=2)
    await take("list_dir", path="root_files", limit=2, offset=1)
    await take("get_errors", filePaths=["subdir1/script.py"])
    await take("file_search", query="**/*.py", rootPath="subdir1", limit=5, offset=0)
    await take("get_search_results")
    await take(
        "grep_search",
        query="TEST.*",
        isRegexp=True,
        includePattern="**/*.txt",
        maxResults=5,
        rootPath="root_files",
    )
    await take("semantic_search", query="sum of two", includePattern="**/*.py", limit=3)
    await take("list_usages", symbolName="hello_world", filePaths=["subdir1"], limit=5)
    await take(
        "search_index",
        query="script",
        extension="py",
        minSize=1,
        maxSize=100_000,
        modifiedAfter="2000-01-01",
        modifiedBefore="2100-01-01",
        limit=5,
        refresh=True,
    )
    tour.bench.write("made.txt", "before")
    await take("create_file", filePath="made.txt", content="one\ntwo\nthree\n", overwrite=True)
    await take(
        "replace_string",
        filePath="made.txt",
        oldString="two",
        newString="2",
        expectedReplacements=1,
    )
    change = {"oldString": "three", "newString": "3", "expectedReplacements": 1}
    await take(
        "multi_replace_string",
        replacements=[
            change,
            {**change, "filePath": "made.txt", "oldString": "3\n", "newString": "4\n"},
        ],
        filePath="made.txt",
    )
    await take(
        "insert_edit",
        filePath="made.txt",
        lineNumber=1,
        newText="zero",
        insertOperation="insert",
    )
    await take(
        "apply_patch",
        patchContent="@@ -1,2 +1,2 @@\n-zero\n+nil\n one\n",
        filePath="made.txt",
        target_directory=".",
        dry_run=False,
    )
    await take("rename_file", oldPath="made.txt", newPath="deep/moved.txt")
    await take("delete_file", filePath="deep/moved.txt")


async def _terminal(tour: Tour) -> None:
    def take(name: str, **given: Any) -> Awaitable[Mapping[str, Any]]:
        return tour.take(f"terminal_operations.{name}", given)

    await take(
        "run_command",
        command="cat script.py",
        explanation="to see it",
        isBackground=False,
        working_directory="subdir1",
        timeout=20,
    )
    await take("get_last_command")
    behind = await take("run_command", command="sleep 987", isBackground=True)
    await take(
        "get_terminal_output",
        id=behind.get("terminalId", ""),
        from_index=0,
        wait=0.01,
    )
    await take("get_terminal_output", id=behind.get("terminalId", ""), end=True)
    await take("create_directory", dirPath="made/deep")
    opened = await take(
        "create_session",
        conversation_id=tour.bench.conversation,
        working_directory="root_files",
    )
    session = opened["session_id"]
    await take("send_input", session_id=session, input="ls\r\n", timeout=DEADLINE)
    await take("send_input", session_id=session, input="read x\r\n", hand_over="your name")
    await take("get_terminal_buffer", id=session)
    await take("get_terminal_selection")
    await take("get_output", session_id=session, from_index=1)
    await take("get_history", session_id=session)
    await take("close_session", session_id=session)


async def _build(tour: Tour) -> None:
    def take(name: str, **given: Any) -> Awaitable[Mapping[str, Any]]:
        return tour.take(f"build_and_version_control.{name}", given)

    folder = tour.bench.folder
    tour.bench.introduce()
    await asyncio.to_thread(subprocess.run, [found("git"), "init", "-q", str(folder)], check=True)
    task = {
        "label": "greet",
        "type": "shell",
        "command": "echo",
        "args": ["hello"],
        "group": "build",
        "isBackground": False,
        "problemMatcher": ["$gcc"],
    }
    made = await take("create_and_run_task", task=task, workspaceFolder="root_files")
    await take("run_task", label="greet")
    await take("get_task_output", id=made.get("id", ""), from_index=0)
    await take("get_task_output", id=made.get("id", ""), end=True)
    await take("get_changed_files", repositoryPath=".", sourceControlState=["untracked", "staged"])
    await take("git_commit", message="first", files=["root_files/README.md"], repositoryPath=".")


async def _images(tour: Tour) -> None:
    await tour.take("image_generation.generate", prompt="a cat", image_count=1, aspect_ratio="16:9")
    await tour.take(
        "image_generation.generate",
        prompt="a cat",
        width=512,
        height=256,
        model="other",
        output_path="art",
    )


FLOW = """---
name: flow
params: {room: {required: true}}
steps:
  - {id: look, prompt: "Look at @{params.room}"}
  - {id: plan, kind: plan, prompt: plan, needs: [look]}
---
Body.
"""


async def _workflow(tour: Tour) -> None:
    flows = Path(settings_folder()) / "workflows"
    flows.mkdir(parents=True)
    (flows / "flow.md").write_text(FLOW, encoding="utf-8")

    async def take(operation: str, **more: Any) -> Mapping[str, Any]:
        return await tour.take(f"workflow.{operation}", **more)

    execution = (await take("start", name="flow", params={"room": "hall"})).get("executionId", "")
    await take("status", executionId=execution)
    kept = await take("artifact", name="notes", text="seen", executionId=execution)
    artifact = kept.get("artifactId", "")
    await take("artifact", artifactId=artifact, offset=1, length=2)
    about = {"severity": "low", "category": "security"}
    await take("finding", title="t", content="c", executionId=execution, **about)
    await take("advance", output={"summary": "s"}, step="look", executionId=execution)
    await take("retry", step="look", executionId=execution)
    await take("pause", reason="lunch", executionId=execution)
    await take("resume", executionId=execution)
    await take("advance", output={"summary": "s"})
    steps = [{"id": "one", "prompt": "do"}]
    await take("plan", steps=steps, step="plan", executionId=execution)
    await take("replan", steps=steps, step="plan", executionId=execution)
    await take("abandon", reason="enough", executionId=execution)


ROUTES: Mapping[str, Callable[[Tour], Awaitable[None]]] = {
    "think": _think,
    "user_collaboration": _collaboration,
    "run_subagent": _subagent,
    "increase_max_iterations": _iterations,
    "list_system_prompts": _system_prompts,
    "list_mini_prompts": _mini_prompts,
    "memory_operations": _memory,
    "todo_operations": _todos,
    "read_tool_result": _tool_result,
    "recall_history": _recall,
    "web_operations": _web,
    "document_operations": _documents,
    "file_operations": _files,
    "terminal_operations": _terminal,
    "build_and_version_control": _build,
    "image_generation": _images,
    "workflow": _workflow,
}
"""The tour of each tool."""


def furnish(site: WebServer) -> None:
    """Pages, a search engine and an image maker for the tour."""
    body = "".join(f"<p>Paragraph {n}: {ROBOT}, again and again.</p>" for n in range(20))
    site.routes["/page"] = page(f"<html><title>Robots</title><body><h1>Arms</h1>{body}</body>")
    hit = {"title": "Robots", "url": site.url("/page"), "content": "about arms"}
    site.routes["/searx/search"] = answered({"results": [hit]})
    site.routes["/serp"] = answered({
        "organic_results": [{"title": "R", "link": "https://r.example/"}]
    })
    image = base64.b64encode(PNG).decode()
    site.routes["/v1/images/generations"] = answered({"data": [{"b64_json": image}]})


def prepare(bench: Bench, site: WebServer) -> None:
    """Make what the tours find in the workspace and on the web."""
    furnish(site)
    bench.write("pyproject.toml", "[tool.ruff]\n")
