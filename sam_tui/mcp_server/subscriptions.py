"""Subscriptions to changed resources, and their notices: one watch for all clients of a server."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)

from sam_tui.core.bus import Bus
from sam_tui.core.events import (
    Event,
    ReasoningStreamed,
    TextStreamed,
    ToolProgressed,
    WorkflowMoved,
)
from sam_tui.core.ids import NO_CONVERSATION
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.workflow.records import WorkflowRecords
from sam_tui.core.workflow.service import Workflows
from sam_tui.mcp_server.clients import Client, Context, is_modern
from sam_tui.mcp_server.library import Library

INTERVAL: Final = 0.5
"""Seconds between two reads of the store, because SQLite does not notify other processes."""
_BATCH = 1000
Findings = Mapping[tuple[str, str], tuple[int, float]]
"""Values that change with the findings of a scope and project, by both names."""


class StoreWatch:
    """Publishes the changes of other processes as if they were made here."""

    def __init__(self, workflows: Callable[[], Workflows], bus: Bus) -> None:
        self._workflows = workflows
        self._bus = bus

    async def run(self, subscriptions: "Subscriptions") -> None:
        """Watch the store while there are subscribers, until cancelled. Without any nothing is asked."""
        while True:
            await subscriptions.occupied.wait()
            await self._watch(self._workflows().records, subscriptions.occupied)

    async def _watch(self, records: WorkflowRecords, occupied: asyncio.Event) -> None:
        subscription = self._bus.subscribe()
        try:
            marks = records.marks()
            seen = marks.last_event
            while occupied.is_set():
                await asyncio.sleep(INTERVAL)
                mine = {e.seq for e in subscription.drain() if isinstance(e, WorkflowMoved)}
                before, marks = marks, records.marks(marks)
                if marks is not before:
                    seen = self._look(records, seen, mine)
                    self._compare(before.findings, marks.findings)
        finally:
            subscription.close()

    def _look(self, records: WorkflowRecords, seen: int, mine: set[int]) -> int:
        """Publish the events after a number; the number of the last one."""
        while rows := records.reader.events(EventQuery(after=seen, limit=_BATCH)):
            for row in rows:
                if row.seq not in mine:
                    self._bus.publish(
                        WorkflowMoved(NO_CONVERSATION, row.execution, row.type, row.step, row.seq)
                    )
            seen = rows[-1].seq
        return seen

    def _compare(self, before: Findings, now: Findings) -> None:
        """Publish changed findings: they need no execution, whose events would tell of them."""
        for scope, project in before.keys() | now.keys():
            if before.get((scope, project)) != now.get((scope, project)):
                self._bus.publish(WorkflowMoved(NO_CONVERSATION, "", scope, project, 0))


MOST: Final = 1000
"""The most URIs to which one client may subscribe."""
_CLIENTS = 500
_PATIENCE = 5.0
_FREQUENT = (ToolProgressed, TextStreamed, ReasoningStreamed)


@dataclass
class Subscriber:
    """A subscribed connection, its URIs, and the session that notifies it."""

    client: Client
    session: ServerSession | None
    """None for a stream of protocol 2026-07-28, which gets all changes from the bus."""
    uris: set[str] = field(default_factory=set[str])


class Subscriptions:
    """Subscriptions of all clients. ``run`` watches for as long as the server runs."""

    def __init__(self, library: Library, bus: Bus) -> None:
        self._library = library
        self._bus = bus
        self._stream = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._stream, max_subscriptions=_CLIENTS)
        self._subscribers: dict[object, Subscriber] = {}
        self._listed: dict[str, tuple[str, ...]] = {}
        self.occupied = asyncio.Event()
        """Set while there are subscribers."""

    def meet(self, context: Context, client: Client) -> None:
        """A client read the list of resources: from now on it is notified when the list changes."""
        if not is_modern(context):
            self._subscriber(context, client)
        self._listed[client.key] = self._names(client)

    def add(self, context: Context, client: Client, uri: str) -> None:
        """Subscribe a client of the handshake protocols to a resource, which need not exist yet."""
        subscriber = self._subscriber(context, client)
        if len(subscriber.uris) < MOST:
            subscriber.uris.add(uri)

    def remove(self, client: Client, uri: str) -> None:
        """End a subscription; without one nothing happens."""
        subscriber = self._subscribers.get(client.key)
        if subscriber is not None:
            subscriber.uris.discard(uri)

    async def listen(
        self, context: Context, client: Client, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a listening stream until the client ends it."""
        key = object()
        subscriber = self._subscribers[key] = Subscriber(client, None)
        self.occupied.set()
        subscriber.uris.update(params.notifications.resource_subscriptions or ())
        self._listed.setdefault(client.key, self._names(client))
        try:
            return await self._listen(context, params)
        finally:
            self._drop(key)

    async def run(self) -> None:
        """Notify subscribers of changes until cancelled."""
        subscription = self._bus.subscribe()
        try:
            while True:
                await self._tell(await subscription.batch())
        finally:
            subscription.close()

    async def _tell(self, batch: Sequence[Event]) -> None:
        events = [event for event in batch if not isinstance(event, _FREQUENT)]
        if not events:
            return
        streamed: dict[ServerEvent, None] = {}
        for subscriber in list(self._subscribers.values()):
            news = self._news(subscriber, events)
            if subscriber.session is None:
                streamed.update(dict.fromkeys(news))
            elif not await _notify(subscriber.session, news):
                self._drop(subscriber.client.key)
        for event in streamed:
            await self._stream.publish(event)

    def _news(self, subscriber: Subscriber, events: Sequence[Event]) -> list[ServerEvent]:
        """The changes for one client: subscribed URIs as the client wrote them, and the list."""
        changed = {
            uri
            for source in self._library.resources
            for event in events
            for uri in source.touched(event, subscriber.client)
        }
        news: list[ServerEvent] = [
            ResourceUpdated(uri)
            for uri in sorted(subscriber.uris)
            if self._canonical(uri) in changed
        ]
        names = self._names(subscriber.client)
        if self._listed.get(subscriber.client.key, names) != names:
            news.append(ResourcesListChanged())
        self._listed[subscriber.client.key] = names
        return news

    def _canonical(self, uri: str) -> str:
        source = self._library.of(uri)
        return source.canonical(uri) if source is not None else uri

    def _names(self, client: Client) -> tuple[str, ...]:
        return tuple(r.uri for source in self._library.resources for r in source.listed(client))

    def _subscriber(self, context: Context, client: Client) -> Subscriber:
        subscriber = self._subscribers.get(client.key)
        if subscriber is None:
            subscriber = self._subscribers[client.key] = Subscriber(client, context.session)
            self.occupied.set()
            if len(self._subscribers) > _CLIENTS:
                self._subscribers.pop(next(iter(self._subscribers)))
        return subscriber

    def _drop(self, key: object) -> None:
        self._subscribers.pop(key, None)
        if not self._subscribers:
            self.occupied.clear()


async def _notify(session: ServerSession, news: Sequence[ServerEvent]) -> bool:
    """Notify one client; false if it does not read in time, so that the others need not wait."""
    try:
        async with asyncio.timeout(_PATIENCE):
            for event in news:
                if isinstance(event, ResourceUpdated):
                    await session.send_resource_updated(event.uri)
                else:
                    await session.send_resource_list_changed()
    except TimeoutError:
        return False
    return True
