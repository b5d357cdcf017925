"""A conversation of a client: turns, updates to the client, and approvals."""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, cast

from acp import RequestError, schema
from acp.connection import Connection
from acp.helpers import update_agent_message_text
from acp.meta import CLIENT_METHODS

from sam_tui.acp_agent import person
from sam_tui.acp_agent.requests import ask, begin, wire_form
from sam_tui.acp_agent.terminals import ClientTerminals, runs_to_its_end
from sam_tui.acp_agent.updates import SessionUpdates, Update
from sam_tui.core import events
from sam_tui.core.agent.session import Session
from sam_tui.core.authorization.policy.policy import PermissionMode
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import InquiryId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question
from sam_tui.core.ports.model import ModelOffer
from sam_tui.core.runtime import Runtime
from sam_tui.core.todos.item import one_line

MODES: Final[dict[PermissionMode, str]] = {
    "ask": "Edits in the workspace and commands in the sandbox run; the guard asks about "
    "accesses outside.",
    "ask-all": "The guard asks about every edit and every command that does more than read.",
    "accept-edits": "Edits are made without a question.",
    "plan": "Nothing is changed: the agent reads and plans.",
    "auto": "Nobody is asked: what would be asked is refused.",
    "bypass": "Nothing is asked, and commands run without a sandbox.",
}
TerminalUse = Literal["client", "output", ""]
"""How the client displays commands: in terminals that it creates, from output in updates, or as text."""
_UNASKABLE: Final = "The client could not ask its person."


