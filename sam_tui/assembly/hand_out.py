"""The queues of this machine or of a PostgreSQL server, and who hands steps of plans to workers."""

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sam_tui.adapters.fleet.database import QueueDatabase, database_url
from sam_tui.adapters.fleet.messages import Seal
from sam_tui.core.authorization.paths.secrets import FLEET_KEY
from sam_tui.core.errors import UsageError
from sam_tui.tokens import TOKEN, bearer_token

if TYPE_CHECKING:
    from sam_tui.adapters.fleet.steps import StepQueues
    from sam_tui.core.inquiries import Inquiries


def open_database(environ: Mapping[str, str], data_dir: str) -> QueueDatabase:
    """The queues that the environment names, else those of the data folder. Raises ``SamError``."""
    key = environ.get("SAM_TUI_FLEET_KEY", "")
    if key and not TOKEN.fullmatch(key):
        raise UsageError("SAM_TUI_FLEET_KEY is 32 to 256 letters, digits, - and _.")
    key = key or bearer_token(data_dir, FLEET_KEY).text
    return QueueDatabase(database_url(environ, data_dir), Seal(key))


def open_step_queues(
    roles: Sequence[str], environ: Mapping[str, str], data_dir: str, inquiries: "Inquiries"
) -> "StepQueues":
    """Who hands out the steps of these roles; its database is the caller's to close."""
    from sam_tui.adapters.fleet.steps import StepQueues

    origin = f"{socket.gethostname()} {data_dir}"
    return StepQueues(open_database(environ, data_dir), roles, origin, inquiries)
