"""What somebody does in the workbench's terminals, one step at a time, and what must come of it."""

import os
import secrets
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fakes.openai_server import Call
from tests.terminal_soak import listener, picture
from tests.terminal_soak.person import AGENT, TOOL, Person

KEYS: Mapping[str, bytes] = {
    "up": b"\x1b[A",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "pagedown": b"\x1b[6~",
    "f5": b"\x1b[15~",
    "f8": b"\x1b[19~",
    "enter": b"\r",
    "tab": b"\t",
    "backspace": b"\x7f",
    "ctrl+a": b"\x01",
    "ctrl+x": b"\x18",
    "alt+b": b"\x1bb",
    "alt+1": b"\x1b1",
    "shift+tab": b"\x1b[Z",
}
"""Keys, and what a program without modes of its own gets."""
WORDS = ("plain", "Grüße", "日本語", "🙂", "a b  c", "$HOME;'\"\\", "x" * 90)
WIDTHS = (45, 120)
_LEFT = "\x1b[D"


def vim(me: Person) -> None:
    """Two lines, written; Escape and the next key come at once."""
    path, workbench = me.workspace / f"vim-{me.number()}", me.workbench
    words = [me.chance.choice(WORDS) for _ in range(4)]
    me.enter()
    workbench.type(f"vim -u NONE -N -n {path.name}\r")
    workbench.shows("[New]")
    workbench.type(f"i{words[0]}")
    workbench.press("enter")
    workbench.type(words[1])
    resized(me)
    workbench.press("escape")
    workbench.rest(0.1)
    workbench.type(f"o{words[2]}\x1bkA{words[3]}\x1b:wq\r")
    workbench.until(path.exists, "vim does not write")
    workbench.shows("ready>")
    me.leave()
    me.command("true")
    me.expect(path.name, [words[0], words[1] + words[3], words[2]], me.lines_of(path).splitlines())


def nano(me: Person) -> None:
    """A line, written."""
    path, workbench, word = (
        me.workspace / f"nano-{me.number()}",
        me.workbench,
        me.chance.choice(WORDS),
    )
    me.enter()
    workbench.type(f"nano --ignorercfiles --nohelp {path.name}\r")
    workbench.shows("GNU nano")
    workbench.type(word)
    resized(me)
    workbench.press("ctrl+x")
    workbench.shows("Save modified")
    workbench.type("y\r")
    workbench.until(path.exists, "nano does not write")
    me.leave()
    me.command("true")
    me.expect(path.name, word, me.lines_of(path).rstrip("\n"))


def less(me: Person) -> None:
    """Up and down a long file."""
    path, workbench = me.workspace / "long", me.workbench
    if not path.exists():
        text = "".join(f"{n} {WORDS[n % len(WORDS)]}\n" for n in range(3000))
        path.write_text(text + "the last one", encoding="utf-8")
    me.enter()
    workbench.type("LESS= less long\r")
    workbench.shows("plain")
    for _ in range(me.chance.randrange(1, 6)):
        workbench.press(me.chance.choice(("space", "pagedown", "up", "down", "f", "b")))
        resized(me)

    def at_end() -> bool:
        # Again and again: a new size that less hears of only now shows what stood at the top.
        workbench.type("G")
        return "the last one" in workbench.text()

    workbench.until(at_end, "less does not come to the end")
    workbench.type("?2500 \r")
    workbench.shows("2500 ")
    workbench.type("q")
    me.leave()
    me.command("true")


def htop(me: Person) -> None:
    """A screen that changes by itself."""
    me.enter()
    me.workbench.type("htop -d 2\r")
    me.workbench.shows("F1Help")
    for _ in range(me.chance.randrange(1, 4)):
        resized(me)
        me.workbench.press(me.chance.choice(("down", "up", "pagedown", "f6", "escape")))
        me.workbench.rest(0.3)
    me.workbench.press("escape")

    def ended() -> bool:
        # An escape and a q that it reads at once are one key with Alt to it.
        me.workbench.rest(1.0)
        me.workbench.type("q")
        return "F1Help" not in me.workbench.text()

    me.workbench.until(ended, "htop does not end")
    me.workbench.press("ctrl+u")
    me.leave()
    me.command("true")


