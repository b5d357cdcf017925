"""The hooks of a person and of a folder: read again after a change, used only if they are trusted."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sam_tui.adapters.hooks.claude_calls import claude_fields, together
from sam_tui.adapters.hooks.parser import matches, parse_hooks
from sam_tui.core.accesses import Location
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.errors import ConfigurationError, SamError
from sam_tui.core.local_files.cache import Signature, signature_of
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.hooks import (
    Hook,
    HookAnswer,
    HookConfinement,
    HookEvent,
    HookListing,
    HookSource,
    HookWord,
    Occasion,
)
from sam_tui.core.ports.policy import BundleFolder
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult, Commands
from sam_tui.folders import HOOKS, PROJECT_HOOKS

DENIAL = 2
"""The exit code with which a hook denies."""
_CONTEXT: tuple[str, ...] = ("SessionStart", "UserPromptSubmit")
"""Events for which output that is no JSON is given to the model."""
_DECISIONS: dict[Any, HookWord] = {
    "approve": "allow",
    "allow": "allow",
    "block": "deny",
    "deny": "deny",
    "ask": "ask",
}
_SILENT = "it gave no reason"


def read_answer(hook: Hook, result: CommandResult) -> HookAnswer:
    """The answer of a hook by its exit code and output."""
    answer = HookAnswer(hook, seconds=result.seconds)
    if result.timed_out:
        return _with(answer, warning=f"took longer than {hook.timeout:g} seconds and was ended")
    if result.exit_code == DENIAL:
        return _with(answer, word="deny", reason=result.errors.strip() or _SILENT)
    if result.exit_code != 0:
        return _with(answer, warning=_failure_words(result))
    text = result.output.strip()
    if not text.startswith("{"):
        return _with(answer, context=text) if hook.event in _CONTEXT and text else answer
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        cut = " (it is too long)" if result.dropped else ""
        return _with(answer, warning=f"wrote text that looks like JSON but is invalid{cut}")
    return _said(answer, cast("dict[str, object]", data))


def _said(answer: HookAnswer, data: dict[str, object]) -> HookAnswer:
    """The answer with the fields of the hook's JSON object."""
    specific = data.get("hookSpecificOutput")
    specific = cast("dict[str, object]", specific) if isinstance(specific, dict) else {}
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
        updated=_updated(answer.hook, specific),
    )


def _updated(hook: Hook, specific: dict[str, object]) -> dict[str, object] | None:
    """The new input of the call."""
    value = specific.get("updatedInput")
    if hook.event != "PreToolUse" or not isinstance(value, dict):
        return None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None  # JSON may contain lone surrogates, which are no text
    return cast("dict[str, object]", value)


def _decision(
    hook: Hook, data: dict[str, object], specific: dict[str, object]
) -> tuple[object, str]:
    """The decision as written, and its reason; the fields about a call precede the general ones."""
    reason = _text(data, "reason")
    if hook.event == "PreToolUse" and "permissionDecision" in specific:
        reason = _text(specific, "permissionDecisionReason") or reason
        return specific["permissionDecision"], reason
    return data.get("decision"), reason


def _word(hook: Hook, data: dict[str, object], specific: dict[str, object]) -> tuple[HookWord, str]:
    """The decision and its reason. A hook may write one about a call in either of two forms."""
    if "updatedInput" in specific and _updated(hook, specific) is None:
        return "deny", "its updatedInput is not a valid input"
    decision, reason = _decision(hook, data, specific)
    if decision is None:
        return "", reason
    try:
        word = _DECISIONS.get(decision, "deny")
    except TypeError:
        word = "deny"
    if word == "deny" and decision not in ("block", "deny"):
        return word, f"it decided {str(decision)!r}, which is not a decision"
    return word, reason or (_SILENT if word == "deny" else "")


