"""Model calls: one row each, with requests by reference to messages, and compressed streams."""

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection

from sam_tui.adapters.storage.conversations import SqliteConversations
from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.calls import ModelCall, RequestPoint, SentRequest, UsageKey, UsageRow
from sam_tui.core.usage import SentPrefix, Usage

STREAMS_KEPT = 200
"""How many of the newest calls of a conversation keep their streams."""

_COLUMNS = (
    "c.number, c.at, c.model, c.purpose, c.seconds, c.first, c.size, c.same, c.culprit, c.tools,"
    " c.fault, c.input_tokens, c.cached_tokens, c.cache_write_tokens, c.output_tokens,"
    " c.reasoning_tokens, c.cost, c.todo"
)
_NO_TOOL = "(answers)"
_NO_TODO = "(none)"


class SqliteCalls:
    """The ``CallLog``."""

    def __init__(self, database: Database, conversations: SqliteConversations) -> None:
        self._database = database
        self._conversations = conversations

    def point(self, conversation: ConversationId) -> RequestPoint:
        """The present position in a conversation, to which a request refers."""
        rows = self._database.query(
            "SELECT (SELECT coalesce(max(number), 0) FROM compactions"
            "  WHERE conversation = ? AND undone = 0),"
            " (SELECT coalesce(max(position), 0) FROM messages WHERE conversation = ?)",
            storable(conversation),
            storable(conversation),
        )
        return RequestPoint(*rows[0])

    def record(
        self,
        conversation: ConversationId,
        point: RequestPoint,
        call: ModelCall,
        request: tuple[str, str],
        stream: str,
    ) -> int:
        """Keep a call, committed before this returns. Returns its number."""
        key, usage, prefix = storable(conversation), call.usage, call.prefix
        with self._database.transaction() as connection:
            system, tools = (_text(connection, text) for text in request)
            (number,) = connection.execute(
                "SELECT coalesce(max(number), 0) + 1 FROM model_calls WHERE conversation = ?",
                (key,),
            ).fetchone()
            row = (
                key, number, call.at, storable(call.model), call.purpose, call.seconds, call.first,
                prefix.size, prefix.same, storable(prefix.culprit), json_text(call.tools),
                storable(call.fault), point.compaction, point.position, system, tools,
                zlib.compress(storable(stream).encode()), usage.input_tokens, usage.cached_tokens,
                usage.cache_write_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cost,
                storable(call.todo),
            )  # fmt: skip
            connection.execute(f"INSERT INTO model_calls VALUES ({', '.join('?' * len(row))})", row)
            connection.execute(
                "UPDATE model_calls SET stream = x'' WHERE conversation = ? AND number = ?",
                (key, number - STREAMS_KEPT),
            )
        return int(number)

    def calls(self, conversation: ConversationId) -> Sequence[ModelCall]:
        """The calls of a conversation, oldest first."""
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM model_calls c WHERE conversation = ? ORDER BY number",
            storable(conversation),
        )
        return [_call(row) for row in rows]

    def request(self, conversation: ConversationId, number: int) -> SentRequest | None:
        """The request and answer of a call, or None if no call has this number."""
        rows = self._database.query(
            "SELECT c.compaction, c.position, s.text, t.text, c.stream FROM model_calls c"
            " JOIN request_texts s ON s.digest = c.system JOIN request_texts t ON t.digest = c.tools_json"
            " WHERE c.conversation = ? AND c.number = ?",
            storable(conversation),
            number,
        )
        if not rows:
            return None
        compaction, position, system, tools, stream = rows[0]
        messages = self._conversations.messages_at(conversation, compaction, position)
        raw = zlib.decompress(stream).decode() if stream else ""
        return SentRequest(system, tools, messages, raw)

    def totals(
        self, by: UsageKey, *, since: float = 0.0, conversation: ConversationId | None = None
    ) -> Sequence[UsageRow]:
        """The usage since a time by a key: days and turns in order, others with the dearest first."""
        where, values = (
            ("AND c.conversation = ?", (storable(conversation),)) if conversation else ("", ())
        )
        rows = self._database.query(
            f"SELECT {_COLUMNS}, k.workspace, c.conversation, (SELECT count(*) FROM messages m"
            "  WHERE m.conversation = c.conversation AND m.position <= c.position"
            "  AND m.kind = 'user') FROM model_calls c"
            f" LEFT JOIN conversations k ON k.id = c.conversation WHERE c.at >= ? {where}"
            " ORDER BY c.at, c.number",
            since,
            *values,
        )
        sums: defaultdict[str, tuple[float, Usage]] = defaultdict(lambda: (0.0, Usage()))
        for row in rows:
            call = _call(row[:-3])
            folder, whose, turn = row[-3:]
            keys: Sequence[str] = {
                "day": (f"{datetime.fromtimestamp(call.at):%Y-%m-%d}",),
                "model": (call.model,),
                "folder": (folder or "",),
                "conversation": (whose,),
                "turn": (f"{turn:04d}",),
                "tool": call.tools or (_NO_TOOL,),
                "todo": (call.todo or _NO_TODO,),
            }[by]
            for key in keys:
                count, usage = sums[key]
                sums[key] = (count + 1 / len(keys), usage.plus(_share(call.usage, len(keys))))
        rows_by_key = [UsageRow(key, calls, usage) for key, (calls, usage) in sums.items()]
        if by in ("day", "turn"):
            return sorted(rows_by_key, key=lambda row: row.key)
        return sorted(
            rows_by_key, key=lambda row: (-(row.usage.cost or 0.0), -row.usage.input_tokens)
        )


def _text(connection: Connection, text: str) -> str:
    """Store a text once for any number of rows; return its digest."""
    text = storable(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    connection.execute("INSERT OR IGNORE INTO request_texts VALUES (?, ?)", (digest, text))
    return digest


def _call(row: Row) -> ModelCall:
    number, at, model, purpose, seconds, first, size, same, culprit, tools, fault, *usage, todo = (
        row
    )
    prefix = SentPrefix(size, same, culprit)
    return ModelCall(
        at, model, purpose, Usage(*usage), seconds, first, prefix, tuple(json_value(tools)), fault,
        number, todo,
    )  # fmt: skip


def _share(usage: Usage, parts: int) -> Usage:
    """An equal part of a usage."""
    if parts == 1:
        return usage
    return Usage(
        usage.input_tokens // parts,
        usage.cached_tokens // parts,
        usage.cache_write_tokens // parts,
        usage.output_tokens // parts,
        usage.reasoning_tokens // parts,
        None if usage.cost is None else usage.cost / parts,
    )
