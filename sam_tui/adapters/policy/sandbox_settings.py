"""Policy settings of the kernel sandbox: strictness, network, caches, hidden paths, and limits."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, cast

from sam_tui.adapters.policy.tool_settings import proxies_of
from sam_tui.core.authorization.network.hosts import (
    ANY,
    HostEntry,
    entries_of,
)
from sam_tui.core.authorization.policy.judgement import CONNECT
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.authorization.rules.rule import SAVED_PREFIX, Layer, Rule, Subject
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ports.processes.sandbox import (
    DEFAULT_NETWORK,
    NETWORKS,
    CommandLimits,
    HostTerms,
    Network,
    SandboxChoice,
    SandboxPlan,
)

USAGE = "commands"
"""The table of limits in a policy file."""
_STRICTNESS: tuple[SandboxChoice, ...] = ("off", "default", "strict")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)")
_LEAST = {
    "memory": 64 * 1024**2,
    "processes": 16,
    "file_size": 1024**2,
    "open_files": 64,
    "total_memory": 128 * 1024**2,
}
"""The least value of each limit; with less, programs do not start."""
_SIZES = frozenset({"memory", "file_size", "total_memory"})

Fault = Callable[[str, tuple[str | int, ...], str], Exception]


def read_limits(table: Mapping[str, object], fault: Fault) -> Mapping[str, int]:
    """The limits in a settings table, by name. Raises the error that ``fault`` makes for an invalid one."""
    settings = table.get(USAGE, {})
    if not isinstance(settings, dict):
        raise fault("commands is a table", (USAGE,), f"Write [{USAGE}], then {', '.join(_LEAST)}.")
    limits: dict[str, int] = {}
    for name, value in cast("dict[str, object]", settings).items():
        if name not in _LEAST:
            raise fault(f"{name!r} is not a limit", (USAGE, name), f"Known: {', '.join(_LEAST)}.")
        number = _number(name, value)
        if number is None or number < _LEAST[name]:
            form = 'a size such as "8G"' if name in _SIZES else "a whole number"
            hint = f"Write {form}, at least {_LEAST[name]}."
            raise fault(f"{name} cannot be {value!r}", (USAGE, name), hint)
        limits[name] = number
    return limits


def _number(name: str, value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    size = _SIZE.fullmatch(value) if isinstance(value, str) and name in _SIZES else None
    return int(size[1]) * _UNITS[size[2]] if size else None


def tightened(user: Mapping[str, int], project: Mapping[str, int]) -> CommandLimits:
    """The limits of the person or the defaults, each lowered to the project's if that is lower."""
    limits = CommandLimits(**user)
    lower = {name: value for name, value in project.items() if value < getattr(limits, name)}
    return CommandLimits(**{**user, **lower})


KEYS = ("sandbox", "network", "hosts", "caches", "environment", USAGE)
"""The keys of a policy file about the sandbox."""
CACHES: Mapping[str, tuple[str, ...]] = {
    "bun": (".bun/install/cache",),
    "cargo": (".cargo/registry", ".cargo/git"),
    "ccache": (".cache/ccache", ".ccache"),
    "composer": (".cache/composer",),
    "deno": (".cache/deno",),
    "go": ("go/pkg/mod", ".cache/go-build"),
    "gradle": (".gradle/caches", ".gradle/wrapper"),
    "maven": (".m2/repository",),
    "npm": (".npm",),
    "nuget": (".nuget/packages",),
    "pip": (".cache/pip", "Library/Caches/pip"),
    "pnpm": (".local/share/pnpm/store", ".cache/pnpm"),
    "poetry": (".cache/pypoetry",),
    "pre-commit": (".cache/pre-commit",),
    "uv": (".cache/uv", ".local/share/uv"),
    "yarn": (".cache/yarn", ".yarn/berry/cache"),
}
"""Cache folders that a person can open to commands, by program; relative to the home folder."""
REDIRECTED: Mapping[str, str] = {
    "BUN_INSTALL_CACHE_DIR": "bun",
    "CCACHE_DIR": "ccache",
    "COMPOSER_CACHE_DIR": "composer",
    "GOCACHE": "go",
    "NUGET_PACKAGES": "nuget",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "YARN_CACHE_FOLDER": "yarn",
    "npm_config_cache": "npm",
}
"""Variables that move the cache of a program, for caches whose content can be downloaded again."""
_KERNEL_FOLDERS = ("/proc/", "/dev/")
"""Folders of the kernel. Their secrets are protected in other ways, and their entries change constantly."""

_VARIABLE = re.compile(r"[A-Za-z_*?][A-Za-z0-9_*?]*")


