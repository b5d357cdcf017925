"""Vectors of seed 002's plans (spec C1 to C10, D7), as in ``vectors``: sentence by sentence."""

from collections.abc import Mapping

from tests.workflow.vectors import Vector, kept, left

FAULTS = "wf/stages::test_each_fault_of_a_plan_is_named_with_its_place"
STAGES = (
    "wf/stages::test_stages_wait_for_one_another_and_references_are_filled_in_whole_and_inside_text"
)
TEXT = "wf/stages::test_a_plan_is_read_from_what_a_model_writes"
ASKED = (
    "wf/stages::test_a_step_of_the_model_is_asked_by_messages_template_prompt_or_what_came_before"
)
FINAL = "wf/stages::test_a_last_step_that_is_the_answer_needs_no_other"
TASK_FILES = "fw/workers::test_files_of_a_task_stay_in_its_folder_and_reading_makes_none"
FOLDER = "fw/workers::test_a_step_writes_into_the_folder_of_its_task"
EXPLORED = "fw/workers::test_what_a_search_led_to_is_read_together_and_failures_are_told"
ROLES = "fw/workers::test_roles_come_from_files_and_what_is_not_there_is_said_at_planning"
SUMS = "fw/workers::test_sums_are_exact_with_percentages_units_and_big_numbers_and_cost_little"
FILLED = "wf/planned::test_a_template_fits_a_whole_task_and_its_values_stay_values"
BUNDLED = "wf/planned::test_sums_and_weather_have_templates_that_take_nothing_else"
MODELS = "wf/plan_models::test_each_purpose_and_step_has_its_model_at_the_hosts_of_the_person"
CONDENSED = "wf/digest::test_long_results_and_the_context_are_condensed_once_and_kept_whole"
CUT = "wf/digest::test_where_no_model_summarises_head_and_tail_stand_with_the_cut_declared"
SUMMARIES = "wf/digest::test_a_summary_is_asked_for_when_its_text_is_new_and_long"
ORDER = "wf/digest::test_the_bank_is_written_at_each_step_in_the_order_of_the_seed"
REVISED = "wf/replanning::test_each_kind_of_failure_leads_to_a_new_plan_that_was_told_of_it"
BUDGETS = "wf/replanning::test_one_error_is_planned_around_twice_and_errors_five_times_in_all"
WALL = "wf/replanning::test_a_planner_may_say_that_it_cannot_be_achieved_and_why"
POLICY = "wf/replanning::test_a_stage_is_left_at_once_or_finished_first_as_the_policy_says"
AGAIN = "wf/replanning::test_a_step_is_done_again_where_what_it_was_told_is_made_anew"
WHOLE = "wf/planned::test_a_plan_is_made_shown_changed_approved_replanned_and_exported"
FULL = "wf/planned::test_a_full_plan_runs_to_its_answer_and_another_is_synthesised_from_what_it_came_to"
REFUSED = "wf/planned::test_a_mode_that_does_not_exist_or_lacks_its_task_is_refused"
BANK = (
    "wf/planned::test_the_memory_bank_is_written_from_the_store_and_stays_in_the_folder_of_its_day"
)
DAY = "wf/planned::test_a_task_keeps_the_folder_of_the_day_that_it_began"
CAPABILITIES = (
    "wf/planned::test_the_file_of_capabilities_has_the_roles_with_what_the_registry_can_call"
)
DOCUMENTED = "sv/http::test_documentation_of_a_library_comes_from_context7_in_two_calls"
NOT_THERE = "sv/http::test_without_context7_its_tool_is_not_there_and_planning_says_so"
GOOGLE = "web/search::test_google_gives_ten_results_a_request_and_its_key_stands_in_no_error"
NOTHING = "web/search::test_finding_nothing_is_not_an_error"
CODES = "api/plan_api::test_who_may_call_and_what_is_no_request"
FIELDS = "api/plan_api::test_a_plan_is_made_held_and_carried_out_with_the_seeds_fields"
ANOTHER = "wf/planned::test_another_plan_is_made_for_a_person_s_reason_and_waits_again"
BY_WORKER = "fl/steps::test_a_step_is_carried_out_by_a_worker_of_its_role"
TWO = "fl/steps::test_a_step_waits_for_its_role_and_two_of_a_stage_come_home"
REFINED = "wf/digest::test_words_that_are_no_answer_leave_the_context_as_it_is"
UPLOADS = "an addition of the original's later version, which the document does not have"
STUB = "nothing is made up where a key is missing"

