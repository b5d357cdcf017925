"""Programs whose words have to be read one by one before it is clear that they only read."""

import re
from collections.abc import Callable, Sequence

from sam_tui.core.authorization.commands.table import names
from sam_tui.core.authorization.commands.traits import (
    Traits,
    has_flag,
    hides_path,
    known_words,
    only_given,
    traits,
)
from sam_tui.core.ports.policy import Word

_SED_SAFE = re.compile(
    r"(?:\s*+(?:[\d$]+|/(?:[^/\\]|\\.)*+/)?(?:,(?:[\d$+~]+|/(?:[^/\\]|\\.)*+/))?\s*+(?:!\s*+)?"
    r"(?:[pdq=lnNDPgGhHx]|s([|/#,@:!])(?:(?!\1)[^\\]|\\.)*+\1(?:(?!\1)[^\\]|\\.)*+\1[gpiI0-9]*+)"
    r"[^\S\n]*+(?:;|$|\n))+"
)
"""No part of it can be tried twice: a text of blanks and lines would keep the guard for minutes."""


_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SED_OPTIONS = names("""
    -n -E -r -s -u -z --quiet --silent --regexp-extended --posix --debug --separate --unbuffered
    --null-data --expression --line-length
    """)
_AWK_OPTIONS = ("-b", "-n", "--field-separator", "--assign", "--posix", "--re-interval")
_TAR_OPTIONS = names("""
    -t -v -z -j -J -Z -p -O -P -S -R -h --list --file --verbose --gzip --bzip2 --xz --zstd --wildcards
    --no-wildcards --strip-components --full-time --numeric-owner --force-local --exclude --occurrence
    """)
_LESS_OPTIONS = names("-N -R -S -F -X -I -i -e -E -n -s -r -m -M -q -Q")
_IP_OPTIONS = names("-4 -6 -s -d -o -br -brief -j -json -c -color -stats")
_LOOKING_AT_NETWORKS = ("show", "list", "ls", "get")


def _may_write(name: str) -> Traits:
    return traits(
        "workspace-write", f"{name} with these words may write or run something", exact=False
    )


def _reads(name: str) -> Traits:
    return traits("read-only", f"{name} only reads")


def _sed(arguments: Sequence[Word]) -> Traits:
    """``sed`` reads unless it edits in place, or its script writes or runs something."""
    if any(word.static and has_flag(word.text, ("--in-place", "-i")) for word in arguments):
        return traits("workspace-write", "sed edits in place", exact=known_words(arguments))
    if not only_given(arguments, _SED_OPTIONS, valued="el"):
        return _may_write("sed")
    if all(_SED_SAFE.fullmatch(script.strip()) for script in _sed_scripts(arguments)):
        return _reads("sed")
    return traits("workspace-write", "the sed script may write or run something", exact=False)


def _sed_scripts(arguments: Sequence[Word]) -> list[str]:
    """What ``-e`` gives in any spelling; and the first other word, which is the script without one."""
    scripts: list[str] = []
    texts = [word.text for word in arguments]
    for index, text in enumerate(texts):
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            if name == "--expression":
                scripts += [value] if equals else texts[index + 1 : index + 2]
        elif text.startswith("-") and "e" in text:
            scripts += (
                [text.partition("e")[2]] if not text.endswith("e") else texts[index + 1 : index + 2]
            )
    first = next((text for text in texts if not text.startswith("-")), None)
    return scripts if scripts or first is None else [first]


def _awk(arguments: Sequence[Word]) -> Traits:
    """``awk`` reads unless its program writes, pipes, or runs something."""
    if not only_given(arguments, _AWK_OPTIONS, valued="Fv"):
        return _may_write("awk")
    programs = [word.text for word in arguments if not word.text.startswith("-")]
    if any(re.search(r"system|\||>|getline|@|close\s*\(", program) for program in programs):
        return traits("workspace-write", "the awk program may write or run something", exact=False)
    return _reads("awk")


def _find(arguments: Sequence[Word]) -> Traits:
    """``find`` itself; what ``-exec`` runs is judged as a command of its own."""
    texts = {word.text for word in arguments}
    if "-delete" in texts:
        return traits("destructive", "find -delete deletes everything it finds")
    if not known_words(arguments):
        return traits("workspace-write", "find with words that are not known yet", exact=False)
    if any(text.startswith("-fprint") or text == "-fls" for text in texts):
        return traits("workspace-write", "find writes its list")
    return _reads("find")


def _uniq(arguments: Sequence[Word]) -> Traits:
    """``uniq IN OUT`` and ``xxd IN OUT`` write their second operand."""
    operands = [word for word in arguments if not word.text.startswith("-") or word.text == "-"]
    ended = any(word.text == "--" for word in arguments)
    if len(operands) > 1 or ended or any(word.pattern or not word.static for word in arguments):
        return traits("workspace-write", "the second file is written")
    return _reads("it")


