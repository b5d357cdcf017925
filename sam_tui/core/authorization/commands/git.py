"""What a git command does: most only look or commit; some throw work away or reach a remote."""

from collections.abc import Sequence

from sam_tui.core.authorization.commands.table import names

_LOOKING = names("""
    status log diff show rev-parse rev-list ls-files ls-tree cat-file blame annotate describe
    shortlog name-rev merge-base for-each-ref count-objects diff-tree diff-index diff-files
    check-ignore check-attr whatchanged version var show-ref show-branch cherry range-diff
    verify-commit verify-tag fsck get-tar-commit-id
    """)
_REMOTE = names("fetch pull push clone ls-remote request-pull send-email")
_VERBS = {
    "stash": "list show",
    "remote": "get-url",
    "worktree": "list",
    "submodule": "status summary",
    "reflog": "show exists",
    "notes": "list show",
    "bisect": "log",
    "sparse-checkout": "list",
}
"""Where the first word after the command says what is done."""
_LISTS = {
    "branch": (
        "-l --list --show-current --contains --no-contains --merged --no-merged --points-at",
        "-a -r -v --all --remotes --verbose --sort --format --column --no-column --color --no-color "
        "--ignore-case -i --abbrev",
    ),
    "tag": (
        "-l --list -n --contains --no-contains --merged --no-merged --points-at",
        "-i --ignore-case --sort --format --column --no-column --color",
    ),
    "config": (
        "--get --get-all --list -l --get-regexp --get-urlmatch",
        "--show-origin --show-scope --name-only --global --local --system --worktree -z --null --bool "
        "--int --path --type --default --includes --no-includes --all --regexp --value",
    ),
}
"""The options that make it a list, and those that leave it one. ``get`` and ``list`` of ``config`` are
words in their place."""
_ALONE_LISTS = frozenset(("branch", "tag", "remote", "reflog", "notes"))
_THROWS_AWAY: dict[str, tuple[str, ...]] = {
    "reset": ("--hard", "--merge", "--keep"),
    "checkout": ("-f", "--force", "--", "."),
    "switch": ("-f", "--force", "--discard-changes"),
    "branch": ("-D", "-d", "--delete", "-M", "-f", "--force", "-C"),
    "tag": ("-d", "--delete"),
    "stash": ("drop", "clear"),
    "reflog": ("expire", "delete"),
    "worktree": ("--force", "-f"),
    "update-ref": ("-d",),
    "rm": ("-f", "--force"),
    "gc": ("--prune", "--aggressive"),
}
_ALWAYS_THROWS_AWAY = names("filter-branch filter-repo prune")
_FORCE = ("-f", "--force", "--force-with-lease", "--delete", "-d", "--mirror", "--prune")
_VALUED = ("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source")
_CODE = ("-c", "--config-env", "--exec-path", "--git-dir")
_ALONE = names("""
    -p -P --paginate --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice --version
    --help --html-path --man-path --info-path
    """)
_RUNS = (
    "--ext-diff",
    "--textconv",
    "-O",
    "--open-files-in-pager",
    "--output",
    "--upload-pack",
    "--exec",
    "--filters",
    "--lost-found",
)


def git_subcommand(words: Sequence[str]) -> tuple[int, bool]:
    """Where the subcommand stands in ``git …``, and whether options before it may run code."""
    index, code = 1, False
    while index < len(words) and words[index].startswith("-"):
        option = words[index].partition("=")[0]
        code = code or option in _CODE or option not in (*_VALUED, *_ALONE)
        index += 2 if option in (*_VALUED, "-c", "--config-env") and "=" not in words[index] else 1
    return index, code


