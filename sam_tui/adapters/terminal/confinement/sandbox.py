"""The confinement of commands: writable folders, a private temporary folder, and whom to ask."""

import functools
import json
import os
import socket
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace

from sam_tui.adapters.terminal.confinement.processes import Tracking
from sam_tui.adapters.terminal.confinement.rulesets import Rules, Rulesets, linked_repositories
from sam_tui.adapters.terminal.confinement.run import (
    ConfinedRun,
    PreparedRun,
    Supervised,
    Wanted,
    fault,
)
from sam_tui.adapters.terminal.processes.environment import (
    PROVIDER_KEYS,
    Misses,
    nobody,
)
from sam_tui.adapters.terminal.sandbox.ability import (
    SWITCHED_OFF,
    Ability,
    ability,
    describe,
    weaker,
)
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine
from sam_tui.adapters.terminal.sandbox.kernel.devices import SystemLook
from sam_tui.adapters.terminal.sandbox.kernel.entry import enrolment
from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.adapters.terminal.sandbox.kernel.seccomp import program as filter_program
from sam_tui.adapters.terminal.sandbox.seatbelt import seatbelt_command
from sam_tui.adapters.terminal.sandbox.strict import bubblewrap, strict_command
from sam_tui.adapters.terminal.sandbox.supervision import Held, Host, Supervision
from sam_tui.core.authorization.variables import PassedVariables
from sam_tui.core.errors import ConfigurationError, ToolError
from sam_tui.core.local_files.temporary_folders import Scratch
from sam_tui.core.ports.processes.sandbox import (
    NETWORKS,
    Network,
    OutsideAccess,
    ReadTerms,
    SandboxPlan,
)
from sam_tui.core.ports.processes.terminals import Confinement

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_SHARED = ("/dev/pts", "/dev/ptmx", "/dev/shm")
"""Devices for terminals and shared memory. A supervisor opens these itself, and only those of its run."""

_PROVEN: set[Ability] = set()
"""The abilities with which this process has already confined a command."""
_NAMES_BY_STREAM = {"RES_OPTIONS": "use-vc"}
"""Has the C library resolve names over TCP (resolv.conf(5)), which works with every kernel."""


