"""The one database of the queues: in SQLite or PostgreSQL, made and read by dbos.

dbos is imported when a ``QueueDatabase`` is opened. Its own additions are switched off: its
console, its telemetry, its pickles, its log on standard error, and the variables of the environment
that turn any on.
"""

import contextlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from sam_tui.adapters.fleet.messages import Seal, UntrustedMessage
from sam_tui.core.authorization.paths.secrets import FLEET_KEY
from sam_tui.core.errors import ConfigurationError, SamError, UsageError
from sam_tui.sqlite import alone, make_private
from sam_tui.tokens import TOKEN, bearer_token

if TYPE_CHECKING:
    import sqlalchemy
    from dbos import DBOSClient

APPLICATION = "sam-tui"
URL_VARIABLE = "SAM_TUI_DATABASE_URL"
_PRAGMAS = "PRAGMA busy_timeout=30000; PRAGMA journal_mode=WAL; PRAGMA synchronous=1; PRAGMA foreign_keys=1"
_BUNDLES = "bundles"
"""The queue of the workspaces, one entry for each fleet. No worker takes entries from it."""
MOST_BUNDLE = 96_000_000
"""The most characters of a workspace in base64."""


class QueueUnavailable(SamError):
    """The database of the queues cannot be used."""

    title = "No queue"
    exit_code = 75


class QueueSilent(QueueUnavailable):
    """The database does not answer, or has no room, which may pass."""

    retryable = True


def database_url(environment: Mapping[str, str], data_dir: str) -> str:
    """Return the database's address: the environment's, else a file of the data folder.

    Raises ``ConfigurationError``.
    """
    named = environment.get(URL_VARIABLE, "").strip()
    if not named:
        return f"sqlite:///{os.path.join(data_dir, 'fleet.sqlite')}"
    scheme, mark, _ = named.partition("://")
    if not mark:  # what has no scheme may begin with a password
        scheme = "none"
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg", "sqlite"):
        raise ConfigurationError(
            f"{URL_VARIABLE} names a database of the unsupported kind {scheme[:40]!r}.",
            hint="It is postgresql://USER:PASSWORD@HOST/NAME or sqlite:////FILE.",
        )
    return named.replace("postgres://", "postgresql://", 1)


