"""MCP servers: lists, reports, logins, and the names that a message may use of them."""

import asyncio
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from sam_tui.core.errors import SamError
from sam_tui.core.ports.servers import ServerNames, TypedValue
from sam_tui.ui.actions import WorkbenchAction
from sam_tui.ui.controllers.context import Context, Option
from sam_tui.ui.mentions import fitting
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.screens.reader import LoginPage, Reader, whole

if TYPE_CHECKING:
    from sam_tui.core.ports.servers import ServerReport

_EMPTY = "No file names an MCP server. Add one with: sam-tui mcp add NAME -- COMMAND"

PROMPT: Final = "server-prompt"
"""The name of all actions that run a prompt of a server."""
_FRESH = 3.0
"""Seconds for which the names of prompts and resources are used again without a request."""
_PAUSE = 0.2
"""Seconds without a key after which a server is asked for values."""
_MOST_TEMPLATES = 3
_TEMPLATE = re.compile(r"([^{}]*)\{\+?(\w+)\}([^{}]*)")

_IN_URI = re.compile(r"[^\s\"`)\]]+")


def pick_server(context: Context) -> None:
    """List the servers in their present state; the picked one is read, or logged in at."""
    options = [
        (Choice(one_line(report.name, 40), standing_of(report)), partial(_open, context, report))
        for report in context.runtime.servers.reports()
    ]
    context.pick("MCP servers", options, empty=_EMPTY)


def _open(context: Context, report: "ServerReport") -> None:
    """Offer the tools, errors and output of a server; for one over HTTP also its login."""

    def read() -> None:
        context.app.push_screen(Reader(f"MCP server {report.name}", whole(words_of(report))))

    def log_out() -> None:
        context.runtime.servers.forget_login(report.name)
        context.notify(f"{report.name}: logged out")

    if report.kind != "http" or report.standing in ("untrusted", "disabled", "starting"):
        read()
        return
    again = "Log in again" if report.login else "Log in"
    options: list[Option] = [
        (Choice("Read", "tools, errors and output"), read),
        (Choice(again, "on its own page, in your browser"), partial(_log_in, context, report.name)),
    ]
    if report.login:
        options.append((Choice("Log out", "the login is deleted on this machine"), log_out))
    context.pick(f"MCP server {one_line(report.name, 40)}", options)


def _log_in(context: Context, name: str) -> None:
    """Have the person log in on a page, whose dialog ends it; the server is connected afterwards."""
    page = LoginPage(name)

    async def work() -> None:
        try:
            await context.runtime.servers.log_in(name, page.offer)
        except SamError as error:
            context.notify(f"{name}: {one_line(error.explain(), 300)}", warning=True)
        else:
            context.notify(f"{name}: logged in. Its tools join with your next message.")
        if page.is_current:
            page.dismiss(None)

    worker = context.app.run_worker(work(), name="login", group="login")

    def closed(_: int | None) -> None:
        if not worker.is_finished:
            worker.cancel()

    context.app.push_screen(page, closed)


def standing_of(report: "ServerReport") -> str:
    """The state of a server in a line."""
    match report.standing:
        case "ready":
            return f"{len(report.tools)} tools"
        case "failed" | "ended":
            return one_line(f"{report.standing}: {report.error}", 120)
        case "untrusted":
            return "not loaded: the folder is not trusted (/trust)"
        case "waiting" | "starting" | "disabled":
            return report.standing


def words_of(report: "ServerReport") -> str:
    """A report on a server as text."""
    lines = [
        f"{report.name}: {standing_of(report)}",
        f"{report.kind}: {report.target}",
        f"named by {report.file}",
    ]
    if report.error:
        lines += ["", f"error: {report.error}"]
    if report.tools:
        lines += ["", "tools:", *(f"  {name}" for name in report.marked_tools)]
    if report.left_out:
        lines += ["", "not offered:", *(f"  {why}" for why in report.left_out)]
    if report.log:
        lines += ["", "it printed:", report.log]
    return "\n".join(lines)


