"""Vectors of the originals' own tests that the machine keeps, with the values they name (spec D1 to D5)."""

import asyncio
from typing import Any

import pytest

from sam_tools.iron_manus.phases.jarvis import Jarvis
from sam_tools.iron_manus.phases.roles import ROLES
from sam_tools.iron_manus.phases.sessions import grade
from sam_tools.iron_manus.sources.registry import ApiList
from sam_tools.iron_manus.sources.research import coverage
from sam_tools.iron_manus.sources.synthesis import Statement, likeness, synthesize, words_of
from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.web.allowance import Allowance, Allowances
from sam_tui.adapters.web.urls import canonical
from sam_tui.core.authorization.rules.patterns import host_covered
from sam_tui.core.errors import ToolError
from tests.fakes.web_server import Answer, WebServer, answered
from tests.ironmanus.harness import PHASES, Harness, QuickClock
from tests.ironmanus.test_guards import ALLOWED, reach
from tests.ironmanus.test_machine import low

pytestmark = pytest.mark.requirement("workflow:vectors")
APIS = ApiList()
ODD = 'say "hi" & <b>bye</b>\n\\ 日本 🎉 {{x}} @{y}'


@pytest.mark.parametrize("phase", sorted(ALLOWED))
async def test_every_phase_has_a_prompt_and_a_role_of_the_list(
    harness: Harness, phase: str
) -> None:
    await reach(harness, phase)
    answer = await harness.jarvis(session_id="s")
    assert answer["system_prompt"].strip()
    assert answer["payload"]["detected_role"] in ROLES


async def test_four_sessions_at_once_keep_to_their_folders_and_one_that_fails_hurts_none(
    harness: Harness,
) -> None:
    async def lead(name: str) -> None:
        begun = await harness.jarvis(name, session_id=name, initial_objective=f"find {name}")
        assert begun["payload"]["current_objective"] == f"find {name}"
        for phase, payload in PHASES[:2]:
            await harness.jarvis(name, session_id=name, phase_completed=phase, payload=payload)
        given: dict[str, Any] = {"session_id": name, "phase_completed": "KNOWLEDGE"}
        if name == "bad":
            assert (await harness.refused(name, **given, payload={}))["code"] == "payload_invalid"
            return
        file = {"role": "researcher", "content": f"{name}: found in the handbook, section three"}
        payload = {"knowledge_gathered": "k", "handoffs": [file]}
        told = await harness.jarvis(name, **given, payload=payload)
        assert told["next_phase"] == "PLAN"

    names = ["one", "two", "bad", "four"]
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(lead(name))
    for name in names:
        folder = harness.folder / "iron-manus-sessions" / name
        texts = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
        found = f"{name}: found in the handbook, section three"
        expected = {"primary_research.md": found, "synthesized_knowledge.md": "k"}
        assert texts == ({} if name == "bad" else expected)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"phase_completed": "INVALID_PHASE", "payload": {}}, "phase_completed"),
        ({"phase_completed": "QUERY"}, "payload_invalid"),
        ({"phase_completed": "QUERY", "payload": {}}, "payload_invalid"),
        ({"phase_completed": "EXECUTE", "payload": {"execution_success": True}}, "phase_mismatch"),
        ({"phase_completed": "DONE", "payload": {}}, "phase_completed"),
    ],
)
async def test_what_the_validator_called_an_error_is_refused_and_moves_nothing(
    harness: Harness, call: dict[str, Any], said: str
) -> None:
    await harness.begin()
    executed = await harness.call("JARVIS", session_id="s", **call)
    assert not executed.finished.ok
    assert said in executed.finished.text
    if said == "phase_mismatch":
        assert "is in QUERY, not in EXECUTE" in executed.finished.text
    assert (await harness.jarvis(session_id="s"))["next_phase"] == "QUERY"