class Json:
    """The serializer of dbos: JSON, never pickles."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data)

    def deserialize(self, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "json"


def load() -> Any:
    """Import dbos with an environment free of ``DBOS`` variables, without console logging or pickles."""
    for name in [name for name in os.environ if name.startswith("DBOS")]:
        del os.environ[name]
    import dbos
    from dbos import _serialization  # pyright: ignore[reportPrivateUsage]

    def refuse(serialized_data: str) -> Any:
        raise UntrustedMessage("A row of the queue contains a pickle, which would run code.")

    # A row names its own format: a writer of rows could have any process here unpickle one.
    cast("Any", _serialization.DBOSDefaultSerializer).deserialize = refuse
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # it adds its own for standard error to none
    return dbos


def _seconds(_: str) -> float:
    """Return the time for the SQL function of dbos that SQLite lacks before 3.42."""
    return round(time.time(), 3)


def _sqlite_file(url: str) -> Path:
    return Path(url.partition("///")[2])


def _alone(url: str) -> "contextlib.AbstractContextManager[None]":
    """Lock an SQLite file while one process prepares it; PostgreSQL does its own locking."""
    if not url.startswith("sqlite"):
        return contextlib.nullcontext()
    file = _sqlite_file(url)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return alone(file.with_name(f"{file.name}.lock"))


def _engine(url: str) -> "sqlalchemy.Engine | None":
    """For SQLite a write-ahead log: dbos's own engine waits for the disk at every change."""
    if not url.startswith("sqlite"):
        return None
    import sqlalchemy
    from sqlalchemy import event

    make_private(_sqlite_file(url))
    engine = sqlalchemy.create_engine(url, pool_size=8)

    def prepare(connection: Any, record: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        connection.executescript(_PRAGMAS)
        connection.create_function("unixepoch", 1, _seconds)

    event.listen(engine, "connect", prepare)
    return engine


def _reason(error: Exception, url: str) -> str:
    """Return what a database or its driver said, without the password of its address."""
    text = " ".join(str(getattr(error, "orig", None) or error).split())
    address = url.partition("://")[2]
    if address.count("@") > 1:
        return "its address has more than one “@”; in a password write %40"
    password = address.rpartition("@")[0].partition(":")[2]
    for secret in filter(None, (password, unquote(password))):
        text = text.replace(secret, "…")
    return text[:300].rstrip(".?") or type(error).__name__


class Changes:
    """The changes of a SQLite file by other connections; of PostgreSQL none are seen."""

    def __init__(self, url: str) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        if url.startswith("sqlite"):
            self._connection = sqlite3.connect(_sqlite_file(url), check_same_thread=False)

    def number(self) -> int:
        """A number that differs after a change; 0 where none is seen."""
        with self._lock:
            if self._connection is None:
                return 0
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _with_utf8(url: str) -> str:
    """An address whose texts are UTF-8: a database of the encoding SQL_ASCII would answer in bytes."""
    if url.startswith("sqlite"):
        return url
    import sqlalchemy

    address = sqlalchemy.make_url(url)
    query = {"client_encoding": "utf8", **address.query}
    return address.set(query=query).render_as_string(hide_password=False)


class QueueDatabase:
    """The migrated database of the queue. Its methods block: call them in a thread.

    If the server does not answer, they wait until it does; without ``patient`` they raise.
    """

    def __init__(self, url: str, seal: Seal, *, patient: bool = True) -> None:
        dbos = load()
        self.url, self.seal, self._address = url, seal, url
        with self.reported():
            self.url = url = _with_utf8(url)
            with _alone(url):
                self.engine = _engine(url)
                if self.engine is not None:
                    self.engine.connect().close()
                dbos.DBOS.migrate(url)
            self.changes = Changes(url)
            self.client: DBOSClient = dbos.DBOSClient(
                system_database_url=url,
                system_database_engine=self.engine,
                serializer=cast("Any", Json()),
                application_name=APPLICATION,
                retry_connection_errors=patient,
            )

    @contextlib.contextmanager
    def reported(self) -> Generator[None]:
        """Raise ``QueueUnavailable`` with the reason in place of an error of the database."""
        try:
            yield
        except SamError:
            raise
        except Exception as error:
            from sqlalchemy.exc import OperationalError, TimeoutError

            passing = isinstance(error, OperationalError | TimeoutError)
            raise (QueueSilent if passing else QueueUnavailable)(
                f"The database of the queues cannot be used: {_reason(error, self._address)}.",
                hint=f"Check {URL_VARIABLE}, and whether the server runs.",
            ) from error

    def close(self) -> None:
        """End the connections."""
        self.client.destroy()
        self.changes.close()
        if self.engine is not None:
            self.engine.dispose()

    def keep_bundle(self, name: str, text: str) -> None:
        """Store a workspace under a name, once."""
        options: Any = {
            "workflow_name": _BUNDLES,
            "queue_name": _BUNDLES,
            "workflow_id": f"{name}.{_BUNDLES}",
        }
        with self.reported():
            self.client.enqueue(options, text)

    def bundle(self, name: str) -> str:
        """The workspace of that name. Raises ``UntrustedMessage`` where there is none."""
        rows = self.client.list_workflows(workflow_ids=[f"{name}.{_BUNDLES}"])
        arguments: Any = rows[0].input if rows else None
        text = arguments["args"][0] if arguments else None
        if not isinstance(text, str) or len(text) > MOST_BUNDLE:
            raise UntrustedMessage(f"There is no workspace {name} in the queue.")
        return text

    def forget(self, parent: str) -> None:
        """Delete all that was stored for a parent task."""
        rows = self.client.list_workflows(
            workflow_id_prefix=f"{parent}.", load_input=False, load_output=False
        )
        if rows:
            self.client.delete_workflows([row.workflow_id for row in rows])


def queue_terms(environ: Mapping[str, str], data_dir: str) -> tuple[str, str]:
    """The address of the queues, and the key that the environment has or none. Raises ``SamError``."""
    key = environ.get("SAM_TUI_FLEET_KEY", "")
    if key and not TOKEN.fullmatch(key):
        raise UsageError("SAM_TUI_FLEET_KEY is 32 to 256 letters, digits, - and _.")
    return database_url(environ, data_dir), key


def open_database(
    environ: Mapping[str, str], data_dir: str, *, patient: bool = True
) -> QueueDatabase:
    """The queues that the environment names, else those of the data folder. Raises ``SamError``."""
    url, key = queue_terms(environ, data_dir)
    return QueueDatabase(url, Seal(key or bearer_token(data_dir, FLEET_KEY).text), patient=patient)
