"""What executions leave behind: artifacts by range, findings with their review and their words."""

import pytest

from sam_tui.core.ports.workflows import FindingQuery
from sam_tui.core.workflow.execution.output import FindingDraft
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import Bench, code_of
from tests.workflow.test_executions import begin_feature


@pytest.mark.requirement("workflow:artifacts")
def test_artifacts_are_kept_whole_and_read_by_range(bench: Bench) -> None:
    done = begin_feature(bench)
    text = "0123456789é\x00tail\ud800"
    bench.workflows.advance(
        done.opened[0].token,
        {"summary": "s", "artifacts": [{"type": "report", "name": "r.md", "content": text}]},
    )
    (row,) = bench.workflows.records.artifacts(done.execution_id)
    assert (row.type, row.name, row.step) == ("report", "r.md", "design")
    chunk = bench.workflows.records.read_artifact(row.id, 8, 4)
    assert (chunk.text, chunk.start, chunk.end, chunk.total) == ("89é\x00", 8, 12, 17)
    assert bench.workflows.records.read_artifact(row.id, 99).text == ""
    added = bench.workflows.notes.add_artifact(done.execution_id, "implement", "n", "text")
    assert [r.id for r in bench.workflows.records.artifacts(done.execution_id, "implement")] == [
        added.id
    ]
    for read in (bench.workflows.records.read_artifact, bench.workflows.records.execution):
        with pytest.raises(WorkflowRefused, match="There is no"):
            read("no Unicode: \ud800")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.notes.add_artifact(done.execution_id, "design", "late", "x")
    assert code_of(refused) == "phase_mismatch"
    assert refused.value.details == {"expected": ["implement"], "got": "design"}


@pytest.mark.requirement("workflow:findings")
def test_suggested_findings_wait_for_review_and_are_ranked_by_severity(bench: Bench) -> None:
    done = begin_feature(bench)
    suggested = [
        {"title": name, "content": f"{name} words", "severity": name, "category": "security"}
        for name in ("low", "critical", "info", "high", "medium")
    ]
    bench.workflows.advance(
        done.opened[0].token, {"summary": "s", "suggested_findings": suggested, "findings": ["f"]}
    )
    rows = bench.workflows.records.reader.findings(FindingQuery(done.execution_id))
    assert [r.severity for r in rows] == ["critical", "high", "medium", "low", "info", "info"]
    assert {r.review for r in rows} == {"suggested"}
    assert {r.source for r in rows} == {"architect"}


@pytest.mark.requirement("workflow:findings")
def test_the_full_text_of_findings_follows_every_change(bench: Bench) -> None:
    draft = FindingDraft(title="Stale words", content="alpha", tags=("t",), accepted=True)
    row = bench.workflows.notes.add_finding(draft)
    assert [r.id for r in bench.workflows.records.reader.findings(FindingQuery(text="alpha"))] == [
        row.id
    ]
    bench.workflows.notes.update_finding(row.id, {"content": "beta", "severity": "high"})
    assert bench.workflows.records.reader.findings(FindingQuery(text="alpha")) == []
    found = bench.workflows.records.reader.findings(FindingQuery(text='beta" OR *'))
    assert found == []
    assert bench.workflows.records.reader.findings(FindingQuery(text="bet"))[0].severity == "high"
    for changes in ({}, {"id": "x"}, {"severity": "awful"}, {"status": "gone"}):
        with pytest.raises(WorkflowRefused) as refused:
            bench.workflows.notes.update_finding(row.id, changes)
        assert code_of(refused) == "finding_invalid"
    with pytest.raises(WorkflowRefused):
        bench.workflows.notes.add_finding(FindingDraft(title="t", content="c", scope="project"))
