"""One soak: a workbench of its own, steps by a seed, and all that is wrong afterwards."""

import os
import re
import select
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fakes.openai_server import FakeServer, background
from tests.fakes.preloaded import COMMAND
from tests.terminal_soak.person import SHELL, Person
from tests.terminal_soak.steps import STEPS, missing
from tests.terminal_soak.workbench_process import MARK, NotDrawn, WorkbenchProcess, processes_of

_EVERY = 4
"""Steps between two comparisons."""
_PART = 8
"""So many characters of a secret in a row are a part of it, not chance."""


@dataclass(slots=True)
class Tally:
    """What a soak came to."""

    steps: list[str] = field(default_factory=list[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Steps that could not be taken, and why."""
    wrong: list[str] = field(default_factory=list[str])
    """Empty where all was as it should be."""
    compared: int = 0
    """Cells."""
    secrets: int = 0
    requests: int = 0
    slowest: float = 0.0
    """The longest wait for anything, in seconds."""
    cpu: float = 0.0
    """CPU seconds of the workbench."""


def soaked(
    folder: Path,
    seed: int,
    *,
    size: tuple[int, int],
    seconds: float = 0.0,
    names: Sequence[str] = (),
    patience: float = 60.0,
) -> Tally:
    """Take the steps named, or steps by the seed for so long; compare, quit, and look at what is left."""
    chance, run, tally = Random(seed), uuid.uuid4().hex, Tally()
    tally.skipped = dict(missing())
    possible = [name for name in STEPS if name not in tally.skipped]
    environment = _environment(folder, run)
    with background() as server:
        words = ["--data-dir", str(folder / "data")]
        words += ["--model", "fake", "--provider", "direct", "--api-base", server.base]
        workbench = WorkbenchProcess(
            folder,
            words,
            size=size,
            environment=environment,
            speaks=seed % 2 == 0,
            patience=patience,
        )
        me = Person(workbench, server, chance)
        try:
            me.begin()
            planned = [name for name in names if name in possible]
            deadline = time.monotonic() + seconds
            while planned or time.monotonic() < deadline:
                name = planned.pop(0) if planned else chance.choice(possible)
                tally.steps.append(name)
                me.tab(SHELL)
                STEPS[name](me)
                if len(tally.steps) % _EVERY == 0:
                    me.compare()
                    me.record()
            me.compare()
            tally.cpu = workbench.cpu()
            me.finish()
        except NotDrawn as error:
            me.wrong.append(str(error))
        finally:
            workbench.kill()
        tally.wrong = [f"after {', '.join(tally.steps)}: {text}" for text in me.wrong]
        tally.wrong += _told(server, me.secrets)
        tally.compared, tally.secrets = me.compared, len(me.secrets)
        tally.requests, tally.slowest = len(server.posts), workbench.slowest
    tally.wrong += _left(folder, run, environment)
    return tally


def _environment(folder: Path, run: str) -> dict[str, str]:
    home = folder / "home"
    home.mkdir()
    (folder / "workspace").mkdir()
    (home / ".bashrc").write_text("PS1='ready> '\n", encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "SAM_TUI_"))}
    return {
        **kept,
        "HOME": str(home),
        "SHELL": "/bin/bash",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_CTYPE": "C.UTF-8",
        MARK: run,
    }


def _told(server: FakeServer, secrets: Sequence[str]) -> list[str]:
    """Parts of secrets in what the model was sent, however they are wrapped."""
    sent = [
        re.sub(r"\\+[nrt]|[\s'\"\\]", "", r.body.decode(errors="replace")) for r in server.posts
    ]
    return [
        f"request {number} of {len(sent)} has {secret[at : at + _PART]} of what was typed while held"
        for secret in secrets
        for number, text in enumerate(sent, 1)
        for at in range(len(secret) - _PART + 1)
        if secret[at : at + _PART] in text
    ][:5]


def _left(folder: Path, run: str, environment: dict[str, str]) -> list[str]:
    """Processes that are left once what is kept on purpose was ended."""
    data = folder / "data"
    ended = subprocess.run(
        [*COMMAND, "term", "kill", "--all", "--data-dir", str(data)],
        env={**environment, MARK: "after"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    deadline = time.monotonic() + 20
    while (left := processes_of(run, data)) and time.monotonic() < deadline:
        select.select([], [], [], 0.1)
    return [f"still runs: {line} (term kill said {ended.stdout} {ended.stderr})" for line in left]
