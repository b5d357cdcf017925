"""What policy says about the kernel sandbox: how strict it is, the network, caches, and what it hides."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.authorization.policy import Policy
from sam_tui.core.authorization.rules import Layer, Subject
from sam_tui.core.ports.sandbox import Network, SandboxChoice

KEYS = ("sandbox", "network", "caches")
"""Of a policy file."""
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
"""Folders below the home folder that a person can open to commands, by the program that fills them."""
_UNHIDDEN = ("/proc/", "/dev/")
"""Views of the kernel: what is secret there is refused by other means, and lists change all the time."""

Fault = Callable[[str, tuple[str | int, ...], str], Exception]


@dataclass(frozen=True, slots=True)
class SandboxTerms:
    """What one file says, or what follows from all: None where nothing is said.

    ``caches`` are names of ``CACHES``.
    """

    kind: SandboxChoice | None = None
    network: Network | None = None
    caches: tuple[str, ...] = ()


UNSAID = SandboxTerms()


def read_terms(table: Mapping[str, Any], layer: Layer, fault: Fault) -> SandboxTerms:
    """The terms in a file. Raises what ``fault`` makes for a value that cannot stand there."""
    if "caches" in table and layer == "project":
        raise fault("a project cannot open caches", ("caches",), "Your own policy can.")
    given = table.get("caches", [])
    named = cast("list[Any]", given) if isinstance(given, list) else [given]
    for name in named:
        if not isinstance(name, str) or name not in CACHES:
            hint = f"Known: {', '.join(CACHES)}."
            raise fault(f"{name!r} is no cache", ("caches",), hint)
    kinds = ("strict",) if layer == "project" else ("default", "strict")
    networks = ("off",) if layer == "project" else ("on", "off")
    for key, allowed in (("sandbox", kinds), ("network", networks)):
        if key in table and table[key] not in allowed:
            why = "off needs the flag --sandbox off. " if key == "sandbox" else ""
            hint = f"{why}A {layer} policy may set: {', '.join(allowed)}."
            raise fault(f"{key} cannot be {table[key]!r} here", (key,), hint)
    return SandboxTerms(table.get("sandbox"), table.get("network"), tuple(named))


def merged(chosen: SandboxTerms, *layers: SandboxTerms) -> SandboxTerms:
    """Flags before files, and of the files the first that says something."""
    every = (chosen, *layers)
    kinds: list[SandboxChoice] = [terms.kind for terms in every if terms.kind]
    networks: list[Network] = [terms.network for terms in every if terms.network]
    return SandboxTerms(
        kinds[0] if kinds else None,
        networks[0] if networks else None,
        tuple(dict.fromkeys(name for terms in every for name in terms.caches)),
    )


def cache_folders(names: Sequence[str], home: str) -> tuple[str, ...]:
    """Real paths of the opted-in caches that are there, with those made that are usual here.

    The first folder of each program is its usual one; it is made, so that a command can fill it.
    """
    found: list[str] = []
    for name in names if home else ():
        folders = [os.path.join(home, place) for place in CACHES[name]]
        if not any(os.path.isdir(folder) for folder in folders):
            os.makedirs(folders[0], exist_ok=True)
        found += [os.path.realpath(folder) for folder in folders if os.path.isdir(folder)]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """How commands are held: paths they may not read, what of it they may, caches they may fill."""

    kind: SandboxChoice = "default"
    secrets: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()


def sandbox_plan(terms: SandboxTerms, policy: Policy, home: str) -> SandboxPlan:
    """Secrets and the program's own data are hidden, but for what rules of the person open now."""
    places = policy.secrets.places if policy.secrets is not None else ()
    now = policy.clock()

    def readable(path: str) -> bool:
        return policy.rules.unlocks(Subject("commands.read", "read", path), now) is not None

    kept = tuple(
        place
        for place in dict.fromkeys((*places, *policy.protected))
        if not place.startswith(_UNHIDDEN) and not readable(place)
    )
    below = tuple(f"{place}/" for place in kept)
    named = [rule.path.fixed for rule in policy.rules.rules if rule.path and not rule.path.rest]
    opened = tuple(path for path in named if path.startswith(below) and readable(path))
    opened += tuple(path for path in policy.shared if os.path.isdir(path))
    return SandboxPlan(terms.kind or "default", kept, opened, cache_folders(terms.caches, home))
