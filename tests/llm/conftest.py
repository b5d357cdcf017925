"""What every test of models leaves behind: no connection."""

import sys
from collections.abc import AsyncIterator
from importlib import import_module

import pytest


@pytest.fixture(autouse=True)
async def litellm_clients() -> AsyncIterator[None]:
    """Close litellm's clients in the loop that made them.

    litellm keeps them by the id of that loop, which the loop of a later test can have again,
    and one for all loops.
    """
    yield
    if "litellm" not in sys.modules:
        return
    cleanup = import_module("litellm.llms.custom_httpx.async_client_cleanup")
    await cleanup.close_litellm_async_clients()
    litellm = sys.modules["litellm"]
    litellm.in_memory_llm_clients_cache.flush_cache()
    vars(litellm).pop("module_level_aclient", None)