class EditorSession:
    """An open conversation and the runtime that it has to itself."""

    def __init__(
        self, runtime: Runtime, session: Session, connection: Connection, terminals: TerminalUse
    ) -> None:
        self.id = session.conversation
        self.runtime = runtime
        self._session = session
        self._connection = connection
        root = runtime.workspace.root
        self._updates = SessionUpdates(self.id, root, live_terminals=terminals == "output")
        self._terminals: ClientTerminals | None = None
        if terminals == "client":
            self._terminals = ClientTerminals(
                connection, self.id, runtime.workspace.roots, self.cancel
            )
        self._events = runtime.bus.subscribe()
        self._sending = asyncio.Lock()
        self._turn: asyncio.Task[events.TurnFinished] | None = None
        self._asked: dict[InquiryId, asyncio.Task[None]] = {}
        self._offers: Sequence[ModelOffer] = ()
        self._bypass = runtime.mode == "bypass"
        self._mode = runtime.mode
        self._title = ""
        self._beside = [begin(self._tell_forever(), "acp-tells")]

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    # ---- turns

    async def prompt(self, blocks: person.Blocks) -> schema.PromptResponse:
        """Run one turn to its end. The task starts before the first ``await``, so a cancel reaches it."""
        if self._turn is not None:
            raise UsageError("A turn is running.", hint="Wait for it, or cancel it.")
        turn = self._turn = begin(
            self._session.run(person.prompt_text(blocks), images=person.prompt_images(blocks)),
            "acp-turn",
        )
        await asyncio.wait({turn})
        self._turn = None
        await self._tell(self._events.drain())
        if turn.cancelled():
            return schema.PromptResponse(stop_reason="cancelled")
        finished = turn.result()
        await self._tell_title()
        if finished.reason == "failed":
            raise RequestError(-32603, f"{finished.error_title}: {finished.error}")
        if finished.reason == "limit":
            await self._send(update_agent_message_text(f"\n\n{finished.error}"))
        return schema.PromptResponse(stop_reason=_stop_reason(finished), usage=_usage(finished))

    def cancel(self) -> None:
        """Cancel the running turn, also while it waits for an answer."""
        if self._turn is not None:
            self._turn.cancel()

    async def replay(self) -> None:
        """Tell the client all of a stored conversation."""
        for update in self._updates.replay(self.runtime.conversations.everything(self.id)):
            await self._send(update)

    def introduce(self) -> None:
        """Send the client the commands and modes once it knows the session."""
        self._beside.append(begin(self._introduced(), "acp-introduces"))

    async def close(self) -> None:
        """End all that runs, and let others write to the conversation."""
        self.cancel()
        tasks = [*self._asked.values(), *self._beside]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *((self._turn,) if self._turn else ()), return_exceptions=True)
        self._events.close()
        if self._terminals is not None:
            await self._terminals.close()
        self._session.close()
        await self.runtime.close()

    # ---- modes and models

    @property
    def modes(self) -> schema.SessionModeState:
        """Return the permission modes. The widest is among them only if the program was started with it."""
        return schema.SessionModeState(
            current_mode_id=self.runtime.mode,
            available_modes=[
                schema.SessionMode(id=mode, name=mode, description=words)
                for mode, words in self._offered_modes()
            ],
        )

    @property
    def options(self) -> list[schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean]:
        """The same modes, and the models, as the newer form of the protocol has them."""
        model = self._session.model.name if self._session.model else ""
        models = {offer.model: f"{offer.label} ({offer.source})" for offer in self._offers}
        models.setdefault(model, model or "none")
        modes = {mode: mode for mode, _ in self._offered_modes()}
        return [
            _select("mode", "Permission mode", self.runtime.mode, modes),
            _select("model", "Model", model, models),
        ]

    def use_mode(self, name: str) -> None:
        """Decide by another mode from now on. Raises ``UsageError``."""
        modes = [mode for mode, _ in self._offered_modes()]
        if name not in modes:
            raise UsageError(
                f"There is no mode {name!r} here.", hint=f"One of: {', '.join(modes)}."
            )
        self.runtime.guard.use_mode(cast("PermissionMode", name))

    async def use_model(self, name: str) -> None:
        """Answer with another model from the next turn on. Raises ``SamError``."""
        before = self._session.model
        if before is not None and name == before.name:
            return
        offer = next((offer for offer in self._offers if offer.model == name), None)
        if offer is None or self.busy:
            raise UsageError(
                f"The model {name!r} is not available now.",
                hint="Wait for the turn, or choose another.",
            )
        model = self.runtime.catalog.open(offer)
        self.runtime.use_model(model)
        self._session.model = model
        if before is not None:
            await before.close()

    def _offered_modes(self) -> list[tuple[PermissionMode, str]]:
        allowed = self.runtime.guard.policy.modes
        modes = [pair for pair in MODES.items() if pair[0] in allowed]
        return [pair for pair in modes if pair[0] != "bypass" or self._bypass]

    async def _introduced(self) -> None:
        runtime = self.runtime
        skills = runtime.skills.listing().skills if runtime.has_skills else ()
        offers = {skill.name: (skill.description, "words") for skill in skills}
        for command in runtime.definitions("commands").definitions:  # before a skill of that name
            offers[command.name] = command.description, command.values.get("argument-hint", "words")
        commands = [
            schema.AvailableCommand(
                name=name,
                description=one_line(about)[:200],
                input=schema.AvailableCommandInput(
                    schema.UnstructuredCommandInput(hint=one_line(hint)[:40])
                ),
            )
            for name, (about, hint) in offers.items()
        ]
        await self._send(
            schema.AvailableCommandsUpdate(
                session_update="available_commands_update", available_commands=commands
            )
        )
        self._offers = await self.runtime.catalog.offers(self._session.model)
        await self._tell_options()

    # ---- updates to the client

    async def _tell_forever(self) -> None:
        with contextlib.suppress(ConnectionError, OSError):
            while True:
                await self._tell(await self._events.batch())

    async def _tell(self, batch: Iterable[events.Event]) -> None:
        async with self._sending:
            for event in batch:
                await self._show_command(event)
                for update in self._updates.of(event):
                    await self._send(update)
                if isinstance(event, events.ToolFinished) and self._terminals is not None:
                    await self._terminals.release(self._call_id(event))
                if isinstance(event, events.InquiryOpened):
                    self._ask(event.inquiry)
                elif isinstance(event, events.InquiryClosed) and event.inquiry in self._asked:
                    self._asked.pop(event.inquiry).cancel()
            if self._mode != self.runtime.mode:
                self._mode = self.runtime.mode
                await self.tell_mode()

    async def _show_command(self, event: events.Event) -> None:
        """Pass a command's begin, output and end to the terminal of the client that displays it."""
        if self._terminals is None:
            return
        match event:
            case events.ToolStarted() if runs_to_its_end(event):
                if terminal := await self._terminals.open(call := self._call_id(event)):
                    self._updates.attach(call, terminal)
            case events.ToolProgressed(text=text):
                self._terminals.show(self._call_id(event), text)
            case events.ToolFinished():
                call = self._call_id(event)
                if not await self._terminals.end(call, event):
                    self._updates.detach(call)
            case _:
                pass

    def _call_id(
        self, event: events.ToolStarted | events.ToolProgressed | events.ToolFinished
    ) -> str:
        return self._updates.call_id(event.conversation, event.call)

    async def tell_mode(self) -> None:
        """Tell which mode holds now."""
        self._mode = self.runtime.mode
        await self._send(
            schema.CurrentModeUpdate(
                session_update="current_mode_update", current_mode_id=self.runtime.mode
            )
        )
        await self._tell_options()

    async def _tell_options(self) -> None:
        await self._send(
            schema.ConfigOptionUpdate(
                session_update="config_option_update", config_options=self.options
            )
        )

    async def _tell_title(self) -> None:
        record = self.runtime.conversations.find(self.id)
        if record is None or record.title == self._title:
            return
        self._title = record.title
        await self._send(
            schema.SessionInfoUpdate(
                session_update="session_info_update",
                title=one_line(record.title),
                updated_at=iso_time(record.updated_at),
            )
        )

    async def _send(self, update: Update) -> None:
        note = schema.SessionNotification(session_id=self.id, update=update)
        await self._connection.send_notification(CLIENT_METHODS["session_update"], wire_form(note))

    # ---- questions to the person

    def _ask(self, inquiry: Inquiry) -> None:
        """Ask the client's person, unless it was answered or taken back already."""
        if any(open_.id == inquiry.id for open_ in self.runtime.inquiries.pending()):
            self._asked[inquiry.id] = begin(self._asks(inquiry), "acp-asks")

    async def _asks(self, inquiry: Inquiry) -> None:
        call = self._updates.call_id(inquiry.conversation, inquiry.call)
        try:
            answer = await self._answer(inquiry, call)
        except (RequestError, ConnectionError, OSError):
            answer = Approval("deny", _UNASKABLE)
        self.runtime.inquiries.answer(inquiry.id, answer)

    async def _answer(self, inquiry: Inquiry, call: str) -> Answer:
        match inquiry.request:
            case ApprovalRequest() as request:
                question = person.permission_request(self.id, call, inquiry, request)
                reply = await ask(self._connection, "session_request_permission", question)
                return person.decision_of(inquiry, request, reply)
            case Question() as question:
                form = person.form_request(self.id, call, question)
                method = CLIENT_METHODS["elicitation_create"]
                reply = cast("object", await self._connection.send_request(method, form))
                return person.reply_of(question, reply) or Approval("deny")


def iso_time(seconds: float) -> str:
    """Seconds since the epoch, as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _select(
    name: str,
    title: str,
    current: str,
    values: dict[str, str] | dict[PermissionMode, PermissionMode],
) -> schema.SessionConfigOptionSelect:
    options = [
        schema.SessionConfigSelectOption(value=value, name=one_line(words) or value)
        for value, words in values.items()
    ]
    return schema.SessionConfigOptionSelect(
        type="select",
        id=name,
        name=title,
        category="mode" if name == "mode" else "model",
        current_value=current,
        options=options,
    )


def _stop_reason(finished: events.TurnFinished) -> schema.StopReason:
    if finished.reason == "limit":
        return "max_tokens" if finished.limit in ("tokens", "output") else "max_turn_requests"
    return "max_tokens" if finished.ending == "length" else "end_turn"


def _usage(finished: events.TurnFinished) -> schema.Usage:
    usage = finished.usage
    return schema.Usage(
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        thought_tokens=usage.reasoning_tokens,
        cached_read_tokens=usage.cached_tokens,
        cached_write_tokens=usage.cache_write_tokens,
    )
