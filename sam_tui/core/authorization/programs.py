"""One program with its words -> what class of command it is, and why."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sam_tui.core.authorization import shell_table as table
from sam_tui.core.authorization.git_commands import git_traits
from sam_tui.core.ports.policy import Word

CommandClass = Literal["read-only", "workspace-write", "network", "destructive", "privileged"]
COMMAND_CLASSES: tuple[CommandClass, ...] = (
    "read-only",
    "workspace-write",
    "network",
    "destructive",
    "privileged",
)
"""From the lightest to the heaviest."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a program does. ``known`` says that it touches nothing but the paths it names."""

    classes: frozenset[CommandClass]
    why: str
    known: bool = True


def traits(kind: CommandClass, why: str, *more: CommandClass, known: bool = True) -> Traits:
    """Traits of one or more classes."""
    return Traits(frozenset((kind, *more)), why, known)


def classify(name: str, words: Sequence[Word]) -> Traits:
    """What ``name`` with all its ``words`` (itself first) does, wrappers not looked into."""
    texts = [word.text for word in words]
    rest = words[1:]
    if _asks_version(name, texts):
        return traits("read-only", f"{name} tells its version")
    if name in _SPECIAL:
        return _SPECIAL[name](rest)
    if name == "git":
        return _git(words)
    if name in table.CALM_SUBCOMMANDS and _calm(name, texts):
        return traits("read-only", f"{name} {' '.join(texts[1:2])} only looks")
    if name in table.DESTRUCTIVE or name.startswith("mkfs."):
        return traits("destructive", f"{name} overwrites")
    if name in table.PRIVILEGED:
        return traits("privileged", f"{name} changes the system or leaves the sandbox")
    if name in table.FLAG_SENSITIVE:
        return _flag_sensitive(name, rest)
    if name in table.READ_ONLY:
        return traits("read-only", f"{name} only reads")
    if name in table.WRITES:
        return _writes(name, texts[1:])
    return _elsewhere(name, texts)


def _asks_version(name: str, texts: Sequence[str]) -> bool:
    return name in table.VERSIONED and len(texts) == 2 and texts[1] in ("--version", "-V", "--help")


def _subcommand(texts: Sequence[str]) -> str:
    return next((text for text in texts[1:] if not text.startswith("-")), "")


def _calm(name: str, texts: Sequence[str]) -> bool:
    calm = table.CALM_SUBCOMMANDS[name].split()
    return len(texts) > 1 and texts[1] in calm


def _elsewhere(name: str, texts: Sequence[str]) -> Traits:
    """Network programs, package managers, and whatever is not known."""
    sub = _subcommand(texts)
    outward = table.OUTWARD.get(name, "").split()
    if outward == ["*"] or sub in outward:
        why = f"{name} {sub} changes something elsewhere for good"
        return traits("destructive", why, "network", known=False)
    if name in table.NETWORK and not (name == "rsync" and not _remote(texts)):
        return traits("network", f"{name} reaches the network", known=False)
    reaching = table.NETWORK_SUBCOMMANDS.get(name, "").split()
    if reaching == ["*"] or (sub and sub in reaching):
        return traits("network", f"{name} {sub} reaches the network", known=False)
    if name == "rsync" and any(text.startswith("--del") for text in texts):
        return traits("destructive", "rsync deletes what is not at the source", known=False)
    return traits("workspace-write", f"{name or 'it'} may write", known=False)


def _remote(texts: Sequence[str]) -> bool:
    return any(":" in text and not text.startswith("-") for text in texts[1:])


def _flag_sensitive(name: str, rest: Sequence[Word]) -> Traits:
    flags, effect = table.FLAG_SENSITIVE[name]
    if any(not word.static for word in rest):
        return traits("workspace-write", f"{name} with words that are not known yet", known=False)
    texts = [word.text for word in rest]
    if any(_has_flag(text, flags) for text in texts) or _sets(name, texts):
        if effect == "privileged":
            return traits("privileged", f"{name} with these options changes the system")
        return traits("workspace-write", f"{name} with these options writes or runs something")
    return traits("read-only", f"{name} only reads")


