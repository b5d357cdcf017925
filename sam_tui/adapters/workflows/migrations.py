"""The shape of ``workflows.db``, as an ordered list of named steps."""

import sqlite3

from sam_tui.sqlite import MigrationStep

_SCRIPTS: tuple[tuple[str, str], ...] = (
    (
        "001 executions",
        """
        CREATE TABLE texts (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE executions (
            id TEXT PRIMARY KEY, workflow TEXT NOT NULL, version TEXT NOT NULL,
            personas_json TEXT NOT NULL, params_json TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('idle', 'running', 'paused', 'completed', 'failed',
                'abandoned', 'diverged')),
            reason TEXT NOT NULL, conversation TEXT NOT NULL, rollbacks INTEGER NOT NULL,
            replans INTEGER NOT NULL, question_json TEXT NOT NULL, created_at REAL NOT NULL,
            started_at REAL, updated_at REAL NOT NULL, completed_at REAL
        );
        CREATE INDEX executions_by_time ON executions (created_at);
        CREATE INDEX executions_by_state ON executions (state, created_at);
        CREATE INDEX executions_by_conversation ON executions (conversation)
            WHERE conversation <> '' AND state IN ('running', 'paused');
        CREATE TABLE steps (
            execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE, id TEXT NOT NULL,
            position INTEGER NOT NULL, parent TEXT NOT NULL, revision INTEGER NOT NULL,
            spec_json TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed',
                'skipped')),
            attempts INTEGER NOT NULL, tries INTEGER NOT NULL, cursor INTEGER NOT NULL,
            output_json TEXT NOT NULL, error TEXT NOT NULL, started_at REAL, completed_at REAL,
            PRIMARY KEY (execution, id)
        ) WITHOUT ROWID;
        CREATE TABLE attempts (
            id TEXT PRIMARY KEY, execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE,
            step TEXT NOT NULL, number INTEGER NOT NULL, task INTEGER,
            status TEXT NOT NULL CHECK (status IN ('open', 'completed', 'failed', 'timed_out',
                'cancelled')),
            driver TEXT NOT NULL, conversation TEXT NOT NULL, output_json TEXT NOT NULL,
            error TEXT NOT NULL, started_at REAL NOT NULL, deadline REAL, ended_at REAL,
            UNIQUE (execution, step, number)
        );
        CREATE UNIQUE INDEX attempts_open ON attempts (execution, step) WHERE status = 'open';
        CREATE INDEX attempts_by_conversation ON attempts (conversation)
            WHERE status = 'open' AND conversation <> '';
        CREATE TABLE tasks (
            execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE, step TEXT NOT NULL,
            revision INTEGER NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
            title TEXT NOT NULL, critical INTEGER NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed')),
            payload_json TEXT NOT NULL, PRIMARY KEY (execution, step, revision, position)
        ) WITHOUT ROWID;
        CREATE TABLE edges (
            execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE, before TEXT NOT NULL,
            after TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('needs', 'rollback')),
            made_at REAL NOT NULL, PRIMARY KEY (execution, before, after, kind, made_at)
        ) WITHOUT ROWID;
        CREATE TABLE tokens (
            hash TEXT PRIMARY KEY, execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE,
            step TEXT NOT NULL, attempt TEXT NOT NULL REFERENCES attempts ON DELETE CASCADE,
            issued_at REAL NOT NULL, expires_at REAL NOT NULL, used_at REAL, revoked TEXT NOT NULL
        );
        CREATE INDEX tokens_by_attempt ON tokens (attempt);
        CREATE INDEX tokens_by_execution ON tokens (execution);
        CREATE TABLE evidence (
            id TEXT PRIMARY KEY, execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE,
            step TEXT NOT NULL, attempt TEXT NOT NULL, operation TEXT NOT NULL,
            subject TEXT NOT NULL, ok INTEGER NOT NULL, exit_code INTEGER, sha256 TEXT NOT NULL,
            made_at REAL NOT NULL
        );
        CREATE INDEX evidence_by_execution ON evidence (execution, attempt);
        CREATE TABLE artifacts (
            id TEXT PRIMARY KEY, execution TEXT NOT NULL REFERENCES executions ON DELETE CASCADE,
            step TEXT NOT NULL, attempt TEXT NOT NULL,
            type TEXT NOT NULL CHECK (type IN ('file', 'data', 'report', 'finding')),
            name TEXT NOT NULL, content_type TEXT NOT NULL, size INTEGER NOT NULL CHECK (size >= 0),
            sha256 TEXT NOT NULL, metadata_json TEXT NOT NULL, created_at REAL NOT NULL
        );
        CREATE INDEX artifacts_by_execution ON artifacts (execution, step);
        CREATE TABLE artifact_texts (
            id TEXT PRIMARY KEY REFERENCES artifacts ON DELETE CASCADE, content BLOB NOT NULL
        );
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, execution TEXT NOT NULL, type TEXT NOT NULL,
            step TEXT NOT NULL, attempt TEXT NOT NULL, data_json TEXT NOT NULL, at REAL NOT NULL
        );
        CREATE INDEX events_by_execution ON events (execution, seq);
        CREATE TABLE files (
            origin TEXT NOT NULL, kind TEXT NOT NULL, path TEXT PRIMARY KEY, name TEXT NOT NULL,
            sha256 TEXT NOT NULL, missing_at REAL
        ) WITHOUT ROWID;
        """,
    ),
    (
        "002 findings",
        """
        CREATE TABLE findings (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, execution TEXT NOT NULL,
            step TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('global', 'project', 'system')),
            project TEXT NOT NULL, category TEXT NOT NULL,
            severity TEXT NOT NULL CHECK (severity IN ('info', 'low', 'medium', 'high', 'critical')),
            title TEXT NOT NULL, content TEXT NOT NULL, tags_json TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('active', 'deprecated')),
            review TEXT NOT NULL CHECK (review IN ('suggested', 'accepted', 'rejected')),
            source TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
            CHECK ((scope = 'project') = (project <> ''))
        );
        CREATE INDEX findings_by_execution ON findings (execution);
        CREATE INDEX findings_by_scope ON findings (scope, project, status);
        CREATE VIRTUAL TABLE findings_words USING fts5(
            title, content, tags_json, content = 'findings', content_rowid = 'number',
            tokenize = 'porter unicode61'
        );
        CREATE TRIGGER findings_added AFTER INSERT ON findings BEGIN
            INSERT INTO findings_words (rowid, title, content, tags_json)
                VALUES (new.number, new.title, new.content, new.tags_json);
        END;
        CREATE TRIGGER findings_removed AFTER DELETE ON findings BEGIN
            INSERT INTO findings_words (findings_words, rowid, title, content, tags_json)
                VALUES ('delete', old.number, old.title, old.content, old.tags_json);
        END;
        CREATE TRIGGER findings_changed AFTER UPDATE ON findings BEGIN
            INSERT INTO findings_words (findings_words, rowid, title, content, tags_json)
                VALUES ('delete', old.number, old.title, old.content, old.tags_json);
            INSERT INTO findings_words (rowid, title, content, tags_json)
                VALUES (new.number, new.title, new.content, new.tags_json);
        END;
        """,
    ),
    (
        "003 clock",
        """
        CREATE TABLE clock (
            only INTEGER PRIMARY KEY, boot TEXT NOT NULL, now REAL NOT NULL, running REAL NOT NULL
        );
        """,
    ),
)
"""``edges`` is for earlier versions of the program, which may run beside this one and write it."""


def _statements(sql: str) -> tuple[str, ...]:
    """The statements of a script: ``executescript`` would end the transaction."""
    statements: list[str] = []
    text = ""
    for piece in sql.split(";"):
        text += piece + ";"
        if sqlite3.complete_statement(text):
            if text.strip(" \n;"):
                statements.append(text)
            text = ""
    return tuple(statements)


STEPS = tuple(MigrationStep(name, _statements(script)) for name, script in _SCRIPTS)