def _text(data: dict[str, object], key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""


def _with(answer: HookAnswer, **texts: object) -> HookAnswer:
    """The answer with further fields. Lone surrogates, which JSON may contain, are no text."""

    def clean(value: Any) -> Any:
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value

    return replace(answer, **{key: clean(value) for key, value in texts.items()})


BUNDLE_FILE = "hooks/hooks.json"
"""The path of the hooks file in a bundle."""
LARGEST = 262_144
"""The most bytes of a hooks file."""
UNTRUSTED = "the folder is not trusted as it is now: see sam-tui trust --show"
_CHANGED = "changed since it was trusted, so its hooks do not run: remove it, or add it again"


@dataclass(slots=True)
class _File:
    """A file of hooks, and the hooks that were last read from it."""

    path: str
    source: HookSource
    root: str | None
    """The folder below which no link is followed; None for the person's own file."""
    trusts: Callable[[], bool] = lambda: True
    """Whether the hooks of the file are trusted now, and therefore may run."""
    vouches: Callable[[str, bytes], bool] = lambda _, __: True
    bundle: BundleFolder | None = None
    signature: Signature | None = None
    hooks: tuple[Hook, ...] = ()
    left_out: tuple[str, ...] = ()
    """The faults of a bundle's file that leave out single hooks, in words."""

    def forget(self) -> None:
        """Drop the hooks until the file is read again."""
        self.signature, self.hooks = None, ()


class FileHooks:
    """The ``Hooks`` of files: a folder's and a bundle's count while their present state is trusted.

    ``reads`` returns the real paths that a command of the person names, which it reads without a question.

    Raises ``ConfigurationError`` for an unusable file of the person. A folder's is reported as a problem,
    and so is a file that breaks later; its last readable hooks stay in use.
    """

    def __init__(
        self,
        config_dir: str,
        *,
        files: Files,
        commands: Callable[[], Commands],
        trust: FolderTrust,
        reads: Callable[[str], tuple[str, ...]],
        bundles: Callable[[], Sequence[BundleFolder]] = tuple,
    ) -> None:
        self._workspace = workspace = trust.folder
        self._bundles = bundles
        self._bundled: dict[str, _File] = {}
        self._named_changed: set[str] = set()
        self._files = files
        self._commands = commands
        self._trust = trust
        self._reads = reads
        self._user = _File(os.path.realpath(os.path.join(config_dir, HOOKS)), "user", None)
        self._project = _File(
            os.path.join(workspace, PROJECT_HOOKS),
            "project",
            workspace,
            self._trusts,
            lambda _, data: trust.vouches(PROJECT_HOOKS, data),
        )
        self._problems: list[str] = []
        self._refresh(self._user)
        if self._trusts():
            try:
                self._refresh(self._project)
            except ConfigurationError as error:
                self._project.signature = signature_of(self._project.path)
                self._problems.append(f"{error.explain()} The hooks of this folder do not run.")

    @property
    def confined(self) -> bool:
        """Whether the kernel confines the hooks' commands."""
        return self._commands().confinement.kind != "none"

    def awaiting(self, event: HookEvent, subject: str = "") -> Sequence[Hook]:
        """The hooks to run now, the person's own first; the same command of one file only once."""
        hooks = (h for h in self._current() if h.event == event and matches(h, subject))
        return list({(h.source, h.bundle, h.command): h for h in hooks}.values())

    def problems(self) -> Sequence[str]:
        """The new faults of the files since the last call."""
        problems, self._problems = self._problems, []
        return problems

    def listing(self) -> HookListing:
        """All configured hooks. Those of a folder that is not trusted are not read."""
        self._refresh(self._user)
        hooks, left_out = [*self._user.hooks], dict[str, str]()
        for file in (self._project, *self._bundle_files()):
            if signature_of(file.path) is None:
                continue
            if not file.trusts():
                left_out[file.path] = _CHANGED if file.bundle else UNTRUSTED
                continue
            try:
                self._refresh(file)
                hooks += file.hooks
                if file.left_out:
                    left_out[file.path] = "; ".join(file.left_out)
            except ConfigurationError as error:
                left_out[file.path] = error.explain()
        return HookListing(tuple(hooks), left_out)

    async def run(self, hook: Hook, occasion: Occasion, confinement: HookConfinement) -> HookAnswer:
        """Run a hook and read its answer; one of Claude Code's form once for each file or command."""
        if not hook.claude:
            return await self._answer(hook, occasion, occasion.fields, confinement)
        answers: list[HookAnswer] = []
        for fields in claude_fields(occasion):
            answers.append(await self._answer(hook, occasion, fields, confinement))
            if answers[-1].word == "deny" or answers[-1].halt or answers[-1].warning:
                break
        return together(answers, occasion)

    async def _answer(
        self,
        hook: Hook,
        occasion: Occasion,
        fields: Mapping[str, object],
        confinement: HookConfinement,
    ) -> HookAnswer:
        event_data = {
            "session_id": occasion.session,
            "cwd": self._workspace,
            "hook_event_name": occasion.event,
            **fields,
        }
        request = CommandRequest(
            hook.command,
            self._workspace,
            True,
            confinement.writable,
            hook.timeout,
            _unheard,
            ask=confinement.ask,
            network=confinement.network,
            stdin=json.dumps(event_data).encode(),
            variables={
                "SAM_TUI_PROJECT_DIR": self._workspace,
                "CLAUDE_PROJECT_DIR": self._workspace,
                "SAM_TUI_HOOK_EVENT": occasion.event,
                **(_of_bundle(hook.bundle) if hook.bundle else {}),
            },
            apart=True,
            readable=self._readable(hook),
        )
        try:
            return read_answer(hook, await self._commands().run(request))
        except SamError as error:
            return HookAnswer(hook, warning=f"could not be run: {error}")

    def _readable(self, hook: Hook) -> tuple[str, ...]:
        if hook.bundle:
            return (hook.bundle,)
        return self._reads(hook.command) if hook.source == "user" else ()

    def _bundle_files(self) -> Iterable[_File]:
        """The files of the bundles in use."""
        for bundle in self._bundles():
            if bundle.folder not in self._bundled:
                path = os.path.join(bundle.folder, BUNDLE_FILE)
                self._bundled[bundle.folder] = _File(
                    path, "bundle", bundle.folder, bundle.intact, bundle.vouches, bundle
                )
            yield self._bundled[bundle.folder]

    def _trusts(self) -> bool:
        """Whether the folder is trusted in its present state."""
        return self._trust.look() == "trusted"

    def _current(self) -> Iterable[Hook]:
        """The hooks in use: the person's, and those of files whose present state is trusted."""
        self._reread(self._user)
        yield from self._user.hooks
        for file in (self._project, *self._bundle_files()):
            if signature_of(file.path) is None:
                file.forget()
            elif not file.trusts():
                if file.bundle and file.path not in self._named_changed:
                    self._named_changed.add(file.path)
                    self._problems.append(f"The bundle {file.bundle.name} {_CHANGED}.")
                file.forget()
            else:
                self._reread(file)
                yield from file.hooks

    def _reread(self, file: _File) -> None:
        """Read a file again if it changed; a faulty one is reported once, and its old hooks stay."""
        if file.signature == signature_of(file.path):
            return
        try:
            self._refresh(file)
        except ConfigurationError as error:
            file.signature = signature_of(file.path)
            self._problems.append(f"{error.explain()} Its previous content stays active.")

    def _refresh(self, file: _File) -> None:
        before = signature_of(file.path)
        text = self._text(file) if before is not None else None
        left_out: list[str] = []
        hooks = parse_hooks(text, file.path, file.source, left_out) if text is not None else ()
        file.left_out = tuple(left_out)
        folder = file.bundle.folder if file.bundle else ""
        file.hooks = tuple(replace(hook, bundle=folder) for hook in hooks) if folder else hooks
        file.signature = before

    def _text(self, file: _File) -> str | None:
        """The text of a file; None for one of the folder that changed since the look at it."""
        where = Location(file.path, file.path, file.root)
        try:
            data = self._files.read(where, limit=LARGEST + 1)
        except SamError as error:
            raise ConfigurationError(str(error), hint=error.hint) from None
        if len(data) > LARGEST:
            raise ConfigurationError(f"{file.path} is longer than {LARGEST} bytes.")
        if file.root and not file.vouches(os.path.relpath(file.path, file.root), data):
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ConfigurationError(f"{file.path} is not UTF-8.") from None


def _of_bundle(folder: str) -> dict[str, str]:
    """Variables for a bundle's programs: its folder, and no bytecode written there."""
    return {"CLAUDE_PLUGIN_ROOT": folder, "PYTHONDONTWRITEBYTECODE": "1"}


def _unheard(_: str) -> None:
    """Ignores output while it arrives: nobody watches a hook."""


def _failure_words(result: CommandResult) -> str:
    how = result.signal or f"exit code {result.exit_code}"
    detail = result.errors.strip() or result.output.strip()  # cut once its secrets are masked
    return f"failed ({how})" + (f": {detail}" if detail else "")
