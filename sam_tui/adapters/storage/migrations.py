"""The steps that lead from an empty database to today's, in order. A released step never changes."""

import sqlite3
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the schema: its name, recorded once it was made, and its statements."""

    name: str
    statements: tuple[str, ...]


STEPS: tuple[Step, ...] = (
    Step(
        "001-conversations",
        (
            """CREATE TABLE conversations (
                id TEXT PRIMARY KEY,
                workspace TEXT NOT NULL,
                title TEXT NOT NULL DEFAULT '',
                created_at REAL NOT NULL,
                updated_at REAL NOT NULL,
                messages INTEGER NOT NULL DEFAULT 0,
                input_tokens INTEGER NOT NULL DEFAULT 0,
                cached_tokens INTEGER NOT NULL DEFAULT 0,
                cache_write_tokens INTEGER NOT NULL DEFAULT 0,
                output_tokens INTEGER NOT NULL DEFAULT 0,
                reasoning_tokens INTEGER NOT NULL DEFAULT 0,
                cost REAL
            ) WITHOUT ROWID""",
            "CREATE INDEX conversations_by_use ON conversations (workspace, updated_at)",
            """CREATE TABLE messages (
                conversation TEXT NOT NULL REFERENCES conversations (id),
                position INTEGER NOT NULL,
                kind TEXT NOT NULL,
                call TEXT NOT NULL DEFAULT '',
                name TEXT NOT NULL DEFAULT '',
                body TEXT NOT NULL,
                created_at REAL NOT NULL,
                PRIMARY KEY (conversation, position)
            )""",
        ),
    ),
    Step(
        "002-todos-and-results",
        (
            """CREATE TABLE todos (
                conversation TEXT PRIMARY KEY,
                items TEXT NOT NULL,
                updated_at REAL NOT NULL
            )""",
            """CREATE TABLE results (
                conversation TEXT NOT NULL,
                call TEXT NOT NULL,
                text TEXT NOT NULL,
                created_at REAL NOT NULL,
                PRIMARY KEY (conversation, call)
            )""",
        ),
    ),
    Step(
        "003-decisions",
        (
            """CREATE TABLE decisions (
                number INTEGER PRIMARY KEY,
                made_at REAL NOT NULL,
                conversation TEXT NOT NULL,
                call TEXT NOT NULL,
                decision TEXT NOT NULL,
                chain TEXT NOT NULL
            )""",
            """CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions
                BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END""",
            """CREATE TRIGGER decisions_remain BEFORE DELETE ON decisions
                BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END""",
        ),
    ),
    Step("004-parents", ("ALTER TABLE conversations ADD COLUMN parent TEXT",)),
)
"""Append only. Readers of an older program see a name they do not know and stop."""


class NewerDatabase(Exception):
    """The database has a step that this program does not know; ``str`` is its name."""


def pending(connection: sqlite3.Connection) -> list[Step]:
    """The steps still to make, in order. Raises ``NewerDatabase``."""
    known = {step.name for step in STEPS}
    made = _made(connection)
    for name in made:
        if name not in known:
            raise NewerDatabase(name)
    return [step for step in STEPS if step.name not in made]


def migrate(connection: sqlite3.Connection) -> None:
    """Make every pending step, all in the one transaction that the caller opened."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, made_at REAL NOT NULL)"
    )
    for step in pending(connection):
        for statement in step.statements:
            connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?)", (step.name, time.time()))


def _made(connection: sqlite3.Connection) -> list[str]:
    """The names of the steps that were made; none in an empty file."""
    there = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'"
    ).fetchone()
    if there is None:
        return []
    return [str(row[0]) for row in connection.execute("SELECT name FROM migrations ORDER BY name")]
