"""Definition files: both forms, where they are found, and every fault by file and line."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from yaml.scanner import Scanner

from sam_tui.adapters.workflows.front_matter import FrontMatterFault, read_front_matter
from sam_tui.core.errors import UsageError
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import Bench, code_of


@pytest.mark.requirement("workflow:midex-form")
def test_midex_s_form_is_taken_as_it_is(bench: Bench) -> None:
    bench.persona("architect")
    bench.define("""
        description: as shipped
        tags: [a, b]
        keywords: [k]
        complexityHint: high
        phases:
          - {phase: design, agent: architect, description: d, dependsOn: [], allowParallel: true}
          - {phase: build, agent: architect, description: b, dependsOn: [design]}
    """)
    view = bench.workflows.catalog.view("flow")
    assert (view.definition.complexity, view.definition.tags) == ("high", ("a", "b"))
    assert view.definition.phases[1] == {
        "phase": "build", "agent": "architect", "description": "b", "dependsOn": ["design"],
        "allowParallel": False, "kind": "agent",
    }  # fmt: skip
    policy = bench.workflows.catalog.view("flow").definition.policy
    assert (policy.attempts, policy.parallel) == (3, 6)


FAULTS = [
    ("steps: []", 3, "must have at least one entry"),
    ("steps:\n  - {id: a, prompt: a}\n  - {id: a, prompt: b}", 5, "used twice"),
    (
        "steps:\n  - id: a\n    prompt: a\n    needs:\n      - z",
        7,
        "needs 'z', which is not a step",
    ),
    (
        "steps:\n  - {id: a, prompt: a, needs: [b]}\n  - {id: b, prompt: b, needs: [a]}",
        4,
        "wait for each other: a > b > a",
    ),
    (
        "steps:\n  - {id: a, prompt: a, needs: [a]}\n  - {id: b, prompt: b, needs: [a]}",
        5,
        "'b' can never begin",
    ),
    ("steps:\n  - id: a\n    prompt: a\n    colour: red", 6, "colour"),
    ("steps:\n  - id: a b\n    prompt: a", 4, "an id is"),
    ("steps:\n  - id: a\n    prompt: a\n    persona: nobody", 6, "no persona 'nobody'"),
    ("steps:\n  - id: a\n    prompt: a\n    on_fail: jump", 6, "'jump' is not"),
    ("steps:\n  - id: a\n    prompt: a\n    on_fail: rollback:z", 6, "'z', which is not a step"),
    (
        "steps:\n  - {id: a, prompt: a}\n  - id: b\n    prompt: a\n    on_fail: rollback:a",
        7,
        "not before it",
    ),
    ("steps:\n  - id: a\n    prompt: a\n    on_fail: replan", 6, "no plan step"),
    ("steps:\n  - id: a\n    prompt: '@{params.x}'", 5, "no parameter 'x'"),
    ("steps:\n  - id: a\n    prompt: '@{nonsense}'", 5, "is not a reference"),
    (
        "steps:\n  - {id: b, prompt: b}\n  - id: a\n    prompt: '@{outputs.b.x}'",
        6,
        "'b' is not before 'a'",
    ),
    ("steps:\n  - id: a\n    prompt: '@{item.x}'", 5, "no each"),
    ("steps:\n  - id: a\n    prompt: a\n    output: {type: thing}", 6, "no type 'thing'"),
    ("steps:\n  - id: a\n    prompt: a\n    output: {pattern: x}", 6, "'pattern' is not known"),
    (
        "steps:\n  - id: a\n    prompt: a\n    guards:\n      - {tasks: a}",
        7,
        "not a step with “each”",
    ),
    (
        "steps:\n  - id: a\n    prompt: a\n    guards:\n      - {value: x, evidence: y}",
        7,
        "exactly one of",
    ),
    ("steps:\n  - {id: a, kind: tool}", 4, "go together"),
    ("steps:\n  - {id: a, kind: llm, tools: [read]}", 4, "calls no tools"),
    (
        "phases:\n  - phase: a\n    dependsOn: [z]\n    description: x",
        5,
        "'z', which is not a step",
    ),
    ("steps: [", 3, "YAML"),
    ("steps: &a [*a]", 3, "anchors and aliases"),
    ("steps: !!python/object:os.system []", 3, "tag"),
    ("steps:\n  - {id: a, prompt: a}\nsteps: []", 5, "appears twice"),
    ("polcy: {}\nsteps:\n  - {id: a, prompt: a}", 3, "polcy: there is no such field"),
    (
        "steps:\n  - {id: a, kind: human, choices: [Yes, No]}",
        4,
        "choices.0: this is text: write it",
    ),
    ("steps: {a: 1}", 3, "steps: must be a list"),
    ("steps:\n  - {prompt: a}", 4, "steps.0.id: is missing"),
    ("steps: []", 3, "steps: must have at least one entry"),
]


@pytest.mark.requirement("workflow:lint")
@pytest.mark.parametrize(("text", "line", "message"), FAULTS, ids=[f[2] for f in FAULTS])
def test_every_fault_names_its_file_and_line(
    bench: Bench, text: str, line: int, message: str
) -> None:
    path = bench.workspace / ".sam" / "workflows" / "flow.md"
    path.write_text(f"---\nname: flow\n{text}\n---\nBody.\n", "utf-8")
    problems = bench.workflows.catalog.lint()
    found = [p for p in problems if message in p.message]
    assert found, [str(p) for p in problems]
    assert ("one entry" in message) == any("one entry" in p.message for p in problems)
    assert (found[0].path, found[0].line) == (str(path), line)
    assert str(found[0]).startswith(f"{path}:{line}: error: ")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.start("flow")
    assert code_of(refused) == "workflow_invalid"


@pytest.mark.requirement("workflow:lint")
@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "must begin"),
        (b"# Title\n", "must begin"),
        (b"---\nname: x\n", "no closing"),
        (b"---\n- a\n---\n", "must be a mapping"),
        (b"---\nname: \xff\n---\n", "not UTF-8"),
        (b"---\n" + b"x" * 300_000, "longer than"),
        (b"---\na: " + b"[" * 5000 + b"\n---\n", "nested too deep"),
        (b"---\na: [" + b"1," * 6_000 + b"]\n---\n", "more than 5000 values"),
        (b"---\na: " + b"59:" * 20_000 + b"1\n---\n", "a number has at most"),
        (b"---\na: " + b"59:" * 20_000 + b"1.5\n---\n", "a number has at most"),
        (b"---\na: 0x" + b"f" * 20_000 + b"\n---\n", "a number has at most"),
        (b"---\na: &b [1]\nc: *b\n---\n", "anchors and aliases"),
    ],
)
def test_a_file_that_is_none_is_a_problem_and_the_others_are_still_found(
    bench: Bench, raw: bytes, message: str
) -> None:
    bench.define("steps: [{id: a, prompt: a}]")
    bad = bench.workspace / ".sam" / "workflows" / "bad.md"
    bad.write_bytes(raw)
    assert [p.message for p in bench.workflows.catalog.lint() if message in p.message]
    assert [view.name for view in bench.workflows.catalog.views()] == ["flow"]
    assert bench.workflows.catalog.lint(str(bad))
    assert not bench.workflows.catalog.lint(str(bad.with_name("flow.md")))


@pytest.mark.requirement("workflow:lint")
@pytest.mark.parametrize("deep", ["[", "{a: ", "[\n", "- ", "? "])
def test_what_is_nested_too_deep_is_refused_before_the_rest_is_read(
    monkeypatch: pytest.MonkeyPatch, deep: str
) -> None:
    read = 0
    fetch: Callable[[Any], None] = getattr(Scanner, "fetch_more_tokens")  # noqa: B009 # untyped

    def counted(scanner: Any) -> None:
        nonlocal read
        read += 1
        fetch(scanner)

    monkeypatch.setattr(Scanner, "fetch_more_tokens", counted)
    with pytest.raises(FrontMatterFault, match="nested too deep"):
        read_front_matter(f"---\na:\n  {deep * 5_000}\n---\n")
    assert read < 200


@pytest.mark.requirement("workflow:lint")
def test_a_pipe_is_no_definition_and_nobody_waits_for_it(bench: Bench) -> None:
    os.mkfifo(bench.workspace / ".sam" / "workflows" / "pipe.md")
    assert "not a regular file" in bench.workflows.catalog.lint()[0].message


@pytest.mark.requirement("workflow:front-matter")
def test_values_are_plain_and_dates_stay_text() -> None:
    parts = read_front_matter("---\na: 2024-01-01\nb: yes\nc: 0x10\nd: 1.5\ne: null\n---\ntext\n")
    assert parts.fields == {"a": "2024-01-01", "b": True, "c": 16, "d": 1.5, "e": None}
    assert (parts.body, parts.lines[("c",)]) == ("text", 4)
    with pytest.raises(FrontMatterFault):
        read_front_matter("---\na: 1\n<<: {b: 1}\n? [x]\n: y\n---\n")


@pytest.mark.requirement("workflow:places")
def test_package_user_and_project_are_searched_and_a_project_takes_nobody_s_place(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, package=True)
    user = tmp_path / "config" / "workflows"
    user.mkdir(parents=True)
    text = "---\nname: fix-bug\nsteps: [{id: mine, prompt: x}]\n---\n"
    (user / "fix-bug.md").write_text(text, "utf-8")
    (user / "_draft.md").write_text("nonsense", "utf-8")
    bench.define("steps: [{id: theirs, prompt: x}]", name="fix-bug")
    assert bench.workflows.catalog.view("fix-bug").origin == "user"
    other = bench.workflows.catalog.view("project/fix-bug")
    assert (other.origin, other.definition.phases[0]["phase"]) == ("project", "theirs")
    assert [p.level for p in bench.workflows.catalog.lint()] == ["warning"]
    assert "phased" in [view.name for view in bench.workflows.catalog.views()]
    bench.close()


@pytest.mark.requirement("workflow:places")
def test_a_project_s_links_lead_nowhere_outside_of_it(bench: Bench) -> None:
    outside = bench.folder / "outside"
    outside.mkdir()
    text = "---\nname: leak\nsteps: [{id: a, prompt: a}]\n---\n"
    (outside / "leak.md").write_text(text, "utf-8")
    (bench.workspace / ".sam" / "workflows" / "leak.md").symlink_to(outside / "leak.md")
    (bench.workspace / ".sam" / "workflows" / "deep").symlink_to(outside)
    assert bench.workflows.catalog.views() == ()


@pytest.mark.requirement("workflow:sync")
def test_sync_tells_added_updated_unchanged_and_missing_apart(bench: Bench) -> None:
    one, two = bench.define("steps: [{id: a, prompt: a}]"), bench.define("steps: []", name="two")
    report = bench.workflows.upkeep.sync()
    assert report == {"added": ["flow", "two"], "updated": [], "unchanged": [], "missing": []}
    os.unlink(two)
    Path(one).write_text(Path(one).read_text("utf-8") + "more\n", "utf-8")
    bench.persona("p")
    report = bench.workflows.upkeep.sync()
    assert report == {"added": ["p"], "updated": ["flow"], "unchanged": [], "missing": ["two"]}
    report = bench.workflows.upkeep.sync()
    assert report == {"added": [], "updated": [], "unchanged": ["p", "flow"], "missing": []}
    bench.define("steps: [{id: a, prompt: a}]", name="two")
    assert bench.workflows.upkeep.sync()["added"] == ["two"]


@pytest.mark.requirement("workflow:new")
def test_a_new_definition_is_complete_and_replaces_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path, package=True)
    path = bench.workflows.catalog.create("mine")
    assert path == str(bench.workspace / ".sam" / "workflows" / "mine.md")
    assert bench.workflows.catalog.lint() == ()
    assert bench.workflows.start("mine", {"objective": "x"}).state == "running"
    for name in ("mine", "../x", "", "a b"):
        with pytest.raises(UsageError):
            bench.workflows.catalog.create(name)
    bench.close()


@pytest.mark.requirement("workflow:params")
def test_parameters_are_checked_before_anything_begins(bench: Bench) -> None:
    bench.define("""
        params:
          goal: {required: true, description: what}
          role: {default: x, choices: [x, y]}
          shade: {choices: [dark, light]}
        steps: [{id: a, prompt: "@{params.goal} @{params.role}"}]
    """)
    for params, fault in (
        ({}, "goal is missing (what)"),
        ({"goal": ""}, "goal is missing (what)"),
        ({"goal": "g", "role": "z"}, "role must be one of x, y"),
        ({"goal": "g", "extra": 1}, "there is no parameter 'extra'"),
        ({"goal": math.nan}, "parameters must be plain JSON"),
    ):
        with pytest.raises(WorkflowRefused) as refused:
            bench.workflows.start("flow", params)
        assert code_of(refused) == "params_invalid" and fault in str(refused.value)
    done = bench.workflows.start("flow", {"goal": "g"})
    assert done.opened[0].instructions == "g x"


@pytest.mark.requirement("workflow:pins")
def test_a_persona_by_parameter_is_pinned_by_its_choice(bench: Bench) -> None:
    for name in ("x", "y"):
        bench.persona(name)
    text = """
        params: {role: {default: x, choices: [x, CHOICE]}}
        steps: [{id: a, prompt: a, persona: "@{params.role}"}]
    """
    bench.define(text.replace("CHOICE", "y"))
    assert bench.workflows.start("flow", {"role": "y"}).opened[0].persona == "y"
    bench.define(text.replace("CHOICE", "z"))
    assert "no persona 'z'" in bench.workflows.catalog.lint()[0].message
