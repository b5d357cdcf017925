"""A server of workbenches as a program, and a browser that is driven through its DevTools protocol."""

import asyncio
import base64
import http.client
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen

SECONDS = 90
"""For a program to start and draw on a machine with other work."""
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
SEES_PROGRAMS = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
WRITES = [
    {
        "text": "I write it down.",
        "calls": [
            {
                "name": "file_operations",
                "arguments": {
                    "operation": "create_file",
                    "filePath": "../outside.md",
                    "content": "approved\n",
                },
            }
        ],
    },
    {"text": "It is written: żółw 漢字 ✓."},
]


@dataclass(frozen=True)
class Answer:
    """Status, JSON and headers of one."""

    status: int
    body: dict[str, Any]
    headers: http.client.HTTPMessage


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    token: str
    folder: Path
    killed: list[bool] = field(default_factory=list[bool])
    """Not empty for one that a test killed."""

    @property
    def origin(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def invitation(self) -> str:
        """An address to open."""
        answer = self.ask("POST", "/invitation", Authorization=f"Bearer {self.token}")
        return self.origin + answer.body["path"]

    def ask(self, method: str, path: str, **headers: str) -> Answer:
        """What it answers to a request with these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        with closing(connection):
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            body: dict[str, Any] = (
                json.loads(text) if "json" in answer.headers["content-type"] else {}
            )
            return Answer(answer.status, body, answer.headers)

    def programs(self) -> list[str]:
        """What runs with its data folder, but itself: workbenches, their shells, what holds those."""
        mark, folder = f"SAM_TUI_PROBE={self.folder}", str(self.folder)
        lines: list[str] = []
        for path in Path("/proc").glob("[0-9]*"):
            if path.name == str(self.process.pid):
                continue
            with suppress(OSError):
                line = (path / "cmdline").read_text().replace("\0", " ")
                # A workbench that was forked has the environment of its own in no file.
                if folder in line or mark in (path / "environ").read_text().split("\0"):
                    lines.append(line)
        return lines

    def empty(self) -> None:
        """Wait until none of them runs."""
        while self.programs():
            select.select([], [], [], 0.05)


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Server]:
    """One server with a scripted model; parameters are more arguments of it."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "script.json").write_text(json.dumps(WRITES))
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "sam_tui", "serve", "--web", "--port", "0"),
            *("-C", str(tmp_path / "ws"), "--data-dir", str(tmp_path / "data")),
            *("--model", f"scripted:{tmp_path / 'script.json'}", *getattr(request, "param", ())),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SHELL": "/bin/bash", "SAM_TUI_PROBE": str(tmp_path)},
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        match = re.search(r":(\d+)$", line.strip())
        assert match, line + process.stderr.read()
        token = (tmp_path / "data" / "web-token").read_text("ascii").strip()
        assert token not in line  # no terminal, so perhaps a log
        yield (server := Server(process, int(match[1]), token, tmp_path))
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=SECONDS)
    assert server.killed or (process.returncode == 0 and "Traceback" not in errors), errors


class Page:
    """A page of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._screen = EmulatedScreen(80, 24)
        self.size = (0, 0)
        """Columns and rows that its terminal began with."""
        self.requests: list[str] = []
        self.faults: list[str] = []

    async def call(self, method: str, **arguments: object) -> dict[str, Any]:
        """Do something, and give what came of it."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": arguments})
        while True:
            message = await self._socket.receive_json()
            self._note(message)
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    async def begin(self, address: str, size: tuple[int, int], phone: bool) -> None:
        """Give it its size, and go to an address."""
        for domain in ("Network", "Log", "Runtime", "Page"):
            await self.call(f"{domain}.enable")
        width, height = size
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        if phone:
            await self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await self.call("Page.bringToFront")
        await self.call("Page.navigate", url=address)

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(url := message["params"]["url"])
                columns, rows = re.findall(r"=(\d+)", url)
                self.size = int(columns), int(rows)
                self._screen = EmulatedScreen(*self.size)
            case "Network.webSocketFrameReceived" if message["params"]["response"]["opcode"] == 2:
                self._screen.feed(base64.b64decode(message["params"]["response"]["payloadData"]))
            case "Network.webSocketFrameSent":
                sent = json.loads(message["params"]["response"]["payloadData"])
                if sent[0] == "resize":
                    self.size = sent[1]["width"], sent[1]["height"]
                    self._screen.resize(*self.size)
            case "Log.entryAdded" if "WebGL" not in message["params"]["entry"]["text"]:
                self.faults.append(json.dumps(message["params"]))
            case "Runtime.exceptionThrown":
                self.faults.append(json.dumps(message["params"]))
            case _:
                pass

    @property
    def lines(self) -> list[str]:
        """What its terminal shows."""
        return self._screen.text().split("\n")

    async def until(
        self, seen: Callable[[], bool], nudge: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Hear of what happens in it until something is so; ``nudge`` whenever nothing happened."""
        try:
            async with asyncio.timeout(SECONDS):
                while not seen():
                    try:
                        self._note(await self._socket.receive_json(timeout=1.0))
                    except TimeoutError:
                        if nudge is not None:
                            await nudge()
        except TimeoutError:
            pytest.fail("It did not come to that:\n" + "\n".join([*self.lines, *self.faults]))

    async def shows(self, text: str) -> None:
        """Wait for a text on its terminal."""
        await self.until(lambda: any(text in line for line in self.lines))

    async def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")

    async def press(self, key: str, code: int, text: str = "", modifiers: int = 0) -> None:
        """One key of the keyboard."""
        press = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        down = {"text": text} if text else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **press, **down)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **press)

    async def type(self, text: str) -> None:
        """Characters, each a key."""
        for character in text:
            await self.press(
                character, ord(character.upper()) if character.isalnum() else 0, character
            )


@dataclass(frozen=True)
class Browser:
    """A browser that runs."""

    base: str
    """Where its DevTools protocol is."""

    @asynccontextmanager
    async def opened(
        self, address: str, size: tuple[int, int], *, phone: bool = False
    ) -> AsyncGenerator[Page]:
        """A page that shares nothing with an earlier one, as in another browser."""
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{self.base}/json/version") as answer:
                control: str = (await answer.json())["webSocketDebuggerUrl"]
            async with session.ws_connect(control, max_msg_size=0) as socket:
                browser = Page(socket)
                context = (await browser.call("Target.createBrowserContext"))["browserContextId"]
                made = await browser.call(
                    "Target.createTarget", url="about:blank", browserContextId=context
                )
                where = f"{control.partition('/devtools/')[0]}/devtools/page/{made['targetId']}"
                try:
                    async with session.ws_connect(where, max_msg_size=0) as own:
                        page = Page(own)
                        await page.begin(address, size, phone)
                        yield page
                finally:
                    await browser.call("Target.disposeBrowserContext", browserContextId=context)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """The browser of a module's tests."""
    assert CHROMIUM is not None
    profile = tempfile.mkdtemp(prefix="sam-tui-browser-")
    process = subprocess.Popen(
        [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions"),
            *("--remote-debugging-port=0", f"--user-data-dir={profile}", "--no-startup-window"),
            # Else each window loads pages for what its address bar proposes.
            "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        port = None
        while port is None:
            line = process.stderr.readline()
            assert line, "the browser ended"
            port = re.search(rb"ws://127\.0\.0\.1:(\d+)/", line)
        yield Browser(f"http://127.0.0.1:{int(port[1])}")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        shutil.rmtree(profile, ignore_errors=True)
