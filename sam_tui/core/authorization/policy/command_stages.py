"""The stages of a command, and of keys typed into a terminal, in the order they have a say."""

from collections.abc import Iterator

from sam_tui.core.authorization.commands.parts import CommandPart, CommandReading, NamedPath
from sam_tui.core.authorization.commands.table import builtin_table
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.judgement import (
    AccessCase,
    Judgement,
    PolicyState,
    Stage,
    asked_by_rule,
    bypassed,
    denied_by_rule,
    refused_by_plan,
    rule_reason,
)
from sam_tui.core.authorization.rules.rule import Subject


def secret_named(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Secrets that the command names: those of the home folder are refused, others asked later."""
    for what, real, inside in _secrets(state, case.subject.reading):
        if not inside and not _unlocked(state, case, real):
            return case.deny(
                f"secret:{what}", f"the command names {real or what}: it may hold secrets"
            )
    return None


def local_secret_named(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Ask about a secret file of the workspace that a command names, if nothing watches its reads."""
    if state.watched() and case.subject.kind == "run":
        return None
    for what, real, inside in _secrets(state, case.subject.reading):
        if inside and not _unlocked(state, case, real):
            named = f"{real} ({what})" if real else what
            return case.ask(f"secret:{what}", f"the command names {named}", plain=False)
    return None


def planned(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Plan mode runs only what surely reads, and types nothing."""
    if state.mode != "plan":
        return None
    if case.subject.kind == "type":
        return refused_by_plan(case, "typing into a terminal")
    if case.subject.reading is not None and case.subject.reading.calm:
        return None
    return refused_by_plan(case, "running commands")


def allowed_by_rule(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Allow rules: every simple command must be covered, and nothing may be stored outside."""
    reading = case.subject.reading
    if reading is not None and any(
        path.writes and not _inside(state, path) for part in reading.parts for path in part.paths
    ):
        return None
    rule = state.rules.permitting(case.subject, case.now)
    return case.allow(rule.id, rule_reason(rule)) if rule else None


def heavy(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Privileged and destructive commands are asked, sandbox or not."""
    reading = case.subject.reading
    part = reading.heaviest if reading else None
    if part is None or part.heaviest not in ("privileged", "destructive"):
        return None
    contained = part.heaviest == "destructive" and "network" not in part.classes
    if state.mode == "auto" and state.confined and contained:
        return None
    return case.ask(f"class:{part.heaviest}", part.why, plain=False)


def reaching_out(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Held to a list of hosts where nothing can watch connections, the network is asked for each."""
    reading = case.subject.reading
    if case.subject.kind != "run" or not wants_network(reading) or not state.blind:
        return None
    reason = "the list of hosts cannot be enforced here: a yes lets this command reach every host"
    return case.ask("network-of-a-command", reason)


def wants_network(reading: CommandReading | None) -> bool:
    """Whether a command is known to use the network."""
    return reading is not None and any("network" in part.classes for part in reading.parts)


def confined(state: PolicyState, case: AccessCase) -> Judgement | None:
    """In the kernel sandbox a command cannot reach more than it may."""
    reading = case.subject.reading
    calm = reading is not None and reading.calm
    if state.mode == "ask-all" and state.confined and not calm:
        reason = "ask-all mode asks about every command that does more than read"
        return case.ask("mode:ask-all", reason)
    if case.subject.kind == "type":
        if state.confined:
            return case.allow("agent-session", "its terminal is sandboxed")
        reason = "no kernel sandbox here, so the guard asks about what is typed into a terminal"
        return case.ask("unsandboxed", reason, plain=False)
    if not state.confined:
        return None
    if calm:
        return case.allow("read-only", "it only reads")
    return case.allow("sandboxed", "runs in the kernel sandbox")


def harmless(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Without a sandbox: what surely reads, where it may; in accept-edits plain file commands too."""
    reading = case.subject.reading
    if reading is None or not reading.parsed or reading.tainted:
        return None
    outside = _outside(state, reading)
    if not reading.calm:
        return _accepted_edit(state, case, reading) if outside is None else None
    if outside is None or state.trusted:
        return case.allow("read-only", "it only reads")
    return case.ask("read-outside", f"{outside.real or outside.text} is outside the workspace")


def _accepted_edit(
    state: PolicyState, case: AccessCase, reading: CommandReading
) -> Judgement | None:
    if state.mode == "accept-edits" and all(map(_plain_edit, reading.parts)):
        return case.allow("mode:accept-edits", "it only touches files of the workspace", "mode")
    return None


def _outside(state: PolicyState, reading: CommandReading) -> NamedPath | None:
    """The first file that a command names outside of the workspace; devices are not."""
    paths = (path for part in reading.parts for path in part.paths)
    return next((p for p in paths if not _inside(state, p) and not _device(p)), None)


def unconfined(_: PolicyState, case: AccessCase) -> Judgement | None:
    """Ask about every other command that does more than read, without a sandbox."""
    reading = case.subject.reading
    part = reading.heaviest if reading else None
    why = f" ({part.why})" if part is not None else ""
    reason = (
        "no kernel sandbox here, so the guard asks about every command that does more "
        f"than read{why}"
    )
    if reading is None:
        reason = "no kernel sandbox here, so the guard asks about every command"
    return case.ask("unsandboxed", reason)


COMMAND_STAGES: tuple[tuple[str, Stage], ...] = (
    ("secrets", secret_named),
    ("plan mode", planned),
    ("deny rules", denied_by_rule),
    ("bypass mode", bypassed),
    ("ask rules", asked_by_rule),
    ("secrets of the workspace", local_secret_named),
    ("allow rules", allowed_by_rule),
    ("command class", heavy),
    ("network by command", reaching_out),
    ("kernel sandbox", confined),
    ("read-only commands", harmless),
    ("mode default", unconfined),
)


def _secrets(state: PolicyState, reading: CommandReading | None) -> Iterator[tuple[str, str, bool]]:
    """(what, real path, whether in the workspace) of every secret that a command names."""
    secrets = state.secrets
    if secrets is None or reading is None:
        return
    for part in reading.parts:
        for path in part.paths:
            if path.real and not _device(path):
                yield from _secret_path(state, secrets, part, path)
        if any(secrets.hinted_by(text) for text in part.code):
            yield "a path of secrets in its text", "", True


def _secret_at(state: PolicyState, secrets: Secrets, path: NamedPath) -> str:
    """The folder of this program, or the secret, that a path leads to; empty for neither."""
    # The kernel keeps shared folders from being written; without it the name alone is refused.
    if not (state.shares(path.real) and state.confined) and (folder := state.own_folder(path.real)):
        return folder
    if path.pattern:
        return secrets.touched_by(path.real)
    return secrets.find(path.real, inside=state.inside(path.real))


def _secret_path(
    state: PolicyState, secrets: Secrets, part: CommandPart, path: NamedPath
) -> Iterator[tuple[str, str, bool]]:
    inside = state.inside(path.real)
    if what := _secret_at(state, secrets, path):
        # A name that only looks secret is asked about; a place that is known to be is refused.
        yield what, path.real, inside or not what.startswith("/")
    elif _copies(part) and not inside and secrets.above(path.real):
        yield "secrets below it", path.real, True


def _copies(part: CommandPart) -> bool:
    """Whether the part copies a whole folder with the contents of its files."""
    return bool(part.words) and builtin_table().program(part.words[0]).copies


def _unlocked(state: PolicyState, case: AccessCase, real: str) -> bool:
    if not real:
        return False
    subject = Subject(case.subject.operation, "read", real)
    return state.rules.unlocks(subject, case.now) is not None


def _inside(state: PolicyState, path: NamedPath) -> bool:
    return bool(path.real) and state.inside(path.real)


def _device(path: NamedPath) -> bool:
    """Whether the path is /dev/null or one of the command's own streams, whatever these lead to."""
    return path.text in ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty")


def _plain_edit(part: CommandPart) -> bool:
    return part.exact_words and part.exact and part.heaviest in ("read-only", "workspace-write")