def _sets(name: str, texts: Sequence[str]) -> bool:
    """A bare word that sets something: ``hostname new``, ``date 01010101``; ``less +!cmd`` runs it."""
    if name == "hostname":
        return any(not text.startswith("-") for text in texts)
    if name == "date":
        return any(text[:1].isdigit() for text in texts)
    return name == "less" and any(text.startswith("+") for text in texts)


def _has_flag(text: str, flags: Sequence[str]) -> bool:
    """Whether a word is one of the flags: alone, with a value attached, or among short ones."""
    if text.startswith("--"):
        name = text.partition("=")[0]
        return any(
            flag.startswith("--") and len(name) > 3 and flag.startswith(name) for flag in flags
        )
    if text.startswith("-") and len(text) > 1:
        return any(flag == text or (len(flag) == 2 and flag[1] in text[1:]) for flag in flags)
    return False


def _git(words: Sequence[Word]) -> Traits:
    found, why = git_traits([word.text for word in words])
    if not found and any(not word.static for word in words):
        return traits("workspace-write", "git with words that are not known yet", known=False)
    classes: set[CommandClass] = {c for c in COMMAND_CLASSES if c in found}
    return Traits(frozenset(classes or {"read-only"}), why, known=False)


def _writes(name: str, texts: Sequence[str]) -> Traits:
    recursive = any(
        text == "--recursive" or (text[:1] == "-" and text[1:2] != "-" and "R" in text)
        for text in texts
    )
    if name in ("chmod", "chown", "chgrp") and recursive:
        return traits("destructive", f"{name} -R changes everything below")
    return traits("workspace-write", f"{name} writes")


def _remove(rest: Sequence[Word]) -> Traits:
    """``rm`` asks where it is recursive and forced, or aims at everything; not for a build folder."""
    texts = [word.text for word in rest]
    options = [text for text in texts if text.startswith("-") and text != "--"]
    short = "".join(text[1:] for text in options if not text.startswith("--"))
    recursive = "r" in short.lower() or "--recursive" in options
    forced = "f" in short or "--force" in options
    targets = [word for word in rest if not word.text.startswith("-")]
    if "--no-preserve-root" in options or (recursive and any(_everything(t) for t in targets)):
        return traits("destructive", "rm would delete everything there")
    if recursive and forced and not all(_regenerable(word) for word in targets):
        return traits("destructive", "rm -rf deletes without asking")
    return traits("workspace-write", "rm deletes files")


def _everything(word: Word) -> bool:
    """A target that stands for a whole folder: ``.``, ``*``, ``/``, ``~`` and what goes up."""
    text = word.text.rstrip("/") or "/"
    last = text.rpartition("/")[2]
    return (
        text in ("/", "~", ".", "..")
        or last in ("..", "*", ".*", ".git", ".")
        or (not word.static and not word.text.strip("\"'").rpartition("/")[2].strip("${}"))
    )


def _regenerable(word: Word) -> bool:
    text = word.text.rstrip("/")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not word.static or not parts or text.startswith(("/", "~")) or ".." in parts:
        return False
    last = parts[-1]
    return last in table.REGENERABLE or last.endswith((".egg-info", ".pyc", ".tmp", ".log"))


_SED_SAFE = re.compile(
    r"(?:\s*(?:[\d$]+|/(?:[^/\\]|\\.)*/)?(?:,(?:[\d$+~]+|/(?:[^/\\]|\\.)*/))?\s*!?\s*"
    r"(?:[pdq=lnNDPgGhHx]|s([|/#,@:!])(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1[gpiI0-9]*)\s*(?:;|$|\n))+"
)