@dataclass(frozen=True, slots=True)
class SandboxTerms:
    """The sandbox settings of one file, or of all files together; None where nothing is set.

    ``hosts`` is the list to which the network is limited, if it is one, and ``lists`` all lists of several
    files together. ``caches`` are names of ``CACHES``, ``passed`` names of variables, with ``*`` and ``?``.
    """

    kind: SandboxChoice | None = None
    network: Network | None = None
    caches: tuple[str, ...] = ()
    hosts: tuple[str, ...] | None = None
    lists: tuple[tuple[str, ...], ...] = ()
    passed: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """The limits of commands, by name: bytes or numbers."""


UNSAID = SandboxTerms()
ANYWHERE_ASKED = HostTerms()


def read_terms(table: Mapping[str, Any], layer: Layer, fault: Fault) -> SandboxTerms:
    """Read the terms in a file. Raises the exception of ``fault`` for an invalid value."""
    caches = _caches(table, layer, fault)
    kinds = ("strict",) if layer == "project" else ("default", "strict")
    networks = ("hosts", "off") if layer == "project" else NETWORKS
    for key, allowed in (("sandbox", kinds), ("network", networks)):
        if key in table and table[key] not in allowed:
            why = "off needs the flag --sandbox off. " if key == "sandbox" else ""
            hint = f"{why}A {layer} policy may set: {', '.join(allowed)}."
            raise fault(f"{key} cannot be {table[key]!r} here", (key,), hint)
    return SandboxTerms(
        table.get("sandbox"),
        table.get("network"),
        caches,
        _hosts(table, fault),
        passed=_passed(table, layer, fault),
        limits=read_limits(table, fault),
    )


def _caches(table: Mapping[str, object], layer: Layer, fault: Fault) -> tuple[str, ...]:
    if "caches" in table and layer == "project":
        raise fault("a project cannot open caches", ("caches",), "Your own policy can.")
    entries = table.get("caches", [])
    names: list[str] = []
    for name in cast("list[object]", entries) if isinstance(entries, list) else [entries]:
        if not isinstance(name, str) or name not in CACHES:
            raise fault(f"{name!r} is not a cache", ("caches",), f"Known: {', '.join(CACHES)}.")
        names.append(name)
    return tuple(names)


def _passed(table: Mapping[str, object], layer: Layer, fault: Fault) -> tuple[str, ...]:
    if "environment" not in table:
        return ()
    hint = 'Write [environment] and below it pass = ["GITHUB_TOKEN", "AWS_*"].'
    if layer == "project":
        raise fault("a project cannot pass variables", ("environment",), "Your own policy can.")
    table_value = table["environment"]
    if not isinstance(table_value, dict):
        raise fault("environment is a table", ("environment",), hint)
    entries = cast("dict[str, object]", table_value)
    for key in entries:
        if key != "pass":
            raise fault(f"unknown key “{key}”", ("environment", key), hint)

    def no_name(value: object) -> Exception:
        return fault(f"{value!r} cannot be the name of a variable", ("environment", "pass"), hint)

    names = entries.get("pass", [])
    if not isinstance(names, list):
        raise no_name(names)
    for name in cast("list[object]", names):
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise no_name(name)
    return tuple(cast("list[str]", names))


def _hosts(table: Mapping[str, object], fault: Fault) -> tuple[str, ...] | None:
    if "hosts" not in table:
        return None
    entries = table["hosts"]
    for name in cast("list[object]", entries) if isinstance(entries, list) else [entries]:
        hint = 'Write names and addresses: hosts = ["example.org", "*.example.org", "10.0.0.1:80"].'
        if not isinstance(name, str) or not isinstance(entries, list):
            raise fault(f"hosts has to be a list of texts, not {name!r}", ("hosts",), hint)
        if name.strip() == ANY:
            raise fault("a list cannot contain every host", ("hosts",), 'network = "on".')
        try:
            HostEntry.of(name)
        except ValueError as error:
            raise fault(f"{name!r}: {error}", ("hosts",), hint) from None
    return tuple(cast("list[str]", entries))


def _host_lists(project: SandboxTerms, user: SandboxTerms) -> Iterator[tuple[str, ...]]:
    """The lists in force together: the person's, unless only the project limits the network to a list."""
    mine = user.network or DEFAULT_NETWORK
    if mine == "hosts" or project.network != "hosts":
        yield user.hosts or ()
    if project.network == "hosts":
        yield project.hosts or ()


def merged(chosen: SandboxTerms, project: SandboxTerms, user: SandboxTerms) -> SandboxTerms:
    """Flags before files; of the files the stricter. A project's list of hosts tightens the person's."""
    every = (chosen, project, user)
    mine = user.network or DEFAULT_NETWORK
    stricter = NETWORKS[max(map(NETWORKS.index, (mine, project.network or mine)))]
    return SandboxTerms(
        chosen.kind or project.kind or user.kind,
        chosen.network or stricter,
        tuple(dict.fromkeys(chain.from_iterable(terms.caches for terms in every))),
        lists=tuple(_host_lists(project, user)),
        passed=user.passed,
        limits=asdict(tightened(user.limits, project.limits)),
    )


