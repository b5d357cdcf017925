"""Workflows as clients of seed 003 see them: definitions to run, and short ways to ask."""

import base64
import json
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.adapters.workflows import DefinitionFiles, open_workflows
from sam_tui.core.clock import SystemClock
from sam_tui.core.workflow.service import Workflows
from sam_tui.folders import settings_folder

WORKFLOW = "midex://workflow"
TWO_STEPS = """
steps:
  - id: first
    prompt: Do the first thing.
  - id: second
    needs: [first]
    prompt: Do the second thing.
"""
FORK = """
steps:
  - {id: left, prompt: Go left.}
  - {id: right, prompt: Go right.}
  - {id: join, needs: [left, right], prompt: Join them.}
"""
AGREED = """
steps:
  - id: design
    prompt: Design it.
  - id: agree
    kind: human
    needs: [design]
    prompt: "Shall it be built? @{outputs.design.summary}"
    choices: [build it, leave it]
  - id: build
    needs: [agree]
    prompt: "They said: @{outputs.agree.answer}"
"""
HOST = """
params:
  target: {description: where, required: true}
steps:
  - id: write
    kind: tool
    tool: file_operations.create_file
    arguments: {filePath: "@{params.target}", content: written by the host}
  - id: after
    needs: [write]
    prompt: Say that it is done.
"""
GATED = """
steps:
  - id: look
    tools: [read, run]
    prompt: Look, and run something.
    guards:
      - {evidence: terminal_operations.run_command, message: nothing was run}
"""


def define(workspace: Path, name: str, text: str) -> None:
    """Write a workflow of the project, which the person trusts."""
    folder = workspace / ".sam" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    body = textwrap.dedent(text).strip()
    (folder / f"{name}.md").write_text(f"---\nname: {name}\n{body}\n---\nThe text.\n", "utf-8")
    FileTrust(settings_folder()).trust(str(workspace))


@contextmanager
def driving(workspace: Path, execution: str) -> Generator[Workflows]:
    """Another program that drives an execution."""
    store = open_workflows(workspace.parent / "data")
    definitions = DefinitionFiles(str(workspace), str(workspace), vouches=lambda _name, _data: True)
    driver = Workflows(store, definitions, SystemClock())
    with driver.claims.hold(execution) as mine:
        assert mine
        yield driver
    store.close()


async def read(client: Client, path: str) -> Any:
    """A resource below ``midex://workflow``, as JSON."""
    uri = path if "://" in path else f"{WORKFLOW}/{path}"
    content: Any = (await client.read_resource(uri)).contents[0]
    assert content.mime_type == "application/json"
    return json.loads(content.text)


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """A tool's answer, told once; a refusal is marked as one."""
    result: Any = await client.call_tool(name, arguments)
    answer = json.loads(result.content[0].text)
    assert result.structured_content is None
    assert result.is_error is not answer["success"]
    return answer


async def start(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """Start a workflow; it has to begin."""
    begun = await call(client, "workflow.start", workflow_name=name, **arguments)
    assert begun["success"], begun
    return begun


async def advance(client: Client, token: str, **output: Any) -> dict[str, Any]:
    """Hand in an output."""
    given = {"summary": "done", **output}
    return await call(client, "workflow.next_step", token=token, output=given)


def forge(token: str) -> str:
    """A token of the same shape for the same step, with another nonce."""
    said = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert set(said) == {"execution_id", "step_name", "issued_at", "nonce"}
    raw = json.dumps(said | {"nonce": "0" * 64}, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sample(schema: Any) -> Any:
    """The least value that fits a JSON schema of the kind that definitions use."""
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"type": "object"}:
            properties = schema.get("properties", {})
            return {name: sample(properties[name]) for name in schema.get("required", ())}
        case {"type": "array"}:
            return [sample(schema["items"])] if "items" in schema else ["something"]
        case {"type": "integer" | "number"}:
            return 100
        case {"type": "boolean"}:
            return True
        case _:
            return "something"
