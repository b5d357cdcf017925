"""Vectors of Iron Manus's registry, fetching, synthesis and graph (spec D3 to D5), as in ``vectors``."""

from collections.abc import Mapping

from tests.workflow.vectors import INVALID, NEXT, OWNED, Vector, kept, left

KINDS = "im/vectors::test_a_role_finds_its_kind_of_api_best_first"
LIST = "im/apis::test_every_entry_keeps_endpoint_and_documentation_apart_and_claims_no_test"
BURST = "im/vectors::test_a_burst_passes_and_the_one_after_it_waits_until_there_is_a_token"
TOO_MANY = (
    "web/allowance::test_who_would_wait_too_long_is_refused_and_the_table_of_hosts_stays_small"
)
SIDE = "im/apis::test_endpoints_are_fetched_side_by_side_and_bodies_kept_whole"
ALL = "im/vectors::test_three_that_answer_are_a_hundred_per_cent_and_seven_are_all_asked"
EDGES = "im/vectors::test_limits_of_a_fetch_are_exact"
ARGUMENTS = "im/apis::test_arguments_that_do_not_fit_are_an_error"
PRIVATE = "im/apis::test_an_address_that_is_not_public_is_refused_and_not_tried_again"
BROKEN = "im/vectors::test_a_connection_that_breaks_is_an_error_of_its_own_endpoint"
LABELS = "im/vectors::test_the_sure_are_labelled_high_and_what_is_too_unsure_is_dropped"
MODES = "im/synthesis::test_the_four_modes_measure_as_the_seed_s"
WRITTEN = "im/synthesis::test_a_model_writes_it_from_the_sources_alone"
TRIED = "im/apis::test_an_endpoint_is_tried_and_what_is_known_of_it_told"
LACKS = "im/apis::test_research_says_what_it_lacks_and_makes_nothing_up"
ODD = "im/vectors::test_odd_text_and_nested_payloads_survive"
FOUR = "im/vectors::test_four_sessions_at_once_keep_to_their_folders_and_one_that_fails_hurts_none"
OWN_ID = "im/guards::test_an_id_is_made_where_none_is_given_and_the_conversation_finds_its_own"
ENGINE = "im/state::test_the_engine_s_part_follows_the_session"
METRICS = "im/vectors::test_metrics_follow_effectiveness_and_the_todo_that_is_open"
HOSTS = "im/vectors::test_hosts_of_the_original_s_list_are_covered_and_no_other"
SLIDES = "making slides is out (docs/iron-manus.md)"

REGISTRY: Mapping[str, Vector] = {
    "D3.1": kept("five results for each role", KINDS, but="at most five: noise is left out (E1)"),
    "D3.2": kept(
        "in descending order", KINDS,
        "im/apis::test_the_order_is_total_and_what_nothing_speaks_for_is_left_out",
        but="for every objective",
    ),
    "D3.3": kept("crypto and analyzer", KINDS, "im/apis::test_scores_are_the_seed_s_where_the_entry_is"),
    "D3.4": kept("coder finds development", KINDS),
    "D3.5": kept("ui_architect finds art or design", KINDS),
    "D3.6": kept(
        "a category of the role counts",
        "im/vectors::test_a_category_of_the_role_is_worth_three_tenths",
    ),
    "D3.7": kept("found by name, or not", LIST),
    "D3.8": kept(
        "by category", "im/apis::test_a_category_is_filtered_before_the_list_is_cut"
    ),
    "D3.9": kept("which need no key", LIST, but="each entry says what it needs; no list of its own"),
    "D3.10": left("the most reliable", "reliability is an estimate here and only breaks ties"),
    "D3.11": kept("each entry is whole", LIST),
    "D3.12": kept(
        "N pass, the next does not", BURST, TOO_MANY,
        but="the next waits for its token and is refused past 30 s (E1: a real bucket)",
    ),
    "D3.13": kept("a reset restores", BURST, but="time restores; nobody resets"),
    "D3.14": left("tokens that are left", "the bucket has no status to ask for: one waits or is refused"),
    "D3.15": kept("an unknown one passes", BURST),
    "D3.16": left("sums of statistics", "the bucket keeps no statistics"),
    "D3.17": left(
        "a prompt to choose APIs", "the model names them in its call; no prompt waits for an answer (E1)"
    ),
    "D3.18": kept("names that are unknown", LACKS, but="refused by name, not passed over"),
    "D3.19": left("import of Markdown", "the list is data of the program"),
    "D3.20": kept("defaults", SIDE, EDGES, but="of the call, 3 at once; no environment variables"),
    "D3.21": kept("values out of range", EDGES, ARGUMENTS, but="of the call"),
    "D3.22": kept(
        "a list of hosts", HOSTS, "guard/policy_files::test_hosts_are_named_exactly_or_with_all_below_them",
        but="rules of the guard in its file, not in the environment",
    ),
    "D3.23": kept(
        "twelve addresses that are refused",
        "im/vectors::test_the_addresses_of_the_original_are_refused_without_a_look_up", PRIVATE,
        "web/addresses::test_an_address_that_is_not_public_is_refused_before_anything_is_sent",
    ),
    "D3.24": kept("public hosts pass", "im/vectors::test_public_hosts_of_the_original_pass"),
    "D3.25": kept("hosts with wildcards", HOSTS, but="rules of the guard"),
    "D3.26": left(
        "parameters are dropped", "a URL is sent as it was given or refused, never changed on the way"
    ),
    "D3.27": left("a status object", "the guarded door cannot be disabled, so it has no state to tell"),
}  # fmt: skip

