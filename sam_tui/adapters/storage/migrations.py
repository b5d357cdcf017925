"""The steps that lead from an empty database to today's, in order. A released step never changes."""

from sam_tui.sqlite import MigrationStep

STEPS: tuple[MigrationStep, ...] = (
    MigrationStep(
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
    MigrationStep(
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
    MigrationStep(
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
    MigrationStep("004-parents", ("ALTER TABLE conversations ADD COLUMN parent TEXT",)),
    MigrationStep(
        "005-memory",
        (
            """CREATE TABLE topics (
                conversation TEXT PRIMARY KEY,
                topic TEXT NOT NULL,
                updated_at REAL NOT NULL
            )""",
            "CREATE INDEX topics_by_name ON topics (topic)",
            """CREATE TABLE memories (
                number INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                scope TEXT NOT NULL,
                digest TEXT NOT NULL,
                type TEXT NOT NULL,
                content TEXT NOT NULL,
                tags TEXT NOT NULL,
                context TEXT NOT NULL,
                source TEXT NOT NULL,
                created_at REAL NOT NULL,
                UNIQUE (scope, digest)
            )""",
            "CREATE INDEX memories_by_time ON memories (scope, created_at)",
            "CREATE INDEX memories_by_source ON memories (scope, source)",
            """CREATE VIRTUAL TABLE memory_words USING fts5 (
                scope, words, tokenize = "ascii tokenchars '_'"
            )""",
            """CREATE TABLE memory_vectors (
                memory INTEGER NOT NULL,
                model TEXT NOT NULL,
                vector BLOB NOT NULL,
                PRIMARY KEY (memory, model)
            )""",
            """CREATE TABLE word_totals (
                name TEXT NOT NULL,
                scope TEXT NOT NULL,
                texts INTEGER NOT NULL,
                words INTEGER NOT NULL,
                PRIMARY KEY (name, scope)
            )""",
        ),
    ),
    MigrationStep(
        "006-notes-and-knowledge",
        (
            """CREATE TABLE notes (
                scope TEXT NOT NULL,
                key TEXT NOT NULL,
                content TEXT NOT NULL,
                updated_at REAL NOT NULL,
                PRIMARY KEY (scope, key)
            )""",
            """CREATE TABLE knowledge (
                number INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                scope TEXT NOT NULL,
                kind TEXT NOT NULL,
                digest TEXT NOT NULL,
                subject TEXT NOT NULL,
                detail TEXT NOT NULL,
                examples TEXT NOT NULL,
                confidence REAL NOT NULL,
                created_at REAL NOT NULL,
                UNIQUE (scope, kind, digest)
            )""",
            """CREATE VIRTUAL TABLE knowledge_words USING fts5 (
                scope, words, tokenize = "ascii tokenchars '_'"
            )""",
        ),
    ),
    MigrationStep(
        "007-documents-and-archive",
        (
            """CREATE TABLE documents (
                conversation TEXT NOT NULL,
                source TEXT NOT NULL,
                id TEXT NOT NULL,
                name TEXT NOT NULL,
                digest TEXT NOT NULL,
                characters INTEGER NOT NULL,
                imported_at REAL NOT NULL,
                PRIMARY KEY (conversation, source)
            )""",
            """CREATE TABLE archive (
                row INTEGER PRIMARY KEY,
                conversation TEXT NOT NULL,
                number INTEGER NOT NULL,
                first_at REAL NOT NULL,
                last_at REAL NOT NULL,
                summary TEXT NOT NULL,
                topics TEXT NOT NULL,
                messages TEXT NOT NULL,
                UNIQUE (conversation, number)
            )""",
            """CREATE VIRTUAL TABLE archive_words USING fts5 (
                scope, summary, topics, content, tokenize = "ascii tokenchars '_'"
            )""",
            """CREATE TABLE compactions (
                conversation TEXT NOT NULL,
                number INTEGER NOT NULL,
                made_at REAL NOT NULL,
                through INTEGER NOT NULL,
                opening TEXT NOT NULL,
                PRIMARY KEY (conversation, number)
            )""",
            """CREATE TABLE prompt_choices (
                conversation TEXT NOT NULL,
                prompt TEXT NOT NULL,
                enabled INTEGER NOT NULL,
                PRIMARY KEY (conversation, prompt)
            )""",
        ),
    ),
    MigrationStep(
        "008-todo-edits",
        ("ALTER TABLE todos ADD COLUMN edits TEXT NOT NULL DEFAULT '[]'",),
    ),
    MigrationStep(
        "009-result-files",
        ("ALTER TABLE results ADD COLUMN file TEXT NOT NULL DEFAULT ''",),
    ),
    MigrationStep(
        "010-queued-prompts",
        ("ALTER TABLE conversations ADD COLUMN queued TEXT NOT NULL DEFAULT '[]'",),
    ),
    MigrationStep(
        "011-writers",
        (
            """CREATE TABLE writers (
                conversation TEXT PRIMARY KEY,
                token TEXT NOT NULL,
                program TEXT NOT NULL,
                process INTEGER NOT NULL,
                since REAL NOT NULL
            )""",
        ),
    ),
    MigrationStep(
        "012-origins",
        tuple(
            f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT ''"
            for table in ("memories", "notes", "knowledge")
            for column in ("conversation", "folder")
        ),
    ),
    MigrationStep(
        "013-conversation-catalog",
        (
            "ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE conversations ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",
            """CREATE VIRTUAL TABLE message_words USING fts5 (
                conversation UNINDEXED, position UNINDEXED, kind UNINDEXED, text,
                tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
            )""",
            """CREATE TABLE indexed_messages (
                conversation TEXT PRIMARY KEY,
                through INTEGER NOT NULL
            )""",
            """CREATE TABLE call_displays (
                conversation TEXT NOT NULL,
                call TEXT NOT NULL,
                seconds REAL NOT NULL,
                displays TEXT NOT NULL,
                decision TEXT NOT NULL,
                PRIMARY KEY (conversation, call)
            )""",
        ),
    ),
    MigrationStep(
        "014-pins-and-restored-compactions",
        (
            "ALTER TABLE conversations ADD COLUMN pins TEXT NOT NULL DEFAULT '[]'",
            # 0 would take chunks away that earlier compactions archived.
            "ALTER TABLE compactions ADD COLUMN archived INTEGER NOT NULL DEFAULT 9223372036854775807",
        ),
    ),
    MigrationStep(
        "015-model-calls",
        (
            # An undone compaction stays: calls that were made under it are still looked at.
            "ALTER TABLE compactions ADD COLUMN undone INTEGER NOT NULL DEFAULT 0",
            """CREATE TABLE request_texts (
                digest TEXT PRIMARY KEY,
                text TEXT NOT NULL
            )""",
            """CREATE TABLE model_calls (
                conversation TEXT NOT NULL,
                number INTEGER NOT NULL,
                at REAL NOT NULL,
                model TEXT NOT NULL,
                purpose TEXT NOT NULL,
                seconds REAL NOT NULL,
                first REAL NOT NULL,
                size INTEGER NOT NULL,
                same INTEGER NOT NULL,
                culprit TEXT NOT NULL,
                tools TEXT NOT NULL,
                fault TEXT NOT NULL,
                compaction INTEGER NOT NULL,
                position INTEGER NOT NULL,
                system TEXT NOT NULL,
                tools_json TEXT NOT NULL,
                stream BLOB NOT NULL,
                input_tokens INTEGER NOT NULL,
                cached_tokens INTEGER NOT NULL,
                cache_write_tokens INTEGER NOT NULL,
                output_tokens INTEGER NOT NULL,
                reasoning_tokens INTEGER NOT NULL,
                cost REAL,
                PRIMARY KEY (conversation, number)
            )""",
            "CREATE INDEX model_calls_by_time ON model_calls (at)",
        ),
    ),
    MigrationStep(
        "016-reminder-choices-and-todos-of-calls",
        (
            """CREATE TABLE reminder_choices (
                conversation TEXT NOT NULL,
                name TEXT NOT NULL,
                choice TEXT NOT NULL,
                PRIMARY KEY (conversation, name)
            )""",
            "ALTER TABLE model_calls ADD COLUMN todo TEXT NOT NULL DEFAULT ''",
        ),
    ),
    MigrationStep(
        "017-notices",
        (
            """CREATE TABLE notices (
                number INTEGER PRIMARY KEY,
                conversation TEXT NOT NULL,
                position INTEGER NOT NULL,
                at REAL NOT NULL,
                level TEXT NOT NULL,
                text TEXT NOT NULL
            )""",
            "CREATE INDEX notices_by_conversation ON notices (conversation, number)",
        ),
    ),
)
