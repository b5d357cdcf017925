"""Sources held against each other: the seed's measures, kept as heuristics."""

from pathlib import Path
from typing import Any

import pytest

from sam_tools.iron_manus.sources.synthesis import Mode, Statement, synthesize
from tests.ironmanus.harness import Harness

THREE = [
    Statement("A", "alpha beta gamma delta epsilon", 0.9),
    Statement("B", "alpha beta gamma delta zeta", 0.7),
    Statement("C", "one two three four five", 0.55),
]


@pytest.mark.requirement("ironmanus:synthesis")
@pytest.mark.parametrize(
    ("mode", "confidence", "kept"),
    [
        ("consensus", 0.239, "ABC"),
        ("weighted", 0.745, "ABC"),
        ("hierarchical", 0.9, "ABC"),
        ("conflict_resolution", 0.717, "ABC"),
    ],
)
def test_the_four_modes_measure_as_the_seed_s(mode: Mode, confidence: float, kept: str) -> None:
    found = synthesize(THREE, mode)
    assert found is not None
    assert round(found.confidence, 3) == confidence
    assert "".join(s.source for _, s in found.accepted) == kept
    assert found.contradictions == ()  # they share no words, and no values
    assert round(found.agreement, 3) == 0.267
    assert found.shared == (("alpha beta gamma delta",) if mode == "consensus" else ())


@pytest.mark.requirement("ironmanus:synthesis")
def test_likeness_counts_words_of_the_longer_text() -> None:
    for first, second, likeness in (
        ("a b c", "a b c", 1.0),
        ("a b", "c d", 0.0),
        ("apple fruit tree garden", "apple tree", 0.5),
    ):
        compared = synthesize(
            [Statement("A", first, 0.9), Statement("B", second, 0.9)], "consensus"
        )
        assert compared is not None
        assert compared.agreement == likeness
    assert synthesize([Statement("A", "", 0.9), Statement("B", " ", 0.9)], "consensus") is None
    assert synthesize(THREE, "weighted", threshold=0.95) is None
    alone = synthesize(THREE[:1], "consensus")
    assert alone is not None
    assert (alone.confidence, alone.agreement) == (0.0, 1.0)


PARIS = "The population of Paris is 2.1 million."


@pytest.mark.requirement("ironmanus:contradictions")
@pytest.mark.parametrize(
    ("first", "second", "contradiction"),
    [
        (PARIS, "Paris has 2.2 million inhabitants.", "2.1 million, B says 2.2 million"),
        (PARIS, "The city of Paris has 2,102,650 residents.", ""),
        (PARIS, "Between 2 and 2.3 million people live in Paris", ""),
        (PARIS, "The population of Lyon is 0.5 million.", ""),
        ("Its population was 2.1 million in 2020.", "Its population was 2.2 million in 2010.", ""),
        (PARIS, '{"city": "Paris", "population": 2245000}', "population 2245000: paris"),
        ('{"city": "Lyon", "population": 520000}', '{"city": "Paris", "population": 2245000}', ""),
        ("The tower is 330 m tall.", "The tower has a height of 1,083 feet.", ""),
        (
            "The tower is 330 m tall.",
            "The tower has a height of 300 metres.",
            "330 m, B says 300 m",
        ),
        ("The bridge was founded in 1889.", "The bridge was founded in 1887.", "1889, B says 1887"),
        ("Bread costs $3 in Paris.", "Bread costs €2 in Paris.", ""),
        ("one two three", "alpha beta gamma", ""),
        ("[" * 5000, "{" * 5000, ""),
    ],
)
def test_values_of_one_thing_that_differ_are_a_contradiction(
    first: str, second: str, contradiction: str
) -> None:
    both = [Statement("A", first, 0.9), Statement("B", second, 0.6)]
    found = synthesize(both, "conflict_resolution")
    assert found is not None
    told = found.contradictions
    assert len(told) == bool(contradiction) and contradiction in "".join(told)
    assert "".join(s.source for _, s in found.accepted) == ("A" if contradiction else "AB")


RESPONSES = [{"source": s.source, "data": s.data, "confidence": s.confidence} for s in THREE]


@pytest.mark.requirement("ironmanus:synthesis")
async def test_what_is_measured_is_labelled_and_without_a_model_nothing_is_made_up(
    harness: Harness,
) -> None:
    found = await harness.answer(
        "KnowledgeSynthesize", api_responses=RESPONSES, synthesis_mode="conflict_resolution"
    )
    assert "no proof" in found["measured_by"]
    assert found["synthesis"] is None
    assert "There is no model" in found["message"]
    assert [s["source"] for s in found["sources"]] == ["A", "B", "C"]
    none = await harness.call(
        "KnowledgeSynthesize", api_responses=RESPONSES, synthesis_mode="weighted",
        confidence_threshold=0.95,
    )  # fmt: skip
    assert not none.finished.ok
    bad = await harness.call("KnowledgeSynthesize", api_responses=[], synthesis_mode="weighted")
    assert not bad.finished.ok


@pytest.mark.requirement("ironmanus:synthesis")
async def test_a_model_writes_it_from_the_sources_alone(tmp_path: Path) -> None:
    plays: list[dict[str, Any]] = [
        {
            "calls": [
                {"name": "file_operations", "arguments": {"operation": "list_dir", "path": "."}}
            ]
        },
        {"when": {"ok": False, "contains": "not allowed"}, "text": "They agree [A] [B]."},
    ]
    harness = Harness(tmp_path, plays)
    found = await harness.answer(
        "KnowledgeSynthesize", api_responses=RESPONSES[:2], synthesis_mode="consensus"
    )
    assert found["synthesis"] == "They agree [A] [B]."
    assert found["synthesis_by"] == "a model, from these sources alone"
    harness.close()
