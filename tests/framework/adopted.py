"""Every row of spec/sam.md 10 that is to be adopted, and the tests that hold it: data, checked both ways.

A row's name is its section and its place in the table. Y: the same input gives what was expected. M:
with the modification that ``note`` tells. N and optional rows are listed so that none is forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what it asks, whether it is adopted, and the ids of the tests that hold it."""

    asks: str
    adopt: Literal["Y", "M", "N", "optional"]
    tests: tuple[str, ...] = ()
    note: str = ""


def yes(section: str, asks: str, *tests: str) -> Row:
    """Adopted as it is."""
    return Row(asks, "Y", tuple(f"{section}-{test}" for test in tests))


def changed(section: str, asks: str, note: str, *tests: str) -> Row:
    """Adopted with a modification."""
    return Row(asks, "M", tuple(f"{section}-{test}" for test in tests), note)


def left(asks: str, why: str) -> Row:
    """Not adopted."""
    return Row(asks, "N", (), why)


UNITS: Mapping[str, Row] = {
    "10.1/1": yes(
        "10.1", "a tool has a name, a description and parameters", "protocol-conformance"
    ),
    "10.1/2": yes("10.1", "consolidated tools have an operation, think has not", "registration"),
    "10.1/3": yes("10.1", "name and description of file_operations", "file-name-and-description"),
    "10.1/4": yes("10.1", "the sixteen file operations", "file-operations-enum"),
    "10.1/5": yes("10.1", "filePath exists, operation is required", "file-parameters"),
    "10.1/6": yes("10.1", "the eleven terminal operations", "terminal-name-and-operations"),
    "10.1/7": changed(
        "10.1",
        "memory operations with manage_todos",
        "manage_todos is accepted and says where its work went",
        "memory-operations-and-manage-todos-moved",
    ),
    "10.1/8": yes("10.1", "the five build operations", "build-operations"),
    "10.1/9": yes("10.1", "think and its thoughts", "think"),
    "10.1/10": yes("10.1", "a context keeps its fields", "context-creation"),
    "10.1/11": yes("10.1", "a context keeps its folder", "context-working-directory"),
    "10.1/12": yes("10.1", "a result keeps flag, name and content", "success", "failure"),
    "10.1/13": yes("10.1", "data beside the content", "output-data"),
    "10.1/14": yes(
        "10.1",
        "8192 characters stay inline",
        *("constants-8192-is-inline", "constants-beyond-is-stored"),
    ),
    "10.1/15": yes("10.1", "a small result is unchanged", "small-result"),
    "10.1/16": yes("10.1", "a large result is stored", "large-result"),
    "10.1/17": yes("10.1", "a relative path", "relative"),
    "10.1/18": yes("10.1", "a relative path, exactly", "exact"),
    "10.1/19": yes("10.1", "absolute paths stay", "absolute", "absolute-2"),
    "10.1/20": yes("10.1", "no .. is left", "dotdot"),
    "10.1/21": yes("10.1", "no ~ is left", "tilde"),
    "10.1/22": yes("10.1", "the parameters of read_tool_result", "read-tool-result"),
    "10.1/23": yes("10.1", "task and prompt", "run-subagent-and-user-collaboration"),
    "10.1/24": yes("10.1", "parameter objects", "required", "enum", "optional-integer"),
    "10.1/25": yes("10.1", "descriptions say something", "descriptions"),
    "10.1/26": yes("10.1", "types of parameters", "parameter-types"),
    "10.1/27": yes("10.1", "names are unique", "unique-names"),
    "10.1/28": yes("10.1", "consolidated tools are alike", "consolidated-consistency"),
    "10.1/29": changed(
        "10.1", "names of the execution suite", "as 10.1/7", "execution-suite-names"
    ),
    "10.1/30": yes("10.1", "an invalid operation is none", "invalid-operation"),
    "10.1/31": left("dictionary extraction", "trivially true of any dictionary"),
    "10.1/32": left("EndpointManager", "the provider layer is another"),
}

