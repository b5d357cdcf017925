"""Every vector of the originals' own tests (spec D1, D2 and D6), what holds it here, or why it is left.

A vector's name is its section and the place of its sentence there; D3 to D5 are in ``vectors_manus``,
C and D7 in ``vectors_plans``.
A test is named by its suite, module and function: ``im/machine::test_...`` is that of
``tests/ironmanus/test_machine.py``. ``note`` tells where a value differs on purpose, or why it is not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass

SUITES = {
    "im": "ironmanus", "wf": "workflow", "mcp": "mcp", "web": "web", "guard": "guard", "fl": "fleet",
    "fw": "framework", "sv": "servers", "api": "plan_api", "llm": "llm",
}  # fmt: skip
COUNTS = {
    "D1": 21, "D2": 25, "D3": 27, "D4": 46, "D5": 20, "D6": 18, "D7": 21,
    "C1": 13, "C2": 6, "C3": 5, "C4": 8, "C5": 7, "C6": 3, "C7": 9, "C8": 4, "C9": 7, "C10": 5,
}  # fmt: skip
"""How many vectors each section of the specification has, split into its sentences."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One vector: what it asks, the tests that hold it, and what differs or why it is not kept."""

    asks: str
    tests: tuple[str, ...]
    note: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The tests as pytest names them, without their parameters."""
        found: list[str] = []
        for test in self.tests:
            suite, _, rest = test.partition("/")
            module, _, name = rest.partition("::")
            found.append(f"tests/{SUITES[suite]}/test_{module}.py::{name}")
        return tuple(found)


def kept(asks: str, *tests: str, but: str = "") -> Vector:
    """A vector that holds; ``but`` says what is deliberately different."""
    return Vector(asks, tests, but)


def left(asks: str, why: str) -> Vector:
    """A vector that is not kept."""
    return Vector(asks, (), why)


NEXT = "im/machine::test_each_phase_leads_to_the_next_and_done_stays_done"
PHASED = "wf/phased::test_each_phase_leads_to_the_next_one"
BANDS = "im/machine::test_how_much_is_left_decides_how_far_back_verify_leads"
RULES = "wf/verification::test_rules_apply_in_order"
RUNS = "wf/seed_vectors::test_the_runs_of_the_original_end_where_its_bands_say"
MIDEX = "wf/seed_vectors::test_midex_s_phases_leave_the_rows_and_events_of_its_tests"
PAYLOADS = "im/guards::test_a_payload_that_does_not_fit_its_phase_is_refused"
OWNED = "im/guards::test_what_the_engine_owns_cannot_be_written_and_is_named"
CLAIMED = "im/vectors::test_effectiveness_is_not_taken_from_a_payload"
LOCKS = "wf/seed_vectors::test_low_effectiveness_locks_nobody_in"
INVALID = "im/vectors::test_what_the_validator_called_an_error_is_refused_and_moves_nothing"
STATUSES = "im/vectors::test_statuses_are_the_engine_s_and_one_todo_is_in_progress"
NO_ADVICE = "there is no validator beside the engine: nothing advises, the store counts (E1)"

MACHINE: Mapping[str, Vector] = {
    "D1.1": kept("an objective leads to QUERY", "im/machine::test_the_first_call_answers_query"),
    "D1.2": kept("QUERY leads to ENHANCE", NEXT, PHASED),
    "D1.3": kept("ENHANCE leads to KNOWLEDGE", NEXT, PHASED),
    "D1.4": kept("KNOWLEDGE leads to PLAN", NEXT, PHASED),
    "D1.5": kept("PLAN leads to EXECUTE", NEXT, PHASED),
    "D1.6": kept("the first of two todos leads to EXECUTE", NEXT, PHASED),
    "D1.7": kept("the second of two leads to VERIFY", NEXT, PHASED),
    "D1.8": kept("a passed VERIFY leads to DONE", NEXT, RUNS),
    "D1.9": kept(
        "a critical todo that is left keeps from DONE",
        "wf/verification::test_a_critical_task_that_failed_keeps_a_run_from_ending", RUNS,
        but="exactly PLAN below 50 %, where the original took any of three",
    ),
    "D1.10": kept("the whole flow", NEXT, RUNS, but="ends in DONE and nowhere else"),
    "D1.11": kept(
        "the tools of each phase, one by one",
        "im/guards::test_each_phase_has_the_tools_of_the_seed_and_jarvis_to_leave_it",
        "wf/phased::test_each_phase_has_the_tools_of_the_seed",
        but="JARVIS is on every list, so that a phase can be left (E1)",
    ),
    "D1.12": kept(
        "a role of the list, a prompt for each phase",
        "im/vectors::test_every_phase_has_a_prompt_and_a_role_of_the_list",
        "im/prompts::test_the_prompts_are_as_they_were_agreed",
    ),
    "D1.13": kept("all four keys", "im/metaprompt::test_all_four_keys_are_read"),
    "D1.14": kept(
        "ROLE and PROMPT have a default output",
        "im/metaprompt::test_values_run_to_the_parenthesis_that_closes_them",
    ),
    "D1.15": kept(
        "text that is none", "im/metaprompt::test_values_run_to_the_parenthesis_that_closes_them"
    ),
    "D1.16": kept("two of two, one high", RULES),
    "D1.17": kept("one of three, a high one pending: 33", RULES),
    "D1.18": kept("a high one pending", RULES),
    "D1.19": kept("one done, one at work", RULES),
    "D1.20": kept(
        "everything done at an effectiveness of 0.6", LOCKS,
        but="ends all the same: effectiveness below 0.7 blocks nothing (E1, row 5)",
    ),
    "D1.21": kept(
        "four at once stay apart, and one that fails harms none",
        "im/vectors::test_four_sessions_at_once_keep_to_their_folders_and_one_that_fails_hurts_none",
        but="of sessions: making slides is out (docs/iron-manus.md)",
    ),
}  # fmt: skip

STATE: Mapping[str, Vector] = {
    "D2.1": kept("a complete state", NEXT, but="the engine's state cannot be anything else; no score"),
    "D2.2": kept("a phase outside the set", INVALID, but="refused, where the original marked it"),
    "D2.3": kept(
        "no objective",
        "im/guards::test_an_id_is_made_where_none_is_given_and_the_conversation_finds_its_own",
        but="no session begins without one",
    ),
    "D2.4": kept("an effectiveness of 1.5", CLAIMED, but="never taken from outside, and named"),
    "D2.5": kept("an effectiveness of 0.2", CLAIMED, but="never taken; the least is 0.3"),
    "D2.6": kept("no payload", INVALID),
    "D2.7": kept("an empty payload", INVALID, but="refused: transitions need their payload (E1)"),
    "D2.8": kept(
        "todos null", "im/vectors::test_a_plan_has_between_one_and_fifty_todos",
        but="refused, where the original let it pass",
    ),
    "D2.9": kept("an index beyond the todos", OWNED, but="the engine's; what is sent is left out"),
    "D2.10": kept(
        "sixty todos", "im/vectors::test_a_plan_has_between_one_and_fifty_todos",
        but="refused above 50, where the original warned",
    ),
    "D2.11": kept("a todo without status, or with an unknown one", STATUSES, but="the store's own"),
    "D2.12": kept("two in progress", STATUSES, but="cannot be: the engine opens one"),
    "D2.13": left("metrics of APIs", "nobody reports such metrics: what was fetched is counted itself"),
    "D2.14": kept("QUERY to ENHANCE without a goal", PAYLOADS),
    "D2.15": kept("a legal transition", NEXT),
    "D2.16": kept(
        "QUERY to EXECUTE names both", INVALID,
        "im/guards::test_another_phase_is_refused_by_name_and_nothing_moves",
    ),
    "D2.17": kept(
        "transitions are counted",
        "wf/seed_vectors::test_transitions_are_counted_where_they_happened_and_not_by_calls",
        "im/state::test_the_engine_s_part_follows_the_session",
        but="without a mean of durations: each event has its time",
    ),
    "D2.18": left("strict and lenient", "there is one strictness"),
    "D2.19": left("fifteen todos: advice to split", NO_ADVICE),
    "D2.20": left("an effectiveness of 0.4: advice", NO_ADVICE),
    "D2.21": left("low completion: advice", NO_ADVICE),
    "D2.22": left("logging disabled", "events are the store's record and cannot be disabled"),
    "D2.23": kept("DONE with all complete", NEXT, RUNS, but="a state and a percentage, no score"),
    "D2.24": kept(
        "mixed todos",
        "im/guards::test_a_claim_alone_completes_what_is_not_critical_and_raises_nothing", BANDS,
        but="the percentage is told; no advice",
    ),
    "D2.25": kept("one in progress is no fault", STATUSES),
}  # fmt: skip

MOVES: Mapping[str, Vector] = {
    "D6.1": kept(
        "a token for its step, garbage, one of 25 hours",
        "wf/vectors_more::test_a_token_names_its_step_and_is_good_for_a_day",
        "wf/tokens::test_what_is_no_token_is_malformed",
        "wf/tokens::test_a_token_has_the_documented_shape_and_256_random_bits",
    ),
    "D6.2": kept(
        "idle when made, and told",
        "wf/vectors_more::test_an_execution_is_idle_when_it_is_made_and_that_is_told",
    ),
    "D6.3": kept(
        "completed with time and duration",
        "wf/vectors_more::test_what_is_completed_has_its_time_and_duration",
    ),
    "D6.4": kept(
        "idle to completed is refused",
        "wf/vectors_more::test_states_follow_one_another_as_in_the_original",
        "wf/executions::test_every_pair_of_states_is_allowed_or_refused_by_the_table",
    ),
    "D6.5": kept(
        "paused and back, failed",
        "wf/vectors_more::test_states_follow_one_another_as_in_the_original",
        "wf/executions::test_pause_refuses_work_and_resume_gives_fresh_tokens",
    ),
    "D6.6": kept(
        "an unknown execution",
        "wf/vectors_more::test_an_execution_that_is_unknown_is_refused_by_every_verb",
        but="refused by name also where it is only read",
    ),
    "D6.7": kept(
        "a start", MIDEX,
        "wf/executions::test_a_start_opens_the_first_phase_with_its_persona_and_a_token",
    ),
    "D6.8": kept("in turn to completed, each with a new token", MIDEX),
    "D6.9": kept(
        "garbage for a token", "wf/tokens::test_what_is_no_token_is_malformed",
        "mcp/midex::test_tokens_that_are_no_good_are_refused_with_a_code_and_change_nothing",
    ),
    "D6.10": kept("created, started, token_generated", MIDEX),
    "D6.11": kept(
        "no phases", "wf/vectors_more::test_a_workflow_without_phases_cannot_start_and_says_so"
    ),
    "D6.12": kept("rows after one step", MIDEX),
    "D6.13": kept(
        "suggested findings", MIDEX,
        "wf/notes::test_suggested_findings_wait_for_review_and_are_ranked_by_severity",
        but="kept as findings that wait for review, not only in the output (E2)",
    ),
    "D6.14": kept(
        "files become agents and workflows; names, versions, faults",
        "wf/definitions::test_midex_s_form_is_taken_as_it_is",
        "wf/definitions::test_a_file_that_is_none_is_a_problem_and_the_others_are_still_found",
        "wf/definitions::test_sync_tells_added_updated_unchanged_and_missing_apart",
        "wf/vectors_more::test_a_definition_without_a_proper_name_is_a_problem_and_not_listed",
        "wf/vectors_more::test_a_definition_without_a_name_has_its_file_s",
        "wf/vectors_more::test_a_folder_that_is_not_there_holds_no_definition",
        but="a description may be missing; rules are no kind of file here",
    ),
    "D6.15": kept(
        "a pipeline that counts its errors",
        "wf/definitions::test_a_file_that_is_none_is_a_problem_and_the_others_are_still_found",
        "wf/definitions::test_every_fault_names_its_file_and_line",
        but="one reader and no plug-ins; every fault has its line",
    ),
    "D6.16": kept(
        "what is new, the same, or changed",
        "wf/definitions::test_sync_tells_added_updated_unchanged_and_missing_apart",
        but="files alone are read: there is no second copy, so no strategy for conflicts",
    ),
    "D6.17": kept(
        "one that is not there",
        "wf/executions::test_unknown_executions_workflows_and_steps_are_refused_by_name",
        but="refused by name; no plug-ins, and no queries but by name",
    ),
    "D6.18": left("settings of other tools", "finding them is no part of this program"),
}  # fmt: skip