FETCHING: Mapping[str, Vector] = {
    "D4.1": kept("three URLs", SIDE, ALL),
    "D4.2": kept("a network that fails", BROKEN),
    "D4.3": kept("the limiter refuses", TOO_MANY),
    "D4.4": kept("a private address", PRIVATE),
    "D4.5": kept("seven URLs", ALL, ARGUMENTS, but="all seven; more than ten are refused, not cut"),
    "D4.6": kept("text, JSON, a long body", SIDE, ALL, but="cut in the answer only, kept whole"),
    "D4.7": kept("what is no URL", PRIVATE),
    "D4.8": kept("no body", ALL, but="an empty text"),
    "D4.9": left("a client that cannot be made", "the door is made with the program"),
    "D4.10": kept("so many at once", SIDE, EDGES, but="no wall time is asserted"),
    "D4.11": kept("objective and sources are named", WRITTEN, but="by a model, or there is no text"),
    "D4.12": kept("the unsure are dropped", LABELS, MODES),
    "D4.13": kept(
        "nothing is left", LABELS,
        "im/synthesis::test_what_is_measured_is_labelled_and_without_a_model_nothing_is_made_up",
        but="an error, not an answer of confidence 0",
    ),
    "D4.14": kept("unlike texts contradict", MODES),
    "D4.15": kept("High, Medium, Low", LABELS, but="above 0.8 and above 0.6, as A16 has it"),
    "D4.16": kept(
        "likeness of two texts", "im/vectors::test_likeness_has_the_values_of_the_original",
        "im/synthesis::test_likeness_counts_words_of_the_longer_text",
        but="short words count too, as A16 has it",
    ),
    "D4.17": kept(
        "confidence of an answer",
        "im/vectors::test_confidence_is_the_share_of_the_objective_s_words_and_not_of_speed",
        but="by the objective's words that it holds, not by status, length and time; and says so",
    ),
    "D4.18": left("a canned answer", "nothing is made up (E1)"),
    "D4.19": kept("arguments that do not fit", ARGUMENTS, EDGES, but="an error, marked as one (E1)"),
    "D4.20": kept("one, three, one of two", SIDE, ALL),
    "D4.21": kept("time and number are told", SIDE),
    "D4.22": kept(
        "headers are sent", "im/apis::test_what_identifies_somebody_goes_to_one_host_alone"
    ),
    "D4.23": kept(
        "a host that is not there", BROKEN,
        "web/url_guard::test_a_name_that_is_not_there_and_a_closed_port_are_told",
    ),
    "D4.24": kept(
        "one that does not answer", "web/url_guard::test_a_server_that_never_ends_is_left_at_the_time_limit"
    ),
    "D4.25": kept("404", SIDE),
    "D4.26": kept("the limiter refuses", TOO_MANY),
    "D4.27": kept("large JSON", SIDE, but="a preview and where the whole is"),
    "D4.28": kept("ten headers", ALL),
    "D4.29": kept("the third try succeeds", "im/apis::test_only_what_may_pass_is_tried_again"),
    "D4.30": kept("another URL", TRIED, but="by APIValidator, which says so; never silently"),
    "D4.31": kept("100.0%", ALL),
    "D4.32": kept("errors by type", SIDE, BROKEN),
    "D4.33": kept(
        "name, phases, nothing required",
        "im/vectors::test_jarvis_asks_for_nothing_and_knows_six_phases",
    ),
    "D4.34": kept("an id is made or kept", OWN_ID, "im/machine::test_the_first_call_answers_query"),
    "D4.35": kept("the objective once", NEXT, "im/guards::test_another_objective_resets_nothing"),
    "D4.36": kept("each of six phases", NEXT),
    "D4.37": kept("nested and empty payloads", ODD, INVALID, but="an empty one is refused"),
    "D4.38": kept(
        "role, effectiveness and tools are told", NEXT,
        "im/guards::test_each_phase_has_the_tools_of_the_seed_and_jarvis_to_leave_it",
    ),
    "D4.39": kept("errors are marked", INVALID),
    "D4.40": kept("odd characters", ODD),
    "D4.41": left("JARVIS 0.2.4", "the server is this program, under its own name and version"),
    "D4.42": kept(
        "flag and content", "mcp/tools::test_a_result_is_text_and_data_and_a_failure_is_marked"
    ),
    "D4.43": kept(
        "calls that say nothing or too much",
        "im/vectors::test_a_call_that_says_nothing_or_too_much_is_an_answer_and_no_crash", INVALID,
        but="an invalid phase is refused",
    ),
    "D4.44": kept("three at once tell their own objective", FOUR),
    "D4.45": kept(
        "the state is kept", NEXT, "mcp/iron_manus::test_a_client_is_led_from_the_objective_to_done"
    ),
    "D4.46": left("within five seconds", "unit tests assert no wall time"),
}  # fmt: skip