PLANS: Mapping[str, Vector] = {
    "C1.1": kept("stages of steps with five fields", "wf/stages::test_a_plan_is_written_as_it_was_read"),
    "C1.2": kept("a fence around it", TEXT, but="any fence, prose and trailing commas too"),
    "C1.3": kept("an empty plan says that it cannot be", WALL, but="an outcome, not a fault"),
    "C1.4": kept("stages are lists, one may be empty, steps are objects", FAULTS, STAGES),
    "C1.5": kept("an id and a narrative", FAULTS),
    "C1.6": kept("roles that exist own the tool", FAULTS),
    "C1.7": kept("the input is an object", FAULTS, but="no list slips through"),
    "C1.8": kept("why a plan is refused", "wf/stages::test_all_faults_of_a_plan_are_told_at_once"),
    "C1.9": kept("ids that are named exist and come before", FAULTS, but="checked here"),
    "C1.10": kept("the model's step needs a prompt", FAULTS),
    "C1.11": kept("six operations on files, their arguments", TASK_FILES, but="checked by the tool"),
    "C1.12": kept("a download has a URL", TASK_FILES),
    "C1.13": kept("any input explores", EXPLORED),
    "C2.1": kept("a whole reference keeps its type", STAGES),
    "C2.2": kept("one inside a text", STAGES, but="filled in; the original left it as it stood"),
    "C2.3": kept("in lists and objects too", FAULTS, STAGES),
    "C2.4": kept("the processed form falls back to the result", STAGES),
    "C2.5": kept(
        "one without a value fails its step",
        "wf/recovery::test_a_reference_without_a_value_fails_its_step_by_name",
    ),
    "C2.6": kept("none to the same stage", FAULTS, but="told with the plan, not when it is run"),
    "C3.1": kept("a pattern, its parameters", FILLED, BUNDLED),
    "C3.2": kept("the first that fits", BUNDLED, but="by name, and it fits the whole task"),
    "C3.3": kept("filled in", FILLED, but="after parsing: quotes and $& stay what they are"),
    "C3.4": kept("what fits and what does not", BUNDLED, but="no empty sum, no “and why”"),
    "C3.5": kept("a revision asks the model", ANOTHER),
    "C4.1": kept("messages, template, prompt, what came before", ASKED),
    "C4.2": kept("previous_step_output", ASKED),
    "C4.3": kept(
        "model, temperature and most tokens", MODELS,
        "wf/plan_models::test_what_a_step_asks_of_its_model_is_checked_with_the_plan",
    ),
    "C4.4": kept("an empty prompt", FAULTS, but="is a fault of the plan"),
    "C4.5": kept("the last step is the answer", FINAL),
    "C4.6": kept("pages of a search are read", EXPLORED, but="side by side, the best by criteria"),
    "C4.7": kept("errors of single pages, nothing found", EXPLORED, but="empty is an outcome of its own"),
    "C4.8": kept("files belong to the task", FOLDER, TASK_FILES),
    "C5.1": kept("the message to a worker", BY_WORKER),
    "C5.2": kept("the message home", BY_WORKER),
    "C5.3": kept("how an executed step is told", WHOLE),
    "C5.4": kept("long results are summarised", CONDENSED, CUT, but="of head and tail, above 4000"),
    "C5.5": kept("findings and errors", WHOLE, REVISED),
    "C5.6": kept("a failed step and its stage", POLICY, but="as the policy says"),
    "C5.7": kept("what is finished is used again", REVISED, AGAIN, but="the original began anew"),
    "C6.1": kept("a message waits for its role", TWO),
    "C6.2": kept("who takes it", TWO, but="one worker, not all"),
    "C6.3": kept("two results of one stage", TWO, but="both come home (E3)"),
    "C7.1": kept("four modes", FULL, WHOLE, REFUSED),
    "C7.2": kept("found by id", DAY, but="whatever the day"),
    "C7.3": kept("2 for one error, 5 in all", BUDGETS, but="by fingerprint, not 50 letters"),
    "C7.4": kept("what a reviser is told", REVISED),
    "C7.5": kept("the working context", WHOLE, REVISED, but="its confidence is derived (E3)"),
    "C7.6": kept("words refined by a model; what is no answer changes nothing", CONDENSED, REFINED),
    "C7.7": kept("the answer is written from what the steps came to", MODELS, FINAL),
    "C7.8": kept("journal and task_state.json", BANK),
    "C7.9": left("uploads, a search before planning, clarification", UPLOADS),
    "C8.1": kept("the folder and its files", BANK, ORDER),
    "C8.2": kept("decisions at replans", BANK),
    "C8.3": kept("a summary with its hash", CONDENSED),
    "C8.4": left("chat, mega context, uploads", UPLOADS),
    "C9.1": kept("agentCapabilities.json", CAPABILITIES, but="generated, so it is JSON (E3)"),
    "C9.2": kept("two roles and their tools", ROLES, DOCUMENTED),
    "C9.3": kept("a search", GOOGLE, NOTHING, but="an outcome, no text instead of a list"),
    "C9.4": kept("a sum", SUMS, but="without eval, with limits"),
    "C9.5": kept("a download", TASK_FILES, but="through the guarded door"),
    "C9.6": kept("files", TASK_FILES, but="absolute paths are refused, reading makes no folder (E3)"),
    "C9.7": kept("models by purpose", MODELS),
    "C10.1": kept("what is no request", CODES),
    "C10.2": kept("the fields of an answer", FIELDS, but="parentTaskId too"),
    "C10.3": kept("failures", CODES, but="by status codes (E3)"),
    "C10.4": kept("GET /", CODES),
    "C10.5": left("chat and WebSocket", UPLOADS),
}  # fmt: skip