@pytest.mark.parametrize("todos", [None, [], low(60)])
async def test_a_plan_has_between_one_and_fifty_todos(harness: Harness, todos: Any) -> None:
    await harness.begin()
    for phase, payload in PHASES:
        await harness.done(phase, payload)
    plan = {"plan_created": True, "todos_with_metaprompts": todos}
    error = await harness.refused(session_id="s", phase_completed="PLAN", payload=plan)
    assert error["code"] == "payload_invalid"


async def test_statuses_are_the_engine_s_and_one_todo_is_in_progress(harness: Harness) -> None:
    todos = [{"content": "a"}, {"content": "b", "status": "unheard-of"}]
    answer = await harness.plan([*todos, {"content": "c", "status": "in_progress"}])
    statuses = [todo["status"] for todo in answer["payload"]["current_todos"]]
    assert statuses == ["in_progress", "pending", "pending"]


@pytest.mark.parametrize("claimed", [1.5, 0.2, "high"])
async def test_effectiveness_is_not_taken_from_a_payload(harness: Harness, claimed: object) -> None:
    await harness.plan(low(2))
    payload = (await harness.execute(reasoning_effectiveness=claimed))["payload"]
    assert payload["reasoning_effectiveness"] == 0.8
    assert any("reasoning_effectiveness" in line for line in payload["ignored_fields"])


@pytest.mark.parametrize(
    ("objective", "role", "categories"),
    [
        ("Build authentication system", "coder", {"development"}),
        ("cryptocurrency market analysis", "analyzer", {"finance", "cryptocurrency"}),
        ("Build a REST API service", "coder", {"development"}),
        ("Design a user interface with photos", "ui_architect", {"art", "color"}),
    ],
)
def test_a_role_finds_its_kind_of_api_best_first(
    objective: str, role: str, categories: set[str]
) -> None:
    found = APIS.ranked(objective, role)
    assert 0 < len(found) <= 5
    # What the objective speaks of comes before what only the role prefers.
    order = [(r.topical, r.score) for r in found]
    assert order == sorted(order, reverse=True)
    assert categories & {r.entry.category for r in found}


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"synthesizer"}))
def test_a_category_of_the_role_is_worth_three_tenths(role: str) -> None:
    preferred = [entry for entry in APIS.entries if entry.category in ROLES[role].categories]
    assert preferred
    for entry in preferred:
        word = " ".join(entry.keywords[:2])
        plain = {r.entry.name: r.score for r in APIS.ranked(word, "no role", limit=200)}
        found = {r.entry.name: r.score for r in APIS.ranked(word, role, limit=200)}
        assert round(found[entry.name] - plain[entry.name], 6) == 0.3


@pytest.mark.parametrize("burst", [1, 2, 5])
async def test_a_burst_passes_and_the_one_after_it_waits_until_there_is_a_token(burst: int) -> None:
    class Hand(QuickClock):
        elapsed = 0.0

        def monotonic(self) -> float:
            return self.elapsed

    clock = Hand()
    allowances = Allowances(Allowance(burst=burst, rate=1), clock)
    for _ in range(burst):
        await allowances.take("a.example")
    assert clock.waits == []
    await allowances.take("a.example")
    assert clock.waits == [1.0]
    await allowances.take("never-asked.example")
    assert clock.waits == [1.0]
    clock.elapsed += burst + 1
    for _ in range(burst):
        await allowances.take("a.example")
    assert clock.waits == [1.0]


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1", "http://192.168.1.1", "http://172.16.0.1", "http://127.0.0.1:8080",
        "http://169.254.169.254", "http://localhost", "https://localhost:3000", "http://0.0.0.0",
        "file:///etc/hostname", "ftp://example.com/x", "ldap://example.com/x", "javascript:alert(1)",
    ],
)  # fmt: skip
async def test_the_addresses_of_the_original_are_refused_without_a_look_up(url: str) -> None:
    async def resolver(host: str, _: int) -> list[str]:
        raise AssertionError(host)

    with pytest.raises(ToolError):
        await GuardedWeb(resolver=resolver).fetch(url)