def held_to(
    least: SandboxTerms, terms: SandboxTerms, chosen: SandboxTerms, source: str
) -> SandboxTerms:
    """The terms, no wider than an administrator's. Raises ``ConfigurationError`` for a wider flag."""
    orders: tuple[tuple[str, Sequence[str]], ...] = (
        ("sandbox", _STRICTNESS),
        ("network", NETWORKS),
    )
    names: dict[str, str | None] = {}
    for (name, order), minimum, flag, value in zip(
        orders,
        (least.kind, least.network),
        (chosen.kind, chosen.network),
        (terms.kind, terms.network),
        strict=True,
    ):
        if minimum and flag and order.index(flag) < order.index(minimum):
            raise ConfigurationError(
                f"{source} does not allow --{name} {flag}.",
                hint=f"The weakest setting allowed is {minimum!r}.",
            )
        names[name] = max((v for v in (minimum, value) if v), key=order.index, default=None)
    lists = () if least.hosts is None or least.network != "hosts" else (least.hosts,)
    limits = asdict(tightened(terms.limits, least.limits))
    return replace(
        terms,
        kind=cast("SandboxChoice | None", names["sandbox"]),
        network=cast("Network | None", names["network"]),
        lists=(*terms.lists, *lists),
        limits=limits,
    )


def cache_folders(names: Sequence[str], home: str) -> tuple[str, ...]:
    """The real paths of the opted-in caches; the usual folder of each is made if it is missing.

    The first folder of each program is its usual one; it is made, so that a command can fill it.
    """
    paths: list[str] = []
    for name in names if home else ():
        folders = [os.path.join(home, name_below) for name_below in CACHES[name]]
        if not any(os.path.isdir(folder) for folder in folders):
            os.makedirs(folders[0], exist_ok=True)
        paths += [os.path.realpath(folder) for folder in folders if os.path.isdir(folder)]
    return tuple(paths)


def sandbox_plan(
    terms: SandboxTerms, policy: Policy, home: str, *, local: Sequence[str] = ()
) -> SandboxPlan:
    """Return the plan: it hides secrets and the program's own data, unless the person's rules open them.

    ``local`` are servers that may be reached although they are not public.
    """
    hidden, opened = _hidden(policy)
    return SandboxPlan(
        terms.kind or "default",
        hidden,
        opened,
        cache_folders(terms.caches, home),
        terms.network or DEFAULT_NETWORK,
        host_terms(terms, policy, tuple(local), home),
        _redirected(terms.caches),
        terms.passed,
        CommandLimits(**terms.limits),
    )


def _hidden(policy: Policy) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths hidden from commands, and the readable exceptions below them."""
    secret_paths = policy.secrets.paths if policy.secrets is not None else ()
    now = policy.clock()

    def readable(path: str) -> bool:
        return policy.rules.unlocks(Subject("commands.read", "read", path), now) is not None

    paths = [
        path for path in (*secret_paths, *policy.protected) if not path.startswith(_KERNEL_FOLDERS)
    ]
    hidden = tuple(path for path in dict.fromkeys(paths) if not readable(path))
    below = tuple(f"{path}/" for path in hidden)
    opened = [path for path in _exact_paths(policy) if path.startswith(below) and readable(path)]
    return hidden, (*opened, *filter(os.path.isdir, policy.shared))


def _exact_paths(policy: Policy) -> Iterator[str]:
    """The paths that rules name without a pattern."""
    patterns = (rule.path for rule in policy.rules.rules if rule.path)
    return (pattern.fixed for pattern in patterns if not pattern.tail)


def _redirected(opened: Sequence[str]) -> Mapping[str, str]:
    """Variables that move caches, so that an install needs no question for every file that it caches."""
    return {
        variable: f"caches/{name}"
        for variable, name in REDIRECTED.items()
        if name not in opened and variable not in os.environ
    }


def host_terms(terms: SandboxTerms, policy: Policy, local: tuple[str, ...], home: str) -> HostTerms:
    """The host lists, the first with the hosts that the person's rules allow; others are asked about.

    Hosts allowed in a question are left to the guard, which learns when the person revokes that.
    """
    about = [rule for rule in policy.rules.rules if rule.about_hosts and rule.concerns(CONNECT)]
    allowed = _entries(rule for rule in about if rule.effect == "allow" and _stands(rule))
    judged = _entries(rule for rule in about if rule.effect != "allow")
    first, *further = terms.lists or ((),)
    lists = ((*first, *local, *allowed), *further)
    proxies = proxies_of(os.environ, home, changeable=policy.roots)
    return HostTerms(lists, local, judged, proxies=proxies)


def _stands(rule: Rule) -> bool:
    """Whether the person wrote the rule by hand, and it holds at all times."""
    return rule.layer == "user" and rule.window.always and not rule.id.startswith(SAVED_PREFIX)


def _entries(rules: Iterable[Rule]) -> tuple[str, ...]:
    return tuple(entry for rule in rules for entry in entries_of(rule.host or ANY))
