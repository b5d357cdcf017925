"""Requests to the client, and the tasks that wait for its answers."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar, cast

from acp.connection import Connection
from acp.meta import CLIENT_METHODS
from pydantic import BaseModel

Result = TypeVar("Result")


def wire_form(value: BaseModel) -> dict[str, object]:
    """Return a value of the protocol in the form in which it is sent."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def ask(connection: Connection, name: str, request: BaseModel) -> object:
    """The client's answer to a request; ``name`` is a key of ``CLIENT_METHODS``.

    Raises ``RequestError``, and ``OSError`` when the client is gone.
    """
    method = CLIENT_METHODS[name]
    return cast("object", await connection.send_request(method, wire_form(request)))


def begin(work: Coroutine[object, object, Result], name: str) -> asyncio.Task[Result]:
    """Start a task of the running loop; the caller owns it."""
    return asyncio.get_running_loop().create_task(work, name=name)