def _tar(arguments: Sequence[Word]) -> Traits:
    """``tar`` only lists where it has no other work, runs no program and asks no other machine."""
    first = arguments[0] if arguments else Word("")
    dashed = (
        [Word(f"-{first.text}", first.static), *arguments[1:]]
        if first.text[:1] != "-"
        else arguments
    )
    texts = [word.text for word in dashed]
    listing = "--list" in texts or any(t[:2] != "--" and t[:1] == "-" and "t" in t for t in texts)
    elsewhere = any(":" in text for text in texts)
    if listing and not elsewhere and only_given(dashed, _TAR_OPTIONS, valued="fCXT"):
        return traits("read-only", "tar lists an archive")
    exact = only_given(dashed, _TAR_OPTIONS | names("-x -c -r -u -A"), valued="fCXT")
    exact = exact and not elsewhere and not hides_path(texts)
    return traits("workspace-write", "tar writes", exact=exact)


def _unzip(arguments: Sequence[Word]) -> Traits:
    first = arguments[0].text if arguments else ""
    if known_words(arguments) and has_flag(first, ("-l", "-Z", "-v")):
        return traits("read-only", "unzip lists an archive")
    exact = not hides_path([word.text for word in arguments])
    return traits("workspace-write", "unzip writes", exact=exact)


def _less(arguments: Sequence[Word]) -> Traits:
    """``less +!cmd`` runs it, and so may what a file of keys says."""
    commanded = any(word.text.startswith("+") for word in arguments)
    return (
        _reads("less")
        if only_given(arguments, _LESS_OPTIONS) and not commanded
        else _may_write("less")
    )


def _ip(arguments: Sequence[Word]) -> Traits:
    """``ip addr`` tells; with another verb it changes."""
    words = [word.text for word in arguments if not word.text.startswith("-")]
    options = [word for word in arguments if word.text.startswith("-")]
    harmless = len(words) < 2 or words[1] in _LOOKING_AT_NETWORKS
    if known_words(arguments) and harmless and all(word.text in _IP_OPTIONS for word in options):
        return _reads("ip")
    return traits("privileged", "ip changes the network")


def _tmux(arguments: Sequence[Word]) -> Traits:
    """A ``;`` among its words begins another of its commands, and formats run programs."""
    if len(arguments) == 1 and arguments[0].static and arguments[0].text in ("ls", "list-sessions"):
        return _reads("tmux")
    return traits("privileged", "tmux reaches programs that the sandbox does not hold")


def builtin_traits(name: str, arguments: Sequence[Word]) -> Traits:
    """A builtin of the shell that puts values into variables, or looks at one.

    A subscript of the name that it is given is evaluated, and what that holds may be a command.
    """
    texts = [word.text for word in arguments]
    options = [text for text in texts if text[:1] in "-+" and len(text) > 1]
    runs = {
        "jobs": ("-x",),
        "mapfile": ("-C", "-O"),
        "readarray": ("-C", "-O"),
        "declare": ("-n", "-i"),
        "typeset": ("-n", "-i"),
        "local": ("-n", "-i"),
        "unset": ("-f", "-n"),
        "test": ("-v", "-R"),
        "[": ("-v", "-R"),
    }.get(name, ())
    if name == "let" or any(has_flag(text, runs) for text in options):
        return _may_write(name)
    if name in ("test", "["):
        split = any(word.text.startswith("$") for word in arguments if not word.static)
        return _may_write(name) if split else _reads(name)
    if name == "printf" and arguments and arguments[0].static and not texts[0].startswith("-v"):
        return _reads(name)
    named = [word for word in arguments if not _NAMED.match(word.text)]
    plain = known_words(named) and not any("[" in word.text.partition("=")[0] for word in arguments)
    return _reads(name) if plain else _may_write(name)


def variables_set(name: str, arguments: Sequence[Word]) -> list[str]:
    """The variables that a builtin may put something into, by their bare names."""
    if name == "printf":
        spelled = [word.text for word in arguments[:2]]
        if spelled[:1] == ["-v"]:
            return spelled[1:]
        return [text[2:] for text in spelled[:1] if text.startswith("-v")]
    return [
        re.split(r"[=+\[]", word.text)[0] for word in arguments if not word.text.startswith("-")
    ]


CAREFUL: dict[str, Callable[[Sequence[Word]], Traits]] = {
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "find": _find,
    "gfind": _find,
    "uniq": _uniq,
    "xxd": _uniq,
    "tar": _tar,
    "unzip": _unzip,
    "less": _less,
    "ip": _ip,
    "tmux": _tmux,
}
"""Programs by name."""
