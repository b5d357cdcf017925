"""How a hook's command ended -> what it says, by the conventions of the field.

Exit code 0 agrees, and standard output may be a JSON object that says more; 2 objects, with standard
error as the reason; anything else is the hook's own failure: the person is told, nothing is stopped.
What cannot be understood about a decision counts as an objection, never as consent.
"""

import json
from typing import Any, cast

from sam_tui.core.ports.hooks import Hook, HookAnswer, HookWord
from sam_tui.core.ports.processes.terminals import CommandResult

OBJECTS = 2
"""The exit code of an objection."""
_CONTEXT: tuple[str, ...] = ("SessionStart", "UserPromptSubmit")
"""Events whose plain output is for the model."""
_DECISIONS: dict[Any, HookWord] = {
    "approve": "allow",
    "allow": "allow",
    "block": "deny",
    "deny": "deny",
    "ask": "ask",
}
_SILENT = "it gave no reason"


def read_answer(hook: Hook, result: CommandResult) -> HookAnswer:
    """What a hook says by the way it ended."""
    answer = HookAnswer(hook, seconds=result.seconds)
    if result.timed_out:
        return _with(answer, warning=f"took longer than {hook.timeout:g} seconds and was ended")
    if result.exit_code == OBJECTS:
        return _with(answer, word="deny", reason=result.errors.strip() or _SILENT)
    if result.exit_code != 0:
        how = result.signal or f"exit code {result.exit_code}"
        detail = (result.errors.strip() or result.output.strip())[:500]
        return _with(answer, warning=f"failed ({how})" + (f": {detail}" if detail else ""))
    text = result.output.strip()
    if not text.startswith("{"):
        return _with(answer, context=text) if hook.event in _CONTEXT and text else answer
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        cut = " (it is too long)" if result.dropped else ""
        return _with(answer, warning=f"wrote what begins like JSON and is none{cut}")
    return _said(answer, cast("dict[str, Any]", data))


def _said(answer: HookAnswer, data: dict[str, Any]) -> HookAnswer:
    """What the JSON object says."""
    specific = data.get("hookSpecificOutput")
    specific = cast("dict[str, Any]", specific) if isinstance(specific, dict) else {}
    word, reason = _word(answer.hook, data, specific)
    halt = ""
    if data.get("continue") is False:
        halt = _text(data, "stopReason") or reason or _SILENT
    return _with(
        answer,
        word=word,
        reason=reason,
        context=_text(specific, "additionalContext") or _text(data, "additionalContext"),
        halt=halt,
        message=_text(data, "systemMessage"),
    )


def _word(hook: Hook, data: dict[str, Any], specific: dict[str, Any]) -> tuple[HookWord, str]:
    """The decision and its reason. One about a call may be said in either of two ways."""
    if "updatedInput" in specific:
        return "deny", "it wants to change what the call is given, which no hook can do here"
    decision, reason = data.get("decision"), _text(data, "reason")
    if hook.event == "PreToolUse" and "permissionDecision" in specific:
        decision = specific["permissionDecision"]
        reason = _text(specific, "permissionDecisionReason") or reason
    if decision is None:
        return "", reason
    try:
        word = _DECISIONS.get(decision, "deny")
    except TypeError:
        word = "deny"
    if word == "deny" and decision not in ("block", "deny"):
        return word, f"it decided {str(decision)[:60]!r}, which is no decision"
    return word, reason or (_SILENT if word == "deny" else "")


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""


def _with(answer: HookAnswer, **texts: Any) -> HookAnswer:
    """The answer with more said. Lone surrogates, which JSON can smuggle, are no text."""
    from dataclasses import replace

    def clean(value: Any) -> Any:
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value

    return replace(answer, **{key: clean(value) for key, value in texts.items()})
