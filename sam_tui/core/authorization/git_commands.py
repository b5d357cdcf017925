"""What a git command does: most only look or commit; some throw work away or reach a remote."""

from collections.abc import Sequence

from sam_tui.core.authorization.shell_table import names

_LOOKING = names("""
    status log diff show rev-parse rev-list ls-files ls-tree cat-file blame annotate describe
    shortlog name-rev merge-base for-each-ref count-objects diff-tree diff-index diff-files
    check-ignore check-attr whatchanged help version var show-ref show-branch cherry range-diff
    verify-commit verify-tag fsck get-tar-commit-id
    """)
_REMOTE = names("fetch pull push clone ls-remote request-pull send-email")
_LISTING = {
    "branch": "-a -r -v -vv --list -l --all --remotes --show-current --contains --merged --no-merged",
    "tag": "-l --list -n --contains --points-at --merged",
    "stash": "list show",
    "remote": "-v --verbose get-url",
    "worktree": "list",
    "submodule": "status summary",
    "reflog": "show exists",
    "notes": "list show",
    "bisect": "log view visualize",
    "config": "--get --get-all --list -l --get-regexp get list --show-origin",
    "symbolic-ref": "",
    "sparse-checkout": "list",
}
_ALONE_LISTS = frozenset(("branch", "tag", "remote", "reflog", "notes"))
_THROWS_AWAY: dict[str, tuple[str, ...]] = {
    "reset": ("--hard", "--merge", "--keep"),
    "checkout": ("-f", "--force", "--", "."),
    "switch": ("-f", "--force", "--discard-changes"),
    "branch": ("-D", "-d", "--delete", "-M"),
    "tag": ("-d", "--delete"),
    "stash": ("drop", "clear"),
    "reflog": ("expire", "delete"),
    "worktree": ("--force", "-f"),
    "update-ref": ("-d",),
    "rm": ("-f", "--force", "-rf", "-fr"),
    "gc": ("--prune=now", "--aggressive"),
}
_ALWAYS_THROWS_AWAY = names("filter-branch filter-repo prune")
_FORCE = ("-f", "--force", "--force-with-lease", "--delete", "-d", "--mirror", "--prune")
_VALUED = ("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix")
_CODE = ("-c", "--config-env", "--exec-path")
_RUNS = (
    "--ext-diff",
    "--textconv",
    "-O",
    "--open-files-in-pager",
    "--output",
    "--upload-pack",
    "--exec",
)


def git_subcommand(words: Sequence[str]) -> tuple[int, bool]:
    """Where the subcommand stands in ``git …``, and whether options before it may run code."""
    index, code = 1, False
    while index < len(words) and words[index].startswith("-"):
        option = words[index].partition("=")[0]
        code = code or option in _CODE
        index += 2 if option in (*_VALUED, "-c", "--config-env") and "=" not in words[index] else 1
    return index, code


def git_traits(words: Sequence[str]) -> tuple[set[str], str]:
    """Classes and a reason for the words of a git command; empty classes say that it only reads."""
    at, code = git_subcommand(words)
    if at >= len(words):
        return set(), "git"
    name, rest = words[at], list(words[at + 1 :])
    title = f"git {name}"
    if name in _ALWAYS_THROWS_AWAY or _throws_away(name, rest):
        return {"destructive"}, f"{title} can throw work away"
    if name == "push":
        return _push(rest)
    if name in _REMOTE or (name, *rest[:1]) in (
        ("remote", "update"),
        ("remote", "show"),
        ("submodule", "update"),
        ("submodule", "add"),
    ):
        return {"network"}, f"{title} reaches a remote"
    if code:
        return {"workspace-write"}, "a git option may run a program"
    if any(word.partition("=")[0] in _RUNS for word in rest) or (
        name == "grep" and any(word.startswith("-O") for word in rest)
    ):
        return {"workspace-write"}, f"{title} with an option that runs or writes something"
    if name in _LOOKING or (name == "grep") or _lists(name, rest):
        return set(), f"{title} only reads"
    if name == "clean" or (
        name == "archive" and not any(w.startswith(("-o", "--o")) for w in rest)
    ):
        return set(), f"{title} only reads"
    return {"workspace-write"}, f"{title} changes the repository"


def _throws_away(name: str, rest: Sequence[str]) -> bool:
    if name == "clean":
        dry = any(w == "--dry-run" or (_short(w) and "n" in w) for w in rest)
        return not dry
    if name == "restore":
        return not ("--staged" in rest or "-S" in rest) or "--worktree" in rest or "-W" in rest
    return any(word in _THROWS_AWAY.get(name, ()) for word in rest)


def _short(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--")


def _push(rest: Sequence[str]) -> tuple[set[str], str]:
    forced = any(w.partition("=")[0] in _FORCE or w.startswith(("+", ":")) for w in rest)
    clustered = any(_short(w) and ("f" in w or "d" in w) and w != "--" for w in rest)
    if forced or clustered:
        return {"network", "destructive"}, "git push can overwrite or delete what is on the remote"
    return {"network"}, "git push reaches a remote"


def _lists(name: str, rest: Sequence[str]) -> bool:
    if name not in _LISTING:
        return False
    if not rest:
        return name in _ALONE_LISTS
    listing = _LISTING[name].split()
    if name in ("stash", "worktree", "submodule", "reflog", "notes", "bisect", "sparse-checkout"):
        return rest[0] in listing
    if name == "symbolic-ref":
        return len([w for w in rest if not w.startswith("-")]) == 1 and "-d" not in rest
    if name == "remote":
        return rest[0] in listing
    return rest[0] in listing or any(w.partition("=")[0] in listing for w in rest)