def flood(me: Person) -> None:
    """More than can be drawn, to its end or to Ctrl+C."""
    me.enter()
    if me.chance.random() < 0.5:
        me.workbench.type("yes 'a line of a flood'\r")
        me.workbench.until(lambda: me.workbench.text().count("a line of a flood") > 2, "no flood")
        resized(me)
        me.workbench.rest(me.chance.random() / 2)
        me.workbench.press("ctrl+c")
        me.leave()
        me.command("true")
    else:
        numbers = r'for (n = 0; n < 20000; n++) printf "\033[%dm%d\033[m ", 30 + n % 8, n'
        me.leave()
        me.command(f"awk 'BEGIN {{ {numbers} }}'")


def storm(me: Person) -> None:
    """The window changes its size faster than anything is drawn."""
    me.enter()
    me.workbench.type("ls -la /usr/bin\r")
    for _ in range(me.chance.randrange(5, 20)):
        me.workbench.resize(me.chance.randrange(41, 170), me.chance.randrange(16, 60))
        if me.chance.random() < 0.3:
            me.workbench.rest(0.03)
    me.workbench.resize(me.chance.choice(WIDTHS), me.chance.choice((24, 40)))
    typed, printed = me.mark()
    me.workbench.type(f"echo {typed}\r")
    me.workbench.shows(printed)
    me.leave()
    me.command("true")


def resized(me: Person) -> None:
    """Now and then the window has another size."""
    if me.chance.random() < 0.3:
        me.workbench.resize(me.chance.choice(WIDTHS), me.chance.choice((24, 40)))


def keys(me: Person) -> None:
    """Every key reaches the program once, in order, whatever it prints and the window does."""
    path, wanted = _listening(me, lines=me.chance.choice((0, 1, 200)))
    for _ in range(me.chance.randrange(20, 60)):
        if me.chance.random() < 0.5:
            text = me.chance.choice(WORDS)
            me.workbench.type(text)
            wanted += text.encode()
        else:
            key = me.chance.choice(list(KEYS))
            me.workbench.press(key)
            wanted += KEYS[key]
        if me.chance.random() < 0.2:
            resized(me)
            me.workbench.rest(me.chance.random() / 20)
    _heard(me, path, wanted)


def paste(me: Person) -> None:
    """A paste of many lines reaches the program whole and once."""
    path, wanted = _listening(me, lines=1)
    count = me.chance.choice((1, 50, 5000))
    text = "\n".join(f"{n} {me.chance.choice(WORDS)}" for n in range(count))
    me.workbench.type("before")
    me.workbench.paste(text)
    me.workbench.type("behind")
    _heard(me, path, wanted + b"before\x1b[200~" + text.encode() + b"\x1b[201~behind")


def _listening(me: Person, lines: int) -> tuple[Path, bytes]:
    path = me.workbench.folder / f"heard-{me.number()}"
    words = (sys.executable, "-ISE", listener.__file__, str(path), str(lines))
    me.enter()
    me.workbench.type(f"{shlex.join(words)}\r")
    me.workbench.shows(f"to {path.name}: ")
    return path, b""


def _heard(me: Person, path: Path, wanted: bytes) -> None:
    me.workbench.press("ctrl+d")
    wanted += listener.END
    me.workbench.until(lambda: path.read_bytes().endswith(listener.END), "keys are missing")
    me.leave()
    me.command("true")
    me.expect(path.name, wanted, path.read_bytes())


def hand_over(me: Person) -> None:
    """The agent asks the person to type a secret, and reads all it may of its terminal then."""
    ask = {"operation": "send_input", "input": "", "hand_over": "the password"}
    me.asks_agent(_call("create_session"), Call(TOOL, ask), *_readings())
    me.tab(AGENT)
    me.workbench.shows("you type")
    me.enter()
    _type_secretly(me)
    me.leave()
    me.agent_done()


def takes(me: Person) -> None:
    """The person takes the agent's terminal unasked, and the agent works on in it later."""
    me.asks_agent(_call("create_session"))
    me.agent_done()
    me.tab(AGENT)
    me.workbench.press("f8")
    me.inside()
    _type_secretly(me)
    me.leave()
    me.asks_agent(*_readings())
    me.agent_done()