@pytest.mark.parametrize("host", ["api.github.com", "jsonplaceholder.typicode.com", "httpbin.org"])
async def test_public_hosts_of_the_original_pass(host: str) -> None:
    async def resolver(_: str, __: int) -> list[str]:
        return ["93.184.216.34"]

    found = await GuardedWeb(resolver=resolver).addresses(canonical(f"https://{host}/"))
    assert [str(address) for address in found] == ["93.184.216.34"]


@pytest.mark.parametrize(
    ("host", "covered"),
    [
        ("api.example.com", True), ("api.github.com", True), ("raw.githubusercontent.com", True),
        ("evil.com", False), ("github.com.evil.com", False), ("notgithub.com", False),
    ],
)  # fmt: skip
def test_hosts_of_the_original_s_list_are_covered_and_no_other(host: str, covered: bool) -> None:
    listed = ("api.example.com", "*.github.com", "*.githubusercontent.com")
    assert any(host_covered(pattern, host) for pattern in listed) is covered


async def test_three_that_answer_are_a_hundred_per_cent_and_seven_are_all_asked(
    online: Harness, site: WebServer
) -> None:
    many = {f"x-{n}": "v" for n in range(20)}
    site.routes |= {"/a": answered({"a": 1}), "/b": Answer(b"plain"), "/c": Answer(b"", 200, many)}
    found = await online.answer(
        "MultiAPIFetch", api_endpoints=[site.url(path) for path in ("/a", "/b", "/c")]
    )
    summary = found["summary"]
    assert [summary[key] for key in ("queried", "successful", "failed")] == [3, 3, 0]
    assert (summary["success_rate"], summary["errors_by_type"]) == ("100.0%", {})
    assert [r["data"] for r in found["results"]] == ['{"a": 1}', "plain", ""]
    assert len(found["results"][2]["headers"]) == 10
    seven = await online.answer("MultiAPIFetch", api_endpoints=[site.url("/b")] * 7)
    assert seven["summary"]["successful"] == 7


async def test_a_connection_that_breaks_is_an_error_of_its_own_endpoint(
    online: Harness, site: WebServer
) -> None:
    site.routes |= {"/a": answered({}), "/cut": Answer(b"half", cut=True)}
    urls = [site.url("/cut"), site.url("/a")]
    found = await online.answer("MultiAPIFetch", api_endpoints=urls)
    assert [r["success"] for r in found["results"]] == [False, True]
    assert found["results"][0]["error"]["message"]
    assert found["summary"]["errors_by_type"] == {"Network": 1}


@pytest.mark.parametrize("field", [{"timeout_ms": 30_001}, {"max_concurrent": 0}, {"headers": [1]}])
async def test_limits_of_a_fetch_are_exact(online: Harness, site: WebServer, field: Any) -> None:
    site.routes["/a"] = answered({})
    url = [site.url("/a")]
    assert not (await online.call("MultiAPIFetch", api_endpoints=url, **field)).finished.ok
    edge: dict[str, Any] = {"timeout_ms": 30_000, "max_concurrent": 5}
    assert (await online.call("MultiAPIFetch", api_endpoints=url, **edge)).finished.ok


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("identical words here", "identical words here", 1.0),
        ("apple banana cherry", "house street garden", 0.0),
        ("apple fruit tree garden", "apple tree", 0.5),
        ("", "", 0.0),
        ("", "words", 0.0),
        ("a bc", "a bc", 1.0),
    ],
)
def test_likeness_has_the_values_of_the_original(first: str, second: str, value: float) -> None:
    assert likeness(words_of(first), words_of(second)) == value


