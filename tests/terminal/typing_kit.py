"""A person who types secrets into the agent's terminal in every way there is, from a seed."""

import random
import re
import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from sam_tui.core.ports.processes.terminals import TerminalSession
from tests.terminal.session_kit import DEADLINE

LEFT, UP, END = b"\x1b[D", b"\x1b[A", b"\x1b[F"
WIDTHS = (20, 200)
CUT = 8
"""So much of a secret in a row is a part of it, not chance."""
_SIGNS = string.ascii_lowercase + string.digits


def leaked(text: str, secrets: list[str]) -> list[str]:
    """What stands around the parts of secrets that a text has, however they are wrapped or quoted."""
    bare = re.sub(r"\\u001b\[[0-9;?]*[A-Za-z]|\\u00[01].|\\[nrt]|[\s'\"\\]", "", text)
    parts = {s[at : at + CUT] for s in secrets for at in range(len(s) - CUT + 1)}
    places = [at for at in range(len(bare) - CUT + 1) if bare[at : at + CUT] in parts]
    first = [at for at in places if at - 1 not in places]
    return [bare[max(0, at - 150) : at + 100] for at in first[:3]]


@dataclass
class Person:
    """Somebody at a session of the agent. ``trace`` says what they did, for a failure's message."""

    session: TerminalSession
    chance: random.Random
    home: Path
    secrets: list[str] = field(default_factory=list[str])
    trace: list[str] = field(default_factory=list[str])

    def secret(self, most: int = 70) -> str:
        """A new one, with a digit in each word."""
        made = "".join(self.chance.choices(_SIGNS, k=self.chance.randint(12, most))) + "7"
        self.secrets.append(made)
        return made

    def turned(self, word: str) -> str:
        """A secret that a program prints backwards while it is asked for more."""
        self.secrets.append(word[::-1])
        return word

    def keys(self, data: str | bytes) -> None:
        """Press keys, in one piece or in several."""
        raw = data.encode() if isinstance(data, str) else data
        if self.chance.random() < 0.3 and not raw.startswith(b"\x1b"):
            cut = self.chance.randint(0, len(raw))
            self.session.type(raw[:cut] or raw)
            raw = raw[cut:] if cut else b""
        if raw:
            self.session.type(raw)

    def resize(self) -> None:
        """Make the terminal narrower or wider."""
        self.session.resize(self.chance.randint(*WIDTHS), self.chance.randint(5, 40))

    async def settle(self) -> None:
        """Wait until it is at a prompt, or waits for keys."""
        await self.session.activity.settled(within=DEADLINE)

    async def hold(self, steps: int) -> bytes:
        """Do several things; returns the keys that end what is left open at the hand-over."""
        for _ in range(steps):
            step = self.chance.choice(STEPS)
            self.trace.append(step.__name__)
            await step(self)
            if self.chance.random() < 0.7:
                await self.settle()
        await self.settle()
        leave = self.chance.choice(LEAVINGS)
        self.trace.append(leave.__name__)
        return await leave(self)


async def _plain(me: Person) -> None:
    me.keys(f"echo {me.secret()}\r")


async def _short_words(me: Person) -> None:
    me.keys(f"login=u{me.secret(20)}; : {me.secret(14)} -p{me.secret(14)}\r")


async def _pasted(me: Person) -> None:
    await me.settle()
    me.keys(me.session.screen.input.paste(f": {me.secret()}"))
    me.keys("\r")


async def _edited(me: Person) -> None:
    word = me.secret()
    cut = me.chance.randint(1, len(word) - 1)
    at = me.chance.randint(1, cut)
    me.keys(f"echo {word[:at]}{word[cut:]}")
    for _ in range(len(word) - cut):
        me.session.type(LEFT)
    me.keys(word[at:cut])
    me.session.type(END)
    me.keys("\r")


async def _erased(me: Person) -> None:
    me.keys(f"echo {me.secret()}")
    me.session.type(b"\x7f" * me.chance.randint(1, 90))
    me.keys(f": {me.secret()}\r")


async def _recalled(me: Person) -> None:
    await me.settle()
    me.session.type(UP)
    if me.chance.random() < 0.5:
        me.session.type(UP)
    me.keys(f"; : {me.secret()}\r")


async def _searched(me: Person) -> None:
    await me.settle()
    me.keys("\x12ech")
    await me.session.activity.quiet(silence=0.05, within=DEADLINE)
    me.session.type(END)
    me.session.type(b"\x03")


async def _completed(me: Person) -> None:
    name = me.secret(40)
    (me.home / name).touch()
    await me.settle()
    me.keys(f"echo ~/{name[:7]}\t")
    await me.session.activity.quiet(silence=0.05, within=DEADLINE)
    me.keys("\r")


async def _several_lines(me: Person) -> None:
    me.keys(f"echo '{me.secret()}\r{me.secret()}'\r")


async def _loop(me: Person) -> None:
    me.keys(f"sh -c 'for n in 1 2 3\rdo echo {me.secret()}-$n; done'\r")


async def _redrawn(me: Person) -> None:
    me.keys(f"echo {me.secret()}")
    me.session.type(b"\x0c")
    me.resize()
    me.keys(f"{me.secret()}\r")


async def _resized(me: Person) -> None:
    me.resize()


async def _cleared(me: Person) -> None:
    me.keys("clear\r")