def painted(me: Person) -> None:
    """A picture that the person made in the agent's terminal is drawn whole, also when the agent reads."""
    path, secret = me.workspace / f"picture-{me.number()}", secrets.token_hex(6)
    me.secrets.append(secret)
    program = str(shutil.copy(picture.__file__, me.workspace))
    me.asks_agent(_call("create_session"))
    me.agent_done()
    me.tab(AGENT)
    me.workbench.press("f8")
    me.inside()
    words = (sys.executable, "-ISE", program, str(path), str(me.chance.random()), secret)
    me.workbench.press("ctrl+e", "ctrl+u")
    me.workbench.type(f"{shlex.join(words)}\r")
    me.workbench.shows(f"{secret} drawn")
    resized(me)
    me.compare_picture(AGENT, path)
    me.leave()
    me.asks_agent(_call("get_terminal_buffer"), _call("get_output"))
    me.agent_done()
    me.tab(AGENT)  # a narrow window shows the conversation once a prompt is sent
    me.compare_picture(AGENT, path)
    me.workbench.press("f8")
    me.inside()
    me.workbench.type("q")
    me.workbench.shows("ready>")
    me.leave()


def _type_secretly(me: Person) -> None:
    secret, (typed, printed) = secrets.token_hex(me.chance.choice((6, 20, 60))), me.mark()
    me.secrets.append(secret)
    workbench, half = me.workbench, len(secret) // 2
    workbench.press(
        "ctrl+e", "ctrl+u"
    )  # what was left unfinished the time before stands there again
    match me.chance.randrange(4):
        case 0:
            workbench.type(f"echo {secret}; echo {typed}\r")
        case 1:
            workbench.type(f"echo {secret[half:]}{_LEFT * (len(secret) - half)}{secret[:half]}")
            workbench.type(f"\x05; echo {typed}\r")
        case 2:
            workbench.paste(f"echo {secret}; echo {typed}")
            workbench.press("enter")
        case _:
            asks, asked = me.mark()
            workbench.type(f"echo {asks}; read -s secret; echo {typed}\r")
            # Before it runs, the shell's editor has the terminal, and an Enter ends no line for others.
            workbench.shows(asked)
            workbench.type(f"{secret}\r")
    workbench.shows(printed)
    me.expect("secret lines that are no commands", 0, workbench.text().count("not found"))
    resized(me)
    if me.chance.random() < 0.3:
        workbench.press("up")
        workbench.rest(0.2)


def _call(operation: str, **more: object) -> Call:
    return Call(TOOL, {"operation": operation, **more})


def _readings() -> tuple[Call, ...]:
    return (
        _call("send_input", input="echo by-the-agent\r\n"),
        _call("get_terminal_buffer"),
        _call("get_history"),
        _call("get_last_command"),
    )


def killed(me: Person) -> None:
    """A program that fills the screen is killed, and the terminal set back."""
    path = me.workspace / f"pid-{me.number()}"
    me.enter()
    fills = r"printf '\033[?1049h\033[?1003h\033[?25l\033[31;44mfull\033[2;9r'; exec sleep 600"
    me.workbench.type(f"sh -c {shlex.quote(f'echo $$ > {path.name}; {fills}')}\r")
    me.workbench.until(lambda: me.lines_of(path).strip(), "nothing was started")
    me.workbench.shows("full")
    os.kill(int(me.lines_of(path)), signal.SIGKILL)
    me.workbench.shows("Killed")
    me.leave()
    me.command(r"printf '\033c'")


def crash(me: Person) -> None:
    """The workbench is killed while the person holds the agent's terminal, and continued."""
    me.asks_agent(_call("create_session"))
    me.agent_done()
    me.tab(AGENT)
    me.workbench.press("f8")
    me.inside()
    _type_secretly(me)
    me.crash()
    me.workbench.shows("● ready")
    me.tab(AGENT)
    me.workbench.shows("you type")
    me.enter()
    _type_secretly(me)
    me.leave()
    me.asks_agent(*_readings())
    me.agent_done()
    me.begin()


Step = Callable[[Person], None]

STEPS: Mapping[str, Step] = {
    step.__name__: step
    for step in (
        vim,
        nano,
        less,
        htop,
        flood,
        storm,
        keys,
        paste,
        hand_over,
        takes,
        painted,
        killed,
        crash,
    )
}
NEEDS: Mapping[str, str] = {"vim": "vim", "nano": "nano", "less": "less", "htop": "htop"}
"""The program that a step is about."""


def missing() -> Mapping[str, str]:
    """Steps that cannot be taken on this machine, and why."""
    return {
        step: f"{program} is not installed"
        for step, program in NEEDS.items()
        if shutil.which(program) is None
    }