CALLS: Mapping[str, Row] = {
    "10.2/1": yes(
        "10.2",
        "files are read",
        *("read-root-absolute", "read-subdirectory-absolute", "read-nested-absolute"),
    ),
    "10.2/2": changed(
        "10.2", "offset and limit", "exactly", "M-read-offset-gives-lines-2-and-3-exactly"
    ),
    "10.2/3": yes("10.2", "a missing file", "read-missing"),
    "10.2/4": yes("10.2", "folders", "list-root", "list-subdirectory", "list-empty"),
    "10.2/5": changed("10.2", "file_search", "finds the script", "M-file-search-finds-script"),
    "10.2/6": changed("10.2", "grep", "hits seven files", "M-grep-hits-all-seven-files"),
    "10.2/7": changed(
        "10.2", "grep by regex", "hits the sample only", "M-grep-regex-hits-the-sample-only"
    ),
    "10.2/8": yes("10.2", "files are made", "create-root", "create-subdirectory", "create-nested"),
    "10.2/9": yes("10.2", "a line is replaced", "replace"),
    "10.2/10": yes(
        "10.2", "several replacements", "multi-as-two-replacements", "multi-replace-string"
    ),
    "10.2/11": yes("10.2", "a file is renamed", "rename"),
    "10.2/12": yes("10.2", "a file is deleted", "delete"),
    "10.2/13": yes("10.2", "commands", "echo", "pwd", "ls", "variable"),
    "10.2/14": yes("10.2", "a command of several lines", "pipeline-of-three-lines"),
    "10.2/15": changed("10.2", "no such command", "127", "M-bad-command-ends-with-127"),
    "10.2/16": yes("10.2", "folders are made", "create-directory", "create-directory-three-levels"),
    "10.2/17": yes(
        "10.2", "unknown parameters are ignored", "create-session-with-an-unknown-parameter"
    ),
    "10.2/18": yes("10.2", "a memory is stored", "memory-store-with-an-unknown-parameter"),
    "10.2/19": changed(
        "10.2",
        "a numeric threshold",
        "is honoured",
        "M-memory-search-honours-a-numeric-threshold",
    ),
    "10.2/20": changed(
        "10.2", "gibberish", "finds nothing", "M-memory-threshold-finds-no-gibberish"
    ),
    "10.2/21": yes("10.2", "collections", "list-collections"),
    "10.2/22": changed(
        "10.2", "manage_todos", "todo_operations", "M-manage-todos-write-read-update"
    ),
    "10.2/23": changed(
        "10.2", "pages are fetched", "from loopback", "M-html", "M-json", "M-text", "M-404"
    ),
    "10.2/24": yes(
        "10.2",
        "documents",
        *("document-import", "document-info-without-a-path", "document-create-markdown"),
    ),
    "10.2/25": changed(
        "10.2",
        "changed files and tasks",
        "the output holds the echo",
        *("changed-files", "M-task-output-holds-the-echo"),
    ),
    "10.2/26": yes("10.2", "thoughts", "think-basic", "think-complex"),
    "10.2/27": yes("10.2", "one after the other", "persistence-chain"),
    "10.2/28": changed(
        "10.2",
        "a chat",
        "with a scripted model",
        *("M-chat-simple", "M-chat-tool", "M-chat-two-turns"),
    ),
    "10.2/29": yes("10.2", "an unknown result", "read-tool-result-of-an-unknown-id"),
    "10.2/30": yes("10.2", "dotted names", "dotted-names", "dotted-create-directory"),
    "10.3/1": yes("10.3", "a script is run", "python-script-prints-its-result"),
    "10.3/2": yes(
        "10.3",
        "names models get wrong",
        *("create-directory-by-the-wrong-name", "document-import-by-the-wrong-name"),
    ),
    "10.3/3": yes(
        "10.3",
        "every operation that was skipped",
        *("skipped-semantic-search", "skipped-list-usages", "skipped-search-index"),
        *("skipped-session-operations", "skipped-git-commit", "skipped-run-task"),
        *("skipped-user-collaboration", "skipped-run-subagent", "skipped-scrape"),
        "skipped-research",
    ),
    "10.3/4": yes(
        "10.3",
        "working folder and abilities are asked for",
        *("a-working-folder-per-request", "abilities-per-request"),
    ),
}

