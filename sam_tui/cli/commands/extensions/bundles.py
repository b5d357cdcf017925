"""``sam-tui bundles``: skills, commands, agents, hooks and servers of others, of a folder or address."""

import difflib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import Values, place_options, workspace_of
from sam_tui.cli.settings import data_dir_of
from sam_tui.cli.streams import print_json, require_output
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.text.plain import printable
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.bundles import BundleContent, BundleStore
    from sam_tui.adapters.bundles.content import BundleFile
    from sam_tui.adapters.bundles.store import Bundle
    from sam_tui.core.ports.policy import BundleFolder
    from sam_tui.core.ports.prompts import DefinitionKind

_DIFFED, _DIFF_LINES = 100_000, 400
"""The largest file, in bytes, whose changes are shown as lines, and the most lines of all files."""
_trust_option = click.option(
    "--trust",
    "digest",
    metavar="DIGEST",
    default="",
    help="Trust the bundle without a question if this is its digest.",
)
_ref_option = click.option(
    "--ref", metavar="REF", help="A branch, tag or commit of the repository."
)


@click.group("bundles", short_help="Skills, commands, agents, hooks and servers of others.")
def bundles_group() -> None:
    """Folders of skills, commands, agents, hooks and servers; only trusted ones are active."""


@bundles_group.command("add", short_help="Show a bundle, and trust it if you agree.")
@click.argument("source", metavar="FOLDER | ADDRESS | NAME")
@_ref_option
@click.option(
    "--folder", default="", metavar="DIR", help="The folder of the bundle in the repository."
)
@click.option("--name", default="", help="The name to use instead of the manifest's.")
@_trust_option
@place_options
def add_command(**values: Any) -> int:
    """Show the content of a folder, a git address, or a bundle that this project names; ask for trust."""
    store, bundle = _store(values), _source(values)
    content = _fetched(bundle)
    bundle = replace(bundle, commit=content.commit, files=content.digests)
    if not bundle.name:
        from sam_tui.adapters.bundles.manifest import manifest_of

        name = (
            values["name"] or manifest_of(content).get("name") or os.path.basename(bundle.address)
        )
        bundle = replace(bundle, name=name.removesuffix(".git"))
    return _offer(store, bundle, content, values["digest"])


@bundles_group.command(
    "update", short_help="Show the changes at the source, and trust them if you agree."
)
@click.argument("name")
@_ref_option
@_trust_option
@place_options
def update_command(**values: Any) -> int:
    """Fetch a bundle again and show the differences.

    The trusted version stays active until you trust the new one.
    """
    from sam_tui.adapters.bundles.content import read_folder

    store = _store(values)
    old = _named(store, values["name"])
    ref = old.ref if values["ref"] is None else values["ref"]
    content = _fetched(replace(old, ref=ref))
    bundle = replace(old, ref=ref, commit=content.commit, files=content.digests)
    if bundle.files == old.files:
        click.echo(terminal_safe(f"{old.name} has not changed since you trusted it."))
        return 0
    _print(_changes(read_folder(store.folder(old).folder), content))
    return _offer(store, bundle, content, values["digest"])