class Sandbox:
    """Confines the commands of one runtime as ``plan`` says.

    The kind strict runs commands under bubblewrap and raises ``ConfigurationError`` where there is none;
    off holds nothing. ``live`` false keeps to Landlock and a fixed filter, a text says where the supervisor
    runs; None finds out. ``abi`` is the newest Landlock to use. ``reads`` is called when a run begins: it
    returns the paths to read without a question. ``warn`` hears which variables a failed command may have
    needed.
    """

    def __init__(
        self,
        plan: SandboxPlan | None = None,
        *,
        live: bool | Host | None = None,
        abi: int | None = None,
        reads: Callable[[], ReadTerms] = ReadTerms,
        warn: Callable[[str], None] = nobody,
    ) -> None:
        self._plan = plan = plan or SandboxPlan()
        off, strict = plan.kind == "off", plan.kind == "strict"
        able = Ability(0, None, "switched off") if off else ability()
        if live is False:
            able = replace(able, host=None, why_not_live="switched off")
        elif isinstance(live, str) and able.host is not None:
            able = replace(able, host=live)
        if abi is not None:
            able = replace(able, landlock=min(able.landlock, abi))
        self._bubblewrap = bubblewrap() if strict else None
        self.secrets = plan.secrets
        """The paths that commands may not read."""
        self.opened = tuple(map(os.path.realpath, plan.opened))
        """Real paths among the secrets that commands may read."""
        self.reads = reads
        self.passed = PassedVariables(plan.passed, PROVIDER_KEYS)
        self.misses = Misses(warn)
        """Reports variables that were withheld and that a failed command may have needed."""
        self.tracking = Tracking(plan.limits)
        """Tracks the processes of all runs."""
        self._scratch: str | None = None
        self._prepared = PreparedRun()
        # Apart from the sandbox, so that it outlives it by a moment.
        self._closing = ExitStack()
        self._closing.callback(self.tracking.close)
        self._trust(able, SWITCHED_OFF if off else describe(able, strict=strict))
        self._closing.callback(self._prepared.drop)
        self._proving = threading.RLock()
        self._close = weakref.finalize(self, self._closing.close)

    def _trust(self, able: Ability, confinement: Confinement) -> None:
        """Confine commands with these abilities from now on."""
        self._ability, self._confinement = able, confinement
        self._proven = able in _PROVEN or confinement.kind == "none"
        self._rulesets = Rulesets(able.landlock)
        self._closing.callback(self._rulesets.close)
        self._supervision = None
        if able.host is not None:
            self._supervision = Supervision(able.host, able.landlock)
            self._closing.callback(self._supervision.close)
        self.tracking.apart = able.host == "process"

    @property
    def expected(self) -> Confinement:
        """The confinement as far as it is known; no trial run is made."""
        return self._confinement

    @property
    def confinement(self) -> Confinement:
        """The confinement of commands. The first call makes a trial run, which takes some milliseconds."""
        with self._proving:
            while not self._proven:
                self._prove()
        return self._confinement

    @property
    def supervises(self) -> bool:
        """Whether a supervisor follows confined terminals; in strict mode, too."""
        return self.confinement.kind != "none" and self._supervision is not None

    def _prove(self) -> None:
        """Make a trial run, and use a weaker confinement if it fails."""
        self._proven = True
        why = fault(lambda folders: self._hold(Wanted(folders)))
        if not why:
            _PROVEN.add(self._ability)
            return
        if self._bubblewrap:
            raise ConfigurationError(
                f"The strict sandbox does not work here: {why}.", hint="Choose --sandbox default."
            )
        able = weaker(self._ability, why)
        self._trust(able, describe(able, strict=False))

    @property
    def scratch(self) -> str:
        """The real path of the private temporary folder; it goes with the sandbox."""
        if self._scratch is None:
            folder = Scratch()
            self._scratch = folder.path
            self._closing.callback(folder.remove)
        return self._scratch

    def warm(self) -> None:
        """Prepare what the first command would have to wait for. Never raises."""
        if self._supervision is not None:
            self._supervision.warm()
        with suppress(ConfigurationError):  # the first command says so
            self.confinement  # noqa: B018

    def settle(self) -> None:
        """Process the supervisor's messages of until now, as the event loop otherwise does."""
        if self._supervision is not None:
            self._supervision.receive()

    def hold(self, terms: Wanted) -> ConfinedRun | None:
        """Prepare one run; None where the kernel can enforce nothing.

        Raises ``ToolError`` when the kernel refuses.
        """
        self.confinement  # noqa: B018 # what holds is found out before the first command
        return self._hold(terms)

    def _hold(self, terms: Wanted) -> ConfinedRun | None:
        match self._confinement.kind:
            case "none":
                return None
            case "bubblewrap":
                return self._wrap(terms, self._bubblewrap)
            case "seatbelt":
                return self._wrap(terms, None)
            case _:
                rules = self._rules(terms)
                return self._take(terms, rules) or self._enter(terms, rules)

    def prepare(self, terms: Wanted, like: ConfinedRun) -> None:
        """Prepare the next run in advance, while one with the same terms runs. Never raises.

        This saves the next command a third of a millisecond. The prepared run is used only if folders,
        secrets and network are as they were when ``like`` began.
        """
        if self._confinement.kind != "live" or self._prepared.waiting or not self._close.alive:
            return
        alike = terms if terms.ask is None else replace(terms, ask=_unattended)
        rules = like.rules if like.rules and self._rulesets.keeps(like.rules.ruleset) else None
        with suppress(ToolError, RuntimeError):
            self._prepared.keep(self._terms(terms), self._enter(alike, rules or self._rules(alike)))

    def _terms(self, terms: Wanted) -> object:
        """The terms that two runs must share so that a prepared run fits both."""
        asks = terms.ask is not None
        return replace(terms, ask=None), asks, self.network(terms.network)

    def _take(self, terms: Wanted, rules: Rules) -> ConfinedRun | None:
        """The run that was prepared in advance, if it has the terms wanted now."""
        confined_run = self._prepared.take(self._terms(terms), rules)
        if confined_run is not None:
            confined_run.handle.attend(terms.ask)
        return confined_run

    def apart(
        self, terms: Wanted, scratch: str
    ) -> "tuple[int, tuple[Supervision, socket.socket] | None] | None":
        """The entry of a session that outlives this program, with a supervisor in another process.

        Returns the descriptor, and the supervision with the supervisor's end where runs are supervised;
        None where the kernel can enforce nothing. ``scratch`` is the session's temporary folder.
        """
        if self._confinement.kind == "none":
            return None
        if not self._ability.holds:
            raise ToolError("This system can confine commands, but not terminals.")
        supervised = (
            Supervision.apart(self._ability.landlock) if self._supervision is not None else None
        )
        supervision = supervised[0] if supervised else None
        entry = self._enter(terms, self._rules(terms, scratch), supervision).descriptor
        return None if entry is None else (entry, supervised)

    def _rules(self, terms: Wanted, scratch: str | None = None) -> Rules:
        """The rules of a run that begins now, made from the present files."""
        look = SystemLook()
        return self._rulesets.of(self._bounds(terms, scratch, look), look)

    def _enter(self, terms: Wanted, rules: Rules, apart: Supervision | None = None) -> ConfinedRun:
        bounds, ruleset = rules.bounds, rules.ruleset.descriptor
        network = self.network(terms.network)
        table = machine()
        if self._supervision is None:
            filters = table if self._ability.filters else None
            return _plain(ruleset, filter_program(filters, network, live=False) if filters else b"")
        assert table is not None
        supervision = apart or self._supervision
        code = filter_program(table, network, live=True, landlock=self._ability.landlock)
        hosts = self._plan.hosts if network == "hosts" else None
        limits = self.tracking.limits.together
        number, handle = supervision.hold(
            bounds, ruleset, code, terms.ask, hosts=hosts, limits=limits
        )
        return ConfinedRun(
            handle,
            functools.partial(supervision.release, number),
            supervised=Supervised(
                rules,
                functools.partial(supervision.begin, number),
                functools.partial(supervision.finish, number),
            ),
        )

    def variables(self, network: Network, scratch: str | None) -> Mapping[str, str]:
        """The variables for a run or terminal with that temporary folder; none without one."""
        if scratch is None:
            return {}
        variables = {name: f"{scratch}/{folder}" for name, folder in self._plan.redirected.items()}
        if self._supervision is not None and self.network(network) == "hosts":
            variables |= _NAMES_BY_STREAM
        return variables

    def network(self, chosen: Network) -> Network:
        """The narrower of the wanted network and the permitted one; a granted network is on."""
        if chosen == "granted":
            return "on"
        return NETWORKS[max(map(NETWORKS.index, (chosen, self._plan.network)))]

    def reached(self, chosen: Network) -> str:
        """Return the network that a run reaches, in words that differ where that does."""
        network = self.network(chosen)
        return network if network != "hosts" else f"hosts {json.dumps(asdict(self._plan.hosts))}"

    def _bounds(self, wanted_terms: Wanted, scratch: str | None, look: SystemLook) -> Bounds:
        supervised = self._supervision is not None
        watched = wanted_terms.folders
        writable = (*watched, *self._plan.caches, scratch or self.scratch)
        terms = self.reads()
        more = wanted_terms.readable + self.opened + linked_repositories(terms.own)
        return Bounds(
            writable,
            _DEVICES if supervised else (*_DEVICES, *_SHARED),
            self.secrets,
            tcp=supervised or self.network(wanted_terms.network) == "on",
            opened=self.opened,
            unwritable=(
                self._rulesets.secrets_within(self.secrets, writable, look) if supervised else ()
            ),
            watched=watched if supervised else (),
            reads=terms.with_own(more) if supervised else ReadTerms(),
        )

    def prefix(self, writable: Sequence[str], network: Network = "on") -> tuple[str, ...]:
        """The words before a terminal's own command line; none where ``ruleset`` confines it."""
        if self._confinement.kind != "seatbelt":
            return ()
        return self._wrap(Wanted(tuple(writable), network=network), None).prefix

    def ruleset(self, terms: Wanted) -> int | None:
        """The entry descriptor of ``hold`` for a run whose end is not reported, such as a terminal.

        Also in strict mode: Landlock and the supervisor confine terminals.
        """
        if self._confinement.kind in ("none", "seatbelt"):
            return None
        if not self._ability.holds:
            raise ToolError("This system can confine commands, but not terminals.")
        return self._enter(terms, self._rules(terms)).descriptor

    def _wrap(self, terms: Wanted, program: str | None) -> ConfinedRun:
        """Put bubblewrap, or sandbox-exec where ``program`` is None, before the command line."""
        folders = (*terms.folders, *self._plan.caches, self.scratch)
        bounds = Bounds(folders, secrets=self.secrets, opened=self.opened, reads=self.reads())
        network = self.network(terms.network)
        if program is None:
            prefix = seatbelt_command(bounds, network, self._plan.hosts)
            return ConfinedRun(Held(-1), _nothing, prefix=prefix)
        code, release = -1, _nothing
        if (table := machine()) is not None:
            code = os.memfd_create("filter", os.MFD_CLOEXEC)
            os.write(code, filter_program(table, network, live=False))
            os.lseek(code, 0, os.SEEK_SET)
            release = functools.partial(os.close, code)
        return ConfinedRun(
            Held(code),
            release,
            prefix=strict_command(program, bounds, network, None if code < 0 else code),
            passed=() if code < 0 else (code,),
            ends_whole=True,
        )

    def close(self) -> None:
        """End the supervisor, release the rulesets and remove the private temporary folder."""
        self._close()


async def _unattended(access: OutsideAccess) -> bool:
    """Refuse every access, while nobody can be asked."""
    return False


def _nothing() -> None:
    """Do nothing: there is nothing to release."""


def _plain(ruleset: int, code: bytes) -> ConfinedRun:
    """A run without a supervisor: Landlock, and the seccomp filter where one is available."""
    try:
        theirs, ours = enrolment(ruleset, code, live=False)
    except OSError as error:
        raise ToolError(f"The sandbox could not be set up: {error.strerror}.") from error
    ours.close()
    handle = Held(theirs.detach())
    return ConfinedRun(handle, handle.shut)