class ServerCompletion:
    """Completes resources and prompts of MCP servers. A server receives only text after its own name."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._area = context.screen.prompt.area
        self._names = ServerNames()
        self._asked_at = float("-inf")
        self._typed: Sequence[tuple[TypedValue, str, str]] = ()
        """The last requests for values, each with the text before and after the value."""
        self._proposed: Sequence[str] = ()

    def begin(self) -> None:
        """Ask the servers for their resources and prompts, unless that was done a moment ago."""
        if time.monotonic() - self._asked_at > _FRESH:
            self._asked_at = time.monotonic()
            self._context.app.run_worker(self._list(), group="server-names", exclusive=True)

    def resources(self, part: str) -> Sequence[str]:
        """Return the resources that match the text typed after an @, as ``SERVER:URI``."""
        self._propose(list(_of_templates(self._names.templates, part))[:_MOST_TEMPLATES])
        names = dict.fromkeys([*self._names.resources, *self._proposed])
        return [name for name in fitting(names, part)[0] if name != part]

    def prompts(self) -> Sequence[WorkbenchAction]:
        """The prompts, to be called like commands."""
        self.begin()
        return [
            WorkbenchAction(
                PROMPT,
                "Prompt",
                one_line(prompt.about, 200),
                (),
                f"{prompt.server}:{prompt.name}",
                one_line(" ".join(prompt.arguments).upper(), 60),
            )
            for prompt in self._names.prompts
        ]

    def values(self, action: WorkbenchAction, part: str) -> Sequence[str]:
        """Arguments of a prompt that its server proposes; none within quotes."""
        server, _, name = action.slash.partition(":")
        prompts = (p for p in self._names.prompts if (p.server, p.name) == (server, name))
        arguments = next((prompt.arguments for prompt in prompts), ())
        *before, word = part.split(" ")
        others = _filled(arguments, before)
        argument, value = _argument_of(arguments, others, word)
        if not argument or "'" in part or '"' in part:
            return ()
        typed = TypedValue(server, "prompt", name, argument, value, others)
        head = part[: len(part) - len(value)]
        self._propose([(typed, head, "")])
        return [text for text in self._proposed if text != part]

    def _propose(self, typed: Sequence[tuple[TypedValue, str, str]]) -> None:
        """Have servers propose values, unless they were asked for just these."""
        if typed != self._typed:
            self._typed, self._proposed = typed, ()
            if typed:
                self._context.app.run_worker(
                    self._ask(typed), group="server-values", exclusive=True
                )

    async def _ask(self, typed: Sequence[tuple[TypedValue, str, str]]) -> None:
        await asyncio.sleep(_PAUSE)
        proposed: list[str] = []
        for value, before, behind in typed:
            answers = await self._context.runtime.servers.complete(value)
            is_uri = value.kind == "template"
            words = filter(_IN_URI.fullmatch, answers) if is_uri else map(shlex.quote, answers)
            proposed += [f"{before}{word}{behind}" for word in words]
        if typed == self._typed:
            self._proposed = proposed
            self._area.offer_again()

    async def _list(self) -> None:
        names = await self._context.runtime.servers.names()
        if names != self._names:
            self._names = names
            self._area.offer_again()


def _of_templates(templates: Sequence[str], part: str) -> Iterator[tuple[TypedValue, str, str]]:
    """The values being typed for templates with one argument, each with the text before and after it."""
    server, _, _ = part.partition(":")
    for template in templates:
        match = _TEMPLATE.fullmatch(template)
        if match is None or not part or not template.startswith(f"{server}:"):
            continue
        before, argument, behind = match.groups()
        if part.startswith(before) or before.startswith(part):
            typed = part.removeprefix(before) if part.startswith(before) else ""
            uri = template.partition(":")[2]
            yield TypedValue(server, "template", uri, argument, typed), before, behind


def _filled(arguments: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """Assign the words to the arguments: by name, else in their order."""
    filled: dict[str, str] = {}
    for word in filter(None, words):
        argument, value = _argument_of(arguments, filled, word)
        if argument:
            filled[argument] = value
    return filled


def _argument_of(arguments: Sequence[str], filled: dict[str, str], word: str) -> tuple[str, str]:
    """The argument that a word is a value for, and the value; an empty name for none."""
    name, equals, value = word.partition("=")
    if equals and name in arguments:
        return name, value
    return next((argument for argument in arguments if argument not in filled), ""), word