CORE: Mapping[str, Row] = {
    "10.4/1": yes(
        "10.4",
        "operations are executable",
        *("file-operations-are-executable", "memory-operations-are-executable"),
    ),
    "10.4/2": yes("10.4", "a whole history", "pairs-a-whole-history-stays"),
    "10.4/3": yes("10.4", "a result without a call", "pairs-a-result-without-a-call-goes"),
    "10.4/4": yes("10.4", "an orphaned call", "pairs-an-orphaned-call-gets-a-result"),
    "10.4/5": yes("10.4", "a result before its call", "pairs-a-result-before-its-call-goes"),
    "10.4/6": yes(
        "10.4", "tokens", "tokens-of-two-short-messages", "tokens-of-a-call-without-text"
    ),
    "10.4/7": yes(
        "10.4", "truncation", "truncate-what-fits-stays", "truncate-nothing-stays-nothing"
    ),
    "10.4/8": yes("10.4", "a long dropped request", "summary-of-a-long-dropped-request"),
    "10.4/9": yes("10.4", "ten requests", "summary-keeps-the-first-of-ten-requests"),
    "10.4/10": yes("10.4", "calls are counted", "summary-counts-three-calls"),
    "10.4/11": yes("10.4", "commits", "summary-keeps-hash-and-subject-of-a-commit"),
    "10.4/12": yes("10.4", "a summary is read", "summary-is-read-back"),
    "10.4/13": yes("10.4", "summaries are merged", "summary-is-merged-with-the-one-before"),
    "10.4/14": yes(
        "10.4", "the task", "task-is-the-long-request-behind-a-yes", "task-is-a-long-request-itself"
    ),
    "10.4/15": yes("10.4", "paths in a call", "json-helpers-find-the-paths-of-a-call"),
    "10.4/16": yes(
        "10.4",
        "calls as text",
        *("a-call-in-a-tag", "two-calls-in-tags", "a-fenced-call-at-the-end", "a-bare-call"),
    ),
    "10.4/17": yes(
        "10.4", "JSON in prose", "in-prose", "in-a-discussion", "after-a-colon", "quoted"
    ),
    "10.4/18": yes(
        "10.4",
        "other spellings",
        *("function-args", "function-call-tag", "calling-tool", "tool-calls-word"),
    ),
    "10.4/19": changed(
        "10.4",
        "a fenced example in an explanation",
        "no call: only the end of an answer counts",
        "M-a-fenced-example",
    ),
    "10.4/20": yes(
        "10.4", "no call", "nothing", "plain", "malformed-in-a-tag", "text-around-a-call-stays"
    ),
    "10.4/21": changed(
        "10.4",
        "a context in the last user message",
        "it stands right before it, so that what was sent stays as sent",
        *("context-stands-before-the-message", "without-a-message-there-is-no-context"),
    ),
    "10.4/22": changed(
        "10.4",
        "pinned context of one provider",
        "after a compaction the context is told anew, whatever the model",
        "M-context-survives-a-compaction",
    ),
    "10.4/23": yes(
        "10.4",
        "rate limits and other faults",
        *("rate-limits-are-waited-out-up-to-a-cap", "other-faults-are-tried-three-times-more"),
        "unavailable-is-retried",
    ),
    "10.4/24": yes("10.4", "codes of rate limits", "rate-limits-by-their-codes"),
    "10.4/25": changed(
        "10.4",
        "a doubling wait",
        "10.4/23 lists the waits; they double until the cap",
        "waits-double-while-they-are-below-the-cap",
    ),
    "10.4/26": yes(
        "10.4", "trying again", "two-rate-limits-then-success", "a-wrong-key-is-asked-once"
    ),
    "10.4/27": yes(
        "10.4",
        "messages keep their calls",
        *("messages-keep-ids-names-and-argument-texts", "streamed-calls-are-stored"),
        "messages-are-the-same-in-another-process",
    ),
    "10.4/28": yes(
        "10.4",
        "the end of a stream",
        *("streaming-ends-clean", "an-unknown-conversation-is-no-stream"),
    ),
    "10.4/29": yes(
        "10.4",
        "empty conversations",
        *("unused-conversations-go-at-the-end", "a-folder-stays-while-something-is-in-it"),
    ),
    "10.4/30": yes(
        "10.4",
        "alternation and merging",
        *("alternation-two-user-messages-become-one",),
        *("alternation-keeps-every-call-of-neighbouring-answers",),
        *("alternation-an-empty-system-prompt-is-left-out",),
    ),
    "10.4/31": left("words of the system prompt", "our words are our own"),
    "10.4/32": Row("empty messages are filtered", "optional"),
    "10.4/33": left("drawing of Mermaid, PDF and Markdown", "another toolkit"),
}

ROWS: Mapping[str, Row] = {**UNITS, **CALLS, **CORE}