@bundles_group.command("list", short_help="List trusted bundles, and those this folder names.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@place_options
def list_command(**values: Any) -> int:
    """List the bundles that you trust, their state, and those that this folder names."""
    require_output()
    store = _store(values)
    named, why = _project(values)
    rows = [*_rows(store, named)]
    if values["as_json"]:
        listed = [{**asdict(bundle), "standing": standing} for bundle, standing in rows]
        return print_json([{**row, "files": len(row["files"])} for row in listed])
    for bundle, standing in rows:
        click.echo(terminal_safe(f"{bundle.name:<24} {standing:<16} {_whence(bundle)}"))
    if not rows:
        click.echo("No bundle is trusted. Add one with: sam-tui bundles add FOLDER", err=True)
    if why:
        click.echo(terminal_safe(why), err=True)
    return 0


@bundles_group.command("show", short_help="Show the content of a trusted bundle.")
@click.argument("name")
@place_options
def show_command(**values: Any) -> int:
    """Show the content of a bundle: names, programs, origin."""
    from sam_tui.adapters.bundles.content import read_folder

    require_output()
    store = _store(values)
    bundle = _named(store, values["name"])
    folder = store.folder(bundle)
    _print(_described(bundle, folder, read_folder(folder.folder)))
    standing = _standing(store, bundle)
    active = "no: the copy has changed" if standing == "changed" else standing
    click.echo(f"  active   {active}")
    return 1 if standing == "changed" else 0


@bundles_group.command("remove", short_help="End the trust in a bundle.")
@click.argument("name")
@place_options
def remove_command(**values: Any) -> int:
    """End the trust in a bundle, and delete its copy."""
    _store(values).remove(values["name"])
    click.echo(terminal_safe(f"{values['name']} is no longer trusted."), err=True)
    return 0


def _offer(store: "BundleStore", bundle: "Bundle", content: "BundleContent", digest: str) -> int:
    """Show a bundle, and have it count where the person trusts exactly this. Raises ``SamError``."""
    from sam_tui.adapters.bundles.content import digest_of
    from sam_tui.adapters.bundles.store import discard, require_name
    from sam_tui.core.ports.policy import BundleFolder

    pinned, bundle = bundle.digest, replace(bundle, digest=digest_of(bundle.files))
    require_name(bundle.name)
    if not bundle.everywhere and pinned != bundle.digest:
        raise ConfigurationError(
            f"{bundle.name} is not what this folder names: its digest is {bundle.digest}.",
            hint="Either it changed at its source, or somebody replaced it.",
        )
    staged = store.staged(content)
    try:
        folder = BundleFolder(bundle.name, staged, lambda _, __: True, lambda: True)
        _print(_described(bundle, folder, content))
        if digest and digest != bundle.digest:
            raise ConfigurationError(f"Its digest is {bundle.digest}, not {digest}.")
        if not (digest or _asked()):
            again = f"--trust {bundle.digest}"
            click.echo(
                f"Nothing of it is active. The same command with {again} trusts it.", err=True
            )
            return 3
        store.trust(bundle, staged)
    finally:
        discard(staged)
    click.echo(terminal_safe(f"{bundle.name} is active from the next start on."), err=True)
    return 0


def _print(lines: Iterator[str]) -> None:
    """Print lines with text of a bundle: each stays one line, without invisible characters."""
    for line in lines:
        click.echo(terminal_safe(printable(line)))


def _asked() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm("Trust exactly this?", err=True)


def _fetched(bundle: "Bundle") -> "BundleContent":
    """The content that a bundle's source has now. Raises ``SamError``."""
    from sam_tui.adapters.bundles.content import read_folder
    from sam_tui.adapters.bundles.git import is_address, read_commit
    from sam_tui.adapters.checkpoints.git import git_program

    if not is_address(bundle.address):
        content = read_folder(os.path.normpath(os.path.join(bundle.address, bundle.folder)))
    else:
        program = git_program(os.environ.get("PATH", ""), [os.getcwd()])
        if program is None:
            raise UsageError("There is no git on the search path outside this folder.")
        ref = bundle.commit if not bundle.everywhere and bundle.commit else bundle.ref
        content = read_commit(
            program, bundle.address, ref=ref, folder=bundle.folder, environ=os.environ
        )
    if not content.files:
        raise ConfigurationError(
            "The bundle contains no files.", hint="Name its folder with --folder."
        )
    return content


def _source(values: Values) -> "Bundle":
    """Return the bundle to add: as the present folder names it, an address, or a folder."""
    from sam_tui.adapters.bundles.git import is_address, require_address
    from sam_tui.adapters.bundles.store import Bundle

    source, ref, folder = values["source"], values["ref"] or "", values["folder"].strip("/")
    if ".." in folder.split("/") or ":" in folder:
        raise UsageError("--folder must be a folder of the repository, without “..”.")
    if not (is_address(source) or "/" in source or os.path.isdir(source)):
        return _of_project(values)
    if is_address(source):
        require_address(source, ref)
        return Bundle(values["name"], source, "", ref, folder)
    if ref:
        raise UsageError(
            "--ref needs a repository address, such as file:///… for one on this machine."
        )
    return Bundle(values["name"], os.path.realpath(os.path.join(str(source), folder)), "")


def _of_project(values: Values) -> "Bundle":
    """A bundle that the folder names. Raises ``UsageError``."""
    named, why = _project(values)
    for bundle in named:
        if bundle.name == values["source"]:
            return bundle
    what = f"{values['source']!r} is not a folder, and this folder names no such bundle."
    raise UsageError(what, hint=why)


def _project(values: Values) -> "tuple[Sequence[Bundle], str]":
    """The bundles that the folder names, and why none of them count."""
    from sam_tui.adapters.bundles.store import project_bundles
    from sam_tui.adapters.policy import FileTrust
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.folders import PROJECT_BUNDLES

    root = os.path.realpath(workspace_of(values))
    store = FileTrust(_config_dir(values))
    trust = FolderTrust(root, store, store.state(root))
    try:
        named = project_bundles(trust)
    except (ConfigurationError, UsageError) as why:
        return (), str(why)
    if not trust.trusted and os.path.lexists(os.path.join(root, PROJECT_BUNDLES)):
        return (), "The bundles that this folder names are not active: it is not trusted."
    return named, ""


def _described(bundle: "Bundle", folder: "BundleFolder", content: "BundleContent") -> Iterator[str]:
    """Yield a description of a bundle, and all of it that would run or instruct."""
    from sam_tui.adapters.bundles.manifest import manifest_of, unread_of

    manifest = manifest_of(content)
    words = " ".join(filter(None, (bundle.name, manifest.get("version", ""))))
    yield f"{words}: {manifest.get('description', 'it says nothing of itself')}"
    yield f"  from     {_whence(bundle)}"
    yield f"  digest   {bundle.digest}"
    yield from _instructing(folder)
    yield from _running(folder)
    yield from (f"  left out {why}" for why in (*unread_of(content), *content.left_out))
    runs = sum(digest.startswith("x") for digest in bundle.files.values())
    alone = "1 file, a program" if runs else "1 file, no program"
    many = f"{len(bundle.files)} files, {runs} of them programs"
    yield f"  {alone if len(bundle.files) == 1 else many}"


def _instructing(folder: "BundleFolder") -> Iterator[str]:
    from sam_tui.adapters.files import LocalFiles
    from sam_tui.adapters.policy import FileTrust
    from sam_tui.adapters.skills import FileSkills
    from sam_tui.adapters.skills.definitions import DefinitionSources, FileDefinitions
    from sam_tui.core.authorization.trust import FolderTrust

    files, root = LocalFiles(), folder.folder

    nothing = FolderTrust(root, FileTrust(""), "untrusted")
    skills = FileSkills(
        os.path.join(root, ".none"), nothing, files=files, clean=str, bundles=lambda: (folder,)
    ).listing()
    yield from (f"  skill    {skill.name}  {skill.description}" for skill in skills.skills)
    sources = DefinitionSources((), files, nothing, str, lambda: (folder,))
    definitions = FileDefinitions(sources)
    problems = [*skills.problems]
    kinds: tuple[DefinitionKind, ...] = ("commands", "agents")
    for kind in kinds:
        listing = definitions.listing(kind)
        yield from (f"  {kind[:-1]:<8} {d.name}  {d.description}" for d in listing.definitions)
        problems += listing.problems
    yield from (f"  not used {os.path.relpath(p.file, root)}: {p.reason}" for p in problems)


def _running(folder: "BundleFolder") -> Iterator[str]:
    from sam_tui.adapters.hooks.library import BUNDLE_FILE
    from sam_tui.adapters.hooks.parser import parse_hooks
    from sam_tui.adapters.mcp_client.servers.server_files import bundle_servers
    from sam_tui.adapters.terminal.processes.environment import PROVIDER_KEYS
    from sam_tui.core.local_files.bounded import read_settings

    path = os.path.join(folder.folder, BUNDLE_FILE)
    try:
        text = read_settings(path, root=folder.folder)
        left_out: list[str] = []
        hooks = parse_hooks(text, BUNDLE_FILE, "bundle", left_out) if text is not None else ()
        yield from (f"  left out {why}" for why in left_out)
        for hook in hooks:
            matcher = f" ({hook.matcher})" if hook.matcher else ""
            yield f"  hook     {hook.event}{matcher}: {hook.command}"
        for file in bundle_servers(folder, os.environ, PROVIDER_KEYS, lambda: True):
            for server in file.read()[0]:
                fault = server.fault.replace(f"{folder.folder}/", "")
                fault = f"  ({fault})" if fault else ""
                yield f"  server   {server.name}: {server.summary}{fault}"
    except ConfigurationError as why:
        yield f"  not used {why}".replace(f"{folder.folder}/", "")


def _changes(old: "BundleContent", new: "BundleContent") -> Iterator[str]:
    """The differences between two contents of a bundle, by file and line."""
    left = _DIFF_LINES
    for name in sorted({*old.files, *new.files}):
        before, after = old.files.get(name), new.files.get(name)
        if before == after:
            continue
        word = "changed" if before and after else "new" if after else "removed"
        yield f"{word}: {name}{' (a program)' if after and after.runs else ''}"
        lines = [*islice(_diff(before, after), left + 1)]
        yield from lines[:left]
        left = max(left - len(lines), 0)
    if not left:
        yield "  […]"


def _diff(before: "BundleFile | None", after: "BundleFile | None") -> Iterator[str]:
    """The lines of a text that differ; none of large or binary files."""
    data = [file.data if file else b"" for file in (before, after)]
    if any(b"\0" in part or len(part) > _DIFFED for part in data):
        return
    texts = [part.decode("utf-8", "replace").splitlines() for part in data]
    for line in islice(difflib.unified_diff(texts[0], texts[1], n=1, lineterm=""), 2, None):
        yield f"  {line}"


def _rows(store: "BundleStore", named: "Sequence[Bundle]") -> "Iterator[tuple[Bundle, str]]":
    """The trusted bundles, then others that the folder names, each with its standing."""
    for bundle in store.bundles():
        yield bundle, _standing(store, bundle)
    trusted = {bundle.digest for bundle in store.bundles()}
    yield from ((bundle, "not added") for bundle in named if bundle.digest not in trusted)


def _standing(store: "BundleStore", bundle: "Bundle") -> str:
    if not store.folder(bundle).intact():
        return "changed"
    return "everywhere" if bundle.everywhere else "where named"


def _whence(bundle: "Bundle") -> str:
    parts = (bundle.ref, bundle.folder, bundle.commit[:12])
    more = ", ".join(filter(None, parts))
    return f"{bundle.address} ({more})" if more else bundle.address


def _named(store: "BundleStore", name: str) -> "Bundle":
    bundle = next((bundle for bundle in store.bundles() if bundle.name == name), None)
    if bundle is None:
        names = ", ".join(bundle.name for bundle in store.bundles()) or "none"
        raise UsageError(f"No bundle is called {name!r}.", hint=f"There are: {names}.")
    return bundle


def _config_dir(values: Values) -> str:
    from sam_tui.adapters.policy import AppFolders

    return AppFolders.of(os.environ, data_dir_of(values)).config_dir


def _store(values: Values) -> "BundleStore":
    from sam_tui.adapters.bundles import BundleStore

    return BundleStore(_config_dir(values))