GRAPH: Mapping[str, Vector] = {
    "D5.1": kept(
        "an unknown session", "im/state::test_what_the_engine_keeps_can_be_written_by_nobody",
        but="refused by name, no defaults",
    ),
    "D5.2": left("a second read is cached", "it is read from the store each time and cannot be stale"),
    "D5.3": kept(
        "a store that cannot be read", "wf/store::test_a_newer_or_damaged_file_is_told_and_left_alone",
        but="told, not replaced by defaults",
    ),
    "D5.4": kept("the state of a session", ENGINE),
    "D5.5": kept(
        "another session's entities",
        "im/guards::test_sessions_of_one_conversation_stay_apart_and_the_one_worked_on_gates_it", FOUR,
    ),
    "D5.6": left("malformed observations", "columns are typed; the original's test froze a bug"),
    "D5.7": kept("a session from here", "im/state::test_a_session_can_be_begun_from_here"),
    "D5.8": kept("todos as tasks with their status", ENGINE),
    "D5.9": kept("colons in values", ENGINE),
    "D5.10": kept("text that is no JSON", ODD),
    "D5.11": kept(
        "todos are not written by a payload", OWNED,
        "im/properties::test_todos_come_back_from_the_store_as_they_were_planned",
    ),
    "D5.12": kept("transitions are counted", ENGINE, "im/state::test_a_rollback_is_recorded_and_survives"),
    "D5.13": kept("five grades", "im/vectors::test_grades_are_the_original_s"),
    "D5.14": kept("enhanced above 0.7", METRICS),
    "D5.15": kept("complex behind the fourth todo", METRICS),
    "D5.16": kept(
        "idle for 25 h and for 1 h",
        "im/vectors::test_a_session_folder_is_kept_for_an_hour_and_gone_after_25",
        "im/delegation::test_folders_of_idle_sessions_go_after_a_day_and_come_back_with_their_session",
        but="the folder goes; what was handed over stays in the store",
    ),
    "D5.17": kept(
        "a write that fails", "wf/crash::test_a_transaction_that_raises_leaves_nothing",
        but="nothing is queued or dropped: it is whole or was not, and the caller is told",
    ),
    "D5.18": left("slides", SLIDES),
    "D5.19": left("choice of templates", SLIDES),
    "D5.20": left("times and memory of slides", SLIDES),
}  # fmt: skip
