import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.core.todos.item import (
    Todo,
    completed_ids,
    one_line,
    todo_statistics,
    unmet_dependencies,
    visible_text,
)
from sam_tui.core.todos.rules import (
    MAX_TITLE,
    TodoFinding,
    consistent,
    dependency_cycles,
    lost_completed,
    settle,
    stamped,
    validate,
)


def found(*items: Todo) -> list[tuple[str, int, str]]:
    return [(f.rule, f.todo, f.severity) for f in validate(items)]


def graph(edges: dict[int, tuple[int, ...]]) -> list[Todo]:
    return [Todo(id_, f"T{id_}", dependencies=needs) for id_, needs in edges.items()]


@pytest.mark.requirement("todos:findings")
@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([Todo(1, "a")], []),
        ([Todo(5, "a", dependencies=(10,))], [("missing-dependency", 5, "error")]),
        ([Todo(1, "a", dependencies=(1,))], [("self-dependency", 1, "error")]),
        ([Todo(7, "a", status="blocked")], [("blocked-without-reason", 7, "error")]),
        (
            [Todo(7, "a", status="blocked", blocked_reason=" ")],
            [("blocked-without-reason", 7, "error")],
        ),
        ([Todo(7, "a", status="blocked", blocked_reason="key missing")], []),
        ([Todo(1, "a", progress=-0.1)], [("progress-range", 1, "error")]),
        ([Todo(1, "a", progress=1.01)], [("progress-range", 1, "error")]),
        ([Todo(1, "a", progress=float("nan"))], [("progress-range", 1, "error")]),
        ([Todo(1, "a", status="in-progress", progress=1.0)], []),
        ([Todo(3, "a"), Todo(3, "b")], [("duplicate-id", 3, "error")]),
        ([Todo(0, "a")], [("invalid-id", 0, "error")]),
        ([Todo(-2, "a")], [("invalid-id", -2, "error")]),
        ([Todo(2**60, "a")], [("invalid-id", 2**60, "error")]),
        ([Todo(1, "   ")], [("title", 1, "error")]),
        ([Todo(1, "x" * (MAX_TITLE + 1))], [("title", 1, "error")]),
        ([Todo(1, "a", status="completed", progress=0.5)], [("progress-status", 1, "warning")]),
        ([Todo(1, "a", progress=0.5)], [("progress-status", 1, "warning")]),
        (
            [Todo(1, "a"), Todo(2, "b", status="in-progress", dependencies=(1,))],
            [("unmet-dependency", 2, "warning")],
        ),
        (
            [
                Todo(1, "a", status="completed"),
                Todo(2, "b", status="in-progress", dependencies=(1,)),
            ],
            [],
        ),
    ],
)
def test_each_rule_finds_what_breaks_it_and_nothing_else(
    items: list[Todo], expected: list[tuple[str, int, str]]
):
    assert found(*items) == expected


@pytest.mark.requirement("todos:findings")
def test_all_findings_are_collected_and_not_only_the_first():
    rules = [
        rule
        for rule, _, _ in found(
            Todo(0, " ", status="blocked", progress=2.0, dependencies=(8, 9)),
            Todo(2, "b", dependencies=(2,)),
        )
    ]
    assert sorted(rules) == sorted(
        ["invalid-id", "title", "blocked-without-reason", "progress-range"]
        + ["missing-dependency"] * 2
        + ["self-dependency"]
    )


@pytest.mark.requirement("todos:cycles")
def test_two_items_that_depend_on_each_other_are_two_errors_and_the_path_is_told_once():
    findings = validate(graph({1: (2,), 2: (1,)}))
    assert [(f.rule, f.todo) for f in findings] == [("cycle", 1), ("cycle", 2)]
    assert [("1 → 2 → 1" in f.text) for f in findings] == [True, False]


@pytest.mark.requirement("todos:cycles")
def test_what_merely_leads_into_a_cycle_is_not_in_it():
    assert found(*graph({1: (2,), 2: (3,), 3: (2,), 4: (1, 3)})) == [
        ("cycle", 2, "error"),
        ("cycle", 3, "error"),
    ]


@pytest.mark.requirement("todos:cycles")
def test_two_separate_cycles_are_told_apart():
    assert dependency_cycles(graph({5: (6,), 6: (5,), 1: (2,), 2: (3,), 3: (1,), 9: (9,)})) == [
        (1, 2, 3),
        (5, 6),
    ]


@pytest.mark.requirement("todos:cycles")
def test_a_long_cycle_is_told_in_a_text_of_linear_size():
    size = 2_000
    findings = validate(graph({n: (n % size + 1,) for n in range(1, size + 1)}))
    assert len(findings) == size
    assert "1 → 2 → 3" in findings[0].text
    assert findings[0].text.endswith("→ 1")
    assert sum(len(f.text) for f in findings) < 100 * size


@pytest.mark.requirement("todos:cycles")
def test_a_layered_graph_of_2000_items_and_a_chain_of_5000_are_searched_in_full():
    width, layers = 40, 50
    layered = graph({
        layer * width + n: tuple(range((layer - 1) * width, layer * width)) if layer > 1 else ()
        for layer in range(1, layers + 1)
        for n in range(width)
    })
    assert len(layered) == 2_000
    assert dependency_cycles(layered) == []
    chain = {n: (n + 1,) for n in range(1, 5_000)} | {5_000: (1,)}
    assert dependency_cycles(graph(chain)) == [tuple(range(1, 5_001))]


small_graphs = st.integers(1, 6).flatmap(
    lambda size: st.fixed_dictionaries({
        n: st.sets(st.integers(1, size)).map(tuple[int, ...]) for n in range(1, size + 1)
    })
)


