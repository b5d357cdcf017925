"""What sam-tui must do: every sentence has a test that names it, and every test names a sentence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One sentence of required behaviour, and where it was asked for."""

    sentence: str
    source: str


# fmt: off
REQUIREMENTS: dict[str, Requirement] = {
    "budget:counts": Requirement("One budget counts every model call; its end ends the turn with exit 53.", "issue 2.2, C10"),
    "execute:clear-faults": Requirement("A call that cannot run says what is wrong and shows a correct example.", "issue 2.2, C29"),
    "execute:clip": Requirement("A long result is stored whole and shown in part with its id, in code points.", "architecture 5, C19"),
    "execute:events": Requirement("A call is seen to start, progress and finish.", "architecture 3"),
    "execute:gate": Requirement("A call outside the allowed phase is refused in execute.", "architecture 2"),
    "execute:guarded": Requirement("A refused call never reaches its tool.", "architecture 2"),
    "execute:names": Requirement("Dotted names, bare operations and the operation argument mean the same.", "spec/sam.md 1.0, C30"),
    "execute:neutral": Requirement("A tool result cannot pass for a reminder.", "architecture 5, S10"),
    "execute:recorded": Requirement("Each decision is stored with who made it and its rule.", "issue 2.5"),
    "execute:spellings": Requirement("Snake_case and camelCase twins, numbers as text and lists as text are accepted.", "architecture 2, C4"),
    "guard:bad-paths": Requirement("Text that cannot be a path is refused with a reason.", "issue 2 bad input"),
    "guard:commands": Requirement("A command without a kernel sandbox is asked by its exact text.", "architecture 4.4"),
    "guard:every-path": Requirement("Every path argument of a call is guarded.", "issue 2.5, spec/sam.md S5"),
    "guard:grant-key": Requirement("A grant is keyed by conversation, operation and path subtree.", "architecture 4.3"),
    "guard:inside-allowed": Requirement("Inside the workspace nothing is asked.", "seed 004 authorization"),
    "guard:modes": Requirement("Each permission mode decides as documented.", "issue 2.8"),
    "guard:once": Requirement("A one-time permission works exactly once.", "spec/sam.md 11.7"),
    "guard:one-question-at-a-time": Requirement("A grant answers the questions that wait behind it.", "codebases 4.3"),
    "guard:outside-asks": Requirement("A write outside is asked, showing the resolved path.", "issue 2.5"),
    "guard:real-paths": Requirement("A path is inside or outside by its real path, never by its text.", "issue 2.5, spec/sam.md 9.1 S4"),
    "guard:revoke": Requirement("Grants are listable and revocable.", "architecture 4.3"),
    "guard:timed": Requirement("A timed grant covers its path for five minutes.", "issue 2.5"),
    "guard:unattended": Requirement("With nobody there an ask is denied at once, decided in the guard.", "issue 2.8"),
    "house:bootstrap-current": Requirement("A second make does nothing where .venv is current.", "issue: build"),
    "house:bootstrap-explains": Requirement("A machine without a fit Python, without venv or without pip is told what is missing and what to do.", "issue: build"),
    "house:contracts-evaluate": Requirement("Every import contract fails when a breach of it is planted, and no other contract does.", "architecture 1"),
    "house:contracts-hold": Requirement("The source breaks none of the import contracts: leaves around one core, layers inside it, one owner for each heavy library.", "architecture 1"),
    "house:function-size": Requirement("No function has more than 40 statements.", "architecture 1"),
    "house:imports-stay-out": Requirement("No entry point loads a library that it does not need to begin.", "architecture 9"),
    "house:locked": Requirement("The locked versions carry hashes, and name no index, folder or address.", "architecture 10"),
    "house:module-sentence": Requirement("Every module opens with a docstring.", "style"),
    "house:module-size": Requirement("No module is longer than 400 lines.", "architecture 1"),
    "house:no-network": Requirement("A test that reaches for anything but loopback fails, also where the code under test hides the refusal.", "style"),
    "house:nothing-unfinished": Requirement("The source holds no note of unfinished work and no method that only raises NotImplementedError.", "style"),
    "house:nouns": Requirement("No module is named utils, helpers, manager, base or common.", "style"),
    "house:packages-are-packages": Requirement("Every folder with modules is a package, so that the checks see it and the wheel carries it.", "architecture 1"),
    "house:ports-only": Requirement("Tools and reminders open no file, start no process and reach no network except through the ports.", "architecture 4"),
    "house:requirements": Requirement("Every requirement has a test, and every test names the requirement that it proves.", "style"),
    "house:typed": Requirement("Each of the three packages tells type checkers that it is typed.", "architecture 1"),
    "house:wheel-contents": Requirement("The wheel holds all three packages with their data files and nothing else; the source archive builds the same wheel.", "architecture 1"),
    "house:workspace-is-not-imported": Requirement("Modules of the workspace are never imported, whatever they are called, with PYTHONPATH=. and with python -m as well.", "architecture 1"),
    "inquiries:withdrawn": Requirement("A cancelled call withdraws its question.", "architecture 3"),
    "registry:order": Requirement("Plug-in tools follow the built-ins by name.", "C24"),
    "reminders:append-only": Requirement("Reminders stand before the user message, return only when changed, and never alter what was sent.", "issue 2.6, architecture 5"),
    "retry:ours": Requirement("Retries are ours: they honour Retry-After, void the step, and give up with the right exit code.", "issue 2.3"),
    "schema:flat": Requirement("Operations of a tool share one flat schema in declared order.", "seed 004, architecture 2"),
    "schema:one-type": Requirement("One parameter name with two types is refused at start.", "architecture 2"),
    "schema:same-bytes": Requirement("The advertised schema is the same bytes in every process.", "architecture 2, C21"),
    "session:dangling": Requirement("Calls that a crash left open are closed on resume.", "architecture 6"),
    "session:refuses": Requirement("An empty message or a missing model is refused before anything is stored.", "issue 2 bad input"),
    "turn:call-order": Requirement("Results stand in call order whatever ended first.", "issue 2.2, C11"),
    "turn:cancel": Requirement("Cancelling ends the turn, closes its calls and keeps the conversation.", "issue 2.2"),
    "turn:one-result": Requirement("Every call id gets exactly one result, also after cancel, crash, unknown tool or malformed arguments.", "issue 2.2, C12"),
    "turn:safe-ids": Requirement("Missing, repeated and unsafe call ids are replaced.", "issue 2.2, S9"),
    "turn:schedule": Requirement("Blocking calls run alone, serial ones one by one, others side by side.", "issue 2.2, seed 004"),
    "turn:streams": Requirement("An answer streams, is stored and ends the turn.", "issue 2.2"),
    "workspace:unusable": Requirement("A workspace that is no usable folder is refused with exit code 52.", "issue 2 bad input"),
}
