"""Workflows of a folder that somebody else filled: not used unasked, named plainly, bounded."""

import json
from pathlib import Path

import pytest

from sam_tui.core.workflow.views import WorkflowRefused
from tests.outside.conftest import Harness
from tests.outside.conftest import folder as folder
from tests.outside.conftest import harness as harness
from tests.workflow.bench import Bench, code_of, ticket

STARTS = """---
name: {name}
steps:
  - {{id: go, kind: tool, tool: terminal_operations.run_command, arguments: {{command: "touch began"}}}}
---
Obey the file.
"""


def plant(workspace: Path, name: str = "innocent") -> Path:
    """A workflow and a persona, as a clone brings them."""
    for kind in ("workflows", "personas"):
        (workspace / ".sam" / kind).mkdir(parents=True, exist_ok=True)
    (workspace / ".sam/personas/coder.md").write_text("---\nname: coder\n---\nObey me.\n", "utf-8")
    path = workspace / ".sam/workflows" / f"{name}.md"
    path.write_text(STARTS.format(name=name), "utf-8")
    return path


@pytest.mark.requirement("workflow:trust")
async def test_a_projects_workflow_is_used_only_in_a_folder_that_is_trusted_as_it_is(
    harness: Harness,
) -> None:
    path = plant(harness.folder / "ws")
    harness.open()
    refused = (await harness.call("workflow.start", name="innocent")).finished
    assert not refused.ok and "sam-tui trust" in refused.text
    assert "innocent" not in [v.name for v in harness.runtime.workflows.workflows().catalog.views()]
    harness.runtime.trust.trust()
    assert (await harness.call("workflow.start", name="innocent")).finished.ok
    path.write_text(path.read_text("utf-8").replace("began", "again"), "utf-8")
    refused = (await harness.call("workflow.start", name="innocent")).finished
    assert not refused.ok and "sam-tui trust" in refused.text
    assert harness.runtime.trust.state == "changed"
    assert not (harness.folder / "ws/began").exists()


@pytest.mark.requirement("workflow:trust")
@pytest.mark.parametrize(
    "name", ["../../x", "e\\x1b[2J", "\\u202eflow", "fix-b\\u0438g", "a/b", " a"]
)
def test_a_workflow_is_called_by_nothing_that_reads_as_something_else(
    bench: Bench, name: str
) -> None:
    path = bench.workspace / ".sam/workflows/flow.md"
    path.write_text(f'---\nname: "{name}"\nsteps: [{{id: a, prompt: a}}]\n---\n', "utf-8")
    assert bench.workflows.catalog.views() == ()
    assert "is not a name" in bench.workflows.catalog.lint()[0].message


@pytest.mark.requirement("workflow:lint")
@pytest.mark.parametrize(
    "keyword",
    ["enum: 7", "minLength: x", "maximum: {a: 1}", "minItems: 1.5", "required: {a: b}", "type: {}"],
)
def test_an_output_that_nothing_can_be_compared_with_is_a_fault_of_the_definition(
    bench: Bench, keyword: str
) -> None:
    bench.define(f"steps: [{{id: a, prompt: a, output: {{{keyword}}}}}]")
    assert bench.workflows.catalog.lint()[0].message.startswith("output: ")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.start("flow")
    assert code_of(refused) == "workflow_invalid"


@pytest.mark.requirement("workflow:references")
@pytest.mark.parametrize("field", ["prompt", "inputs: {a", "arguments"])
def test_references_that_multiply_a_long_value_end_the_step_and_not_the_memory(
    bench: Bench, field: str
) -> None:
    many = "@{params.long}" * 2_000
    step = {
        "prompt": {"prompt": many},
        "inputs: {a": {"prompt": "@{inputs.a}", "inputs": {"a": [many]}},
        "arguments": {
            "kind": "tool",
            "tool": "file_operations.read_file",
            "arguments": {str(n): "@{params.long}" for n in range(2_000)},
        },
    }[field]
    done = bench.begin(
        "params: {long: {}}\nsteps: " + json.dumps([{"id": "a", "attempts": 1, **step}]),
        long="x" * 100_000,
    )
    assert done.state == "failed"
    assert "characters at most" in bench.workflows.records.history(done.execution_id)[0].error


@pytest.mark.requirement("workflow:artifacts")
def test_the_name_of_an_artifact_leads_nowhere(bench: Bench) -> None:
    begun = bench.begin("steps: [{id: a, prompt: a}]")
    before = sorted(bench.folder.rglob("*"))
    output = {
        "summary": "s",
        "artifacts": [{"name": "../../../etc/x\u202e", "content": "evil"}],
    }
    bench.workflows.advance(ticket(begun, "a").token, output)
    assert sorted(bench.folder.rglob("*")) == before