MANUS: Mapping[str, Vector] = {
    "D7.1": kept("a short text needs no model", SUMMARIES),
    "D7.2": kept("a long one is summarised once, text and meta are written", SUMMARIES, CONDENSED),
    "D7.3": kept("one that is there is taken", SUMMARIES),
    "D7.4": kept("another hash is summarised anew", SUMMARIES),
    "D7.5": left("a lost or damaged meta file", "files are a view of the store: nothing reads them"),
    "D7.6": left("forced, or not cached", "the store decides, no caller"),
    "D7.7": left("a file that is missing has a default", "nothing is read from files"),
    "D7.8": kept("a model that fails", CUT, but="the text in short, its cut declared"),
    "D7.9": kept("the order of models", MODELS, but="purpose, task, the program's"),
    "D7.10": left("a tool without its client", "it is not there, which planning says"),
    "D7.11": kept("found and read", DOCUMENTED),
    "D7.12": kept("5000 tokens, no topic", DOCUMENTED),
    "D7.13": kept("no name, no such library", DOCUMENTED),
    "D7.14": kept("empty documentation is told", DOCUMENTED),
    "D7.15": kept("faults of the client name it", DOCUMENTED),
    "D7.16": kept("the address", DOCUMENTED, NOT_THERE, but="by the variable or a file of servers"),
    "D7.17": kept(
        "ids, codes, shapes of JSON-RPC",
        "sv/calls::test_arguments_that_do_not_fit_never_reach_the_server",
        "sv/calls::test_a_call_that_never_ends_is_given_up_after_its_time",
        but="MCP by our client, held to the protocol",
    ),
    "D7.18": kept("keys", "llm/direct::test_the_key_is_sent_and_never_shown"),
    "D7.19": kept("errors", "llm/contract::test_a_refusal_becomes_its_error_after_one_request"),
    "D7.20": left("Gemini's canned stub", STUB),
    "D7.21": kept(
        "a system message",
        "llm/wire::test_messages_are_the_last_field_and_tools_are_spliced_as_they_are",
    ),
}  # fmt: skip