def git_traits(words: Sequence[str]) -> tuple[set[str], str]:
    """Classes and a reason for the words of a git command; empty classes say that it only reads."""
    at, code = git_subcommand(words)
    if at >= len(words):
        return set(), "git"
    name, arguments = words[at], list(words[at + 1 :])
    title = f"git {name}"
    if name in _ALWAYS_THROWS_AWAY or _throws_away(name, arguments):
        return {"destructive"}, f"{title} can throw work away"
    if name == "push":
        return _push(arguments)
    if name in _REMOTE or (name, _verb(arguments)) in (
        ("remote", "update"),
        ("remote", "show"),
        ("remote", "prune"),
        ("submodule", "update"),
        ("submodule", "add"),
    ):
        return {"network"}, f"{title} reaches a remote"
    if name == "archive" and any(w.startswith("--r") for w in arguments):
        return {"network"}, f"{title} reaches a remote"
    if code:
        return {"workspace-write"}, "a git option may run a program"
    if any(_means(word, _RUNS) for word in arguments) or (
        name == "grep" and any(_short(word) and "O" in word for word in arguments)
    ):
        return {"workspace-write"}, f"{title} with an option that runs or writes something"
    if name in _LOOKING or (name == "grep") or _lists(name, arguments):
        return set(), f"{title} only reads"
    if name == "clean" or (
        name == "archive" and not any(w.startswith(("-o", "--o")) for w in arguments)
    ):
        return set(), f"{title} only reads"
    return {"workspace-write"}, f"{title} changes the repository"


def _verb(arguments: Sequence[str]) -> str:
    """The first word that is no option."""
    return next((word for word in arguments if not word.startswith("-")), "")


def _means(word: str, options: Sequence[str]) -> bool:
    """Whether a word is one of the options: as it is, with a value, or a long one abbreviated."""
    name = word.partition("=")[0]
    if name in options:
        return True
    return len(name) > 3 and name.startswith("--") and any(o.startswith(name) for o in options)


def _throws_away(name: str, arguments: Sequence[str]) -> bool:
    if name == "clean":
        return not _only_tells(arguments)
    if name == "restore":
        return not ("--staged" in arguments or "-S" in arguments) or any(
            _means(word, ("--worktree", "-W")) for word in arguments
        )
    options = _THROWS_AWAY.get(name, ())
    letters = {option[1] for option in options if len(option) == 2 and _short(option)}
    return any(
        _means(word, options) or (_short(word) and bool(letters & set(word[1:])))
        for word in arguments
    )


def _only_tells(arguments: Sequence[str]) -> bool:
    """``git clean -n``: not where it could be the value of ``-e``, or a name after ``--``."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    dry = any(w == "--dry-run" or (_short(w) and "n" in w) for w in options)
    return dry and not any((_short(w) and "e" in w) or w.startswith("--e") for w in options)


def _short(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--")


def _push(arguments: Sequence[str]) -> tuple[set[str], str]:
    forced = any(_means(w, _FORCE) or w.startswith(("+", ":")) for w in arguments)
    clustered = any(_short(w) and ("f" in w or "d" in w) and w != "--" for w in arguments)
    if forced or clustered:
        return {"network", "destructive"}, "git push can overwrite or delete what is on the remote"
    return {"network"}, "git push reaches a remote"


def _lists(name: str, arguments: Sequence[str]) -> bool:
    if not arguments:
        return name in _ALONE_LISTS
    if name in _VERBS:
        listing = name == "remote" and all(word in ("-v", "--verbose") for word in arguments)
        return listing or arguments[0] in _VERBS[name].split()
    if name == "symbolic-ref":
        plain = all(w in ("-q", "--quiet", "--short") for w in arguments if w.startswith("-"))
        return plain and len([w for w in arguments if not w.startswith("-")]) == 1
    if name not in _LISTS:
        return False
    making, leaving = (words.split() for words in _LISTS[name])
    options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    options = [
        "-v" if option == "-vv" else "-n" if option[1:2] == "n" else option for option in options
    ]
    if not all(option in (*making, *leaving) for option in options):
        return False
    if name == "config":
        return arguments[0] in ("get", "list") or any(option in making for option in options)
    return len(options) == len(arguments) or any(option in making for option in options)