def _sed(rest: Sequence[Word]) -> Traits:
    """``sed`` reads unless it edits in place, or its script writes or runs something."""
    scripts: list[str] = []
    previous = ""
    for word in rest:
        text = word.text
        if not word.static or _has_flag(text, ("-i", "--in-place", "-f", "--file")):
            return traits("workspace-write", "sed may write", known=word.static)
        if previous in ("-e", "--expression"):
            scripts.append(text)
        elif text.startswith("--expression="):
            scripts.append(text.partition("=")[2])
        elif not text.startswith("-") and not scripts and previous not in ("-l", "--line-length"):
            scripts.append(text)
        previous = text
    if all(_SED_SAFE.fullmatch(script.strip()) for script in scripts):
        return traits("read-only", "sed only reads")
    return traits("workspace-write", "the sed script may write or run something", known=False)


def _awk(rest: Sequence[Word]) -> Traits:
    """``awk`` reads unless its program writes, pipes, or runs something."""
    texts = [word.text for word in rest]
    flags = (
        "-f",
        "--file",
        "-i",
        "--include",
        "-l",
        "--load",
        "-E",
        "--exec",
        "-e",
        "-o",
        "-d",
        "-p",
    )
    if any(not w.static for w in rest) or any(_has_flag(t, flags) for t in texts if t[:1] == "-"):
        return traits("workspace-write", "awk with a program that is not known yet", known=False)
    programs = [text for text in texts if not text.startswith("-")]
    if any(re.search(r"system|\||>|getline|@|close\s*\(", program) for program in programs):
        return traits("workspace-write", "the awk program may write or run something", known=False)
    return traits("read-only", "awk only reads")


def _find(rest: Sequence[Word]) -> Traits:
    """``find`` itself; what ``-exec`` runs is judged as a command of its own."""
    if any(not word.static for word in rest):
        return traits("workspace-write", "find with words that are not known yet", known=False)
    texts = {word.text for word in rest}
    if "-delete" in texts:
        return traits("destructive", "find -delete deletes everything it finds")
    if any(text.startswith("-fprint") or text == "-fls" for text in texts):
        return traits("workspace-write", "find writes its list")
    return traits("read-only", "find only reads")


def _uniq(rest: Sequence[Word]) -> Traits:
    """``uniq IN OUT`` and ``xxd IN OUT`` write their second operand."""
    operands = [word for word in rest if not word.text.startswith("-")]
    if len(operands) > 1 or any(not word.static for word in rest):
        return traits("workspace-write", "the second file is written")
    return traits("read-only", "it only reads")


def _tar(rest: Sequence[Word]) -> Traits:
    texts = [word.text for word in rest]
    first = texts[0].lstrip("-") if texts else ""
    listing = "--list" in texts or ("t" in first and not set(first) & set("xcruA"))
    runs = any(
        t.startswith(("--to-command", "--checkpoint-action", "--use-compress", "-I", "-F"))
        for t in texts
    )
    if listing and not runs and all(word.static for word in rest):
        return traits("read-only", "tar lists an archive")
    return traits("workspace-write", "tar writes", known=not runs)


def _unzip(rest: Sequence[Word]) -> Traits:
    if any(_has_flag(word.text, ("-l", "-Z", "-v")) for word in rest):
        return traits("read-only", "unzip lists an archive")
    return traits("workspace-write", "unzip writes")


def _fd(rest: Sequence[Word]) -> Traits:
    if any(not w.static or _has_flag(w.text, ("-x", "-X", "--exec", "--exec-batch")) for w in rest):
        return traits("workspace-write", "fd runs a command for what it finds", known=False)
    return traits("read-only", "fd only reads")


_SPECIAL: dict[str, Callable[[Sequence[Word]], Traits]] = {
    "rm": _remove,
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "uniq": _uniq,
    "xxd": _uniq,
    "tar": _tar,
    "unzip": _unzip,
}