def test_the_sure_are_labelled_high_and_what_is_too_unsure_is_dropped() -> None:
    said = [("a", 0.9), ("b", 0.65), ("c", 0.45), ("d", 0.39)]
    sources = [Statement(name, f"{name} says its own {name}{name}", sure) for name, sure in said]
    found = synthesize(sources, "weighted", threshold=0.4)
    assert found is not None
    assert [(label, s.source) for label, s in found.accepted] == [
        ("High", "a"), ("Medium", "b"), ("Low", "c"),
    ]  # fmt: skip
    assert synthesize(sources, "weighted", threshold=0.95) is None


@pytest.mark.parametrize(
    ("text", "confidence"),
    [("Bees and flowers of the alps", 1.0), ("bees", 0.33), ("x" * 500, 0.0), ("", 0.0)],
)
def test_confidence_is_the_share_of_the_objective_s_words_and_not_of_speed(
    text: str, confidence: float
) -> None:
    assert coverage("bees, flowers and the alps", text) == confidence


def test_jarvis_asks_for_nothing_and_knows_six_phases() -> None:
    schema = Jarvis.model_json_schema()
    assert schema.get("required", []) == []
    phases = schema["properties"]["phase_completed"]["anyOf"][0]["enum"]
    assert phases == ["QUERY", "ENHANCE", "KNOWLEDGE", "PLAN", "EXECUTE", "VERIFY"]


async def test_odd_text_and_nested_payloads_survive(harness: Harness) -> None:
    begun = await harness.begin(objective=ODD)
    assert begun["payload"]["current_objective"] == ODD
    assert ODD in begun["system_prompt"]
    sources = [{"source": ODD, "confidence": 0.5}]
    for phase, payload in PHASES[:2]:
        await harness.done(phase, payload)
    await harness.done("KNOWLEDGE", {"knowledge_gathered": ODD, "sources": sources})
    told = await harness.jarvis(session_id="s")
    assert told["payload"]["knowledge_gathered"] == ODD


async def test_a_call_that_says_nothing_or_too_much_is_an_answer_and_no_crash(
    harness: Harness,
) -> None:
    assert (await harness.refused())["code"] == "objective_missing"
    executed = await harness.call("JARVIS", session_id="s", initial_objective="x", unheard="of")
    assert executed.finished.text


@pytest.mark.parametrize(
    ("effectiveness", "word"),
    [
        (0.95, "EXCELLENT"), (0.9, "EXCELLENT"), (0.85, "GOOD"), (0.8, "GOOD"),
        (0.75, "SATISFACTORY"), (0.7, "SATISFACTORY"), (0.65, "NEEDS_IMPROVEMENT"),
        (0.6, "NEEDS_IMPROVEMENT"), (0.55, "REQUIRES_ATTENTION"), (0.3, "REQUIRES_ATTENTION"),
    ],
)  # fmt: skip
def test_grades_are_the_original_s(effectiveness: float, word: str) -> None:
    assert grade(effectiveness) == word


@pytest.mark.parametrize(
    ("bad", "good", "enhanced", "kind"),
    [(0, 3, True, "simple"), (0, 4, True, "complex"), (1, 2, False, "simple")],
)
async def test_metrics_follow_effectiveness_and_the_todo_that_is_open(
    harness: Harness, bad: int, good: int, enhanced: bool, kind: str
) -> None:
    await harness.plan(low(6))
    for number in range(bad + good):
        await harness.execute(number >= bad)
    found = await harness.answer("IronManusStateGraph", action="read_graph", session_id="s")
    metrics = found["metrics"]
    assert (metrics["cognitive_enhancement_active"], metrics["task_complexity_handled"]) == (
        enhanced,
        kind,
    )


@pytest.mark.parametrize(("hours", "kept"), [(1, True), (25, False)])
async def test_a_session_folder_is_kept_for_an_hour_and_gone_after_25(
    harness: Harness, hours: int, kept: bool
) -> None:
    await harness.begin("old")
    harness.clock.time += hours * 3600
    await harness.begin("new")
    assert (harness.folder / "iron-manus-sessions" / "old").is_dir() == kept
    assert (await harness.jarvis(session_id="old"))["next_phase"] == "QUERY"