async def _interrupted(me: Person) -> None:
    me.keys(f"echo {me.secret()}")
    me.session.type(b"\x03")


async def _hidden(me: Person) -> None:
    me.keys("sh -c 'stty -echo; printf Password:; read p; stty echo; echo; echo got $p | rev'\r")
    await me.settle()
    me.keys(f"{me.turned(me.secret())}\r")


async def _read_silently(me: Person) -> None:
    me.keys("read -s pass\r")
    await me.settle()
    me.keys(f"{me.secret()}\r")


async def _python(me: Person) -> None:
    me.keys("python3 -q\r")
    await me.settle()
    me.keys(f"word = '{me.turned(me.secret())}'\rword\rprint(word[:9], word[::-1])\rexit()\r")


async def _alternate(me: Person) -> None:
    me.keys("sh -c 'tput smcup; read a; echo $a; read b; tput rmcup'\r")
    me.keys(f"{me.secret()}\r")
    me.resize()
    me.keys(f"{me.secret()}\r")


async def _vim(me: Person) -> None:
    me.keys("vim -u NONE -i NONE -n\r")
    await me.settle()
    me.keys(f"i{me.secret()}\r{me.secret()}\x1b")
    await me.session.activity.quiet(silence=0.05, within=DEADLINE)
    me.resize()
    me.keys(":q!\r")


async def _titled(me: Person) -> None:
    me.keys(f"printf '\\033]2;%s\\007' {me.secret()}\r")


async def _variable(me: Person) -> None:
    me.keys(f"env NAME={me.secret()} sh -c 'env | grep NAME; echo $NAME | tr 7 7'\r")


async def _folder(me: Person) -> None:
    name = me.secret(30)
    # In a shell of its own: where one of them fails, the next command is not outside of the workspace.
    me.keys(f"(mkdir {name} && cd {name} && pwd); rmdir {name}\r")


async def _later(me: Person) -> None:
    me.keys(f"sh -c '(sleep 0.4; echo {me.secret()}) &'\r")


async def _nothing_left(_: Person) -> bytes:
    return b""


async def _half_a_line(me: Person) -> bytes:
    me.keys(f"echo {me.secret()}")
    return b"\x03"


async def _half_edited(me: Person) -> bytes:
    word = me.secret()
    me.keys(f"echo {word}")
    me.session.type(LEFT * me.chance.randint(1, len(word)))
    return b"\x03"


async def _half_a_string(me: Person) -> bytes:
    me.keys(f"echo '{me.secret()}\r{me.secret()}")
    return b"\x03"


async def _half_pasted(me: Person) -> bytes:
    me.keys(me.session.screen.input.paste(f": {me.secret()}\n: {me.secret()}"))
    return b"\x03"


async def _half_searched(me: Person) -> bytes:
    me.keys("\x12ech")
    return b"\x03\x03"


async def _in_cat(me: Person) -> bytes:
    me.keys(f"cat\r{me.secret()}\r{me.secret()}")
    return b"\x03"


async def _at_a_password(me: Person) -> bytes:
    me.keys("sh -c 'stty -echo; printf Password:; read p; stty echo; echo got $p'\r")
    await me.settle()
    me.keys(me.secret())
    return b"\x03"


async def _in_python(me: Person) -> bytes:
    me.keys("python3 -q\r")
    await me.settle()
    me.keys(f"a = '{me.turned(me.secret())}'; a[::-1]\rb = '{me.secret()}")
    return b"\x03\x04"


async def _in_vim(me: Person) -> bytes:
    me.keys("vim -u NONE -i NONE -n\r")
    await me.settle()
    me.keys(f"i{me.secret()}\r{me.secret()}")
    await me.session.activity.quiet(silence=0.05, within=DEADLINE)
    return b"\x1b\x1b:q!\r"


async def _in_an_inner_shell(me: Person) -> bytes:
    me.keys("bash --norc\r")
    await me.settle()
    me.keys(f"echo {me.secret()}\r")
    me.keys(f"echo {me.secret()}")
    return b"\x03\x04"


Step = Callable[[Person], Awaitable[None]]
STEPS: tuple[Step, ...] = (
    _plain, _short_words, _pasted, _edited, _erased, _recalled, _searched, _completed,
    _several_lines, _loop, _redrawn, _resized, _cleared, _interrupted, _hidden, _read_silently,
    _python, _alternate, _vim, _titled, _variable, _folder, _later,
)  # fmt: skip
LEAVINGS: tuple[Callable[[Person], Awaitable[bytes]], ...] = (
    _nothing_left, _nothing_left, _half_a_line, _half_edited, _half_a_string, _half_pasted,
    _half_searched, _in_cat, _at_a_password, _in_python, _in_vim, _in_an_inner_shell,
)  # fmt: skip
AGENT_KEYS = (
    "history\r\n", "fc -l\r\n", "\x1b[A\x1b[A", "\x1b[A", "\x0c", "\x12ech", "\x03", "set\r\n",
    "echo a''lone\r\n", "\r\n", "\x19", "jobs; pwd\r\n", "ec\t", "\x1b[A\r\n",
)  # fmt: skip
"""With some of these the agent has a shell show again what was typed in it."""
READS = ("get_output", "get_history", "get_terminal_buffer", "get_last_command")