@pytest.mark.requirement("todos:cycles")
@given(small_graphs)
def test_cycles_equal_those_of_brute_force(edges: dict[int, tuple[int, ...]]):
    reach = {n: set(needs) for n, needs in edges.items()}
    for middle, start in itertools.product(edges, edges):
        if middle in reach[start]:
            reach[start] |= reach[middle]
    mutual = {
        tuple(sorted(m for m in edges if m == n or (m in reach[n] and n in reach[m])))
        for n in edges
    }
    assert dependency_cycles(graph(edges)) == sorted(g for g in mutual if len(g) > 1)
    findings = validate(graph(edges))
    members = sorted(f.todo for f in findings if f.rule == "cycle")
    assert members == sorted(itertools.chain(*(g for g in mutual if len(g) > 1)))


@pytest.mark.requirement("todos:cycles")
@given(small_graphs)
def test_the_path_told_for_a_cycle_follows_dependencies_and_closes(
    edges: dict[int, tuple[int, ...]],
):
    for finding in validate(graph(edges)):
        if finding.rule == "cycle" and "→" in finding.text:
            path = [int(n) for n in finding.text.rpartition(": ")[2].split(" → ")]
            assert path[0] == path[-1] == finding.todo
            assert all(b in edges[a] for a, b in itertools.pairwise(path))


@pytest.mark.requirement("todos:one-in-progress")
@pytest.mark.parametrize(
    ("started", "winner", "demoted"),
    [((2,), 2, (1, 3)), ((3, 1), 1, (2, 3)), ((9,), 3, (1, 2)), ((), 3, (1, 2))],
)
def test_the_item_started_last_stays_in_progress_and_the_others_are_named(
    started: tuple[int, ...], winner: int, demoted: tuple[int, ...]
):
    items = [
        Todo(1, "a", status="in-progress", updated_at=5.0, progress=0.5),
        Todo(2, "b", status="in-progress", updated_at=5.0),
        Todo(3, "c", status="in-progress", updated_at=7.0),
    ]
    settled = settle(items, started=started)
    assert [i.id for i in settled.items if i.status == "in-progress"] == [winner]
    assert settled.demoted == demoted
    assert settled.items[0].progress == 0.5


@pytest.mark.requirement("todos:one-in-progress")
def test_of_items_started_together_the_first_in_the_list_stays():
    settled = settle([Todo(4, "a", status="in-progress"), Todo(2, "b", status="in-progress")])
    assert settled.demoted == (2,)


@pytest.mark.requirement("todos:progress")
def test_fields_are_made_to_fit_the_status():
    assert consistent(Todo(1, "a", status="completed", progress=0.4)).progress == 1.0
    assert consistent(Todo(1, "a", status="completed")).progress is None
    assert consistent(Todo(1, "a", progress=0.4)).progress == 0.4
    assert consistent(Todo(1, "a", blocked_reason="x")).blocked_reason == ""
    blocked = Todo(1, "a", status="blocked", blocked_reason="x")
    assert consistent(blocked) == blocked


@pytest.mark.requirement("todos:completed-protected")
def test_completed_items_whose_id_is_gone_are_lost_and_others_are_not():
    before = [Todo(1, "a", status="completed"), Todo(2, "b"), Todo(3, "c", status="completed")]
    assert lost_completed(before, [Todo(3, "renamed", status="not-started")]) == [before[0]]


@pytest.mark.requirement("todos:timestamps")
def test_only_a_changed_item_gets_a_new_time_and_none_a_new_birth():
    before = [Todo(1, "a", created_at=1.0, updated_at=2.0), Todo(2, "b", created_at=1.0)]
    after = stamped(before, [Todo(1, "a"), Todo(2, "new"), Todo(3, "c")], now=9.0)
    assert [(i.created_at, i.updated_at) for i in after] == [(1.0, 2.0), (1.0, 9.0), (9.0, 9.0)]


@pytest.mark.requirement("todos:statistics")
def test_statistics_count_every_status_and_an_empty_list_has_rate_0():
    counts = todo_statistics([
        Todo(1, "a", status="completed"),
        Todo(2, "b", status="blocked"),
        Todo(3, "c", status="in-progress"),
        Todo(4, "d"),
    ])
    assert (counts.total, counts.completed, counts.in_progress) == (4, 1, 1)
    assert (counts.not_started, counts.blocked, counts.rate) == (1, 1, 0.25)
    assert not counts.complete
    empty = todo_statistics([])
    assert (empty.rate, empty.complete) == (0.0, False)
    assert todo_statistics([Todo(1, "a", status="completed")]).complete


@pytest.mark.requirement("todos:unmet-warning")
def test_unmet_dependencies_are_those_not_completed():
    items = [Todo(1, "a", status="completed"), Todo(2, "b"), Todo(3, "c", dependencies=(2, 1))]
    assert unmet_dependencies(items[2], completed_ids(items)) == (2,)


@pytest.mark.requirement("todos:hostile-titles")
def test_a_line_keeps_scripts_and_emoji_and_loses_what_hides():
    assert one_line(" a\n\tb\x00\x1b[31m\u202ec\ud800\u200b d\x1ce ") == "a b[31mc d e"
    family = "👩\u200d👧 نیم\u200cفاصله"
    assert one_line(family) == family
    assert visible_text("one\r\n  two\x07\u2028three") == "one\n  two three"


@pytest.mark.requirement("todos:findings")
def test_a_finding_is_plain_data_that_compares():
    assert TodoFinding("title", 1, "x") == TodoFinding("title", 1, "x", "error")
